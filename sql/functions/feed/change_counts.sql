drop function if exists feed.count_changes(
    pg_snapshot, xid8[], xid8[], integer, integer, integer, integer, integer, integer, integer);
drop function if exists feed.count_changes(
    pg_snapshot, xid8[], xid8[], integer, integer, integer, integer, integer, integer, integer, integer);
drop function if exists feed.count_changes(
    pg_snapshot, xid8[], xid8[], integer, integer, integer, integer, integer, integer, integer, integer, integer);

-- Counts the changes of one poll up to its bounds. `has_too_many` is true if a bound is exceeded.
--
-- A param named after a table is 0 if the table has no changed row; otherwise it returns the number of changed rows.
-- `entered` returns the conversations that users have joined, and `is_opened` is true if those users get the
-- conversations in the poll, false if they must resync. `has_deletions` is true if there may be deleted users.
create or replace function feed.count_changes(
    since pg_snapshot, lows xid8[], highs xid8[], inout members integer, inout profiles integer,
    inout conversations integer, inout former_members integer, inout messages integer, inout presence integer,
    inout mutes integer, inout reactions integer, inout delivered integer, inout pieces integer,
    out has_deletions boolean, out entered uuid[], out is_opened boolean, out has_too_many boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    -- The most rows, and bytes of content, in one poll. For presence it is the number of users who return when a node
    -- has ended; a conversation of an audience takes 37 bytes. Without a bound, the profiles of 220 users in 1,800
    -- groups took a second.
    most_rows constant integer := 5000;
    most_profiles constant integer := 1000;
    most_profile_audience constant integer := 100000;
    most_conversations constant integer := 1000;
    most_mutes constant integer := 1000;
    most_entered constant integer := 250;
    most_bytes constant bigint := 16777216;
    most_presence constant integer := 10000;
    most_audience constant integer := 400000;
    deletions integer := 0;
    bytes bigint := 0;
    profile_audience integer := 0;
    audience integer := 0;
    own_reactions integer := 0;
    piece_bytes bigint := 0;
    held_bytes bigint := 0;
    -- Former members, of conversations in `entered`, who wrote in them.
    writers integer := 0;
begin
    entered := '{}';
    is_opened := true;
    if profiles > 0 then
        select count(*), count(*) filter (where n.is_deleted) into profiles, deletions from (
            select t.is_deleted from feed.changed_profiles(lows, highs) t limit most_profiles + 1) n;
        if profiles <= most_profiles then
            select count(*) into profile_audience from (
                select from feed.changed_profiles(lows, highs) t
                 cross join lateral (
                    select from public.conversation_members m where m.user_id = t.id
                    union all
                    select from app.former_members f where f.user_id = t.id and f.wrote) m
                 limit most_profile_audience + 1) n;
        end if;
    end if;
    has_deletions := deletions > 0 or profiles > most_profiles;
    if members > 0 then
        select count(*) into members from (
            select from feed.changed_members(lows, highs) limit most_rows + 1) n;
        if members <= most_rows then
            entered := array(
                select distinct m.conversation_id from feed.changed_members(lows, highs) m
                 where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since));
        end if;
        if entered <> '{}' then
            select count(*) into writers from (
                select from app.former_members f where f.conversation_id = any(entered) and f.wrote
                 limit most_rows + 1) n;
            -- Reads only sizes, and only of rows that would be returned.
            is_opened := (
                select coalesce(sum(octet_length(m.content) + coalesce(pg_column_size(m.attachment), 0)), 0)
                  from unnest(entered) as e (id)
                  join public.conversations c on c.id = e.id
                  join public.messages m on m.conversation_id = c.id and m.seq > c.last_seq - 100)
              + (select coalesce(sum(pg_column_size(p)), 0)
                   from public.conversation_members m join public.user_profiles p on p.id = m.user_id
                  where m.conversation_id = any(entered)) <= app.opening_bytes();
        end if;
    end if;
    if conversations > 0 then
        select count(*) into conversations from (
            select from feed.changed_conversations(lows, highs) limit most_conversations + 1) n;
    end if;
    if former_members > 0 then
        select count(*) into former_members from (
            select from feed.changed_former_members(lows, highs) limit most_rows + 1) n;
    end if;
    if messages > 0 then
        select count(*), coalesce(sum(n.content_bytes), 0) into messages, bytes from (
            select t.content_bytes from feed.changed_messages(lows, highs) t limit most_rows + 1) n;
    end if;
    if presence > 0 then
        select count(*) into presence from (
            select from feed.changed_presence(lows, highs) limit most_presence + 1) n;
        if presence <= most_presence then
            select count(*) into audience from (
                select from feed.changed_presence(lows, highs) t
                  join public.conversation_members m on m.user_id = t.user_id
                 limit most_audience + 1) n;
        end if;
    end if;
    if mutes > 0 then
        select count(*) into mutes from (
            select from feed.changed_mutes(lows, highs) limit most_mutes + 1) n;
        -- A message that is held changes its sender's own conversation.
        select coalesce(sum(n.content_bytes), 0) into held_bytes from (
            select h.content_bytes from feed.changed_held(lows, highs) h limit most_rows) n;
    end if;
    if reactions > 0 then
        select count(*) into reactions from (
            select from feed.changed_reactions(lows, highs) limit most_rows + 1) n;
        if reactions <= most_rows then
            select count(*) into own_reactions from (
                select from feed.changed_own_reactions(lows, highs) limit most_rows + 1) n;
        end if;
    end if;
    if delivered > 0 then
        select count(*) into delivered from (
            select from feed.changed_delivered_marks(lows, highs) limit most_rows + 1) n;
    end if;
    if pieces > 0 then
        select count(*), coalesce(sum(octet_length(n.content)), 0) into pieces, piece_bytes from (
            select t.content from feed.changed_pieces(lows, highs) t limit most_rows + 1) n;
    end if;
    has_too_many := members > most_rows or profiles > most_profiles or profile_audience > most_profile_audience
        or conversations > most_conversations or messages > most_rows or bytes + piece_bytes + held_bytes > most_bytes
        or former_members > most_rows or pg_catalog.cardinality(entered) > most_entered or writers > most_rows
        or presence > most_presence or audience > most_audience or mutes > most_mutes
        or reactions > most_rows or own_reactions > most_rows or delivered > most_rows
        or pieces > most_rows;
end
$$;
