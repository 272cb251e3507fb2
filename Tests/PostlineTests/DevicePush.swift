@testable import Push

/// A push to a device. `Messaging` has another type of that name, so this file does not import it.
typealias DevicePush = Push
