-- Pictures: a row is made before the bytes come, and says what they must be. Once they are there and are that
-- (app.record_stored_media), a profile or a message takes it, once. What nobody took is gone after a day; what a deleted
-- message or a changed profile had taken, at once. Where bytes are the database does not know: a node's store does.

-- Whether an address may be that of a picture: https, or plain where the server has no certificate.
create or replace function app.is_media_url(url text, id uuid) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
    return app.is_https(pg_catalog.regexp_replace(url, '^http://', 'https://'))
       and pg_catalog.strpos(url, id::text) > 0;
end
$$;

-- Makes the row of a picture that the caller is about to upload. So that nobody fills the store with what nobody sees,
-- at most 100 of a user wait to be used, and 256 MiB.
create or replace function app.create_media(
    purpose text, mime_type text, bytes bigint, conversation_id uuid, width integer, height integer) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    waiting record;
    new_id uuid;
begin
    -- Here too, since a role of the database may call this and not api.create_media.
    if purpose = 'message' and not app.is_member(create_media.conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    -- One after another, so that all are counted, and none of a user that is just being deleted. Not `for update`:
    -- others who add the user to a conversation would wait for this transaction.
    perform 1 from public.user_profiles p where p.id = me and not p.is_deleted for no key update;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    select count(*) as number, coalesce(sum(m.bytes), 0) as bytes into waiting
      from public.media m where m.owner_id = me and m.used_at is null;
    if waiting.number >= 100 or waiting.bytes + create_media.bytes > 268435456 then
        perform app.refuse_forbidden('Too many pictures were uploaded and not used: use them, or wait until they go, '
            'a day after they came.');
    end if;
    insert into public.media (owner_id, purpose, conversation_id, mime_type, bytes, width, height)
    values (me, purpose, create_media.conversation_id, mime_type, create_media.bytes, width, height)
    returning id into new_id;
    return new_id;
end
$$;

-- Returns the time after which no upload of a picture that was created then can end: an address is valid for an hour.
create or replace function app.last_upload(created_at timestamptz) returns timestamptz
language sql immutable parallel safe
begin atomic
    select created_at + interval '70 minutes';
end;

-- Records that the bytes are there, and are what was promised: the word of a node, whose store has looked. What a
-- client puts to the upload address afterwards, where the store allows that, is removed once the address has expired.
create or replace function app.record_stored_media(id uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    with stored as (
        update public.media m set stored_at = pg_catalog.now()
         where m.id = record_stored_media.id and m.stored_at is null
        returning m.id, m.created_at)
    insert into app.media_removals (id, purpose, due_at)
    select s.id, 'upload', app.last_upload(s.created_at) from stored s
    on conflict do nothing
$$;

-- A message takes a picture: one that its sender has uploaded for its conversation, and that no other has.
create or replace function app.use_picture(message public.messages) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update public.media m set used_at = pg_catalog.clock_timestamp(), message_id = message.id
     where m.id = app.media_id(message.attachment) and m.owner_id = message.sender_id
       and m.conversation_id = message.conversation_id and m.stored_at is not null and m.used_at is null
       and coalesce(message.attachment ->> 'mime_type', m.mime_type) = m.mime_type
       and coalesce((message.attachment ->> 'bytes')::numeric, m.bytes) = m.bytes;
    if not found then
        perform app.refuse_param('attachment.media_id',
            'A picture is one that its sender has uploaded for this conversation and not sent yet.');
    end if;
end
$$;

-- A profile takes the picture whose address its avatar is: one that its user has uploaded as an avatar and not used.
-- Users may say where it is, and no more than that: the address ends in the picture's id. It is the trigger's work, so
-- that no picture counts as used which no profile has.
create or replace function app.use_avatar() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update public.media m set used_at = pg_catalog.clock_timestamp(), url = new.avatar_url
     where m.id = app.media_id(pg_catalog.jsonb_build_object('media_id', pg_catalog.right(new.avatar_url, 36)))
       and m.owner_id = new.id and m.purpose = 'avatar' and m.stored_at is not null and m.used_at is null
       and app.is_media_url(new.avatar_url, m.id);
    return new;
end
$$;
-- Before the trigger `keep`, which takes an address that is not https from a picture of the user's alone.
create or replace trigger avatar before update of avatar_url on public.user_profiles
    for each row when (new.avatar_url is distinct from old.avatar_url and new.avatar_url is not null)
    execute function app.use_avatar();

-- The picture of an attachment; null where it has none.
create or replace function app.media_id(attachment jsonb) returns uuid
language sql immutable parallel safe
begin atomic
    select case when attachment ->> 'media_id' operator(pg_catalog.~) '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                then (attachment ->> 'media_id')::uuid end;
end;

-- An attachment with what is known of the caller's picture beside what the caller says of it. Of the same picture it is
-- always the same, also once its bytes are gone.
create or replace function app.complete_attachment(attachment jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    known jsonb;
begin
    select pg_catalog.jsonb_build_object('mime_type', m.mime_type, 'bytes', m.bytes)
           || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('width', m.width, 'height', m.height))
      into known
      from public.media m where m.id = app.media_id(attachment) and m.owner_id = app.caller();
    return coalesce(known, '{}') || attachment;
end
$$;

-- What became of a message's picture: it moves with its message, changes its sender with it, and goes with it.
create or replace function app.propagate_picture() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if app.media_id(new.attachment) is distinct from app.media_id(old.attachment) then
        update public.media m set removed_at = pg_catalog.now()
         where m.id = app.media_id(old.attachment) and m.message_id = old.id and m.removed_at is null;
    else
        update public.media m set conversation_id = new.conversation_id, owner_id = new.sender_id
         where m.id = app.media_id(new.attachment) and m.message_id = new.id;
    end if;
    return null;
end
$$;
create or replace trigger follow_picture after update on public.messages
    for each row when (
        old.attachment is not null and old.attachment ? 'media_id'
        and row(new.conversation_id, new.sender_id, new.attachment)
            is distinct from row(old.conversation_id, old.sender_id, old.attachment))
    execute function app.propagate_picture();

-- An avatar that is one no more goes.
create or replace function app.propagate_avatar() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if new.avatar_url is distinct from old.avatar_url then
        delete from public.media m where m.owner_id = old.id and m.purpose = 'avatar' and m.url = old.avatar_url;
    end if;
    return null;
end
$$;
create or replace trigger follow_avatar after update of avatar_url, is_deleted on public.user_profiles
    for each row execute function app.propagate_avatar();

-- The bytes go after the row. One whose bytes may still be on their way goes once nobody can bring them any more.
create or replace function app.queue_removal() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into app.media_removals (id, purpose, due_at)
    values (old.id, old.purpose,
            case when old.stored_at is null then greatest(pg_catalog.now(), app.last_upload(old.created_at))
                 else pg_catalog.now() end)
    on conflict do nothing;
    return null;
end
$$;
create or replace trigger queue_removal after delete on public.media
    for each row execute function app.queue_removal();
create or replace trigger queue_removed after update on public.media
    for each row when (new.removed_at is not null and old.removed_at is null) execute function app.queue_removal();

-- Lets go what nobody took within a day, and returns what is to be removed from the store, `most` at most: by its
-- purpose a picture, or what was put to its upload address since. Each is due again in a minute, until
-- app.complete_removals says that it is gone.
create or replace function app.claim_removals(most integer) returns table (id uuid, purpose text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
    delete from public.media m
     where m.id in (select u.id from public.media u
                     where u.used_at is null and u.created_at < pg_catalog.now() - interval '24 hours'
                     order by u.created_at limit most for update skip locked);
    return query
        update app.media_removals r set due_at = pg_catalog.clock_timestamp() + interval '1 minute'
         where (r.id, r.purpose) in (
                select d.id, d.purpose from app.media_removals d where d.due_at <= pg_catalog.clock_timestamp()
                 order by d.due_at limit most for update skip locked)
        returning r.id, r.purpose;
end
$$;

create or replace function app.complete_removals(ids uuid[], purposes text[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from app.media_removals r
     where (r.id, r.purpose) in (select u.id, u.purpose from unnest(ids, purposes) as u (id, purpose))
$$;

-- The guest's pictures become the account's; those of messages follow them, when they are moved. An avatar that the
-- account has no use for goes.
create or replace function app.merge_media(guest uuid, account uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update public.media m set owner_id = account where m.owner_id = guest and m.message_id is null
$$;
create or replace function app.drop_unused_avatars(account uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from public.media m
     where m.owner_id = account and m.purpose = 'avatar' and m.used_at is not null
       and not exists (select from public.user_profiles p where p.id = account and p.avatar_url = m.url)
$$;
