-- Returns those of the reconnecting users, each with its cursor, for whom nothing has changed since: api.sync would
-- return an empty page. Each row has the user's place in the arrays, its conversations by id, whether it sees presence,
-- and the values of api.sync for this moment. For users without a row something may have changed.
--
-- Many users reconnect at once, after a restart or a network failure, and most have no changes. So the recent changes
-- of all users are walked once, in the indexes on changed_xid from the newest, and matched with the users. Each walk
-- ends after `most` rows: users whose cursor is not newer than its last row are left out, and users in more than
-- `most_conversations`.
create or replace function feed.has_no_changes(epochs text[], users uuid[], sinces pg_snapshot[]) returns table (
    place integer, epoch text, snapshot text, conversation_ids text, is_durable boolean, sees_presence boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant integer := 512;
    most_conversations constant integer := 256;
    epoch_now text := app.epoch();
    now_seen pg_snapshot := pg_catalog.pg_current_snapshot();
    is_on_disk boolean := pg_catalog.pg_current_wal_insert_lsn() <= pg_catalog.pg_current_wal_flush_lsn();
    oldest xid8 := (
        select pg_catalog.pg_snapshot_xmin(s) from pg_catalog.unnest(sinces) s
         order by pg_catalog.pg_snapshot_xmin(s) limit 1);
begin
    return query
    with asked as materialized (
        select a.place, a.id, a.since, pg_catalog.pg_snapshot_xmin(a.since) as xmin
          from rows from (pg_catalog.unnest(users), pg_catalog.unnest(sinces), pg_catalog.unnest(epochs))
               with ordinality as a (id, since, epoch, place)
         where a.epoch = epoch_now
           and pg_catalog.pg_snapshot_xmax(a.since) <= pg_catalog.pg_snapshot_xmax(now_seen)),
    mine as materialized (
        select a.place, a.id as user_id, a.since, a.xmin, m.conversation_id, m.joined_xid
          from asked a
         cross join lateral (
            select m.conversation_id, m.joined_xid from public.conversation_members m
             where m.user_id = a.id and not m.is_deleted limit most_conversations + 1) m),
    members as materialized (
        select m.conversation_id, m.changed_xid as xid from public.conversation_members m
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
    -- The last transaction of each walk; null if the walk reached its end.
    reached as materialized (
        select (select w.xid from members w order by w.xid desc offset most - 1) as of_members,
               (select w.xid from leavers w order by w.xid desc offset most - 1) as of_leavers,
               (select w.xid from profiles w order by w.xid desc offset most - 1) as of_profiles,
               (select w.xid from presences w order by w.xid desc offset most - 1) as of_presences),
    unsure as (
        select a.place from asked a cross join reached r where a.xmin <= greatest(r.of_leavers, r.of_profiles)
        union all
        select n.place from mine n cross join reached r where n.xmin <= greatest(r.of_members, r.of_presences)
        union all
        select n.place from mine n group by n.place having count(*) > most_conversations
        union all
        select n.place from mine n
          join public.conversations c on c.id = n.conversation_id
         where not (pg_catalog.pg_visible_in_snapshot(n.joined_xid, n.since)
                    and pg_catalog.pg_visible_in_snapshot(c.changed_xid, n.since)
                    -- Changes with each message that is sent, edited or deleted.
                    and coalesce(pg_catalog.pg_visible_in_snapshot(c.last_message_xid, n.since), true))
        union all
        select a.place from asked a
          join public.conversation_mutes x on x.user_id = a.id
         where not pg_catalog.pg_visible_in_snapshot(x.changed_xid, a.since)
        union all
        select a.place from asked a
          join public.presence p on p.user_id = a.id
         where not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, a.since)
        union all
        select a.place from asked a
          join leavers w on w.user_id = a.id and not pg_catalog.pg_visible_in_snapshot(w.xid, a.since)
        union all
        select a.place from asked a
          join profiles w on w.user_id = a.id and not pg_catalog.pg_visible_in_snapshot(w.xid, a.since)
        union all
        select n.place from mine n
          join members w on w.conversation_id = n.conversation_id
                        and not pg_catalog.pg_visible_in_snapshot(w.xid, n.since)
        union all
        select n.place from profiles w
          join public.conversation_members m on m.user_id = w.user_id
          join mine n on n.conversation_id = m.conversation_id
                     and not pg_catalog.pg_visible_in_snapshot(w.xid, n.since)
        union all
        -- Messages of former members show their profiles.
        select n.place from profiles w
          join app.former_members f on f.user_id = w.user_id
          join mine n on n.conversation_id = f.conversation_id
                     and not pg_catalog.pg_visible_in_snapshot(w.xid, n.since)
        union all
        select n.place from presences w
          join public.conversation_members m on m.user_id = w.user_id
          join mine n on n.conversation_id = m.conversation_id and n.user_id <> w.user_id
                     and not pg_catalog.pg_visible_in_snapshot(w.xid, n.since))
    select a.place::integer, epoch_now, now_seen::text,
           coalesce((select pg_catalog.array_agg(n.conversation_id order by n.conversation_id)
                       from mine n where n.place = a.place), '{}')::text,
           is_on_disk, not coalesce(p.is_hidden, false)
      from asked a
      left join public.presence p on p.user_id = a.id
     where a.place not in (select u.place from unsure u);
end
$$;
