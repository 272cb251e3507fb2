-- Returns the changes since a snapshot with the moment of the poll: the epoch, the snapshot, from which the next poll
-- continues, and the position up to which the log must be flushed before the snapshot may be used, or null if it is.
-- They are in each row of feed.read_changes, or in one row of nulls if nothing has changed. If `since` is null only
-- they are returned.
--
-- Kinds of rows that not every version knows are returned only if `features` names them, `presence`, `mutes`,
-- `reactions`, `delivered`, `pieces` and `held`: a node rejects a poll with an unknown kind.
--
-- With `packed`, the audience of a row without a tail is in `tail`, as array_send writes it, in hexadecimal. For a
-- thousand conversations that takes a fifth of the time of writing the array.
--
-- Without settings of its own it is inlined into the calling statement, and costs nothing.
create or replace function feed.poll_changes(since pg_snapshot, features text[]) returns table (
    epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint,
    audience uuid[], object text, tail text, marks bigint[])
language sql stable
begin atomic
    with now as materialized (
        select app.epoch() as epoch,
               case when pg_catalog.pg_is_in_recovery() then app.standby_snapshot()
                    else pg_catalog.pg_current_snapshot() end::text as snapshot,
               -- A standby receives what is flushed on the primary, and replays what is flushed on its own disk.
               case when not pg_catalog.pg_is_in_recovery() then
                   greatest(pg_catalog.pg_current_wal_insert_lsn(), pg_catalog.pg_current_wal_flush_lsn())
               end as written)
    select n.epoch, n.snapshot,
           -- After the changes are read: meanwhile another commit has often flushed the log.
           case when n.written is null then null
                when n.written > pg_catalog.pg_current_wal_flush_lsn() then n.written end,
           l.kind, l.xid, l.conversation_id, l.user_id, l.seq,
           case when l.tail is not null or not 'packed' = any (poll_changes.features) then l.audience end,
           l.object,
           case when l.tail is null and 'packed' = any (poll_changes.features)
                then pg_catalog.encode(pg_catalog.array_send(l.audience), 'hex') else l.tail end,
           l.marks
      from now n
      left join (select k.* from feed.read_changes(poll_changes.since) k where poll_changes.since is not null) l
        on case when l.kind in ('behind', 'presence', 'opening_presence') then 'presence' = any (poll_changes.features)
                when l.kind = 'own_conversation' then 'mutes' = any (poll_changes.features)
                when l.kind in ('reaction', 'own_reaction', 'opening_reaction')
                then 'reactions' = any (poll_changes.features)
                when l.kind = 'delivered' then 'delivered' = any (poll_changes.features)
                when l.kind in ('piece', 'opening_piece') then 'pieces' = any (poll_changes.features)
                when l.kind = 'own_message' then 'held' = any (poll_changes.features)
                else true end;
end;
