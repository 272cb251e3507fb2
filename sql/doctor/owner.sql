-- True in each column if the current role has that right. To apply the first migration it must be able to create
-- schemas and roles, later it must be the owner.
select current_user as name,
       has_database_privilege(current_database(), 'create') as may_create,
       (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) as may_make_roles,
       exists (select from pg_namespace where nspname = 'app') as is_migrated,
       coalesce((select pg_has_role(current_user, n.nspowner, 'USAGE') from pg_namespace n where n.nspname = 'app'),
                false) as owns
