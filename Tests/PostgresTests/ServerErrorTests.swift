import Postgres
import Testing

@Suite struct ServerErrorTests {
    @Test(
        "keeps values of an error out of the log, but not schema names",
        arguments: [
            (
                "22P02", "invalid input syntax for type integer: \"my \"secret\" text\"",
                "invalid input syntax for type integer: \"…\""
            ),
            ("22012", "division by zero", "division by zero"),
            ("22001", "a lone \" mark", "a lone \" mark"),
            ("42P01", "relation \"messages\" does not exist", "relation \"messages\" does not exist"),
        ])
    func loggable(_ state: String, _ message: String, _ loggable: String) {
        let error = ServerError(sqlState: SQLState(rawValue: state), message: message)
        #expect(error.loggableMessage == loggable)
        #expect(!error.description.contains("secret"))
        #expect(error.message == message)
    }
}
