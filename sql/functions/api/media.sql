-- Creates the row of a file that will be uploaded, and returns its id. The node adds the address for the upload. A file
-- of type application/octet-stream needs a name. `quota` bounds the bytes of all the caller's files.
create or replace function api.create_media(
    purpose text, mime_type text, bytes bigint, conversation_id uuid default null, width integer default null,
    height integer default null, name text default null, quota bigint default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    types constant text[] := '{image/jpeg,image/png,image/webp,image/gif,image/heic,video/mp4,video/quicktime,'
        'video/webm,audio/webm,audio/mp4,audio/mpeg,audio/ogg,audio/wav,application/pdf,text/plain,application/zip,'
        'application/octet-stream}';
begin
    perform app.caller();
    if not coalesce(purpose in ('avatar', 'message'), false) then
        perform app.refuse_param('purpose', '"purpose" must be "avatar" or "message".');
    elsif not coalesce(mime_type = any (types), false) then
        perform app.refuse_param('mime_type', pg_catalog.format(
            '"mime_type" must be %s or %s.', pg_catalog.array_to_string(types[:cardinality(types) - 1], ', '),
            types[cardinality(types)]));
    elsif not coalesce(bytes between 1 and 1073741824, false) then
        perform app.refuse_param('bytes', '"bytes" must be 1 or more.');
    elsif not coalesce(width between 1 and 65535, true) then
        perform app.refuse_param('width', '"width" must be 1 to 65535.');
    elsif not coalesce(height between 1 and 65535, true) then
        perform app.refuse_param('height', '"height" must be 1 to 65535.');
    elsif purpose = 'avatar' and not app.is_picture_type(mime_type) then
        perform app.refuse_param('mime_type', '"mime_type" of an avatar must be that of a picture.');
    elsif purpose = 'avatar' and conversation_id is not null then
        perform app.refuse_param('conversation_id', '"conversation_id" must not be given for an avatar.');
    elsif purpose = 'message' and conversation_id is null then
        perform app.refuse_param('conversation_id',
            '"conversation_id" is missing: a file of a message needs it.');
    elsif purpose = 'message' and not app.is_member(conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    elsif mime_type = 'application/octet-stream' and name is null then
        perform app.refuse_param('name', '"name" is missing: a file of type application/octet-stream needs it.');
    end if;
    return pg_catalog.json_build_object(
        'id', app.create_media(purpose, mime_type, bytes, conversation_id, width, height, name, quota));
end
$$;

-- Returns the description of the caller's unused file and whether its bytes are stored, or an empty object.
create or replace function api.waiting_media(id uuid) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return coalesce((
        select pg_catalog.json_build_object(
                   'purpose', m.purpose, 'mime_type', m.mime_type, 'bytes', m.bytes,
                   'is_stored', m.stored_at is not null)
          from public.media m
         where m.id = waiting_media.id and m.owner_id = app.caller() and m.used_at is null), '{}');
end
$$;

-- Returns those of these files that the caller may see now in messages, with type and name.
create or replace function api.readable_media(ids uuid[]) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform app.caller();
    return (
        select pg_catalog.json_build_object('media', coalesce(
                   pg_catalog.json_agg(
                       pg_catalog.json_build_object('id', m.id, 'mime_type', m.mime_type, 'name', m.name)
                       order by w.position), '[]'))
          from (select u.id, min(u.position) as position
                  from unnest(ids) with ordinality as u (id, position) group by u.id) w
          join (select f.* from public.media f where f.id = any (ids)
                union all
                select f.* from app.moderated_files(ids) f) m on m.id = w.id
         where m.purpose = 'message' and m.used_at is not null and m.removed_at is null);
end
$$;

-- remove after 0.1: api.readable_media
create or replace function api.seen_media(ids uuid[]) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (
        select pg_catalog.json_build_object('media', coalesce(pg_catalog.json_agg(e.value -> 'id'), '[]'))
          from pg_catalog.json_array_elements(api.readable_media(ids) -> 'media') e);
end
$$;
