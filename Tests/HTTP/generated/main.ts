// Uses the TypeScript client of openapi-generator, which is compiled together with it: NODE.

import {
  AuthApi, AvatarsApi, Configuration, ConversationsApi, MeApi, MessagesApi, PresenceApi, ProfilesApi, ServerApi,
} from "./client";

declare const process: { argv: string[]; exit(status: number): never };

function expect(condition: boolean, text: string): void {
  if (!condition) throw new Error(`not as expected: ${text}`);
}

async function main(basePath: string): Promise<void> {
  const stranger = new Configuration({ basePath });
  expect((await new ServerApi(stranger).serverInfo()).server === "postline", "server.info");
  expect((await new AvatarsApi(stranger).avatarsList()).avatars.length > 0, "avatars.list");
  const tokens = await new AuthApi(stranger).authGuest({ authGuestRequest: { fullName: "Gen Erated" } });
  const configuration = new Configuration({ basePath, accessToken: tokens.accessToken });

  const mine = new MeApi(configuration);
  let me = await mine.meGet();
  expect(me.fullName === "Gen Erated" && me.bio === null && me.id === tokens.userId, "me.get");
  me = await mine.meUpdate({ meUpdateRequest: { bio: "Made by a generator.", languageCode: "en" } });
  expect(me.bio === "Made by a generator.", "me.update of the bio");
  me = await mine.meUpdate({ meUpdateRequest: { bio: null, fullName: "Gen Erator" } });
  expect(me.bio === null && me.fullName === "Gen Erator", "me.update of the name");
  me = await mine.meUpdatePhysical({ meUpdatePhysicalRequest: { heightCm: 170.5 } });
  expect(me.physical.heightCm === 170.5, "me.update_physical");
  me = await mine.meSetAvatar({ meSetAvatarRequest: { avatarType: "built_in", avatarId: "fox" } });
  expect(me.avatarId === "fox", "me.set_avatar");
  me = await mine.meSetAvatar({ meSetAvatarRequest: { avatarType: null } });
  expect(me.avatarId === null, "me.set_avatar to none");

  const profiles = new ProfilesApi(configuration);
  const named = await profiles.profilesGet({ profilesGetRequest: { username: "alice" } });
  expect(named.username === "alice" && named.profiles === undefined, "profiles.get");
  const alice = (await profiles.profilesSearch({ profilesSearchRequest: { query: "alice" } })).profiles[0];
  expect(alice.id === named.id && !alice.isGuest, "profiles.search");

  const conversations = new ConversationsApi(configuration);
  const conversation = await conversations.conversationsOpen({ conversationsOpenRequest: { userId: alice.id } });
  expect(conversation.kind === "direct" && conversation.mutedUntil === null, "conversations.open");
  const conversationId = conversation.id;
  const messages = new MessagesApi(configuration);
  const sent = await messages.messagesSend({ messagesSendRequest: { conversationId, content: "Hello \u{1F600}" } });
  expect(sent.seq === 1 && sent.attachment === null && sent.content === "Hello \u{1F600}", "messages.send");
  const edited = await messages.messagesEdit({ messagesEditRequest: { conversationId, seq: 1, content: "Hello again" } });
  expect(edited.editedAt instanceof Date, "messages.edit");
  const list = await messages.messagesList({ messagesListRequest: { conversationId, limit: 10 } });
  expect(list.messages[0].content === "Hello again", "messages.list");
  const read = await messages.messagesMarkRead({ messagesMarkReadRequest: { conversationId, seq: 1 } });
  expect(read.lastReadSeq === 1, "messages.mark_read");
  const page = await conversations.conversationsList({ conversationsListRequest: { limit: 5 } });
  expect(page.conversations[0].id === conversationId && page.next === null, "conversations.list");
  const deleted = await messages.messagesDelete({ messagesDeleteRequest: { conversationId, seq: 1 } });
  expect(deleted.content === null, "messages.delete");
  const presence = await new PresenceApi(configuration).presenceGet({ presenceGetRequest: { userIds: [alice.id] } });
  expect(presence.presence[0].userId === alice.id, "presence.get");
  expect((await new AuthApi(configuration).authLogout()).revoked === 1, "auth.logout");
}

main(process.argv[2]).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
