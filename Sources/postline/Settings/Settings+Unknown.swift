internal import Logging

extension Settings {
    /// Says of each variable that begins as a setting does and is none that nothing reads it. Others' programs may have
    /// put it there, so it ends nothing.
    func logUnknownVariables(to logger: Logger) {
        for variable in unknownVariables {
            var metadata: Logger.Metadata = ["variable": "\(variable)"]
            if let nearest = SettingNames.nearestVariable(to: variable) { metadata["nearest"] = "\(nearest)" }
            logger.warning("an environment variable is no setting and is not read", metadata: metadata)
        }
    }
}
