import Foundation
import TestSupport
import Testing

@Suite("CONTRIBUTING.md")
struct ContributingTests {
    @Test("each command of make that it names is one, and one that it gives ARGS to reads them")
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

    @Test("each script that it names is there")
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
        #expect(targets.count > 15)
        for target in targets {
            let name = target.firstMatch(of: /name: "(\w[\w-]*)"/)?.1 ?? "?"
            // Of C alone.
            if ["CNotifyPeer", "CClients"].contains(name) { continue }
            #expect(target.contains("swiftSettings: settings"), "\(name)")
        }
    }
}
