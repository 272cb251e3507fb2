-- Pins and the app's data of a conversation. Members may change them without the right to write to its row.

-- Pins or unpins a message of one of the caller's conversations.
create or replace function app.set_pin(conversation_id uuid, seq bigint, is_pinned boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
    pinned bigint[];
begin
    is_pinned := coalesce(is_pinned, true);
    select m.* into message from public.messages m
     where m.conversation_id = set_pin.conversation_id and m.seq = set_pin.seq;
    select coalesce(c.pinned_seqs, '{}') into pinned from public.conversations c where c.id = set_pin.conversation_id;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif seat.kind = 'group' and seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can pin messages.');
    elsif is_pinned = (seq = any (pinned)) then
        return;
    elsif app.has_block(conversation_id) then
        perform app.refuse_blocked();
    elsif not is_pinned then
        pinned := pg_catalog.array_remove(pinned, seq);
    elsif message.deleted_at is not null then
        perform app.refuse_forbidden('A deleted message cannot be pinned.');
    elsif pg_catalog.cardinality(pinned) >= 50 then
        perform app.refuse_forbidden('At most 50 messages can be pinned.');
    else
        pinned := seq || pinned;
    end if;
    update public.conversations c set pinned_seqs = pinned where c.id = set_pin.conversation_id;
end
$$;

-- Sets the app's data of one of the caller's conversations: of a direct one both members may, of a group the owner and
-- admins.
create or replace function app.set_conversation_data(conversation_id uuid, data jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    seat record := app.lock_conversation(conversation_id);
begin
    if seat.kind = 'group' and seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can change its data.');
    elsif app.has_block(conversation_id) then
        perform app.refuse_blocked();
    end if;
    update public.conversations c set data = set_conversation_data.data
     where c.id = set_conversation_data.conversation_id;
end
$$;
