-- Resources that grow without maintenance.
select pg_notification_queue_usage() as queue,
       current_setting('autovacuum') as autovacuum,
       current_setting('track_counts') as track_counts,
       (select string_agg(n.nspname || '.' || c.relname, ', ' order by n.nspname, c.relname)
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname || '.' || c.relname = any ($1::text[])
           and exists (select from pg_options_to_table(c.reloptions) o
                        where o.option_name = 'autovacuum_enabled' and not o.option_value::boolean)) as unvacuumed,
       (select max(age(datfrozenxid)) from pg_database) as xid_age,
       (select max(mxid_age(datminmxid)) from pg_database) as multixact_age,
       current_setting('autovacuum_freeze_max_age') as freeze_age,
       current_setting('autovacuum_multixact_freeze_max_age') as multixact_freeze_age
