import Postline

extension Server {
    /// The server of `make run`, as the simulator reaches it. A phone needs the computer's name or address in the local
    /// network, such as `my-mac.local`.
    static let development = Server.line("127.0.0.1", isEncrypted: false)
}
