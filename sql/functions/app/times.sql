-- Returns a time of the protocol (RFC 3339), from 1970 to 9999 in UTC; null for null. Second 60 is the leap second at
-- the end of a month in UTC, and equals the second after it. Digits beyond nanoseconds are ignored.
create or replace function app.checked_time(field text, value text) returns timestamptz
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    parts text[] := regexp_match(value,
        '^((?:19[7-9][0-9]|[2-9][0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[Tt]'
        '([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)([.][0-9]{1,9})?[0-9]*'
        '(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$');
    minutes integer;
    at timestamp;
begin
    if value is null then
        return null;
    elsif parts is null or value ~ ':[0-9]{2}[0-9]' then
        perform app.refuse_param(field,
            pg_catalog.format('"%s" must be a time such as 2026-11-20T10:00:00Z, from 1970 to 9999.', field));
    end if;
    minutes := coalesce((parts[6] || '1')::integer * (parts[7]::integer * 60 + parts[8]::integer), 0);
    -- First the minute in UTC, then the seconds.
    at := parts[1]::date + make_interval(hours => parts[2]::integer, mins => parts[3]::integer - minutes);
    if parts[4] = '60' and (extract(hour from at) <> 23 or extract(minute from at) <> 59
                            or extract(day from at + interval '1 day') <> 1) then
        perform app.refuse_param(field, pg_catalog.format('"%s" is not a valid time.', field));
    end if;
    at := at + (parts[4] || coalesce(parts[5], ''))::numeric * interval '1 second';
    if at < '1970-01-01' or at >= '10000-01-01' then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be from 1970 to 9999.', field));
    end if;
    return at at time zone 'UTC';
exception
    when datetime_field_overflow then
        perform app.refuse_param(field, pg_catalog.format('"%s" is not a valid time.', field));
end
$$;
