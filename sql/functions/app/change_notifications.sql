-- Wakes the feeds of all nodes (`NOTIFY`). The notification carries no content: the feed reads the changes from the
-- tables. PostgreSQL sends equal notifications of a transaction once. The service's own writes do not notify here,
-- since NOTIFY takes a lock that serializes the commits of notifying transactions: the node notifies after many commits
-- at once.
--
-- The condition is in the function, and the triggers leave out columns that clients do not see: the `when` of a trigger
-- is parsed by each statement, also by those of every message.
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
    or update of id, kind, participant1_id, participant2_id, title, created_by, pinned_seqs, data, version
    on public.conversations
    for each statement execute function app.notify_change();
create or replace trigger ring after insert or update or delete on public.conversation_members
    for each statement execute function app.notify_change();
create or replace trigger ring after insert or update or delete on public.messages
    for each statement execute function app.notify_change();
create or replace trigger ring after insert or update or delete on public.presence
    for each statement execute function app.notify_change();
