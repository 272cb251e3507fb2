-- The current role, and its rights without setting another role. $1: our tables.
select current_user as name,
       r.rolsuper as is_superuser,
       r.rolbypassrls as bypasses,
       (select count(*) from pg_class c where c.relowner = r.oid) as owned,
       (select string_agg(n.nspname || '.' || c.relname, ', ' order by n.nspname, c.relname)
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname || '.' || c.relname = any ($1::text[])
           and has_table_privilege(r.oid, c.oid, 'select, insert, update, delete')) as tables
  from pg_roles r where r.rolname = current_user
