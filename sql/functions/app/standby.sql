-- The snapshot that a standby shows. There pg_current_snapshot() lists no transaction in progress, so a cursor made of
-- it would count later changes of such a transaction as seen. Instead each transaction's status is queried, and for
-- transactions that end at the time of the snapshot, whether their rows are visible.
--
-- A node runs two statements in one transaction: app.record_ended_transactions, and then the query, whose functions
-- call app.standby_snapshot. Each has its own snapshot, and the second sees everything that had ended at the first.

-- Records for the rest of this transaction which transactions have ended, as a snapshot that sees exactly those. `base`
-- is an earlier snapshot of this server process (`started`), or null: what it sees is not queried again. Returns the
-- log position up to which the standby has replayed, or null on a primary.
--
-- Transactions can end between the queries. So all that were in progress are queried a second time: if one of two had
-- seen the other, then the other is recorded too, or both end in the second round.
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

-- Returns the snapshot that sees everything before `next` except `open`.
create or replace function app.snapshot_of(open bigint[], next bigint) returns pg_snapshot
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    open := array(select o from unnest(open) o order by o);
    return pg_catalog.format('%s:%s:%s', coalesce(open[1], next), next, pg_catalog.array_to_string(open, ','));
end
$$;

-- Returns the complete snapshot of the calling statement on a standby.
--
-- A transaction that ended at about this time counts as not seen unless a row proves it: the rows that it changed have
-- its id, and if another such transaction changed them later, both ids. Without such a row nothing of it is visible,
-- and either result is right.
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
            select x.changed_xid from public.conversation_mutes x where x.changed_xid = any(asked)
            union all
            select r.changed_xid from public.reaction_counts r where r.changed_xid = any(asked)
            union all
            select r.changed_xid from public.message_reactions r where r.changed_xid = any(asked)
            union all
            select d.changed_xid from public.delivered_marks d where d.changed_xid = any(asked)
            union all
            select p.changed_xid from public.message_pieces p where p.changed_xid = any(asked));
        -- Nulls in `seen` must not make the comparison null.
        open := open || array(
            select u::text::bigint from unnest(unsure) u where not coalesce(u = any(seen), false));
    end if;
    return app.snapshot_of(open, next);
end
$$;

-- Returns the end of the written log, as a standby reports it that has replayed everything.
--
-- If a record ends with its page, PostgreSQL gives the next record's position after the header of a page that does not
-- exist yet: 24 bytes, or 40 at the start of a segment. A standby reports the page border until that page is written.
-- No record that begins on a page ends within 40 bytes of the border, and one that crosses it is not replayed at the
-- border: so nothing written is left out.
create or replace function app.log_end(written pg_lsn default pg_catalog.pg_current_wal_insert_lsn()) returns pg_lsn
language sql stable set search_path = pg_catalog, pg_temp as $$
    select written - case when p.bytes <= 40 then p.bytes else 0 end
      from (select (written - pg_lsn '0/0') % pg_catalog.current_setting('wal_block_size')::integer as bytes) p
$$;

-- Returns true if `other` sees a transaction that `seen` does not: a cursor of `other` cannot be continued yet.
create or replace function app.is_behind(seen pg_snapshot, other pg_snapshot) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.pg_snapshot_xmax(seen) < pg_catalog.pg_snapshot_xmax(other)
           or exists (select from pg_catalog.pg_snapshot_xip(seen) x
                       where pg_catalog.pg_visible_in_snapshot(x, other));
end;
