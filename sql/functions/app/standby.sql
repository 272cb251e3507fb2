-- What a standby shows. pg_current_snapshot() names no transaction in progress there, so that a cursor made of it would
-- take what such a transaction is about to do for seen. Which ones they are is found otherwise: what has ended is asked
-- of each transaction, and of one that ended in the very moment of the snapshot, whether its rows are there.
--
-- A node asks in two statements of one transaction: app.record_ended_transactions, and then what it wants to know, whose functions use
-- app.standby_snapshot. Each has a snapshot of its own, and the second sees all that had ended at the first.

-- Notes for the rest of this transaction what has ended, as a snapshot that sees just that. `base`, where there is
-- one, is a snapshot that was taken before, on this server as it was `started` then: what it sees is not asked again.
-- Gives how far the log is replayed, null where it is not, as on a primary.
--
-- Transactions end while they are asked after, one by one. So all that have not ended are asked after once more: then
-- of two of which one saw the other, the other is noted as well, or has ended in this second round with it.
create or replace function app.record_ended_transactions(
    base pg_snapshot, inout started timestamptz, out replayed pg_lsn)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    now pg_snapshot;
    oldest bigint;
    next bigint;
    open bigint[];
    asked bigint[];
begin
    if not pg_catalog.pg_is_in_recovery() then
        return;
    end if;
    replayed := pg_catalog.pg_last_wal_replay_lsn();
    if base is not null and started = pg_catalog.pg_postmaster_start_time() then
        open := array(select b::text::bigint from pg_catalog.pg_snapshot_xip(base) b);
        next := pg_catalog.pg_snapshot_xmax(base)::text::bigint;
    end if;
    started := pg_catalog.pg_postmaster_start_time();
    for round in 1..2 loop
        now := pg_catalog.pg_current_snapshot();
        oldest := pg_catalog.pg_snapshot_xmin(now)::text::bigint;
        asked := array(
            select o from unnest(open) o where o >= oldest
            union all
            select pg_catalog.generate_series(
                greatest(oldest, next), pg_catalog.pg_snapshot_xmax(now)::text::bigint - 1));
        next := pg_catalog.pg_snapshot_xmax(now)::text::bigint;
        open := array(
            select a from unnest(asked) a
             where pg_catalog.pg_xact_status(a::text::xid8) = 'in progress' order by a);
    end loop;
    perform pg_catalog.set_config('postline.ended', app.snapshot_of(open, next)::text, true);
    perform pg_catalog.set_config('postline.asked', asked::text, true);
end
$$;

-- The snapshot that sees what is before `next`, but for what is `open`.
create or replace function app.snapshot_of(open bigint[], next bigint) returns pg_snapshot
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    open := array(select o from unnest(open) o order by o);
    return pg_catalog.format('%s:%s:%s', coalesce(open[1], next), next, pg_catalog.array_to_string(open, ','));
end
$$;

-- What the statement that calls this sees, on a standby, whole.
--
-- A transaction that ended about now is taken for one that is not seen, unless a row says that it is: one that it
-- changed bears its number, and where another changed it after that, which ended about now as well, both numbers. Where
-- no row does there is nothing to see, and it makes no difference.
create or replace function app.standby_snapshot() returns pg_snapshot
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    now pg_snapshot := pg_catalog.pg_current_snapshot();
    ended pg_snapshot := nullif(pg_catalog.current_setting('postline.ended', true), '');
    next bigint := pg_catalog.pg_snapshot_xmax(now)::text::bigint;
    asked xid8[] := nullif(pg_catalog.current_setting('postline.asked', true), '');
    open bigint[];
    unsure xid8[];
    seen xid8[];
begin
    select coalesce(pg_catalog.array_agg(t.xid) filter (where t.status = 'in progress'), '{}'),
           coalesce(pg_catalog.array_agg(t.xid::text::xid8) filter (where t.status = 'committed'), '{}')
      into open, unsure
      from (select c.xid, pg_catalog.pg_xact_status(c.xid::text::xid8) as status
              from (select e::text::bigint as xid from pg_catalog.pg_snapshot_xip(ended) e
                    union all
                    select pg_catalog.generate_series(
                        coalesce(pg_catalog.pg_snapshot_xmax(ended), pg_catalog.pg_snapshot_xmin(now))::text::bigint,
                        next - 1)) c) t;
    if unsure <> '{}' then
        asked := asked || unsure;
        seen := array(
            select unnest(array[p.changed_xid, p.public_changed_xid]) from public.user_profiles p
             where p.changed_xid = any(asked) or p.public_changed_xid = any(asked)
            union all
            select c.changed_xid from public.conversations c where c.changed_xid = any(asked)
            union all
            select unnest(array[m.changed_xid, m.joined_xid, m.sent_xid]) from public.conversation_members m
             where m.changed_xid = any(asked)
            union all
            select unnest(array[m.changed_xid, m.sent_xid]) from public.messages m where m.changed_xid = any(asked)
            union all
            select unnest(array[f.changed_xid, f.joined_xid]) from app.former_members f where f.changed_xid = any(asked)
            union all
            select unnest(array[p.changed_xid, p.hidden_xid]) from public.presence p where p.changed_xid = any(asked)
            union all
            select x.changed_xid from public.conversation_mutes x where x.changed_xid = any(asked));
        -- Some columns are null, beside which nothing would be unlike all.
        open := open || array(
            select u::text::bigint from unnest(unsure) u where not coalesce(u = any(seen), false));
    end if;
    return app.snapshot_of(open, next);
end
$$;

-- How far the log is written, as a standby says it that has replayed all of it.
--
-- Where a record ends with its page, PostgreSQL takes the next to begin after the header of a page that is not there
-- yet, 24 bytes long, or 40 where a segment begins. A standby says the page's border, and as long as nobody writes it
-- says no more. No record that begins on a page ends within 40 bytes of the border, and one that goes over it has not
-- been replayed at the border: nothing that is written is left out.
create or replace function app.log_end(written pg_lsn default pg_catalog.pg_current_wal_insert_lsn()) returns pg_lsn
language sql stable set search_path = pg_catalog, pg_temp as $$
    select written - case when p.bytes <= 40 then p.bytes else 0 end
      from (select (written - pg_lsn '0/0') % pg_catalog.current_setting('wal_block_size')::integer as bytes) p
$$;

-- Whether something is seen by `other` that `seen` does not see: a cursor of `other` is not to be continued yet.
create or replace function app.is_behind(seen pg_snapshot, other pg_snapshot) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.pg_snapshot_xmax(seen) < pg_catalog.pg_snapshot_xmax(other)
           or exists (select from pg_catalog.pg_snapshot_xip(seen) x
                       where pg_catalog.pg_visible_in_snapshot(x, other));
end;
