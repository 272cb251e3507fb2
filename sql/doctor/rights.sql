-- The rights that the service's roles need and lack: on schemas, on functions, and on tables that have a policy for the
-- role, which is useless without. $1: our tables.
with wanted_schemas (role, schema) as (
    values ('anon', 'api'), ('authenticated', 'public'), ('authenticated', 'app'), ('authenticated', 'api'),
           ('authenticated', 'rest'), ('postline_feed', 'public'), ('postline_feed', 'app'), ('postline_feed', 'feed'),
           ('postline_accounts', 'accounts'), ('postline_sender', 'public'), ('postline_sender', 'app'),
           ('anon', 'auth'), ('authenticated', 'auth')
), callers (role, schema) as (
    values ('authenticated', 'api'), ('postline_feed', 'feed'), ('postline_accounts', 'accounts')
)
select r.rolname || ' may not use the schema ' || n.nspname as lack
  from wanted_schemas w join pg_roles r on r.rolname = w.role join pg_namespace n on n.nspname = w.schema
 where not has_schema_privilege(r.oid, n.oid, 'usage')
union all
select r.rolname || ' may not call ' || n.nspname || '.' || p.proname
  from callers w join pg_roles r on r.rolname = w.role join pg_namespace n on n.nspname = w.schema
  join pg_proc p on p.pronamespace = n.oid
 where not has_function_privilege(r.oid, p.oid, 'execute')
union all
select r.rolname || ' may not call ' || w.function
  from (values ('anon', 'api.avatars'), ('postline_sender', 'app.send_messages'), ('authenticated', 'auth.uid'))
         as w (role, function)
  join pg_roles r on r.rolname = w.role
  cross join pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname || '.' || p.proname = w.function
   and not has_function_privilege(r.oid, p.oid, 'execute')
union all
select distinct r.rolname || ' may not ' || w.privilege || ' on ' || n.nspname || '.' || c.relname
  from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_roles r on r.oid = any (p.polroles)
  cross join lateral (
      select case p.polcmd when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'select' end
  ) as w (privilege)
 where n.nspname || '.' || c.relname = any ($1::text[])
   and not case w.privilege when 'delete' then has_table_privilege(r.oid, c.oid, 'delete')
                            else has_any_column_privilege(r.oid, c.oid, w.privilege) end
union all
select r.rolname || ' may not select on ' || n.nspname || '.' || c.relname
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_roles r on r.rolname = 'authenticated' or r.rolname = 'postline_feed' and n.nspname = 'app'
       or r.rolname = 'postline_sender' and n.nspname = 'app' and c.relname = 'sender_objects'
 where n.nspname in ('app', 'rest') and c.relkind = 'v' and not has_table_privilege(r.oid, c.oid, 'select')
order by lack
