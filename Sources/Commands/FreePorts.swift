import LineServer

extension Settings {
    /// Checks that no other program uses the ports, before anything is made for them.
    ///
    /// - Throws: `StartError` that names each port in use.
    func requireFreePorts() async throws(StartError) {
        var taken: [(key: String, error: ListenError)] = []
        for (key, host, port) in listeners {
            // The server reports other errors.
            if let error = await ListenError.probe(host: host, port: port), error.reason == .portInUse {
                taken.append((key, error))
            }
        }
        guard !taken.isEmpty else { return }
        let errors = taken.map(\.error.description).joined(separator: " ")
        let names = taken.map { name(of: $0.key) }.joined(separator: ", ")
        throw StartError(
            description:
                "\(errors) Stop what listens there, or set \(names) to \(taken.count == 1 ? "another" : "others").")
    }
}
