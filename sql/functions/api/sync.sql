-- Returns true if a transaction is not seen by `since` (null: nothing is) and seen by `until` (null: everything is).
create or replace function app.is_change(xid xid8, since pg_snapshot, until pg_snapshot) returns boolean
language sql immutable parallel safe
begin atomic
    select (since is null or not pg_catalog.pg_visible_in_snapshot(xid, since))
       and (until is null or pg_catalog.pg_visible_in_snapshot(xid, until));
end;

-- Returns the caller's conversations by id, and the kinds that may have changes for the caller since a snapshot:
-- profiles, presence, members and their marks, conversations that the caller left, any. True if too much has changed to
-- check it singly; false is certain.
--
-- Most cursors are recent, and little has changed since. So the recent changes of all users are walked in the indexes
-- on changed_xid and checked whether they concern the caller, instead of everything that the caller sees.
create or replace function app.changes_since(
    since pg_snapshot, out mine uuid[], out has_any boolean, out has_profiles boolean, out has_presence boolean,
    out has_members boolean, out has_removals boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    most constant integer := 64;
    me uuid := auth.uid();
    oldest xid8 := pg_catalog.pg_snapshot_xmin(since);
    changed uuid[];
    is_left boolean;
begin
    select coalesce(pg_catalog.array_agg(c.id order by c.id), '{}'),
           coalesce(pg_catalog.bool_or(not pg_catalog.pg_visible_in_snapshot(c.changed_xid, since)
                                       or not pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since)
                                       or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)), false)
           or exists (select from public.conversation_mutes x
                       where x.user_id = me and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, since))
           or exists (select from public.presence p
                       where p.user_id = me and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since))
      into mine, has_any
      from public.conversation_members m
      join public.conversations c on c.id = m.conversation_id
     where m.user_id = me and not m.is_deleted;

    changed := array(
        select m.conversation_id from public.conversation_members m
         where m.changed_xid >= oldest order by m.changed_xid limit most);
    has_members := pg_catalog.cardinality(changed) = most or changed && mine;
    changed := array(
        select f.user_id from app.former_members f
         where f.changed_xid >= oldest order by f.changed_xid limit most);
    has_removals := pg_catalog.cardinality(changed) = most or me = any (changed);
    -- A former member may have joined and written since.
    is_left := pg_catalog.cardinality(changed) = most
        or changed <> '{}' and exists (
            select from unnest(changed) u join app.former_members f on f.user_id = u
             where f.wrote and f.conversation_id = any (mine));
    changed := array(
        select p.id from public.user_profiles p
         where p.changed_xid >= oldest order by p.changed_xid limit most);
    has_profiles := pg_catalog.cardinality(changed) = most or me = any (changed)
        or changed <> '{}' and (
            exists (select from unnest(changed) u join public.conversation_members m on m.user_id = u
                     where m.conversation_id = any (mine))
            or exists (select from unnest(changed) u join app.former_members f on f.user_id = u
                        where f.conversation_id = any (mine)))
        or is_left;
    changed := array(
        select p.user_id from public.presence p
         where p.changed_xid >= oldest order by p.changed_xid limit most);
    has_presence := mine <> '{}' and (
        pg_catalog.cardinality(changed) = most
        or changed <> '{}' and exists (
            select from unnest(changed) u join public.conversation_members m on m.user_id = u
             where u <> me and m.conversation_id = any (mine)));
    has_any := has_any or has_members or has_removals or has_profiles or has_presence;
end
$$;

-- Returns one page of a user's view: all of it (a reset), or the changes since a snapshot.
--
-- The view contains what `until` sees and `since` does not. It is walked in a fixed order (me; left by id; profiles by
-- id; presence by user; conversations by id; messages by conversation and seq; reads by conversation and user), so that
-- the last key is a position. The function is STABLE: all its queries use the caller's snapshot. Changes after `until`
-- are not on later pages, and the next delta contains them. Params that this function did not return cause a reset.
--
-- It uses indexes only: a session that made its plans while tables were small would read them completely until
-- autovacuum has run.
create or replace function api.sync(
    epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer,
    max_bytes integer,
    out epoch_now text, out snapshot text, out reset boolean, out next_position text, out changes text,
    out conversation_ids text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    me uuid := app.caller();
    is_standby boolean := pg_catalog.pg_is_in_recovery();
    now_seen pg_snapshot := case when is_standby then app.standby_snapshot() else pg_catalog.pg_current_snapshot() end;
    per_conversation integer := least(greatest(coalesce(messages_per_conversation, 20), 0), 100);
    room bigint := coalesce(max_bytes, 524288);
    section text := 'left';
    after_id uuid;
    after_seq bigint;
    after_user uuid;
    part record;
    mine uuid[];        -- the user's conversations, by id
    whole boolean;      -- true for a reset: nothing was seen before
    entered uuid[];     -- those that are new to the user: all of them in a reset
    muted uuid[];       -- those whose mute changed
    given uuid[];       -- those whose conversation object is in the view
    active uuid[];      -- those with new or changed messages
    me_object text;
    left_ids text[] := '{}';
    profiles text[] := '{}';
    changed record;     -- the kinds that may have changes
    visibility record;  -- of the presence of others
    flipped boolean;    -- true if it has changed
    presence text[] := '{}';
    conversations text[] := '{}';
    messages text[] := '{}';
    reads text[] := '{}';
    limited text[] := '{}';
    slice uuid[];
    place integer;
    ending timestamptz; -- the time at which the page ends
begin
    epoch_now := app.epoch();
    if is_standby and epoch = epoch_now and (app.is_behind(now_seen, since) or app.is_behind(now_seen, until)) then
        raise exception using errcode = 'PL015',
            message = 'The standby has not yet replayed the transactions of the cursor.';
    end if;
    if since is not null and (epoch is distinct from epoch_now
                              or pg_catalog.pg_snapshot_xmax(since) > pg_catalog.pg_snapshot_xmax(now_seen))
       or "position" !~ pg_catalog.replace(
           '^((left|profiles|presence|conversations):@|messages:@:[0-9]{1,18}|reads:@:@)$',
           '@', '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}') then
        since := null;
        until := null;
        "position" := null;
    end if;
    if until is null or "position" is null
       or pg_catalog.pg_snapshot_xmax(until) > pg_catalog.pg_snapshot_xmax(now_seen)
       -- Later pages of a reset have no `since`: the epoch must be valid for the whole view.
       or epoch is distinct from epoch_now then
        until := null;
        "position" := null;
    end if;
    -- Only the first page of a reset has `reset`; `whole` is true for all its pages.
    whole := since is null;
    reset := whole and until is null;
    snapshot := coalesce(until, now_seen)::text;

    if "position" is not null then
        section := pg_catalog.split_part("position", ':', 1);
        after_id := pg_catalog.split_part("position", ':', 2)::uuid;
        if section = 'messages' then
            after_seq := pg_catalog.split_part("position", ':', 3)::bigint;
        elsif section = 'reads' then
            after_user := pg_catalog.split_part("position", ':', 3)::uuid;
        end if;
    end if;

    if whole or "position" is not null then
        select true as has_profiles, true as has_presence, true as has_members, true as has_removals into changed;
    else
        changed := app.changes_since(since);
        if not changed.has_any then
            changes := '{}';
            conversation_ids := changed.mine::text;
            return;
        end if;
    end if;

    muted := array(
        select x.conversation_id from public.conversation_mutes x
         where x.user_id = me and app.is_change(x.changed_xid, since, until));
    -- A membership that began after `until` is in the next delta.
    select coalesce(pg_catalog.array_agg(c.id order by c.id), '{}'),
           coalesce(pg_catalog.array_agg(c.id order by c.id) filter (where w.entered), '{}'),
           coalesce(pg_catalog.array_agg(c.id order by c.id) filter (
               where w.entered or app.is_change(c.changed_xid, since, until) or c.id = any (muted)), '{}'),
           coalesce(pg_catalog.array_agg(c.id order by c.id) filter (
               where w.entered and c.last_seq > 0
                     or not pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since)), '{}')
      into mine, entered, given, active
      from public.conversation_members m
      join public.conversations c on c.id = m.conversation_id
     cross join lateral (select whole or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since) as entered) w
     where m.user_id = me and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until));

    <<view>>
    begin
        if "position" is null then
            if changed.has_profiles and exists (
                select from public.user_profiles p
                 where p.id = me and app.is_change(p.changed_xid, since, until)) then
                select o.object::text into me_object from app.me_objects o where o.id = me;
            end if;
            room := room - coalesce(pg_catalog.octet_length(me_object), 0);
        end if;

        if section = 'left' and not whole and changed.has_removals then
            for part in
                select f.conversation_id as id
                  from app.former_members f
                 where f.user_id = me and (after_id is null or f.conversation_id > after_id)
                   and app.is_change(f.changed_xid, since, until)
                 order by f.conversation_id
            loop
                left_ids := left_ids || ('"' || part.id || '"');
                room := room - 39;
                if room < 0 then
                    next_position := 'left:' || part.id;
                    exit view;
                end if;
            end loop;
        end if;
        if section = 'left' then
            section := 'profiles';
            after_id := null;
        end if;

        if section = 'profiles' and mine <> '{}' and (changed.has_profiles or changed.has_members) then
            for part in
                select o.id, o.object::text as object
                  from app.profile_objects o
                 where o.id <> me and (after_id is null or o.id > after_id)
                   and o.id in (
                        -- Users who share a conversation with the user, or did and wrote in it. In a delta these are
                        -- changed profiles, and whole ones of users who are new to the user.
                        select m.user_id from public.conversation_members m
                          join public.user_profiles p on p.id = m.user_id
                         where m.conversation_id = any(mine)
                           and (m.conversation_id = any(entered) and (until is null
                                    or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until))
                                or app.is_change(m.joined_xid, since, until)
                                or app.is_change(p.public_changed_xid, since, until))
                        union
                        select f.user_id from app.former_members f
                          join public.user_profiles p on p.id = f.user_id
                         where f.wrote and f.conversation_id = any(mine)
                           and (f.conversation_id = any(entered) or app.is_change(f.joined_xid, since, until)
                                or app.is_change(p.public_changed_xid, since, until)))
                   and (until is null or pg_catalog.pg_visible_in_snapshot(o.public_changed_xid, until))
                 order by o.id
            loop
                profiles := profiles || part.object;
                room := room - pg_catalog.octet_length(part.object);
                if room < 0 then
                    next_position := 'profiles:' || part.id;
                    exit view;
                end if;
            end loop;
        end if;
        if section = 'profiles' then
            section := 'presence';
            after_id := null;
        end if;

        if section = 'presence' and mine <> '{}' then
            visibility := app.presence_visibility();
            flipped := not whole and coalesce(app.is_change(visibility.changed_xid, since, until), false);
        end if;
        if section = 'presence' and mine <> '{}' and (changed.has_presence or changed.has_members or flipped) then
            for part in
                -- Presence that is known, in a delta also that which no longer is. If the user has begun to hide its
                -- own, everyone's is empty: it sees no row.
                select o.id, app.presence_object(o.id, p.is_online, p.last_seen_at) as object
                  from (select m.user_id as id, pg_catalog.bool_or(
                                m.conversation_id = any(entered) or app.is_change(m.joined_xid, since, until)) as is_new
                          from public.conversation_members m
                         where m.conversation_id = any(mine) and m.user_id <> me
                           and (after_id is null or m.user_id > after_id)
                           and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until))
                         group by m.user_id) o
                  left join public.presence p on p.user_id = o.id
                 where visibility.sees_others
                       and (o.is_new or flipped or app.is_change(p.changed_xid, since, until))
                       and (until is null or pg_catalog.pg_visible_in_snapshot(p.changed_xid, until))
                       and (p.is_online or p.last_seen_at is not null or p.user_id is not null and not whole)
                    or not visibility.sees_others and flipped
                 order by o.id
            loop
                presence := presence || part.object;
                room := room - pg_catalog.octet_length(part.object);
                if room < 0 then
                    next_position := 'presence:' || part.id;
                    exit view;
                end if;
            end loop;
        end if;
        if section = 'presence' then
            section := 'conversations';
            after_id := null;
        end if;

        if section = 'conversations' and given <> '{}' then
            for part in
                select o.id, o.object
                  from app.conversation_objects o
                 where o.id = any(given) and o.user_id = me and (after_id is null or o.id > after_id)
                   and (until is null or pg_catalog.pg_visible_in_snapshot(o.changed_xid, until))
                 order by o.id
            loop
                conversations := conversations || part.object;
                room := room - pg_catalog.octet_length(part.object);
                if room < 0 then
                    next_position := 'conversations:' || part.id;
                    exit view;
                end if;
            end loop;
        end if;
        if section = 'conversations' then
            section := 'messages';
            after_id := null;
        end if;

        if section = 'messages' and active <> '{}' then
            -- A few conversations at a time, so that a page does not read what the next page returns. For each batch
            -- the policies collect the user's conversations again: 40 ms if there are 8,000. So a page also ends after
            -- a time.
            place := 1;
            ending := pg_catalog.clock_timestamp() + app.page_time();
            active := array(select a.id from unnest(active) as a (id) where after_id is null or a.id >= after_id
                             order by a.id);
            while place <= pg_catalog.cardinality(active) loop
                if place > 1 and pg_catalog.clock_timestamp() > ending then
                    -- After all messages of the last conversation.
                    next_position := 'messages:' || active[place - 1] || ':999999999999999999';
                    exit view;
                end if;
                slice := active[place:place + 15];
                place := place + 16;
                for part in
                    with newest as (
                        select a.id, a.id = any(entered) as entered,
                               case when a.id = any(entered) then per_conversation else 100 end as most,
                               case when a.id = after_id then after_seq end as after_seq,
                               -- The newest message of the view: the order of seq is that of commits.
                               case when until is null then c.last_seq else coalesce((
                                    select n.seq from public.messages n
                                     where n.conversation_id = a.id
                                       and pg_catalog.pg_visible_in_snapshot(n.sent_xid, until)
                                     order by n.seq desc limit 1), 0) end as newest
                          from unnest(slice) as a (id)
                          join public.conversations c on c.id = a.id),
                    -- Bounds of messages are columns here: under row-level security an expression with `coalesce` could
                    -- not be an index condition. Values that messages share are read once: from statistics, which know
                    -- the average length of conversations, the planner could conclude that nothing repeats.
                    conversation as materialized (
                        select n.*, greatest(n.newest - n.most, coalesce(n.after_seq, 0)) as beyond,
                               (select min(r.last_read_seq) from public.conversation_members r
                                 where r.conversation_id = n.id) as mark
                          from newest n),
                    message as materialized (
                        -- Sent messages: the newest of the conversation, in a delta those of them that are new.
                        select c.id, c.mark, m as message
                          from conversation c
                          join public.messages m on m.conversation_id = c.id
                         where m.seq > c.beyond and m.seq <= c.newest
                           and (c.entered or not pg_catalog.pg_visible_in_snapshot(m.sent_xid, since))
                           and (until is null or pg_catalog.pg_visible_in_snapshot(m.changed_xid, until))
                        union all
                        -- Earlier messages that were edited, moved or deleted: as many as fill the page, at 256 bytes
                        -- or more each. `offset 0` finds them by the change, and sorts them then.
                        select c.id, c.mark, e.message
                          from conversation c
                         cross join lateral (
                                select w.message
                                  from (select m.seq, m as message from public.messages m
                                         where m.conversation_id = c.id
                                           and m.version > 1 and m.changed_xid >= pg_catalog.pg_snapshot_xmin(since)
                                           and (c.after_seq is null or m.seq > c.after_seq)
                                           and app.is_change(m.changed_xid, since, until)
                                           and pg_catalog.pg_visible_in_snapshot(m.sent_xid, since) offset 0) w
                                 order by w.seq limit greatest(room, 0) / 256 + 2) e
                         where not whole and not c.entered),
                    senders as materialized (
                        select pg_catalog.array_agg(s.id) as ids,
                               pg_catalog.array_agg(app.sender_members(s.id, s.object)) as members
                          from (select distinct (m.message).sender_id as id from message m) i
                         cross join lateral (
                                select s.id, s.object from app.sender_objects s where s.id = i.id offset 0) s)
                    select m.id, (m.message).seq,
                           app.message_object(
                               m.message, app.conversation_member(m.id),
                               s.members[pg_catalog.array_position(s.ids, (m.message).sender_id)], m.mark) as object,
                           null::boolean as limited
                      from senders s cross join message m
                    union all
                    -- Limited conversations: the view contains a message that the page does not. If numbers are
                    -- reserved for messages that are still to be moved, it is the next one before them.
                    select c.id, 0, null, true
                      from conversation c
                     where c.after_seq is null and c.newest > c.most
                       and (c.entered or exists (
                            select from (select n.sent_xid from public.messages n
                                          where n.conversation_id = c.id and n.seq <= c.newest - c.most
                                          order by n.seq desc limit 1) n
                             where not pg_catalog.pg_visible_in_snapshot(n.sent_xid, since)))
                     order by 1, 2
                loop
                    if part.limited then
                        limited := limited || ('"' || part.id || '"');
                        room := room - 39;
                        if room < 0 then
                            next_position := 'messages:' || part.id || ':0';
                            exit view;
                        end if;
                        continue;
                    end if;
                    messages := messages || part.object;
                    room := room - pg_catalog.octet_length(part.object);
                    if room < 0 then
                        next_position := 'messages:' || part.id || ':' || part.seq;
                        exit view;
                    end if;
                end loop;
            end loop;
        end if;
        if section = 'messages' then
            section := 'reads';
            after_id := null;
        end if;

        -- A mark that was moved by its member's message is in an active conversation.
        if not whole and mine <> '{}' and (changed.has_members or active <> '{}') then
            for part in
                select m.conversation_id, m.user_id, '{"conversation_id":"' || m.conversation_id || '","user_id":"'
                       || m.user_id || '","last_read_seq":' || m.last_read_seq || '}' as object
                  from public.conversation_members m
                 where m.conversation_id = any(mine) and m.conversation_id <> all(given)
                   and (after_id is null or (m.conversation_id, m.user_id) > (after_id, after_user))
                   and (app.is_change(m.changed_xid, since, until)
                        or m.sent_xid is not null and app.is_change(m.sent_xid, since, until))
                 order by m.conversation_id, m.user_id
            loop
                reads := reads || part.object;
                room := room - pg_catalog.octet_length(part.object);
                if room < 0 then
                    next_position := 'reads:' || part.conversation_id || ':' || part.user_id;
                    exit view;
                end if;
            end loop;
        end if;
    end;

    if next_position is null then
        -- A live session needs the conversations that the user is in now.
        if until is not null then
            mine := array(select app.my_conversations());
        end if;
        conversation_ids := mine::text;
    end if;
    changes := '{' || pg_catalog.array_to_string(array[
        '"me":' || me_object,
        case when profiles <> '{}' then '"profiles":[' || pg_catalog.array_to_string(profiles, ',') || ']' end,
        case when presence <> '{}' then '"presence":[' || pg_catalog.array_to_string(presence, ',') || ']' end,
        case when conversations <> '{}' then
            '"conversations":[' || pg_catalog.array_to_string(conversations, ',') || ']' end,
        case when messages <> '{}' then '"messages":[' || pg_catalog.array_to_string(messages, ',') || ']' end,
        case when reads <> '{}' then '"reads":[' || pg_catalog.array_to_string(reads, ',') || ']' end,
        case when left_ids <> '{}' then '"left":[' || pg_catalog.array_to_string(left_ids, ',') || ']' end,
        case when limited <> '{}' then '"limited":[' || pg_catalog.array_to_string(limited, ',') || ']' end], ',')
        || '}';
end
$$;

-- Returns a page, and whether the log was flushed as far as it was written when the page's snapshot was taken;
-- otherwise the snapshot must not become a cursor yet.
--
-- Separate from api.sync, since `create or replace` cannot add a column: an older node could not apply its own version
-- again. Without settings of its own it is inlined, and costs nothing.
create or replace function app.sync_page(
    epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer,
    max_bytes integer)
returns table (
    epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text,
    is_durable boolean)
language sql stable
begin atomic
    select p.epoch_now, p.snapshot, p.reset, p.next_position, p.changes, p.conversation_ids,
           -- A standby shows only what is flushed.
           case when pg_catalog.pg_is_in_recovery() then true
                else pg_catalog.pg_current_wal_insert_lsn() <= pg_catalog.pg_current_wal_flush_lsn() end
      from api.sync(sync_page.epoch, sync_page.since, sync_page.until, sync_page."position",
                    sync_page.messages_per_conversation, sync_page.max_bytes) p;
end;

-- Returns a page, and whether its user sees the presence of others. That holds while the session is live, since a user
-- who changes it must resync. Nodes call this.
create or replace function app.live_page(
    epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer,
    max_bytes integer)
returns table (
    epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text,
    is_durable boolean, sees_presence boolean)
language sql stable
begin atomic
    select p.epoch_now, p.snapshot, p.reset, p.next_position, p.changes, p.conversation_ids, p.is_durable, s.sees_others
      from app.sync_page(live_page.epoch, live_page.since, live_page.until, live_page."position",
                         live_page.messages_per_conversation, live_page.max_bytes) p
     cross join app.presence_visibility() s;
end;
