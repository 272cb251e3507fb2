/// How soon this node says who is online, and for how long what it said holds (`docs/protocol.md`, section 4).
public struct PresenceTimes: Sendable {
    /// For how long the database believes a node that says nothing more, in whole seconds.
    public var lease: Duration = .seconds(10)

    /// After how long a node that has nothing to tell says that it is there.
    public var renewal: Duration = .seconds(3)

    /// The least time between two statements that tell of somebody.
    public var pace: Duration = .seconds(1)

    /// How long after its last session a user is still online: whoever is back by then was never away.
    public var grace: Duration = .seconds(5)

    /// How often it is looked for other nodes whose lease is over.
    public var nodeCheck: Duration = .seconds(2)

    public init() {}
}
