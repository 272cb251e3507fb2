-- A guest whose holder signs in to an account that was there already comes into it: one transaction, after which the
-- guest is a tombstone without sessions.
--
-- To others it looks as if the account had been in the guest's place all along: the guest's messages become the
-- account's, where they stand, as a new version of each. Two direct conversations with one person become one: the
-- messages of the guest's move, ids and all, to the end of the account's, in their order and with the times they were
-- written at, and the emptied conversation leaves both lists.
--
-- Lock order as everywhere: conversations, members, messages; the guest's profile after its conversations, as a
-- message's foreign key takes it.

-- Whether this transaction merges a guest: then, and only then, messages change their sender and place and direct
-- conversations their participants.
create or replace function app.is_merging() returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from app.merged_guests g where g.merged_xid = pg_catalog.pg_current_xact_id());
end
$$;

-- Takes a guest's refresh token, whose code the service has checked, and brings the guest into the account. The token
-- is taken as accounts.refresh takes it, and is not rotated; the guest's sessions end. A repeated call finds it done
-- and answers the same. `password_hash` is the account's, as accounts.open_session takes it.
create or replace function accounts.merge_guest(
    user_id uuid, password_hash text, session_id uuid, generation integer, reuse_seconds integer) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    guest auth.users;
    session app.sessions;
    merged app.merged_guests;
begin
    -- The guest's account is the lock: of two merges, or of a merge and an upgrade, the second finds what the first
    -- did.
    select u.* into guest from auth.users u
     where u.id = (select s.user_id from app.sessions s where s.id = session_id) for update;
    -- Whoever changes the account's password waits until the guest is in it, or is seen here.
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
                        and app.is_taken(session, generation, reuse_seconds), false)
           or (select u.is_anonymous from auth.users u where u.id = merge_guest.user_id) then
            raise exception using errcode = 'PL004', message = 'That guest is not known here.';
        end if;
        merged := app.merge_users(guest.id, merge_guest.user_id);
    end if;
    return pg_catalog.format('{"conversations":%s,"messages":%s}', merged.conversations, merged.messages);
end
$$;

create or replace function app.merge_users(guest uuid, account uuid) returns app.merged_guests
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    room record;
    twin uuid;
    taken integer;
    merged app.merged_guests;
begin
    insert into app.merged_guests as g (guest_id, account_id) values (guest, account) returning g.* into merged;

    perform 1 from public.conversations c
     where c.id in (
            select m.conversation_id from public.conversation_members m where m.user_id = guest
            union
            select t.id from public.conversation_members m
              join public.conversation_members o on o.conversation_id = m.conversation_id and o.user_id <> guest
              join public.conversations t on t.participant1_id = least(account, o.user_id)
                                         and t.participant2_id = greatest(account, o.user_id)
             where m.user_id = guest)
     order by c.id for update;
    -- From here on nobody adds the guest to a conversation: app.keep_new_member waits, and finds the tombstone.
    perform 1 from public.user_profiles p where p.id = guest for update;

    for room in
        select c.id, c.kind = 'direct' as direct, account in (c.participant1_id, c.participant2_id) as own,
               case when c.participant1_id = guest then c.participant2_id else c.participant1_id end as other,
               exists (select from public.conversation_members m
                        where m.conversation_id = c.id and m.user_id = guest) as present
          from public.conversations c
         where c.id in (select m.conversation_id from public.conversation_members m where m.user_id = guest
                        union
                        select f.conversation_id from app.former_members f
                          join public.conversations g on g.id = f.conversation_id
                         where f.user_id = guest and f.wrote and g.kind = 'group')
         order by c.id
    loop
        if room.direct and room.own then
            perform app.empty_conversation(room.id);
            continue;
        end if;
        twin := case when room.direct then app.seat_participant(room.id, account, room.other) end;
        if twin is null then
            taken := app.take_seat(room.id, guest, account);
        else
            taken := app.append_conversation(room.id, twin, guest, account);
            perform app.empty_conversation(room.id);
        end if;
        merged.messages := merged.messages + taken;
        merged.conversations := merged.conversations + room.present::integer;
    end loop;

    perform app.merge_media(guest, account);
    perform app.merge_profiles(guest, account);
    perform app.drop_unused_avatars(account);
    update app.merged_guests g set conversations = merged.conversations, messages = merged.messages
     where g.guest_id = guest;
    return merged;
end
$$;

-- It then stands in nobody's list.
create or replace function app.empty_conversation(conversation_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    member uuid;
begin
    for member in
        select m.user_id from public.conversation_members m
         where m.conversation_id = empty_conversation.conversation_id order by m.user_id
    loop
        delete from public.conversation_members m
         where m.conversation_id = empty_conversation.conversation_id and m.user_id = member;
    end loop;
end
$$;

-- Makes the account a participant in the guest's place; or answers the direct conversation that the two have already.
create or replace function app.seat_participant(conversation_id uuid, account uuid, other uuid) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update public.conversations c
       set participant1_id = least(account, other), participant2_id = greatest(account, other)
     where c.id = seat_participant.conversation_id;
    return null;
exception when unique_violation then
    return (select c.id from public.conversations c
             where c.participant1_id = least(account, other) and c.participant2_id = greatest(account, other));
end
$$;

-- The guest's messages and membership become the account's: the stronger role and the later mark stay. Answers how
-- many messages.
create or replace function app.take_seat(conversation_id uuid, guest uuid, account uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    seat public.conversation_members;
    taken integer;
    newest bigint;
begin
    with moved as (
        update public.messages m
           set sender_id = account,
               client_id = case when not exists (
                    select from public.messages o
                     where o.conversation_id = m.conversation_id and o.sender_id = account
                       and o.client_id = m.client_id) then m.client_id end
         where m.conversation_id = take_seat.conversation_id and m.sender_id = guest
        returning m.seq)
    select count(*), max(moved.seq) into taken, newest from moved;
    update public.conversations c
       set created_by = case when c.created_by = guest then account else c.created_by end,
           last_message_sender_id = case when c.last_message_sender_id = guest then account
                                         else c.last_message_sender_id end,
           last_message_xid = case when taken > 0 then pg_catalog.pg_current_xact_id() else c.last_message_xid end
     where c.id = take_seat.conversation_id;

    delete from public.conversation_members m
     where m.conversation_id = take_seat.conversation_id and m.user_id = guest
    returning m.* into seat;
    if seat.user_id is not null then
        insert into public.conversation_members (conversation_id, user_id, joined_at, last_read_seq)
        select seat.conversation_id, account, seat.joined_at, seat.last_read_seq
         where not exists (select from public.conversation_members m
                            where m.conversation_id = take_seat.conversation_id and m.user_id = account);
    else
        -- One that went from there: the account came and went just now, so that those who are there are told of it.
        insert into app.former_members as f (conversation_id, user_id, wrote, joined_xid)
        select take_seat.conversation_id, account, true, pg_catalog.pg_current_xact_id()
         where not exists (select from public.conversation_members m
                            where m.conversation_id = take_seat.conversation_id and m.user_id = account)
        on conflict on constraint former_members_pkey do update
           set wrote = true, changed_xid = excluded.changed_xid, joined_xid = excluded.joined_xid
         where not f.wrote;
    end if;
    update public.conversation_members m
       set role = case when 'owner' in (m.role, seat.role) then 'owner'
                       when 'admin' in (m.role, seat.role) then 'admin' else 'member' end,
           last_read_seq = greatest(m.last_read_seq, seat.last_read_seq),
           sent_seq = greatest(m.sent_seq, newest),
           changed_xid = pg_catalog.pg_current_xact_id()
     where m.conversation_id = take_seat.conversation_id and m.user_id = account;
    return taken;
end
$$;

-- All messages of a direct conversation go to the end of another of the same two people. A member who had read all of
-- that one keeps the place it had reached in this one; and as after a send, nobody's mark is before what it wrote.
-- Answers how many messages the guest had written.
create or replace function app.append_conversation(from_id uuid, into_id uuid, guest uuid, account uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    xid xid8 := pg_catalog.pg_current_xact_id();
    base bigint;
    newest public.messages;
    taken integer := (select count(*) from public.messages m where m.conversation_id = from_id and m.sender_id = guest);
begin
    select c.last_seq into base from public.conversations c where c.id = into_id for update;
    update public.messages m
       set conversation_id = into_id, seq = base + m.seq,
           sender_id = case when m.sender_id = guest then account else m.sender_id end,
           client_id = case when not exists (
                select from public.messages o
                 where o.conversation_id = into_id and o.client_id = m.client_id
                   and o.sender_id = case when m.sender_id = guest then account else m.sender_id end)
                then m.client_id end
     where m.conversation_id = from_id;
    update public.conversations c
       set last_seq = 0, last_message_content = null, last_message_time = null, last_message_sender_id = null
     where c.id = from_id;
    select m.* into newest from public.messages m
     where m.conversation_id = into_id and m.seq > base order by m.seq desc limit 1;
    if not found then
        return taken;
    end if;
    update public.conversations c
       set last_seq = newest.seq, last_message_content = pg_catalog.left(newest.content, 200),
           last_message_time = newest.created_at, last_message_sender_id = newest.sender_id, last_message_xid = xid
     where c.id = into_id;
    update public.conversation_members m
       set last_read_seq = greatest(w.seq, case when m.last_read_seq = base then base + coalesce(o.last_read_seq, 0)
                                                else m.last_read_seq end),
           sent_seq = w.seq, changed_xid = xid
      from public.conversation_members n
      left join public.conversation_members o
        on o.conversation_id = from_id and o.user_id = case when n.user_id = account then guest else n.user_id end
     cross join lateral (
            select greatest(n.sent_seq, max(s.seq)) as seq from public.messages s
             where s.conversation_id = into_id and s.sender_id = n.user_id and s.seq > base) w
     where n.conversation_id = into_id and m.conversation_id = n.conversation_id and m.user_id = n.user_id;
    return taken;
end
$$;

-- The account's own values win; what it has none of comes from the guest.
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
    -- The names that the guest gave up are held for its holder.
    update public.username_history h set user_id = account where h.user_id = guest;
    -- Of many guests' not all: the five that are held longest.
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
           -- Where they are too much together, the guest's go; so below.
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
