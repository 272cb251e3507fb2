-- Pins a message for all members, or unpins it, and returns the conversation. Both members of a direct conversation
-- may, and the owner and admins of a group. At most 50 are pinned; the last pinned is the first.
create or replace function api.pin_message(conversation_id uuid, seq bigint, is_pinned boolean default true)
returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
begin
    perform app.set_pin(conversation_id, seq, is_pinned);
    return api.conversation(conversation_id);
end
$$;
