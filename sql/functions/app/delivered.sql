-- Delivered marks: nodes report which messages the devices of members have acknowledged. A mark is shown only with its
-- membership, and is never less than the member's read mark: a message that was read was delivered.

-- Stamps a mark with its transaction. It never moves back.
create or replace function app.validate_delivered_mark() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'UPDATE' then
        new.last_delivered_seq := greatest(old.last_delivered_seq, new.last_delivered_seq);
    end if;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;
create or replace trigger keep before insert or update of last_delivered_seq on public.delivered_marks
    for each row execute function app.validate_delivered_mark();
create or replace trigger ring after insert or update on public.delivered_marks
    for each statement execute function app.notify_change();

-- Returns the most members of a conversation in which messages are marked as delivered. In larger ones the marks of a
-- message would cost more than the message.
create or replace function app.max_delivered_members() returns integer
language sql immutable parallel safe
begin atomic
    select 32;
end;

-- Records a node's report: each of these users has received the messages of a conversation up to a number. Marks that
-- the user has already, and users who are no members, change nothing. A mark is at most the conversation's newest
-- message.
--
-- `moved` returns the number of marks that moved, and `large` those of the conversations that have too many members for
-- marks. `unsettled` returns the places of the marks that another transaction is changing: the node reports them again.
-- It does not wait for them, since a member may be removed by a program's transaction that lasts for long, and must not
-- delay the marks of everyone.
--
-- A member's row is locked for its first mark only: a mark that is written while the member is removed would stay.
-- Concurrent reports, and merges of guests, wait for each other only if both write the first mark of the same member,
-- and the time limit ends a deadlock of these.
create or replace function app.report_delivered(
    conversations uuid[], users uuid[], seqs bigint[], out moved integer, out large uuid[], out unsettled integer[])
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set lock_timeout = '200ms'
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off as $$
declare
    -- The marks that move, by conversation and user.
    places integer[];
    moving_conversations uuid[];
    moving_users uuid[];
    moving_seqs bigint[];
    is_new boolean[];
    settled integer[] := '{}';
    more integer[];
begin
    large := array(
        select c.id from (select distinct u.id from unnest(conversations) as u (id)) c
         where exists (
            select from public.conversation_members m
             where m.conversation_id = c.id offset app.max_delivered_members())
         order by c.id);
    select coalesce(pg_catalog.array_agg(w.place order by w.conversation_id, w.user_id), '{}'),
           pg_catalog.array_agg(w.conversation_id order by w.conversation_id, w.user_id),
           pg_catalog.array_agg(w.user_id order by w.conversation_id, w.user_id),
           pg_catalog.array_agg(w.seq order by w.conversation_id, w.user_id),
           pg_catalog.array_agg(w.is_new order by w.conversation_id, w.user_id)
      into places, moving_conversations, moving_users, moving_seqs, is_new
      from (select r.place::integer as place, r.conversation_id, r.user_id, least(r.seq, c.last_seq) as seq,
                   d.last_delivered_seq is null as is_new
              from rows from (unnest(conversations), unnest(users), unnest(seqs))
                   with ordinality as r (conversation_id, user_id, seq, place)
             cross join lateral (
                    select m.last_read_seq from public.conversation_members m
                     where m.conversation_id = r.conversation_id and m.user_id = r.user_id and not m.is_deleted) m
             cross join lateral (select c.last_seq from public.conversations c where c.id = r.conversation_id) c
              left join lateral (
                    select d.last_delivered_seq from public.delivered_marks d
                     where d.conversation_id = r.conversation_id and d.user_id = r.user_id) d on true
             where least(r.seq, c.last_seq) > greatest(m.last_read_seq, d.last_delivered_seq)
               and r.conversation_id <> all (large)) w;
    if false = any (is_new) then
        with moving as materialized (
            select w.place, w.seq, d.conversation_id, d.user_id
              from unnest(places, moving_conversations, moving_users, moving_seqs, is_new)
                   as w (place, conversation_id, user_id, seq, is_new)
              join public.delivered_marks d
                on d.conversation_id = w.conversation_id and d.user_id = w.user_id
             where not w.is_new
               for no key update of d skip locked),
        written as (
            update public.delivered_marks d set last_delivered_seq = w.seq
              from moving w
             where d.conversation_id = w.conversation_id and d.user_id = w.user_id
            returning w.place)
        select coalesce(pg_catalog.array_agg(m.place), '{}') into settled from written m;
    end if;
    if true = any (is_new) then
        with moving as materialized (
            select w.place, w.seq, m.conversation_id, m.user_id
              from unnest(places, moving_conversations, moving_users, moving_seqs, is_new)
                   as w (place, conversation_id, user_id, seq, is_new)
              join public.conversation_members m
                on m.conversation_id = w.conversation_id and m.user_id = w.user_id
             where w.is_new
               for key share of m skip locked),
        written as (
            insert into public.delivered_marks as d (conversation_id, user_id, last_delivered_seq)
            select w.conversation_id, w.user_id, w.seq from moving w order by w.conversation_id, w.user_id
            on conflict do nothing
            returning d.conversation_id, d.user_id)
        select coalesce(pg_catalog.array_agg(w.place), '{}') into more
          from moving w join written m on m.conversation_id = w.conversation_id and m.user_id = w.user_id;
        settled := settled || more;
    end if;
    moved := pg_catalog.cardinality(settled);
    unsettled := array(select p from unnest(places) p where p <> all (settled) order by p);
end
$$;

-- Returns the messages that devices have acknowledged, as marks for app.report_delivered. Each device is one of a user
-- of `users`, and has received what its cursor of `cursors` sees. Row by row, the device at the index of `devices` has
-- acknowledged a conversation of `conversations`, or all (null). `place` is the row. Conversations without a message
-- beyond the user's marks have no mark, nor has a user who hides its presence, or one of a direct conversation in which
-- one of the two blocks the other: its marks would show when it is online.
--
-- A cursor that sees a message sees all before it in the conversation. So one that does not see the first newer message
-- is done with the conversation: a client that repeats an old cursor costs little. Of the others the last 100 newer
-- messages are searched, and then the first 100, so that the mark moves.
create or replace function app.acknowledged_messages(
    users uuid[], cursors pg_snapshot[], devices integer[], conversations uuid[])
returns table (place integer, conversation_id uuid, user_id uuid, seq bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off as $$
#variable_conflict use_column
begin
    return query
    select r.place::integer, m.conversation_id, r.user_id, n.seq
      from (select users[u.device] as user_id, cursors[u.device] as cursor, u.conversation_id, u.place
              from rows from (unnest(devices), unnest(conversations))
                   with ordinality as u (device, conversation_id, place)) r
     cross join lateral (
            select where not exists (select from public.presence p where p.user_id = r.user_id and p.is_hidden)) visible
     cross join lateral (
            select m.conversation_id, m.last_read_seq from public.conversation_members m
             where m.conversation_id = r.conversation_id and m.user_id = r.user_id and not m.is_deleted
               and not m.is_blocked
            union all
            select m.conversation_id, m.last_read_seq from public.conversation_members m
             where r.conversation_id is null and m.user_id = r.user_id and not m.is_deleted and not m.is_blocked) m
     cross join lateral (
            select from public.conversations c
             where c.id = m.conversation_id and c.last_seq > m.last_read_seq
               and (r.conversation_id is not null or c.kind = 'direct' or not exists (
                    select from public.conversation_members o
                     where o.conversation_id = c.id offset app.max_delivered_members()))) c
      left join lateral (
            select d.last_delivered_seq from public.delivered_marks d
             where d.conversation_id = m.conversation_id and d.user_id = r.user_id) d on true
     cross join lateral (select greatest(m.last_read_seq, d.last_delivered_seq) as seq) mark
     cross join lateral (
            select from (
                    select t.sent_xid from public.messages t
                     where t.conversation_id = m.conversation_id and t.seq > mark.seq order by t.seq limit 1) f
             where pg_catalog.pg_visible_in_snapshot(f.sent_xid, r.cursor)) first_newer
     cross join lateral (
            select coalesce(
                (select s.seq
                   from (select t.seq, t.sent_xid from public.messages t
                          where t.conversation_id = m.conversation_id and t.seq > mark.seq
                          order by t.seq desc limit 100) s
                  where pg_catalog.pg_visible_in_snapshot(s.sent_xid, r.cursor)
                  order by s.seq desc limit 1),
                (select s.seq
                   from (select t.seq, t.sent_xid from public.messages t
                          where t.conversation_id = m.conversation_id and t.seq > mark.seq
                          order by t.seq limit 100) s
                  where pg_catalog.pg_visible_in_snapshot(s.sent_xid, r.cursor)
                  order by s.seq desc limit 1)) as seq) n;
end
$$;

-- Records what devices have acknowledged (app.acknowledged_messages), and returns the result of app.report_delivered,
-- with the rows of `devices` and `conversations`. Cursors of another epoch acknowledge nothing. Nodes call this, at
-- most once a second.
create or replace function app.report_acknowledged(
    users uuid[], epochs text[], cursors pg_snapshot[], devices integer[], conversations uuid[],
    out moved integer, out large uuid[], out unsettled integer[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    epoch_now text := app.epoch();
    marks record;
begin
    select coalesce(pg_catalog.array_agg(a.place), '{}') as places,
           coalesce(pg_catalog.array_agg(a.conversation_id), '{}') as conversations,
           coalesce(pg_catalog.array_agg(a.user_id), '{}') as users, coalesce(pg_catalog.array_agg(a.seq), '{}') as seqs
      into marks
      from app.acknowledged_messages(
            array(select case when d.epoch = epoch_now then d.user_id end
                    from rows from (unnest(users), unnest(epochs)) with ordinality as d (user_id, epoch, place)
                   order by d.place),
            cursors, devices, conversations) a;
    select r.moved, r.large, array(select distinct marks.places[p] from unnest(r.unsettled) p order by 1)
      into moved, large, unsettled
      from app.report_delivered(marks.conversations, marks.users, marks.seqs) r;
end
$$;

-- Returns up to which message a member has received a conversation, or null if it has no mark.
create or replace function app.delivered_mark(conversation_id uuid, user_id uuid) returns bigint
language sql stable
begin atomic
    select d.last_delivered_seq from public.delivered_marks d
     where d.conversation_id = delivered_mark.conversation_id and d.user_id = delivered_mark.user_id;
end;

-- Moves a member's mark to `seq`, unless it is there already. For merges of guests, which lock the conversation.
create or replace function app.move_delivered_mark(conversation_id uuid, user_id uuid, seq bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into public.delivered_marks as d (conversation_id, user_id, last_delivered_seq)
    select m.conversation_id, m.user_id, move_delivered_mark.seq from public.conversation_members m
     where m.conversation_id = move_delivered_mark.conversation_id and m.user_id = move_delivered_mark.user_id
       and m.last_read_seq < move_delivered_mark.seq
    on conflict on constraint delivered_marks_pkey do update set last_delivered_seq = excluded.last_delivered_seq
     where d.last_delivered_seq < excluded.last_delivered_seq;
end
$$;
