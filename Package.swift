// swift-tools-version: 6.2
import PackageDescription

/// The settings of all our targets: warnings are errors, and the compiler checks concurrency and memory strictly.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // A function without an actor runs on its caller's thread, so a request changes threads only for the database.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The condition of dependencies that only the server needs.
let server: TargetDependencyCondition? = .when(traits: ["Server"])

extension Target.Dependency {
    static let argumentParser = product(
        name: "ArgumentParser", package: "swift-argument-parser", condition: server)
    static let crypto = product(name: "Crypto", package: "swift-crypto", condition: server)
    static let httpClient = product(name: "AsyncHTTPClient", package: "async-http-client", condition: server)
    static let jwt = product(name: "JWTKit", package: "jwt-kit", condition: server)
    static let lifecycle = product(
        name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server)
    static let logging = product(name: "Logging", package: "swift-log")
    static let metrics = product(name: "Metrics", package: "swift-metrics", condition: server)
    static let nio = product(name: "NIOCore", package: "swift-nio")
    static let nioEmbedded = product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
    static let nioTLS = product(name: "NIOTLS", package: "swift-nio")
    static let nioWebSocket = product(name: "NIOWebSocket", package: "swift-nio")
    static let sqlite = product(name: "GRDB", package: "GRDB.swift")
    static let subprocess = product(name: "Subprocess", package: "swift-subprocess", condition: server)
    static let systemPackage = product(name: "SystemPackage", package: "swift-system", condition: server)
}

/// A module of ours. Tests that share it have it under `Tests`.
func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], in path: String? = nil, exclude: [String] = [],
    embeds: Bool = false
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings,
        plugins: embeds ? ["EmbedFiles"] : [])
}

/// A program of ours.
func program(_ name: String, _ dependencies: [Target.Dependency] = [], in path: String? = nil) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

/// A module of tests.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

/// A C library of the system.
func library(_ name: String, _ pkgConfig: String, apt: String, brew: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
}

let package = Package(
    name: "postline",
    platforms: [.macOS(.v15), .iOS(.v17)],
    products: [
        // The target is not named `postline`, because some file systems would confuse its module with `Postline`.
        .executable(name: "postline", targets: ["Commands"]),
        .executable(name: "postline-chat", targets: ["postline-chat"]),
        .library(name: "Postline", targets: ["Postline"]),
    ],
    // An app that links the client enables no trait, and resolves no dependency of the server.
    traits: [
        .default(enabledTraits: ["Server"]),
        .trait(name: "Server", description: "The server, its commands, tests and benchmarks."),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
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
        library("CPostgres", "libpq", apt: "libpq-dev", brew: "libpq"),
        library("CArgon2", "libargon2", apt: "libargon2-dev", brew: "argon2"),
        library("CCrypt", "libxcrypt", apt: "libcrypt-dev", brew: "libxcrypt"),
        library("CCurl", "libcurl", apt: "libcurl4-openssl-dev", brew: "curl"),
        library("CZlib", "zlib", apt: "zlib1g-dev", brew: "zlib"),

        // The service, from the database outwards. A module imports only modules above it.
        module("Foundations"),
        module("Concurrency", ["Foundations", .nio]),
        module("Postgres", ["CPostgres", "Concurrency", "Foundations", .logging]),
        module("WireProtocol", ["Foundations", .nio]),
        module("Schema", ["Foundations", "Postgres", "WireProtocol", .crypto, .logging], embeds: true),
        module(
            "DatabaseAccess", ["Concurrency", "Foundations", "Postgres", "WireProtocol", .logging, .metrics, .nio]),
        module(
            "Accounts",
            [
                "CArgon2", "CCrypt", "Concurrency", "DatabaseAccess", "Foundations", "Postgres", "WireProtocol",
                .crypto, .jwt, .logging, .metrics, .nio,
            ]),
        module(
            "ChangeFeed",
            [
                "Concurrency", "DatabaseAccess", "Foundations", "Postgres", "Schema", "WireProtocol",
                .crypto, .logging, .metrics, .nio, .lifecycle,
            ]),
        module(
            "Messaging",
            [
                "Accounts", "ChangeFeed", "Concurrency", "DatabaseAccess", "Foundations", "Postgres", "Schema",
                "WireProtocol", .crypto, .logging, .metrics, .nio, .lifecycle,
            ]),
        module(
            "Outbound",
            [
                "Accounts", "Concurrency", "Foundations", .crypto, .httpClient, .nio, .nioHTTP1, .nioSSL,
            ]),
        module(
            "Outbox",
            [
                "CCurl", "Accounts", "Concurrency", "DatabaseAccess", "Foundations", "Messaging", "Outbound",
                "Postgres", .crypto, .httpClient, .jwt, .logging, .metrics, .lifecycle, .systemPackage,
            ]),
        module(
            "Media",
            [
                "Foundations", "Messaging", "Outbound", .crypto, .httpClient, .nio, .nioHTTP1, .nioPosix,
                .systemPackage,
            ]),
        module(
            "LineServer",
            [
                "ChangeFeed", "Concurrency", "DatabaseAccess", "Foundations", "Messaging", "WireProtocol",
                .logging, .metrics, .nio, .nioPosix, .nioSSL, .nioTLS, .lifecycle,
            ]),
        module(
            "HTTPServing",
            [
                "CZlib", "Concurrency", "DatabaseAccess", "Foundations", "LineServer", "WireProtocol", .logging, .nio,
                .nioHTTP1,
                .nioPosix, .nioSSL, .nioTLS, .lifecycle, .systemPackage,
            ]),
        module(
            "Gateway",
            [
                "Accounts", "ChangeFeed", "Concurrency", "DatabaseAccess", "Foundations", "HTTPServing", "LineServer",
                "Media", "Messaging", "WireProtocol", .crypto, .logging, .metrics, .nio, .nioHTTP1, .nioPosix,
                .nioWebSocket, .lifecycle, .systemPackage,
            ], exclude: ["Console"], embeds: true),

        // The client that apps link.
        module(
            "Postline",
            [
                "Concurrency", "Foundations", .sqlite, .logging,
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"), .nio, .nioHTTP1, .nioPosix, .nioSSL,
                .nioWebSocket,
            ]),

        // The modules of the commands.
        module("Metering", [.product(name: "CoreMetrics", package: "swift-metrics", condition: server)]),
        module("PrivatePostgres", ["Foundations", .subprocess]),
        module("Chat", ["Foundations", "Postline", .logging]),
        module(
            "Doctor",
            [
                "Accounts", "ChangeFeed", "DatabaseAccess", "Foundations", "LineServer", "Media", "Messaging",
                "Outbound",
                "Outbox", "Postgres", "PrivatePostgres", "Schema", "WireProtocol", .logging, .nio, .nioPosix, .nioSSL,
                .systemPackage,
            ]),

        // `postline chat` starts the second program, so that the server links neither all of Foundation nor SQLite.
        program("postline-chat", ["Chat", .argumentParser, .systemPackage]),
        program(
            "Commands",
            [
                "Accounts", "ChangeFeed", "DatabaseAccess", "Doctor", "Foundations", "Gateway", "HTTPServing",
                "LineServer", "Media",
                "Messaging", "Metering", "Outbound", "Outbox", "Postgres", "PrivatePostgres", "Schema",
                "WireProtocol", .argumentParser,
                .logging,
                .metrics, .nio, .nioHTTP1, .lifecycle, .systemPackage,
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: server),
            ]),

        // The benchmarks, their C clients, and a C program with LISTEN that they compare pushes with.
        .target(name: "CNotifyPeer", dependencies: ["CPostgres"]),
        .target(name: "CClients"),
        program(
            "postline-bench",
            [
                "CClients", "CNotifyPeer", "Accounts", "ChangeFeed", "Concurrency", "DatabaseAccess", "Foundations",
                "LineClient", "LineServer", "Messaging", "Postgres", "Postline", "PrivatePostgres", "Schema",
                "WireProtocol", .argumentParser, .sqlite, .logging, .nio, .nioHTTP1, .nioPosix,
                .subprocess, .systemPackage,
            ]),

        // Embeds the SQL files and the console in the binary.
        program("embed-files"),
        .plugin(name: "EmbedFiles", capability: .buildTool(), dependencies: ["embed-files"]),

        // The modules that tests share.
        module("BoundedWait", in: "Tests/BoundedWait"),
        module("FuzzedLines", ["Foundations"], in: "Tests/FuzzedLines"),
        module(
            "LineClient",
            ["Concurrency", "Foundations", "WireProtocol", .nio, .nioPosix, .nioSSL, .nioWebSocket],
            in: "Tests/LineClient"),
        module("SchemaValidation", ["Foundations", "WireProtocol"], in: "Tests/SchemaValidation"),
        module("TestSupport", in: "Tests/TestSupport"),

        tests("PostgresTests", ["BoundedWait", "CPostgres", "Foundations", "Postgres", "TestSupport", .logging]),
        tests("PasswordHashingTests", ["Accounts", "BoundedWait", "DatabaseAccess"]),
        tests(
            "MessagingTests",
            [
                "Accounts", "BoundedWait", "ChangeFeed", "Concurrency", "DatabaseAccess", "Foundations", "Messaging",
                "Postgres", "Schema", "SchemaValidation", "TestSupport", "WireProtocol", .jwt, .logging, .metrics,
                .nio, .nioPosix,
            ]),
        tests(
            "LineServerTests",
            [
                "BoundedWait", "ChangeFeed", "Concurrency", "DatabaseAccess", "Foundations", "FuzzedLines",
                "LineServer",
                "Messaging", "Metering", "WireProtocol", .logging, .metrics, .nio, .nioPosix, .lifecycle,
            ], exclude: ["Fuzzing/Corpus", "Fuzzing/FuzzTarget.swift"]),
        tests("MeteringTests", ["Metering", .metrics]),
        tests("BenchTests", ["postline-bench", .nio, .nioPosix]),
        tests("ChatTests", ["Chat", "Foundations", "Postline", "TestSupport"]),
        tests("DoctorTests", ["Accounts", "Doctor", "Foundations", "Messaging", "Schema", "TestSupport"]),
        tests(
            "PostlineTests",
            [
                "Accounts", "ChangeFeed", "Foundations", "Gateway", "HTTPServing", "LineClient", "LineServer", "Media",
                "Messaging",
                "Outbound", "Outbox", "PrivatePostgres", "Schema", "TestSupport", "WireProtocol", "Commands",
                .argumentParser, .logging, .nio, .nioEmbedded, .nioHTTP1, .nioPosix,
            ], exclude: ["Fixtures"]),
        tests(
            "IntegrationTests",
            [
                "Accounts", "BoundedWait", "ChangeFeed", "Concurrency", "DatabaseAccess", "Foundations",
                "FuzzedLines", "Gateway", "HTTPServing", "LineClient", "LineServer", "Media", "Messaging", "Metering",
                "Outbound",
                "Outbox", "Postgres", "Postline", "PrivatePostgres", "Schema", "SchemaValidation",
                "TestSupport", "WireProtocol", "client-program", "postline-chat", .sqlite, .crypto,
                .product(name: "CryptoExtras", package: "swift-crypto", condition: server), .jwt, .logging, .nio,
                .nioHTTP1, .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: server), .nioPosix,
                .nioSSL, .nioWebSocket, .lifecycle,
                .product(name: "SwiftASN1", package: "swift-asn1", condition: server),
                .product(name: "X509", package: "swift-certificates", condition: server),
            ], exclude: ["Fixtures"]),
        // An app without a screen, which tests kill.
        program("client-program", ["Postline", .logging], in: "Tests/ClientProgram"),
        // Tests of the composed system (docker-compose.yml), which run within it, without a toolchain.
        program(
            "composed-tests",
            [
                "BoundedWait", "Foundations", "LineClient", "Postgres", "WireProtocol", .nio, .nioPosix,
            ], in: "Tests/ComposedTests"),
    ]
)

// A request runs through these modules, so the compiler optimizes across them. The client uses none of them: SwiftPM
// rejects a dependency with such flags.
for target in package.targets
where ["Postgres", "WireProtocol", "DatabaseAccess", "ChangeFeed", "Messaging", "LineServer"].contains(target.name) {
    target.swiftSettings = settings + [.unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))]
}

// Parts of the package, for builds that need no more: the unit tests under a sanitizer (scripts/test-sanitized), the
// fuzzer (scripts/fuzz), the images (Dockerfile), the tests in them, and the reference of the client.
let service: Set = [
    "CPostgres", "CArgon2", "CCrypt", "Foundations", "Concurrency", "Postgres", "Schema", "WireProtocol",
    "DatabaseAccess", "Accounts", "ChangeFeed", "Messaging", "LineServer", "Metering",
]
let embedding: Set = ["embed-files", "EmbedFiles"]
let benchmarks: Set = ["CNotifyPeer", "CClients", "postline-bench"]
/// The modules that tests share.
let shared: Set = ["BoundedWait", "FuzzedLines", "LineClient", "SchemaValidation", "TestSupport"]
let unitTests = shared.subtracting(["LineClient"]).union([
    "MeteringTests", "PostgresTests", "PasswordHashingTests", "MessagingTests", "LineServerTests",
])
switch Context.environment["POSTLINE_PART"] {
case "program":
    package.targets.removeAll {
        $0.type == .test || shared.union(benchmarks).union(["client-program", "composed-tests"]).contains($0.name)
    }
case "composed-tests":
    let unneeded = shared.union(benchmarks).union(["client-program"]).subtracting(["BoundedWait", "LineClient"])
    package.targets.removeAll { $0.type == .test || unneeded.contains($0.name) }
case "unit-tests":
    package.products = []
    package.targets.removeAll { !service.union(embedding).union(unitTests).contains($0.name) }
case "fuzz":
    package.products = []
    package.targets.removeAll { !service.union(embedding).contains($0.name) }
    // Coverage guides the fuzzer. It is enabled by target, since the build's own tool must not be linked with it.
    let guided: [SwiftSetting] = [.unsafeFlags(["-sanitize=fuzzer"])]
    for target in package.targets where ["WireProtocol", "LineServer"].contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + guided
    }
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: ["ChangeFeed", "Foundations", "LineServer", "Messaging", "WireProtocol", .nio],
            path: "Tests/LineServerTests/Fuzzing", exclude: ["Corpus"],
            swiftSettings: settings + guided,
            // gold, the default on Linux, stops with an internal error.
            linkerSettings: [
                .unsafeFlags(["-sanitize=fuzzer"]), .unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux])),
            ]))
default:
    break
}
