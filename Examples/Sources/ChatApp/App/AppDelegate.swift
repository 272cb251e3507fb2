// The part of pushes that needs UIKit. Only the macOS workflow compiles it.
#if os(iOS)
import Postline
import UIKit
import UserNotifications

final class AppDelegate: NSObject, UIApplicationDelegate, UNUserNotificationCenterDelegate {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        UNUserNotificationCenter.current().delegate = self
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        // The registration goes on after this returns.
        Task { await AppModel.shared.didRegister(token: token) }
    }

    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        guard let payload = PushPayload(userInfo: userInfo) else { return .noData }
        return await AppModel.shared.didReceive(payload) ? .newData : .noData
    }

    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    ) {
        if let payload = PushPayload(userInfo: response.notification.request.content.userInfo) {
            // The chat opens after this returns.
            Task { await AppModel.shared.didTap(payload) }
        }
        completionHandler()
    }
}
#endif
