-- Errors of the rules: an SQLSTATE of the class PL, a message for people, and the `error.data` of the response.

-- Raises invalid_params (PL001) for a field.
create or replace function app.refuse_param(field text, message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL001', message = message,
        detail = pg_catalog.json_build_object('field', field)::text;
end
$$;

-- Raises not_found (PL008), also for what exists and the caller may not see.
create or replace function app.refuse_hidden(message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL008', message = message;
end
$$;

-- Raises forbidden (PL007).
create or replace function app.refuse_forbidden(message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL007', message = message;
end
$$;

-- Returns the id of the user who makes the request, or raises unauthenticated (PL002).
create or replace function app.caller() returns uuid
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := auth.uid();
begin
    if me is null then
        raise exception using errcode = 'PL002', message = 'Sign in first.';
    end if;
    return me;
end
$$;
