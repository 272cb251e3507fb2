-- Changed presence. The functions are inlined into the calling statement.

-- Returns the users who have begun or ceased to hide their presence: kind `behind`.
create or replace function feed.read_presence_behind(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'behind', p.hidden_xid::text, null::uuid, p.user_id, null::bigint, null::uuid[], null::text, null::text,
           null::bigint[]
      from feed.changed_presence(read_presence_behind.lows, read_presence_behind.highs) p
     where not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, read_presence_behind.since);
end;

-- Returns changed presence, with all conversations of the user: kind `presence`.
create or replace function feed.read_presence(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'presence', p.changed_xid::text, null::uuid, p.user_id, null::bigint,
           array(select m.conversation_id from public.conversation_members m where m.user_id = p.user_id),
           app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
      from feed.changed_presence(read_presence.lows, read_presence.highs) p;
end;
