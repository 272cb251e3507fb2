-- What answers: its version, the database, and its clock.
select current_setting('server_version') as version,
       current_setting('server_version_num') as version_number,
       current_database() as database,
       pg_encoding_to_char((select encoding from pg_database where datname = current_database())) as encoding,
       pg_is_in_recovery() as is_standby,
       pg_backend_pid() as process,
       extract(epoch from clock_timestamp()) as clock
