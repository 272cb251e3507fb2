/// One run of libFuzzer's (`scripts/fuzz`): whatever the bytes are, the server's invariants hold.
///
/// The first eight bytes say how large a line may be and where the rest is cut, so that the fuzzer finds borders too.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTarget(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    // libFuzzer's own promise: so many bytes stand there for the time of the call.
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count > 8 else { return 0 }
    let limit = [8, 64, 1_024, 65_536][Int(input[0] & 3)]
    let invariants = StreamInvariants(maxLineBytes: limit, maxUnendedBytes: limit * 4)
    do {
        try invariants.check(Array(input.dropFirst(8)), pieces: input[1..<8].map { Int($0) + 1 })
    } catch {
        // It ends the process, upon which libFuzzer writes the input down.
        fatalError("\(error)")
    }
    return 0
}
