-- How a rule says no: SQLSTATE of our own class, a sentence for a person, and what goes into `error.data`.

create or replace function app.refuse_param(field text, message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL001', message = message,
        detail = pg_catalog.json_build_object('field', field)::text;
end
$$;

create or replace function app.refuse_hidden(message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL008', message = message;
end
$$;

create or replace function app.refuse_forbidden(message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL007', message = message;
end
$$;

-- The user that a request runs as.
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
