-- Row-level security of our tables. $1: the tables that policies.sql names; the result also has all others of our
-- schemas, and auth.users if Postline created it, so that its owner is that of the ledger.
select coalesce(there.name, wanted.name) as name,
       there.name is not null as is_there,
       coalesce(there.relrowsecurity, false) as has_security,
       coalesce(there.relforcerowsecurity, false) as is_forced
  from unnest($1::text[]) as wanted (name)
  full join (
      select n.nspname || '.' || c.relname as name, c.relrowsecurity, c.relforcerowsecurity
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p')
         and (n.nspname in ('app', 'api', 'accounts', 'feed', 'admin')
              or n.nspname || '.' || c.relname = any ($1::text[])
              or n.nspname = 'auth' and c.relname = 'users'
                 and c.relowner = (select l.relowner from pg_class l join pg_namespace a on a.oid = l.relnamespace
                                    where a.nspname = 'app' and l.relname = 'migrations'))
  ) as there on there.name = wanted.name
 order by name
