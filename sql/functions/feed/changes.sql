-- Functions of an earlier version.
drop function if exists feed.look_for_presence(pg_snapshot);
drop function if exists feed.look_for_mutes(pg_snapshot);

-- Returns everything that has changed since a snapshot, for every kind of change that clients get, as finished JSON.
--
-- A row is new if its transaction was not visible in `since` and is now: its id is at or beyond the snapshot's end, or
-- it was in progress and has ended. These are ranges of transaction ids, usually one, and each is a range of the index
-- on them. Rows of transactions in progress are not read, of which a bulk load may have millions. The upper bound holds
-- for all rows, except those that a dump brought from another cluster.
--
-- Most polls have one range and find nothing, or one kind of change. So each table is first checked for a row in the
-- range, since starting a statement costs more than finding a row.
--
-- One plan serves every call: a custom plan would be made each time and cost more than the poll. `offset 0` keeps it on
-- the indexes on transaction ids whatever the statistics say: the planner does not know the ranges, assumes a tenth of
-- the table, and would rather scan the table in the wanted order. Memoize is off, since its memory is allocated and
-- cleared for as many rows as the statistics say: two milliseconds per poll.
--
-- A poll is bounded. If a transaction or a long absence has accumulated more than `most_…`, the result has one row
-- `many`, and feed.users_with_changes returns the affected users. Deleted users are returned in any case, since their
-- sessions end.
--
-- Rows of presence and mutes have these kinds:
--
--   behind            `user_id` has begun or ceased to hide its presence, so that it sees other presence of all users.
--                     The poll does not contain it: live sessions of the user must resync (`sync.lagged`), and their
--                     page says whether they see presence (app.live_page, `sees_presence`)
--   presence          `object` is the presence of `user_id`, for all members of the conversations in `audience`, except
--                     the user's own sessions and those whose page said that they see no presence
--   opening_presence  the presence of a member of a conversation that a user has joined, with the receivers of
--                     opening_profile, except those who see no presence
--   own_conversation  `object` is the conversation as `user_id` sees it, for that user only
--
-- A session's right to see presence is fixed for its subscription, since a user who changes it must resync. Nodes need
-- not know who hides, and polls need not check it.
create or replace function feed.read_changes(since pg_snapshot) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable strict set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_memoize = off as $$
#variable_conflict use_column
declare
    -- The ranges: from a low (inclusive) to its high (exclusive).
    beyond xid8 := pg_catalog.pg_snapshot_xmax(since);
    lows xid8[] := array[beyond];
    bound xid8 := (greatest(pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint,
                            coalesce(pg_catalog.pg_current_xact_id_if_assigned()::text::bigint + 1, 0)))::text::xid8;
    highs xid8[] := array[bound];
    -- The most rows, and bytes of content, in one poll. For presence it is the number of users who return when a node
    -- has ended; a conversation of an audience takes 37 bytes.
    most_rows constant integer := 5000;
    most_profiles constant integer := 1000;
    most_conversations constant integer := 1000;
    most_mutes constant integer := 1000;
    most_entered constant integer := 250;
    most_bytes constant bigint := 16777216;
    most_presence constant integer := 10000;
    most_audience constant integer := 400000;
    -- The numbers of rows: first 1 if there may be any, then counted up to the bounds.
    memberships integer := 1;
    profiles integer := 1;
    deletions integer := 0;
    conversations integer := 1;
    removals integer := 1;
    messages integer := 1;
    bytes bigint := 0;
    presence integer := 1;
    audience integer := 0;
    mutes integer := 1;
    entered uuid[] := '{}';
    -- Former members of those who wrote in them.
    writers integer := 0;
    -- True if users who join get the conversations here, false if they must resync.
    is_opened boolean := true;
begin
    if pg_catalog.pg_snapshot_xmin(since) <> beyond then
        lows := array(
            select x from pg_catalog.pg_snapshot_xip(since) x
             where pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()) order by x) || lows;
        highs := array(select (x::text::bigint + 1)::text::xid8 from unnest(lows) x limit cardinality(lows) - 1)
            || highs;
    end if;
    -- Not with several ranges: between them are rows of transactions in progress.
    if cardinality(lows) = 1 then
        select exists (select from public.conversation_members t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.user_profiles t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.conversations t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from app.former_members t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.messages t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.presence t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.conversation_mutes t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer
          into memberships, profiles, conversations, removals, messages, presence, mutes;
    end if;
    if memberships + profiles + conversations + removals + messages + presence + mutes = 0 then
        return;
    end if;

    if profiles > 0 then
        select count(*), count(*) filter (where n.is_deleted) into profiles, deletions from (
            select t.is_deleted from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from public.user_profiles t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
             limit most_profiles + 1) n;
        if deletions > 0 or profiles > most_profiles then
            return query
            select 'deleted', p.changed_xid::text, null::uuid, p.id, null::bigint, null::uuid[], null::text, null::text,
                   null::bigint[]
              from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from public.user_profiles t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) p
             where p.is_deleted;
        end if;
    end if;
    if memberships > 0 then
        select count(*) into memberships from (
            select from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from public.conversation_members t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
             limit most_rows + 1) n;
        if memberships <= most_rows then
            entered := array(
                select distinct m.conversation_id
                  from unnest(lows, highs) as s (low, high)
                  cross join lateral (select * from public.conversation_members t
                                       where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) m
                 where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since));
        end if;
        if entered <> '{}' then
            select count(*) into writers from (
                select from app.former_members f where f.conversation_id = any(entered) and f.wrote
                 limit most_rows + 1) n;
            -- Reads only sizes, and only of rows that would be returned.
            is_opened := (
                select coalesce(sum(octet_length(m.content) + coalesce(pg_column_size(m.attachment), 0)), 0)
                  from unnest(entered) as e (id)
                  join public.conversations c on c.id = e.id
                  join public.messages m on m.conversation_id = c.id and m.seq > c.last_seq - 100)
              + (select coalesce(sum(pg_column_size(p)), 0)
                   from public.conversation_members m join public.user_profiles p on p.id = m.user_id
                  where m.conversation_id = any(entered)) <= app.opening_bytes();
        end if;
    end if;
    if conversations > 0 then
        select count(*) into conversations from (
            select from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from public.conversations t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
             limit most_conversations + 1) n;
    end if;
    if removals > 0 then
        select count(*) into removals from (
            select from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from app.former_members t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
             limit most_rows + 1) n;
    end if;
    if messages > 0 then
        select count(*), coalesce(sum(n.length), 0) into messages, bytes from (
            select pg_catalog.octet_length(t.content) as length
              from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from public.messages t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
             limit most_rows + 1) n;
    end if;
    if presence > 0 then
        select count(*) into presence from (
            select from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from public.presence t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
             limit most_presence + 1) n;
        if presence <= most_presence then
            select count(*) into audience from (
                select from unnest(lows, highs) as s (low, high)
                  cross join lateral (select * from public.presence t
                                       where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
                  join public.conversation_members m on m.user_id = t.user_id
                 limit most_audience + 1) n;
        end if;
    end if;
    if mutes > 0 then
        select count(*) into mutes from (
            select from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from public.conversation_mutes t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) t
             limit most_mutes + 1) n;
    end if;
    if memberships > most_rows or profiles > most_profiles or conversations > most_conversations
       or messages > most_rows or bytes > most_bytes or removals > most_rows
       or pg_catalog.cardinality(entered) > most_entered or writers > most_rows
       or presence > most_presence or audience > most_audience or mutes > most_mutes then
        return query select 'many', null::text, null::uuid, null::uuid, null::bigint, null::uuid[], null::text,
                            null::text, null::bigint[];
        return;
    end if;

    if removals > 0 then
        return query
        select 'left', f.changed_xid::text, f.conversation_id, f.user_id, null::bigint, null::uuid[], null::text,
               null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.former_members t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) f;
    end if;

    if memberships > 0 then
        -- A membership's changed_xid is never older than its joined_xid.
        return query
        select 'joined', m.joined_xid::text, m.conversation_id, m.user_id, null::bigint, null::uuid[], null::text,
               null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from public.conversation_members t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) m
         where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since);
    end if;

    if not is_opened then
        return query
        select 'behind', null::text, null::uuid, m.user_id, null::bigint, null::uuid[], null::text, null::text,
               null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from public.conversation_members t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) m
         where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since);
    end if;

    if removals > 0 then
        -- Users who joined, wrote and left since: the members get their messages, and no row about the joining.
        return query
        select 'profile', f.joined_xid::text, null::uuid, f.user_id, null::bigint, array[f.conversation_id],
               o.object::text, null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.former_members t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) f
          join app.profile_objects o on o.id = f.user_id
         where f.wrote and not pg_catalog.pg_visible_in_snapshot(f.joined_xid, since);
    end if;

    if profiles > 0 then
        -- One statement, since one of the two objects contains the other, and starting a statement is most of the cost.
        return query
        with changed as materialized (
            select o.*
              from unnest(lows, highs) as s (low, high)
              cross join lateral (select * from app.me_objects t
                                   where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) o)
        select 'me', c.changed_xid::text, null::uuid, c.id, null::bigint, null::uuid[], c.object::text, null::text,
               null::bigint[]
          from changed c
        union all
        select 'profile', c.public_changed_xid::text, null::uuid, c.id, null::bigint, array(
                   select m.conversation_id from public.conversation_members m where m.user_id = c.id
                   union all
                   select f.conversation_id from app.former_members f where f.user_id = c.id and f.wrote),
               c.profile::text, null::text, null::bigint[]
          from changed c
         where not pg_catalog.pg_visible_in_snapshot(c.public_changed_xid, since);
    end if;

    if conversations > 0 then
        return query
        select 'conversation', c.changed_xid::text, c.id, null::uuid, c.last_seq, c.user_ids, c.head, c.tail,
               c.marks || feed.mutes(c.id, c.user_ids)
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.conversation_parts t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) c;
    end if;

    if messages > 0 then
        return query
        select 'message', o.changed_xid::text, o.conversation_id, o.sender_id, o.seq, null::uuid[], o.object::text,
               null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.message_objects t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) o
         order by o.conversation_id, o.seq;
    end if;

    if memberships > 0 then
        return query
        select 'read', m.changed_xid::text, m.conversation_id, m.user_id, m.last_read_seq, null::uuid[], null::text,
               null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from public.conversation_members t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) m
         where pg_catalog.pg_visible_in_snapshot(m.joined_xid, since);
    end if;
    if messages > 0 then
        -- A message moves its sender's mark, unless it was edited. Marks that are returned already are left out.
        return query
        select 'read', m.sent_xid::text, m.conversation_id, m.user_id, m.last_read_seq, null::uuid[], null::text,
               null::text, null::bigint[]
          from (select distinct n.conversation_id, n.sender_id
                  from unnest(lows, highs) as s (low, high)
                  cross join lateral (select * from public.messages t
                                       where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) n) w
          cross join lateral (
                select * from public.conversation_members t
                 where t.conversation_id = w.conversation_id and t.user_id = w.sender_id offset 0) m
         where not pg_catalog.pg_visible_in_snapshot(m.sent_xid, since)
           and pg_catalog.pg_visible_in_snapshot(m.changed_xid, since);
    end if;

    if entered <> '{}' then
        return query
        select 'opening_profile', null::text, w.conversation_id, w.user_id, null::bigint, null::uuid[], o.object::text,
               null::text, null::bigint[]
          from (select m.conversation_id, m.user_id, m.joined_at from public.conversation_members m
                 where m.conversation_id = any(entered)
                   -- The other members get the profiles of users who join.
                   and (is_opened or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since))
                union all
                -- Former members with messages here.
                select f.conversation_id, f.user_id, 'infinity' from app.former_members f
                 where f.conversation_id = any(entered) and f.wrote and is_opened) w
          join app.profile_objects o on o.id = w.user_id
         order by w.conversation_id, w.joined_at, w.user_id;
        return query
        select 'opening_message', null::text, o.conversation_id, o.sender_id, o.seq, null::uuid[], o.object::text,
               null::text, null::bigint[]
          from unnest(entered) as e (id)
          join public.conversations c on c.id = e.id
          join app.message_objects o on o.conversation_id = c.id and o.seq > c.last_seq - 100
         where is_opened
         order by o.conversation_id, o.seq;
    end if;

    if presence > 0 then
        return query
        select 'behind', p.hidden_xid::text, null::uuid, p.user_id, null::bigint, null::uuid[], null::text, null::text,
               null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from public.presence t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) p
         where not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since);
        return query
        select 'presence', p.changed_xid::text, null::uuid, p.user_id, null::bigint,
               array(select m.conversation_id from public.conversation_members m where m.user_id = p.user_id),
               app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from public.presence t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) p;
    end if;
    if entered <> '{}' then
        return query
        select 'opening_presence', null::text, m.conversation_id, p.user_id, null::bigint, null::uuid[],
               app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
          from public.conversation_members m join public.presence p on p.user_id = m.user_id
         where m.conversation_id = any(entered)
         order by m.conversation_id, m.joined_at, m.user_id;
    end if;

    if mutes > 0 then
        return query
        select 'own_conversation', x.changed_xid::text, o.id, o.user_id, null::bigint, null::uuid[], o.object,
               null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from public.conversation_mutes t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) x
          join app.conversation_objects o on o.id = x.conversation_id and o.user_id = x.user_id;
    end if;
end
$$;

-- Returns until when each of these members has muted the conversation, in microseconds since 1970, or 0.
create or replace function feed.mutes(conversation_id uuid, members uuid[]) returns bigint[]
language sql stable set search_path = pg_catalog, pg_temp as $$
    select array(
        select coalesce((extract(epoch from x.muted_until) * 1000000)::bigint, 0)
          from unnest(members) with ordinality as m (id, place)
          left join public.conversation_mutes x on x.conversation_id = mutes.conversation_id and x.user_id = m.id
               and x.muted_until > now()
         order by m.place)
$$;
