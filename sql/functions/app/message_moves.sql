-- Moves the messages of a merged guest to its account: the newest in the transaction of the sign-in, the rest in
-- batches, each a short transaction that a node's loop starts. app.message_moves lists what is left. A batch that fails
-- is rolled back as a whole, and repeated by the next call on any node.
--
-- Until a message is moved its sender is the guest, a tombstone. If a conversation is appended to another, all its
-- numbers are reserved at once, and each message gets its place when it is moved.
--
-- Lock order: conversation, row of app.message_moves, messages.

-- Returns the sending transaction of a message whose sender or place an update changes. Null unless the update is a
-- valid move: from a merged guest to its account, or to the reserved place.
create or replace function app.moved_xid(before public.messages, after public.messages) returns xid8
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if row(after.id, after.kind, after.content, after.attachment, after.edited_at, after.deleted_at,
           after.mentions_everyone, after.data) is distinct from
       row(before.id, before.kind, before.content, before.attachment, before.edited_at, before.deleted_at,
           before.mentions_everyone, before.data)
       or after.mentions is distinct from app.account_ids(before.mentions)
       or after.reply_to_seq - before.reply_to_seq <> after.seq - before.seq
       or after.client_id <> before.client_id or after.client_id is not null and before.client_id is null
       or after.sender_id <> before.sender_id and not exists (
            select from app.merged_guests g where g.guest_id = before.sender_id and g.account_id = after.sender_id) then
        return null;
    elsif after.conversation_id <> before.conversation_id or after.seq <> before.seq then
        return (select v.sent_xid from app.message_moves v
                 where v.conversation_id = before.conversation_id and v.into_id = after.conversation_id
                   and v.base + before.seq = after.seq);
    end if;
    return case when after.sender_id <> before.sender_id or after.mentions <> before.mentions
                then before.sent_xid end;
end
$$;

-- Returns these users, with each merged guest replaced by its account. Null for null.
create or replace function app.account_ids(ids uuid[]) returns uuid[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if ids is null then
        return null;
    end if;
    return array(
        select w.id
          from (select coalesce(g.account_id, u.id) as id, min(u.place) as place
                  from unnest(ids) with ordinality as u (id, place)
                  left join app.merged_guests g on g.guest_id = u.id
                 group by 1) w
         order by w.place);
end
$$;

-- Moves these messages of one conversation to `into_id` with `base` added to their numbers, and to the accounts of
-- their senders. Drops a client_id that another message of the account has, there or still to be moved there. The
-- caller has locked `into_id`.
create or replace function app.reassign_messages(ids uuid[], from_id uuid, into_id uuid, base bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    update public.messages m
       set conversation_id = reassign_messages.into_id, seq = reassign_messages.base + m.seq, sender_id = n.sender_id,
           reply_to_seq = reassign_messages.base + m.reply_to_seq,
           mentions = case when m.mentions is not null then app.account_ids(m.mentions) end,
           client_id = case when not exists (
                select from (select n.sender_id as id
                             union all
                             select g.guest_id from app.merged_guests g where g.account_id = n.sender_id) i
                 cross join unnest(array[reassign_messages.from_id, reassign_messages.into_id]) p (id)
                 -- `offset 0` forces a lookup by the whole key, also without statistics.
                 cross join lateral (
                        select w.id, w.sender_id, w.conversation_id from public.messages w
                         where w.conversation_id = p.id and w.sender_id = i.id and w.client_id = m.client_id offset 0) o
                 where o.id <> m.id
                   and (o.sender_id = n.sender_id
                            and (o.conversation_id = reassign_messages.into_id or m.sender_id <> n.sender_id)
                        or o.sender_id <> n.sender_id and m.sender_id <> n.sender_id and o.id < m.id))
                then m.client_id end
      from (select w.id, coalesce(g.account_id, w.sender_id) as sender_id
              from unnest(ids) as i (id)
              join public.messages w on w.id = i.id
              left join app.merged_guests g on g.guest_id = w.sender_id) n
     where m.id = n.id;
    update public.conversations c set last_message_xid = pg_catalog.pg_current_xact_id()
     where c.id = reassign_messages.into_id;
end
$$;

-- Moves the next, newest messages of a row of app.message_moves, with the reactions to them: at most `most` of each,
-- about 1 MiB, among 10,000 messages of the conversation. Returns how many messages. Deletes the row after the last.
-- The caller has locked the target conversation.
create or replace function app.move_batch(conversation_id uuid, guest_id uuid, most integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
    most_bytes constant bigint := 1048576;
    most_read constant bigint := 10000;
    move app.message_moves;
    lowest bigint;
    ids uuid[];
    next_below bigint;
    uncounted bigint;
    newest bigint;
begin
    select v.* into move from app.message_moves v
     where v.conversation_id = move_batch.conversation_id and v.guest_id = move_batch.guest_id for update;
    if not found then
        return 0;
    end if;
    lowest := case when move.into_id is null then greatest(move.below - most_read, 1) else 1 end;
    lowest := app.lowest_reactions(move, lowest, most);
    select pg_catalog.array_agg(b.id) filter (where b.bytes_before < most_bytes),
           case when count(*) = most or bool_or(b.bytes_before >= most_bytes)
                then min(b.seq) filter (where b.bytes_before < most_bytes) else lowest end,
           count(*) filter (where b.bytes_before < most_bytes and b.seq < move.uncounted_below
                                  and b.sender_id = move.guest_id),
           max(b.seq)
      into ids, next_below, uncounted, newest
      from (select n.id, n.seq, n.sender_id,
                   coalesce(sum(pg_catalog.octet_length(n.content)) over (
                       order by n.seq desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
              from (select m.id, m.seq, m.sender_id, m.content from public.messages m
                     where m.conversation_id = move.conversation_id and m.seq < move.below and m.seq >= lowest
                       and (move.into_id is not null or m.sender_id = move.guest_id
                            or m.mentions @> array[move.guest_id])
                     order by m.seq desc limit most) n) b;
    if ids <> '{}' then
        perform app.reassign_messages(
            ids, move.conversation_id, coalesce(move.into_id, move.conversation_id), move.base);
        -- The account's mark is never before its own messages, also if the guest had left and the account is a member.
        update public.conversation_members m
           set sent_seq = newest, last_read_seq = greatest(m.last_read_seq, newest),
               changed_xid = pg_catalog.pg_current_xact_id()
          from app.merged_guests g
         where g.guest_id = move.guest_id and m.conversation_id = move.conversation_id and m.user_id = g.account_id
           and m.sent_seq < newest;
    end if;
    perform app.move_reactions(move, next_below);
    if next_below <= 1 then
        delete from app.message_moves v
         where v.conversation_id = move.conversation_id and v.guest_id = move.guest_id;
    else
        update app.message_moves v set below = next_below
         where v.conversation_id = move.conversation_id and v.guest_id = move.guest_id;
    end if;
    if uncounted > 0 then
        update app.merged_guests g set messages = g.messages + uncounted where g.guest_id = move.guest_id;
    end if;
    return coalesce(pg_catalog.cardinality(ids), 0);
end
$$;

-- Runs one step of a node's loop, at most 500 messages, if `node` has or gets the lease. Returns
--
--   none     nothing is left to move
--   led      another node has the lease
--   locked   the conversations of all that is left are locked
--   moved    a batch is done; there may be more
--
-- Waits for a conversation's lock only if `waits` is true.
create or replace function app.move_messages(node uuid, waits boolean) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    most constant integer := 500;
    move record;
begin
    if not exists (select from app.message_moves) then
        return 'none';
    -- Read without a lock: the holder locks the row for the duration of its batch.
    elsif exists (select from app.leases l
                   where l.name = 'moves' and l.holder <> node and l.expires_at > pg_catalog.clock_timestamp())
          or not app.acquire_lease('moves', node, 5) then
        return 'led';
    end if;
    -- In random order, so that a conversation with a long lock does not hold up the others.
    if waits then
        select v.conversation_id, v.guest_id, coalesce(v.into_id, v.conversation_id) as target into move
          from app.message_moves v order by pg_catalog.random() limit 1;
        perform 1 from public.conversations c where c.id = move.target for no key update;
        -- A later merge may have redirected the row, or moved the rest.
        if not exists (select from app.message_moves v
                        where v.conversation_id = move.conversation_id and v.guest_id = move.guest_id
                          and coalesce(v.into_id, v.conversation_id) = move.target) then
            return 'moved';
        end if;
    else
        select v.conversation_id, v.guest_id into move
          from app.message_moves v
          join public.conversations c on c.id = coalesce(v.into_id, v.conversation_id)
         order by pg_catalog.random() limit 1 for no key update skip locked;
        if not found then
            return 'locked';
        end if;
    end if;
    perform app.move_batch(move.conversation_id, move.guest_id, most);
    return 'moved';
end
$$;

-- Moves one message before its batch if it belongs to a guest that was merged into the caller, so that the caller can
-- change it now. Returns whether it did.
create or replace function app.move_message(conversation_id uuid, seq bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    message_id uuid;
begin
    -- Refuses callers who are not members. A role may call this without the lock.
    perform app.lock_conversation(conversation_id);
    select m.id into message_id
      from public.messages m join app.merged_guests g on g.guest_id = m.sender_id
     where m.conversation_id = move_message.conversation_id and m.seq = move_message.seq
       and g.account_id = auth.uid();
    if message_id is null then
        return false;
    end if;
    perform app.reassign_messages(array[message_id], conversation_id, conversation_id, 0);
    return true;
end
$$;
