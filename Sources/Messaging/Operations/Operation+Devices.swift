import Postgres
import WireProtocol

extension Operation {
    /// The methods `devices.*`, which register devices for pushes while no app is open.
    static let devices = [registerDevice, listDevices, removeDevice]

    private static let registerDevice = Operation(
        "devices.register", .user, "Registers this session's device for pushes of messages.",
        [
            Parameter(
                "platform", .string(.choice(DevicePlatform.allCases.map(\.rawValue))),
                "The service that delivers pushes to the device."),
            Parameter("token", .string(.bytes(1...2_048)), "The platform's token of the device."),
            Parameter(
                "environment", .string(.choice(["production", "sandbox"])), .optional, default: .string("production"),
                "The platform's environment. Apps under development get tokens of the sandbox."),
            Parameter(
                "locale", .string(.any), .optional, "The language of notifications, a BCP 47 tag."),
        ],
        result: .object([("id", .uuid)]), errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        let platform = try params.required("platform")
        guard session.service.pushPlatforms.contains(where: { $0.rawValue == platform }) else {
            throw ProtocolError(
                .forbidden, "This server does not push by \(platform): its operator can enable it with POSTLINE_PUSH_…."
            )
        }
        return try await session.change(
            Statement("api.register_device", "select api.register_device($1, $2, $3, $4)"),
            [platform, params.string("token"), params.string("environment"), params.string("locale")])
    }

    private static let listDevices = Operation(
        "devices.list", .user, "Lists the caller's devices, the last registered first.",
        result: .object([
            (
                "devices",
                .array(
                    of: .object([
                        ("id", .uuid), ("platform", .choice(DevicePlatform.allCases.map(\.rawValue))),
                        ("token", .string.described("The last six characters of the token.")),
                        ("environment", .choice(["production", "sandbox"])), ("locale", .string.nullable),
                        ("created_at", .timestamp),
                    ]))
            )
        ])
    ) { session, _ throws(ProtocolError) in
        try await session.read(Statement("api.devices", "select api.devices()"), [])
    }

    private static let removeDevice = Operation(
        "devices.remove", .user, "Removes a device, so that it gets no more pushes.",
        [Parameter("id", .uuid, "A device of the caller.")], result: .object([]), errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.remove_device", "select api.remove_device($1::uuid)"), [params.uuid("id")])
    }
}

/// A service that delivers device pushes.
package enum DevicePlatform: String, Sendable, CaseIterable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm
    /// The operator's own server.
    case webhook
}
