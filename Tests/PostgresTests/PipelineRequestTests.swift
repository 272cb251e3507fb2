import CPostgres
import Testing

@testable import Postgres

@Suite("Pipeline request")
struct PipelineRequestTests {
    private static let one = Statement("one", "select 1")
    private static let two = Statement("two", "select 2")

    /// Returns a request in its state after sending.
    private func request(_ work: PipelineRequest.Work, _ steps: [PipelineRequest.Step] = []) -> PipelineRequest {
        var request = PipelineRequest(id: 1, work: work, deadline: nil) { _ in }
        request.steps = steps
        return request
    }

    /// Returns a libpq result made without a server.
    private func result(_ status: ExecStatusType = PGRES_TUPLES_OK) throws -> ResultHandle {
        guard let result = unsafe PQmakeEmptyPGresult(nil, status) else { throw OutOfMemory() }
        return unsafe ResultHandle(owning: result)
    }

    @Test("returns rows to the caller and prepared names to the connection")
    func pipeline() throws {
        var request = request(
            .pipeline([Call(Self.one), Call(Self.two)]), [.prepare(Self.one), .call, .prepare(Self.two), .call])
        for statement in [Self.one, Self.two] {
            guard case .prepared(statement) = request.receive(.rows, try result(PGRES_COMMAND_OK)) else {
                Issue.record("\(statement.name) was not reported as prepared")
                return
            }
            #expect(request.receiveEnd().isMore)
            #expect(request.receive(.rows, try result()).isMore)
            #expect(request.receiveEnd().isMore)
        }
        #expect(try request.result.get().count == 2)
        guard case .finished = request.receive(.sync, try result(PGRES_PIPELINE_SYNC)) else {
            Issue.record("the request does not end at the Sync")
            return
        }
    }

    @Test("prepares a statement once for two calls in a pipeline")
    func preparedOnce() {
        let request = request(.pipeline([Call(Self.one), Call(Self.one)]), [.prepare(Self.one), .call])
        #expect(request.prepares(Self.one))
        #expect(!request.prepares(Self.two))
    }

    @Test("returns a failure and skips the results after it")
    func failure() throws {
        var request = request(.pipeline([Call(Self.one), Call(Self.two)]), [.call, .call])
        #expect(request.receive(.rows, try result()).isMore)
        #expect(request.receiveEnd().isMore)
        #expect(request.receive(.error, try result(PGRES_FATAL_ERROR)).isMore)
        #expect(request.receiveEnd().isMore)
        #expect(request.receive(.skipped, try result(PGRES_PIPELINE_ABORTED)).isMore)
        guard case .failure(.server) = request.result else {
            Issue.record("rows of a pipeline that failed")
            return
        }
    }

    @Test("handles an error at the Sync of a deferred constraint")
    func deferred() throws {
        var request = request(.pipeline([Call(Self.one)]), [.call])
        #expect(request.receive(.rows, try result()).isMore)
        #expect(request.receiveEnd().isMore)
        #expect(request.receive(.error, try result(PGRES_FATAL_ERROR)).isMore)
        #expect(request.receiveEnd().isMore)
        #expect(throws: PostgresError.self) { try request.result.get() }
        #expect(!request.receiveEnd().isMore, "more ends than statements and the Sync")
    }

    @Test("makes the connection unusable on COPY or unexpected results")
    func unusable() throws {
        var request = request(.pipeline([Call(Self.one)]), [.call])
        _ = request.receive(.rows, try result())
        _ = request.receiveEnd()
        guard case .unusable = request.receive(.rows, try result()),
            case .unusable = request.receive(.copy, try result())
        else {
            Issue.record("the connection stays usable")
            return
        }
    }

    @Test("returns all results of a script")
    func script() throws {
        var request = request(.script("select 1; select 2"))
        #expect(request.receive(.rows, try result()).isMore)
        #expect(request.receive(.rows, try result()).isMore)
        guard case .finished = request.receiveEnd() else {
            Issue.record("the script does not end")
            return
        }
        #expect(try request.result.get().count == 2)
    }
}

private struct OutOfMemory: Error {}

extension PipelineRequest.Outcome {
    fileprivate var isMore: Bool { if case .more = self { true } else { false } }
}
