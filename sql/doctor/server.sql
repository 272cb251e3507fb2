-- The server's version, the database, and the server's clock.
select current_setting('server_version') as version,
       current_setting('server_version_num') as version_number,
       current_database() as database,
       pg_encoding_to_char((select encoding from pg_database where datname = current_database())) as encoding,
       pg_is_in_recovery() as is_standby,
       current_setting('default_transaction_read_only') as read_only,
       (select d.datcollversion <> pg_database_collation_actual_version(d.oid)
          from pg_database d where d.datname = current_database()) as has_other_collation,
       exists (select from pg_namespace n where n.nspname = 'app')
           and has_database_privilege('public', current_database(), 'temporary') as has_temporary,
       exists (select from pg_extension e where e.extname = 'pg_trgm')
           or not exists (select from pg_namespace n where n.nspname = 'app') as has_trigrams,
       pg_backend_pid() as process,
       extract(epoch from clock_timestamp()) as clock
