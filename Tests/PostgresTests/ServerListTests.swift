import Testing

@testable import Postgres

/// E8: several servers, of which some are silent.
@Suite struct ServerListTests {
    @Test("each host and address is a server, a single host is left to libpq")
    func servers() throws {
        func list(_ url: String) throws -> ServerList {
            ServerList(try Conninfo(url, applicationName: "x"))
        }
        #expect(try list("host=/a,/b port=1,2").servers.map(\.host) == ["/a", "/b"])
        #expect(try list("host=/a,/b port=1,2").servers.map(\.port) == ["1", "2"])
        #expect(try list("host=/a,/b port=7").servers.map(\.port) == ["7", "7"])
        #expect(try list("host=127.0.0.1,/b hostaddr=127.0.0.1,").servers.map(\.address) == ["127.0.0.1", ""])
        #expect(try list("postgresql://127.0.0.1:5,[::1]:6/x").servers.map(\.address) == ["127.0.0.1", "::1"])
        #expect(try list("host=/a").parameters == nil)
        #expect(try list("host=/a,/b port=1,2,3").parameters == nil)
        var two = try list("host=/a,/b port=1,2")
        let hasOther = two.remove(.init(host: "/a", address: "", port: "1"))
        #expect(hasOther && two.parameters?.map(\.value) == ["/b", "2"])
        let hasNone = two.remove(.init(host: "/b", address: "", port: "2"))
        #expect(!hasNone)
    }
}

extension DatabaseTests {
    @Suite struct SilentHostTests {
        @Test("a silent host costs its share of the time, wherever it stands, and the next one is connected to")
        func silentFirst() async throws {
            let silent = try SilentServer()
            let other = try SilentServer()
            let parameters = try Conninfo(TestDatabase.url, applicationName: "x")
            let host = try #require(parameters.value(of: "host"))
            for hosts in [
                "\(silent.directory),\(host)", "\(silent.directory),/nowhere,\(other.directory),\(host)",
                "/nowhere,\(silent.directory),\(host),\(other.directory)",
            ] {
                var options = ConnectionOptions()
                options.connectTimeout = .seconds(2)
                let url = try TestDatabase.url(replacing: ["host": hosts, "connect_timeout": ""])
                let connection = try await Connection.open(url, on: TestDatabase.reactor, options: options)
                await connection.close()
            }
            // As libpq has it, a limit in the string is of each host.
            let each = try TestDatabase.url(
                replacing: ["host": "\(silent.directory),\(other.directory),\(host)", "connect_timeout": "1"])
            await (try Connection.open(each, on: TestDatabase.reactor)).close()
        }

        @Test("hosts that are all silent are given up after the whole time, in a sentence that names it")
        func allSilent() async throws {
            let servers = [try SilentServer(), try SilentServer()]
            var options = ConnectionOptions()
            options.connectTimeout = .milliseconds(600)
            let url = "host=\(servers.map(\.directory).joined(separator: ","))"
            let error = try await postgresError {
                try await Connection.open(url, on: TestDatabase.reactor, options: options)
            }
            #expect("\(error, default: "")".contains("no response within 0.6 seconds"))
        }
    }
}
