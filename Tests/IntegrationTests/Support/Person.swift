/// The users of the dev world (`sql/seed.sql`).
enum Person: String, CaseIterable {
    case alice, bob, carol, dave, erin, frank

    var id: String {
        switch self {
        case .alice: "a11ce000-0000-4000-8000-000000000001"
        case .bob: "b0b00000-0000-4000-8000-000000000002"
        case .carol: "ca401000-0000-4000-8000-000000000003"
        case .dave: "da7e0000-0000-4000-8000-000000000004"
        case .erin: "e4130000-0000-4000-8000-000000000005"
        case .frank: "f4a00000-0000-4000-8000-000000000006"
        }
    }

    var email: String { "\(rawValue)@example.com" }
}

/// The conversations of the dev world.
enum Room {
    static let aliceBob = "d0000000-0000-4000-8000-000000000001"
    static let aliceCarol = "d0000000-0000-4000-8000-000000000002"
    static let bobDave = "d0000000-0000-4000-8000-000000000003"
    static let carolErin = "d0000000-0000-4000-8000-000000000004"
    static let aliceErin = "d0000000-0000-4000-8000-000000000005"

    /// Alice (owner), Bob (admin), Carol, Dave.
    static let alps = "90000000-0000-4000-8000-000000000001"

    /// Erin (owner), Alice, Frank.
    static let bookClub = "90000000-0000-4000-8000-000000000002"
}

/// An id that does not exist.
let nobody = "00000000-0000-4000-8000-00000000dead"
