// swift-tools-version: 6.2
import PackageDescription

// A program and an app's views that depend on Postline as an app does, so that they resolve and link the same packages.
// `make test-examples` builds and runs them.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    // Not on Apple's systems, whose frameworks have functions with pointers.
    .strictMemorySafety(.when(platforms: [.linux])),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "postline-examples",
    platforms: [.macOS(.v15), .iOS(.v17)],
    dependencies: [
        // The name makes the reference independent of the folder. An app gives a URL in place of both.
        .package(name: "postline", path: "..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "hello-postline",
            dependencies: [.product(name: "Postline", package: "postline")],
            swiftSettings: settings),
        .target(
            name: "ChatApp",
            dependencies: [
                .product(name: "Postline", package: "postline"),
                .target(name: "SwiftUIStubs", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: settings),
        // Stubs of SwiftUI's declarations, to type-check views on Linux.
        .target(name: "SwiftUIStubs", swiftSettings: settings),
    ]
)
