import Foundation
import TestSupport
import Testing

@Suite("CONTRIBUTING.md")
struct ContributingTests {
    @Test("names existing make commands, with ARGS if they read them")
    func commands() throws {
        let makefile = try Repository.text("Makefile")
        let text = try Repository.text("CONTRIBUTING.md")
        let named = Set(text.matches(of: /make ([a-z-]+)/).map { String($0.1) })
        #expect(named.count > 8)
        for command in named { #expect(makefile.contains(try Regex("(?m)^\(command):")), "make \(command)") }
        for match in text.matches(of: /(?m)make ([a-z-]+)`?[^\n]*ARGS=/) {
            let rule = try #require(
                makefile.firstMatch(of: try Regex("(?m)^\(match.1):[^\n]*\n(?:(?:\t|ifdef|else|endif)[^\n]*\n)+")))
            #expect(rule.output[0].substring?.contains("$(ARGS)") == true, "make \(match.1)")
        }
    }

    @Test("names existing scripts")
    func scripts() throws {
        let text = try Repository.text("CONTRIBUTING.md")
        let scripts = Set(text.matches(of: /scripts\/[a-z-]+/).map { String($0.0) })
        #expect(scripts.count > 3)
        for script in scripts { #expect((try? Repository.text(script)) != nil, "\(script)") }
    }

    @Test("warnings are errors in every target", .covers("C40"))
    func warnings() throws {
        let package = try Repository.text("Package.swift")
        #expect(package.contains(".treatAllWarnings(as: .error)"))
        let targets = package.split(separator: /\.(?:test|executable)?[tT]arget\(/).dropFirst()
        // The functions for modules, programs and tests, two C targets, and the fuzzer.
        #expect(targets.count == 6)
        #expect(package.matches(of: /\n {8}(module|program|tests)\(/).count > 30)
        for target in targets {
            let name = target.firstMatch(of: /name: "(\w[\w-]*)"/)?.1 ?? "?"
            if ["CNotifyPeer", "CClients"].contains(name) { continue }
            #expect(target.contains("swiftSettings: settings"), "\(name)")
        }
    }
}
