-- Changed conversations.

drop function if exists feed.mutes(uuid, uuid[]);

-- Returns what these members have set for the conversation, and their unread mentions, as three arrays in one: until
-- when each has muted it, in microseconds since 1970, or 0; the number of its unread mentions; and a sum of 1 if it has
-- marked it as unread, 2 if archived, 4 if pinned, 256 for each scheduled message and 2^20 for each unsent one.
create or replace function feed.own_numbers(conversation_id uuid, members uuid[], marks bigint[]) returns bigint[]
language sql stable set search_path = pg_catalog, pg_temp as $$
    select array_agg(n.muted_until order by n.place) || array_agg(n.unread_mentions order by n.place)
           || array_agg(n.flags order by n.place)
      from (select m.place,
                   case when x.muted_until > now() then (extract(epoch from least(
                            x.muted_until, timestamptz '9999-12-31 00:00:00+00')) * 1000000)::bigint
                        else 0 end as muted_until,
                   app.unread_mentions(own_numbers.conversation_id, m.id, m.mark) as unread_mentions,
                   (case when x.marked_unread_seq >= m.mark then 1 else 0 end
                    + case when x.archived_at is not null then 2 else 0 end
                    + case when x.pinned_at is not null then 4 else 0 end
                    + coalesce(least(x.scheduled_count, 4095)::bigint * 256 + x.unsent_count::bigint * 1048576, 0)
                   )::bigint as flags
              from unnest(members, marks) with ordinality as m (id, mark, place)
              left join public.conversation_mutes x
                on x.conversation_id = own_numbers.conversation_id and x.user_id = m.id) n
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
           c.marks || feed.own_numbers(c.id, c.user_ids, c.marks)
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
    with own as materialized (
        select o.changed_xid, o.conversation_id, o.user_id from feed.changed_mutes(lows, highs) o),
    -- Once per conversation, since an edit of a message can tell all members of a large group their numbers.
    parts as materialized (
        select c.id, c.head, c.tail, c.last_seq
          from (select distinct o.conversation_id from own o) r
         cross join lateral (select * from app.conversation_parts t where t.id = r.conversation_id offset 0) c)
    -- The objects are those of app.conversation_objects.
    select 'own_conversation', o.changed_xid::text, c.id, o.user_id, null::bigint, null::uuid[],
           c.head || m.last_read_seq
               || app.own_members(
                      c.last_seq - m.last_read_seq, app.unread_mentions(c.id, m.user_id, m.last_read_seq),
                      x.marked_unread_seq >= m.last_read_seq, x.muted_until, x.archived_at is not null,
                      x.pinned_at is not null, x.scheduled_count, x.unsent_count)
               || c.tail,
           null::text, null::bigint[]
      from own o
      join parts c on c.id = o.conversation_id
      join public.conversation_members m on m.conversation_id = o.conversation_id and m.user_id = o.user_id
      join public.conversation_mutes x on x.conversation_id = o.conversation_id and x.user_id = o.user_id;
end
$$;
