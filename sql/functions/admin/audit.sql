-- An operator's word: `postline admin`. These functions run with the rights of whoever calls them, and only the owner
-- may. What they answer is what `--json` prints.
--
-- They refuse by codes of their own: PA001 an argument that cannot be used, PA002 there is no such thing, PA003 it may
-- be one of several, PA004 that cannot be done to it.

-- Notes an order, in its own transaction. Nothing stands in `detail` that a deletion would have to erase.
create or replace function admin.record_action(operator text, action text, user_id uuid, detail jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(octet_length(operator) between 1 and 200 and operator !~ '[\u0001-\u001f\u007f]', false) then
        raise exception using errcode = 'PA001',
            message = 'Who gives the order is not said: give --as NAME, of at most 200 bytes.';
    end if;
    insert into admin.audit (operator, action, user_id, detail)
    values (record_action.operator, record_action.action, record_action.user_id,
            pg_catalog.jsonb_strip_nulls(record_action.detail));
end
$$;

-- What is noted stays.
create or replace function admin.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'restrict_violation', message = 'The audit is added to and never changed.';
end
$$;
create or replace trigger refuse_change before update or delete or truncate on admin.audit
    for each statement execute function admin.refuse_change();

-- The newest orders first; of one user where `who` is one.
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

create or replace function admin.check_limit(most integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(most between 1 and 1000, false) then
        raise exception using errcode = 'PA001', message = 'A limit is between 1 and 1000.';
    end if;
end
$$;

-- An id, or a refusal that says of what.
create or replace function admin.checked_id(value text, what text) returns uuid
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(value ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', false) then
        raise exception using errcode = 'PA001',
            message = pg_catalog.format('That is no id of a %s: %s.', what, pg_catalog.left(value, 80));
    end if;
    return value::uuid;
end
$$;

-- An address as it is shown: enough to know it again, and not to write to it.
create or replace function admin.masked_email(email text, in_full boolean) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return case when in_full then email else pg_catalog.regexp_replace(email, '^(.).*(@[^@]*)$', '\1…\2') end;
end
$$;

-- A time as it is written, also one that is for ever.
create or replace function admin.utc(value timestamptz) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return case when value is not null then app.utc(least(value, '9999-12-31T23:59:59Z')) end;
end
$$;
