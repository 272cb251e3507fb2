-- A look and the moment that it is of: the epoch, the snapshot, which is what the next look asks since, and how far the
-- log must be on disk for all that the snapshot has seen to be, null where it is. They stand beside each row of
-- feed.read_changes, or, where nothing is new, in one row of nulls. With no `since` nothing but they is asked for.
--
-- Of the kinds of rows that not every node knows there are those that its features name: `presence` and `mutes`. Nodes
-- give up a look that has a kind which they do not know.
--
-- With `packed` the audience of a row that has no tail stands in `tail`, as what array_send writes in hexadecimal. For
-- a thousand conversations that takes a fifth of the time of writing the array.
--
-- It has no settings of its own: so the planner takes its body into the statement that calls it, and it costs nothing.
create or replace function feed.poll_changes(since pg_snapshot, features text[]) returns table (
    epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint,
    audience uuid[], object text, tail text, marks bigint[])
language sql stable
begin atomic
    with now as materialized (
        select app.epoch() as epoch,
               case when pg_catalog.pg_is_in_recovery() then app.standby_snapshot()
                    else pg_catalog.pg_current_snapshot() end::text as snapshot,
               -- A standby gets what is on the primary's disk, and replays what is on its own.
               case when not pg_catalog.pg_is_in_recovery() then
                   nullif(greatest(pg_catalog.pg_current_wal_insert_lsn(), pg_catalog.pg_current_wal_flush_lsn()),
                          pg_catalog.pg_current_wal_flush_lsn()) end as log_end)
    select n.epoch, n.snapshot, n.log_end, l.kind, l.xid, l.conversation_id, l.user_id, l.seq,
           case when l.tail is not null or not 'packed' = any (poll_changes.features) then l.audience end,
           l.object,
           case when l.tail is null and 'packed' = any (poll_changes.features)
                then pg_catalog.encode(pg_catalog.array_send(l.audience), 'hex') else l.tail end,
           l.marks
      from now n
      left join (select k.* from feed.read_changes(poll_changes.since) k where poll_changes.since is not null) l
        on case when l.kind in ('behind', 'presence', 'opening_presence') then 'presence' = any (poll_changes.features)
                when l.kind = 'own_conversation' then 'mutes' = any (poll_changes.features)
                else true end;
end;
