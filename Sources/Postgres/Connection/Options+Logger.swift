package import Logging

extension ConnectionOptions {
    /// The defaults, with notices in the service's log.
    package static func logging(to logger: Logger) -> ConnectionOptions {
        var options = ConnectionOptions()
        options.logger = logger
        return options
    }
}

extension ListenerOptions {
    /// The defaults, with notices in the service's log.
    package static func logging(to logger: Logger) -> ListenerOptions {
        var options = ListenerOptions()
        options.connection = .logging(to: logger)
        return options
    }
}
