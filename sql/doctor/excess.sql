-- The rights that the roles of requests, or everyone, have on our objects, as `policies.sql` would grant them:
-- `granted`, and `wider`, a right that includes them. Rights of everyone are listed once. `statement` revokes what
-- `migrate` does not: rights on auth.users if Postline created it, and default privileges of the owner. $1: our tables.
with roles (name, shown) as (
    select 'public', 'everybody'
    union all
    select r.rolname, r.rolname from pg_roles r
     where r.rolname in ('anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender')
), owner as (
    -- Not by to_regclass: the login role may not use the schema.
    select c.relowner as oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'app' and c.relname = 'migrations'
), relations as (
    select c.oid, n.nspname || '.' || c.relname as name, n.nspname = 'auth' as is_left_by_migrate
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm')
       and (n.nspname || '.' || c.relname = any ($1::text[])
            or n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin')
            or n.nspname = 'auth' and c.relname = 'users' and c.relowner = (select o.oid from owner o))
), functions as (
    select p.oid, n.nspname || '.' || p.proname as name, n.nspname || '.*' as all_of_schema
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin')
        or n.nspname = 'public' and p.proname in ('is_read', 'unread_count')
)
select r.shown || ' may ' || v.privilege || ' on ' || t.name as granted, null as wider,
       case when t.is_left_by_migrate then format('revoke %s on %s from %I;', v.privilege, t.name, r.name) end
           as statement
  from relations t cross join roles r
  cross join (values ('select'), ('insert'), ('update'), ('delete'), ('truncate'), ('references'), ('trigger'))
       as v (privilege)
 where has_table_privilege(r.name, t.oid, v.privilege)
   and (r.name = 'public' or not has_table_privilege('public', t.oid, v.privilege))
union all
select r.shown || ' may ' || v.privilege || ' (' || a.attname || ') on ' || t.name,
       r.shown || ' may ' || v.privilege || ' on ' || t.name,
       case when t.is_left_by_migrate
            then format('revoke %s (%I) on %s from %I;', v.privilege, a.attname, t.name, r.name) end
  from relations t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  cross join roles r
  cross join (values ('select'), ('insert'), ('update'), ('references')) as v (privilege)
 where has_column_privilege(r.name, t.oid, a.attnum, v.privilege)
   and not has_table_privilege(r.name, t.oid, v.privilege)
   and (r.name = 'public' or not has_column_privilege('public', t.oid, a.attnum, v.privilege))
union all
select r.shown || ' may call ' || f.name, r.shown || ' may call ' || f.all_of_schema, null
  from functions f cross join roles r
 where has_function_privilege(r.name, f.oid, 'execute')
   and (r.name = 'public' or not has_function_privilege('public', f.oid, 'execute'))
union all
-- By default everyone may call new functions and use new types: in a row for all schemas that is not an excess.
select format('everybody has %s on each new %s%s', lower(a.privilege_type), k.kind, ' of the schema ' || n.nspname),
       null,
       format('alter default privileges for role %I%s revoke %s on %ss from public;', pg_get_userbyid(d.defaclrole),
              ' in schema ' || quote_ident(n.nspname), lower(a.privilege_type), k.kind)
  from pg_default_acl d
  join (values ('r', 'table'), ('S', 'sequence'), ('f', 'function'), ('T', 'type'), ('n', 'schema')) as k (type, kind)
    on k.type = d.defaclobjtype::text
  left join pg_namespace n on n.oid = d.defaclnamespace
 cross join aclexplode(d.defaclacl) as a
 where a.grantee = 0 and d.defaclrole = (select o.oid from owner o)
   and (n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin')
        or d.defaclnamespace = 0 and k.kind not in ('function', 'type'))
order by granted
