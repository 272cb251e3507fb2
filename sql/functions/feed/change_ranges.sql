-- Returns the ranges of transaction ids that were not visible in `since` and are now, if transactions of `since` were
-- in progress: each of them that has ended, and everything from the snapshot's end to `bound`.
--
-- It is inlined into the calling statement.
create or replace function feed.change_ranges(since pg_snapshot, bound xid8) returns table (lows xid8[], highs xid8[])
language sql stable
begin atomic
    select w.ended || pg_catalog.pg_snapshot_xmax(change_ranges.since),
           array(select (x::text::bigint + 1)::text::xid8 from unnest(w.ended) x) || change_ranges.bound
      from (select array(
                select x from pg_catalog.pg_snapshot_xip(change_ranges.since) x
                 where pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot())
                 order by x) as ended) w;
end;
