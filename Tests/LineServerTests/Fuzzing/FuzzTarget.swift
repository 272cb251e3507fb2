import Foundations
import Synchronization

/// The libFuzzer target (`scripts/fuzz`): the server's invariants hold for any bytes.
@main struct FuzzTarget {
    private static let lines = Atomic(0)

    static func main() {
        // The driver exits the process.
        atexit { print("\(FuzzTarget.lines.load(ordering: .relaxed)) lines") }
        var count = CommandLine.argc
        var arguments: Arguments? = unsafe CommandLine.unsafeArgv
        // libFuzzer uses its arguments and calls back on this thread only during the call.
        let status = unsafe runDriver(&count, &arguments) { start, count in
            // The input has `count` bytes during the call.
            FuzzTarget.check(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
        exit(status)
    }

    /// Checks the stream. Its first eight bytes select the line limit and the pieces, so that the fuzzer finds borders
    /// too.
    private static func check(_ input: [UInt8]) {
        guard input.count > 8 else { return }
        let limit = [8, 64, 1_024, 65_536][Int(input[0] & 3)]
        let invariants = StreamInvariants(maxLineBytes: limit, maxUnendedBytes: limit * 4)
        do {
            let count = try invariants.check(Array(input.dropFirst(8)), pieces: input[1..<8].map { Int($0) + 1 })
            lines.add(count, ordering: .relaxed)
        } catch {
            // The trap ends the process, and libFuzzer stores the input.
            fatalError("\(error)")
        }
    }
}

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// libFuzzer's entry point for a program with a main function. Its archive has no header to import.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<Arguments?>,
    _ body: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt
