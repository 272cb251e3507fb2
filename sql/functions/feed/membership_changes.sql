-- Joining and leaving of conversations. The functions in begin atomic are inlined into the calling statement.

-- Returns the users who left a conversation: kind `left`.
create or replace function feed.read_left(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'left', f.changed_xid::text, f.conversation_id, f.user_id, null::bigint, null::uuid[], null::text,
           null::text, null::bigint[]
      from feed.changed_former_members(read_left.lows, read_left.highs) f;
end;

-- Returns the users who joined a conversation: kind `joined`. A membership's changed_xid is never older than its
-- joined_xid.
create or replace function feed.read_joined(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'joined', m.joined_xid::text, m.conversation_id, m.user_id, null::bigint, null::uuid[], null::text,
           null::text, null::bigint[]
      from feed.changed_members(read_joined.lows, read_joined.highs) m
     where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, read_joined.since);
end;

-- Returns the users who joined a conversation and must resync: kind `behind`.
create or replace function feed.read_joined_behind(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'behind', null::text, null::uuid, m.user_id, null::bigint, null::uuid[], null::text, null::text,
           null::bigint[]
      from feed.changed_members(read_joined_behind.lows, read_joined_behind.highs) m
     where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, read_joined_behind.since);
end;
