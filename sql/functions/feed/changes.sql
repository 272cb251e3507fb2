-- Functions of an earlier version.
drop function if exists feed.look_for_presence(pg_snapshot);
drop function if exists feed.look_for_mutes(pg_snapshot);

-- Returns everything that has changed since a snapshot, for every kind of change that clients get, as finished JSON.
--
-- A row is new if its transaction was not visible in `since` and is now: its id is at or beyond the snapshot's end, or
-- it was in progress and has ended. These are ranges of transaction ids, usually one, and each is a range of the index
-- on them. Rows of transactions in progress are not read, of which a bulk load may have millions. The upper bound holds
-- for all rows, except those that a dump brought from another cluster.
--
-- Most polls have one range and find nothing, or one kind of change. So each table is first checked for a row in the
-- range, since starting a statement costs more than finding a row.
--
-- Each kind of row is read by a function in a file of this folder. Functions in begin atomic are inlined into the
-- statement that calls them and cost nothing. The others use the settings of this function, so only this function may
-- call them. They read views of app/objects.sql: a body in begin atomic would keep that file from dropping the views,
-- also when an older node applies its own version again.
--
-- One plan serves every call: a custom plan would be made each time and cost more than the poll. Memoize is off, since
-- its memory is allocated and cleared for as many rows as the statistics say: two milliseconds per poll.
--
-- A poll is bounded. If a transaction or a long absence has accumulated more than feed.count_changes permits, the
-- result has one row `many`, and feed.users_with_changes returns the affected users. Deleted users are returned in any
-- case, since their sessions end.
--
-- Rows of presence, mutes, reactions, delivered marks, pieces and held messages have these kinds:
--
--   behind            `user_id` has begun or ceased to hide its presence, so that it sees other presence of all users.
--                     The poll does not contain it: live sessions of the user must resync (`sync.lagged`), and their
--                     page says whether they see presence (app.live_page, `sees_presence`)
--   presence          `object` is the presence of `user_id`, for all members of the conversations in `audience`, except
--                     the user's own sessions and those whose page said that they see no presence
--   opening_presence  the presence of a member of a conversation that a user has joined, with the receivers of
--                     opening_profile, except those who see no presence
--   own_conversation  `object` is the conversation as `user_id` sees it, for that user only
--   own_reaction      `object` is the reactions to the message `seq` as `user_id` sees them, for that user only
--   opening_reaction  the reactions to one of the newest messages of a conversation that a user has joined
--   piece             the new text of the message `seq`, which grows, for all members
--   opening_piece     the text of a message that grows, of a conversation that a user has joined
--   own_message       the message `seq`, which is held, as its sender `user_id` sees it, for that user instead of
--                     `message` and `opening_message`, which follow
--   delivered         the devices of `user_id` have received the messages up to `seq`, for the other members
--
-- A session's right to see presence is fixed for its subscription, since a user who changes it must resync. Nodes need
-- not know who hides, and polls need not check it.
create or replace function feed.read_changes(since pg_snapshot) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable strict set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_memoize = off as $$
#variable_conflict use_column
declare
    -- The ranges: from a low (inclusive) to its high (exclusive).
    beyond xid8 := pg_catalog.pg_snapshot_xmax(since);
    lows xid8[] := array[beyond];
    bound xid8 := (greatest(pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint,
                            coalesce(pg_catalog.pg_current_xact_id_if_assigned()::text::bigint + 1, 0)))::text::xid8;
    highs xid8[] := array[bound];
    -- 1 if the table may have changed rows, 0 if not.
    members integer := 1;
    profiles integer := 1;
    conversations integer := 1;
    former_members integer := 1;
    messages integer := 1;
    presence integer := 1;
    mutes integer := 1;
    reactions integer := 1;
    delivered integer := 1;
    pieces integer := 1;
    counts record;  -- feed.count_changes
begin
    if pg_catalog.pg_snapshot_xmin(since) = beyond then
        -- No transaction has had an id since then.
        if bound <= beyond then
            return;
        end if;
    else
        select r.lows, r.highs into lows, highs from feed.change_ranges(since, bound) r;
    end if;
    -- Not with several ranges: between them are rows of transactions in progress.
    if cardinality(lows) = 1 then
        select exists (select from public.conversation_members t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.user_profiles t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.conversations t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from app.former_members t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.messages t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.presence t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.conversation_mutes t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.reaction_counts t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.delivered_marks t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.message_pieces t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer
          into members, profiles, conversations, former_members, messages, presence, mutes, reactions, delivered,
               pieces;
    end if;
    if members + profiles + conversations + former_members + messages + presence + mutes + reactions + delivered
       + pieces = 0
    then
        return;
    end if;

    counts := feed.count_changes(
        since, lows, highs, members, profiles, conversations, former_members, messages, presence, mutes, reactions,
        delivered, pieces);
    if counts.has_deletions then
        return query select * from feed.read_deleted(lows, highs);
    end if;
    if counts.has_too_many then
        return query select 'many', null::text, null::uuid, null::uuid, null::bigint, null::uuid[], null::text,
                            null::text, null::bigint[];
        return;
    end if;

    if counts.former_members > 0 then
        return query select * from feed.read_left(lows, highs);
    end if;
    if counts.members > 0 then
        return query select * from feed.read_joined(since, lows, highs);
    end if;
    if not counts.is_opened then
        return query select * from feed.read_joined_behind(since, lows, highs);
    end if;
    if counts.former_members > 0 then
        return query select * from feed.read_leaver_profiles(since, lows, highs);
    end if;
    if counts.profiles > 0 then
        return query select * from feed.read_profiles(since, lows, highs);
    end if;
    if counts.conversations > 0 then
        return query select * from feed.read_conversations(lows, highs);
    end if;
    if counts.mutes > 0 then
        return query select * from feed.read_held(lows, highs);
    end if;
    if counts.messages > 0 then
        -- Not a function: it could not be inlined, and its call would add 4 % to a poll with one message.
        return query
        select 'message', o.changed_xid::text, o.conversation_id, o.sender_id, o.seq, null::uuid[], o.object::text,
               null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.message_objects t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) o
         order by o.conversation_id, o.seq;
    end if;
    if counts.members > 0 then
        return query select * from feed.read_marks(since, lows, highs);
    end if;
    if counts.messages > 0 then
        return query select * from feed.read_sender_marks(since, lows, highs);
    end if;
    if counts.delivered > 0 then
        return query select * from feed.read_delivered_marks(since, lows, highs);
    end if;
    if counts.entered <> '{}' then
        return query select * from feed.read_openings(since, counts.entered, counts.is_opened);
    end if;
    if counts.pieces > 0 then
        return query select * from feed.read_pieces(lows, highs);
    end if;
    if counts.reactions > 0 then
        return query select * from feed.read_own_reactions(lows, highs);
        return query select * from feed.read_reactions(lows, highs);
    end if;
    if counts.presence > 0 then
        return query select * from feed.read_presence_behind(since, lows, highs);
        return query select * from feed.read_presence(lows, highs);
    end if;
    if counts.entered <> '{}' then
        return query select * from feed.read_opening_presence(counts.entered);
    end if;
    if counts.mutes > 0 then
        return query select * from feed.read_own_conversations(lows, highs);
    end if;
end
$$;
