-- The doorbell says that something changed; what, the feed reads from the tables. It rings once a transaction
-- (equal notifications are folded), and not for the service's own writes: NOTIFY takes a lock that makes notifying
-- commits wait for each other, so the service rings after its commits, for many at a time.
--
-- The condition stands in the function, and the columns that nobody is told of are left out of the triggers: a
-- trigger's `when` is parsed anew by each statement, also by those that every message makes.
create or replace function app.notify_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if pg_catalog.current_setting('postline.quiet', true) is distinct from 'on' then
        perform pg_catalog.pg_notify('postline', '');
    end if;
    return null;
end
$$;

create or replace trigger ring after insert or update or delete on public.user_profiles
    for each statement execute function app.notify_change();
create or replace trigger ring after insert or delete
    or update of id, kind, participant1_id, participant2_id, title, created_by, version on public.conversations
    for each statement execute function app.notify_change();
create or replace trigger ring after insert or update or delete on public.conversation_members
    for each statement execute function app.notify_change();
create or replace trigger ring after insert or update or delete on public.messages
    for each statement execute function app.notify_change();
create or replace trigger ring after insert or update or delete on public.presence
    for each statement execute function app.notify_change();
