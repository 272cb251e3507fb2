import LineServer
import Postgres
import WireProtocol

/// Checks that the node's ports are free, or in use by Postline.
struct PortCheck: Sendable {
    let settings: SettingsUnderTest

    private static let check = "ports"

    /// Runs the check.
    ///
    /// - Returns: true if Postline already serves the line port.
    func examine(_ report: (Finding) -> Void) async -> Bool {
        var isServing = false
        let host = settings.host
        let lines = "\(host.contains(":") ? "[\(host)]" : host):\(settings.port)"
        if let refusal = await ListenError.probe(host: settings.host, port: settings.port) {
            if let version = await postlineVersion() {
                isServing = true
                let kind =
                    settings.certificate == nil ? "lines" : "lines over TLS, with the certificate of the settings"
                report(.ok(Self.check, "On \(lines) a Postline \(version) serves \(kind)."))
            } else if let port = settings.operationsPort,
                await Self.isAlive(host: settings.operationsHost, port: port)
            {
                isServing = true
                report(
                    .warning(
                        Self.check, "\(lines) is in use, and what is there says no hello \(manner).", remedy))
            } else {
                report(
                    .problem(
                        Self.check, "Lines cannot be served on \(lines). \(refusal)",
                        "Stop what is there, if it is a port in use, or set POSTLINE_HOST and POSTLINE_PORT to another."
                    ))
            }
        } else {
            report(.ok(Self.check, "\(lines) is free, for lines."))
        }
        await examineHTTP(besidePostline: isServing, report)
        await examineOperations(report)
        return isServing
    }

    private func examineHTTP(besidePostline isServing: Bool, _ report: (Finding) -> Void) async {
        guard let port = settings.httpPort else { return }
        let place = "\(settings.httpHost):\(port)"
        guard let refusal = await ListenError.probe(host: settings.httpHost, port: port) else {
            report(
                isServing
                    ? .warning(
                        Self.check, "Lines are served, and nothing serves HTTP on \(place).",
                        "If that node is to serve HTTP elsewhere, or not, set POSTLINE_HTTP_PORT here as it is there.")
                    : .ok(Self.check, "\(place) is free, for HTTP."))
            return
        }
        // Connections with TLS or a PROXY header were greeted on the line port.
        let isPlain = settings.certificate == nil && !settings.expectsProxyHeader
        let asks =
            "POST /v1/server.info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
        let probe = PortProbe(host: Self.reachable(settings.httpHost), port: port)
        let answer = isPlain ? await probe.response(to: asks) : nil
        if isPlain ? answer?.contains(#""server":"postline""#) == true : isServing {
            report(.ok(Self.check, "On \(place) a Postline serves HTTP."))
        } else {
            report(
                .problem(
                    Self.check, "HTTP cannot be served on \(place). \(refusal)",
                    "Stop what is there, if it is a port in use, or set POSTLINE_HTTP_PORT to another, or to off."))
        }
    }

    private func examineOperations(_ report: (Finding) -> Void) async {
        guard let port = settings.operationsPort else {
            report(
                .warning(
                    Self.check, "Health and metrics are not served.",
                    "Set POSTLINE_OPERATIONS_PORT, so that you see how the node is."))
            return
        }
        let place = "\(settings.operationsHost):\(port)"
        guard let refusal = await ListenError.probe(host: settings.operationsHost, port: port) else {
            report(.ok(Self.check, "\(place) is free, for health and metrics."))
            return
        }
        if await Self.isAlive(host: settings.operationsHost, port: port) {
            report(.ok(Self.check, "On \(place) a Postline serves health and metrics."))
        } else {
            report(
                .problem(
                    Self.check, "Health and metrics cannot be served on \(place). \(refusal)",
                    "Stop what is there, if it is a port in use, or set POSTLINE_OPERATIONS_PORT to another, or to off."
                ))
        }
    }

    /// Returns the version that a server announces on the line port, connecting as the settings say, or nil.
    private func postlineVersion() async -> String? {
        let probe = PortProbe(
            host: Self.reachable(settings.host), port: settings.port,
            preface: settings.expectsProxyHeader ? ProxyHeader.local : [],
            certificateFile: settings.certificate?.file)
        guard let line = await probe.firstLine(), case .object(let hello)? = try? JSON(parsing: line),
            hello["method"] == .string("server.hello"), case .object(let info)? = hello["params"],
            case .string(let version)? = info["version"]
        else { return nil }
        return version
    }

    /// The way of connecting, for messages.
    private var manner: String {
        (settings.certificate == nil ? "in plain text" : "over TLS with the certificate of POSTLINE_TLS_CERTIFICATE")
            + (settings.expectsProxyHeader ? ", after a PROXY header" : "")
    }

    private var remedy: String {
        let beginning = "A Postline serves health beside it: "
        return settings.certificate == nil
            ? beginning + "give doctor that node's settings, such as POSTLINE_TLS_CERTIFICATE."
            : beginning + "if the certificate was renewed, send that node SIGHUP; else give doctor its settings."
    }

    /// Returns true if `/healthz` responds as Postline's does.
    private static func isAlive(host: String, port: Int) async -> Bool {
        let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let text = await PortProbe(host: reachable(host), port: port).response(to: request)
        return text?.hasPrefix("HTTP/1.1 200") == true && text?.hasSuffix("alive\n") == true
    }

    /// Returns the address by which a server that listens on all addresses is reached.
    private static func reachable(_ host: String) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "::1"
        default: host
        }
    }
}
