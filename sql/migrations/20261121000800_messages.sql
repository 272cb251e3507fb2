-- What an attachment may be is the business of app.check_attachment: a domain's check is set up by each statement that
-- writes a message, and few have an attachment. The view and the trigger stand on the column, and are made again after
-- this, as is the function, which gives text from now on.
drop view if exists app.message_objects;
drop trigger if exists keep_changed on public.messages;
alter table public.messages alter column attachment type jsonb;
drop domain app.attachment;
drop function if exists api.messages(uuid, bigint, bigint, integer);
