import SystemPackage

/// `nginx` that stores files by PUT in a folder, on its own port.
enum NginxServer {
    /// - Parameter body: receives the port. The server ends when it returns.
    /// - Throws: `BenchError` if the server cannot be started.
    static func run(in directory: String, _ body: (_ port: Int) async throws -> Void) async throws {
        let port = try await BenchNode.freePort()
        let configuration = """
            daemon off; pid \(directory)/nginx.pid; error_log /dev/null; worker_processes auto; user root;
            events {}
            http {
              access_log off; client_max_body_size 128m; client_body_temp_path \(directory)/incoming;
              server { listen 127.0.0.1:\(port); root \(directory)/files; location / { dav_methods PUT; } }
            }
            """
        let path = "\(directory)/nginx.conf"
        try BenchFiles.makeDirectory("\(directory)/files")
        try BenchFiles.write(configuration, to: path)
        try await BenchProcess.run("nginx", ["-c", path]) {
            try await UploadClient.awaitServer(port: port)
            try await body(port)
        }
    }
}
