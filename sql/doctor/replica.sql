-- The identity of cluster and database, whether it is a standby and with which feedback, and the end of its log.
select (select s.system_identifier from pg_control_system() s) as cluster,
       (select d.oid from pg_database d where d.datname = current_database()) as database,
       pg_is_in_recovery() as is_standby,
       current_setting('hot_standby_feedback') as feedback,
       case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end - pg_lsn '0/0'
           as log_bytes
