-- Returns one page of a user's view: all of it (a reset), or the changes since a snapshot.
--
-- The view contains what `until` sees and `since` does not. It is walked in a fixed order (me and the blocked users;
-- left by id; profiles by id; presence by user; conversations by id; messages, pieces and reactions by conversation
-- and seq; reads and delivered marks by conversation and user), so that the last key is a position. Each section is a
-- function in app/sync.sql. The function is STABLE: all its queries use the caller's snapshot. Changes after `until`
-- are not on later pages, and the next delta contains them. Params that this function did not return cause a reset.
--
-- A page ends when it is full, or after app.page_time, wherever it is then.
--
-- It uses indexes only: a session that made its plans while tables were small would read them completely until
-- autovacuum has run.
create or replace function api.sync(
    epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer,
    max_bytes integer,
    out epoch_now text, out snapshot text, out reset boolean, out next_position text, out changes text,
    out conversation_ids text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    me uuid := app.caller();
    is_standby boolean := pg_catalog.pg_is_in_recovery();
    now_seen pg_snapshot := case when is_standby then app.standby_snapshot() else pg_catalog.pg_current_snapshot() end;
    ending timestamptz := pg_catalog.clock_timestamp() + app.page_time();
    per_conversation integer := least(greatest(coalesce(messages_per_conversation, 20), 0), 100);
    section text := 'left';
    after_id uuid;
    after_seq bigint;
    after_user uuid;
    whole boolean;      -- true for a reset: nothing was seen before
    changed record;     -- app.changes_since
    mine uuid[];        -- app.sync_conversation_ids
    entered uuid[];
    given uuid[];
    active uuid[];
    walked uuid[];      -- the conversations whose members are read
    page record;        -- the bytes left in it, the next page's position, and the objects of its last section
    blocked text;       -- app.sync_blocked
    me_object text;     -- the objects of each section
    left_ids text;
    profiles text;
    presence text;
    conversations text;
    messages text;
    limited text;
    pieces text;
    reactions text;
    reads text;
    delivered text;
    rare record;        -- app.rare_changes_since
    streamed uuid[] := '{}';    -- app.streamed_since
begin
    epoch_now := app.epoch();
    if is_standby and epoch = epoch_now and (app.is_behind(now_seen, since) or app.is_behind(now_seen, until)) then
        raise exception using errcode = 'PL015',
            message = 'The standby has not yet replayed the transactions of the cursor.';
    end if;
    if "position" is not null then
        select * into section, after_id, after_seq, after_user from app.sync_position("position");
    end if;
    if since is not null and (epoch is distinct from epoch_now
                              or pg_catalog.pg_snapshot_xmax(since) > pg_catalog.pg_snapshot_xmax(now_seen))
       or section is null then
        since := null;
        until := null;
        "position" := null;
    end if;
    if until is null or "position" is null
       or pg_catalog.pg_snapshot_xmax(until) > pg_catalog.pg_snapshot_xmax(now_seen)
       -- Later pages of a reset have no `since`: the epoch must be valid for the whole view.
       or epoch is distinct from epoch_now then
        until := null;
        "position" := null;
        section := 'left';
        after_id := null;
        after_seq := null;
        after_user := null;
    end if;
    -- Only the first page of a reset has `reset`; `whole` is true for all its pages.
    whole := since is null;
    reset := whole and until is null;
    snapshot := coalesce(until, now_seen)::text;

    if whole then
        select true as has_profiles, true as has_presence, true as has_members, true as has_removals,
               null::uuid[] as touched
          into changed;
        select '{}'::uuid[] as reacted, '{}'::uuid[] as delivered into rare;
    else
        changed := app.changes_since(since, until);
        rare := app.rare_changes_since(since, changed.mine);
        streamed := app.streamed_since(since, changed.mine);
        if "position" is null and not changed.has_any and rare.reacted = '{}' and rare.delivered = '{}'
           and streamed = '{}' then
            changes := '{}';
            conversation_ids := changed.mine::text;
            return;
        end if;
    end if;

    select coalesce(max_bytes, 524288)::bigint as room, null::text as next_position into page;
    select * into mine, entered, given, active from app.sync_conversation_ids(me, since, until);
    walked := mine;
    if changed.touched is not null then
        walked := array(
            select m.id from unnest(mine) as m (id)
             where m.id in (select unnest(changed.touched || entered || active)) order by m.id);
    end if;

    -- Sections in their order. A page begins in `section` after its last key, and ends in the section that fills it.
    <<view>>
    begin
        if "position" is null and changed.has_profiles then
            me_object := app.sync_me(me, since, until);
            page.room := page.room - coalesce(pg_catalog.octet_length(me_object), 0);
        end if;
        if "position" is null then
            blocked := app.sync_blocked(me, since);
            page.room := page.room - coalesce(pg_catalog.octet_length(blocked), 0);
        end if;

        if section = 'left' then
            if not whole and changed.has_removals then
                page := app.sync_left(me, since, until, after_id, ending, page.room);
                left_ids := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'profiles';
            after_id := null;
        end if;

        if section = 'profiles' then
            if walked <> '{}' and (changed.has_profiles or changed.has_members) then
                page := app.sync_profiles(me, since, until, walked, entered, after_id, ending, page.room);
                profiles := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'presence';
            after_id := null;
        end if;

        if section = 'presence' then
            if walked <> '{}' then
                page := app.sync_presence(
                    me, since, until, walked, entered, changed.has_presence or changed.has_members, after_id, ending,
                    page.room);
                presence := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'conversations';
            after_id := null;
        end if;

        if section = 'conversations' then
            if given <> '{}' then
                page := app.sync_conversations(me, until, given, after_id, ending, page.room);
                conversations := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'messages';
            after_id := null;
        end if;

        if section = 'messages' then
            if active <> '{}' then
                page := app.sync_messages(
                    since, until, entered, active, per_conversation, after_id, after_seq, ending, page.room);
                messages := page.objects;
                limited := page.limited_ids;
                exit view when page.next_position is not null;
            end if;
            section := 'pieces';
            after_id := null;
        end if;
        if section = 'pieces' then
            if entered <> '{}' or streamed <> '{}' then
                page := app.sync_details(
                    section, since, until, entered, streamed, per_conversation, after_id, after_seq, ending, page.room);
                pieces := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'reactions';
            after_id := null;
        end if;

        if section = 'reactions' then
            if entered <> '{}' or rare.reacted <> '{}' then
                page := app.sync_details(
                    section, since, until, entered, rare.reacted, per_conversation, after_id, after_seq, ending,
                    page.room);
                reactions := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'reads';
            after_id := null;
        end if;

        -- A mark that was moved by its member's message is in an active conversation.
        if section = 'reads' then
            if not whole and walked <> '{}' and (changed.has_members or active <> '{}') then
                page := app.sync_reads(since, until, walked, given, after_id, after_user, ending, page.room);
                reads := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'delivered';
            after_id := null;
            after_user := null;
        end if;

        if rare.delivered <> '{}' then
            page := app.sync_delivered(
                me, since, until, rare.delivered, given, after_id, after_user, ending, page.room);
            delivered := page.objects;
        end if;
    end;
    next_position := page.next_position;

    if next_position is null then
        -- A live session needs the conversations that the user is in now.
        if until is not null then
            mine := array(select app.my_conversations());
        end if;
        conversation_ids := mine::text;
    end if;
    changes := '{' || pg_catalog.concat_ws(',',
        '"me":' || me_object, '"blocked":[' || blocked || ']', '"profiles":[' || profiles || ']',
        '"presence":[' || presence || ']', '"conversations":[' || conversations || ']',
        '"messages":[' || messages || ']',
        '"pieces":[' || pieces || ']', '"reactions":[' || reactions || ']', '"reads":[' || reads || ']',
        '"delivered":[' || delivered || ']', '"left":[' || left_ids || ']', '"limited":[' || limited || ']') || '}';
end
$$;

-- Returns a page, and whether the log was flushed as far as it was written when the page's snapshot was taken;
-- otherwise the snapshot must not become a cursor yet.
--
-- Separate from api.sync, since `create or replace` cannot add a column: an older node could not apply its own version
-- again. Without settings of its own it is inlined, and costs nothing.
create or replace function app.sync_page(
    epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer,
    max_bytes integer)
returns table (
    epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text,
    is_durable boolean)
language sql stable
begin atomic
    select p.epoch_now, p.snapshot, p.reset, p.next_position, p.changes, p.conversation_ids,
           -- A standby shows only what is flushed.
           case when pg_catalog.pg_is_in_recovery() then true
                else pg_catalog.pg_current_wal_insert_lsn() <= pg_catalog.pg_current_wal_flush_lsn() end
      from api.sync(sync_page.epoch, sync_page.since, sync_page.until, sync_page."position",
                    sync_page.messages_per_conversation, sync_page.max_bytes) p;
end;

-- Returns a page, and whether its user sees the presence of others. That holds while the session is live, since a user
-- who changes it must resync.
create or replace function app.live_page(
    epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer,
    max_bytes integer)
returns table (
    epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text,
    is_durable boolean, sees_presence boolean)
language sql stable
begin atomic
    select p.epoch_now, p.snapshot, p.reset, p.next_position, p.changes, p.conversation_ids, p.is_durable, s.sees_others
      from app.sync_page(live_page.epoch, live_page.since, live_page.until, live_page."position",
                         live_page.messages_per_conversation, live_page.max_bytes) p
     cross join app.presence_visibility() s;
end;

-- Returns a page. `may_miss_users` is true if there may be users whose presence and typing its user does not see
-- because of a block: a node then reads feed.unseen_users, after the page. Nodes call this.
create or replace function app.subscription_page(
    epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer,
    max_bytes integer)
returns table (
    epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text,
    is_durable boolean, sees_presence boolean, may_miss_users boolean)
language sql stable
begin atomic
    select p.epoch_now, p.snapshot, p.reset, p.next_position, p.changes, p.conversation_ids, p.is_durable,
           s.sees_others, s.changed_xid is not null
      from app.sync_page(subscription_page.epoch, subscription_page.since, subscription_page.until,
                         subscription_page."position", subscription_page.messages_per_conversation,
                         subscription_page.max_bytes) p
     cross join app.presence_visibility() s;
end;
