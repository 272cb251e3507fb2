-- Setting is_deleted makes a profile a tombstone, for all writers: only the user's messages stay.

-- Trigger of an earlier version, whose condition was parsed by each change of a profile.
drop trigger if exists bury on public.user_profiles;
drop function if exists app.bury();

-- Returns the profile of a deleted user without its content.
create or replace function app.tombstoned(profile public.user_profiles) returns public.user_profiles
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not profile.is_deleted then
        raise exception using errcode = 'restrict_violation', message = 'A deleted user cannot be restored.',
            hint = 'The email address is free: register a new account.';
    end if;
    profile.username := null;
    profile.full_name := null;
    profile.bio := null;
    profile.avatar_type := null;
    profile.avatar_id := null;
    profile.avatar_url := null;
    profile.website := null;
    profile.location := null;
    profile.language_code := null;
    profile.is_verified := false;
    profile.attributes := '{}';
    return profile;
end
$$;

-- Erases the data of a deleted user. The account's row stays, since tombstone and ended sessions refer to it. Groups
-- lose the member, whose read mark would keep every message unread; direct conversations keep their two members.
create or replace function app.erase_user() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    room uuid;
begin
    if old.is_deleted or not new.is_deleted then
        return null;
    end if;
    update auth.users u
       set email = null, phone = null, encrypted_password = null, raw_user_meta_data = '{}', email_change = '',
           phone_change = '', confirmation_token = '', recovery_token = '', email_change_token_new = '',
           email_change_token_current = '', phone_change_token = '', reauthentication_token = '',
           deleted_at = coalesce(u.deleted_at, pg_catalog.now()), updated_at = pg_catalog.now()
     where u.id = new.id;
    update public.user_private
       set email = null, phone_number = null, phone_verified = false, date_of_birth = null,
           preferred_unit_system = 'metric', preferences = '{}', biological_sex = null, height_cm = null,
           username_changed_at = null, username_change_count = 0
     where id = new.id;
    -- Held usernames stay until they are free.
    delete from public.username_history h
     where h.user_id = new.id and (h.held_until <= app.now() or app.releases_usernames(new));
    update app.sessions s set revoked_at = pg_catalog.now() where s.user_id = new.id and s.revoked_at is null;
    for room in
        select m.conversation_id from public.conversation_members m
          join public.conversations c on c.id = m.conversation_id
         where m.user_id = new.id and c.kind = 'group' order by m.conversation_id
    loop
        perform app.leave_group(room, new.id);
    end loop;
    update public.conversation_members m set is_deleted = true where m.user_id = new.id;
    perform app.hide_presence(new.id);
    delete from app.devices d where d.user_id = new.id;
    delete from public.scheduled_messages s where s.sender_id = new.id;
    delete from app.held_messages h where h.sender_id = new.id;
    delete from public.blocks b where b.blocker_id = new.id;
    delete from public.media m where m.owner_id = new.id and m.used_at is null;
    delete from app.identities i where i.user_id = new.id;
    delete from app.mails m where m.user_id = new.id;
    delete from app.mail_tokens t where t.user_id = new.id;
    perform app.erase_reports(new.id);
    return null;
end
$$;
-- After each update, also of other columns: a trigger of the operator's may set is_deleted.
create or replace trigger erase_user after update on public.user_profiles
    for each row execute function app.erase_user();

-- Removes a member in the lock order, which a plain deletion does not follow.
create or replace function app.leave_group(conversation_id uuid, user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.touch_conversation(leave_group.conversation_id);
    delete from public.conversation_members m
     where m.conversation_id = leave_group.conversation_id and m.user_id = leave_group.user_id;
end
$$;
