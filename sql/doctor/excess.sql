-- The rights that a role of requests, or everybody, has on what is ours, as `policies.sql` would give them: `granted`,
-- and `wider`, which would give them too. Those of everybody are told once. $1: the tables of ours.
with roles (name, shown) as (
    select 'public', 'everybody'
    union all
    select r.rolname, r.rolname from pg_roles r
     where r.rolname in ('anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender')
), relations as (
    select c.oid, n.nspname || '.' || c.relname as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm')
       and (n.nspname || '.' || c.relname = any ($1::text[])
            or n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin'))
), functions as (
    select p.oid, n.nspname || '.' || p.proname as name, n.nspname || '.*' as all_of_schema
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin')
        or n.nspname = 'public' and p.proname in ('is_read', 'unread_count')
)
select r.shown || ' may ' || v.privilege || ' on ' || t.name as granted, null as wider
  from relations t cross join roles r
  cross join (values ('select'), ('insert'), ('update'), ('delete'), ('truncate'), ('references'), ('trigger'))
       as v (privilege)
 where has_table_privilege(r.name, t.oid, v.privilege)
   and (r.name = 'public' or not has_table_privilege('public', t.oid, v.privilege))
union all
select r.shown || ' may ' || v.privilege || ' (' || a.attname || ') on ' || t.name,
       r.shown || ' may ' || v.privilege || ' on ' || t.name
  from relations t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  cross join roles r
  cross join (values ('select'), ('insert'), ('update'), ('references')) as v (privilege)
 where has_column_privilege(r.name, t.oid, a.attnum, v.privilege)
   and not has_table_privilege(r.name, t.oid, v.privilege)
   and (r.name = 'public' or not has_column_privilege('public', t.oid, a.attnum, v.privilege))
union all
select r.shown || ' may call ' || f.name, r.shown || ' may call ' || f.all_of_schema
  from functions f cross join roles r
 where has_function_privilege(r.name, f.oid, 'execute')
   and (r.name = 'public' or not has_function_privilege('public', f.oid, 'execute'))
order by granted
