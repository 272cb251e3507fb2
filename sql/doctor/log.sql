-- The log (WAL) written since the statistics began, the part of it that is full pages, and the settings that decide how
-- often a checkpoint comes, after which each changed page is written in full once.
select wal_bytes as written, wal_fpi * current_setting('block_size')::bigint as pages,
       extract(epoch from clock_timestamp() - stats_reset) as seconds,
       current_setting('wal_compression') as compression,
       (select setting from pg_settings where name = 'checkpoint_timeout') as checkpoint_seconds,
       pg_size_bytes(current_setting('max_wal_size')) as most
  from pg_stat_wal
