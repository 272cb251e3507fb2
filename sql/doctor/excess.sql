-- Rights on what is ours that nobody was given by us. $1: the tables of ours.
select r.rolname || ' may write or read ' || n.nspname || '.' || c.relname as excess
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_roles r on r.rolname in ('anon', 'postline_accounts')
 where (n.nspname || '.' || c.relname = any ($1::text[]) or n.nspname = 'rest' and c.relkind = 'v')
   and (has_any_column_privilege(r.oid, c.oid, 'insert, update') or has_table_privilege(r.oid, c.oid, 'delete')
        or (n.nspname || '.' || c.relname <> 'public.built_in_avatars' or r.rolname <> 'anon')
           and has_any_column_privilege(r.oid, c.oid, 'select'))
union all
select 'everybody may call ' || n.nspname || '.' || p.proname
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname in ('app', 'api', 'accounts', 'feed') and has_function_privilege('public', p.oid, 'execute')
union all
select r.rolname || ' may call ' || n.nspname || '.' || p.proname
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  join pg_roles r on r.rolname in ('anon', 'authenticated')
 where n.nspname in ('accounts', 'feed') and has_function_privilege(r.oid, p.oid, 'execute')
   and not has_function_privilege('public', p.oid, 'execute')
order by excess
