-- The limits and the present numbers of connections: of the server, the database and the current role (-1: no limit).
select current_setting('max_connections')::integer
         - current_setting('superuser_reserved_connections')::integer
         - coalesce(current_setting('reserved_connections', true)::integer, 0) as allowed,
       (select sum(numbackends) from pg_stat_database) as used,
       (select datconnlimit from pg_database where datname = current_database()) as database_limit,
       (select numbackends from pg_stat_database where datname = current_database()) as database_used,
       r.rolconnlimit as role_limit,
       (select count(*) from pg_stat_activity where usesysid = r.oid) as role_used
  from pg_roles r where r.rolname = current_user
