// Uses the Swift client of openapi-generator, which is compiled together with it: NODE.

import Foundation

func expect(_ condition: Bool, line: Int = #line) {
    guard !condition else { return }
    print("main.swift:\(line): the answer is not what was expected")
    exit(1)
}

let configuration = OpenAPIClientAPIConfiguration.shared
configuration.basePath = CommandLine.arguments[1]

expect(try await ServerAPI.serverInfo().server == "postline")
expect(try await !AvatarsAPI.avatarsList().avatars.isEmpty)
let tokens = try await AuthAPI.authGuest(authGuestRequest: AuthGuestRequest(fullName: "Gen Erated"))
configuration.customHeaders["Authorization"] = "Bearer \(tokens.accessToken)"

let me = try await MeAPI.meGet()
expect(me.fullName == "Gen Erated" && me.bio == nil && me.id == tokens.userId)
let update = MeUpdateRequest(bio: "Made by a generator.", languageCode: "en")
expect(try await MeAPI.meUpdate(meUpdateRequest: update).bio == "Made by a generator.")
expect(try await MeAPI.meUpdate(meUpdateRequest: MeUpdateRequest(fullName: "Gen Erator")).fullName == "Gen Erator")
let height = MeUpdatePhysicalRequest(heightCm: 170.5)
expect(try await MeAPI.meUpdatePhysical(meUpdatePhysicalRequest: height).physical.heightCm == 170.5)
let fox = MeSetAvatarRequest(avatarType: .builtIn, avatarId: "fox")
expect(try await MeAPI.meSetAvatar(meSetAvatarRequest: fox).avatarId == "fox")
expect(try await MeAPI.meSetAvatar(meSetAvatarRequest: MeSetAvatarRequest(avatarType: nil)).avatarId == nil)

let named = try await ProfilesAPI.profilesGet(profilesGetRequest: ProfilesGetRequest(username: "alice"))
expect(named.username == "alice" && named.profiles == nil)
let search = ProfilesSearchRequest(query: "alice")
let alice = try await ProfilesAPI.profilesSearch(profilesSearchRequest: search).profiles[0]
expect(alice.id == named.id && alice.isGuest == false)

let open = ConversationsOpenRequest(userId: alice.id)
let conversation = try await ConversationsAPI.conversationsOpen(conversationsOpenRequest: open)
expect(conversation.kind == .direct && conversation.mutedUntil == nil)
let id = conversation.id
let send = MessagesSendRequest(conversationId: id, content: "Hello \u{1F600}")
let sent = try await MessagesAPI.messagesSend(messagesSendRequest: send, idempotencyKey: UUID())
expect(sent.seq == 1 && sent.attachment == nil && sent.content == "Hello \u{1F600}")
let edit = MessagesEditRequest(conversationId: id, seq: 1, content: "Hello again")
expect(try await MessagesAPI.messagesEdit(messagesEditRequest: edit).editedAt != nil)
let list = MessagesListRequest(conversationId: id, limit: 10)
expect(try await MessagesAPI.messagesList(messagesListRequest: list).messages.first?.content == "Hello again")
let read = MessagesMarkReadRequest(conversationId: id, seq: 1)
expect(try await MessagesAPI.messagesMarkRead(messagesMarkReadRequest: read).lastReadSeq == 1)
let page = try await ConversationsAPI.conversationsList(conversationsListRequest: ConversationsListRequest(limit: 5))
expect(page.conversations.first?.id == id && page.next == nil)
let delete = MessagesDeleteRequest(conversationId: id, seq: 1)
expect(try await MessagesAPI.messagesDelete(messagesDeleteRequest: delete).content == nil)
let presence = try await PresenceAPI.presenceGet(presenceGetRequest: PresenceGetRequest(userIds: [alice.id]))
expect(presence.presence.first?.userId == alice.id)
expect(try await AuthAPI.authLogout().revoked == 1)
