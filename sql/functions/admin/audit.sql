-- Administration (`postline admin`). These functions run with the caller's rights, and only the owner may call them.
-- Their results are what `--json` prints.
--
-- They raise their own codes: PA001 invalid argument, PA002 not found, PA003 ambiguous, PA004 not possible.

-- Records an operator's action, in its transaction. `detail` must not contain anything that a deletion has to erase.
create or replace function admin.record_action(operator text, action text, user_id uuid, detail jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(octet_length(operator) between 1 and 200 and operator !~ '[\u0001-\u001f\u007f]', false) then
        raise exception using errcode = 'PA001',
            message = 'The operator''s name is missing or too long: give --as NAME of at most 200 bytes.';
    end if;
    insert into admin.audit (operator, action, user_id, detail)
    values (record_action.operator, record_action.action, record_action.user_id,
            pg_catalog.jsonb_strip_nulls(record_action.detail));
end
$$;

-- Refuses changes of the audit.
create or replace function admin.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'restrict_violation',
        message = 'Rows of the audit log cannot be changed or deleted.';
end
$$;
create or replace trigger refuse_change before update or delete or truncate on admin.audit
    for each statement execute function admin.refuse_change();

-- Returns the newest actions first, of one user if `who` is not null.
create or replace function admin.log(who text, most integer) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    whom uuid := case when who is not null then admin.user_id(who) end;
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('orders', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'id', a.id, 'at', app.utc(a.at), 'operator', a.operator, 'database_role', a.database_role,
                   'action', a.action, 'user_id', a.user_id, 'detail', a.detail) order by a.id desc)
          from (select * from admin.audit l where whom is null or l.user_id = whom
                 order by l.id desc limit most) a), '[]'),
        'total', (select count(*) from admin.audit l where whom is null or l.user_id = whom));
end
$$;

-- Raises PA001 unless a limit is valid.
create or replace function admin.check_limit(most integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(most between 1 and 1000, false) then
        raise exception using errcode = 'PA001', message = 'The limit must be 1 to 1000.';
    end if;
end
$$;

-- Returns an id, or raises PA001.
create or replace function admin.checked_id(value text, what text) returns uuid
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(value ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', false) then
        raise exception using errcode = 'PA001',
            message = pg_catalog.format('The id of a %s must be a UUID (got "%s").', what, pg_catalog.left(value, 80));
    end if;
    return value::uuid;
end
$$;

-- Returns an address masked: enough to recognize it, and not to write to it.
create or replace function admin.masked_email(email text, in_full boolean) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return case when in_full then email else pg_catalog.regexp_replace(email, '^(.).*(@[^@]*)$', '\1…\2') end;
end
$$;

-- Returns a time as text, also an infinite one.
create or replace function admin.utc(value timestamptz) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return case when value is not null then app.utc(least(value, '9999-12-31T23:59:59Z')) end;
end
$$;
