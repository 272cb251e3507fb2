-- Merges a guest into an existing account to which its user signs in: one transaction, after which the guest is a
-- tombstone without sessions.
--
-- To others the account appears to have been in the guest's place all along. The guest's messages become the account's,
-- in their places, as a new version of each. If both have a direct conversation with the same user, the messages of the
-- guest's are appended to the account's, with the same ids, order and times, and the emptied conversation leaves both
-- lists.
--
-- The transaction moves the newest 1,000 messages or so, and leaves the rest to batches (message_moves.sql), so that
-- its time is bounded. It counts messages before it locks anything.
--
-- Lock order: conversations, members, messages; then the guest's profile, as a foreign key of a message takes it.

-- Returns true in a transaction that merges a guest. Only there do participants of direct conversations change.
create or replace function app.is_merging() returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from app.merged_guests g where g.merged_xid = pg_catalog.pg_current_xact_id());
end
$$;

-- Merges the guest of a refresh token into an account, and returns how many conversations and messages. The service has
-- checked the token's code; it is accepted as by accounts.refresh, but not rotated, and the guest's sessions end. A
-- repeated call returns the same. `password_hash` is the account's, as for accounts.open_session.
create or replace function accounts.merge_guest(
    user_id uuid, password_hash text, session_id uuid, generation integer, reuse_seconds integer) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    guest auth.users;
    session app.sessions;
    merged app.merged_guests;
begin
    -- Lock the guest's account: of two merges, or a merge and an upgrade, the second sees the result of the first.
    select u.* into guest from auth.users u
     where u.id = (select s.user_id from app.sessions s where s.id = session_id) for update;
    -- A concurrent change of the account's password waits for the merge, or is seen here.
    perform 1 from auth.users u
     where u.id = merge_guest.user_id and u.deleted_at is null and not app.is_banned(u)
       and nullif(u.encrypted_password::text, '') is not distinct from merge_guest.password_hash for share;
    if not found then
        perform app.refuse_sign_in(merge_guest.user_id);
    end if;
    select g.* into merged from app.merged_guests g
     where g.guest_id = guest.id and g.account_id = merge_guest.user_id;
    if not found then
        select s.* into session from app.sessions s where s.id = session_id;
        if not coalesce(guest.is_anonymous and guest.deleted_at is null
                        and app.accepts_generation(session, generation, reuse_seconds), false)
           or (select u.is_anonymous from auth.users u where u.id = merge_guest.user_id) then
            raise exception using errcode = 'PL004', message = 'This guest does not exist.';
        end if;
        merged := app.merge_users(guest.id, merge_guest.user_id);
    end if;
    return pg_catalog.format('{"conversations":%s,"messages":%s}', merged.conversations, merged.messages);
end
$$;

-- Returns the number of a guest's messages with numbers above `after_seq`, up to `last_seq`.
create or replace function app.count_messages(conversation_id uuid, guest uuid, after_seq bigint, last_seq bigint)
returns integer
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
    return (select count(*) from public.messages m
             where m.conversation_id = count_messages.conversation_id and m.seq > after_seq and m.seq <= last_seq
               and m.sender_id = guest);
end
$$;

-- Returns the conversations of a guest, and the groups in which it wrote and which it left.
create or replace function app.guest_conversations(guest uuid) returns uuid[]
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select array(
        select m.conversation_id from public.conversation_members m where m.user_id = guest
        union
        select f.conversation_id from app.former_members f
          join public.conversations g on g.id = f.conversation_id
         where f.user_id = guest and f.wrote and g.kind = 'group')
$$;

-- Moves conversations, newest messages, pictures and profile of a guest to an account, and returns the record of it.
create or replace function app.merge_users(guest uuid, account uuid) returns app.merged_guests
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    -- The most messages, of all senders, that are searched before the response. The rest is counted as it is moved.
    most_counted constant bigint := 200000;
    countable bigint := most_counted;
    -- The newest messages that are moved at once, shared by the conversations: what a screen shows, and what the device
    -- may send again as the account since it lacks the response.
    most_moved constant integer := 1000;
    room record;
    rooms uuid[];
    counted_after bigint[] := '{}';
    counted_to bigint[] := '{}';
    place integer;
    twin uuid;
    room_id uuid;
    merged app.merged_guests;
begin
    insert into app.merged_guests as g (guest_id, account_id) values (guest, account) returning g.* into merged;

    rooms := array(select r from unnest(app.guest_conversations(guest)) r order by r);
    foreach room_id in array rooms loop
        select c.last_seq, greatest(c.last_seq - countable, 0) as after_seq into room
          from public.conversations c where c.id = room_id;
        counted_after := counted_after || room.after_seq;
        counted_to := counted_to || room.last_seq;
        countable := countable - (room.last_seq - room.after_seq);
        -- The direct conversation of guest and account is removed.
        if not exists (select from public.conversations c
                        where c.id = room_id and account in (c.participant1_id, c.participant2_id)) then
            merged.messages := merged.messages + app.count_messages(room_id, guest, room.after_seq, room.last_seq);
        end if;
    end loop;

    perform 1 from public.conversations c
     where c.id in (
            select unnest(app.guest_conversations(guest))
            union
            select t.id from public.conversation_members m
              join public.conversation_members o on o.conversation_id = m.conversation_id and o.user_id <> guest
              join public.conversations t on t.participant1_id = least(account, o.user_id)
                                         and t.participant2_id = greatest(account, o.user_id)
             where m.user_id = guest)
     order by c.id for update;
    perform app.merge_held(guest, account);
    -- Messages that grow cannot move.
    perform app.finish_streams(guest, array(
        select c.id from public.conversations c
         where c.id = any (app.guest_conversations(guest)) and c.kind = 'direct'));
    -- From here on nobody adds the guest to a conversation: app.validate_new_member waits, and finds the tombstone.
    perform 1 from public.user_profiles p where p.id = guest for update;

    for room in
        select c.id, c.last_seq, c.kind = 'direct' as direct, account in (c.participant1_id, c.participant2_id) as own,
               case when c.participant1_id = guest then c.participant2_id else c.participant1_id end as other,
               exists (select from public.conversation_members m
                        where m.conversation_id = c.id and m.user_id = guest) as present,
               greatest(20, most_moved / count(*) over ())::integer as most
          from public.conversations c
         where c.id = any (app.guest_conversations(guest))
         order by c.id
    loop
        merged.conversations := merged.conversations + (room.present and not (room.direct and room.own))::integer;
        if room.direct and room.own then
            perform app.remove_all_members(room.id);
            continue;
        end if;
        -- Messages that were sent between the first count and the lock.
        place := pg_catalog.array_position(rooms, room.id);
        merged.messages := merged.messages
            + app.count_messages(room.id, guest, coalesce(counted_to[place], 0), room.last_seq);
        twin := case when room.direct then app.replace_participant(room.id, account, room.other) end;
        if twin is null then
            perform app.transfer_membership(room.id, guest, account, coalesce(counted_after[place], 0) + 1, room.most);
            if room.direct then
                perform app.mark_blocked(account, room.other);
            end if;
        else
            perform app.append_conversation(
                room.id, twin, guest, account, coalesce(counted_after[place], 0) + 1, room.most);
            perform app.remove_all_members(room.id);
        end if;
    end loop;

    perform app.tell_held(account);
    perform app.merge_scheduled(guest, account);
    perform app.merge_blocks(guest, account);
    perform app.merge_reports(guest, account);
    perform app.merge_media(guest, account);
    perform app.merge_profiles(guest, account);
    perform app.drop_unused_avatars(account);
    update app.merged_guests g set conversations = merged.conversations, messages = g.messages + merged.messages
     where g.guest_id = guest
    returning g.* into merged;
    return merged;
end
$$;

-- Removes all members of a conversation, which then appears in no list.
create or replace function app.remove_all_members(conversation_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    member uuid;
begin
    for member in
        select m.user_id from public.conversation_members m
         where m.conversation_id = remove_all_members.conversation_id order by m.user_id
    loop
        delete from public.conversation_members m
         where m.conversation_id = remove_all_members.conversation_id and m.user_id = member;
    end loop;
end
$$;

-- Replaces the guest by the account in a direct conversation. If the two already have one, returns that instead of
-- null.
create or replace function app.replace_participant(conversation_id uuid, account uuid, other uuid) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update public.conversations c
       set participant1_id = least(account, other), participant2_id = greatest(account, other)
     where c.id = replace_participant.conversation_id;
    return null;
exception when unique_violation then
    return (select c.id from public.conversations c
             where c.participant1_id = least(account, other) and c.participant2_id = greatest(account, other));
end
$$;

drop function if exists app.append_conversation(uuid, uuid, uuid, uuid);

-- Transfers the guest's membership of a conversation to the account, with the higher role and the later marks, and its
-- messages, of which the newest `most` now. Messages from `counted_from` on are already counted.
create or replace function app.transfer_membership(
    conversation_id uuid, guest uuid, account uuid, counted_from bigint, most integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    seat public.conversation_members;
    delivered bigint := app.delivered_mark(transfer_membership.conversation_id, guest);
begin
    select m.* into seat from public.conversation_members m
     where m.conversation_id = transfer_membership.conversation_id and m.user_id = guest;
    insert into app.message_moves (conversation_id, guest_id, below, uncounted_below)
    select c.id, guest, c.last_seq + 1, counted_from from public.conversations c
     where c.id = transfer_membership.conversation_id;
    perform app.move_batch(transfer_membership.conversation_id, guest, most);
    -- The guest's last message, which is not among the newest if others wrote many since.
    perform app.reassign_messages(array[m.id], m.conversation_id, m.conversation_id, 0) from public.messages m
     where m.conversation_id = transfer_membership.conversation_id and m.seq = seat.sent_seq and m.sender_id = guest;
    update public.conversations c
       set created_by = case when c.created_by = guest then account else c.created_by end,
           last_message_sender_id = case when c.last_message_sender_id = guest then account
                                         else c.last_message_sender_id end
     where c.id = transfer_membership.conversation_id;

    delete from public.conversation_members m
     where m.conversation_id = transfer_membership.conversation_id and m.user_id = guest;
    if seat.user_id is not null then
        insert into public.conversation_members (conversation_id, user_id, joined_at, last_read_seq)
        select seat.conversation_id, account, seat.joined_at, seat.last_read_seq
         where not exists (select from public.conversation_members m
                            where m.conversation_id = transfer_membership.conversation_id and m.user_id = account);
    else
        -- The guest had left: the account is recorded as one that joined and left now, so that the members get its
        -- profile.
        insert into app.former_members as f (conversation_id, user_id, wrote, joined_xid)
        select transfer_membership.conversation_id, account, true, pg_catalog.pg_current_xact_id()
         where not exists (select from public.conversation_members m
                            where m.conversation_id = transfer_membership.conversation_id and m.user_id = account)
        on conflict on constraint former_members_pkey do update
           set wrote = true, changed_xid = excluded.changed_xid, joined_xid = excluded.joined_xid
         where not f.wrote;
    end if;
    update public.conversation_members m
       set role = case when 'owner' in (m.role, seat.role) then 'owner'
                       when 'admin' in (m.role, seat.role) then 'admin' else 'member' end,
           last_read_seq = greatest(m.last_read_seq, seat.last_read_seq),
           sent_seq = greatest(m.sent_seq, seat.sent_seq),
           changed_xid = pg_catalog.pg_current_xact_id()
     where m.conversation_id = transfer_membership.conversation_id and m.user_id = account;
    if delivered is not null then
        perform app.move_delivered_mark(transfer_membership.conversation_id, account, delivered);
    end if;
end
$$;

-- Appends all messages of a direct conversation to another of the same two users, where it reserves their numbers; the
-- newest `most` move now. A member who had read all of the second keeps its read mark of the first, and likewise the
-- delivered marks; and no read mark is before the member's own messages. The guest's messages from `counted_from` on
-- are already counted.
create or replace function app.append_conversation(
    from_id uuid, into_id uuid, guest uuid, account uuid, counted_from bigint, most integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    xid xid8 := pg_catalog.pg_current_xact_id();
    reserved bigint;    -- added to the numbers of moved messages
    newest public.messages;
begin
    select c.last_seq into reserved from public.conversations c where c.id = into_id for update;
    perform app.move_scheduled(from_id, into_id, reserved);
    update public.media m set conversation_id = into_id where m.conversation_id = from_id and m.message_id is null;
    select m.* into newest from public.messages m where m.conversation_id = from_id order by m.seq desc limit 1;
    -- Messages that an earlier merge would still move here go directly there.
    delete from app.message_moves v where v.conversation_id = from_id;
    update app.message_moves v
       set into_id = append_conversation.into_id, base = reserved + v.base, sent_xid = xid
     where v.into_id = from_id;
    if newest.id is null then
        return;
    end if;
    update public.conversations c
       set last_seq = reserved + f.last_seq,
           pinned_seqs = (array(select reserved + p from unnest(f.pinned_seqs) p) || c.pinned_seqs)[:50],
           data = coalesce(c.data, f.data),
           -- The shorter one, for what was written with it.
           message_ttl_seconds = least(c.message_ttl_seconds, f.message_ttl_seconds),
           last_message_content = pg_catalog.left(newest.content, app.preview_characters()),
           -- No message of the conversation is later.
           last_message_time = greatest(c.last_message_time, newest.created_at), last_message_xid = xid,
           last_message_sender_id = case when newest.sender_id = guest then account else newest.sender_id end
      from public.conversations f
     where f.id = from_id and c.id = into_id;
    insert into app.message_moves (conversation_id, guest_id, into_id, base, sent_xid, below, uncounted_below)
    values (from_id, guest, into_id, reserved, xid, newest.seq + 1, counted_from);
    update public.conversations c
       set last_seq = 0, last_message_content = null, last_message_time = null, last_message_sender_id = null,
           pinned_seqs = null
     where c.id = from_id;
    perform app.move_delivered_mark(
                into_id, n.user_id,
                reserved + greatest(o.last_read_seq, app.delivered_mark(from_id, o.user_id)))
       from public.conversation_members n
       join public.conversation_members o
         on o.conversation_id = from_id and o.user_id = case when n.user_id = account then guest else n.user_id end
      where n.conversation_id = into_id
        and greatest(n.last_read_seq, app.delivered_mark(into_id, n.user_id)) >= reserved;
    update public.conversation_members m
       set last_read_seq = greatest(w.seq, case when m.last_read_seq = reserved
                                                then reserved + coalesce(o.last_read_seq, 0)
                                                else m.last_read_seq end),
           sent_seq = w.seq, changed_xid = xid
      from public.conversation_members n
      left join public.conversation_members o
        on o.conversation_id = from_id and o.user_id = case when n.user_id = account then guest else n.user_id end
     cross join lateral (
            select greatest(n.sent_seq, reserved + coalesce(nullif(o.sent_seq, 0), (
                        -- A member row may have been deleted by SQL, and restored.
                        select max(s.seq)
                          from (select l.seq, l.sender_id from public.messages l
                                 where l.conversation_id = from_id order by l.seq desc limit 10000) s
                         where s.sender_id = case n.user_id when account then guest else n.user_id end))) as seq
            ) w
     where n.conversation_id = into_id and m.conversation_id = n.conversation_id and m.user_id = n.user_id;
    perform app.move_batch(from_id, guest, most);
end
$$;

-- Copies profile fields from the guest that the account does not have.
create or replace function app.merge_profiles(guest uuid, account uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    profile public.user_profiles;
    private public.user_private;
    together jsonb;
begin
    select p.* into profile from public.user_profiles p where p.id = guest;
    select p.* into private from public.user_private p where p.id = guest;
    update public.user_profiles p set is_deleted = true where p.id = guest;
    -- The guest's former names stay held for the account.
    update public.username_history h set user_id = account where h.user_id = guest;
    -- At most five are held for an account that merges many guests: those with the latest expiry.
    delete from public.username_history h
     where h.user_id = account and h.held_until > app.now()
       and h.id not in (select k.id from public.username_history k where k.user_id = account
                         order by k.held_until desc, k.id desc limit 5);
    update public.user_profiles p
       set username = coalesce(p.username, profile.username),
           full_name = coalesce(p.full_name, profile.full_name),
           bio = coalesce(p.bio, profile.bio),
           avatar_type = coalesce(p.avatar_type, profile.avatar_type),
           avatar_id = case when p.avatar_type is null then profile.avatar_id else p.avatar_id end,
           avatar_url = case when p.avatar_type is null then profile.avatar_url else p.avatar_url end,
           website = coalesce(p.website, profile.website),
           location = coalesce(p.location, profile.location),
           language_code = coalesce(p.language_code, profile.language_code),
           -- If both together exceed the bound, the guest's are dropped; likewise below.
           attributes = case when pg_catalog.octet_length((profile.attributes || p.attributes)::text) <= 32768
                             then profile.attributes || p.attributes else p.attributes end
     where p.id = account;
    select private.preferences || s.preferences into together from public.user_private s where s.id = account;
    update public.user_private s
       set phone_number = coalesce(s.phone_number, private.phone_number),
           phone_verified = case when s.phone_number is null then private.phone_verified else s.phone_verified end,
           date_of_birth = coalesce(s.date_of_birth, private.date_of_birth),
           biological_sex = coalesce(s.biological_sex, private.biological_sex),
           height_cm = coalesce(s.height_cm, private.height_cm),
           preferences = case when app.json_bytes(together) <= 16384 then together else s.preferences end
     where s.id = account;
end
$$;
