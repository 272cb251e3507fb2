-- Texts for people are stored in one form: NFC and trimmed.

-- Returns a text in that form. A text longer than 2,000 characters is only trimmed: normalization shortens a text to a
-- quarter at most, so it exceeds every field's bound (at most 500 characters) anyway, and PostgreSQL needs minutes,
-- without reacting to timeouts, to normalize 64 kB of accents.
create or replace function app.normalized(value text) returns text
language sql immutable parallel safe
begin atomic
    select case when pg_catalog.char_length(t.trimmed) <= 2000 then pg_catalog.normalize(t.trimmed, 'NFC')
                else t.trimmed end
      from (select pg_catalog.btrim(value,
                e' \t\n\u000b\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009'
                '\u200a\u2028\u2029\u202f\u205f\u3000') as trimmed) t;
end;

-- Returns a text with A to Z in lower case, in any locale. Usernames and addresses are compared so.
create or replace function app.lower_ascii(value text) returns text
language sql immutable parallel safe
begin atomic
    select pg_catalog.lower(value collate pg_catalog."C");
end;

-- Returns true if a text shows nothing: only blanks, controls, characters without width or ink, and accents without a
-- base character. scripts/unicode-tables prints the characters.
create or replace function app.is_blank(value text) returns boolean
language sql immutable parallel safe
begin atomic
    select value operator(pg_catalog.~)
        '^[\u0001-\u0020\u007f-\u00a0\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5'
        '\u05c7\u0610-\u061a\u061c\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711'
        '\u0730-\u074a\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b'
        '\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff\u0951-\u0954\u09fe\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f82-\u0f83'
        '\u0f86-\u0f87\u0fc6\u108d\u115f-\u1160\u135d-\u135f\u1680\u17b4-\u17b5\u17dd\u180b-\u180f\u18a9'
        '\u1939-\u193b\u1a17-\u1a18\u1a75-\u1a7c\u1a7f\u1ab0-\u1abd\u1abf-\u1ace\u1b6b-\u1b73\u1cd0-\u1cd2'
        '\u1cd4-\u1ce0\u1ce2-\u1ce8\u1ced\u1cf4\u1cf8-\u1cf9\u1dc0-\u1dff\u2000-\u200f\u2028-\u202f\u205f-\u206f'
        '\u20d0-\u20dc\u20e1\u20e5-\u20f0\u2800\u2cef-\u2cf1\u2de0-\u2dff\u3000\u302a-\u302f\u3164\ua66f'
        '\ua674-\ua67d\ua69e-\ua69f\ua6f0-\ua6f1\ua8e0-\ua8f1\ua92b-\ua92d\uaab0\uaab2-\uaab4\uaab7-\uaab8'
        '\uaabe-\uaabf\uaac1\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffc\U000101fd\U000102e0'
        '\U00010376-\U0001037a\U00010a0d\U00010a0f\U00010a38-\U00010a3a\U00010ae5-\U00010ae6\U00010d24-\U00010d27'
        '\U00010eab-\U00010eac\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011100-\U00011102\U00011366-\U0001136c'
        '\U00011370-\U00011374\U0001145e\U00013430-\U0001343f\U00013441-\U00013442\U00016af0-\U00016af4'
        '\U00016b30-\U00016b36\U0001bc9e\U0001bca0-\U0001bca3\U0001d159\U0001d165-\U0001d169\U0001d16d-\U0001d182'
        '\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001e000-\U0001e006\U0001e008-\U0001e018'
        '\U0001e01b-\U0001e021\U0001e023-\U0001e024\U0001e026-\U0001e02a\U0001e130-\U0001e136\U0001e2ae'
        '\U0001e2ec-\U0001e2ef\U0001e8d0-\U0001e8d6\U0001e944-\U0001e949\U000e0000-\U000e0fff]*$';
end;

-- Returns the characters that names cannot contain: controls, line separators, text directions and noncharacters.
create or replace function app.control_characters() returns text
language sql immutable parallel safe
begin atomic
    select
        '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff'
        '\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U0004fffe-\U0004ffff'
        '\U0005fffe-\U0005ffff\U0006fffe-\U0006ffff\U0007fffe-\U0007ffff\U0008fffe-\U0008ffff'
        '\U0009fffe-\U0009ffff\U000afffe-\U000affff\U000bfffe-\U000bffff\U000cfffe-\U000cffff'
        '\U000dfffe-\U000dffff\U000efffe-\U000effff\U000ffffe-\U000fffff\U0010fffe-\U0010ffff]';
end;

-- Returns the characters beyond ASCII that URLs and addresses cannot contain: blanks, controls, text directions,
-- characters without ink, and private use.
create or replace function app.invisible_characters() returns text
language sql immutable parallel safe
begin atomic
    select
        '[\u0080-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f'
        '\u205f-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\uffff'
        '\U000e0000-\U0010ffff]';
end;

-- Returns true if a text contains one of app.control_characters().
create or replace function app.has_control(value text) returns boolean
language sql immutable parallel safe
begin atomic
    select value operator(pg_catalog.~) app.control_characters();
end;

-- Returns a name or title, normalized. Raises invalid_params for the field if it is invalid.
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
        perform app.refuse_param(field,
            label || ' cannot contain control or text-direction characters, line separators or noncharacters.');
    end if;
    return name;
end
$$;

-- Returns what is usable of a name from another program's data, or null; never raises. Characters that names cannot
-- contain become blanks. Characters at the start that show nothing are dropped, so that the rest fits.
create or replace function app.salvaged_name(value text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    name text := app.normalized(regexp_replace(left(btrim(value), 2000), app.control_characters() || '+', ' ', 'g'));
begin
    if char_length(name) > 100 then
        while app.is_blank(left(name, 1)) and name <> '' loop
            name := substr(name, 2);
        end loop;
        name := app.normalized(left(name, 100));
    end if;
    return case when not app.is_blank(name) and char_length(name) <= 100 then name end;
end
$$;

-- Returns true if a language tag repeats a variant or a singleton, in any case (RFC 5646, 2.2.5 and 2.2.6). After "x"
-- it is private use, and may be anything.
create or replace function app.repeats_subtag(tag text) returns boolean
language plpgsql strict immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    subtags text[] := string_to_array(regexp_replace(lower(tag collate "C"), '(^|-)x-.*$', ''), '-');
    is_extended boolean := false;
    seen text[] := '{}';
begin
    for i in 2 .. cardinality(subtags) loop
        is_extended := is_extended or length(subtags[i]) = 1;
        continue when not (length(subtags[i]) = 1
                           or not is_extended and subtags[i] ~ '^([a-z0-9]{5,8}|[0-9][a-z0-9]{3})$');
        if subtags[i] = any (seen) then
            return true;
        end if;
        seen := seen || subtags[i];
    end loop;
    return false;
end
$$;

-- Returns a language tag (BCP 47) of at most 35 characters, or null if the text does not begin with a valid one. "_" is
-- read as "-", and a suffix that no tag has, such as ".UTF-8" or "@euro", is dropped. A longer tag is shortened as in
-- RFC 4647, 3.4: by subtags from the end, never leaving a single character last.
create or replace function app.language_tag(value text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    tag text := substring(replace(btrim(left(value, 1000)), '_', '-')
        from '^((?:[A-Za-z]{2,8}|[xXiI](?=-))(?:-[A-Za-z0-9]{1,8})*)(?![A-Za-z0-9])');
begin
    if app.repeats_subtag(tag) then
        return null;
    end if;
    -- After "x" a single character is a normal subtag (RFC 5646, 2.1).
    while char_length(tag) > 35 or tag ~ '-[A-Za-z0-9]$' and tag !~* '(^|-)x-' loop
        tag := regexp_replace(tag, '-[^-]*$', '');
    end loop;
    return case when char_length(tag) > 1 then tag end;
end
$$;
