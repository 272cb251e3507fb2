-- The attachments of messages: 1 to 10 files. messages.attachment is the first, with the others in its member `more`.
-- So a message without attachments costs nothing more, and readers of the table find the first where it always was.

-- Returns the file's id in an attachment, or null if it has none.
create or replace function app.media_id(attachment jsonb) returns uuid
language sql immutable parallel safe
begin atomic
    select case when attachment ->> 'media_id' operator(pg_catalog.~) '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                then (attachment ->> 'media_id')::uuid end;
end;

-- Returns the attachments of a message as a list.
create or replace function app.attachments(attachment jsonb) returns jsonb
language sql immutable parallel safe
begin atomic
    select case when attachment is null then '[]'
                else pg_catalog.jsonb_build_array(attachment - 'more')
                     operator(pg_catalog.||) coalesce(attachment -> 'more', '[]') end;
end;

-- Returns the ids of a message's files and their previews, or null if it has no attachment.
create or replace function app.media_ids(attachment jsonb) returns uuid[]
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
    if attachment is null then
        return null;
    end if;
    return array(
        select i.id
          from pg_catalog.jsonb_array_elements(app.attachments(attachment)) a (value)
         cross join lateral (
                values (app.media_id(a.value)), ((a.value ->> 'preview_media_id')::uuid)) i (id)
         where i.id is not null);
end
$$;

-- Returns true if a kind of message needs an attachment.
create or replace function app.needs_attachment(kind text) returns boolean
language sql immutable parallel safe
begin atomic
    select kind operator(pg_catalog.=) any ('{image,video,audio,file}'::text[]);
end;

-- Returns true if the content of a kind of message may be empty.
create or replace function app.may_be_empty(kind text) returns boolean
language sql immutable parallel safe
begin atomic
    select app.needs_attachment(kind) or kind operator(pg_catalog.=) 'custom';
end;

-- Returns true if users may send messages of a kind.
create or replace function app.may_send_kind(kind text) returns boolean
language sql immutable parallel safe
begin atomic
    select app.may_be_empty(kind) or kind operator(pg_catalog.=) 'text';
end;

-- Raises invalid_params for a kind of message that users may not send.
create or replace function app.refuse_kind() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_param('kind', '"kind" must be "text", "image", "video", "audio", "file" or "custom".');
end
$$;

-- Returns the content of a message with an attachment. Without one, it is the name of the first file, which clients
-- show that do not know the kind. A picture's stays empty: all clients know pictures.
create or replace function app.attachment_content(kind text, content text, attachment jsonb) returns text
language sql immutable parallel safe
begin atomic
    select coalesce(content, case when kind operator(pg_catalog.<>) 'image' then attachment ->> 'name' end, '');
end;

-- Returns true if a member of an attachment is absent, null, or a whole number that every client can represent.
create or replace function app.is_count(value jsonb) returns boolean
language sql immutable parallel safe
begin atomic
    select case coalesce(pg_catalog.jsonb_typeof(value), 'null')
        when 'null' then true
        when 'number' then value::text operator(pg_catalog.~) '^[0-9]{1,16}(\.0{1,8})?$'
                           and value::numeric operator(pg_catalog.<=) 9007199254740992
        else false end;
end;

-- Returns true if a member of an attachment is absent, null, or a string.
create or replace function app.is_optional_string(value jsonb) returns boolean
language sql immutable parallel safe
begin atomic
    select coalesce(pg_catalog.jsonb_typeof(value), 'null') operator(pg_catalog.=) any ('{string,"null"}'::text[]);
end;

-- Returns true for a name of a file that can be shown: 1 to 255 characters, none of them a control character.
create or replace function app.is_file_name(value text) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.char_length(value) between 1 and 255 and not app.has_control(value)
           and not app.is_blank(value);
end
$$;

-- Raises invalid_params for an invalid name of a file.
create or replace function app.refuse_file_name(field text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_param(field, pg_catalog.format(
        '"%s" must be 1 to 255 characters long, without control characters.', field));
end
$$;

-- Returns true for at most 128 bytes in base64 (RFC 4648), with padding.
create or replace function app.is_waveform(value text) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.char_length(value) operator(pg_catalog.<=) 172
           and value operator(pg_catalog.~) '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
           and pg_catalog.char_length(pg_catalog.rtrim(value, '=')) operator(pg_catalog.<=) 171;
end;

-- Returns true if one attachment is valid.
create or replace function app.is_attachment(attachment jsonb) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return coalesce(
        pg_catalog.jsonb_typeof(attachment) = 'object'
        and attachment - '{url,media_id,mime_type,width,height,bytes,blurhash,name,duration_ms,waveform,'
            'preview_media_id}'::text[] = '{}'
        and pg_catalog.jsonb_typeof(attachment -> 'url') = 'string'
        and case when attachment ? 'media_id'
                 then coalesce(app.is_media_url(attachment ->> 'url', app.media_id(attachment)), false)
                 else app.is_https(attachment ->> 'url') end
        and app.is_optional_string(attachment -> 'blurhash')
        and coalesce(attachment ->> 'blurhash', '') ~ '^[0-9A-Za-z#$%*+,.:;=?@^_{|}~\[\]-]{0,128}$'
        and app.is_optional_string(attachment -> 'mime_type')
        and pg_catalog.octet_length(coalesce(attachment ->> 'mime_type', '')) <= 255
        and app.is_optional_string(attachment -> 'name')
        and app.is_file_name(coalesce(attachment ->> 'name', 'x'))
        and app.is_optional_string(attachment -> 'waveform')
        and app.is_waveform(coalesce(attachment ->> 'waveform', ''))
        and app.is_optional_string(attachment -> 'preview_media_id')
        and coalesce(attachment ->> 'preview_media_id', '')
            ~ '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$'
        and coalesce(attachment ->> 'preview_media_id', 'null') <> ''
        and app.is_count(attachment -> 'width')
        and app.is_count(attachment -> 'height')
        and app.is_count(attachment -> 'bytes')
        and app.is_count(attachment -> 'duration_ms'), false);
end
$$;

-- Raises invalid_params for an attachment, which `field` names.
create or replace function app.refuse_attachment(field text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_param(field, pg_catalog.format(
        '"%s" must be an object with a "media_id" (from media.create) or a "url" (https, at most 2,048 bytes). It may '
        'also have "mime_type" (at most 255 bytes), "width", "height", "bytes" and "duration_ms" (integers from 0 to '
        '2^53), "name" (1 to 255 characters), "blurhash" (at most 128 characters), "waveform" (at most 128 bytes in '
        'base64), and "preview_media_id" (a picture from media.create).', field));
end
$$;

-- Raises invalid_params unless the attachments of a message are valid.
create or replace function app.check_attachment(attachment jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    has_more boolean := pg_catalog.jsonb_typeof(attachment) = 'object' and attachment ? 'more';
    wrong bigint;
begin
    if not has_more then
        if not app.is_attachment(attachment) then
            perform app.refuse_attachment('attachment');
        end if;
        return;
    elsif pg_catalog.jsonb_typeof(attachment -> 'more') <> 'array'
          or pg_catalog.jsonb_array_length(attachment -> 'more') > 9 then
        perform app.refuse_param('attachments', '"attachments" must hold 1 to 10 objects.');
    end if;
    select a.place - 1 into wrong
      from pg_catalog.jsonb_array_elements(app.attachments(attachment)) with ordinality a (value, place)
     where not app.is_attachment(a.value) order by a.place limit 1;
    if wrong is not null then
        perform app.refuse_attachment(pg_catalog.format('attachments[%s]', wrong));
    end if;
end
$$;

-- Raises invalid_params for a message without the attachment that its kind needs.
create or replace function app.refuse_without_attachment(kind text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_param('attachment', pg_catalog.format(
        '"attachment" is missing: a message of kind "%s" needs it, or "attachments".', kind));
end
$$;

-- Returns one attachment with its counts written as integers: 10 for 10.0.
create or replace function app.normalized_file(attachment jsonb) returns jsonb
language sql immutable parallel safe
begin atomic
    select attachment operator(pg_catalog.||) coalesce(
        (select pg_catalog.jsonb_object_agg(name, pg_catalog.trunc((attachment ->> name)::numeric))
           from pg_catalog.unnest('{width,height,bytes,duration_ms}'::text[]) as name
          where attachment ->> name operator(pg_catalog.~) '^[0-9]{1,16}\.0{1,8}$'), '{}');
end;

-- Returns the attachments of a message in the form that is stored: counts are integers, and `more` is not empty. What
-- is no object stays as it is, and app.check_attachment refuses it.
create or replace function app.normalized_attachment(attachment jsonb) returns jsonb
language sql immutable parallel safe
begin atomic
    select case when pg_catalog.jsonb_typeof(attachment) <> 'object' then attachment
                else app.normalized_file(attachment - 'more') operator(pg_catalog.||)
           case when pg_catalog.jsonb_typeof(attachment -> 'more') = 'array' and attachment -> 'more' <> '[]'
                then pg_catalog.jsonb_build_object('more', (
                        select pg_catalog.jsonb_agg(
                                   case when pg_catalog.jsonb_typeof(a.value) = 'object'
                                        then app.normalized_file(a.value) else a.value end order by a.place)
                          from pg_catalog.jsonb_array_elements(attachment -> 'more')
                                   with ordinality a (value, place)))
                else '{}' end end;
end;

-- Returns content and attachment of a message of the caller in the form that is stored.
create or replace function app.stored_form(kind text, inout content text, inout attachment jsonb)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    attachment := app.normalized_attachment(app.complete_attachment(attachment));
    content := case when app.needs_attachment(kind) then app.attachment_content(kind, content, attachment)
                    when app.may_be_empty(kind) then coalesce(content, '')
                    else content end;
end
$$;
