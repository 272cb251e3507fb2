-- Returns the time for rules about days and tokens: username cooldown and hold, reuse window, expiry. Tests shift it by
-- the row `clock_offset` of app.settings, which only the owner can write. A setting of the session could be set by
-- anyone.
create or replace function app.now() returns timestamptz
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.now() + coalesce(
        (select s.value::interval from app.settings s where s.name = 'clock_offset'), interval '0');
end
$$;
