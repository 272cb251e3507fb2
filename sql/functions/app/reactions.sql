-- Reactions to messages. The triggers hold for all writers: they check each reaction, and count it under the lock of
-- the message's row of public.reaction_counts.

-- Returns true if a text is a reaction: a short name of the app, or an emoji of at most 32 bytes. The server checks
-- besides that an emoji is one character as users see it.
create or replace function app.is_reaction(emoji text) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.octet_length(emoji) <= 32
           and (emoji operator(pg_catalog.~) '^[a-z0-9_+-]+$'
                or emoji operator(pg_catalog.~) U&'[\00A9\00AE\203C-\3299\+01F000-\+01FAFF\20E3]'
                   and emoji operator(pg_catalog.!~)
                       U&'[^0-9#*\00A9\00AE\200D\203C-\3299\FE0F\+01F000-\+01FAFF\+0E0020-\+0E007F]');
end;

-- Returns the reactions to a message as an object. `own` is what the user has set, as JSON; null leaves it out. Stable,
-- as its operators are, so that it is inlined.
create or replace function app.reactions_object(reactions public.reaction_counts, own text) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.concat(
        '{"conversation_id":"', reactions.conversation_id, '","seq":', reactions.seq, ',"version":', reactions.version,
        ',"counts":', reactions.counts, case when own is not null then ',"own":' end, own, '}');
end;
-- Functions of an earlier version.
drop function if exists app.own_reactions_object(public.reaction_counts, uuid);
drop function if exists app.own_reactions(uuid, uuid, bigint);
drop function if exists app.reactions_object(public.reaction_counts);

-- Returns one row: what a user has set for a message, as JSON. It is inlined into the calling statement. `is not false`
-- keeps it from the index on the reactions of all users: that has a condition, `is_set`.
create or replace function app.reactions_by(user_id uuid, conversation_id uuid, seq bigint)
returns table (emojis text)
language sql stable
begin atomic
    select coalesce(pg_catalog.json_agg(r.emoji order by r.created_at, r.emoji)::text, '[]')
      from public.message_reactions r
     where r.conversation_id = reactions_by.conversation_id and r.user_id = reactions_by.user_id
       and r.seq = reactions_by.seq and r.is_set is not false;
end;

-- Returns the reactions to the messages of a page as the caller sees them: those to messages with numbers above `low`,
-- up to `high`, in a view that contains what `until` sees (null: everything) and `since` does not (null: nothing).
-- Without `since`, only messages that have any. Nothing if the caller is not a member.
--
-- Runs as the owner: under row-level security all reactions to a message would be read, to find one's own. The planner
-- settings of the functions that call it hold here too: settings of its own would cost as much as the lookup.
create or replace function app.seen_reactions(
    conversation_id uuid, low bigint, high bigint, since pg_snapshot default null, until pg_snapshot default null)
    returns table (seq bigint, object text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp rows 10 as $$
#variable_conflict use_column
declare
    me uuid;
    oldest xid8 := pg_catalog.pg_snapshot_xmin(since);
    changed bigint[];
    emojis text[];
begin
    if since is not null then
        changed := array(
            select c.seq from public.reaction_counts c
             where c.conversation_id = seen_reactions.conversation_id and c.changed_xid >= oldest
               and c.seq > low and c.seq <= high and app.is_change(c.changed_xid, since, until) offset 0);
    end if;
    -- Most pages have none.
    if changed = '{}' or since is null and not exists (
        select from public.reaction_counts c
         where c.conversation_id = seen_reactions.conversation_id and c.seq > low and c.seq <= high) then
        return;
    end if;
    me := auth.uid();
    if not exists (
        select from public.conversation_members m
         where m.conversation_id = seen_reactions.conversation_id and m.user_id = me and not m.is_deleted) then
        return;
    end if;
    if since is not null then
        return query
        select c.seq, app.reactions_object(c, o.emojis)
          from public.reaction_counts c
         cross join lateral app.reactions_by(me, c.conversation_id, c.seq) o
         where c.conversation_id = seen_reactions.conversation_id and c.seq = any (changed)
         order by c.seq;
        return;
    end if;
    -- The messages of a page follow each other: one walk costs half of a lookup for each. An emoji
    -- needs no escapes (app.is_reaction).
    select pg_catalog.array_agg(o.seq), pg_catalog.array_agg(o.emojis) into changed, emojis
      from (select r.seq, '[' || pg_catalog.string_agg('"' || r.emoji || '"', ', ') || ']' as emojis
              from (select r.seq, r.emoji from public.message_reactions r
                     where r.conversation_id = seen_reactions.conversation_id and r.user_id = me
                       and r.seq > low and r.seq <= high and r.is_set is not false
                     order by r.seq, r.created_at, r.emoji) r
             group by r.seq order by r.seq) o;
    return query
    select c.seq, app.reactions_object(c, case when changed[o.place] = c.seq then emojis[o.place] else '[]' end)
      from public.reaction_counts c
     cross join lateral (select pg_catalog.width_bucket(c.seq, changed) as place offset 0) o
     where c.conversation_id = seen_reactions.conversation_id and c.seq > low and c.seq <= high
       and c.counts <> '{}' and (until is null or pg_catalog.pg_visible_in_snapshot(c.changed_xid, until))
     order by c.seq;
end
$$;

-- Checks a reaction before it is written. Deleted messages have none.
create or replace function app.validate_reaction() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    message record;
    is_member boolean := true;
begin
    if tg_op = 'UPDATE' and row(new.conversation_id, new.user_id, new.seq, new.emoji)
       is distinct from row(old.conversation_id, old.user_id, old.seq, old.emoji) then
        if not app.is_reaction_move(old, new) then
            raise exception using errcode = 'restrict_violation',
                message = 'The message, user and emoji of a reaction cannot be changed.';
        end if;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        return new;
    end if;
    select m.kind, m.deleted_at into message from public.messages m
     where m.conversation_id = new.conversation_id and m.seq = new.seq
       and exists (select from public.conversation_members o
                    where o.conversation_id = new.conversation_id and o.user_id = new.user_id and not o.is_deleted);
    if message.kind is null then
        is_member := exists (
            select from public.conversation_members o
             where o.conversation_id = new.conversation_id and o.user_id = new.user_id and not o.is_deleted);
    end if;
    -- The policy checks it too, but only after this trigger, whose errors would reveal messages.
    if not is_member or coalesce(new.user_id <> auth.uid(), false) then
        perform app.refuse_hidden('There is no such conversation.');
    elsif not coalesce(app.is_reaction(new.emoji), false) then
        perform app.refuse_param('emoji', '"emoji" must be one emoji, or a name of a-z 0-9 _ + - of at most 32 bytes.');
    elsif message.kind is null then
        perform app.refuse_hidden('There is no such message.');
    elsif message.deleted_at is not null or message.kind = 'system' then
        perform app.refuse_forbidden('Nobody can react to this message.');
    elsif new.is_set and app.has_block(new.conversation_id) then
        perform app.refuse_blocked();
    elsif new.is_set and new.emoji ~ '[a-z]' and exists (select from app.filter_rules)
          and app.words_action('messages', app.filtered_words(new.emoji)) is not null then
        perform app.refuse_word('emoji');
    end if;
    if tg_op = 'UPDATE' and new.is_set and not old.is_set then
        new.created_at := pg_catalog.clock_timestamp();
    end if;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;
create or replace trigger keep
    before insert or update of conversation_id, user_id, seq, emoji, is_set on public.message_reactions
    for each row execute function app.validate_reaction();

-- Returns the numbers of reactions after `step` more of one emoji, or fewer. Stable, as jsonb_build_object is, so that
-- it is inlined: otherwise it would be planned for each reaction.
create or replace function app.stepped_counts(counts jsonb, emoji text, step bigint) returns jsonb
language sql stable parallel safe
begin atomic
    select case when coalesce((counts ->> emoji)::bigint, 0) + step > 0
                then counts || pg_catalog.jsonb_build_object(emoji, coalesce((counts ->> emoji)::bigint, 0) + step)
                else counts - emoji end;
end;
-- Functions of an earlier version.
drop function if exists app.stepped_counts(jsonb, jsonb);
drop function if exists app.add_reaction_counts(uuid, bigint, jsonb);

-- Changes the numbers of reactions to a message by `step` of one emoji.
create or replace function app.add_reactions(conversation_id uuid, seq bigint, emoji text, step bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    numbers jsonb;
begin
    insert into public.reaction_counts as c (conversation_id, seq, counts)
    values (add_reactions.conversation_id, add_reactions.seq,
            app.stepped_counts('{}', add_reactions.emoji, add_reactions.step))
    on conflict on constraint reaction_counts_pkey do update
       set counts = app.stepped_counts(c.counts, add_reactions.emoji, add_reactions.step), version = c.version + 1,
           changed_xid = pg_catalog.pg_current_xact_id()
    returning c.counts into numbers;
    -- The numbers of 21 take more than 300 bytes, which is faster to ask.
    if step > 0 and pg_catalog.pg_column_size(numbers) > 300 and (numbers ->> emoji)::bigint = step
       and (select count(*) from pg_catalog.jsonb_object_keys(numbers)) > 20 then
        perform app.refuse_forbidden('A message can have at most 20 different reactions.');
    end if;
end
$$;

-- Counts the reactions that a statement has set or taken back.
create or replace function app.count_reactions() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    added public.message_reactions[] := '{}';
    removed public.message_reactions[] := '{}';
    change record;
begin
    if tg_op <> 'DELETE' then
        added := array(select row(n.*)::public.message_reactions from after n where n.is_set);
    end if;
    if tg_op <> 'INSERT' then
        removed := array(select row(o.*)::public.message_reactions from before o where o.is_set);
    end if;
    -- Most statements set one, or take one back. One with `on conflict` runs this for inserts and for updates.
    if added = '{}' and removed = '{}' then
        return null;
    elsif cardinality(added) = 1 and removed = '{}' then
        perform app.add_reactions(added[1].conversation_id, added[1].seq, added[1].emoji, 1);
    elsif cardinality(removed) = 1 and added = '{}' then
        perform app.add_reactions(removed[1].conversation_id, removed[1].seq, removed[1].emoji, -1);
    else
        for change in
            select r.conversation_id, r.seq, r.emoji, sum(r.step)::bigint as step
              from (select a.conversation_id, a.seq, a.emoji, 1 as step from unnest(added) a
                    union all
                    select o.conversation_id, o.seq, o.emoji, -1 from unnest(removed) o) r
             group by r.conversation_id, r.seq, r.emoji having sum(r.step) <> 0
             order by r.conversation_id, r.seq, sum(r.step), r.emoji
        loop
            perform app.add_reactions(change.conversation_id, change.seq, change.emoji, change.step);
        end loop;
    end if;
    if added = '{}' then
        return null;
    elsif cardinality(added) = 1 and removed = '{}' then
        -- The same for one, in a third of the time.
        if (select m.deleted_at is null
                   and not exists (select from public.message_reactions r
                                    where r.conversation_id = m.conversation_id and r.user_id = added[1].user_id
                                      and r.seq = m.seq and r.is_set is not false offset 10)
              from public.messages m
             where m.conversation_id = added[1].conversation_id and m.seq = added[1].seq) then
            return null;
        end if;
    end if;
    if exists (
        -- Deleted meanwhile: a deletion locks the numbers too (app.remove_reactions). A reaction that moves may come
        -- before its message.
        select from unnest(added) a
          left join public.messages m on m.conversation_id = a.conversation_id and m.seq = a.seq
         where m.deleted_at is not null or m.id is null and removed = '{}') then
        perform app.refuse_forbidden('Nobody can react to this message.');
    elsif exists (
        select from unnest(added) a
         -- A guest that was merged and its account can have set ten each.
         where not exists (select from unnest(removed) o
                             join app.merged_guests g on g.guest_id = o.user_id and g.account_id = a.user_id)
           and (select count(*) from public.message_reactions r
                 where r.conversation_id = a.conversation_id and r.user_id = a.user_id and r.seq = a.seq
                   and r.is_set) > 10) then
        perform app.refuse_forbidden('A user can set at most 10 reactions to a message.');
    end if;
    return null;
end
$$;
create or replace trigger count_new after insert on public.message_reactions
    referencing new table as after for each statement execute function app.count_reactions();
create or replace trigger count_changed after update on public.message_reactions
    referencing old table as before new table as after for each statement execute function app.count_reactions();
create or replace trigger count_removed after delete on public.message_reactions
    referencing old table as before for each statement execute function app.count_reactions();
create or replace trigger ring after insert or update or delete on public.reaction_counts
    for each statement execute function app.notify_change();

-- Sets a reaction of the caller to a message, or takes it back, and returns the reactions to the message as JSON. Runs
-- as the owner, since the policies would read the caller's conversations four times: the trigger `keep` has the same
-- rules.
create or replace function app.set_reaction(conversation_id uuid, seq bigint, emoji text, is_set boolean) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    me uuid := app.caller();
    reactions public.reaction_counts;
    is_change boolean;
    own text;
    has_old boolean;
begin
    if is_set then
        -- Most are new. The second statement would also run the triggers of updates.
        insert into public.message_reactions (conversation_id, user_id, seq, emoji)
        values (set_reaction.conversation_id, me, set_reaction.seq, set_reaction.emoji)
        on conflict on constraint message_reactions_pkey do nothing;
        is_change := found;
        if not is_change then
            insert into public.message_reactions as r (conversation_id, user_id, seq, emoji)
            values (set_reaction.conversation_id, me, set_reaction.seq, set_reaction.emoji)
            on conflict on constraint message_reactions_pkey do update set is_set = true where not r.is_set;
            is_change := found;
        end if;
    else
        update public.message_reactions r set is_set = false
         where r.conversation_id = set_reaction.conversation_id and r.user_id = me and r.seq = set_reaction.seq
           and r.emoji = set_reaction.emoji and r.is_set;
        is_change := found;
        if not is_change and not exists (
            select from public.messages m
              join public.conversation_members c
                on c.conversation_id = m.conversation_id and c.user_id = me and not c.is_deleted
             where m.conversation_id = set_reaction.conversation_id and m.seq = set_reaction.seq) then
            perform app.refuse_hidden('There is no such message.');
        end if;
    end if;
    select coalesce(pg_catalog.json_agg(r.emoji order by r.created_at, r.emoji) filter (where r.is_set)::text, '[]'),
           pg_catalog.bool_or(not r.is_set and r.emoji <> set_reaction.emoji)
      into own, has_old
      from public.message_reactions r
     where r.conversation_id = set_reaction.conversation_id and r.user_id = me and r.seq = set_reaction.seq;
    -- The changed row tells the user's devices all of its reactions to the message: those that were taken back before
    -- are needed no longer.
    if is_change and has_old then
        delete from public.message_reactions r
         where r.conversation_id = set_reaction.conversation_id and r.user_id = me and r.seq = set_reaction.seq
           and r.emoji <> set_reaction.emoji and not r.is_set;
    end if;
    select c.* into reactions from public.reaction_counts c
     where c.conversation_id = set_reaction.conversation_id and c.seq = set_reaction.seq;
    if not found then
        reactions := row(set_reaction.conversation_id, set_reaction.seq, '{}', 0, null);
    end if;
    return app.reactions_object(reactions, own);
end
$$;

-- Removes the reactions to a deleted message. Before the second pass it has locked the row of their numbers, or made
-- one for this transaction: a reaction that is being set has been committed and is removed, or waits and finds the
-- message deleted. The first pass takes the locks in the order in which a reaction that is set or taken back does.
create or replace function app.remove_reactions(conversation_id uuid, seq bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
    insert into public.reaction_counts (conversation_id, seq, counts)
    values (remove_reactions.conversation_id, remove_reactions.seq, '{}')
    on conflict on constraint reaction_counts_pkey do nothing;
    if found then
        delete from public.reaction_counts c
         where c.conversation_id = remove_reactions.conversation_id and c.seq = remove_reactions.seq;
        return;
    end if;
    for pass in 1..2 loop
        -- Each has an index of its own.
        delete from public.message_reactions r
         where r.conversation_id = remove_reactions.conversation_id and r.seq = remove_reactions.seq and r.is_set;
        delete from public.message_reactions r
         where r.conversation_id = remove_reactions.conversation_id and r.seq = remove_reactions.seq
           and not r.is_set;
        if pass = 1 then
            perform 1 from public.reaction_counts c
              where c.conversation_id = remove_reactions.conversation_id and c.seq = remove_reactions.seq for update;
        end if;
    end loop;
end
$$;

-- Returns true if an update of a reaction is a valid move: from a merged guest to its account, or to the reserved place
-- of its message (message_moves.sql).
create or replace function app.is_reaction_move(
    before public.message_reactions, after public.message_reactions) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return row(after.emoji, after.is_set, after.created_at) = row(before.emoji, before.is_set, before.created_at)
           and (after.user_id = before.user_id or exists (
                select from app.merged_guests g where g.guest_id = before.user_id and g.account_id = after.user_id))
           and (row(after.conversation_id, after.seq) = row(before.conversation_id, before.seq) or exists (
                select from app.message_moves v
                 where v.conversation_id = before.conversation_id and v.into_id = after.conversation_id
                   and v.base + before.seq = after.seq));
end
$$;

-- Returns the number of a message above which at most `most` reactions move with the messages up to `high`: those of a
-- merged guest, or all if the messages move to another conversation. Returns `low` if all above it are as few.
create or replace function app.lowest_reactions(move app.message_moves, low bigint, most integer) returns bigint
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
    beyond bigint;
begin
    if move.into_id is null then
        select r.seq into beyond from public.message_reactions r
         where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq >= low
           and r.seq < move.below and r.is_set
         order by r.seq desc offset most limit 1;
    else
        select r.seq into beyond from public.message_reactions r
         where r.conversation_id = move.conversation_id and r.seq >= low and r.seq < move.below and r.is_set
         order by r.seq desc offset most limit 1;
    end if;
    return coalesce(beyond + 1, low);
end
$$;

-- Moves reactions with the messages of a batch, whose numbers are at least `low`: those of a merged guest to its
-- account, and all to the conversation to which the messages move. A reaction that the account has set too is one.
-- Those that were taken back stay: the account's devices never had them.
create or replace function app.move_reactions(move app.message_moves, low bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    account uuid := (select g.account_id from app.merged_guests g where g.guest_id = move.guest_id);
    moved bigint[];
begin
    if move.into_id is not null then
        update public.message_reactions r
           set conversation_id = move.into_id, seq = move.base + r.seq,
               user_id = case when r.user_id = move.guest_id then account else r.user_id end
         where r.conversation_id = move.conversation_id and r.seq >= low and r.seq < move.below and r.is_set;
        return;
    end if;
    moved := array(
        select distinct r.seq from public.message_reactions r
         where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq >= low
           and r.seq < move.below and r.is_set);
    if moved = '{}' then
        return;
    end if;
    loop
        begin
            delete from public.message_reactions a
             using public.message_reactions r
             where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq = any (moved)
               and r.is_set and a.conversation_id = r.conversation_id and a.user_id = account and a.seq = r.seq
               and a.emoji = r.emoji;
            update public.message_reactions r set user_id = account
             where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq = any (moved)
               and r.is_set;
            exit;
        exception when unique_violation then
            -- The account has set one meanwhile, which the next turn finds.
        end;
    end loop;
    -- The account's devices get what it has set now.
    update public.reaction_counts c set version = c.version + 1, changed_xid = pg_catalog.pg_current_xact_id()
     where c.conversation_id = move.conversation_id and c.seq = any (moved);
end
$$;
-- A function of an earlier version.
drop function if exists app.move_reactions(uuid, uuid, bigint, uuid, uuid);
