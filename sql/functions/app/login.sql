-- Grants the service's roles to a login role, which inherits none of them and sets one for each request. Must run as a
-- role that may grant them, for each login role, after each time this file is applied.
create or replace function app.grant_service_roles(login name) returns void
language plpgsql set search_path = pg_catalog, pg_temp set client_min_messages = warning as $$
declare
    name text;
begin
    foreach name in array array['anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender'] loop
        if pg_catalog.current_setting('server_version_num')::integer >= 160000 then
            execute pg_catalog.format('grant %I to %I with inherit false, set true', name, login);
        else
            execute pg_catalog.format('grant %I to %I', name, login);
        end if;
    end loop;
    if (select r.rolinherit from pg_catalog.pg_roles r where r.rolname = login) then
        execute pg_catalog.format('alter role %I noinherit', login);
    end if;
end
$$;

-- Creates the service's login role if it is missing, and grants the roles. It has no rights of its own. A null password
-- means none.
create or replace function app.create_login_role(login name, password text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (select from pg_catalog.pg_roles r where r.rolname = login) then
        begin
            execute pg_catalog.format('create role %I login noinherit password %L', login, password);
        exception when duplicate_object or unique_violation then
            -- A migration of another database of the cluster has just created it.
            null;
        end;
    end if;
    perform app.grant_service_roles(login);
end
$$;
