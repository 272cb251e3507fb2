-- Which database of which cluster this is, whether it follows another one and how, how far its log is, and whether
-- row-level security would not hold for the login.
select (select s.system_identifier from pg_control_system() s) as cluster,
       (select d.oid from pg_database d where d.datname = current_database()) as database,
       exists (select from pg_roles r
                where r.rolname = current_user
                  and (r.rolsuper or r.rolbypassrls or exists (select from pg_class c where c.relowner = r.oid)))
           as is_above_policies,
       pg_is_in_recovery() as is_standby,
       current_setting('hot_standby_feedback') as feedback,
       case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end - pg_lsn '0/0'
           as log_bytes
