-- What changed since a snapshot, for every kind of fact that clients hear of, as finished objects.
--
-- A row is new when its transaction was not visible in `since` and is now: it is at or beyond the snapshot's end, or
-- was open in it and has ended. The two are two branches, each a walk of the index on the transaction id; of one that
-- is still open none of its rows is walked, which a bulk load may have millions of. The upper bound holds
-- for every row there is, save those a dump brought from another cluster, and tells the planner that the range is
-- narrow. One plan serves every call: a custom one would be made anew each time, dearer than the look. It walks
-- indexes whatever the statistics say: after a bulk load, when all rows carry one transaction id, they say that
-- "was open in the snapshot" is every row, and a look would read all tables. Nor does it remember what it has looked
-- up: the memory for that is made and cleared for as many rows as the statistics say, two milliseconds a look.
--
-- A look is bounded: what one transaction or a long absence piled up beyond `most_…` is not told. One row then says
-- `many`, and who is concerned is asked of feed.concerned. Deleted users are told in any case: their sessions end.
create or replace function feed.look(since pg_snapshot) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = ''
set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_memoize = off as $$
#variable_conflict use_column
declare
    beyond xid8 := pg_catalog.pg_snapshot_xmax(since);
    open xid8[] := array(
        select x from pg_catalog.pg_snapshot_xip(since) x
         where pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()));
    bound xid8 := (greatest(pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint,
                            coalesce(pg_catalog.pg_current_xact_id_if_assigned()::text::bigint + 1, 0)))::text::xid8;
    -- Rows, and bytes of content, that one look tells of at most.
    most_rows constant integer := 5000;
    most_profiles constant integer := 1000;
    most_conversations constant integer := 1000;
    most_entered constant integer := 250;
    most_bytes constant bigint := 16777216;
    memberships integer;
    profiles integer;
    conversations integer;
    messages integer;
    removals integer;
    bytes bigint;
    entered uuid[] := '{}';
begin
    -- Counted no further than the bounds.
    select (select count(*) from (
                select from public.conversation_members t where t.changed_xid >= beyond and t.changed_xid < bound
                union all select from public.conversation_members t where t.changed_xid = any(open)
                limit most_rows + 1) n),
           (select count(*) from (
                select from public.user_profiles t where t.changed_xid >= beyond and t.changed_xid < bound
                union all select from public.user_profiles t where t.changed_xid = any(open)
                limit most_profiles + 1) n),
           (select count(*) from (
                select from public.conversations t where t.changed_xid >= beyond and t.changed_xid < bound
                union all select from public.conversations t where t.changed_xid = any(open)
                limit most_conversations + 1) n),
           (select count(*) from (
                select from app.former_members t where t.changed_xid >= beyond and t.changed_xid < bound
                union all select from app.former_members t where t.changed_xid = any(open)
                limit most_rows + 1) n)
      into memberships, profiles, conversations, removals;
    select count(*), coalesce(sum(n.length), 0)
      into messages, bytes
      from (select pg_catalog.octet_length(t.content) as length
              from public.messages t where t.changed_xid >= beyond and t.changed_xid < bound
            union all
            select pg_catalog.octet_length(t.content) from public.messages t where t.changed_xid = any(open)
            limit most_rows + 1) n;
    if memberships + profiles + conversations + messages + removals = 0 then
        return;
    end if;

    if profiles > 0 then
        return query
        select 'deleted', p.changed_xid::text, null::uuid, p.id, null::bigint, null::uuid[], null::text, null::text,
               null::bigint[]
          from public.user_profiles p
         where p.changed_xid >= beyond and p.changed_xid < bound and p.is_deleted
        union all
        select 'deleted', p.changed_xid::text, null::uuid, p.id, null::bigint, null::uuid[], null::text, null::text,
               null::bigint[]
          from public.user_profiles p where p.changed_xid = any(open) and p.is_deleted;
    end if;

    if memberships between 1 and most_rows then
        entered := array(
            select m.conversation_id from public.conversation_members m
             where m.changed_xid >= beyond and m.changed_xid < bound
               and not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
            union
            select m.conversation_id from public.conversation_members m
             where m.changed_xid = any(open) and not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since));
    end if;
    if memberships > most_rows or profiles > most_profiles or conversations > most_conversations
       or messages > most_rows or bytes > most_bytes or removals > most_rows
       or pg_catalog.cardinality(entered) > most_entered then
        return query select 'many', null::text, null::uuid, null::uuid, null::bigint, null::uuid[], null::text,
                            null::text, null::bigint[];
        return;
    end if;

    if removals > 0 then
        return query
        select 'left', f.changed_xid::text, f.conversation_id, f.user_id, null::bigint, null::uuid[], null::text,
               null::text, null::bigint[]
          from app.former_members f where f.changed_xid >= beyond and f.changed_xid < bound
        union all
        select 'left', f.changed_xid::text, f.conversation_id, f.user_id, null::bigint, null::uuid[], null::text,
               null::text, null::bigint[]
          from app.former_members f where f.changed_xid = any(open);
    end if;

    if memberships > 0 then
        -- A membership's changed_xid is never older than its joined_xid.
        return query
        select 'joined', m.joined_xid::text, m.conversation_id, m.user_id, null::bigint, null::uuid[], null::text,
               null::text, null::bigint[]
          from public.conversation_members m
         where m.changed_xid >= beyond and m.changed_xid < bound
           and not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
        union all
        select 'joined', m.joined_xid::text, m.conversation_id, m.user_id, null::bigint, null::uuid[], null::text,
               null::text, null::bigint[]
          from public.conversation_members m
         where m.changed_xid = any(open) and not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since);
    end if;

    if profiles > 0 then
        return query
        select 'me', p.changed_xid::text, null::uuid, p.id, null::bigint, null::uuid[], o.object::text, null::text,
               null::bigint[]
          from public.user_profiles p join app.me_objects o on o.id = p.id
         where p.changed_xid >= beyond and p.changed_xid < bound
        union all
        select 'me', p.changed_xid::text, null::uuid, p.id, null::bigint, null::uuid[], o.object::text, null::text,
               null::bigint[]
          from public.user_profiles p join app.me_objects o on o.id = p.id
         where p.changed_xid = any(open);
        return query
        select 'profile', o.public_changed_xid::text, null::uuid, o.id, null::bigint, array(
                   select m.conversation_id from public.conversation_members m where m.user_id = o.id
                   union all
                   select f.conversation_id from app.former_members f where f.user_id = o.id and f.wrote),
               o.object::text, null::text, null::bigint[]
          from app.profile_objects o where o.public_changed_xid >= beyond and o.public_changed_xid < bound
        union all
        select 'profile', o.public_changed_xid::text, null::uuid, o.id, null::bigint, array(
                   select m.conversation_id from public.conversation_members m where m.user_id = o.id
                   union all
                   select f.conversation_id from app.former_members f where f.user_id = o.id and f.wrote),
               o.object::text, null::text, null::bigint[]
          from app.profile_objects o where o.public_changed_xid = any(open);
    end if;

    if conversations > 0 then
        return query
        select 'conversation', c.changed_xid::text, c.id, null::uuid, c.last_seq, c.user_ids, c.head, c.tail,
               c.marks || feed.mutes(c.id, c.user_ids)
          from app.conversation_parts c where c.changed_xid >= beyond and c.changed_xid < bound
        union all
        select 'conversation', c.changed_xid::text, c.id, null::uuid, c.last_seq, c.user_ids, c.head, c.tail,
               c.marks || feed.mutes(c.id, c.user_ids)
          from app.conversation_parts c where c.changed_xid = any(open);
    end if;

    if messages > 0 then
        return query
        select 'message', n.xid::text, n.conversation_id, n.sender_id, n.seq, null::uuid[], n.object::text, null::text,
               null::bigint[]
          from (
            select o.changed_xid as xid, o.conversation_id, o.sender_id, o.seq, o.object
              from app.message_objects o where o.changed_xid >= beyond and o.changed_xid < bound
            union all
            select o.changed_xid, o.conversation_id, o.sender_id, o.seq, o.object
              from app.message_objects o where o.changed_xid = any(open)) n
         order by n.conversation_id, n.seq;
    end if;

    if memberships > 0 then
        return query
        select 'read', m.changed_xid::text, m.conversation_id, m.user_id, m.last_read_seq, null::uuid[], null::text,
               null::text, null::bigint[]
          from public.conversation_members m
         where m.changed_xid >= beyond and m.changed_xid < bound
           and pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
        union all
        select 'read', m.changed_xid::text, m.conversation_id, m.user_id, m.last_read_seq, null::uuid[], null::text,
               null::text, null::bigint[]
          from public.conversation_members m
         where m.changed_xid = any(open) and pg_catalog.pg_visible_in_snapshot(m.joined_xid, since);
    end if;
    if messages > 0 then
        -- A message moved its sender's mark, unless it is one that was edited. Marks already told are left out.
        return query
        select 'read', m.sent_xid::text, m.conversation_id, m.user_id, m.last_read_seq, null::uuid[], null::text,
               null::text, null::bigint[]
          from (
            select n.conversation_id, n.sender_id from public.messages n
             where n.changed_xid >= beyond and n.changed_xid < bound
            union
            select n.conversation_id, n.sender_id from public.messages n where n.changed_xid = any(open)) w
          join public.conversation_members m on m.conversation_id = w.conversation_id and m.user_id = w.sender_id
         where not pg_catalog.pg_visible_in_snapshot(m.sent_xid, since)
           and pg_catalog.pg_visible_in_snapshot(m.changed_xid, since);
    end if;

    if entered <> '{}' then
        return query
        select 'opening_profile', null::text, m.conversation_id, m.user_id, null::bigint, null::uuid[], o.object::text,
               null::text, null::bigint[]
          from public.conversation_members m join app.profile_objects o on o.id = m.user_id
         where m.conversation_id = any(entered)
         order by m.conversation_id, m.joined_at, m.user_id;
        return query
        select 'opening_message', null::text, o.conversation_id, o.sender_id, o.seq, null::uuid[], o.object::text,
               null::text, null::bigint[]
          from unnest(entered) as e (id)
          join public.conversations c on c.id = e.id
          join app.message_objects o on o.conversation_id = c.id and o.seq > c.last_seq - 100
         order by o.conversation_id, o.seq;
    end if;
end
$$;

-- A look and the moment that it is of: the epoch, the snapshot, which is what the next look asks since, and how far the
-- log must be on disk for all that the snapshot has seen to be, null where it is. They stand beside each row of
-- feed.look, or, where nothing is new, in one row of nulls. With no `since` nothing but they is asked for.
--
-- It has no settings of its own: so the planner takes its body into the statement that calls it, and it costs nothing.
-- feed.look keeps its columns, which nodes of the version before ask for by their place.
create or replace function feed.next_look(since pg_snapshot) returns table (
    epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint,
    audience uuid[], object text, tail text, marks bigint[])
language sql stable as $$
    with now as materialized (
        select app.epoch() as epoch,
               case when pg_catalog.pg_is_in_recovery() then app.standby_snapshot()
                    else pg_catalog.pg_current_snapshot() end::text as snapshot,
               -- A standby gets what is on the primary's disk, and replays what is on its own.
               case when not pg_catalog.pg_is_in_recovery() then
                   nullif(greatest(pg_catalog.pg_current_wal_insert_lsn(), pg_catalog.pg_current_wal_flush_lsn()),
                          pg_catalog.pg_current_wal_flush_lsn()) end as log_end)
    select n.epoch, n.snapshot, n.log_end, l.kind, l.xid, l.conversation_id, l.user_id, l.seq, l.audience, l.object,
           l.tail, l.marks
      from now n left join feed.look(next_look.since) l on next_look.since is not null
$$;

-- Which of these users are concerned by anything that changed since a snapshot: what sync.open would bring them.
--
-- Asked of those who are live, where there is too much to tell. It looks from each user at what is theirs, and stops at
-- the first that is news, so that its cost is theirs and not that of what changed.
create or replace function feed.concerned(since pg_snapshot, users uuid[]) returns setof uuid
language sql stable set search_path = '' set jit = off as $$
    select u.id
      from unnest(users) as u (id)
     where exists (
            select from public.user_profiles p
             where p.id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))
        or exists (
            select from app.former_members f
             where f.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(f.changed_xid, since))
        -- last_message_xid moves with each message that is sent, edited or deleted.
        or exists (
            select from public.conversation_members m join public.conversations c on c.id = m.conversation_id
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
                        and pg_catalog.pg_visible_in_snapshot(c.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since), true)))
        or exists (
            select from public.conversation_members m
              join public.conversation_members o on o.conversation_id = m.conversation_id
              join public.user_profiles p on p.id = o.user_id
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(o.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(o.sent_xid, since), true)
                        and pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since)))
        or exists (
            select from public.conversation_members m
              join app.former_members f on f.conversation_id = m.conversation_id and f.wrote
              join public.user_profiles p on p.id = f.user_id
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since))
        or exists (
            select from public.conversation_mutes x
             where x.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, since))
        or exists (
            select from public.presence p
             where p.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since))
        or not exists (select from public.presence p where p.user_id = u.id and p.is_hidden) and exists (
            select from public.conversation_members m
              join public.conversation_members o
                on o.conversation_id = m.conversation_id and o.user_id <> m.user_id
              join public.presence p on p.user_id = o.user_id
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))
$$;
