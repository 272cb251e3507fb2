-- Stamps a mute with its transaction, so that all devices of its user, and no other user, get the change. A mute ends
-- in the year 9999 at the latest: the feed could not send a later time.
create or replace function app.record_mute_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if new.muted_until > '9999-12-31 00:00:00+00' then
        new.muted_until := '9999-12-31 00:00:00+00';
    end if;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;
create or replace trigger keep before insert or update on public.conversation_mutes
    for each row execute function app.record_mute_change();
create or replace trigger ring after insert or update on public.conversation_mutes
    for each statement execute function app.notify_change();

-- Returns the caller's read mark of a conversation, and keeps its membership until the end of the transaction. Raises
-- not_found for others than members.
create or replace function app.lock_membership(conversation_id uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    mark bigint;
begin
    select m.last_read_seq into mark from public.conversation_members m
     where m.conversation_id = lock_membership.conversation_id and m.user_id = auth.uid() for key share;
    if not found then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    return mark;
end
$$;
