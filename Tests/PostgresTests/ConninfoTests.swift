import Testing

@testable import Postgres

@Suite struct ConninfoTests {
    private func values(_ url: String) throws -> [String: String] {
        let conninfo = try Conninfo(url, applicationName: "postline")
        return Dictionary(uniqueKeysWithValues: conninfo.parameters.map { ($0.keyword, $0.value) })
    }

    @Test("applies the same defaults to URLs and keywords")
    func defaults() throws {
        for url in ["postgresql://ada@db.example/app", "host=db.example user=ada dbname=app"] {
            let values = try values(url)
            #expect(values["host"] == "db.example")
            #expect(values["user"] == "ada")
            #expect(values["dbname"] == "app")
            #expect(values["fallback_application_name"] == "postline")
            #expect(values["keepalives_idle"] == "15")
            #expect(values["tcp_user_timeout"] == "20000")
            #expect(values["client_encoding"] == "UTF8")
        }
    }

    @Test("keeps the settings of the string, except the encoding")
    func explicitValues() throws {
        let values = try values(
            "host=db tcp_user_timeout=7 keepalives=0 application_name=mine client_encoding=LATIN1 connect_timeout=9")
        #expect(values["tcp_user_timeout"] == "7")
        #expect(values["keepalives"] == "0")
        #expect(values["application_name"] == "mine")
        #expect(values["client_encoding"] == "UTF8")
        #expect(try Conninfo("connect_timeout=9", applicationName: "x").connectTimeout == .seconds(9))
    }

    @Test("rejects a malformed string without repeating its password")
    func malformed() throws {
        let plain = #expect(throws: PostgresError.self) { try Conninfo("hots=db", applicationName: "x") }
        #expect("\(try #require(plain))".contains("hots"))
        for url in ["password=secret hots=db", "postgresql://u:secret@[::1/"] {
            let error = #expect(throws: PostgresError.self) { try Conninfo(url, applicationName: "x") }
            #expect(!"\(try #require(error))".contains("cret"))
        }
    }

    @Test("finds errors that show before connecting")
    func flaws() {
        for url in [
            "this is no url", "hots=db", "postgresql://u:secret@[::1/", "postgresql://db/app?sslmod=require",
            "host='db",
        ] {
            #expect(ConnectionStringFlaw(in: url) == .malformed, "\(url)")
        }
        // A password that is not percent-encoded is parsed as a port.
        #expect(ConnectionStringFlaw(in: "postgresql://ada:se/cret@db/app") == .value(keyword: "port"))
        #expect(ConnectionStringFlaw(in: "host=db port=70000") == .value(keyword: "port"))
        #expect(ConnectionStringFlaw(in: "host=db sslmode=always") == .value(keyword: "sslmode"))
        #expect(ConnectionStringFlaw(in: "host=db connect_timeout=soon") == .value(keyword: "connect_timeout"))
        for url in [
            "postgresql://ada:se%2Fcret@db:5433/app?sslmode=verify-full", "host=a,b port=5432,5433",
            "host=a,b port=,5433",
            "postgresql:///app?host=/run/postgresql&connect_timeout=3", "dbname=app", "",
        ] {
            #expect(ConnectionStringFlaw(in: url) == nil, "\(url)")
        }
    }
}
