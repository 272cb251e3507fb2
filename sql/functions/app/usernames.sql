-- A username is unique, can be changed once in 90 days, and is held for its former owner for 120 days. The first one
-- does not count as a change. So a user keeps at most three names from others: the present one, and two that are held.
-- An operator lifts the cooldown with `update public.user_private set username_changed_at = null`.

-- Checks that a username may be changed now.
create or replace function app.validate_username() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    allowed_at timestamptz;
begin
    if new.username is not distinct from old.username or old.username is null or new.is_deleted then
        return new;
    elsif new.username is null then
        perform app.refuse_param('username', '"username" can be changed but not removed.');
    end if;
    -- The profile's row is locked: the second of two changes sees the first.
    select s.username_changed_at + interval '90 days' into allowed_at
      from public.user_private s where s.id = new.id;
    if allowed_at > app.now() then
        raise exception using errcode = 'PL013', message = 'A username can be changed once in 90 days.',
            detail = pg_catalog.json_build_object('retry_at', app.utc(allowed_at))::text;
    end if;
    return new;
end
$$;
-- By its name it fires after the trigger `keep`, which converts the name to lower case.
create or replace trigger keep_username before update of username on public.user_profiles
    for each row execute function app.validate_username();

-- Records a changed username, and refuses one that is held. After the row is written, since a claim of a name that is
-- just being given up waits at the unique index, and then finds the hold that was committed with it.
create or replace function app.record_username() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'UPDATE' then
        if old.username is not distinct from new.username then
            return null;
        elsif old.username is not null and not app.releases_usernames(new) then
            insert into public.username_history (user_id, old_username, new_username, changed_at, held_until)
            values (new.id, old.username, new.username, app.now(), app.now() + interval '120 days');
            update public.user_private
               set username_changed_at = app.now(), username_change_count = username_change_count + 1
             where id = new.id and not new.is_deleted;
        end if;
    end if;
    if exists (select from public.username_history h
                where h.old_username = new.username and h.user_id <> new.id and h.held_until > app.now()) then
        perform app.refuse_username();
    end if;
    return null;
end
$$;
create or replace trigger note_username after insert or update of username, is_deleted on public.user_profiles
    for each row execute function app.record_username();

-- Returns true if the names of a deleted user are not held: those of a guest that was not merged. Nobody can come back
-- for them, and anyone could block names without an account.
create or replace function app.releases_usernames(profile public.user_profiles) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return profile.is_deleted and profile.is_guest and not app.is_merging();
end
$$;

-- Raises username_taken for a username that is in use or held; the response does not distinguish the two.
create or replace function app.refuse_username() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL009', message = 'That username is taken.', detail = '{"field":"username"}';
end
$$;
