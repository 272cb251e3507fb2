-- Files: avatars, and the attachments of messages with their previews. A row is created before the upload and describes
-- it. Once the bytes are stored and match (app.record_stored_media), one profile or message uses the file. An unused
-- file is removed after a day, those of a deleted message and a changed profile's avatar at once. The database does not
-- know where the bytes are: a node's store does.

-- Returns true for a valid address of a picture: https, or http if the server has no certificate, and containing the
-- id.
create or replace function app.is_media_url(url text, id uuid) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
    return app.is_https(pg_catalog.regexp_replace(url, '^http://', 'https://'))
       and pg_catalog.strpos(url, id::text) > 0;
end
$$;

-- Overloads of an earlier version.
drop function if exists app.create_media(text, text, bigint, uuid, integer, integer);
drop function if exists api.create_media(text, text, bigint, uuid, integer, integer);
drop function if exists app.create_media(text, text, bigint, uuid, integer, integer, text);
drop function if exists api.create_media(text, text, bigint, uuid, integer, integer, text);

-- Returns true for the type of a picture, as an avatar and a preview must be.
create or replace function app.is_picture_type(mime_type text) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.starts_with(mime_type, 'image/');
end;

-- Creates the row of a file that the caller will upload, and returns its id. To bound unused files in the store, a user
-- has at most 100 of them and 1 GiB, which is also the most of a file. All files of a user, with those that will be
-- uploaded, have at most `quota` bytes, if it is not null.
create or replace function app.create_media(
    purpose text, mime_type text, bytes bigint, conversation_id uuid, width integer, height integer,
    name text default null, quota bigint default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    waiting record;
    kept bigint;
    new_id uuid;
begin
    -- Checked here too, since any role with the right may call this without api.create_media.
    if purpose = 'message' and not app.is_member(create_media.conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    if name is not null and not app.is_file_name(name) then
        perform app.refuse_file_name('name');
    end if;
    -- Serializes the user's uploads so that all are counted, and refuses deleted users. Not `for update`: transactions
    -- that add the user to a conversation would wait.
    perform 1 from public.user_profiles p where p.id = me and not p.is_deleted for no key update;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    select count(*) as number, coalesce(sum(m.bytes), 0) as bytes into waiting
      from public.media m where m.owner_id = me and m.used_at is null;
    if waiting.number >= 100 or waiting.bytes + create_media.bytes > 1073741824 then
        perform app.refuse_forbidden('You have too many unused files: use them, or wait a day until they are '
            'removed.');
    end if;
    if quota is not null then
        select coalesce(sum(m.bytes), 0) into kept from public.media m where m.owner_id = me and m.removed_at is null;
        if kept + create_media.bytes > quota then
            perform app.refuse_forbidden(pg_catalog.format(
                'Your files may have %s bytes and have %s: delete messages with files.', quota, kept));
        end if;
    end if;
    insert into public.media (owner_id, purpose, conversation_id, mime_type, bytes, width, height, name)
    values (me, purpose, create_media.conversation_id, mime_type, create_media.bytes, width, height, name)
    returning id into new_id;
    return new_id;
end
$$;

-- Returns the time by which the upload of a file created then must have ended: upload addresses are valid for an
-- hour.
create or replace function app.last_upload(created_at timestamptz) returns timestamptz
language sql immutable parallel safe
begin atomic
    select created_at + interval '70 minutes';
end;

-- Records that the bytes are stored and match; the node's store has checked them. If the store allows more uploads to
-- the address, they are removed after the address has expired.
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

-- Marks the files of a message as used, except those of `before`, the attachments that it had already. Each must be
-- uploaded by the sender for this conversation, and unused. A message of kind image, video or audio begins with such a
-- file; one of kind `file` may begin with any. Errors name the place in `attachments` if the sender gave a list.
create or replace function app.use_media(message public.messages, before jsonb, is_list boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    former uuid[] := coalesce(app.media_ids(before), '{}');
    item record;
    type text;
begin
    for item in
        select a.value, a.place, app.media_id(a.value) as id, (a.value ->> 'preview_media_id')::uuid as preview_id,
               case when is_list
                    then pg_catalog.format('attachments[%s].', a.place - 1) else 'attachment.' end as path
          from pg_catalog.jsonb_array_elements(app.attachments(message.attachment)) with ordinality a (value, place)
         order by a.place
    loop
        if item.id is not null and item.id <> all (former) then
            update public.media m
               set used_at = pg_catalog.clock_timestamp(), message_id = message.id,
                   name = coalesce(item.value ->> 'name', m.name)
             where m.id = item.id and m.owner_id = message.sender_id
               and m.conversation_id = message.conversation_id and m.stored_at is not null and m.used_at is null
               and coalesce(item.value ->> 'mime_type', m.mime_type) = m.mime_type
               and coalesce((item.value ->> 'bytes')::numeric, m.bytes) = m.bytes
            returning m.mime_type into type;
            if not found then
                perform app.refuse_param(item.path || 'media_id', pg_catalog.format(
                    '"%smedia_id" must be an unused file that its sender has uploaded for this conversation.',
                    item.path));
            elsif item.place = 1 and message.kind in ('image', 'video', 'audio')
                  and pg_catalog.split_part(type, '/', 1) <> message.kind then
                perform app.refuse_param('kind', pg_catalog.format(
                    '"kind" must be "file" or that of the first attachment, which is %s.', type));
            end if;
        end if;
        if item.preview_id is not null and item.preview_id <> all (former) then
            update public.media m set used_at = pg_catalog.clock_timestamp(), message_id = message.id
             where m.id = item.preview_id and m.owner_id = message.sender_id
               and m.conversation_id = message.conversation_id and m.stored_at is not null and m.used_at is null
               and app.is_picture_type(m.mime_type);
            if not found then
                perform app.refuse_param(item.path || 'preview_media_id', pg_catalog.format(
                    '"%spreview_media_id" must be an unused picture that its sender has uploaded for this '
                    'conversation.', item.path));
            end if;
        end if;
    end loop;
end
$$;

-- Marks the uploaded picture that a profile's new avatar_url names as used. Users may set the address only: it ends in
-- the picture's id. A trigger does it, so that only pictures of profiles count as used.
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
-- By its name it fires before the trigger `keep`, which accepts an http address only if it belongs to the user's
-- picture.
create or replace trigger avatar before update of avatar_url on public.user_profiles
    for each row when (new.avatar_url is distinct from old.avatar_url and new.avatar_url is not null)
    execute function app.use_avatar();

-- Returns an attachment completed with the stored type, size and name of the caller's file. The result stays the same
-- after the bytes are removed.
create or replace function app.complete_file(attachment jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    known jsonb;
begin
    select pg_catalog.jsonb_build_object('mime_type', m.mime_type, 'bytes', m.bytes)
           || pg_catalog.jsonb_strip_nulls(
                  pg_catalog.jsonb_build_object('width', m.width, 'height', m.height, 'name', m.name))
      into known
      from public.media m where m.id = app.media_id(attachment) and m.owner_id = app.caller();
    return coalesce(known, '{}') || attachment;
end
$$;

-- Returns the attachments of a message, each completed (app.complete_file).
create or replace function app.complete_attachment(attachment jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if attachment ? 'media_id' then
        attachment := app.complete_file(attachment);
    end if;
    if pg_catalog.jsonb_typeof(attachment -> 'more') = 'array'
       and pg_catalog.jsonb_array_length(attachment -> 'more') between 1 and 9 then
        attachment := pg_catalog.jsonb_set(attachment, '{more}', (
            select pg_catalog.jsonb_agg(
                       case when pg_catalog.jsonb_typeof(a.value) = 'object' and a.value ? 'media_id'
                            then app.complete_file(a.value) else a.value end order by a.place)
              from pg_catalog.jsonb_array_elements(attachment -> 'more') with ordinality a (value, place)));
    end if;
    return attachment;
end
$$;

-- Updates the files of a changed message: they move with the message, change their owner, or are removed.
create or replace function app.propagate_media() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    kept uuid[] := coalesce(app.media_ids(new.attachment), '{}');
begin
    update public.media m set removed_at = pg_catalog.now()
     where m.id = any (app.media_ids(old.attachment)) and m.id <> all (kept) and m.message_id = old.id
       and m.removed_at is null;
    update public.media m set conversation_id = new.conversation_id, owner_id = new.sender_id
     where m.id = any (kept) and m.message_id = new.id
       and row(m.conversation_id, m.owner_id) is distinct from row(new.conversation_id, new.sender_id);
    return null;
end
$$;
create or replace trigger follow_picture after update on public.messages
    for each row when (
        old.attachment is not null
        and row(new.conversation_id, new.sender_id, new.attachment)
            is distinct from row(old.conversation_id, old.sender_id, old.attachment))
    execute function app.propagate_media();

-- Deletes the picture of an avatar that was replaced.
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

-- Queues the removal of a file's bytes from the store. If an upload may still arrive, the removal waits for its end.
create or replace function app.queue_removal() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into app.media_removals (id, purpose, due_at, is_stored)
    values (old.id, old.purpose,
            case when old.stored_at is null then greatest(pg_catalog.now(), app.last_upload(old.created_at))
                 else pg_catalog.now() end,
            old.stored_at is not null)
    on conflict do nothing;
    return null;
end
$$;
create or replace trigger queue_removal after delete on public.media
    for each row execute function app.queue_removal();
create or replace trigger queue_removed after update on public.media
    for each row when (new.removed_at is not null and old.removed_at is null) execute function app.queue_removal();

-- Deletes files that were unused for a day, other than those of scheduled messages, and claims at most `most` due
-- removals from the store: a file by its purpose, or `upload` for later uploads to its address. Stored files come
-- first. Each is due again in a minute, until app.complete_removals.
create or replace function app.claim_removals(most integer) returns table (id uuid, purpose text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
    delete from public.media m
     where m.id in (select u.id from public.media u
                     where u.used_at is null and u.created_at < pg_catalog.now() - interval '24 hours'
                       and not exists (select from public.scheduled_messages s
                                        where s.sender_id = u.owner_id and u.id = any (app.media_ids(s.attachment)))
                     order by u.created_at limit most for update skip locked);
    return query
        update app.media_removals r set due_at = pg_catalog.clock_timestamp() + interval '1 minute'
         where (r.id, r.purpose) in (
                select d.id, d.purpose from app.media_removals d where d.due_at <= pg_catalog.clock_timestamp()
                 order by d.is_stored desc, d.due_at limit most for update skip locked)
        returning r.id, r.purpose;
end
$$;

-- Deletes removals that the store has done from the queue.
create or replace function app.complete_removals(ids uuid[], purposes text[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from app.media_removals r
     where (r.id, r.purpose) in (select u.id, u.purpose from unnest(ids, purposes) as u (id, purpose))
$$;

-- Makes a guest's unused files and avatars the account's. Files of messages follow when these are moved.
create or replace function app.merge_media(guest uuid, account uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update public.media m set owner_id = account where m.owner_id = guest and m.message_id is null
$$;
-- Deletes avatars that a merge brought and the account does not use.
create or replace function app.drop_unused_avatars(account uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from public.media m
     where m.owner_id = account and m.purpose = 'avatar' and m.used_at is not null
       and not exists (select from public.user_profiles p where p.id = account and p.avatar_url = m.url)
$$;
