-- Device pushes: notifications for users without an open app.
--
-- One node, the holder of the lease `push`, works every half second: app.queue_pushes reads the changes since its
-- cursor, notes their conversations in app.push_queue, and stores one row per device and conversation in app.pushes.
-- Two seconds later app.claim_pushes decides: nothing is pushed to users who have read the message, have muted the
-- conversation, or are online. The node sends the rest to the providers, and app.record_push_results stores their
-- responses. Sending a message costs nothing for this.
--
-- Senders take turns in both, and each step is bounded, so that a sender with many receivers does not delay others.
--
-- Most of the time app.pushes is empty, and the planner then takes it for empty, also when it is full. So all functions
-- find its rows by index, one device or sender at a time, and write them by ctid.
--
-- A claimed row is due again a minute later in case the node stops: each push is delivered at least once, and twice
-- only if a node stops between the provider's response and its record.

create or replace function app.pushes_per_step() returns integer language sql immutable return 2000;

-- Queues pushes for messages that were sent since the cursor, and for messages that were read after a push. Returns the
-- number of pairs of device and conversation with a new message. A call covers conversations with about
-- app.pushes_per_step() such pairs; other conversations wait for the next call.
create or replace function app.queue_pushes() returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
declare
    since pg_snapshot;
    beyond xid8;
    open xid8[];
    seen pg_snapshot;
    noted integer;
begin
    select c.snapshot into since from app.push_cursor c
     where c.epoch = app.epoch()
       and pg_catalog.pg_snapshot_xmax(c.snapshot) <= pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot());
    if since is null then
        -- Messages from before the first call, or from before a restored database was taken into use, are not pushed.
        delete from app.push_cursor;
        insert into app.push_cursor (epoch, snapshot) values (app.epoch(), pg_catalog.pg_current_snapshot());
        return 0;
    end if;
    beyond := pg_catalog.pg_snapshot_xmax(since);
    open := array(
        select x from pg_catalog.pg_snapshot_xip(since) x
         where pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()));
    -- Without changes nothing is written.
    if not exists (select from public.messages t where t.changed_xid >= beyond)
       and not exists (select from public.messages t where t.changed_xid = any (open))
       and not exists (select from public.conversation_members t where t.changed_xid >= beyond)
       and not exists (select from public.conversation_members t where t.changed_xid = any (open))
       and not exists (select from public.message_reactions t where t.changed_xid >= beyond)
       and not exists (select from public.message_reactions t where t.changed_xid = any (open))
       and not exists (select from app.push_queue)
       and not exists (select from app.push_backlog) then
        return 0;
    end if;

    -- One statement, so that the new messages and the next cursor are of one snapshot.
    with now as materialized (select pg_catalog.pg_current_snapshot() as snapshot),
    sent as materialized (
        select t.conversation_id, t.sender_id, t.seq
          from (select m.* from public.messages m where m.changed_xid >= beyond
                union all
                select m.* from public.messages m where m.changed_xid = any (open)) t
         where not pg_catalog.pg_visible_in_snapshot(t.sent_xid, since) and t.deleted_at is null and t.event is null
           and t.created_at > pg_catalog.now() - interval '1 day'),
    newest as (
        select distinct on (s.conversation_id) s.* from sent s order by s.conversation_id, s.seq desc),
    queued as (
        insert into app.push_queue as q (conversation_id, sender_id, seq)
        select n.conversation_id, n.sender_id, n.seq from newest n
        on conflict on constraint push_queue_pkey do update
           set sender_id = excluded.sender_id, seq = greatest(q.seq, excluded.seq))
    select n.snapshot into seen from now n;

    with waiting as (
        -- Senders are chosen at random, since by age one with many conversations would always be first, and then served
        -- in the order of their conversations' devices, so that small conversations do not wait for large ones.
        select q.*, row_number() over (partition by q.sender_id order by q.noted_at, q.conversation_id) as turn,
               random() as lot
          from app.push_queue q),
    next as materialized (
        select w.*, (select count(*) from public.conversation_members m join app.devices d on d.user_id = m.user_id
                      where m.conversation_id = w.conversation_id) as device_count
          from (select w.* from waiting w order by w.turn, w.lot limit 100) w),
    summed as (
        select n.*, sum(n.device_count) over (order by n.turn, n.device_count, n.lot
                                              rows between unbounded preceding and 1 preceding) as devices_before
          from next n),
    taken as (
        delete from app.push_queue q using summed n
         where q.conversation_id = n.conversation_id and coalesce(n.devices_before, 0) < app.pushes_per_step()
        returning q.*),
    held as (
        select b.* from app.push_backlog b limit 2000),
    wanted as materialized (
        select w.device_id, w.conversation_id, max(w.seq) as seq, (array_agg(w.sender_id order by w.seq desc))[1]
                 as sender_id
          from (select d.id as device_id, q.conversation_id, q.seq, q.sender_id
                  from taken q
                  -- A sender has read its own message.
                  join public.conversation_members m
                    on m.conversation_id = q.conversation_id and m.user_id <> q.sender_id and m.last_read_seq < q.seq
                   and not m.is_deleted
                  join app.devices d on d.user_id = m.user_id
                union all
                select h.device_id, h.conversation_id, h.seq, h.sender_id from held h) w
         group by w.device_id, w.conversation_id),
    -- A device that another transaction has locked, such as one that ends its session, goes to the backlog: pushes of
    -- other users do not wait.
    free as materialized (
        select d.id from app.devices d where d.id in (select w.device_id from wanted w) for key share skip locked),
    told as (
        insert into app.pushes as p (device_id, conversation_id, sender_id, seq, noted_at, due_at)
        select w.device_id, w.conversation_id, w.sender_id, w.seq, pg_catalog.clock_timestamp(),
               pg_catalog.clock_timestamp() + interval '2 seconds'
          from wanted w where w.device_id in (select f.id from free f)
         order by w.device_id, w.conversation_id
        -- A push that waits after long refusals, or is being sent, waits at most a minute.
        on conflict on constraint pushes_pkey do update
           set seq = greatest(p.seq, excluded.seq), sender_id = excluded.sender_id,
               due_at = least(coalesce(p.due_at, excluded.due_at),
                              pg_catalog.clock_timestamp() + interval '1 minute'),
               noted_at = excluded.noted_at,
               attempts = case when p.due_at is null then 0 else p.attempts end
        returning 1),
    kept as (
        insert into app.push_backlog as b (device_id, conversation_id, sender_id, seq)
        select w.device_id, w.conversation_id, w.sender_id, w.seq from wanted w
         where w.device_id not in (select f.id from free f)
           and exists (select from app.devices d where d.id = w.device_id)
        on conflict on constraint push_backlog_pkey do update set seq = greatest(b.seq, excluded.seq)),
    done as (
        delete from app.push_backlog b using held h
         where b.device_id = h.device_id and b.conversation_id = h.conversation_id
           and (b.device_id in (select f.id from free f)
                or not exists (select from app.devices d where d.id = b.device_id)))
    select count(*) into noted from told;

    perform app.queue_reaction_pushes(beyond, open);
    -- Pushes of messages that were read elsewhere, or by replying, are taken back. The cursor is the snapshot of the
    -- first statement: changes in between are seen twice, which is harmless.
    update app.pushes p set due_at = pg_catalog.clock_timestamp()
     where p.ctid = any (array(
            select q.ctid
              from (select m.conversation_id, m.user_id, m.last_read_seq
                      from public.conversation_members m where m.changed_xid >= beyond or m.changed_xid = any (open)
                    union
                    select m.conversation_id, m.user_id, m.last_read_seq
                      from public.messages t
                      join public.conversation_members m
                        on m.conversation_id = t.conversation_id and m.user_id = t.sender_id
                     where t.changed_xid >= beyond or t.changed_xid = any (open)) r
              join app.devices d on d.user_id = r.user_id
             cross join lateral (
                    select x.ctid from app.pushes x
                     where x.device_id = d.id and x.conversation_id = r.conversation_id
                       and x.told_seq between 1 and r.last_read_seq and x.due_at is null
                       for update skip locked) q));
    update app.push_cursor c set snapshot = seen;
    return noted;
end
$$;

-- Returns at most `most` senders of waiting pushes, in the order of their ids from `start` on, and then from the first.
create or replace function app.push_senders(start uuid, most integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    found uuid[] := '{}';
    last uuid := start;
    next uuid;
    is_second_pass boolean := false;
begin
    while cardinality(found) < most loop
        if last is null then
            select p.sender_id into next from app.pushes p where p.due_at is not null order by p.sender_id limit 1;
        else
            select p.sender_id into next from app.pushes p where p.due_at is not null and p.sender_id > last
             order by p.sender_id limit 1;
        end if;
        exit when is_second_pass and (next is null or next > start);
        if next is null then
            is_second_pass := true;
        else
            found := found || next;
        end if;
        last := next;
    end loop;
    return found;
end
$$;

-- Returns the kind of a message for the text of a push: `voice` for an audio with a waveform.
create or replace function app.pushed_kind(message public.messages) returns text
language sql stable parallel safe
begin atomic
    select case when message.attachment ->> 'waveform' is not null then 'voice' else message.kind end;
end;

-- Returns the text of a message for a push: empty if it is only the name of a video or a voice message.
create or replace function app.pushed_text(message public.messages) returns text
language sql stable parallel safe
begin atomic
    select case when message.content = message.attachment ->> 'name'
                     and app.pushed_kind(message) in ('video', 'voice')
                then '' else message.content end;
end;

-- Returns one row: the number of a user's unread messages in all conversations. It is inlined into the calling
-- statement.
create or replace function app.push_badge(user_id uuid) returns table (badge bigint)
language sql stable
begin atomic
    select coalesce(sum(greatest(r.last_seq - m.last_read_seq, 0))::bigint, 0)
      from public.conversation_members m join public.conversations r on r.id = m.conversation_id
     where m.user_id = push_badge.user_id;
end;

-- Claims at most `most` due pushes, the same share of each sender; each is due again in a minute. `kind` is
--
--   tell   a notification for the message `seq`
--   read   no notification: everything up to `seq` is read, and the device is to remove what it shows
--   late   not accepted for a day, and dropped
--
-- `message_kind` and `content` are those of app.pushed_kind and app.pushed_text; `content` is null unless `with_text`.
create or replace function app.claim_pushes(most integer, with_text boolean) returns table (
    kind text, device_id uuid, conversation_id uuid, seq bigint, user_id uuid, platform text, token text,
    environment text, locale text, sender_id uuid, sender_name text, title text, message_kind text, content text,
    badge bigint, attempts integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
#variable_conflict use_column
declare
    senders uuid[];
begin
    senders := app.push_senders(pg_catalog.gen_random_uuid(), most);
    return query
    with due as materialized (
        select p.* from unnest(senders) s (id)
         cross join lateral (
                select q.ctid as place, q.* from app.pushes q
                 where q.sender_id = s.id and q.due_at <= pg_catalog.clock_timestamp()
                 order by q.due_at limit greatest(1, most / greatest(1, cardinality(senders))) for update skip locked) p
         limit most),
    judged as materialized (
        select q.place, q.device_id, q.conversation_id, q.told_seq, q.attempts, q.noted_at, d.user_id, d.platform,
               d.token, d.environment, d.locale, n.seq as newest, n.sender_id, n.kind as message_kind,
               n.content,
               m.last_read_seq,
               case when m.user_id is null then 'forget'
                    when q.seq <= m.last_read_seq then
                        case when q.told_seq > 0 and q.attempts < 10 then 'read' else 'forget' end
                    when q.noted_at < pg_catalog.now() - interval '1 day' then 'late'
                    when n.seq is null then case
                        -- A message that grows is pushed once it is finished, and delays no other.
                        when exists (select from app.message_streams s
                                      where s.conversation_id = q.conversation_id and s.seq <= q.seq
                                        and s.seq > greatest(m.last_read_seq, q.told_seq)) then 'wait'
                        else 'rest' end
                    when not exists (select from app.node_users o where o.user_id = d.user_id) then 'tell'
                    -- A node reports a departure a few seconds late, so that a reconnect is not shown: users who may
                    -- just be leaving are checked once more.
                    when q.noted_at > pg_catalog.clock_timestamp() - interval '8 seconds' then 'wait'
                    else 'rest' end as verdict
          from due q
          join app.devices d on d.id = q.device_id
          left join public.conversation_members m
            on m.conversation_id = q.conversation_id and m.user_id = d.user_id and not m.is_deleted
          left join public.conversation_mutes x
            on x.conversation_id = q.conversation_id and x.user_id = d.user_id
          left join lateral (
                select t.seq, t.sender_id, app.pushed_kind(t) as kind, app.pushed_text(t) as content
                  -- Among the newest 1,000, since a sender may have deleted any number of messages.
                  from ((select y.seq
                           from (select t.seq, t.sender_id, t.deleted_at from public.messages t
                                  where coalesce(x.muted_until <= pg_catalog.now(), true)
                                    and t.conversation_id = q.conversation_id and t.seq <= q.seq
                                    and t.seq > greatest(m.last_read_seq, q.told_seq)
                                  order by t.seq desc limit 1000) y
                          where y.sender_id <> d.user_id and y.deleted_at is null
                            and not app.is_streaming(q.conversation_id, y.seq)
                            and not app.is_blocked(d.user_id, y.sender_id)
                          order by y.seq desc limit 1)
                        union all
                        -- A mention breaks a mute. Those of the user and of everyone are read apart, in their order.
                        select y.seq
                          from unnest(array[d.user_id, app.everyone()]) u (id)
                         cross join lateral (
                                select y.seq from public.message_mentions y
                                 where x.muted_until > pg_catalog.now()
                                   and y.conversation_id = q.conversation_id and y.user_id = u.id and y.seq <= q.seq
                                   and y.seq > greatest(m.last_read_seq, q.told_seq)
                                   and not app.is_streaming(q.conversation_id, y.seq)
                                 order by y.seq desc limit 1) y) w
                  join public.messages t on t.conversation_id = q.conversation_id and t.seq = w.seq
                 where t.sender_id <> d.user_id and t.deleted_at is null
                   and not app.is_blocked(d.user_id, t.sender_id)
                 order by t.seq desc limit 1) n on true),
    -- Once per user, who may have ten devices and thousands of conversations.
    badges as materialized (
        select u.user_id, b.badge
          from (select distinct k.user_id from judged k where k.verdict in ('tell', 'read', 'late')) u
         cross join lateral app.push_badge(u.user_id) b),
    forgotten as (
        delete from app.pushes p
         where p.ctid = any (array(
                select j.place from judged j
                 where j.verdict = 'forget' or j.verdict in ('rest', 'late') and j.told_seq = 0))),
    kept as (
        update app.pushes p
           set due_at = case j.verdict when 'wait' then case
                                           when j.newest is null then pg_catalog.clock_timestamp() + interval '1 second'
                                           else j.noted_at + interval '8 seconds' end
                                       when 'rest' then null when 'late' then null
                                       else pg_catalog.clock_timestamp() + interval '1 minute' end,
               attempts = p.attempts + (j.verdict in ('tell', 'read'))::integer
          from judged j
         where p.ctid = any (array(
                select k.place from judged k
                 where k.verdict in ('wait', 'tell', 'read') or k.verdict in ('rest', 'late') and k.told_seq > 0))
           and j.place = p.ctid)
    select j.verdict, j.device_id, j.conversation_id,
           case when j.verdict = 'read' then j.last_read_seq else j.newest end,
           j.user_id, j.platform, j.token, j.environment, j.locale, j.sender_id,
           coalesce(s.full_name, s.username)::text, c.title::text, j.message_kind::text,
           case when with_text then j.content::text end, coalesce(b.badge, 0), j.attempts
      from judged j
      join public.conversations c on c.id = j.conversation_id
      left join public.user_profiles s on s.id = j.sender_id and not s.is_deleted
      left join badges b on b.user_id = j.user_id
     where j.verdict in ('tell', 'read', 'late');
end
$$;

-- Records the providers' responses to claimed pushes. `outcomes` are
--
--   taken          accepted for delivery
--   refused        will never be accepted
--   unregistered   the device no longer exists, and is deleted
--   later          to be tried again after `retry_seconds`
create or replace function app.record_push_results(
    device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[],
    retry_seconds double precision[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
    with said as materialized (
        select * from unnest(device_ids, conversation_ids, seqs, kinds, outcomes, retry_seconds)
               as u (device_id, conversation_id, seq, kind, outcome, retry)),
    -- A row that another transaction has locked becomes due again by itself.
    held as materialized (
        select p.*, s.seq as said_seq, s.kind, s.outcome, s.retry, d.registered_at,
               -- A node that was stalled may report after another has pushed more.
               case when s.outcome <> 'taken' then p.told_seq
                    when s.kind = 'tell' then greatest(p.told_seq, s.seq)
                    when p.told_seq <= s.seq then 0 else p.told_seq end as now_told,
               -- Read while it was on its way to the device.
               s.outcome = 'taken' and s.kind = 'tell' and coalesce(m.last_read_seq >= s.seq, false) as is_read
          from said s
         cross join lateral (
                select q.ctid as place, q.* from app.pushes q
                 where q.device_id = s.device_id and q.conversation_id = s.conversation_id
                   for update skip locked) p
          join app.devices d on d.id = s.device_id
          left join public.conversation_members m on m.conversation_id = s.conversation_id and m.user_id = d.user_id),
    settled as (
        update app.pushes p
           set told_seq = h.now_told,
               attempts = case h.outcome when 'later' then p.attempts else 0 end,
               noted_at = case when h.outcome <> 'later' and h.seq > greatest(h.said_seq, h.now_told)
                               then pg_catalog.clock_timestamp() else p.noted_at end,
               due_at = case when h.outcome = 'later'
                                  then pg_catalog.clock_timestamp() + h.retry * interval '1 second'
                             when h.is_read then pg_catalog.clock_timestamp()
                             when h.seq > greatest(h.said_seq, h.now_told)
                                  then pg_catalog.clock_timestamp() + interval '2 seconds' end
          from held h
         where p.ctid = any (array(
                select k.place from held k
                 where k.outcome <> 'unregistered'
                   and (k.outcome = 'later' or k.outcome = 'taken' and k.kind = 'tell' or k.seq > k.said_seq
                        or k.told_seq > 0 and k.outcome = 'refused' and k.kind = 'tell')))
           and h.place = p.ctid),
    -- The device shows nothing of it, and there is nothing to push.
    done as (
        delete from app.pushes p
         where p.ctid = any (array(
                select h.place from held h
                 where h.seq <= h.said_seq
                   and (h.kind = 'read' and h.outcome in ('taken', 'refused')
                        or h.kind = 'tell' and h.outcome = 'refused' and h.told_seq = 0))))
    -- A device that has registered again after the push, which is a minute before the row is due again, exists.
    delete from app.devices d
     where d.id in (select h.device_id from held h
                     where h.outcome = 'unregistered'
                       and h.registered_at <= coalesce(h.due_at, pg_catalog.clock_timestamp()) - interval '1 minute');
end
$$;
