// swift-tools-version: 6.2
import PackageDescription

// A program and an app's views, which depend on Postline as an app does: what they resolve and link is what an app
// resolves and links. `make test-examples` builds and runs them.

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
            swiftSettings: settings),
        .target(
            name: "ChatApp",
            dependencies: [
                .product(name: "PostlineClient", package: "postline"),
                .target(name: "SwiftUIStubs", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: settings),
        // Declarations of SwiftUI, by which views are type-checked where there is none.
        .target(name: "SwiftUIStubs", swiftSettings: settings),
    ]
)
