-- The policies on our tables ($1), as `name on table`.
select p.polname || ' on ' || n.nspname || '.' || c.relname as policy
  from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
 where n.nspname || '.' || c.relname = any ($1::text[])
 order by policy
