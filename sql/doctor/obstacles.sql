-- The reasons why a migration cannot be applied, one sentence each; no row if there are none. It reads only the
-- catalogue, so it can run before the first statement that writes. $1: the relations, types and functions that the
-- pending migrations create; $2: the schemas; $3: the extensions; $4: Postline's tables.
with me as (
    select r.oid, r.rolname as name, r.rolsuper as is_super, r.rolsuper or r.rolcreaterole as may_make_roles
      from pg_roles r where r.rolname = current_user
), schemas as (
    select s.name, n.oid from unnest($2::text[]) as s (name) left join pg_namespace n on n.nspname = s.name
), emptied as (
    -- The ledger is Postline's and empty, but all the objects exist.
    select from pg_class c
     where c.oid = to_regclass('app.migrations') and 'app.settings' = any ($1::text[])
       and not exists (select from unnest($4::text[]) as t (name) where to_regclass(t.name) is null)
), account as (
    select c.oid, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'auth' and c.relname = 'users'
), needed (name, types) as (
    -- The columns of an account that functions and triggers use, with the types that work.
    select c.name, t.types
      from (values ('{uuid}'::text[], '{id,instance_id}'::text[]),
                   ('{boolean}', '{is_sso_user,is_anonymous}'),
                   ('{jsonb}', '{raw_app_meta_data,raw_user_meta_data}'),
                   ('{timestamp with time zone}', '{email_confirmed_at,last_sign_in_at,created_at,updated_at,
                     banned_until,deleted_at}'),
                   ('{text,character varying,citext}', '{aud,role,email,encrypted_password,confirmation_token,
                     recovery_token,email_change_token_new,email_change,email_change_token_current,phone,phone_change,
                     phone_change_token,reauthentication_token}')) as t (types, names)
     cross join unnest(t.names) as c (name)
), columns as (
    select a.attname::text as name, pg_catalog.regexp_replace(format_type(a.atttypid, null), '^.*\.', '') as type,
           a.attnotnull and not a.atthasdef and a.attidentity = '' as must_be_given
      from account u join pg_attribute a on a.attrelid = u.oid and a.attnum > 0 and not a.attisdropped
)
select 0 as place,
       'The database accepts no writes: it is a standby, or default_transaction_read_only is on.' as obstacle
 where pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean
union all
select 4, format('The database''s encoding is %1$s, and Postline needs UTF8: create the database with '
                 'create database %2$I encoding ''UTF8'' template template0;',
                 pg_encoding_to_char(d.encoding), d.datname)
  from pg_database d where d.datname = current_database() and pg_encoding_to_char(d.encoding) <> 'UTF8'
union all
select 0, 'There is no schema public, in which Postline has its tables: create schema public;'
 where to_regnamespace('public') is null
union all
select 1, 'The database has Postline''s tables and no data, as after a restore of the schema alone: restore the whole '
          'dump into an empty database, or let Postline start with an empty one.'
  from emptied
union all
select 1, format('%s exists and is not Postline''s, which needs the name: rename it, move it to another schema, '
                          'or let Postline have a database of its own.', w.name)
  from unnest($1::text[]) as w (name)
 where not exists (select from emptied)
   and (to_regclass(w.name) is not null or to_regtype(w.name) is not null
        or exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                    where n.nspname || '.' || p.proname = w.name))
union all
select 1, format('The schema %s exists and holds objects that are not Postline''s (%s), which needs the name: '
                 'rename it, or let Postline have a database of its own.', s.name, o.names)
  from schemas s
 cross join lateral (
       select string_agg(f.name, ', ' order by f.name) as names from (
           select c.relname::text from pg_class c
            where c.relnamespace = s.oid and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S', 'c')
           union select p.proname from pg_proc p where p.pronamespace = s.oid
           union select t.typname from pg_type t where t.typnamespace = s.oid and t.typtype in ('d', 'e', 'r')
           order by 1 limit 3) as f (name)) as o
 where o.names is not null and not exists (select from emptied)
union all
select 2, 'auth.users is not a table: Postline needs Supabase''s table of accounts there, or none.'
  from account u where u.relkind not in ('r', 'p')
union all
select 2, format('auth.users lacks %s %s, which Postline needs: bring Supabase''s auth server up to date, or add %s.',
                 case count(*) when 1 then 'the column' else 'the columns' end,
                 string_agg(n.name || ' (' || n.types[1] || ')', ', ' order by n.name),
                 case count(*) when 1 then 'it' else 'them' end)
  from account u cross join needed n
 where not exists (select from columns c where c.name = n.name)
having count(*) > 0
union all
select 2, format('The column %s of auth.users has the type %s, and Postline needs %s.', n.name, c.type, n.types[1])
  from needed n join columns c on c.name = n.name where not c.type = any (n.types)
union all
select 2, format('auth.users demands a value in %s, which Postline does not know: let it be null, or give it '
                 'a default.',
                 string_agg(c.name, ', ' order by c.name))
  from columns c where c.must_be_given and c.name not in (select n.name from needed n)
having count(*) > 0
union all
select 2, format('The function auth.%s() returns %s, and Postline needs %s.', w.name, format_type(p.prorettype, null),
                 w.type)
  from (values ('uid', 'uuid'), ('role', 'text'), ('jwt', 'jsonb')) as w (name, type)
  join pg_proc p on p.oid = to_regprocedure('auth.' || w.name || '()')
 where format_type(p.prorettype, null) <> w.type
union all
select 3, format('The extension %s is not installed on the database server: install the package of PostgreSQL''s '
                 'contributed modules (postgresql-contrib).', e.name)
  from unnest($3::text[]) as e (name)
 where e.name not in (select x.extname from pg_extension x)
   and e.name not in (select v.name from pg_available_extensions v)
union all
select 4, format('The role %s may not create schemas here: grant create on database %I to %I;', me.name,
                 current_database(), me.name)
  from me where exists (select from schemas s where s.oid is null)
            and not has_database_privilege(current_database(), 'create')
union all
select 4, format('The role %1$s may not create tables in the schema public: '
                 'grant create, usage on schema public to %1$I;', me.name)
  from me where exists (select from unnest($1::text[]) as w (name) where w.name like 'public.%')
            and not coalesce(has_schema_privilege(to_regnamespace('public'), 'create'), true)
union all
select 4, format('There is no role %s, and the role %s may not create roles: %s',
                 string_agg(r.name, ', ' order by r.name), me.name,
                 string_agg(format('create role %I nologin noinherit;', r.name), ' ' order by r.name))
  from me, unnest(array['anon', 'authenticated', 'service_role', 'postline_feed', 'postline_accounts',
                        'postline_sender']) as r (name)
 where not me.may_make_roles and to_regrole(r.name) is null
 group by me.name
union all
select 4, format('The role %s may not %s auth.users, which belongs to %s: connect as that role, or grant it.', me.name,
                 string_agg(v.privilege, ', ' order by v.privilege), pg_get_userbyid(c.relowner))
  from me, account u join pg_class c on c.oid = u.oid,
       unnest(array['select', 'insert', 'update', 'references', 'trigger']) as v (privilege)
 where not has_table_privilege(u.oid, v.privilege)
 group by me.name, c.relowner
union all
select 4, format('%s %s not to the role %s: connect as that role, or run as a superuser: reassign owned by %I to %I;',
                 string_agg(t.name, ', ' order by t.name),
                 case count(*) when 1 then 'belongs' else 'belong' end || ' to ' || t.owner || ', and',
                 me.name, t.owner, me.name)
  from me, lateral (
       select n.nspname || '.' || c.relname as name, pg_get_userbyid(c.relowner) as owner
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname || '.' || c.relname = any ($4::text[]) and to_regclass('app.migrations') is not null
          and not n.nspname || '.' || c.relname = any ($1::text[])
          and not pg_has_role(me.oid, c.relowner, 'USAGE')
        order by 1 limit 5) as t
 group by me.name, t.owner
order by place, obstacle
