-- Registers a device of the caller for pushes while no app is open: see app.register_device.
create or replace function api.register_device(
    platform text, token text, environment text default 'production', locale text default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.caller();
    if not coalesce(platform in ('apns', 'fcm', 'webhook'), false) then
        perform app.refuse_param('platform', '"platform" must be "apns", "fcm" or "webhook".');
    elsif not coalesce(pg_catalog.octet_length(token) between 1 and 2048, false) then
        perform app.refuse_param('token', '"token" must be 1 to 2048 bytes long.');
    elsif not coalesce(environment in ('production', 'sandbox'), true) then
        perform app.refuse_param('environment', '"environment" must be "production" or "sandbox".');
    end if;
    return ('{"id":"' || app.register_device(
                platform, token, coalesce(environment, 'production'), locale) || '"}')::json;
end
$$;

-- Returns the caller's devices, the newest registration first.
create or replace function api.devices() returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (
        select ('{"devices":[' || coalesce(pg_catalog.string_agg(
                    pg_catalog.row_to_json(w)::text, ',' order by d.registered_at desc, d.id), '') || ']}')::json
          from app.devices d
         cross join lateral (
                select d.id, d.platform, pg_catalog.right(d.token, 6) as token, d.environment, d.locale,
                       app.utc(d.created_at) as created_at) w
         where d.user_id = app.caller());
end
$$;

-- Removes a device of the caller. Raises the same error for a missing device and for another user's.
create or replace function api.remove_device(id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.devices d where d.id = remove_device.id and d.user_id = app.caller();
    if not found then
        perform app.refuse_hidden('There is no such device.');
    end if;
    return '{}'::json;
end
$$;
