-- Changes of a user's own data: one function for each kind of data, which enforces its rules and which every operation
-- calls, under the lock of app.locked_caller. If a request nests the data in an object, `path` is the prefix of the
-- field names in errors, such as `avatar.`.

-- Overloads of an earlier version.
drop function if exists app.patched_text(jsonb, text, text);
drop function if exists app.patched_date(jsonb, text, date);
drop function if exists app.refuse_unknown(jsonb, text[]);

-- Returns the caller's id, and locks its profile's row, which is the lock of all its data. Raises version_conflict if
-- the version is not `if_version`.
create or replace function app.locked_caller(if_version bigint default null) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    current_version bigint;
begin
    select p.version into current_version from public.user_profiles p where p.id = me for no key update;
    if not found then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    elsif if_version <> current_version then
        raise exception using errcode = 'PL011',
            message = 'Your profile has changed since this version. Read it again before you change it.',
            detail = '{"current":' || api.me()::text || '}';
    end if;
    return me;
end
$$;

-- Raises invalid_params if a patch is not an object or has a member that is not one of `fields`.
create or replace function app.refuse_unknown(patch jsonb, fields text[], path text default '') returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    whole text := coalesce(nullif(pg_catalog.rtrim(path, '.'), ''), 'patch');
    unknown text;
begin
    if pg_catalog.jsonb_typeof(patch) is distinct from 'object' then
        perform app.refuse_param(whole, pg_catalog.format('"%s" must be an object.', whole));
    end if;
    select key into unknown from pg_catalog.jsonb_object_keys(patch) as key where key <> all (fields) limit 1;
    if unknown is not null then
        perform app.refuse_param(path || unknown, pg_catalog.format('"%s" cannot be set.', path || unknown));
    end if;
end
$$;

-- Returns the new value of a text: that of the patch, where null clears it, or else the present one.
create or replace function app.patched_text(patch jsonb, field text, current text, path text default '') returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if not patch ? field then
        return current;
    elsif pg_catalog.jsonb_typeof(patch -> field) not in ('string', 'null') then
        perform app.refuse_param(path || field, pg_catalog.format('"%s" must be a string.', path || field));
    end if;
    return patch ->> field;
end
$$;

-- Returns the new date of birth: that of the patch, where null clears it, or else the present one.
create or replace function app.patched_date_of_birth(patch jsonb, current date, path text default '') returns date
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    field text := path || 'date_of_birth';
    given text := app.patched_text(patch, 'date_of_birth', null, path);
    value date;
begin
    if not patch ? 'date_of_birth' then
        return current;
    elsif given !~ '^\d{4}-\d{2}-\d{2}$' then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be a date of the form YYYY-MM-DD.', field));
    end if;
    begin
        value := given::date;
    exception
        when datetime_field_overflow or invalid_datetime_format then
            perform app.refuse_param(field, pg_catalog.format('"%s" is not a valid date.', field));
    end;
    perform app.check_date_of_birth(field, value);
    return value;
end
$$;

-- Returns the members that app.change_fields accepts.
create or replace function app.own_fields() returns text[]
language sql immutable parallel safe
begin atomic
    select array['full_name', 'bio', 'website', 'location', 'language_code', 'phone_number', 'date_of_birth',
                 'preferred_unit_system', 'preferences'];
end;

-- Sets the caller's own fields that are members of `patch`; null clears a field.
create or replace function app.change_fields(patch jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    private public.user_private;
begin
    if patch ? 'full_name' and patch -> 'full_name' = 'null' then
        perform app.refuse_param('full_name', '"full_name" must not be empty.');
    end if;
    -- In a statement of its own, since triggers fire on a change of the name.
    if patch ? 'full_name' then
        update public.user_profiles p
           set full_name = app.patched_text(patch, 'full_name', p.full_name)
         where p.id = me;
    end if;
    if patch ?| array['bio', 'website', 'location', 'language_code'] then
        update public.user_profiles p
           set bio = case when patch ? 'bio' then app.patched_text(patch, 'bio', null) else p.bio end,
               website = case when patch ? 'website' then app.patched_text(patch, 'website', null) else p.website end,
               location = case when patch ? 'location' then app.patched_text(patch, 'location', null)
                               else p.location end,
               language_code = case when patch ? 'language_code' then app.patched_text(patch, 'language_code', null)
                                    else p.language_code end
         where p.id = me;
    end if;

    if patch ?| array['phone_number', 'date_of_birth', 'preferred_unit_system', 'preferences'] then
        select * into private from public.user_private p where p.id = me;
        if patch ? 'preferred_unit_system' then
            private.preferred_unit_system := coalesce(app.patched_text(patch, 'preferred_unit_system', null), 'metric');
            if private.preferred_unit_system not in ('metric', 'imperial') then
                perform app.refuse_param('preferred_unit_system',
                    '"preferred_unit_system" must be "metric" or "imperial".');
            end if;
        end if;
        if patch ? 'preferences' then
            if pg_catalog.jsonb_typeof(patch -> 'preferences') not in ('object', 'null') then
                perform app.refuse_param('preferences', '"preferences" must be an object.');
            -- After a typo the user would not be hidden, without noticing it.
            elsif coalesce(patch -> 'preferences' -> 'presence', 'null') not in ('null', '"nobody"', '"contacts"') then
                perform app.refuse_param('preferences',
                    '"presence" in "preferences" must be "nobody", or "contacts" for users who share a conversation.');
            elsif pg_catalog.jsonb_typeof(patch -> 'preferences' -> 'notify_reactions') not in ('boolean', 'null') then
                perform app.refuse_param('preferences', '"notify_reactions" in "preferences" must be true or false.');
            end if;
            private.preferences := case when patch -> 'preferences' = 'null' then '{}' else (
                select coalesce(pg_catalog.jsonb_object_agg(merged.key, merged.value), '{}')
                  from pg_catalog.jsonb_each(private.preferences || (patch -> 'preferences')) merged
                 where merged.value <> 'null') end;
        end if;
        update public.user_private p
           set phone_number = app.patched_text(patch, 'phone_number', p.phone_number),
               date_of_birth = app.patched_date_of_birth(patch, p.date_of_birth),
               preferred_unit_system = private.preferred_unit_system,
               preferences = private.preferences
         where p.id = me;
    end if;
end
$$;

-- Sets the caller's physical data.
create or replace function app.change_physical(patch jsonb, path text default '') returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_unknown(patch, array['biological_sex', 'height_cm', 'date_of_birth'], path);
    if app.patched_text(patch, 'biological_sex', null, path) not in ('male', 'female', 'other') then
        perform app.refuse_param(path || 'biological_sex',
            pg_catalog.format('"%sbiological_sex" must be "male", "female" or "other".', path));
    elsif pg_catalog.jsonb_typeof(patch -> 'height_cm') not in ('number', 'null') then
        perform app.refuse_param(path || 'height_cm', pg_catalog.format('"%sheight_cm" must be a number.', path));
    elsif (patch ->> 'height_cm')::numeric not between 30 and 300 then
        perform app.refuse_param(path || 'height_cm', pg_catalog.format('"%sheight_cm" must be 30 to 300.', path));
    end if;
    update public.user_private p
       set biological_sex = app.patched_text(patch, 'biological_sex', p.biological_sex, path),
           height_cm = case when patch ? 'height_cm' then (patch ->> 'height_cm')::numeric else p.height_cm end,
           date_of_birth = app.patched_date_of_birth(patch, p.date_of_birth, path)
     where p.id = app.caller();
end
$$;

-- Sets the caller's username.
create or replace function app.change_username(username text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if username is null then
        perform app.refuse_param('username', '"username" can be changed but not removed.');
    end if;
    begin
        update public.user_profiles p set username = change_username.username where p.id = app.caller();
    exception when unique_violation then
        perform app.refuse_username();
    end;
end
$$;

-- Sets the caller's avatar, with exactly the members that its type needs. For an uploaded picture `media_id` names it,
-- and `avatar_url` is its address at the node's store.
create or replace function app.change_avatar(avatar jsonb, path text default '') returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    new_type text := app.patched_text(avatar, 'avatar_type', null, path);
    new_id text := app.patched_text(avatar, 'avatar_id', null, path);
    new_url text := app.patched_text(avatar, 'avatar_url', null, path);
    media_id text := app.patched_text(avatar, 'media_id', null, path);
    picture uuid := app.media_id(pg_catalog.jsonb_build_object('media_id', media_id));
begin
    perform app.refuse_unknown(avatar, array['avatar_type', 'avatar_id', 'avatar_url', 'media_id'], path);
    if not avatar ? 'avatar_type' or new_type not in ('built_in', 'custom') then
        perform app.refuse_param(path || 'avatar_type',
            pg_catalog.format('"%savatar_type" must be "built_in", "custom" or null.', path));
    elsif media_id is not null and new_type is distinct from 'custom' then
        perform app.refuse_param(path || 'media_id',
            pg_catalog.format('"%smedia_id" is only for a custom avatar.', path));
    elsif new_id is not null and new_type is distinct from 'built_in' then
        perform app.refuse_param(path || 'avatar_id',
            pg_catalog.format('"%savatar_id" is only for a built-in avatar.', path));
    elsif new_url is not null and new_type is distinct from 'custom' then
        perform app.refuse_param(path || 'avatar_url',
            pg_catalog.format('"%savatar_url" is only for a custom avatar.', path));
    elsif new_type = 'built_in' and not exists (select from public.built_in_avatars a where a.id = new_id) then
        perform app.refuse_param(path || 'avatar_id', 'There is no such built-in avatar.');
    elsif media_id is not null then
        -- A trigger of the profile marks the picture as used.
        if not coalesce(app.is_media_url(new_url, picture), false) then
            perform app.refuse_param(path || 'avatar_url',
                pg_catalog.format('"%savatar_url" is not the address of the picture.', path));
        elsif not exists (select from public.media m
                           where m.id = picture and m.owner_id = app.caller() and m.purpose = 'avatar'
                             and m.stored_at is not null and m.used_at is null) then
            perform app.refuse_param(path || 'media_id',
                pg_catalog.format('"%smedia_id" must be an unused picture that you have uploaded as an avatar.', path));
        end if;
    elsif new_type = 'custom' then
        perform app.check_avatar_url(path || 'avatar_url', coalesce(new_url, ''));
    end if;
    update public.user_profiles p
       set avatar_type = new_type, avatar_id = new_id, avatar_url = new_url
     where p.id = app.caller();
end
$$;
