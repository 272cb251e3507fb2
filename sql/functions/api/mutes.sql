-- Mutes a conversation for the caller until a time, or unmutes it with null: its messages cause no pushes. Returns the
-- conversation.
create or replace function api.mute_conversation(conversation_id uuid, until text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    time timestamptz := app.checked_time('until', until);
begin
    if not exists (
        select from public.conversation_members m
         where m.conversation_id = mute_conversation.conversation_id and m.user_id = me) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    -- In another time zone it may be a year later.
    if time >= '10000-01-01T00:00:00Z' then
        perform app.refuse_param('until', '"until" must be from 1970 to 9999.');
    end if;
    -- A time in the past is no mute.
    if time <= pg_catalog.now() then
        time := null;
    end if;
    insert into public.conversation_mutes as x (conversation_id, user_id, muted_until)
    values (mute_conversation.conversation_id, me, time)
    on conflict on constraint conversation_mutes_pkey do update set muted_until = excluded.muted_until
     where x.muted_until is distinct from excluded.muted_until;
    return api.conversation(mute_conversation.conversation_id);
end
$$;
