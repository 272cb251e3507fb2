-- Changed reactions.

-- Returns the changed reactions to messages: kind `reaction`, for all members.
create or replace function feed.read_reactions(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'reaction', c.changed_xid::text, c.conversation_id, null::uuid, c.seq, null::uuid[],
           app.reactions_object(c, null), null::text, null::bigint[]
      from feed.changed_reactions(lows, highs) r
      join public.reaction_counts c on c.conversation_id = r.conversation_id and c.seq = r.seq
     order by c.conversation_id, c.seq;
end
$$;

-- Returns the reactions to messages for the users who have changed theirs: kind `own_reaction`, for that user only.
create or replace function feed.read_own_reactions(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'own_reaction', c.changed_xid::text, c.conversation_id, r.user_id, c.seq, null::uuid[],
           app.reactions_object(c, o.emojis), null::text, null::bigint[]
      from (select distinct o.conversation_id, o.user_id, o.seq from feed.changed_own_reactions(lows, highs) o) r
      -- Not for users who have left meanwhile.
      join public.conversation_members m on m.conversation_id = r.conversation_id and m.user_id = r.user_id
      join public.reaction_counts c on c.conversation_id = r.conversation_id and c.seq = r.seq
     cross join lateral app.reactions_by(r.user_id, r.conversation_id, r.seq) o
     order by c.conversation_id, c.seq, r.user_id;
end
$$;
