-- Messages that are held for a moderator.

-- Returns the messages that were held, as their senders see them: kind `own_message`, for that user only. Each belongs
-- to a row of kind `message` or `opening_message`, which other users get.
create or replace function feed.read_held(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'own_message', h.changed_xid::text, m.conversation_id, m.sender_id, m.seq, null::uuid[],
           app.held_object(h, m), null::text, null::bigint[]
      from feed.changed_held(lows, highs) c
      join app.held_messages h on h.message_id = c.message_id
      join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
      -- Not for users who have left meanwhile.
      join public.conversation_members o on o.conversation_id = m.conversation_id and o.user_id = m.sender_id
     order by m.conversation_id, m.seq;
end
$$;
