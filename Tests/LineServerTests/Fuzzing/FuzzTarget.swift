import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The target of libFuzzer (`scripts/fuzz`): the server's invariants hold for any bytes.
@main struct FuzzTarget {
    private static let lines = Atomic(0)

    static func main() {
        // The driver ends the process itself.
        atexit { print("\(FuzzTarget.lines.load(ordering: .relaxed)) lines") }
        var count = CommandLine.argc
        var arguments: Arguments? = unsafe CommandLine.unsafeArgv
        // libFuzzer keeps to its arguments, and calls back on this thread while the call lasts.
        let status = unsafe runDriver(&count, &arguments) { start, count in
            // So many bytes stand there for the time of the call.
            FuzzTarget.check(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
        exit(status)
    }

    /// The first eight bytes say how large a line may be and where the rest is cut, so that the fuzzer finds borders too.
    private static func check(_ input: [UInt8]) {
        guard input.count > 8 else { return }
        let limit = [8, 64, 1_024, 65_536][Int(input[0] & 3)]
        let invariants = StreamInvariants(maxLineBytes: limit, maxUnendedBytes: limit * 4)
        do {
            let count = try invariants.check(Array(input.dropFirst(8)), pieces: input[1..<8].map { Int($0) + 1 })
            lines.add(count, ordering: .relaxed)
        } catch {
            // It ends the process, upon which libFuzzer writes the input down.
            fatalError("\(error)")
        }
    }
}

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// libFuzzer's own entry, for a program that has a main function: its archive has no header to import.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<Arguments?>,
    _ body: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt
