// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours is built alike: warnings are errors, and the compiler checks concurrency and memory strictly.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // What belongs to no actor runs on its caller's thread: a request changes threads for the database alone.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The condition of dependencies that only the server needs.
let server: TargetDependencyCondition? = .when(traits: ["Server"])

let package = Package(
    name: "postline",
    platforms: [.macOS(.v15), .iOS(.v17)],
    products: [
        .executable(name: "postline", targets: ["postline"]),
        .executable(name: "postline-chat", targets: ["postline-chat"]),
        .library(name: "PostlineClient", targets: ["PostlineClient"]),
    ],
    // An app that links the client asks for no trait, and resolves nothing of what only the server needs.
    traits: [
        .default(enabledTraits: ["Server"]),
        .trait(name: "Server", description: "The server, its commands, tests and benchmarks."),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        // Without its traits, of which the one for JSON brings all of Foundation, and ICU's 34 MB.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        // The C libraries.
        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .systemLibrary(
            name: "CArgon2", pkgConfig: "libargon2",
            providers: [.apt(["libargon2-dev"]), .brew(["argon2"])]),
        .systemLibrary(
            name: "CCrypt", pkgConfig: "libxcrypt",
            providers: [.apt(["libcrypt-dev"]), .brew(["libxcrypt"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

        // The service, from the database outwards. Imports go one way: up this list, never down.
        .target(name: "Threads", swiftSettings: settings),
        .target(
            name: "EventLoops",
            dependencies: [.product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: settings),
        .target(
            name: "Postgres",
            dependencies: [
                "CPostgres",
                "Threads",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "PasswordHashing",
            dependencies: ["CArgon2", "CCrypt", "Threads"],
            swiftSettings: settings),
        .target(
            name: "Messaging",
            dependencies: [
                "PasswordHashing",
                "Postgres",
                "Threads",
                .product(name: "Crypto", package: "swift-crypto", condition: server),
                .product(name: "JWTKit", package: "jwt-kit", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
            ],
            swiftSettings: settings,
            plugins: ["EmbedFiles"]),
        .target(
            name: "Webhooks",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: server),
                .product(name: "Crypto", package: "swift-crypto", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings),
        .target(
            name: "Push",
            dependencies: [
                "Messaging",
                "Postgres",
                "Webhooks",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: server),
                .product(name: "Crypto", package: "swift-crypto", condition: server),
                .product(name: "JWTKit", package: "jwt-kit", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
            ],
            swiftSettings: settings),
        .target(
            name: "Mail",
            dependencies: [
                "CCurl",
                "Messaging",
                "Threads",
                "Webhooks",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
                .product(name: "SystemPackage", package: "swift-system", condition: server),
            ],
            swiftSettings: settings),
        .target(
            name: "Media",
            dependencies: [
                "Messaging",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: server),
                .product(name: "Crypto", package: "swift-crypto", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "SystemPackage", package: "swift-system", condition: server),
            ],
            swiftSettings: settings),
        .target(
            name: "KeySets",
            dependencies: [
                "Messaging",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .target(
            name: "LineServer",
            dependencies: [
                "EventLoops",
                "Messaging",
                "Threads",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
            ],
            swiftSettings: settings),

        .target(
            name: "Gateway",
            dependencies: [
                "CZlib",
                "EventLoops",
                "LineServer",
                "Media",
                "Messaging",
                .product(name: "Crypto", package: "swift-crypto", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
                .product(name: "SystemPackage", package: "swift-system", condition: server),
            ],
            exclude: ["Console"],
            swiftSettings: settings,
            plugins: ["EmbedFiles"]),

        // What an app links.
        .target(
            name: "PostlineClient",
            dependencies: [
                "Threads",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: settings),

        // What stands beside the service: figures for Prometheus, a client of the public protocol, and a PostgreSQL of
        // one's own.
        .target(
            name: "Metering",
            dependencies: [.product(name: "CoreMetrics", package: "swift-metrics", condition: server)],
            swiftSettings: settings),
        .target(
            name: "LineClient",
            dependencies: [
                "EventLoops",
                "Messaging",
                "Threads",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .target(
            name: "PrivatePostgres",
            dependencies: [.product(name: "Subprocess", package: "swift-subprocess", condition: server)],
            swiftSettings: settings),

        // What commands and benchmarks write to a terminal.
        .target(name: "TerminalText", swiftSettings: settings),

        // What `postline chat` and `postline doctor` do.
        .target(
            name: "Chat",
            dependencies: ["PostlineClient", "TerminalText", .product(name: "Logging", package: "swift-log")],
            swiftSettings: settings),
        .target(
            name: "Doctor",
            dependencies: [
                "KeySets",
                "LineClient",
                "LineServer",
                "Mail",
                "Media",
                "Messaging",
                "Postgres",
                "Push",
                "PrivatePostgres",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system", condition: server),
            ],
            swiftSettings: settings),

        // The commands. The chat is a program of its own, which `postline chat` becomes: all of Foundation, ICU and SQLite,
        // which an app has anyway, are no part of a server.
        .executableTarget(
            name: "postline-chat",
            dependencies: [
                "Chat",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "SystemPackage", package: "swift-system", condition: server),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "postline",
            dependencies: [
                "Doctor",
                "Gateway",
                "KeySets",
                "LineServer",
                "Mail",
                "Media",
                "Messaging",
                "Metering",
                "Postgres",
                "PrivatePostgres",
                "Push",
                "TerminalText",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "Configuration", package: "swift-configuration", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
                .product(name: "SystemPackage", package: "swift-system", condition: server),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: server),
            ],
            swiftSettings: settings),

        // The benchmarks, a bare C program that they compare the push of a change with, and the clients they measure by.
        .target(name: "CNotifyPeer", dependencies: ["CPostgres"]),
        .target(name: "CClients"),
        .executableTarget(
            name: "postline-bench",
            dependencies: [
                "CClients",
                "CNotifyPeer",
                "EventLoops",
                "LineClient",
                "LineServer",
                "Messaging",
                "Postgres",
                "PostlineClient",
                "PrivatePostgres",
                "TerminalText",
                "Threads",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess", condition: server),
                .product(name: "SystemPackage", package: "swift-system", condition: server),
            ],
            swiftSettings: settings),

        // The SQL files and the console become part of the binary.
        .executableTarget(name: "embed-files", swiftSettings: settings),
        .plugin(name: "EmbedFiles", capability: .buildTool(), dependencies: ["embed-files"]),

        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "BoundedWait", "CPostgres", "Postgres", "TestSupport", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(name: "PasswordHashingTests", dependencies: ["PasswordHashing"], swiftSettings: settings),
        .testTarget(
            name: "MessagingTests",
            dependencies: [
                "BoundedWait", "Messaging", "Postgres", "SchemaValidation", "TestSupport", "Threads",
                .product(name: "JWTKit", package: "jwt-kit", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .target(name: "BoundedWait", path: "Tests/BoundedWait", swiftSettings: settings),
        .target(name: "FuzzedLines", path: "Tests/FuzzedLines", swiftSettings: settings),
        .target(
            name: "SchemaValidation", dependencies: ["Messaging"], path: "Tests/SchemaValidation",
            swiftSettings: settings),
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        .testTarget(
            name: "LineServerTests",
            dependencies: [
                "BoundedWait", "EventLoops", "FuzzedLines", "LineServer", "Messaging", "Metering",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
            ],
            exclude: ["Fuzzing/Corpus", "Fuzzing/FuzzTarget.swift"],
            swiftSettings: settings),
        .testTarget(
            name: "MeteringTests",
            dependencies: ["Metering", .product(name: "Metrics", package: "swift-metrics", condition: server)],
            swiftSettings: settings),
        .testTarget(
            name: "BenchTests",
            dependencies: [
                "postline-bench",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ChatTests",
            dependencies: ["Chat", "PostlineClient", "TerminalText", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "DoctorTests", dependencies: ["Doctor", "Messaging", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "PostlineTests",
            dependencies: [
                "Gateway", "LineClient", "LineServer", "Mail", "Media", "Messaging", "PrivatePostgres", "Push",
                "TestSupport", "postline",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "BoundedWait", "FuzzedLines", "Gateway", "KeySets", "LineClient",
                "client-program", "LineServer", "Mail", "Media", "Messaging",
                "Metering",
                "Postgres", "PostlineClient", "postline-chat",
                "PrivatePostgres", "Push", "SchemaValidation", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto", condition: server),
                .product(name: "CryptoExtras", package: "swift-crypto", condition: server),
                .product(name: "JWTKit", package: "jwt-kit", condition: server),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: server),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: server),
                .product(name: "X509", package: "swift-certificates", condition: server),
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings),
        // An app without a screen, which tests kill.
        .executableTarget(
            name: "client-program",
            dependencies: ["PostlineClient", .product(name: "Logging", package: "swift-log")],
            path: "Tests/ClientProgram", swiftSettings: settings),
        // Tests the composed system (docker-compose.yml) from within it, where there is no toolchain.
        .executableTarget(
            name: "composed-tests",
            dependencies: [
                "BoundedWait", "LineClient", "Messaging", "Postgres",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/ComposedTests",
            swiftSettings: settings),
    ]
)

// A sanitizer needs all that it watches built anew. What it does not watch is left out of the package then: for the
// unit tests (scripts/test-sanitized) what only the integration tests need, for the fuzzer (scripts/fuzz) all tests.
// The images (Dockerfile) are built from what ships alone, so that a change of the tests builds them anew no more.
// What writes the client's reference (make documentation) is no dependency of those who link the client.
let service: Set = [
    "CPostgres", "CArgon2", "CCrypt", "Threads", "EventLoops", "Metering", "Postgres", "PasswordHashing", "Messaging",
    "LineServer",
]
let embedding: Set = ["embed-files", "EmbedFiles"]
let benchmarks: Set = ["CNotifyPeer", "CClients", "postline-bench"]
/// The modules that tests share.
let shared: Set = ["BoundedWait", "FuzzedLines", "SchemaValidation", "TestSupport"]
let unitTests = shared.union([
    "MeteringTests", "PostgresTests", "PasswordHashingTests", "MessagingTests", "LineServerTests",
])
switch Context.environment["POSTLINE_PART"] {
case "program":
    package.targets.removeAll {
        $0.type == .test || shared.union(benchmarks).union(["client-program", "composed-tests"]).contains($0.name)
    }
case "composed-tests":
    let unneeded = shared.union(benchmarks).union(["client-program"]).subtracting(["BoundedWait"])
    package.targets.removeAll { $0.type == .test || unneeded.contains($0.name) }
case "unit-tests":
    package.products = []
    package.targets.removeAll { !service.union(embedding).union(unitTests).contains($0.name) }
case "fuzz":
    package.products = []
    package.targets.removeAll { !service.union(embedding).contains($0.name) }
    // Coverage guides the fuzzer. It is asked for target by target: the build's own tool must not be linked with it.
    let guided: [SwiftSetting] = [.unsafeFlags(["-sanitize=fuzzer"])]
    for target in package.targets where ["Messaging", "LineServer"].contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + guided
    }
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: ["LineServer", "Messaging", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/LineServerTests/Fuzzing", exclude: ["Corpus"],
            swiftSettings: settings + guided,
            // gold, the default on Linux, stops with an internal error.
            linkerSettings: [
                .unsafeFlags(["-sanitize=fuzzer"]), .unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux])),
            ]))
case "documentation":
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
default:
    break
}
