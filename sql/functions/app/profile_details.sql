-- Details of a profile for the compatibility endpoints (docs/http.md): where its name was split, and a distinct whole
-- second for each version, so that a client whose times have no fraction can name the version that it has read.

-- Deletes the split of a name that has changed, and gives a new version a second that no earlier version had.
create or replace function app.propagate_profile_details() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    own_second timestamptz := pg_catalog.date_trunc('second', new.updated_at);
    next_second timestamptz := own_second;
begin
    if new.full_name is distinct from old.full_name then
        update app.profile_details d set first_name_length = null
         where d.user_id = new.id and d.first_name_length is not null;
    end if;
    if new.version <> old.version then
        next_second := coalesce(
            (select d.version_second from app.profile_details d where d.user_id = new.id),
            pg_catalog.date_trunc('second', old.updated_at)) + interval '1 second';
        if next_second > own_second then
            insert into app.profile_details (user_id, version_second) values (new.id, next_second)
            on conflict (user_id) do update set version_second = excluded.version_second;
        else
            update app.profile_details d set version_second = null
             where d.user_id = new.id and d.version_second is not null;
        end if;
    end if;
    return null;
end
$$;
create or replace trigger propagate_details after update on public.user_profiles
    for each row when (old.version <> new.version or old.full_name is distinct from new.full_name)
    execute function app.propagate_profile_details();

-- Stores that the caller's full name begins with that first name. A new split is a new version of the profile.
create or replace function app.split_full_name(first_name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    full_name text := (select p.full_name from public.user_profiles p where p.id = me);
    new_length integer := pg_catalog.char_length(first_name);
begin
    if not coalesce(first_name in ('', full_name)
                    or pg_catalog.starts_with(full_name, first_name || ' '), false)
       -- The default split.
       or first_name = pg_catalog.split_part(full_name, ' ', 1) then
        new_length := null;
    end if;
    if new_length is distinct from (select d.first_name_length from app.profile_details d where d.user_id = me) then
        insert into app.profile_details (user_id, first_name_length) values (me, new_length)
        on conflict (user_id) do update set first_name_length = excluded.first_name_length;
        update public.user_profiles p set changed_xid = pg_catalog.pg_current_xact_id()
         where p.id = me and p.changed_xid <> pg_catalog.pg_current_xact_id();
    end if;
end
$$;
