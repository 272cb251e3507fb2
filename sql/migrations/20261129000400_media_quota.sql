-- A user's quota of bytes (app.create_media) is checked by this index alone.
drop index public.media_owner_id;
create index media_owner_id on public.media (owner_id) include (bytes, removed_at);
