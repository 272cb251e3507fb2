-- Beside a picture's removal there may be one of what was put to its upload address since: purpose `upload`.
alter table app.media_removals drop constraint media_removals_pkey;
alter table app.media_removals add primary key (id, purpose);

-- Those whose address is still valid.
insert into app.media_removals (id, purpose, due_at)
select m.id, 'upload', m.created_at + interval '70 minutes' from public.media m
 where m.stored_at is not null and m.created_at > now() - interval '70 minutes';
