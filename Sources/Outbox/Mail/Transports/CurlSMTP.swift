import CCurl

/// An SMTP session by libcurl. It blocks: at most half a minute per command, two minutes after the mail is sent (of the
/// ten that RFC 5321, 4.5.3.2.6, grants), and three and a half in total.
enum CurlSMTP {
    /// The content to send.
    struct Letter: Sendable {
        let from: String
        let to: String
        let bytes: [UInt8]
    }

    struct Failure: Error, CustomStringConvertible {
        /// The server's reply code (RFC 5321, 4.2); 0 if it refused nothing.
        let reply: Int

        let stage: Stage

        /// A description for the operator. The server may quote the address.
        let description: String

        enum Stage: String, Sendable {
            /// The server was unreachable, did not greet, or the connection was lost.
            case connection
            /// Encryption, sign-in or the sender failed.
            case setup
            /// The server refused this mail.
            case mail
        }
    }

    /// Sends a letter; without one, stops after the sender.
    ///
    /// - Parameter sender: the address whose domain is announced (EHLO).
    static func perform(
        _ letter: Letter?, _ settings: MailSettings.SMTP, from sender: MailAddress, authorities: String?
    ) -> Result<Void, Failure> {
        guard isReady, let curl = Curl() else {
            return .failure(Failure(reply: 0, stage: .setup, description: "libcurl cannot be initialized."))
        }
        return curl.perform(letter, settings, sender: sender.address, greeting: sender.domain, authorities: authorities)
    }

    /// Once per process, before any other call.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}

/// The owner of a libcurl handle and its buffers.
@safe private struct Curl: ~Copyable {
    private let handle: UnsafeMutableRawPointer
    private let exchange: UnsafeMutablePointer<postline_curl_exchange>
    private var recipients: UnsafeMutablePointer<curl_slist>?

    init?() {
        guard let handle = unsafe curl_easy_init() else { return nil }
        unsafe self.handle = unsafe handle
        unsafe exchange = .allocate(capacity: 1)
        unsafe exchange.initialize(to: postline_curl_exchange())
        unsafe recipients = nil
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe curl_slist_free_all(recipients)
        unsafe exchange.deallocate()
    }

    consuming func perform(
        _ letter: CurlSMTP.Letter?, _ settings: MailSettings.SMTP, sender: String, greeting: String,
        authorities: String?
    ) -> Result<Void, CurlSMTP.Failure> {
        var isSet =
            set(CURLOPT_URL, "\(settings.url)/\(greeting)") && set(CURLOPT_NOSIGNAL, 1)
            // The settings lead to the server regardless of environment variables.
            && set(CURLOPT_PROXY, "") && set(CURLOPT_CONNECTTIMEOUT_MS, 10_000)
            && set(CURLOPT_SERVER_RESPONSE_TIMEOUT, 30)
            && set(CURLOPT_TIMEOUT, 210)
            && set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
            && set(CURLOPT_USE_SSL, settings.needsTLS ? Int(CURLUSESSL_ALL.rawValue) : Int(CURLUSESSL_NONE.rawValue))
        if let authorities { isSet = isSet && set(CURLOPT_CAINFO, authorities) }
        if let user = settings.user {
            isSet = isSet && set(CURLOPT_USERNAME, user) && set(CURLOPT_PASSWORD, settings.password ?? "")
        }
        isSet = unsafe isSet && postline_curl_set_exchange(handle, exchange) == CURLE_OK
        if let letter {
            unsafe recipients = unsafe curl_slist_append(nil, letter.to)
            isSet =
                unsafe isSet && recipients != nil && set(CURLOPT_MAIL_FROM, letter.from) && set(CURLOPT_UPLOAD, 1)
                && postline_curl_set_list(handle, CURLOPT_MAIL_RCPT, recipients) == CURLE_OK
        } else {
            isSet = isSet && set(CURLOPT_CUSTOMREQUEST, "MAIL FROM:<\(sender)>") && set(CURLOPT_NOBODY, 1)
        }
        guard isSet else {
            return .failure(
                CurlSMTP.Failure(reply: 0, stage: .setup, description: "libcurl rejected the SMTP options."))
        }
        // The bytes stay in place during the transfer.
        let code = unsafe (letter?.bytes ?? []).withUnsafeBytes { bytes in
            unsafe exchange.pointee.next = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            unsafe exchange.pointee.left = bytes.count
            unsafe exchange.pointee.response_timeout = 120
            return unsafe curl_easy_perform(handle)
        }
        return code == CURLE_OK ? .success(()) : .failure(failure(code, isEncrypted: settings.url.hasPrefix("smtps")))
    }

    private func set(_ option: CURLoption, _ text: String) -> Bool {
        unsafe postline_curl_set_text(handle, option, text) == CURLE_OK
    }

    private func set(_ option: CURLoption, _ number: Int) -> Bool {
        unsafe postline_curl_set_number(handle, option, number) == CURLE_OK
    }

    private func failure(_ code: CURLcode, isEncrypted: Bool) -> CurlSMTP.Failure {
        let curlError = unsafe withUnsafeBytes(of: &exchange.pointee.error) { unsafe Self.text($0) }
        let refusal = unsafe withUnsafeBytes(of: &exchange.pointee.refusal) { unsafe Self.text($0) }
        let reply = Int(refusal.prefix(3)) ?? 0
        let command = unsafe Character(UnicodeScalar(UInt8(bitPattern: exchange.pointee.command)))
        let stage: CurlSMTP.Failure.Stage =
            switch (code, command) {
            case (CURLE_LOGIN_DENIED, _), (CURLE_USE_SSL_FAILED, _), (CURLE_SSL_CONNECT_ERROR, _),
                (CURLE_PEER_FAILED_VERIFICATION, _), (CURLE_SSL_CACERT_BADFILE, _), (CURLE_AUTH_ERROR, _):
                .setup
            case _ where reply == 0: .connection
            // RCPT, DATA and later commands concern this mail; MAIL concerns the sender.
            case (_, "R"), (_, "D"): .mail
            case (_, "M") where reply >= 500: .setup
            default: .connection
            }
        let why = curlError.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : curlError
        let advice = Self.advice(code, reply: reply, isEncrypted: isEncrypted)
        return CurlSMTP.Failure(reply: reply, stage: stage, description: (refusal.isEmpty ? why : refusal) + advice)
    }

    /// Returns advice on a likely configuration error, as the rest of a sentence.
    private static func advice(_ code: CURLcode, reply: Int, isEncrypted: Bool) -> String {
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION:
            " (set POSTLINE_MAIL_AUTHORITIES_FILE to trust more certificates than the system's)"
        case CURLE_SSL_CACERT_BADFILE: " (POSTLINE_MAIL_AUTHORITIES_FILE must be a PEM file of certificates)"
        case CURLE_USE_SSL_FAILED:
            " (without encryption, set POSTLINE_MAIL_SMTP_TLS=off; with implicit TLS, use smtps://)"
        case CURLE_SSL_CONNECT_ERROR where isEncrypted: " (with STARTTLS, use smtp://)"
        case CURLE_OPERATION_TIMEDOUT where !isEncrypted:
            " (with implicit TLS, use smtps://)"
        default: reply == 530 ? " (set POSTLINE_MAIL_SMTP_USER and POSTLINE_MAIL_SMTP_PASSWORD)" : ""
        }
    }

    /// Returns the text up to the NUL, without the line break.
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        let text = unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        return String(text.prefix { !$0.isNewline })
    }
}
