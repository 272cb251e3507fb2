-- Digests of the objects that `functions/`, `policies.sql` and `bootstrap/` define, one per part: functions, views,
-- triggers, owners and rights, row-level security, policies and roles. They are equal in every cluster, so they detect
-- a database that was restored without some of them, or changed. $1: Postline's tables; $2: its policies, as `name on
-- table`.
with schemas as (
    select n.oid, n.nspname from pg_namespace n
     where n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin')
), relations as (
    select c.*, format('%I.%I', n.nspname, c.relname) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'S')
       and (n.nspname || '.' || c.relname = any ($1::text[]) or n.oid in (select s.oid from schemas s))
), rights (object, owner, acl) as (
    select 'schema ' || n.nspname, case when n.oid in (select s.oid from schemas s) then n.nspowner end,
           coalesce(n.nspacl, acldefault('n', n.nspowner))
      from pg_namespace n where n.nspname in ('public', 'auth') or n.oid in (select s.oid from schemas s)
    union all
    select 'relation ' || r.name, r.relowner, coalesce(r.relacl, acldefault('r', r.relowner)) from relations r
    union all
    select 'column ' || r.name || '.' || a.attname, null, a.attacl
      from relations r join pg_attribute a on a.attrelid = r.oid where a.attacl is not null
    union all
    select format('function %I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
           case when n.nspname <> 'auth' then p.proowner end, coalesce(p.proacl, acldefault('f', p.proowner))
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.oid in (select s.oid from schemas s)
        or n.nspname = 'public' and p.proname in ('is_read', 'unread_count')
        or n.nspname = 'auth' and p.proname in ('uid', 'role', 'jwt')
), facts (part, fact) as (
    select 'rights', concat_ws(' ', r.object, pg_get_userbyid(r.owner),
                     (select string_agg(a.item::text, ',' order by a.item::text collate "C")
                        from unnest(r.acl) as a (item)))
      from rights r
    union all
    select 'security', concat_ws(' ', r.name, r.relrowsecurity, r.relforcerowsecurity) from relations r
     where r.relkind in ('r', 'p')
    union all
    select 'policy', concat_ws(' ', p.polname, r.name, p.polcmd, p.polpermissive,
                     (select string_agg(o.name, ',' order by o.name collate "C")
                        from (select pg_get_userbyid(role)::text as name from unnest(p.polroles) as role) as o),
                     pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
      from pg_policy p join relations r on r.oid = p.polrelid
      join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
     -- Policies of others stay, and `doctor` lists them.
     where p.polname || ' on ' || n.nspname || '.' || c.relname = any ($2::text[])
    union all
    select 'role', concat_ws(' ', w.name, r.oid is not null, r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolinherit)
      from unnest(array['anon', 'authenticated', 'service_role', 'postline_feed', 'postline_accounts',
                        'postline_sender']) as w (name)
      left join pg_roles r on r.rolname = w.name
    union all
    select 'code', concat_ws(' ', n.nspname, p.proname, md5(pg_get_functiondef(p.oid)))
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where (n.oid in (select s.oid from schemas s)
            or n.nspname = 'public' and p.proname in ('is_read', 'unread_count')
            or n.nspname = 'auth' and p.proname in ('uid', 'role', 'jwt'))
       and p.prokind in ('f', 'p')
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    union all
    select 'view', concat_ws(' ', r.name, md5(pg_get_viewdef(r.oid))) from relations r where r.relkind = 'v'
    union all
    -- Triggers that call an app's own functions are the app's.
    select 'trigger', concat_ws(' ', r.name, t.tgname, t.tgenabled, md5(pg_get_triggerdef(t.oid)))
      from pg_trigger t join relations r on r.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
     where not t.tgisinternal and p.pronamespace in (select s.oid from schemas s)
    union all
    -- Triggers of foreign keys have names that differ between clusters.
    select 'disabled', concat_ws(' ', r.name, count(*))
      from pg_trigger t join relations r on r.oid = t.tgrelid
     where t.tgisinternal and t.tgenabled <> 'O' group by r.name
    union all
    select 'temporary', '' || has_database_privilege('public', current_database(), 'temporary')
)
select f.part, md5(string_agg(f.fact, chr(10) order by f.fact collate "C")) as digest
  from facts f group by f.part order by f.part
