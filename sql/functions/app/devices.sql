-- Registers a device of the caller for its session, if this database has that session. A token that the caller has
-- registered already stays the same device; a token of another user becomes a new one. A caller has at most ten
-- devices, a guest two; the ones registered first are removed. A locale that is no language tag is none: it costs a
-- translation, not the pushes.
create or replace function app.register_device(platform text, token text, environment text, locale text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    session uuid;
    ended timestamptz;
    device uuid;
begin
    -- Locks the session against its end, which deletes its devices: the later of the two sees the other.
    select s.id, s.revoked_at into session, ended from app.sessions s
     where s.id::text = auth.jwt() ->> 'session_id' and s.user_id = me for share;
    if ended is not null then
        raise exception using errcode = 'PL006', message = 'This session has ended. Sign in again.';
    end if;
    perform 1 from public.user_profiles p where p.id = me and not p.is_deleted for key share;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    while device is null loop
        delete from app.devices d
         where d.platform = register_device.platform and d.token = register_device.token and d.user_id <> me;
        insert into app.devices as d (user_id, session_id, platform, token, environment, locale)
        values (me, session, register_device.platform, register_device.token, register_device.environment,
                app.language_tag(register_device.locale))
        on conflict on constraint devices_one_token do update
           set session_id = excluded.session_id, environment = excluded.environment, locale = excluded.locale,
               registered_at = pg_catalog.now()
         where d.user_id = me
        returning d.id into device;
    end loop;
    delete from app.devices d
     where d.id in (select o.id from app.devices o where o.user_id = me and o.id <> device
                     order by o.registered_at desc, o.id
                    offset case when (select p.is_guest from public.user_profiles p where p.id = me) then 1 else 9 end);
    return device;
end
$$;

-- Deletes the devices of a session that ends.
create or replace function app.delete_session_devices() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.devices d where d.session_id = new.id;
    return null;
end
$$;
create or replace trigger forget_devices after update on app.sessions
    for each row when (new.revoked_at is not null and old.revoked_at is null)
    execute function app.delete_session_devices();
