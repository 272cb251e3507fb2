-- Lists what prevents vacuum from removing dead rows of this database, with its age in seconds (null: unknown).
select pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') as sees_all, 'transaction' as kind,
       format('process %s of the role %s, %s, %s', a.pid, a.usename,
              coalesce(nullif(a.application_name, ''), 'unnamed'), a.state) as name,
       floor(extract(epoch from clock_timestamp() - a.xact_start)) as seconds
  from pg_stat_activity a
 where a.datname = current_database() and a.pid <> pg_backend_pid() and a.xact_start is not null
   and (a.backend_xmin is not null or a.backend_xid is not null)
union all
select true, 'prepared', p.gid || ' of the role ' || p.owner,
       floor(extract(epoch from clock_timestamp() - p.prepared))
  from pg_prepared_xacts p where p.database = current_database()
union all
select true, 'slot', s.slot_name::text, null
  from pg_replication_slots s where not s.active
union all
-- Ensures that there is a row.
select pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), 'none', '', 0
order by seconds desc nulls last
