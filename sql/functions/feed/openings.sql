-- The profiles, messages, reactions and presence of a conversation for users who join it.

-- Returns the profiles of the members and the newest messages of the conversations `entered`, with their reactions:
-- kinds `opening_profile`, `opening_message`, `opening_reaction`, `own_reaction` and `opening_piece`. If the users who
-- joined must resync (`is_opened` is false), only their profiles, for the other members.
create or replace function feed.read_openings(since pg_snapshot, entered uuid[], is_opened boolean) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'opening_profile', null::text, w.conversation_id, w.user_id, null::bigint, null::uuid[], o.object::text,
           null::text, null::bigint[]
      from (select m.conversation_id, m.user_id, m.joined_at from public.conversation_members m
             where m.conversation_id = any(entered)
               -- The other members get the profiles of users who join.
               and (is_opened or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since))
            union all
            -- Former members with messages here.
            select f.conversation_id, f.user_id, 'infinity' from app.former_members f
             where f.conversation_id = any(entered) and f.wrote and is_opened) w
      join app.profile_objects o on o.id = w.user_id
     order by w.conversation_id, w.joined_at, w.user_id;
    return query
    select 'opening_message', null::text, o.conversation_id, o.sender_id, o.seq, null::uuid[], o.object::text,
           null::text, null::bigint[]
      from unnest(entered) as e (id)
      join public.conversations c on c.id = e.id
      join app.message_objects o on o.conversation_id = c.id and o.seq > c.last_seq - 100
     where is_opened
     order by o.conversation_id, o.seq;
    -- A user who has returned may have set some of the reactions. First, since one object of a message is pushed. It
    -- belongs to the membership: without a transaction it would be pushed to sessions whose page had it.
    return query
    select 'own_reaction', w.joined_xid::text, r.conversation_id, w.user_id, r.seq, null::uuid[],
           app.reactions_object(r, w.own), null::text, null::bigint[]
      from (select m.conversation_id, m.user_id, m.joined_xid, o.seq,
                   json_agg(o.emoji order by o.created_at, o.emoji)::text as own
              from unnest(entered) as e (id)
              join public.conversations c on c.id = e.id
              join public.conversation_members m on m.conversation_id = c.id
              join public.message_reactions o
                on o.conversation_id = c.id and o.user_id = m.user_id and o.seq > c.last_seq - 100 and o.is_set
             where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
             group by m.conversation_id, m.user_id, m.joined_xid, o.seq) w
      join public.reaction_counts r on r.conversation_id = w.conversation_id and r.seq = w.seq
     where is_opened
     order by r.conversation_id, r.seq, w.user_id;
    return query
    select 'opening_reaction', null::text, r.conversation_id, null::uuid, r.seq, null::uuid[],
           app.reactions_object(r, null), null::text, null::bigint[]
      from unnest(entered) as e (id)
      join public.conversations c on c.id = e.id
      join public.reaction_counts r on r.conversation_id = c.id and r.seq > c.last_seq - 100
     where is_opened and r.counts <> '{}'
     order by r.conversation_id, r.seq;
    return query
    select 'opening_piece', null::text, s.conversation_id, null::uuid, s.seq, null::uuid[],
           app.piece_object(s.conversation_id, s.seq, 0, app.stream_text(s.conversation_id, s.seq)), null::text,
           null::bigint[]
      from unnest(entered) as e (id)
      join public.conversations c on c.id = e.id
      join app.message_streams s on s.conversation_id = c.id and s.seq > c.last_seq - 100
     where is_opened
     order by s.conversation_id, s.seq;
end
$$;

-- Returns the presence of the members of the conversations `entered`: kind `opening_presence`.
create or replace function feed.read_opening_presence(entered uuid[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'opening_presence', null::text, m.conversation_id, p.user_id, null::bigint, null::uuid[],
           app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
      from public.conversation_members m join public.presence p on p.user_id = m.user_id
     where m.conversation_id = any(entered)
     order by m.conversation_id, m.joined_at, m.user_id;
end
$$;
