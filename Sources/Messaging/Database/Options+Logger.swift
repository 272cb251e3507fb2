internal import Logging
internal import Postgres

extension ConnectionOptions {
    /// The defaults, with notices in the service's log.
    static func logging(to logger: Logger) -> ConnectionOptions {
        var options = ConnectionOptions()
        options.logger = logger
        return options
    }
}

extension ListenerOptions {
    /// The defaults, with notices in the service's log.
    static func logging(to logger: Logger) -> ListenerOptions {
        var options = ListenerOptions()
        options.connection = .logging(to: logger)
        return options
    }
}
