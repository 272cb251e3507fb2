-- Overloads of an earlier version.
drop function if exists api.change_username(text);
drop function if exists api.set_avatar(text, text, text);
drop function if exists api.set_avatar(text, text, text, bigint);

-- Returns the caller's own object.
create or replace function api.me() returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    answer json;
begin
    select m.object into answer from app.me_objects m where m.id = me;
    if answer is null then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    end if;
    return answer;
end
$$;

-- Sets the caller's fields that are members of `patch`, all or none; null clears a field. Returns the caller's object.
create or replace function api.update_me(patch jsonb, if_version bigint default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_unknown(patch, app.own_fields());
    perform app.locked_caller(if_version);
    perform app.change_fields(patch);
    return api.me();
end
$$;

-- Sets the caller's physical data, and returns the caller's object.
create or replace function api.update_physical(patch jsonb, if_version bigint default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.locked_caller(if_version);
    perform app.change_physical(patch);
    return api.me();
end
$$;

-- Sets the caller's username, and returns the caller's object.
create or replace function api.change_username(username text, if_version bigint default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.locked_caller(if_version);
    perform app.change_username(username);
    return api.me();
end
$$;

-- Sets the caller's avatar, and returns the caller's object.
create or replace function api.set_avatar(
    avatar_type text, avatar_id text default null, avatar_url text default null, if_version bigint default null,
    media_id uuid default null)
returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.locked_caller(if_version);
    perform app.change_avatar(pg_catalog.jsonb_build_object(
        'avatar_type', avatar_type, 'avatar_id', avatar_id, 'avatar_url', avatar_url, 'media_id', media_id));
    return api.me();
end
$$;

-- Makes all changes of the four functions above in one transaction, and returns the caller's object.
create or replace function api.save_me(patch jsonb, if_version bigint default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_unknown(patch, app.own_fields() || array['username', 'avatar', 'physical']);
    if patch ? 'date_of_birth' and patch -> 'physical' ? 'date_of_birth'
       and patch -> 'date_of_birth' <> patch -> 'physical' -> 'date_of_birth' then
        perform app.refuse_param('physical.date_of_birth',
            'The two dates of birth differ: send only one.');
    end if;
    perform app.locked_caller(if_version);
    perform app.change_fields(patch);
    if patch ? 'physical' then
        perform app.change_physical(patch -> 'physical', 'physical.');
    end if;
    if patch ? 'avatar' then
        perform app.change_avatar(patch -> 'avatar', 'avatar.');
    end if;
    -- Last, since it may wait for other users who claim the name.
    if patch ? 'username' then
        perform app.change_username(app.patched_text(patch, 'username', null));
    end if;
    return api.me();
end
$$;
