#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The terminal that this process runs in: its size, and the modes that are borrowed and given back.
enum Terminal {
    /// Whether a person sits at both ends, and the terminal can move its cursor.
    static var isInteractive: Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && environment("TERM") ?? "dumb" != "dumb"
    }

    /// What standard output shows of styles: colours only where they are wanted (https://no-color.org).
    static var colorDepth: ColorDepth {
        if isatty(STDOUT_FILENO) == 0 || environment("TERM") ?? "dumb" == "dumb" { return .none }
        if !(environment("NO_COLOR") ?? "").isEmpty { return .monochrome }
        return ["truecolor", "24bit"].contains(environment("COLORTERM")) ? .full : .indexed
    }

    /// An environment variable; nil where it is not set.
    static func environment(_ name: String) -> String? {
        // The text is copied at once; nothing in this process changes its environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Columns and rows; 80 and 24 where the terminal does not say.
    static var size: (width: Int, height: Int) {
        var size = winsize()
        // The kernel writes one struct that we own.
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Writes all of the text to standard output; false where nobody reads it any more.
    @discardableResult
    static func write(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            // The bytes outlive the call.
            let count = unsafe bytes.withUnsafeBytes { unsafe writeOut(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR && errno != EAGAIN {
                return false
            }
        }
        return true
    }

    /// Reads what standard input has, waiting for it; nil at its end.
    static func read() -> [UInt8]? {
        while true {
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, initialized in
                // At most the buffer's own size is read into it, and just that is taken for initialized.
                count = unsafe readIn(buffer.baseAddress, buffer.count)
                initialized = max(0, count)
            }
            if count > 0 { return bytes }
            if count == 0 || errno != EINTR { return nil }
        }
    }

    /// Asks for a line that is not shown while it is typed; nil where the person does not want to.
    static func readSecret(prompt: String) -> String? {
        let modes = TerminalModes()
        // Without signals too: a Ctrl-C must not leave the terminal silent. What was typed before is dropped.
        modes?.set { $0.c_lflag &= ~tcflag_t(ECHO | ISIG) }
        write(prompt)
        defer {
            write("\n")
            modes?.restore()
        }
        guard let line = readLine(), !line.contains("\u{3}") else { return nil }
        return line
    }

    @unsafe private static func writeOut(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Darwin)
        unsafe Darwin.write(descriptor, bytes, count)
        #elseif canImport(Musl)
        unsafe Musl.write(descriptor, bytes, count)
        #else
        unsafe Glibc.write(descriptor, bytes, count)
        #endif
    }

    @unsafe private static func readIn(_ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        #if canImport(Darwin)
        unsafe Darwin.read(STDIN_FILENO, bytes, count)
        #elseif canImport(Musl)
        unsafe Musl.read(STDIN_FILENO, bytes, count)
        #else
        unsafe Glibc.read(STDIN_FILENO, bytes, count)
        #endif
    }
}

/// Whether the terminal shows what is typed line by line.
final class Echo {
    private let modes: TerminalModes

    var isOn = true {
        didSet {
            guard isOn != oldValue else { return }
            if isOn { modes.restore() } else { modes.set { $0.c_lflag &= ~tcflag_t(ECHO) } }
        }
    }

    /// Nil where standard input is no terminal.
    init?() {
        guard let modes = TerminalModes() else { return nil }
        self.modes = modes
    }
}

/// The modes of the terminal as they were found.
struct TerminalModes {
    private let found: termios

    /// Nil where standard input is no terminal.
    init?() {
        var modes = termios()
        // The C library writes one struct that we own.
        guard unsafe tcgetattr(STDIN_FILENO, &modes) == 0 else { return nil }
        found = modes
    }

    /// Changes the modes from what they were found as.
    func set(_ change: (inout termios) -> Void) {
        var modes = found
        change(&modes)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes)
    }

    /// Every key at once and none shown.
    func setRaw() {
        set { modes in
            // cfmakeraw changes the one struct that it is given.
            unsafe cfmakeraw(&modes)
        }
    }

    /// Gives back what was found.
    func restore() {
        var modes = found
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes)
    }
}
