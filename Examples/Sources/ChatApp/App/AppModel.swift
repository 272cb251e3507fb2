import Foundation
import Observation
import Postline

/// The client, and the chat on the screen. The scene and the app delegate share it.
@MainActor @Observable
final class AppModel {
    static let shared = AppModel()

    /// The client, or the error of a store that cannot be used.
    let client: Result<PostlineClient, any Error>
    /// The chats that the list has opened.
    var path: [ChatLink] = []

    private init() {
        client = Result {
            let folder = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            // The scene connects it: the system may launch the app for a push, without showing it.
            return try PostlineClient(
                server: .development, store: .file(in: folder.appending(path: "Postline")), isInBackground: true)
        }
    }
}

/// A chat to open.
struct ChatLink: Hashable {
    let conversationID: Conversation.ID
    /// The number of the message to show, or nil for the first unread or the newest one.
    var seq: Int?
}
