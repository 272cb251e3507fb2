-- Texts that people read are stored in one form: NFC, trimmed.

create or replace function app.normalized(value text) returns text
language sql immutable parallel safe
begin atomic
    select pg_catalog.btrim(pg_catalog.normalize(value, 'NFC'),
        e' \t\n\u000b\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a'
        '\u2028\u2029\u202f\u205f\u3000');
end;

-- Nothing a person would see: only blanks and characters of no width.
create or replace function app.is_blank(value text) returns boolean
language sql immutable parallel safe
begin atomic
    select value operator(pg_catalog.~)
        '^[\s\u0085\u00a0\u00ad\u115f\u1160\u1680\u180e\u2000-\u200f\u2028\u2029\u202f\u205f\u2060-\u2064'
        '\u3000\u3164\ufe0f\ufeff]*$';
end;

create or replace function app.has_control(value text) returns boolean
language sql immutable parallel safe
begin atomic
    select value operator(pg_catalog.~) '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]';
end;

-- A name or title, normalized, or a refusal that names the field.
create or replace function app.checked_name(field text, value text, label text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    name text := app.normalized(value);
begin
    if name is null then
        return null;
    elsif app.is_blank(name) then
        perform app.refuse_param(field, label || ' cannot be blank.');
    elsif pg_catalog.char_length(name) > 100 then
        perform app.refuse_param(field, label || ' can have at most 100 characters.');
    elsif app.has_control(name) then
        perform app.refuse_param(field, label || ' cannot hold control or text-direction characters.');
    end if;
    return name;
end
$$;

-- A name out of another program's data: what can be kept of it, else null.
create or replace function app.salvaged_name(value text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select case when not app.is_blank(name) then app.normalized(pg_catalog.left(name, 100)) end
      from app.normalized(pg_catalog.regexp_replace(
          value, '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+', ' ', 'g')) as name
$$;

-- An https address of at most 2,048 bytes. Without the two characters that no address has and JSON escapes, it is as
-- long in an answer.
create or replace function app.is_https(value text) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.octet_length(value) operator(pg_catalog.<=) 2048
       and value operator(pg_catalog.~) '^https://[^\s"\\/?#\u0001-\u0020\u007f]+[^\s"\\\u0001-\u0020\u007f]*$';
end;
