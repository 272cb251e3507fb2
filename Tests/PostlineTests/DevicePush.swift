@testable import Push

/// A push to a device. `Messaging` has another type named `Push`, so this file does not import it.
typealias DevicePush = Push
