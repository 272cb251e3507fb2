-- Every grant and every policy. Applied again as a whole whenever a function or this file changes.
--
-- authenticated      all users, also guests; row-level security decides which rows
-- anon               without a user: the built-in avatars only
-- service_role       Supabase's name for a trusted backend: every row of the public tables, with the same triggers
-- postline_feed      the feed: reads everything that clients may get; writes presence and the results of pushes
-- postline_accounts  calls accounts.* only
-- postline_sender    writes batches of messages, each in a conversation of its sender
--
-- The schema admin is the owner's: no role may use it. The login role owns nothing and has no grants: a request that
-- sets no role can do nothing.
--
-- Membership is checked in one of two forms, each run once per query. On messages, the large table, as an array, by
-- which an index can be walked. On the others as `in (select …)`, which is hashed: they are joined row by row, and an
-- array would be searched for every row (a reset of 500 conversations: 6,000 ms, hashed 130 ms).

-- Database. No role may create temporary objects: PostgreSQL looks up types and tables in the session's pg_temp first,
-- unless the search path says otherwise. Every function's search path does; this is the second safeguard. If another
-- role owns the database, `doctor` reports that the privilege remains.
do $$
begin
    execute format('revoke temporary on database %I from public, anon, authenticated, service_role, postline_feed,'
        ' postline_accounts, postline_sender', current_database());
exception when insufficient_privilege then
    raise warning 'Only the owner of the database % can revoke the privilege TEMPORARY.', current_database();
end
$$;

-- Schemas.
revoke all on schema app, api, rest, accounts, feed, admin
    from public, anon, authenticated, service_role, postline_feed, postline_accounts, postline_sender;
grant usage on schema public to anon, authenticated, service_role, postline_feed, postline_sender;
grant usage on schema app to anon, authenticated, service_role, postline_feed, postline_sender;
grant usage on schema api to anon, authenticated, service_role;
grant usage on schema rest to authenticated;
grant usage on schema accounts to postline_accounts;
grant usage on schema feed to postline_feed;

-- Supabase grants its roles rights on new tables of public by default: each of ours starts without.
revoke all on public.built_in_avatars, public.user_profiles, public.user_private, public.username_history,
    public.conversations, public.conversation_members, public.messages, public.presence, public.conversation_mutes,
    public.message_mentions, public.message_reactions, public.reaction_counts, public.delivered_marks, public.media,
    public.scheduled_messages, public.message_pieces, public.blocks
    from public, anon, authenticated, service_role, postline_feed, postline_accounts, postline_sender;
revoke all on all tables in schema app, rest, admin
    from public, anon, authenticated, service_role, postline_feed, postline_accounts, postline_sender;
revoke execute on all functions in schema app, api, accounts, feed, admin
    from public, anon, authenticated, service_role, postline_feed, postline_accounts, postline_sender;
revoke execute on function public.is_read(public.messages), public.unread_count(public.conversations)
    from public, anon, authenticated, service_role;

alter table public.built_in_avatars enable row level security;
alter table public.user_profiles enable row level security;
alter table public.user_private enable row level security;
alter table public.username_history enable row level security;
alter table public.conversations enable row level security;
alter table public.conversation_members enable row level security;
alter table public.messages enable row level security;
alter table public.presence enable row level security;
alter table public.conversation_mutes enable row level security;
alter table public.scheduled_messages enable row level security;
alter table public.message_mentions enable row level security;
alter table public.message_reactions enable row level security;
alter table public.reaction_counts enable row level security;
alter table public.delivered_marks enable row level security;
alter table public.message_pieces enable row level security;
alter table public.blocks enable row level security;
alter table public.media enable row level security;
alter table app.message_streams enable row level security;
alter table app.reports enable row level security;
alter table app.filter_rules enable row level security;
alter table app.held_messages enable row level security;
alter table app.media_removals enable row level security;
alter table app.leases enable row level security;
alter table app.identity_attempts enable row level security;
alter table app.former_members enable row level security;
alter table app.sessions enable row level security;
alter table app.stream_tickets enable row level security;
alter table app.settings enable row level security;
alter table app.merged_guests enable row level security;
alter table app.message_moves enable row level security;
alter table app.words enable row level security;
alter table app.search_names enable row level security;
alter table app.nodes enable row level security;
alter table app.profile_details enable row level security;
alter table app.node_users enable row level security;
alter table app.unsettled_users enable row level security;
alter table app.devices enable row level security;
alter table app.pushes enable row level security;
alter table app.push_cursor enable row level security;
alter table app.push_backlog enable row level security;
alter table app.push_queue enable row level security;
alter table app.reaction_pushes enable row level security;
alter table app.message_expiry enable row level security;
alter table app.expired_sends enable row level security;
alter table app.retention_walk enable row level security;
alter table app.mails enable row level security;
alter table app.mail_tokens enable row level security;
alter table app.mail_counts enable row level security;
alter table app.identities enable row level security;
alter table app.used_identity_tokens enable row level security;
alter table admin.audit enable row level security;
alter table if exists app.migrations enable row level security;

-- Trusted backends.
grant all on public.built_in_avatars, public.user_profiles, public.user_private, public.username_history,
    public.conversations, public.conversation_members, public.messages, public.conversation_mutes, public.media,
    public.message_reactions, public.scheduled_messages, public.blocks
    to service_role;
grant select on app.former_members, public.presence, public.message_mentions, public.reaction_counts,
    public.delivered_marks, public.message_pieces
    to service_role;

drop policy if exists service_all on public.built_in_avatars;
create policy service_all on public.built_in_avatars to service_role using (true) with check (true);
drop policy if exists service_all on public.media;
create policy service_all on public.media to service_role using (true) with check (true);
drop policy if exists service_all on public.user_profiles;
create policy service_all on public.user_profiles to service_role using (true) with check (true);
drop policy if exists service_all on public.user_private;
create policy service_all on public.user_private to service_role using (true) with check (true);
drop policy if exists service_all on public.username_history;
create policy service_all on public.username_history to service_role using (true) with check (true);
drop policy if exists service_all on public.conversations;
create policy service_all on public.conversations to service_role using (true) with check (true);
drop policy if exists service_all on public.conversation_members;
create policy service_all on public.conversation_members to service_role using (true) with check (true);
drop policy if exists service_all on public.message_reactions;
create policy service_all on public.message_reactions to service_role using (true) with check (true);
drop policy if exists service_select on public.reaction_counts;
create policy service_select on public.reaction_counts for select to service_role using (true);
drop policy if exists service_select on public.delivered_marks;
create policy service_select on public.delivered_marks for select to service_role using (true);
drop policy if exists service_select on public.message_pieces;
create policy service_select on public.message_pieces for select to service_role using (true);
drop policy if exists service_select on public.message_mentions;
create policy service_select on public.message_mentions for select to service_role using (true);
drop policy if exists service_all on public.messages;
create policy service_all on public.messages to service_role using (true) with check (true);
drop policy if exists service_all on public.conversation_mutes;
create policy service_all on public.conversation_mutes to service_role using (true) with check (true);
drop policy if exists service_all on public.scheduled_messages;
create policy service_all on public.scheduled_messages to service_role using (true) with check (true);
drop policy if exists service_all on public.blocks;
create policy service_all on public.blocks to service_role using (true) with check (true);
drop policy if exists service_select on app.former_members;
create policy service_select on app.former_members for select to service_role using (true);
drop policy if exists service_select on public.presence;
create policy service_select on public.presence for select to service_role using (true);

-- built_in_avatars: readable for everyone.
grant select on public.built_in_avatars to anon, authenticated;
drop policy if exists everybody_select on public.built_in_avatars;
create policy everybody_select on public.built_in_avatars for select to anon, authenticated using (true);

-- user_profiles: readable for every user; a user updates its own columns.
grant select on public.user_profiles to authenticated, postline_feed;
grant update (username, full_name, bio, avatar_type, avatar_id, avatar_url, website, location, language_code)
    on public.user_profiles to authenticated;
drop policy if exists user_select on public.user_profiles;
create policy user_select on public.user_profiles for select to authenticated using (true);
drop policy if exists own_update on public.user_profiles;
create policy own_update on public.user_profiles for update to authenticated
    using (id = (select auth.uid()) and not is_deleted) with check (id = (select auth.uid()));
-- The sender of a message, for the response.
grant select (id, username, full_name, avatar_type, avatar_id, avatar_url, is_deleted, version)
    on public.user_profiles to postline_sender;
drop policy if exists sender_select on public.user_profiles;
create policy sender_select on public.user_profiles for select to postline_sender using (true);
drop policy if exists feed_select on public.user_profiles;
create policy feed_select on public.user_profiles for select to postline_feed using (true);

-- user_private: the user's own.
grant select on public.user_private to authenticated, postline_feed;
grant update (phone_number, date_of_birth, preferred_unit_system, preferences, biological_sex, height_cm)
    on public.user_private to authenticated;
drop policy if exists own_select on public.user_private;
create policy own_select on public.user_private for select to authenticated using (id = (select auth.uid()));
drop policy if exists own_update on public.user_private;
create policy own_update on public.user_private for update to authenticated
    using (id = (select auth.uid())
           and not (select p.is_deleted from public.user_profiles p where p.id = user_private.id))
    with check (id = (select auth.uid()));
drop policy if exists feed_select on public.user_private;
create policy feed_select on public.user_private for select to postline_feed using (true);

-- username_history: readable for its user.
grant select on public.username_history to authenticated;
drop policy if exists own_select on public.username_history;
create policy own_select on public.username_history for select to authenticated
    using (user_id = (select auth.uid()));

-- conversations: readable for members. A user may begin a direct conversation of its own, to which a trigger adds the
-- two members, and reads it in that transaction. Owner and admins set the title of a group.
grant select on public.conversations to authenticated, postline_feed;
grant update (title) on public.conversations to authenticated;
grant insert (kind, participant1_id, participant2_id) on public.conversations to authenticated;
drop policy if exists member_select on public.conversations;
create policy member_select on public.conversations for select to authenticated
    using (id in (select app.my_conversations())
           -- A conversation that the caller begins in this transaction: `insert … returning` is checked before there
           -- are members.
           or created_by = (select auth.uid()) and version = 1 and changed_xid = pg_current_xact_id_if_assigned());
drop policy if exists own_insert on public.conversations;
create policy own_insert on public.conversations for insert to authenticated
    with check (kind = 'direct' and (select auth.uid()) in (participant1_id, participant2_id));
drop policy if exists manager_update on public.conversations;
create policy manager_update on public.conversations for update to authenticated
    using (id in (select app.my_groups('{owner,admin}')));
drop policy if exists feed_select on public.conversations;
create policy feed_select on public.conversations for select to postline_feed using (true);

-- conversation_members: readable for members. Each updates its own read mark, which a trigger keeps from moving back.
-- In a group, owner and admins add members, each member may leave, admins remove members, and the owner removes anyone.
-- Roles change by app.set_member_role alone.
grant select on public.conversation_members to authenticated, postline_feed;
grant insert (conversation_id, user_id), delete on public.conversation_members to authenticated;
grant update (last_read_seq) on public.conversation_members to authenticated;
drop policy if exists member_select on public.conversation_members;
create policy member_select on public.conversation_members for select to authenticated
    using (conversation_id in (select app.my_conversations()));
drop policy if exists own_update on public.conversation_members;
create policy own_update on public.conversation_members for update to authenticated
    using (user_id = (select auth.uid()) and not is_deleted) with check (user_id = (select auth.uid()));
drop policy if exists manager_insert on public.conversation_members;
create policy manager_insert on public.conversation_members for insert to authenticated
    with check (app.is_manager(conversation_id));
drop policy if exists group_delete on public.conversation_members;
create policy group_delete on public.conversation_members for delete to authenticated
    using (user_id = (select auth.uid()) and conversation_id in (select app.my_groups())
           or role = 'member' and conversation_id in (select app.my_groups('{owner,admin}'))
           or conversation_id in (select app.my_groups('{owner}')));
grant select (conversation_id, user_id, is_deleted, is_blocked) on public.conversation_members to postline_sender;
drop policy if exists sender_select on public.conversation_members;
create policy sender_select on public.conversation_members for select to postline_sender using (true);
drop policy if exists feed_select on public.conversation_members;
create policy feed_select on public.conversation_members for select to postline_feed using (true);

-- former_members: readable for the members of their conversations, and for each user its own.
grant select on app.former_members to authenticated, postline_feed;
drop policy if exists member_select on app.former_members;
create policy member_select on app.former_members for select to authenticated
    using (user_id = (select auth.uid()) or conversation_id in (select app.my_conversations()));
drop policy if exists feed_select on app.former_members;
create policy feed_select on app.former_members for select to postline_feed using (true);

-- messages: readable for members, who write their own. The trigger that numbers messages accepts members only, whatever
-- the role, under the lock of membership changes. A member edits and deletes its own messages, owner and admins of a
-- group delete all; a trigger refuses other changes, and changes of deleted messages.
grant select on public.messages to authenticated, postline_feed;
grant update (content, deleted_at, mentions, mentions_everyone, data) on public.messages to authenticated;
grant insert (
    conversation_id, sender_id, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone, data)
    on public.messages to authenticated;
drop policy if exists member_select on public.messages;
create policy member_select on public.messages for select to authenticated
    using (conversation_id = any (array(select app.my_conversations())));
drop policy if exists own_insert on public.messages;
create policy own_insert on public.messages for insert to authenticated
    with check (sender_id = (select auth.uid()) and kind <> 'system');
drop policy if exists sender_update on public.messages;
create policy sender_update on public.messages for update to authenticated
    using (sender_id = (select auth.uid()) and kind <> 'system'
           and conversation_id = any (array(select app.my_conversations()))
           or conversation_id = any (array(select app.my_groups('{owner,admin}'))));
-- Numbered by app.number_messages. The role reads no messages.
grant insert (
    id, conversation_id, seq, sender_id, client_id, content, created_at, reply_to_seq, mentions, mentions_everyone,
    data)
    on public.messages to postline_sender;
drop policy if exists sender_insert on public.messages;
create policy sender_insert on public.messages for insert to postline_sender
    with check (exists (select from public.conversation_members m
                         where m.conversation_id = messages.conversation_id and m.user_id = messages.sender_id
                           and not m.is_deleted and not m.is_blocked));
drop policy if exists feed_select on public.messages;
create policy feed_select on public.messages for select to postline_feed using (true);

-- message_mentions: a user's own, and those of everyone, in its conversations. The triggers of messages write them.
grant select on public.message_mentions to authenticated, postline_feed;
drop policy if exists own_select on public.message_mentions;
create policy own_select on public.message_mentions for select to authenticated
    using (user_id in ((select auth.uid()), app.everyone())
           and conversation_id = any (array(select app.my_conversations())));
drop policy if exists feed_select on public.message_mentions;
create policy feed_select on public.message_mentions for select to postline_feed using (true);

-- message_reactions: readable for members, who set their own and take them back. reaction_counts: written by triggers.
grant select on public.message_reactions, public.reaction_counts to authenticated, postline_feed;
grant insert (conversation_id, user_id, seq, emoji), update (is_set) on public.message_reactions to authenticated;
drop policy if exists member_select on public.message_reactions;
create policy member_select on public.message_reactions for select to authenticated
    using (conversation_id = any (array(select app.my_conversations())));
drop policy if exists own_insert on public.message_reactions;
create policy own_insert on public.message_reactions for insert to authenticated
    with check (user_id = (select auth.uid()));
drop policy if exists own_update on public.message_reactions;
create policy own_update on public.message_reactions for update to authenticated
    using (user_id = (select auth.uid()) and conversation_id = any (array(select app.my_conversations())));
drop policy if exists feed_select on public.message_reactions;
create policy feed_select on public.message_reactions for select to postline_feed using (true);
drop policy if exists member_select on public.reaction_counts;
create policy member_select on public.reaction_counts for select to authenticated
    using (conversation_id = any (array(select app.my_conversations())));
drop policy if exists feed_select on public.reaction_counts;
create policy feed_select on public.reaction_counts for select to postline_feed using (true);

-- message_pieces: readable for members. app.append_piece and app.append_pieces write them.
grant select on public.message_pieces to authenticated, postline_feed;
grant select on app.message_streams to postline_feed;
drop policy if exists member_select on public.message_pieces;
create policy member_select on public.message_pieces for select to authenticated
    using (conversation_id = any (array(select app.my_conversations())));
drop policy if exists feed_select on public.message_pieces;
create policy feed_select on public.message_pieces for select to postline_feed using (true);
drop policy if exists feed_select on app.message_streams;
create policy feed_select on app.message_streams for select to postline_feed using (true);

-- delivered_marks: readable for members. app.report_delivered writes them.
grant select on public.delivered_marks to authenticated, postline_feed;
drop policy if exists member_select on public.delivered_marks;
create policy member_select on public.delivered_marks for select to authenticated
    using (conversation_id in (select app.my_conversations()));
drop policy if exists feed_select on public.delivered_marks;
create policy feed_select on public.delivered_marks for select to postline_feed using (true);

-- presence: readable for users who share a conversation, unless either of the two hides its own; not writable. Columns
-- that show who hides are not readable.
grant select (user_id, is_online, last_seen_at, changed_xid) on public.presence to authenticated;
grant select on public.presence to postline_feed;
drop policy if exists visible_select on public.presence;
create policy visible_select on public.presence for select to authenticated
    using (user_id = (select auth.uid()) or user_id in (select app.presence_visible_users()));
drop policy if exists feed_select on public.presence;
create policy feed_select on public.presence for select to postline_feed using (true);

-- blocks: the blocker's own. Nobody learns who blocks it.
grant select, insert (blocker_id, blocked_id), delete on public.blocks to authenticated;
drop policy if exists own_select on public.blocks;
create policy own_select on public.blocks for select to authenticated using (blocker_id = (select auth.uid()));
drop policy if exists own_insert on public.blocks;
create policy own_insert on public.blocks for insert to authenticated
    with check (blocker_id = (select auth.uid()));
drop policy if exists own_delete on public.blocks;
create policy own_delete on public.blocks for delete to authenticated using (blocker_id = (select auth.uid()));

-- conversation_mutes: a member's own, of its conversations. A null ends a mute: the feed would not see a deleted row.
grant select on public.conversation_mutes to authenticated, postline_feed;
grant insert (conversation_id, user_id, muted_until, marked_unread_seq, archived_at, pinned_at),
    update (muted_until, marked_unread_seq, archived_at, pinned_at) on public.conversation_mutes to authenticated;
drop policy if exists own_select on public.conversation_mutes;
create policy own_select on public.conversation_mutes for select to authenticated using (user_id = (select auth.uid()));
drop policy if exists own_insert on public.conversation_mutes;
create policy own_insert on public.conversation_mutes for insert to authenticated
    with check (user_id = (select auth.uid()) and conversation_id in (select app.my_conversations()));
drop policy if exists own_update on public.conversation_mutes;
create policy own_update on public.conversation_mutes for update to authenticated
    using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));
drop policy if exists feed_select on public.conversation_mutes;
create policy feed_select on public.conversation_mutes for select to postline_feed using (true);

-- held_messages: the feed reads them for their senders. Senders and moderators read them by functions.
grant select on app.held_messages to postline_feed;
drop policy if exists feed_select on app.held_messages;
create policy feed_select on app.held_messages for select to postline_feed using (true);

-- scheduled_messages: a user's own. To change one, remove it and schedule another.
grant select, delete on public.scheduled_messages to authenticated;
grant insert (id, sender_id, conversation_id, due_at, kind, content, attachment, reply_to_seq, mentions,
    mentions_everyone, data) on public.scheduled_messages to authenticated;
drop policy if exists own_select on public.scheduled_messages;
create policy own_select on public.scheduled_messages for select to authenticated
    using (sender_id = (select auth.uid()));
drop policy if exists own_insert on public.scheduled_messages;
create policy own_insert on public.scheduled_messages for insert to authenticated
    with check (sender_id = (select auth.uid()));
drop policy if exists own_delete on public.scheduled_messages;
create policy own_delete on public.scheduled_messages for delete to authenticated
    using (sender_id = (select auth.uid()));

-- media: a user's unused files, its avatars, and files of its conversations. app.create_media inserts them, and
-- messages and profiles use them.
grant select on public.media to authenticated;
drop policy if exists seen_select on public.media;
create policy seen_select on public.media for select to authenticated
    using (owner_id = (select auth.uid()) and (used_at is null or purpose = 'avatar' or is_held)
           or used_at is not null and removed_at is null and is_held is null
              and conversation_id in (select app.my_conversations()));

-- devices: a user's own, created by app.register_device. Pushes and tokens of others are not readable.
grant select (id, user_id, platform, token, environment, locale, created_at, registered_at), delete on app.devices
    to authenticated;
drop policy if exists own_select on app.devices;
create policy own_select on app.devices for select to authenticated using (user_id = (select auth.uid()));
drop policy if exists own_delete on app.devices;
create policy own_delete on app.devices for delete to authenticated using (user_id = (select auth.uid()));

-- words: data for searches by users.
grant select on app.words, app.search_names to authenticated;
drop policy if exists user_select on app.words;
create policy user_select on app.words for select to authenticated using (true);
drop policy if exists user_select on app.search_names;
create policy user_select on app.search_names for select to authenticated using (true);

-- profile_details: the split of a name is as public as the name.
grant select on app.profile_details to authenticated;
drop policy if exists user_select on app.profile_details;
create policy user_select on app.profile_details for select to authenticated using (true);

-- JSON objects of the protocol, with the caller's rights.
grant select on app.sender_objects to postline_sender;
grant select on app.profile_objects, app.me_objects, app.conversation_parts, app.conversation_objects,
    app.sender_objects, app.message_objects to authenticated, postline_feed;

-- Views for apps that use Supabase's API, with the rights of the tables. Setting `is_read` moves the read mark.
grant select on rest.user_profiles, rest.conversations, rest.messages to authenticated;
grant update (username, full_name, bio, avatar_type, avatar_id, avatar_url, website, location, language_code)
    on rest.user_profiles to authenticated;
grant update (title) on rest.conversations to authenticated;
grant insert (kind, participant1_id, participant2_id) on rest.conversations to authenticated;
grant update (content, deleted_at, is_read, mentions, mentions_everyone, data) on rest.messages to authenticated;
grant insert (
    conversation_id, sender_id, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone, data)
    on rest.messages to authenticated;

-- Operations.
grant execute on function
    api.add_members(uuid, uuid[], boolean), api.append_to_message(uuid, bigint, bigint, text), api.avatars(),
    api.block_user(uuid), api.blocked_users(), api.unblock_user(uuid), api.change_username(text, bigint),
    api.compatible_conversations(integer, text), api.compatible_me(),
    api.conversation(uuid, boolean), api.conversations(integer, text), api.create_group(text, uuid[], boolean, jsonb),
    api.create_media(text, text, bigint, uuid, integer, integer, text, bigint), api.readable_media(uuid[]),
    api.seen_media(uuid[]), api.waiting_media(uuid),
    api.delete_message(uuid, bigint), api.devices(),
    api.edit_message(uuid, bigint, text, uuid[], boolean, jsonb, boolean), api.finish_message(uuid, bigint),
    api.mark_read(uuid, bigint), api.me(),
    api.messages(uuid, bigint, bigint, integer),
    api.mute_conversation(uuid, text), api.open_conversation(uuid, boolean), api.pin_message(uuid, bigint, boolean),
    api.presence(uuid[]), api.react(uuid, bigint, text, boolean), api.reactions(uuid, bigint, text, integer, text),
    api.replies(uuid, bigint, bigint, bigint, integer),
    api.profile_by_username(text), api.profiles(uuid[]), api.register_device(text, text, text, text),
    api.remove_device(uuid), api.remove_member(uuid, uuid),
    api.save_compatible_me(jsonb, bigint, text, text), api.save_me(jsonb, bigint),
    api.search_messages(text, uuid, uuid, integer, text), api.search_profiles(text, integer),
    api.send_message(uuid, text, uuid, text, jsonb, bigint, uuid[], boolean, jsonb),
    api.sent_message(uuid, text, uuid, text, jsonb, bigint, uuid[], boolean, jsonb),
    api.stream_message(uuid, text, uuid, bigint, uuid[], boolean, jsonb),
    api.schedule_message(uuid, text, text, uuid, text, jsonb, bigint, uuid[], boolean, jsonb),
    api.scheduled_messages(uuid, integer, text), api.unschedule_message(uuid), api.member_count(uuid),
    api.set_conversation(uuid, boolean, boolean, boolean), api.set_avatar(text, text, text, bigint, uuid),
    api.set_member_role(uuid, uuid, text, boolean), api.sync(text, pg_snapshot, pg_snapshot, text, integer, integer),
    api.typing(uuid), api.update_conversation(uuid, text, boolean, jsonb, boolean, integer, boolean),
    api.update_me(jsonb, bigint), api.update_physical(jsonb, bigint),
    api.create_report(uuid, bigint, uuid, text, text), api.reports(text, integer, text), api.report(uuid),
    api.assign_report(uuid), api.resolve_report(uuid, text, text), api.remove_message(uuid, bigint),
    api.ban_user(uuid, text), api.unban_user(uuid), api.export(text),
    api.held_messages(integer, text), api.release_message(uuid, bigint), api.reject_message(uuid, bigint)
    to authenticated;
grant execute on function api.avatars() to anon;
grant execute on function
    app.send_messages(uuid[], uuid[], text[], uuid[], bigint[], text[], boolean[], text[]),
    app.number_messages(uuid[], uuid[], text[], uuid[], bigint[], text[], boolean[], text[]),
    app.append_pieces(uuid[], uuid[], bigint[], bigint[], text[]),
    app.utc(timestamptz), app.quoted_utc(timestamptz), app.quoted(text), app.attachment_object(jsonb),
    app.attachment_members(jsonb),
    app.message_object(public.messages, json, bigint, text),
    app.message_object(public.messages, text, text, bigint, text), app.has_details(public.messages),
    app.message_details(public.messages, text), app.sender_members(uuid, json), app.conversation_member(uuid)
    to postline_sender;
grant execute on function
    accounts.are_in_use(uuid[], uuid[]), accounts.await_confirmation(uuid, integer),
    accounts.change_password(uuid, uuid, text, text), accounts.confirm_email(text), accounts.credentials(text),
    accounts.delete_by_identity(uuid, text, text, text, double precision), accounts.delete_user(uuid, text),
    accounts.ended_sessions(pg_snapshot), accounts.ensure_profile(uuid, boolean),
    accounts.sign_in_by_identity(text, text, text, text, text, double precision, uuid, integer, integer),
    accounts.guest(text), accounts.identified_account(text, text, text),
    accounts.store_ticket(text, uuid, text, double precision), accounts.logout(uuid, uuid, boolean),
    accounts.merge_external_guest(uuid, uuid), accounts.merge_guest(uuid, text, uuid, integer, integer),
    accounts.open_session(uuid, uuid, text), accounts.password_hash(uuid), accounts.refresh(uuid, integer, integer),
    accounts.register(text, text, text, text, boolean, integer), accounts.renew_hash(uuid, text, text),
    accounts.request_email_change(uuid, text, text, integer), accounts.request_password_reset(text, integer),
    accounts.reset_password(text, text), accounts.resettable_account(text),
    accounts.record_mail_results(uuid[], integer[], text[], text[], double precision[]), accounts.claim_mails(text[]),
    accounts.redeem_ticket(text, boolean), accounts.upgrade(uuid, text, text, text, boolean, integer),
    accounts.use_session(uuid, uuid)
    to postline_accounts;
grant execute on function
    feed.users_with_changes(pg_snapshot, uuid[]), feed.read_changes(pg_snapshot), feed.unseen_users(uuid),
    app.blocked_users(uuid),
    feed.has_no_changes(text[], uuid[], pg_snapshot[]), feed.own_numbers(uuid, uuid[], bigint[]),
    feed.poll_changes(pg_snapshot, text[]), feed.change_ranges(pg_snapshot, xid8),
    feed.changed_members(xid8[], xid8[]), feed.changed_former_members(xid8[], xid8[]),
    feed.changed_profiles(xid8[], xid8[]), feed.changed_conversations(xid8[], xid8[]),
    feed.changed_messages(xid8[], xid8[]), feed.changed_presence(xid8[], xid8[]),
    feed.changed_mutes(xid8[], xid8[]),
    feed.count_changes(
        pg_snapshot, xid8[], xid8[], integer, integer, integer, integer, integer, integer, integer, integer, integer,
        integer),
    feed.changed_pieces(xid8[], xid8[]), feed.read_pieces(xid8[], xid8[]),
    feed.changed_held(xid8[], xid8[]), feed.read_held(xid8[], xid8[]),
    app.held_object(app.held_messages, public.messages),
    feed.changed_delivered_marks(xid8[], xid8[]), feed.read_delivered_marks(pg_snapshot, xid8[], xid8[]),
    feed.changed_reactions(xid8[], xid8[]), feed.changed_own_reactions(xid8[], xid8[]),
    feed.read_reactions(xid8[], xid8[]), feed.read_own_reactions(xid8[], xid8[]),
    feed.read_deleted(xid8[], xid8[]), feed.read_left(xid8[], xid8[]),
    feed.read_joined(pg_snapshot, xid8[], xid8[]), feed.read_joined_behind(pg_snapshot, xid8[], xid8[]),
    feed.read_leaver_profiles(pg_snapshot, xid8[], xid8[]), feed.read_profiles(pg_snapshot, xid8[], xid8[]),
    feed.read_conversations(xid8[], xid8[]), feed.read_marks(pg_snapshot, xid8[], xid8[]),
    feed.read_sender_marks(pg_snapshot, xid8[], xid8[]), feed.read_openings(pg_snapshot, uuid[], boolean),
    feed.read_presence_behind(pg_snapshot, xid8[], xid8[]), feed.read_presence(xid8[], xid8[]),
    feed.read_opening_presence(uuid[]), feed.read_own_conversations(xid8[], xid8[]), app.opening_bytes()
    to postline_feed;

-- Functions that operations, policies and views call.
grant execute on function
    app.utc(timestamptz), app.quoted_utc(timestamptz), app.message_object(public.messages, json, bigint, text),
    app.message_object(public.messages, text, text, bigint, text), app.has_details(public.messages),
    app.message_details(public.messages, text), app.reply_object(public.messages),
    app.own_members(bigint, bigint, boolean, timestamptz, boolean, boolean, integer, integer), app.everyone(),
    app.max_unread_mentions(), app.unread_mentions(uuid, uuid, bigint),
    app.reactions_object(public.reaction_counts, text), app.reactions_by(uuid, uuid, bigint),
    app.piece_object(uuid, bigint, integer, text),
    app.sender_members(uuid, json),
    app.conversation_member(uuid), app.attachment_object(jsonb), app.attachment_members(jsonb),
    app.quoted(text),
    app.presence_object(uuid, boolean, timestamptz), app.epoch(),
    app.record_ended_transactions(pg_snapshot, timestamptz), app.standby_snapshot(),
    app.is_behind(pg_snapshot, pg_snapshot)
    to authenticated, postline_feed;
grant execute on function
    app.wait_for_wal_flush(), app.log_end(pg_lsn), app.report_presence(uuid, integer, uuid[], uuid[], boolean),
    app.report_delivered(uuid[], uuid[], bigint[]),
    app.report_acknowledged(uuid[], text[], pg_snapshot[], integer[], uuid[]),
    app.end_nodes(), app.queue_pushes(), app.claim_pushes(integer, boolean),
    app.claim_reaction_pushes(integer, boolean),
    app.record_reaction_push_results(uuid[], uuid[], bigint[], uuid[], text[], double precision[]),
    app.record_stored_media(uuid),
    app.claim_removals(integer), app.complete_removals(uuid[], text[]), app.acquire_lease(text, uuid, double precision),
    app.release_lease(text, uuid), app.move_messages(uuid, boolean), app.send_due(), app.finish_abandoned_stream(),
    app.stream_text(uuid, bigint), app.flush_message_words(), app.expire_messages(integer),
    app.prune_reports(integer), app.report_counts(), app.claim_reports(uuid, integer),
    app.record_report_results(uuid[], double precision[]),
    app.held_counts(), app.expire_held(), app.claim_held(integer), app.apply_held_decision(uuid, text),
    app.record_push_results(uuid[], uuid[], bigint[], text[], text[], double precision[])
    to postline_feed;
grant execute on function
    app.caller(), app.refuse_param(text, text), app.refuse_hidden(text), app.refuse_content(),
    app.max_message_characters(), app.normalized(text),
    app.locked_caller(bigint), app.refuse_unknown(jsonb, text[], text), app.patched_text(jsonb, text, text, text),
    app.patched_date_of_birth(jsonb, date, text), app.check_date_of_birth(text, date), app.check_avatar_url(text, text),
    app.own_fields(), app.change_fields(jsonb), app.change_physical(jsonb, text), app.change_username(text),
    app.change_avatar(jsonb, text), app.refuse_username(), app.is_https(text), app.spellings(text),
    app.meant_words(text), app.folded(text), app.spelled_out(text), app.words_of(text), app.lower_ascii(text),
    app.is_host(text), app.host_label(text), app.punycode_decoded(text), app.language_tag(text),
    app.repeats_subtag(text), app.word_similarity(text, text), app.similarity(text, text),
    app.is_similar_word(text, text), app.refuse_forbidden(text), app.checked_name(text, text, text), app.is_blank(text),
    app.control_characters(), app.invisible_characters(), app.has_control(text), app.distinct_ids(text, uuid[], uuid[]),
    app.lock_conversation(uuid), app.create_group(text), app.answer_bytes(), app.page_bytes(), app.page_time(),
    app.page_position(timestamptz, uuid), app.parsed_position(text, text),
    app.joined(text[], boolean, bigint), app.ensure_participants(uuid), app.is_active_user(uuid),
    app.set_member_role(uuid, uuid, text), app.my_groups(text[]), app.is_manager(uuid), app.my_conversations(),
    app.is_member(uuid), app.my_message(uuid, bigint), app.message_page(uuid, bigint, bigint, integer),
    app.move_message(uuid, bigint), app.sender_of(uuid), app.split_full_name(text),
    app.is_first_sent(uuid, uuid, text, text, jsonb, bigint, jsonb), app.mentioned_members(uuid, uuid[]),
    app.lock_membership(uuid), app.set_pin(uuid, bigint, boolean), app.set_conversation_data(uuid, jsonb),
    app.set_message_ttl(uuid, integer), app.expired_message(uuid, uuid, text, text, jsonb, jsonb),
    app.seen_reactions(uuid, bigint, bigint, pg_snapshot, pg_snapshot),
    app.set_reaction(uuid, bigint, text, boolean),
    app.start_stream(uuid, text, uuid, bigint, uuid[], boolean, jsonb), app.append_piece(uuid, bigint, bigint, text),
    app.finish_own_stream(uuid, bigint), app.has_streams(uuid),
    app.seen_pieces(uuid, bigint, bigint, pg_snapshot), app.streamed_since(pg_snapshot, uuid[]),
    app.rare_changes_since(pg_snapshot, uuid[]),
    app.sync_details(text, pg_snapshot, pg_snapshot, uuid[], uuid[], integer, uuid, bigint, timestamptz, bigint),
    app.is_change(xid8, pg_snapshot, pg_snapshot), app.presence_visibility(), app.presence_visible_users(),
    app.changes_since(pg_snapshot, pg_snapshot), app.sync_position(text), app.step_members(),
    app.sync_conversation_ids(uuid, pg_snapshot, pg_snapshot), app.sync_step_end(uuid[], uuid),
    app.shared_presence(uuid[], uuid[], pg_snapshot, pg_snapshot, uuid, uuid),
    app.sync_me(uuid, pg_snapshot, pg_snapshot),
    app.sync_left(uuid, pg_snapshot, pg_snapshot, uuid, timestamptz, bigint),
    app.sync_profiles(uuid, pg_snapshot, pg_snapshot, uuid[], uuid[], uuid, timestamptz, bigint),
    app.sync_presence(uuid, pg_snapshot, pg_snapshot, uuid[], uuid[], boolean, uuid, timestamptz, bigint),
    app.sync_conversations(uuid, pg_snapshot, uuid[], uuid, timestamptz, bigint),
    app.sync_messages(pg_snapshot, pg_snapshot, uuid[], uuid[], integer, uuid, bigint, timestamptz, bigint),
    app.sync_marks(text, refcursor, uuid, timestamptz, bigint),
    app.sync_reads(pg_snapshot, pg_snapshot, uuid[], uuid[], uuid, uuid, timestamptz, bigint),
    app.sync_delivered(
        uuid, pg_snapshot, pg_snapshot, uuid[], uuid[], uuid, uuid, timestamptz, bigint),
    app.register_device(text, text, text, text), app.checked_time(text, text),
    app.media_id(jsonb), app.is_media_url(text, uuid),
    app.create_media(text, text, bigint, uuid, integer, integer, text, bigint), app.is_picture_type(text),
    app.complete_attachment(jsonb), app.normalized_attachment(jsonb), app.normalized_file(jsonb),
    app.needs_attachment(text), app.may_be_empty(text), app.attachment_content(text, text, jsonb),
    app.may_send_kind(text), app.refuse_kind(), app.stored_form(text, text, jsonb),
    app.export_page(text, text), app.export_own(uuid),
    app.scheduled_object(public.scheduled_messages), app.refuse_client_id(), app.attachments(jsonb),
    app.find_messages(text, uuid, uuid, timestamptz, uuid, integer, interval),
    app.sync_page(text, pg_snapshot, pg_snapshot, text, integer, integer),
    app.live_page(text, pg_snapshot, pg_snapshot, text, integer, integer),
    app.subscription_page(text, pg_snapshot, pg_snapshot, text, integer, integer), app.sync_blocked(uuid, pg_snapshot),
    app.without_blocked(uuid[]),
    app.create_report(uuid, bigint, uuid, text, text), app.moderated_reports(text, integer, text),
    app.moderated_report(uuid), app.assign_report(uuid), app.resolve_report(uuid, text, text),
    app.remove_message(uuid, bigint), app.ban_user(uuid, timestamptz), app.unban_user(uuid),
    app.own_form(uuid, text), app.is_held(uuid), app.moderated_files(uuid[]), app.delete_held(uuid, bigint),
    app.moderated_held(integer, text), app.decide_held(uuid, bigint, boolean)
    to authenticated;
grant execute on function public.is_read(public.messages), public.unread_count(public.conversations)
    to authenticated, service_role;
-- The default of messages.id, for roles that insert messages themselves, and the index messages_words.
grant execute on function app.message_id() to authenticated, service_role;
grant execute on function
    app.folded(text), app.search_text(text), app.search_words(text), app.message_words(uuid, timestamptz, text)
    to authenticated, service_role, postline_sender;

-- Names by which nodes of the previous version call functions: remove after 0.1.
grant execute on function
    feed.next_look(pg_snapshot), feed.next_look(pg_snapshot, text[]), feed.look(pg_snapshot),
    feed.concerned(pg_snapshot, uuid[]), feed.missed_nothing(text[], uuid[], pg_snapshot[]),
    app.seal(), app.note_pushes(), app.due_pushes(integer, boolean),
    app.settle_pushes(uuid[], uuid[], bigint[], text[], text[], double precision[]),
    app.note_stored(uuid), app.due_removals(integer), app.removed_media(uuid[]), app.removed_media(uuid[], text[]),
    app.lead(text, uuid, double precision), app.resign(text, uuid)
    to postline_feed;
grant execute on function app.note_ended(pg_snapshot, timestamptz) to authenticated, postline_feed;
grant execute on function
    accounts.enter_by_identity(text, text, text, text, text, double precision, uuid, integer, integer),
    accounts.keep_ticket(text, uuid, text, double precision), accounts.register(text, text, text, text),
    accounts.settle_mails(uuid[], integer[], text[], text[], double precision[]), accounts.take_mails(text[]),
    accounts.take_ticket(text, boolean), accounts.upgrade(uuid, text, text, text)
    to postline_accounts;
