-- The time that rules about days and tokens go by: cooldown, hold, reuse window. Tests move it by the row
-- `clock_offset` of app.settings, which the owner alone may write; a setting of the session anybody could set.
create or replace function app.now() returns timestamptz
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.now() + coalesce(
        (select s.value::interval from app.settings s where s.name = 'clock_offset'), interval '0');
end
$$;
