-- Removals of stored files come before those of addresses to which nothing may ever have been uploaded
-- (app.claim_removals).
alter table app.media_removals add column is_stored boolean not null default false;
update app.media_removals set is_stored = true where purpose <> 'upload' and due_at <= now();
create index media_removals_is_stored_due_at on app.media_removals (is_stored desc, due_at);
drop index app.media_removals_due_at;
