-- Those of the version before, which took fewer params: a call of its nodes finds these.
drop function if exists api.change_username(text);
drop function if exists api.set_avatar(text, text, text);

create or replace function api.me() returns json
language plpgsql stable set search_path = '' as $$
declare
    me uuid := app.caller();
    answer json;
begin
    select m.object into answer from app.me_objects m where m.id = me;
    if answer is null then
        raise exception using errcode = 'PL004', message = 'This account is not known here.';
    end if;
    return answer;
end
$$;

-- A string member of a patch; null clears.
create or replace function app.patched_text(patch jsonb, field text, current text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    if not patch ? field then
        return current;
    elsif pg_catalog.jsonb_typeof(patch -> field) not in ('string', 'null') then
        perform app.refuse_param(field, pg_catalog.format('"%s" is a string.', field));
    end if;
    return patch ->> field;
end
$$;

create or replace function app.patched_date(patch jsonb, field text, current date) returns date
language plpgsql stable set search_path = '' as $$
declare
    given text := app.patched_text(patch, field, current::text);
begin
    if given !~ '^\d{4}-\d{2}-\d{2}$' then
        perform app.refuse_param(field, 'A date is written YYYY-MM-DD.');
    end if;
    begin
        return given::date;
    exception
        when datetime_field_overflow or invalid_datetime_format then
            perform app.refuse_param(field, 'There is no such date.');
    end;
    return null;
end
$$;

create or replace function app.refuse_unknown(patch jsonb, fields text[]) returns void
language plpgsql immutable set search_path = '' as $$
declare
    unknown text;
begin
    if pg_catalog.jsonb_typeof(patch) is distinct from 'object' then
        perform app.refuse_param('patch', 'A change is an object.');
    end if;
    select key into unknown from pg_catalog.jsonb_object_keys(patch) as key where key <> all (fields) limit 1;
    if unknown is not null then
        perform app.refuse_param(unknown, pg_catalog.format('There is no "%s" to set.', unknown));
    end if;
end
$$;

-- The caller, with its profile's row locked, which is the lock of all the user's data, and in the version that it
-- knows.
create or replace function app.locked_caller(if_version bigint default null) returns uuid
language plpgsql set search_path = '' as $$
declare
    me uuid := app.caller();
    current_version bigint;
begin
    select p.version into current_version from public.user_profiles p where p.id = me for no key update;
    if not found then
        raise exception using errcode = 'PL004', message = 'This account is not known here.';
    elsif if_version <> current_version then
        raise exception using errcode = 'PL011', message = 'Your profile was changed meanwhile.',
            detail = '{"current":' || api.me()::text || '}';
    end if;
    return me;
end
$$;

-- Members of `patch` are set, null clears, what is absent stays; all or nothing.
create or replace function api.update_me(patch jsonb, if_version bigint default null) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid;
    private public.user_private;
begin
    perform app.refuse_unknown(patch, array[
        'full_name', 'bio', 'website', 'location', 'language_code', 'phone_number', 'date_of_birth',
        'preferred_unit_system', 'preferences']);
    me := app.locked_caller(if_version);
    select * into private from public.user_private p where p.id = me;

    if patch ? 'full_name' and patch -> 'full_name' = 'null' then
        perform app.refuse_param('full_name', 'A name cannot be empty.');
    end if;
    if patch ?| array['full_name', 'bio', 'website', 'location', 'language_code'] then
        update public.user_profiles p
           set full_name = app.patched_text(patch, 'full_name', p.full_name),
               bio = app.patched_text(patch, 'bio', p.bio),
               website = app.patched_text(patch, 'website', p.website),
               location = app.patched_text(patch, 'location', p.location),
               language_code = app.patched_text(patch, 'language_code', p.language_code)
         where p.id = me;
    end if;

    if patch ?| array['phone_number', 'date_of_birth', 'preferred_unit_system', 'preferences'] then
        if patch ? 'preferred_unit_system' then
            private.preferred_unit_system := coalesce(app.patched_text(patch, 'preferred_unit_system', null), 'metric');
            if private.preferred_unit_system not in ('metric', 'imperial') then
                perform app.refuse_param('preferred_unit_system', 'A unit system is "metric" or "imperial".');
            end if;
        end if;
        if patch ? 'preferences' then
            if pg_catalog.jsonb_typeof(patch -> 'preferences') not in ('object', 'null') then
                perform app.refuse_param('preferences', 'Preferences are an object.');
            end if;
            private.preferences := case when patch -> 'preferences' = 'null' then '{}' else (
                select coalesce(pg_catalog.jsonb_object_agg(merged.key, merged.value), '{}')
                  from pg_catalog.jsonb_each(private.preferences || (patch -> 'preferences')) merged
                 where merged.value <> 'null') end;
        end if;
        update public.user_private p
           set phone_number = app.patched_text(patch, 'phone_number', p.phone_number),
               date_of_birth = app.patched_date(patch, 'date_of_birth', p.date_of_birth),
               preferred_unit_system = private.preferred_unit_system,
               preferences = private.preferences
         where p.id = me;
    end if;
    return api.me();
end
$$;

create or replace function api.update_physical(patch jsonb, if_version bigint default null) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid;
begin
    perform app.refuse_unknown(patch, array['biological_sex', 'height_cm', 'date_of_birth']);
    if app.patched_text(patch, 'biological_sex', null) not in ('male', 'female', 'other') then
        perform app.refuse_param('biological_sex', 'A sex is "male", "female" or "other".');
    elsif pg_catalog.jsonb_typeof(patch -> 'height_cm') not in ('number', 'null') then
        perform app.refuse_param('height_cm', '"height_cm" is a number.');
    elsif (patch ->> 'height_cm')::numeric not between 30 and 300 then
        perform app.refuse_param('height_cm', 'A height lies between 30 and 300 cm.');
    end if;
    me := app.locked_caller(if_version);
    update public.user_private p
       set biological_sex = app.patched_text(patch, 'biological_sex', p.biological_sex),
           height_cm = case when patch ? 'height_cm' then (patch ->> 'height_cm')::numeric else p.height_cm end,
           date_of_birth = app.patched_date(patch, 'date_of_birth', p.date_of_birth)
     where p.id = me;
    return api.me();
end
$$;

create or replace function api.change_username(username text, if_version bigint default null) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid := app.locked_caller(if_version);
begin
    if username is null then
        perform app.refuse_param('username', 'A username can be changed, but not be given up.');
    end if;
    begin
        update public.user_profiles p set username = change_username.username where p.id = me;
    exception when unique_violation then
        perform app.refuse_username();
    end;
    return api.me();
end
$$;

-- Takes the one that its type needs, and nothing with it.
create or replace function api.set_avatar(
    avatar_type text, avatar_id text default null, avatar_url text default null, if_version bigint default null)
returns json
language plpgsql set search_path = '' as $$
declare
    me uuid := app.locked_caller(if_version);
begin
    if avatar_type not in ('built_in', 'custom') then
        perform app.refuse_param('avatar_type', 'An avatar is of type "built_in" or "custom", or null.');
    elsif avatar_id is not null and avatar_type is distinct from 'built_in' then
        perform app.refuse_param('avatar_id', 'An "avatar_id" is of a built-in avatar.');
    elsif avatar_url is not null and avatar_type is distinct from 'custom' then
        perform app.refuse_param('avatar_url', 'An "avatar_url" is of a custom avatar.');
    elsif avatar_type = 'built_in' and not exists (
            select from public.built_in_avatars a where a.id = set_avatar.avatar_id) then
        perform app.refuse_param('avatar_id', 'There is no such built-in avatar.');
    elsif avatar_type = 'custom' and not coalesce(app.is_https(avatar_url), false) then
        perform app.refuse_param('avatar_url', 'An avatar is an https address of at most 2,048 bytes.');
    end if;
    update public.user_profiles p
       set avatar_type = set_avatar.avatar_type, avatar_id = set_avatar.avatar_id, avatar_url = set_avatar.avatar_url
     where p.id = me;
    return api.me();
end
$$;
