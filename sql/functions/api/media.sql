-- Creates the row of a picture that will be uploaded, and returns its id. The node adds the address for the upload.
create or replace function api.create_media(
    purpose text, mime_type text, bytes bigint, conversation_id uuid default null, width integer default null,
    height integer default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.caller();
    if not coalesce(purpose in ('avatar', 'message'), false) then
        perform app.refuse_param('purpose', '"purpose" must be "avatar" or "message".');
    elsif not coalesce(mime_type in ('image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/heic'), false) then
        perform app.refuse_param('mime_type', '"mime_type" must be "image/jpeg", "image/png", "image/webp", '
            '"image/gif" or "image/heic".');
    elsif not coalesce(bytes between 1 and 1073741824, false) then
        perform app.refuse_param('bytes', '"bytes" must be 1 or more.');
    elsif not coalesce(width between 1 and 65535, true) then
        perform app.refuse_param('width', '"width" must be 1 to 65535.');
    elsif not coalesce(height between 1 and 65535, true) then
        perform app.refuse_param('height', '"height" must be 1 to 65535.');
    elsif purpose = 'avatar' and conversation_id is not null then
        perform app.refuse_param('conversation_id', '"conversation_id" must not be given for an avatar.');
    elsif purpose = 'message' and conversation_id is null then
        perform app.refuse_param('conversation_id',
            '"conversation_id" is missing: the picture of a message needs it.');
    elsif purpose = 'message' and not app.is_member(conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    return pg_catalog.json_build_object(
        'id', app.create_media(purpose, mime_type, bytes, conversation_id, width, height));
end
$$;

-- Returns the description of the caller's unused picture and whether its bytes are stored, or an empty object.
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

-- Returns those of these pictures that the caller may see now in messages.
create or replace function api.seen_media(ids uuid[]) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform app.caller();
    return (
        select pg_catalog.json_build_object('media', coalesce(pg_catalog.json_agg(m.id order by w.position), '[]'))
          from (select u.id, min(u.position) as position
                  from unnest(ids) with ordinality as u (id, position) group by u.id) w
          join public.media m on m.id = w.id
         where m.purpose = 'message' and m.used_at is not null and m.removed_at is null);
end
$$;
