-- Stamps a mute with its transaction, so that all devices of its user, and no other user, get the change.
create or replace function app.record_mute_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;
create or replace trigger keep before insert or update on public.conversation_mutes
    for each row execute function app.record_mute_change();
create or replace trigger ring after insert or update on public.conversation_mutes
    for each statement execute function app.notify_change();
