-- Changed conversations.

-- Returns until when each of these members has muted the conversation, in microseconds since 1970, or 0.
create or replace function feed.mutes(conversation_id uuid, members uuid[]) returns bigint[]
language sql stable set search_path = pg_catalog, pg_temp as $$
    select array(
        select coalesce((extract(epoch from x.muted_until) * 1000000)::bigint, 0)
          from unnest(members) with ordinality as m (id, place)
          left join public.conversation_mutes x on x.conversation_id = mutes.conversation_id and x.user_id = m.id
               and x.muted_until > now()
         order by m.place)
$$;

-- Returns changed conversations: kind `conversation`, for all members.
create or replace function feed.read_conversations(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'conversation', c.changed_xid::text, c.id, null::uuid, c.last_seq, c.user_ids, c.head, c.tail,
           c.marks || feed.mutes(c.id, c.user_ids)
      from unnest(lows, highs) as s (low, high)
      cross join lateral (select * from app.conversation_parts t
                           where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) c;
end
$$;

-- Returns conversations whose mute a member has changed: kind `own_conversation`, for that member only.
create or replace function feed.read_own_conversations(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'own_conversation', x.changed_xid::text, o.id, o.user_id, null::bigint, null::uuid[], o.object,
           null::text, null::bigint[]
      from feed.changed_mutes(lows, highs) x
      join app.conversation_objects o on o.id = x.conversation_id and o.user_id = x.user_id;
end
$$;
