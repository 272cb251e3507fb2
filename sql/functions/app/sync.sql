-- The kinds of changes since a snapshot, and the sections of a page, for api.sync.

-- Returns true if a transaction is not seen by `since` (null: nothing is) and seen by `until` (null: everything is).
create or replace function app.is_change(xid xid8, since pg_snapshot, until pg_snapshot) returns boolean
language sql immutable parallel safe
begin atomic
    select (since is null or not pg_catalog.pg_visible_in_snapshot(xid, since))
       and (until is null or pg_catalog.pg_visible_in_snapshot(xid, until));
end;

-- Overloads of an earlier version.
drop function if exists app.changes_since(pg_snapshot);
drop function if exists app.sync_left(uuid, pg_snapshot, pg_snapshot, uuid, bigint);
drop function if exists app.sync_profiles(uuid, pg_snapshot, pg_snapshot, uuid[], uuid[], uuid, bigint);
drop function if exists app.sync_presence(uuid, pg_snapshot, pg_snapshot, uuid[], uuid[], boolean, uuid, bigint);
drop function if exists app.sync_conversations(uuid, pg_snapshot, uuid[], uuid, bigint);
drop function if exists app.sync_messages(
    pg_snapshot, pg_snapshot, uuid[], uuid[], integer, uuid, bigint, bigint);
drop function if exists app.sync_reads(pg_snapshot, pg_snapshot, uuid[], uuid[], uuid, uuid, bigint);
drop function if exists app.sync_reactions(
    pg_snapshot, pg_snapshot, uuid[], uuid[], integer, uuid, bigint, timestamptz, bigint);
drop function if exists app.sync_pieces(pg_snapshot, uuid[], uuid[], integer, uuid, bigint, timestamptz, bigint);

-- Returns one of the conversations `mine` for each of the users who is in one of them, in a view that ends with
-- `until`, or who was and wrote in it. Null if the users have too many memberships: 65,536 are read in 30 ms.
create or replace function app.shared_conversations(users uuid[], mine uuid[], until pg_snapshot, with_former boolean)
returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    most constant integer := 65536 / pg_catalog.cardinality(users);     -- memberships of each user
    shared uuid[];
begin
    -- `or` keeps `in` from becoming a join, in which `mine` would be searched for each membership.
    shared := array(
        select f.conversation_id
          from unnest(users) as u (id)
         cross join lateral (
                select case when w.place < most then w.conversation_id end as conversation_id
                  from (select m.conversation_id, pg_catalog.row_number() over () as place
                          from (select m.conversation_id from public.conversation_members m
                                 where m.user_id = u.id
                                   and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until))
                                union all
                                select f.conversation_id from app.former_members f
                                 where with_former and f.user_id = u.id and f.wrote) m
                         limit most) w
                 where w.place = most or w.conversation_id in (select unnest(mine))
                 limit 1) f);
    return case when pg_catalog.array_position(shared, null) is null then shared end;
end
$$;

-- Returns the caller's conversations by id, in a view that ends with `until`, and the kinds that may have changes for
-- the caller since a snapshot: profiles, presence, members and their marks, conversations that the caller left, any.
-- True if too much has changed to check it singly; false is certain.
--
-- `touched` contains the caller's conversations by which all of these changes are found: those whose members have
-- changed, and one for each user whose profile or presence has. It is null if too much has changed. Conversations that
-- are new to the caller, and those with new messages, are not considered.
--
-- Most cursors are recent, and little has changed since. So the recent changes of all users are walked in the indexes
-- on changed_xid and checked whether they concern the caller, instead of everything that the caller sees.
create or replace function app.changes_since(
    since pg_snapshot, until pg_snapshot, out mine uuid[], out touched uuid[], out has_any boolean,
    out has_profiles boolean, out has_presence boolean, out has_members boolean, out has_removals boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    most constant integer := 64;
    me uuid := auth.uid();
    oldest xid8 := pg_catalog.pg_snapshot_xmin(since);
    changed uuid[];
    shared uuid[];
    is_flipped boolean;     -- it has changed whose presence the caller sees
    is_checked boolean;     -- all changes were checked singly
begin
    select coalesce(pg_catalog.array_agg(c.id order by c.id), '{}'),
           coalesce(pg_catalog.bool_or(not pg_catalog.pg_visible_in_snapshot(c.changed_xid, since)
                                       or not pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since)
                                       or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)), false)
           or exists (select from public.conversation_mutes x
                       where x.user_id = me and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, since)),
           exists (select from public.presence p
                    where p.user_id = me and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since))
      into mine, has_any, is_flipped
      from public.conversation_members m
      join public.conversations c on c.id = m.conversation_id
     where m.user_id = me and not m.is_deleted
       and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until));

    changed := array(
        select m.conversation_id from public.conversation_members m
         where m.changed_xid >= oldest order by m.changed_xid limit most);
    has_members := pg_catalog.cardinality(changed) = most or changed && mine;
    is_checked := pg_catalog.cardinality(changed) < most and not is_flipped;
    touched := changed;

    select coalesce(pg_catalog.array_agg(f.user_id), '{}'),
           coalesce(pg_catalog.array_agg(f.conversation_id) filter (where f.wrote), '{}')
      into changed, shared
      from (select f.user_id, f.conversation_id, f.wrote from app.former_members f
             where f.changed_xid >= oldest order by f.changed_xid limit most) f;
    has_removals := pg_catalog.cardinality(changed) = most or me = any (changed);
    -- A former member may have joined and written since.
    has_profiles := pg_catalog.cardinality(changed) = most or shared && mine;
    is_checked := is_checked and pg_catalog.cardinality(changed) < most;
    touched := touched || shared;

    changed := array(
        select p.id from public.user_profiles p
         where p.changed_xid >= oldest order by p.changed_xid limit most);
    shared := '{}';
    if changed <> '{}' then
        shared := case when pg_catalog.cardinality(changed) < most
                       then app.shared_conversations(changed, mine, null, true) end;
    end if;
    has_profiles := has_profiles or me = any (changed) or shared is distinct from '{}';
    is_checked := is_checked and shared is not null;
    touched := touched || shared;

    changed := array(
        select p.user_id from public.presence p
         where p.user_id <> me and p.changed_xid >= oldest order by p.changed_xid limit most);
    shared := '{}';
    if changed <> '{}' and mine <> '{}' then
        shared := case when pg_catalog.cardinality(changed) < most
                       then app.shared_conversations(changed, mine, until, false) end;
    end if;
    has_presence := shared is distinct from '{}';
    if not is_checked or shared is null then
        touched := null;
    else
        -- Changes of other users' conversations are walked too, but are none of the caller's.
        touched := array(select pg_catalog.unnest(touched || shared) intersect select pg_catalog.unnest(mine));
    end if;
    has_any := has_any or is_flipped or has_members or has_removals or has_profiles or has_presence;
end
$$;

-- Returns the parts of a page's position: section and last key. All are null if the position is invalid.
create or replace function app.sync_position(
    "position" text, out section text, out after_id uuid, out after_seq bigint, out after_user uuid)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if "position" !~ pg_catalog.replace(
           '^((left|profiles|presence|conversations):@|(messages|pieces|reactions):@:[0-9]{1,18}'
               '|(reads|delivered):@:@)$',
           '@', '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}') then
        return;
    end if;
    section := pg_catalog.split_part("position", ':', 1);
    after_id := pg_catalog.split_part("position", ':', 2)::uuid;
    if section in ('messages', 'pieces', 'reactions') then
        after_seq := pg_catalog.split_part("position", ':', 3)::bigint;
    elsif section in ('reads', 'delivered') then
        after_user := pg_catalog.split_part("position", ':', 3)::uuid;
    end if;
end
$$;

-- Returns the user's conversations in a view, by id: all; those that are new to the user (in a reset all); those whose
-- object is in the view; those with new or changed messages.
create or replace function app.sync_conversation_ids(
    me uuid, since pg_snapshot, until pg_snapshot,
    out mine uuid[], out entered uuid[], out given uuid[], out active uuid[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    muted uuid[] := array(
        select x.conversation_id from public.conversation_mutes x
         where x.user_id = me and app.is_change(x.changed_xid, since, until));
begin
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
     cross join lateral (
            select since is null or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since) as entered) w
     where m.user_id = me and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until));
    -- Clients count the mentions of the messages that they get; a page may not contain all of a conversation.
    if since is not null then
        given := given || array(
            select a.id
              from unnest(active) as a (id)
             cross join lateral (
                    select max(x.seq) as seq from public.message_mentions x
                     where x.conversation_id = a.id and x.user_id = any (array[me, app.everyone()])) x
              join public.messages m on m.conversation_id = a.id and m.seq = x.seq
             where a.id <> all (given) and not pg_catalog.pg_visible_in_snapshot(m.sent_xid, since)
             order by a.id);
    end if;
end
$$;

-- The sections of api.sync, in their order. Each returns its objects, separated by commas (null: none), the bytes of
-- `room` that are left, and the position of the next page if this one is full (room < 0) or it is later than `ending`.
-- `after_id` is the last key of the page before; null begins the section. A view is what `until` sees (null:
-- everything) and `since` does not (null: nothing). They run with the caller's rights (presence is read by
-- app.shared_presence), and are called by api.sync alone: its planner settings hold in them too.
--
-- A user can be in thousands of conversations with millions of members. So a section looks at the clock after each step
-- that takes a fraction of a second. Each page makes at least one step.

-- Returns the user's Me object, or null if it has not changed.
create or replace function app.sync_me(me uuid, since pg_snapshot, until pg_snapshot) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from public.user_profiles p where p.id = me and app.is_change(p.changed_xid, since, until)) then
        return (select o.object::text from app.me_objects o where o.id = me);
    end if;
    return null;
end
$$;

-- Returns the ids of the conversations that the user has left, by id.
create or replace function app.sync_left(
    me uuid, since pg_snapshot, until pg_snapshot, after_id uuid, ending timestamptz,
    inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    found_objects text[] := '{}';
    part record;
begin
    for part in
        select f.conversation_id as id
          from app.former_members f
         where f.user_id = me and (after_id is null or f.conversation_id > after_id)
           and app.is_change(f.changed_xid, since, until)
         order by f.conversation_id
    loop
        found_objects := found_objects || ('"' || part.id || '"');
        room := room - 39;
        if room < 0 or pg_catalog.clock_timestamp() > ending then
            next_position := 'left:' || part.id;
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

-- Returns the last user of a step of a section by user, which reads the members of `conversations` after `after_id` up
-- to this one: at most app.step_members of them, or eight of each conversation if that is more, and as many former
-- members. Returns the greatest id if these are all.
create or replace function app.sync_step_end(conversations uuid[], after_id uuid) returns uuid
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    most constant integer := greatest(app.step_members() / pg_catalog.cardinality(conversations), 8);
begin
    return coalesce((
        select e.user_id
          from unnest(conversations) as c (id)
         cross join lateral (
                (select m.user_id from public.conversation_members m
                  where m.conversation_id = c.id and m.user_id > after_id
                  order by m.user_id offset most - 1 limit 1)
                union all
                (select f.user_id from app.former_members f
                  where f.conversation_id = c.id and f.user_id > after_id
                  order by f.user_id offset most - 1 limit 1)) e
         order by e.user_id limit 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
end
$$;

-- Returns the profiles of other users in the view, by id.
create or replace function app.sync_profiles(
    me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], after_id uuid, ending timestamptz,
    inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    last_id uuid;
    found_objects text[] := '{}';
    part record;
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    <<steps>>
    loop
        last_id := app.sync_step_end(mine, after_id);
        for part in
            -- Users who share a conversation with the user, or did and wrote in it. In a delta these are changed
            -- profiles, and whole ones of users who are new to the user. `offset 0` finds the users first, so that
            -- profiles beyond the page are not read.
            select u.id, o.object
              from (select w.id, pg_catalog.bool_or(w.is_new) as is_new
                      from (select m.id, since is null or m.id in (select unnest(entered)) as entered
                              from unnest(mine) as m (id) offset 0) c
                     cross join lateral (
                            select m.user_id as id,
                                   (c.entered or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since))
                                   and (until is null
                                        or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until)) as is_new
                              from public.conversation_members m
                             where m.conversation_id = c.id and m.user_id > after_id and m.user_id <= last_id
                            union all
                            select f.user_id, c.entered or app.is_change(f.joined_xid, since, until)
                              from app.former_members f
                             where f.conversation_id = c.id and f.user_id > after_id and f.user_id <= last_id
                               and f.wrote) w
                     where w.id <> me
                     group by w.id order by w.id offset 0) u
             cross join lateral (
                    select o.object::text as object
                      from app.profile_objects o
                     where o.id = u.id and (u.is_new or app.is_change(o.public_changed_xid, since, until))
                       and (until is null or pg_catalog.pg_visible_in_snapshot(o.public_changed_xid, until))
                    offset 0) o
             order by u.id
        loop
            found_objects := found_objects || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                next_position := 'profiles:' || part.id;
                exit steps;
            end if;
        end loop;
        exit when last_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
        if pg_catalog.clock_timestamp() > ending then
            next_position := 'profiles:' || last_id;
            exit;
        end if;
        after_id := last_id;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

-- Returns the other members of `conversations`, of those that the caller is in, after `after_id` up to `last_id`:
-- whether they are new to the caller, and their presence, which is null if there is none or the caller does not see it.
--
-- Row-level security on the table would collect the members of all conversations of the caller.
create or replace function app.shared_presence(
    conversations uuid[], entered uuid[], since pg_snapshot, until pg_snapshot, after_id uuid, last_id uuid)
returns table (user_id uuid, is_new boolean, is_online boolean, last_seen_at timestamptz, changed_xid xid8)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
    me uuid := auth.uid();
    sees_others boolean := (app.presence_visibility()).sees_others;
begin
    return query
    select u.id, u.is_new, p.is_online, p.last_seen_at, p.changed_xid
      from (select m.user_id as id, pg_catalog.bool_or(c.entered or app.is_change(m.joined_xid, since, until)) as is_new
              from (select m.id, since is null or m.id in (select unnest(entered)) as entered
                      from unnest(conversations) as m (id)
                     -- `is true` keeps `in` from becoming a join.
                     where (m.id in (select app.my_conversations())) is true offset 0) c
             cross join lateral (
                    select m.user_id, m.joined_xid from public.conversation_members m
                     where m.conversation_id = c.id and m.user_id > after_id and m.user_id <= last_id
                       and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until))) m
             where m.user_id <> me
             group by m.user_id order by m.user_id offset 0) u
      left join lateral (
            select p.is_online, p.last_seen_at, p.changed_xid from public.presence p
             where p.user_id = u.id offset 0) p on sees_others and u.id not in (select app.blocked_users(me))
     order by u.id;
end
$$;

-- Returns the users whom the caller blocks, in a reset if there are any, in a delta if that may have changed, or null.
-- It counts as a change of whose presence the caller sees (app.propagate_block).
create or replace function app.sync_blocked(me uuid, since pg_snapshot) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    found_ids text;
begin
    if since is not null and coalesce(
        pg_catalog.pg_visible_in_snapshot((app.presence_visibility()).changed_xid, since), true) then
        return null;
    end if;
    select pg_catalog.string_agg('"' || b.blocked_id::text || '"', ',' order by b.blocked_at, b.blocked_id)
      into found_ids
      from public.blocks b where b.blocker_id = me;
    return coalesce(found_ids, case when since is not null then '' end);
end
$$;

-- Returns the presence of other users in the view, by user. Unless `has_changes` is true only a change of its
-- visibility is considered.
create or replace function app.sync_presence(
    me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], has_changes boolean, after_id uuid,
    ending timestamptz, inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    visibility record := app.presence_visibility();
    -- True if it has changed whose presence the user sees.
    flipped boolean := since is not null and coalesce(app.is_change(visibility.changed_xid, since, until), false);
    last_id uuid;
    found_objects text[] := '{}';
    part record;
begin
    if not (flipped or has_changes and visibility.sees_others) then
        return;
    end if;
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    <<steps>>
    loop
        last_id := app.sync_step_end(mine, after_id);
        for part in
            -- Presence that is known, in a delta also that which no longer is. If it has changed whose presence the
            -- user sees, that of everyone: what the user no longer sees is empty.
            select p.user_id as id, app.presence_object(p.user_id, p.is_online, p.last_seen_at) as object
              from app.shared_presence(mine, entered, since, until, after_id, last_id) p
             where visibility.sees_others
                   and (p.is_new or flipped or app.is_change(p.changed_xid, since, until))
                   and (until is null or coalesce(pg_catalog.pg_visible_in_snapshot(p.changed_xid, until), flipped))
                   and (p.is_online or p.last_seen_at is not null or flipped
                        or p.changed_xid is not null and since is not null)
                or not visibility.sees_others
             order by p.user_id
        loop
            found_objects := found_objects || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                next_position := 'presence:' || part.id;
                exit steps;
            end if;
        end loop;
        exit when last_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
        if pg_catalog.clock_timestamp() > ending then
            next_position := 'presence:' || last_id;
            exit;
        end if;
        after_id := last_id;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

-- Returns the conversations `given` as the user sees them, by id.
create or replace function app.sync_conversations(
    me uuid, until pg_snapshot, given uuid[], after_id uuid, ending timestamptz,
    inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    -- A cursor is read row by row; a query in a loop would be read 50 objects ahead. The order is that of the ids, so
    -- that nothing is sorted and the rest is not read.
    conversations cursor for
        select g.id, o.object
          from (select g.id from unnest(given) as g (id) where g.id > after_id order by g.id offset 0) g
         cross join lateral (
                select o.object
                  from app.conversation_objects o
                 where o.id = g.id and o.user_id = me
                   and (until is null or pg_catalog.pg_visible_in_snapshot(o.changed_xid, until))
                offset 0) o
         order by g.id;
    found_objects text[] := '{}';
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    for part in conversations loop
        found_objects := found_objects || part.object;
        room := room - pg_catalog.octet_length(part.object);
        if room < 0 or pg_catalog.clock_timestamp() > ending then
            next_position := 'conversations:' || part.id;
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

-- Returns the messages of the conversations `active`, by conversation and seq, and the ids of those conversations of
-- which the view contains messages that its pages do not.
create or replace function app.sync_messages(
    since pg_snapshot, until pg_snapshot, entered uuid[], active uuid[], per_conversation integer, after_id uuid,
    after_seq bigint, ending timestamptz, inout room bigint, out objects text, out limited_ids text,
    out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    remaining uuid[] := array(
        select a.id from unnest(active) as a (id) where after_id is null or a.id >= after_id order by a.id);
    place integer := 1;
    slice uuid[];
    found_messages text[] := '{}';
    found_limited text[] := '{}';
    part record;
begin
    -- A few conversations at a time, so that a page does not read what the next page returns. For each batch the
    -- policies collect the user's conversations again: 40 ms if there are 8,000.
    <<page>>
    while place <= pg_catalog.cardinality(remaining) loop
        if place > 1 and pg_catalog.clock_timestamp() > ending then
            -- After all messages of the last conversation.
            next_position := 'messages:' || remaining[place - 1] || ':999999999999999999';
            exit page;
        end if;
        slice := remaining[place:place + 15];
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
            -- Bounds of messages are columns here: under row-level security an expression with `coalesce` could not be
            -- an index condition. Values that messages share are read once: from statistics, which know the average
            -- length of conversations, the planner could conclude that nothing repeats.
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
                -- Earlier messages that were edited, moved or deleted: as many as fill the page, at 256 bytes or more
                -- each. `offset 0` finds them by the change, and sorts them then.
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
                 where since is not null and not c.entered),
            senders as materialized (
                select pg_catalog.array_agg(s.id) as ids,
                       pg_catalog.array_agg(app.sender_members(s.id, s.object)) as members
                  from (select distinct (m.message).sender_id as id from message m) i
                 cross join lateral (
                        select s.id, s.object from app.sender_objects s where s.id = i.id offset 0) s)
            select m.id, (m.message).seq,
                   -- A deleted message of the user may be held.
                   case when (m.message).deleted_at is not null and (m.message).sender_id = auth.uid()
                        then (m.message).id end as own_id,
                   app.message_object(
                       m.message, app.conversation_member(m.id),
                       s.members[pg_catalog.array_position(s.ids, (m.message).sender_id)], m.mark,
                       case when (m.message).reply_to_seq is not null then (
                           select app.reply_object(t) from public.messages t
                            where t.conversation_id = m.id and t.seq = (m.message).reply_to_seq) end) as object,
                   null::boolean as limited
              from senders s cross join message m
            union all
            -- Limited conversations: the view contains a message that the page does not. If numbers are reserved for
            -- messages that are still to be moved, it is the next one before them.
            select c.id, 0, null, null, true
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
                found_limited := found_limited || ('"' || part.id || '"');
                room := room - 39;
                if room < 0 then
                    next_position := 'messages:' || part.id || ':0';
                    exit page;
                end if;
                continue;
            end if;
            if part.own_id is not null then
                part.object := app.own_form(part.own_id, part.object);
            end if;
            found_messages := found_messages || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                next_position := 'messages:' || part.id || ':' || part.seq;
                exit page;
            end if;
        end loop;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_messages, ','), '');
    limited_ids := nullif(pg_catalog.array_to_string(found_limited, ','), '');
end
$$;

-- Returns those of the user's conversations in which reactions, and others' delivered marks, may have changed since a
-- snapshot. Recent changes of all users are walked, as in app.changes_since. Security definer: row-level security would
-- hide others' changes, which the walks count.
create or replace function app.rare_changes_since(
    since pg_snapshot, mine uuid[], out reacted uuid[], out delivered uuid[])
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    most constant integer := 64;
    me uuid := auth.uid();
    oldest xid8 := pg_catalog.pg_snapshot_xmin(since);
begin
    reacted := array(
        select c.conversation_id from public.reaction_counts c
         where c.changed_xid >= oldest order by c.changed_xid limit most);
    delivered := array(
        select d.conversation_id from public.delivered_marks d
         where d.changed_xid >= oldest and d.user_id <> me order by d.changed_xid limit most);
    -- Only the user's conversations: a change of another's is not revealed.
    if reacted <> '{}' then
        reacted := case when pg_catalog.cardinality(reacted) = most then mine
                        else array(select o.conversation_id from public.conversation_members o
                                    where o.user_id = me and o.conversation_id = any (reacted)
                                      and o.conversation_id = any (mine)) end;
    end if;
    if delivered <> '{}' then
        delivered := case when pg_catalog.cardinality(delivered) = most then mine
                          else array(select o.conversation_id from public.conversation_members o
                                      where o.user_id = me and o.conversation_id = any (delivered)
                                        and o.conversation_id = any (mine)) end;
    end if;
end
$$;
-- Functions of an earlier version.
drop function if exists app.conversations_with_reactions(pg_snapshot, uuid[]);

-- Returns the objects in the view that belong to messages, by conversation and seq: of the conversations `entered`
-- those of the newest messages, of `changed` those that have changed. `section` is
--
--   pieces      the texts of messages that grow, each as one piece
--   reactions   the reactions to messages
create or replace function app.sync_details(
    section text, since pg_snapshot, until pg_snapshot, entered uuid[], changed uuid[], per_conversation integer,
    after_id uuid, after_seq bigint, ending timestamptz, inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    most constant bigint := 9223372036854775807;
    found_objects text[] := '{}';
    room_id uuid;
    part record;
begin
    foreach room_id in array array(
        select a.id from unnest(entered || changed) as a (id)
         where (after_id is null or a.id >= after_id) and (section <> 'pieces' or app.has_streams(a.id))
         group by a.id order by a.id)
    loop
        for part in
            select o.seq, o.object
              from public.conversations c
             cross join lateral (
                    select greatest(case when c.id = any (entered) then c.last_seq - per_conversation else 0 end,
                                    case when c.id = after_id then after_seq else 0 end) as low,
                           case when c.id = any (entered) then null else sync_details.since end as since) b
             cross join lateral (
                    -- A condition without columns is checked once, before either is called.
                    select r.seq, r.object from app.seen_reactions(c.id, b.low, most, b.since, until) r
                     where section = 'reactions'
                    union all
                    select p.seq, p.object from app.seen_pieces(c.id, b.low, most, b.since) p
                     where section = 'pieces') o
             where c.id = room_id
             order by o.seq
        loop
            found_objects := found_objects || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                exit;
            end if;
        end loop;
        if room < 0 or pg_catalog.clock_timestamp() > ending then
            next_position := section || ':' || room_id || ':'
                || case when room < 0 then part.seq else 999999999999999999 end;
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

-- Returns a page of marks, which ends after `room` bytes or at a time. A row of the cursor has the `id` of a
-- conversation, in order, with the `users` of its marks and their `objects`. A position begins with `section`.
create or replace function app.sync_marks(
    section text, marks refcursor, after_id uuid, ending timestamptz,
    inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    part record;
    found_objects text[] := '{}';
begin
    <<page>>
    loop
        fetch marks into part;
        exit when not found;
        for place in 1 .. coalesce(pg_catalog.cardinality(part.objects), 0) loop
            found_objects := found_objects || part.objects[place];
            room := room - pg_catalog.octet_length(part.objects[place]);
            if room < 0 then
                next_position := section || ':' || part.id || ':' || part.users[place];
                exit page;
            end if;
        end loop;
        -- After all members of the conversation, unless the page before ended there too.
        if part.id > after_id and pg_catalog.clock_timestamp() > ending then
            next_position := section || ':' || part.id || ':ffffffff-ffff-ffff-ffff-ffffffffffff';
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

-- Returns the read marks in the view, by conversation and user, without those of the conversations `given`, whose
-- objects contain them.
create or replace function app.sync_reads(
    since pg_snapshot, until pg_snapshot, mine uuid[], given uuid[], after_id uuid, after_user uuid,
    ending timestamptz, inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    -- Read row by row, as in app.sync_conversations. Conversations without marks are rows too, to look at the clock.
    conversations cursor for
        select c.id, r.users, r.objects
          from (select m.id from unnest(mine) as m (id)
                 where m.id >= after_id and m.id not in (select unnest(given)) order by m.id offset 0) c
         cross join lateral (
                select pg_catalog.array_agg(m.user_id) as users,
                       pg_catalog.array_agg('{"conversation_id":"' || c.id || '","user_id":"' || m.user_id
                           || '","last_read_seq":' || m.last_read_seq || '}') as objects
                  from (select m.user_id, m.last_read_seq from public.conversation_members m
                         where m.conversation_id = c.id and (c.id > after_id or m.user_id > after_user)
                           and (app.is_change(m.changed_xid, since, until)
                                or m.sent_xid is not null and app.is_change(m.sent_xid, since, until))
                         order by m.user_id) m) r
         order by c.id;
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    open conversations;
    select m.room, m.objects, m.next_position into room, objects, next_position
      from app.sync_marks('reads', conversations, after_id, ending, room) m;
    close conversations;
end
$$;

-- Returns the other members' delivered marks in the view, by conversation and user: those of `delivered`, without the
-- conversations `given`, whose objects contain them.
create or replace function app.sync_delivered(
    me uuid, since pg_snapshot, until pg_snapshot, delivered uuid[], given uuid[], after_id uuid, after_user uuid,
    ending timestamptz, inout room bigint, out objects text, out next_position text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    -- Read row by row, as in app.sync_conversations. Conversations without marks are rows too, to look at the clock.
    conversations cursor for
        select c.id, r.users, r.objects
          from (select m.id from unnest(delivered) as m (id)
                 where m.id >= after_id and m.id not in (select unnest(given)) order by m.id offset 0) c
         cross join lateral (
                select pg_catalog.array_agg(d.user_id) as users,
                       pg_catalog.array_agg('{"conversation_id":"' || c.id || '","user_id":"' || d.user_id
                           || '","last_delivered_seq":' || d.seq || '}') as objects
                  from (select d.user_id, greatest(d.last_delivered_seq, m.last_read_seq) as seq
                          from public.delivered_marks d
                         cross join lateral (
                                select m.last_read_seq from public.conversation_members m
                                 where m.conversation_id = d.conversation_id and m.user_id = d.user_id offset 0) m
                         where d.conversation_id = c.id and d.user_id <> me
                           and (c.id > after_id or d.user_id > after_user)
                           and app.is_change(d.changed_xid, since, until)
                         order by d.user_id) d) r
         order by c.id;
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    open conversations;
    select m.room, m.objects, m.next_position into room, objects, next_position
      from app.sync_marks('delivered', conversations, after_id, ending, room) m;
    close conversations;
end
$$;
