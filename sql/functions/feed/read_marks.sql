-- Read marks: kind `read`, and delivered marks: kind `delivered`. The functions are inlined into the calling statement.

-- Returns the marks that were moved by reading. Those of members who joined since are left out.
create or replace function feed.read_marks(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'read', m.changed_xid::text, m.conversation_id, m.user_id, m.last_read_seq, null::uuid[], null::text,
           null::text, null::bigint[]
      from feed.changed_members(read_marks.lows, read_marks.highs) m
     where pg_catalog.pg_visible_in_snapshot(m.joined_xid, read_marks.since);
end;

-- Returns the marks that were moved by sending: a message moves its sender's mark, unless it was edited. Marks that
-- feed.read_marks returns are left out.
create or replace function feed.read_sender_marks(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'read', m.sent_xid::text, m.conversation_id, m.user_id, m.last_read_seq, null::uuid[], null::text,
           null::text, null::bigint[]
      from (select distinct n.conversation_id, n.sender_id
              from feed.changed_messages(read_sender_marks.lows, read_sender_marks.highs) n) w
     cross join lateral (
        select t.conversation_id, t.user_id, t.last_read_seq, t.sent_xid, t.changed_xid
          from public.conversation_members t
         where t.conversation_id = w.conversation_id and t.user_id = w.sender_id offset 0) m
     where not pg_catalog.pg_visible_in_snapshot(m.sent_xid, read_sender_marks.since)
       and pg_catalog.pg_visible_in_snapshot(m.changed_xid, read_sender_marks.since);
end;

-- Returns the delivered marks, for the other members. A mark is never less than the read mark, and it needs a
-- membership: that may have ended as the mark was written. Marks of members who joined since are left out.
create or replace function feed.read_delivered_marks(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'delivered', d.changed_xid::text, d.conversation_id, d.user_id,
           greatest(d.last_delivered_seq, m.last_read_seq), null::uuid[], null::text, null::text, null::bigint[]
      from feed.changed_delivered_marks(read_delivered_marks.lows, read_delivered_marks.highs) d
     cross join lateral (
        select t.last_read_seq, t.joined_xid from public.conversation_members t
         where t.conversation_id = d.conversation_id and t.user_id = d.user_id offset 0) m
     where pg_catalog.pg_visible_in_snapshot(m.joined_xid, read_delivered_marks.since);
end;
