internal import CCurl

/// One exchange with a mail server, by libcurl. It blocks, for half a minute at most.
enum CurlSMTP {
    /// What is sent.
    struct Letter: Sendable {
        let from: String
        let to: String
        let bytes: [UInt8]
    }

    struct Failure: Error, CustomStringConvertible {
        /// The reply code of the server's refusal (RFC 5321, 4.2); 0 where it refused nothing.
        let reply: Int

        let stage: Stage

        /// What was said of it, for the operator: the server may quote the address.
        let description: String

        enum Stage: String, Sendable {
            /// It was not reached, did not greet, or was lost.
            case connection
            /// Encryption, or signing in.
            case setup
            /// It did not take this mail.
            case mail
        }
    }

    /// Hands a letter over; without one, goes as far as one could.
    ///
    /// - Parameter greeting: who this is (EHLO).
    static func perform(
        _ letter: Letter?, _ settings: MailSettings.SMTP, greeting: String, authorities: String?
    ) -> Result<Void, Failure> {
        guard isReady, let curl = Curl() else {
            return .failure(Failure(reply: 0, stage: .setup, description: "libcurl cannot be used."))
        }
        return curl.perform(letter, settings, greeting: greeting, authorities: authorities)
    }

    /// Once a process, before all else.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}

/// The owner of a libcurl handle, and of what it reads and writes.
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
        _ letter: CurlSMTP.Letter?, _ settings: MailSettings.SMTP, greeting: String, authorities: String?
    ) -> Result<Void, CurlSMTP.Failure> {
        var isSet =
            set(CURLOPT_URL, "\(settings.url)/\(greeting)") && set(CURLOPT_NOSIGNAL, 1)
            // What is set here leads to the server, and no variable of the environment.
            && set(CURLOPT_PROXY, "") && set(CURLOPT_CONNECTTIMEOUT_MS, 10_000) && set(CURLOPT_TIMEOUT_MS, 30_000)
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
            isSet = isSet && set(CURLOPT_CUSTOMREQUEST, "NOOP") && set(CURLOPT_NOBODY, 1)
        }
        guard isSet else {
            return .failure(CurlSMTP.Failure(reply: 0, stage: .setup, description: "libcurl takes not these settings."))
        }
        // The bytes stay where they are for as long as the transfer takes.
        let code = unsafe (letter?.bytes ?? []).withUnsafeBytes { bytes in
            unsafe exchange.pointee.next = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            unsafe exchange.pointee.left = bytes.count
            return unsafe curl_easy_perform(handle)
        }
        return code == CURLE_OK ? .success(()) : .failure(failure(code))
    }

    private func set(_ option: CURLoption, _ text: String) -> Bool {
        unsafe postline_curl_set_text(handle, option, text) == CURLE_OK
    }

    private func set(_ option: CURLoption, _ number: Int) -> Bool {
        unsafe postline_curl_set_number(handle, option, number) == CURLE_OK
    }

    private func failure(_ code: CURLcode) -> CurlSMTP.Failure {
        let said = unsafe withUnsafeBytes(of: &exchange.pointee.error) { unsafe Self.text($0) }
        let refusal = unsafe withUnsafeBytes(of: &exchange.pointee.refusal) { unsafe Self.text($0) }
        let reply = Int(refusal.prefix(3)) ?? 0
        let stage: CurlSMTP.Failure.Stage =
            switch code {
            case CURLE_LOGIN_DENIED, CURLE_USE_SSL_FAILED, CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION,
                CURLE_SSL_CACERT_BADFILE, CURLE_AUTH_ERROR:
                .setup
            // It greets by a refusal of everybody.
            case CURLE_WEIRD_SERVER_REPLY where said.hasPrefix("Got unexpected"): .connection
            case CURLE_SEND_ERROR, CURLE_WEIRD_SERVER_REPLY, CURLE_RECV_ERROR: reply > 0 ? .mail : .connection
            default: .connection
            }
        let why = said.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : said
        return CurlSMTP.Failure(reply: reply, stage: stage, description: refusal.isEmpty ? why : refusal)
    }

    /// Up to the NUL, without the line's end.
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        let text = unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        return String(text.prefix { !$0.isNewline })
    }
}
