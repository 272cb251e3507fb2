import Testing

@testable import Postgres

@Suite struct ConninfoTests {
    private func values(_ url: String) throws -> [String: String] {
        let conninfo = try Conninfo(url, applicationName: "postline")
        return Dictionary(uniqueKeysWithValues: conninfo.parameters.map { ($0.keyword, $0.value) })
    }

    @Test("a URL and keywords are read alike, and get the defaults that they leave open")
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

    @Test("what the connection string sets is kept, except for the encoding")
    func explicitValues() throws {
        let values = try values(
            "host=db tcp_user_timeout=7 keepalives=0 application_name=mine client_encoding=LATIN1 connect_timeout=9")
        #expect(values["tcp_user_timeout"] == "7")
        #expect(values["keepalives"] == "0")
        #expect(values["application_name"] == "mine")
        #expect(values["client_encoding"] == "UTF8")
        #expect(try Conninfo("connect_timeout=9", applicationName: "x").connectTimeout == .seconds(9))
    }

    @Test("a malformed string is refused with a reason, and a password is never repeated")
    func malformed() throws {
        let plain = #expect(throws: PostgresError.self) { try Conninfo("hots=db", applicationName: "x") }
        #expect("\(try #require(plain))".contains("hots"))
        for url in ["password=secret hots=db", "postgresql://u:secret@[::1/"] {
            let error = #expect(throws: PostgresError.self) { try Conninfo(url, applicationName: "x") }
            #expect(!"\(try #require(error))".contains("cret"))
        }
    }
}
