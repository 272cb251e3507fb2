-- The rows of each table that changed in ranges of transaction ids: a range goes from one of `lows` (inclusive) to its
-- place in `highs` (exclusive). feed.read_changes describes the ranges.
--
-- `offset 0` keeps the plan on the index on changed_xid whatever the statistics say: the planner does not know the
-- ranges, assumes a tenth of the table, and would rather scan the table in the wanted order.
--
-- The functions are inlined into the calling statement and cost nothing: they have no settings of their own and are not
-- STRICT. Each returns only the columns that the feed reads.

create or replace function feed.changed_members(lows xid8[], highs xid8[])
returns table (conversation_id uuid, user_id uuid, last_read_seq bigint, joined_xid xid8, changed_xid xid8)
language sql stable
begin atomic
    select r.conversation_id, r.user_id, r.last_read_seq, r.joined_xid, r.changed_xid
      from unnest(changed_members.lows, changed_members.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.user_id, t.last_read_seq, t.joined_xid, t.changed_xid
          from public.conversation_members t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_former_members(lows xid8[], highs xid8[])
returns table (conversation_id uuid, user_id uuid, wrote boolean, joined_xid xid8, changed_xid xid8)
language sql stable
begin atomic
    select r.conversation_id, r.user_id, r.wrote, r.joined_xid, r.changed_xid
      from unnest(changed_former_members.lows, changed_former_members.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.user_id, t.wrote, t.joined_xid, t.changed_xid
          from app.former_members t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_profiles(lows xid8[], highs xid8[])
returns table (id uuid, is_deleted boolean, changed_xid xid8)
language sql stable
begin atomic
    select r.id, r.is_deleted, r.changed_xid
      from unnest(changed_profiles.lows, changed_profiles.highs) as s (low, high)
     cross join lateral (
        select t.id, t.is_deleted, t.changed_xid
          from public.user_profiles t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_conversations(lows xid8[], highs xid8[])
returns table (id uuid)
language sql stable
begin atomic
    select r.id
      from unnest(changed_conversations.lows, changed_conversations.highs) as s (low, high)
     cross join lateral (
        select t.id
          from public.conversations t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_messages(lows xid8[], highs xid8[])
returns table (conversation_id uuid, sender_id uuid, content_bytes integer)
language sql stable
begin atomic
    select r.conversation_id, r.sender_id, pg_catalog.octet_length(r.content)
      from unnest(changed_messages.lows, changed_messages.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.sender_id, t.content
          from public.messages t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_presence(lows xid8[], highs xid8[])
returns table (user_id uuid, is_online boolean, last_seen_at timestamptz, changed_xid xid8, hidden_xid xid8)
language sql stable
begin atomic
    select r.user_id, r.is_online, r.last_seen_at, r.changed_xid, r.hidden_xid
      from unnest(changed_presence.lows, changed_presence.highs) as s (low, high)
     cross join lateral (
        select t.user_id, t.is_online, t.last_seen_at, t.changed_xid, t.hidden_xid
          from public.presence t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_reactions(lows xid8[], highs xid8[])
returns table (conversation_id uuid, seq bigint)
language sql stable
begin atomic
    select r.conversation_id, r.seq
      from unnest(changed_reactions.lows, changed_reactions.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.seq
          from public.reaction_counts t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_own_reactions(lows xid8[], highs xid8[])
returns table (conversation_id uuid, user_id uuid, seq bigint)
language sql stable
begin atomic
    select r.conversation_id, r.user_id, r.seq
      from unnest(changed_own_reactions.lows, changed_own_reactions.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.user_id, t.seq
          from public.message_reactions t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_pieces(lows xid8[], highs xid8[])
returns table (conversation_id uuid, seq bigint, start integer, content text, changed_xid xid8)
language sql stable
begin atomic
    select r.conversation_id, r.seq, r.start, r.content, r.changed_xid
      from unnest(changed_pieces.lows, changed_pieces.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.seq, t.start, t.content, t.changed_xid
          from public.message_pieces t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_held(lows xid8[], highs xid8[])
returns table (message_id uuid, content_bytes integer)
language sql stable
begin atomic
    select r.message_id, pg_catalog.octet_length(r.content)
      from unnest(changed_held.lows, changed_held.highs) as s (low, high)
     cross join lateral (
        select t.message_id, t.content
          from app.held_messages t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_delivered_marks(lows xid8[], highs xid8[])
returns table (conversation_id uuid, user_id uuid, last_delivered_seq bigint, changed_xid xid8)
language sql stable
begin atomic
    select r.conversation_id, r.user_id, r.last_delivered_seq, r.changed_xid
      from unnest(changed_delivered_marks.lows, changed_delivered_marks.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.user_id, t.last_delivered_seq, t.changed_xid
          from public.delivered_marks t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;

create or replace function feed.changed_mutes(lows xid8[], highs xid8[])
returns table (conversation_id uuid, user_id uuid, changed_xid xid8)
language sql stable
begin atomic
    select r.conversation_id, r.user_id, r.changed_xid
      from unnest(changed_mutes.lows, changed_mutes.highs) as s (low, high)
     cross join lateral (
        select t.conversation_id, t.user_id, t.changed_xid
          from public.conversation_mutes t
         where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) r;
end;
