/// The fields of an error or notice, by libpq's letters.
///
/// Swift does not import `PG_DIAG_…`, which are macros. Source: `postgres_ext.h`; the letters are fixed by the wire
/// protocol.
enum DiagnosticField: Unicode.Scalar {
    case severity = "V"
    case sqlState = "C"
    case message = "M"
    case detail = "D"
    case hint = "H"
    case position = "P"
    case context = "W"
    case schema = "s"
    case table = "t"
    case column = "c"
    case constraint = "n"
    case routine = "R"

    /// The code for `PQresultErrorField`.
    var code: Int32 { Int32(rawValue.value) }
}
