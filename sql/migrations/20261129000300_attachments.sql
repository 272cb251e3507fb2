-- Files of every kind (sql/functions/app/media.sql, attachments.sql). The second to tenth attachment of a message are
-- in the member `more` of messages.attachment, so that a send without attachments writes no more than before.
alter table public.media add column name text;
comment on column public.media.name is 'The name for downloads.';

alter table public.media drop constraint media_mime_type_valid;
alter table public.media
    add constraint media_mime_type_valid check (mime_type in (
        'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/heic', 'video/mp4', 'video/quicktime',
        'video/webm', 'audio/webm', 'audio/mp4', 'audio/mpeg', 'audio/ogg', 'audio/wav', 'application/pdf',
        'text/plain', 'application/zip', 'application/octet-stream')) not valid,
    add constraint media_avatar_is_picture check (purpose <> 'avatar' or starts_with(mime_type, 'image/')) not valid,
    add constraint media_name_valid check (char_length(name) between 1 and 255) not valid;
alter table public.media validate constraint media_mime_type_valid;
alter table public.media validate constraint media_avatar_is_picture;
alter table public.media validate constraint media_name_valid;

alter domain app.message_kind drop constraint messages_kind_valid;
alter domain app.message_kind
    add constraint messages_kind_valid check (
        value in ('text', 'image', 'video', 'audio', 'file', 'custom', 'system')) not valid;
