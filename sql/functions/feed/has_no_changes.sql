-- Returns those of the reconnecting users, each with its cursor, for whom nothing has changed since: api.sync would
-- return an empty page. Each row has the user's place in the arrays, its conversations by id, whether it sees presence,
-- and the values of api.sync for this moment. For users without a row something may have changed.
--
-- Many users reconnect at once, after a restart or a network failure, and most have no changes. So the recent changes
-- of all users are walked once, in the indexes on changed_xid from the newest, and matched with the users.
--
-- A node has one such query at a time, so its cost is bounded, whatever users do. A walk ends after `most` changes; the
-- walks over the conversations of changed users end after `most_memberships` of them. Users whose cursor is not newer
-- than the last row of a walk are left out, and users in more than `most_conversations`. Without these bounds a query
-- took ten seconds for 64 users in 256 groups, if 512 users in 1,800 groups had changed their profiles and presence.
--
-- Only the newest change of a conversation is compared with a cursor, and the two newest of presence and of delivered
-- marks, since one may be the user's own. A change counts as new if it is not older than the first that the cursor did
-- not see. So a user may be left out without need if a transaction has ended late.
--
-- The planner knows neither the arrays nor how long the walks are. Subqueries with `offset 0` or a limit read tables by
-- their keys; with nested loops off, everything else is joined by hash, or sorted.
create or replace function feed.has_no_changes(epochs text[], users uuid[], sinces pg_snapshot[]) returns table (
    place integer, epoch text, snapshot text, conversation_ids text, is_durable boolean, sees_presence boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off as $$
#variable_conflict use_column
declare
    most constant integer := 512;
    most_memberships constant integer := 8192;
    most_conversations constant integer := 256;
    epoch_now text := app.epoch();
    now_seen pg_snapshot := pg_catalog.pg_current_snapshot();
    is_on_disk boolean := pg_catalog.pg_current_wal_insert_lsn() <= pg_catalog.pg_current_wal_flush_lsn();
    oldest xid8 := (select min(pg_catalog.pg_snapshot_xmin(s)) from pg_catalog.unnest(sinces) s);
begin
    return query
    with members as materialized (
        select m.user_id, m.conversation_id, m.changed_xid as xid from public.conversation_members m
         where m.changed_xid >= oldest order by m.changed_xid desc limit most),
    leavers as materialized (
        select f.user_id, f.changed_xid as xid from app.former_members f
         where f.changed_xid >= oldest order by f.changed_xid desc limit most),
    profiles as materialized (
        select p.id as user_id, p.changed_xid as xid from public.user_profiles p
         where p.changed_xid >= oldest order by p.changed_xid desc limit most),
    presences as materialized (
        select p.user_id, p.changed_xid as xid from public.presence p
         where p.changed_xid >= oldest order by p.changed_xid desc limit most),
    reactions as materialized (
        select r.conversation_id, r.changed_xid as xid from public.reaction_counts r
         where r.changed_xid >= oldest order by r.changed_xid desc limit most),
    streams as materialized (
        select s.conversation_id, s.changed_xid as xid from app.message_streams s
         where s.changed_xid >= oldest limit most),
    -- Each message is followed by the marks of its receivers: a walk that did not reach its end leaves out nobody, but
    -- the marks of the conversations are read.
    delivered as materialized (
        select d.conversation_id, d.user_id, d.changed_xid as xid from public.delivered_marks d
         where d.changed_xid >= oldest order by d.changed_xid desc limit most),
    reached_delivered as materialized (
        select min(w.xid) as xid from delivered w having count(*) = most),
    -- The last transaction of the walks that did not reach their end; null if all did.
    reached as materialized (
        select max(e.xid) as xid from (
            select min(w.xid) as xid from members w having count(*) = most
            union all
            select min(w.xid) from leavers w having count(*) = most
            union all
            select min(w.xid) from profiles w having count(*) = most
            union all
            select min(w.xid) from presences w having count(*) = most
            union all
            select min(w.xid) from reactions w having count(*) = most
            union all
            -- They have no order: if there are so many, nobody is found to be without changes.
            select pg_catalog.pg_snapshot_xmax(now_seen) from streams w having count(*) = most) e),
    xids as materialized (
        select m.xid from members m union select p.xid from profiles p union select p.xid from presences p
        union select r.xid from reactions r union select d.xid from delivered d union select s.xid from streams s),
    asked as materialized (
        select a.place, a.id, a.since, s.xmin, (
                select min(x.xid) from xids x
                 where x.xid >= s.xmin and not pg_catalog.pg_visible_in_snapshot(x.xid, a.since)) as first_unseen
          from rows from (pg_catalog.unnest(users), pg_catalog.unnest(sinces), pg_catalog.unnest(epochs))
               with ordinality as a (id, since, epoch, place)
         cross join lateral (select pg_catalog.pg_snapshot_xmin(a.since) as xmin) s
         where a.epoch = epoch_now
           and pg_catalog.pg_snapshot_xmax(a.since) <= pg_catalog.pg_snapshot_xmax(now_seen)
           and coalesce(s.xmin > (select r.xid from reached r), true)),
    -- The conversations of changed users, from the newest change.
    conversations_of_profiles as materialized (
        select m.conversation_id, w.xid
          from (select p.user_id, p.xid from profiles p order by p.xid desc) w
         cross join lateral (
            select m.conversation_id from public.conversation_members m where m.user_id = w.user_id
            union all
            -- Messages of former members show their profiles.
            select f.conversation_id from app.former_members f where f.user_id = w.user_id offset 0) m
         where w.xid >= (select min(a.first_unseen) from asked a)
         order by w.xid desc limit most_memberships),
    conversations_of_presences as materialized (
        select m.conversation_id, w.user_id, w.xid
          from (select p.user_id, p.xid from presences p order by p.xid desc) w
         cross join lateral (
            select m.conversation_id from public.conversation_members m where m.user_id = w.user_id offset 0) m
         where w.xid >= (select min(a.first_unseen) from asked a)
         order by w.xid desc limit most_memberships),
    reached_conversations as materialized (
        select max(e.xid) as xid from (
            select min(w.xid) as xid from conversations_of_profiles w having count(*) = most_memberships
            union all
            select min(w.xid) from conversations_of_presences w having count(*) = most_memberships) e),
    -- The newest change of each conversation, and the two newest of presence and of delivered marks.
    changed as materialized (
        select w.conversation_id, null::uuid as user_id, max(w.xid) as xid
          from (select m.conversation_id, m.xid from members m
                union all
                select r.conversation_id, r.xid from reactions r
                union all
                select s.conversation_id, s.xid from streams s
                union all
                select p.conversation_id, p.xid from conversations_of_profiles p) w
         group by w.conversation_id
        union all
        select w.conversation_id, w.user_id, w.xid
          from (select p.conversation_id, p.user_id, p.xid,
                       row_number() over (partition by p.conversation_id order by p.xid desc) as number
                  from conversations_of_presences p) w
         where w.number <= 2
        union all
        select w.conversation_id, w.user_id, w.xid
          from (select d.conversation_id, d.user_id, d.xid,
                       row_number() over (partition by d.conversation_id order by d.xid desc) as number
                  from delivered d) w
         where w.number <= 2),
    own as materialized (
        select m.user_id, m.xid from members m
        union all
        select l.user_id, l.xid from leavers l
        union all
        select p.user_id, p.xid from profiles p),
    checked as materialized (
        select a.place, a.id, a.since, a.xmin, a.first_unseen
          from asked a
         where coalesce(a.first_unseen > (select r.xid from reached_conversations r), true)
           and not exists (
                select from own o
                 where o.user_id = a.id and not pg_catalog.pg_visible_in_snapshot(o.xid, a.since))
           -- A node must know whom the others do not see (feed.unseen_users).
           and (select count(*) from app.blocked_users(a.id)) = 0
           and coalesce(pg_catalog.pg_visible_in_snapshot(
                   (select p.hidden_xid from public.presence p where p.user_id = a.id), a.since), true)),
    mine as materialized (
        select a.place, a.id as user_id, a.xmin, a.first_unseen, m.conversation_id, m.joined_xid, m.is_deleted
          from checked a
         cross join lateral (
            select m.conversation_id, m.joined_xid, m.is_deleted from public.conversation_members m
             where m.user_id = a.id limit most_conversations + 1) m),
    unsure as materialized (
        select n.place from mine n group by n.place having count(*) > most_conversations
        union all
        select n.place from mine n
          join changed w on w.conversation_id = n.conversation_id
         where w.xid >= n.first_unseen and w.user_id is distinct from n.user_id
        union all
        select n.place
          from (select n.place, n.xmin, n.joined_xid, c.changed_xid, c.last_message_xid
                  from mine n
                 cross join lateral (
                    select c.changed_xid, c.last_message_xid from public.conversations c
                     where c.id = n.conversation_id offset 0) c
                 where n.joined_xid >= n.xmin or c.changed_xid >= n.xmin or c.last_message_xid >= n.xmin) n
          join checked a on a.place = n.place
         where not (pg_catalog.pg_visible_in_snapshot(n.joined_xid, a.since)
                    and pg_catalog.pg_visible_in_snapshot(n.changed_xid, a.since)
                    -- Changes with each message that is sent, edited or deleted.
                    and coalesce(pg_catalog.pg_visible_in_snapshot(n.last_message_xid, a.since), true))
        union all
        select n.place
          from (select a.place, a.since from checked a where a.xmin <= (select r.xid from reached_delivered r)) a
          join mine n on n.place = a.place
         cross join lateral (
            select from public.delivered_marks d
             where d.conversation_id = n.conversation_id and d.user_id <> n.user_id and d.changed_xid >= n.xmin
               and not pg_catalog.pg_visible_in_snapshot(d.changed_xid, a.since)
             limit 1) d
        union all
        select a.place from checked a
         cross join lateral (
            select x.changed_xid from public.conversation_mutes x
             where x.user_id = a.id limit most_conversations) x
         where x.changed_xid >= a.xmin and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, a.since))
    select a.place::integer, epoch_now, now_seen::text, coalesce(n.ids, '{}')::text, is_on_disk,
           not coalesce((select p.is_hidden from public.presence p where p.user_id = a.id), false)
      from checked a
      left join (select n.place,
                        pg_catalog.array_agg(n.conversation_id order by n.conversation_id)
                            filter (where not n.is_deleted) as ids
                   from mine n group by n.place) n on n.place = a.place
     where a.place not in (select u.place from unsure u);
end
$$;
