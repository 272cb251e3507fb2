import Testing

@testable import Postgres

/// E8: a list of servers, some of which do not respond.
@Suite struct ServerListTests {
    @Test("lists each host and address as a server")
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
        @Test("skips a silent host after its share of the timeout")
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
            // As in libpq, a timeout in the string applies to each host.
            let each = try TestDatabase.url(
                replacing: ["host": "\(silent.directory),\(other.directory),\(host)", "connect_timeout": "1"])
            await (try Connection.open(each, on: TestDatabase.reactor)).close()
        }

        @Test("times out if all hosts are silent")
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
