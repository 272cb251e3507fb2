import Foundations

/// The terminal of this process: its size and modes.
enum Terminal {
    /// True if both ends are a terminal that can move its cursor.
    static var isInteractive: Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && environment("TERM") ?? "dumb" != "dumb"
    }

    /// The styles that standard output supports, without colours if unwanted (https://no-color.org).
    static var colorDepth: ColorDepth {
        if isatty(STDOUT_FILENO) == 0 || environment("TERM") ?? "dumb" == "dumb" { return .none }
        if !(environment("NO_COLOR") ?? "").isEmpty { return .monochrome }
        return ["truecolor", "24bit"].contains(environment("COLORTERM")) ? .full : .indexed
    }

    /// Returns an environment variable, or nil.
    static func environment(_ name: String) -> String? {
        // The text is copied at once; nothing in this process changes its environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// The columns and rows; 80 and 24 if unknown.
    static var size: (width: Int, height: Int) {
        var size = winsize()
        // The kernel writes one struct that we own.
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Writes the text to standard output. Returns false if the reader has gone.
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

    /// Reads from standard input, blocking. Returns nil at its end.
    static func read() -> [UInt8]? {
        while true {
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, initialized in
                // At most the buffer's size is read, and only that is marked as initialized.
                count = unsafe readIn(buffer.baseAddress, buffer.count)
                initialized = max(0, count)
            }
            if count > 0 { return bytes }
            if count == 0 || errno != EINTR { return nil }
        }
    }

    /// Reads a line without echo. Returns nil if the user cancels.
    static func readSecret(prompt: String) -> String? {
        let modes = TerminalModes()
        // Without signals too: Ctrl-C must not leave the terminal without echo. Earlier input is discarded.
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

/// Turns the terminal's echo off and on.
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

/// The original modes of the terminal.
struct TerminalModes {
    private let found: termios

    /// Nil where standard input is no terminal.
    init?() {
        var modes = termios()
        // The C library writes one struct that we own.
        guard unsafe tcgetattr(STDIN_FILENO, &modes) == 0 else { return nil }
        found = modes
    }

    /// Sets modes, starting from the original ones.
    func set(_ change: (inout termios) -> Void) {
        var modes = found
        change(&modes)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes)
    }

    /// Sets raw mode: every key is delivered at once and not echoed.
    func setRaw() {
        set { modes in
            // cfmakeraw changes the one struct that it is given.
            unsafe cfmakeraw(&modes)
        }
    }

    /// Restores the original modes.
    func restore() {
        var modes = found
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes)
    }
}
