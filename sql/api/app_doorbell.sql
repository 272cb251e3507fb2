-- The doorbell says that something changed; what, the feed reads from the tables. It rings once a transaction
-- (equal notifications are folded), and not for the service's own writes: NOTIFY takes a lock that makes notifying
-- commits wait for each other, so the service rings after its commits, for many at a time.
create or replace function app.ring() returns trigger
language plpgsql set search_path = '' as $$
begin
    perform pg_catalog.pg_notify('postline', '');
    return null;
end
$$;

create or replace trigger ring after insert or update or delete on public.user_profiles for each statement
    when (coalesce(current_setting('postline.quiet', true), '') <> 'on') execute function app.ring();
create or replace trigger ring after insert or update or delete on public.conversations for each statement
    when (coalesce(current_setting('postline.quiet', true), '') <> 'on') execute function app.ring();
create or replace trigger ring after insert or update or delete on public.conversation_members for each statement
    when (coalesce(current_setting('postline.quiet', true), '') <> 'on') execute function app.ring();
create or replace trigger ring after insert or update or delete on public.messages for each statement
    when (coalesce(current_setting('postline.quiet', true), '') <> 'on') execute function app.ring();
