// swift-tools-version: 6.2
import PackageDescription

// Two programs that depend on Postline as an app does, in a package of their own: what they resolve and link is what an
// app resolves and links. `make test-examples` builds and runs them.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "postline-examples",
    platforms: [.macOS(.v15), .iOS(.v17)],
    dependencies: [
        // With a name, because a folder may be called anything. An app gives a URL in place of both.
        .package(name: "postline", path: "..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "hello-postline",
            dependencies: [.product(name: "PostlineClient", package: "postline")],
            swiftSettings: settings)
    ]
)
