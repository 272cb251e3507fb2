#if os(iOS)
import UIKit
import UserNotifications
#endif

/// The system's notifications.
@MainActor
enum Notifications {
    /// True if the system has notifications that this app uses.
    static var areAvailable: Bool {
        #if os(iOS)
        true
        #else
        false
        #endif
    }

    /// Asks the user for permission, and the system for the device's token. `AppDelegate` receives the token.
    static func request() async throws {
        #if os(iOS)
        if try await UNUserNotificationCenter.current().requestAuthorization(options: [.alert, .badge, .sound]) {
            UIApplication.shared.registerForRemoteNotifications()
        }
        #endif
    }

    /// Shows the number of unread messages on the app's icon.
    static func setBadge(_ count: Int) async {
        #if os(iOS)
        // Without the permission the icon has no badge.
        try? await UNUserNotificationCenter.current().setBadgeCount(count)
        #endif
    }
}
