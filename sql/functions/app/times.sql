-- A time as the protocol has it, RFC 3339, from 1970 to 9999; null for null.
create or replace function app.checked_time(field text, value text) returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if value !~ ('^(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?'
                 '([Zz]|[+-][0-9]{2}:[0-9]{2})$') then
        perform app.refuse_param(field, 'A time has the form 2026-11-20T10:00:00Z, and is from 1970 to 9999.');
    end if;
    return value::timestamptz;
exception
    when datetime_field_overflow or invalid_datetime_format or invalid_parameter_value
         or invalid_time_zone_displacement_value then
        perform app.refuse_param(field, 'There is no such time.');
end
$$;
