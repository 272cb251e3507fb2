// swift-tools-version: 6.2
import PackageDescription

// A package that depends on Postline's as an app does. An app's manifest names the URL where this one has a path.
let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15), .iOS(.v17)],
    dependencies: [
        // No trait: what only the server needs is neither resolved nor built.
        .package(name: "postline", path: "..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "hello-postline",
            dependencies: [.product(name: "PostlineClient", package: "postline")])
    ]
)
