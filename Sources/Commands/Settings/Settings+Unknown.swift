import Logging

extension Settings {
    /// Logs each variable that has the prefix of a setting but is unknown. It may belong to another program, so it is
    /// not an error.
    func logUnknownVariables(to logger: Logger) {
        for variable in unknownVariables {
            var metadata: Logger.Metadata = ["variable": "\(variable)"]
            if let nearest = SettingNames.nearestVariable(to: variable) { metadata["nearest"] = "\(nearest)" }
            logger.warning("an environment variable is not a setting and is ignored", metadata: metadata)
        }
    }
}
