-- The queries of a standby. On a primary, where these tests run, they report no standby, and the snapshot is
-- pg_current_snapshot. StandbyTests runs them on real standbys.
begin;
select no_plan();
select tests.make_world();

select is((select replayed from app.record_ended_transactions(null, null)), null, 'a primary replays nothing');
select is(app.snapshot_of('{}', 7)::text, '7:7:', 'a snapshot sees all transactions before the next id');
select is(app.snapshot_of('{5,3}', 7)::text, '3:7:3,5', 'a snapshot does not see open transactions');

select is(app.is_behind(seen::pg_snapshot, other::pg_snapshot), behind,
    format('compares the snapshots %s and %s', seen, other))
  from (values ('10:10:', '10:10:', false), ('12:12:', '10:10:', false), ('10:10:', '12:12:', true),
               ('5:12:5', '5:10:5', false), ('5:12:5', '10:10:', true), ('5:12:5', '3:5:3', false),
               ('5:12:5,11', '5:12:5', true), ('10:10:', null, null)) t (seen, other, behind);

select is(app.log_end(written::pg_lsn), replayed::pg_lsn,
    format('the standby''s log position for %s is %s', written, replayed))
  from (values ('0/4000000', '0/4000000'), ('0/4000028', '0/4000000'), ('1/4002018', '1/4002000'),
               ('0/4000040', '0/4000040'), ('0/4002030', '0/4002030'), ('0/4001FF8', '0/4001FF8'))
       t (written, replayed);
select is(tests.attempt(who, 'select app.log_end()'), outcome, who || ' calls app.log_end: ' || outcome)
  from (values ('postline_feed', '1'), ('alice', '42501'), ('anon', '42501'), ('tests_login', '42501'))
       t (who, outcome);

-- A transaction that ended just now counts as not seen without a row that proves it.
create temporary table done as
select max(x) as xid from generate_series(3, pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1) x
 where pg_xact_status(x::text::xid8) = 'committed';
select set_config('postline.ended', app.snapshot_of(array[xid], xid + 1)::text, true) from done;
select is(pg_visible_in_snapshot(xid::text::xid8, app.standby_snapshot()), false,
    'a transaction that ended just now is not seen') from done;
-- Nor is it seen if there is a row of another such transaction, with columns that are null.
create temporary table other as
select max(x) as xid from done d, generate_series(3, d.xid - 1) x where pg_xact_status(x::text::xid8) = 'committed';
set local session_replication_role = replica;
update public.conversation_members set changed_xid = (select xid::text::xid8 from other), sent_xid = null
 where user_id = tests.id('alice');
set local session_replication_role = origin;
select set_config('postline.ended', app.snapshot_of(array[o.xid, d.xid], d.xid + 1)::text, true) from done d, other o;
select is(pg_visible_in_snapshot(d.xid::text::xid8, app.standby_snapshot()), false,
    'another transaction''s row does not make it seen')
  from done d;
select is(pg_visible_in_snapshot(o.xid::text::xid8, app.standby_snapshot()), true,
    'a recorded older transaction is seen') from other o;
select set_config('postline.ended', app.snapshot_of('{}', xid + 1)::text, true) from done;
select is(pg_visible_in_snapshot(xid::text::xid8, app.standby_snapshot()), true,
    'a transaction that had ended before is seen') from done;

select is(tests.attempt(who, statement), '42501', who || ' may not run: ' || statement)
  from unnest(array['anon', 'service_role', 'postline_sender', 'postline_accounts', 'tests_login']) who,
       unnest(array['select app.record_ended_transactions(null, null)', 'select app.standby_snapshot()']) statement;
select is(tests.attempt(who, statement), '1', who || ' may run: ' || statement)
  from unnest(array['postline_feed', 'alice']) who,
       unnest(array['select app.record_ended_transactions(null, null)', 'select app.standby_snapshot()']) statement;
select * from finish();
rollback;
