import CPostgres

/// The owner of a `PGresult`.
///
/// Sendable without the compiler's check: a result does not change after libpq returned it and may then be read by any
/// thread (documentation, section 34.20, "Behavior in Threaded Programs"). Being noncopyable it is freed once.
@safe struct ResultHandle: ~Copyable, @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Takes ownership of a result.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe PQclear(pointer) }

    var status: ExecStatusType { unsafe PQresultStatus(pointer) }
    var rowCount: Int { Int(unsafe PQntuples(pointer)) }
    var columnCount: Int { Int(unsafe PQnfields(pointer)) }

    func columnName(_ column: Int) -> String? {
        guard let name = unsafe PQfname(pointer, Int32(column)) else { return nil }
        return unsafe String(cString: name)
    }

    /// The caller has checked the bounds. The pointer is valid as long as the result, and so during `body`.
    func withBytes<Value, Failure: Error>(
        _ row: Int, _ column: Int, _ body: (RawSpan?) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if unsafe PQgetisnull(pointer, Int32(row), Int32(column)) != 0 { return try body(nil) }
        let length = Int(unsafe PQgetlength(pointer, Int32(row), Int32(column)))
        let start = unsafe UnsafeRawPointer(PQgetvalue(pointer, Int32(row), Int32(column)))
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: length)
        return try body(unsafe bytes.bytes)
    }

    /// The error that this result reports.
    var error: ServerError {
        var error = ServerError(
            severity: self[.severity] ?? "ERROR", sqlState: SQLState(rawValue: self[.sqlState] ?? ""),
            message: self[.message] ?? "")
        // An error of libpq itself has no fields.
        if error.message.isEmpty { error.message = unsafe String(cString: PQresultErrorMessage(pointer)).trimmed }
        error.detail = self[.detail]
        error.hint = self[.hint]
        error.position = self[.position].flatMap { Int($0) }
        error.context = self[.context]
        error.schema = self[.schema]
        error.table = self[.table]
        error.column = self[.column]
        error.constraint = self[.constraint]
        error.routine = self[.routine]
        return error
    }

    private subscript(field: DiagnosticField) -> String? {
        guard let text = unsafe PQresultErrorField(pointer, field.code) else { return nil }
        return unsafe String(cString: text)
    }
}

extension ResultHandle {
    /// The kind of result, from its status.
    var kind: PipelineRequest.ResultKind {
        switch status {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .rows
        case PGRES_PIPELINE_ABORTED: .skipped
        case PGRES_PIPELINE_SYNC: .sync
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: .copy
        default: .error
        }
    }
}
