-- Members can select messages.first_sent, which must not tell the content of a deleted message. So its hash gets a key
-- that only the owner can read (app.message_hash).
insert into app.settings (name, value)
values ('message_hash_key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
comment on column public.messages.first_sent is 'Keyed hash of the content before the first edit or deletion.';

alter table public.messages disable trigger user;
update public.messages m set first_sent = sha256(decode(s.value, 'hex') || m.first_sent)
  from app.settings s
 where s.name = 'message_hash_key' and m.first_sent is not null;
alter table public.messages enable trigger user;
