-- Messages expire: after the time of the server (POSTLINE_MESSAGE_RETENTION_DAYS), or of their conversation
-- (message_ttl_seconds). The oldest expire first, in batches under the conversation's lock: its first_seq moves, and a
-- trigger deletes all messages below it. Clients are told of the conversation, and drop what is below first_seq.
--
-- Read marks move with first_seq, so that no expired message counts as unread, and its notification on a device ends.

-- Returns how many messages expire in one transaction.
create or replace function app.expiry_batch() returns integer
language sql immutable parallel safe
begin atomic
    select 200;
end;

-- Deletes the expired messages of a conversation, with all that belongs to them.
create or replace function app.delete_expired() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set jit = off as $$
begin
    insert into app.expired_sends (conversation_id, client_id, sender_id, message_id, seq, first_sent, created_at)
    select m.conversation_id, m.client_id, m.sender_id, m.id, m.seq,
           coalesce(m.first_sent, app.message_hash(m.id, m.kind, m.content, m.attachment, m.data)), m.created_at
      from public.messages m
     where m.conversation_id = new.id and m.seq < new.first_seq and m.client_id is not null
    on conflict do nothing;
    update public.media f set removed_at = pg_catalog.now()
     where f.removed_at is null and f.id = any (array(
            select i.id
              from public.messages m
              left join app.held_messages h on h.message_id = m.id
             cross join lateral unnest(app.media_ids(coalesce(h.attachment, m.attachment))) i (id)
             where m.conversation_id = new.id and m.seq < new.first_seq));
    perform app.remove_stream(s.conversation_id, s.seq) from app.message_streams s
      where s.conversation_id = new.id and s.seq < new.first_seq;
    perform app.remove_reactions(c.conversation_id, c.seq)
       from (select c.conversation_id, c.seq from public.reaction_counts c
              where c.conversation_id = new.id and c.seq < new.first_seq order by c.seq) c;
    delete from public.reaction_counts c where c.conversation_id = new.id and c.seq < new.first_seq;
    update public.conversation_members m set last_read_seq = new.first_seq - 1
     where m.conversation_id = new.id and m.last_read_seq < new.first_seq - 1;
    delete from public.message_mentions y where y.conversation_id = new.id and y.seq < new.first_seq;
    delete from public.messages m where m.conversation_id = new.id and m.seq < new.first_seq;
    return null;
end
$$;
create or replace trigger delete_expired after update of first_seq on public.conversations
    for each row when (new.first_seq > old.first_seq) execute function app.delete_expired();

-- Refuses to delete a message that has not expired.
create or replace function app.refuse_kept_message() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from public.conversations c where c.id = old.conversation_id and c.first_seq <= old.seq) then
        raise exception using errcode = 'restrict_violation', message = 'DELETE is not allowed on messages.',
            hint = 'Set deleted_at instead: this removes the content of the message and keeps its number.';
    end if;
    return old;
end
$$;
create or replace trigger refuse_delete before delete on public.messages
    for each row execute function app.refuse_kept_message();

-- Expires the oldest messages of a conversation that are older than `before`, at most app.expiry_batch(). Returns how
-- many, or null if another transaction has locked the conversation. A message that grows, and those after it, stay.
create or replace function app.expire_batch(conversation_id uuid, before timestamptz) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
    first bigint;
    beyond bigint;
    number integer;
begin
    select c.first_seq into first from public.conversations c
     where c.id = expire_batch.conversation_id for no key update skip locked;
    if not found then
        return null;
    elsif exists (select from app.message_moves v
                   where expire_batch.conversation_id in (v.conversation_id, v.into_id)) then
        -- Older messages may still come, in the places that are reserved for them.
        return 0;
    end if;
    -- Times increase with the numbers.
    select coalesce(min(m.seq) filter (where m.created_at >= before), max(m.seq) + 1),
           count(*) filter (where m.created_at < before)
      into beyond, number
      from (select m.seq, m.created_at from public.messages m
             where m.conversation_id = expire_batch.conversation_id and m.seq >= first
             order by m.seq limit app.expiry_batch()) m;
    beyond := least(beyond, (select min(s.seq) from app.message_streams s
                              where s.conversation_id = expire_batch.conversation_id and s.seq >= first));
    if beyond is null or beyond <= first or number = 0 then
        return 0;
    end if;
    update public.conversations c set first_seq = beyond where c.id = expire_batch.conversation_id;
    return number;
end
$$;

-- Does one step for the conversations whose messages expire after a time of their own. Returns false if none is due.
create or replace function app.expire_own() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    due record;
    ttl interval;
    number integer;
begin
    select e.conversation_id, c.message_ttl_seconds, c.first_seq into due
      from app.message_expiry e join public.conversations c on c.id = e.conversation_id
     where e.check_at <= pg_catalog.clock_timestamp()
     order by e.check_at limit 1 for update of e skip locked;
    if not found then
        return false;
    elsif due.message_ttl_seconds is null then
        delete from app.message_expiry e where e.conversation_id = due.conversation_id;
        return true;
    end if;
    ttl := pg_catalog.make_interval(secs => due.message_ttl_seconds);
    number := app.expire_batch(due.conversation_id, pg_catalog.clock_timestamp() - ttl);
    if number = app.expiry_batch() then
        return true;
    end if;
    -- A message that is sent from now on expires after the whole time. Those of a busy conversation expire in batches,
    -- at most a tenth of the time or a minute late.
    update app.message_expiry e
       set check_at = case when number is null then pg_catalog.clock_timestamp() + interval '1 second' else greatest(
               coalesce((select m.created_at from public.messages m
                          where m.conversation_id = due.conversation_id and m.seq >= due.first_seq
                          order by m.seq limit 1), pg_catalog.clock_timestamp()) + ttl,
               pg_catalog.clock_timestamp() + least(ttl / 10, interval '1 minute')) end
     where e.conversation_id = due.conversation_id;
    return true;
end
$$;

-- Does one step of the walk through all conversations, for messages older than `retention_days`. The walk begins at
-- most once an hour, and a step reads the oldest message of at most 500 conversations. Returns false if it has ended.
create or replace function app.expire_all(retention_days integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
    page_size constant integer := 500;
    before timestamptz := pg_catalog.now() - pg_catalog.make_interval(days => retention_days);
    walk app.retention_walk;
    next uuid;
    number integer;
begin
    select w.* into walk from app.retention_walk w for update skip locked;
    if not found or walk.position is null and walk.started_at > pg_catalog.now() - interval '1 hour' then
        return false;
    elsif walk.position is null then
        walk.position := '00000000-0000-0000-0000-000000000000';
        walk.started_at := pg_catalog.now();
    end if;
    select c.id into next
      from (select c.id, c.first_seq from public.conversations c
             where c.id > walk.position order by c.id limit page_size) c
     cross join lateral (
            select m.created_at from public.messages m
             where m.conversation_id = c.id and m.seq >= c.first_seq order by m.seq limit 1) m
     where m.created_at < before
     order by c.id limit 1;
    if next is not null then
        number := app.expire_batch(next, before);
        -- The next step continues with the conversation if it has more.
        if number is distinct from app.expiry_batch() then
            walk.position := next;
        end if;
    else
        walk.position := (select c.id from public.conversations c where c.id > walk.position
                           order by c.id offset page_size - 1 limit 1);
    end if;
    update app.retention_walk w set position = walk.position, started_at = walk.started_at;
    return walk.position is not null;
end
$$;

-- Does one step of the work of this file. `retention_days` is the time of the server, or 0 for none. Returns false if
-- nothing is left for now.
create or replace function app.expire_messages(retention_days integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if app.expire_own() then
        return true;
    end if;
    delete from app.expired_sends e
     where e.ctid = any (array(
            select o.ctid from app.expired_sends o where o.expired_at < pg_catalog.now() - interval '7 days'
             order by o.expired_at limit 1000 for update skip locked));
    return found or retention_days > 0 and app.expire_all(retention_days);
end
$$;

-- Sets after how many seconds messages of one of the caller's conversations expire; null is never. Of a direct one both
-- members may, of a group the owner and admins.
create or replace function app.set_message_ttl(conversation_id uuid, seconds integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    seat record := app.lock_conversation(conversation_id);
begin
    if seat.kind = 'group' and seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can change when its messages expire.');
    elsif app.has_block(conversation_id) then
        perform app.refuse_blocked();
    elsif seconds not between 60 and 31536000 then
        perform app.refuse_param('message_ttl_seconds',
            '"message_ttl_seconds" must be 60 to 31536000 (a year), or null.');
    end if;
    update public.conversations c set message_ttl_seconds = seconds where c.id = set_message_ttl.conversation_id;
end
$$;

-- Returns a time to live in words, such as `2 days`.
create or replace function app.ttl_text(seconds integer) returns text
language sql immutable parallel safe
begin atomic
    select (seconds / u.size) || ' ' || u.name || case when seconds / u.size = 1 then '' else 's' end
      from (values (604800, 'week'), (86400, 'day'), (3600, 'hour'), (60, 'minute'), (1, 'second')) u (size, name)
     where seconds % u.size = 0 order by u.size desc limit 1;
end;

-- Checks a conversation when its messages have a new time to live, and tells its members by an event, if a user has
-- set it.
create or replace function app.propagate_ttl() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if new.message_ttl_seconds is not null then
        insert into app.message_expiry as e (conversation_id, check_at) values (new.id, pg_catalog.now())
        on conflict on constraint message_expiry_pkey do update set check_at = excluded.check_at;
    end if;
    if app.creates_event(new.id) then
        perform app.write_event(
            new.id,
            pg_catalog.jsonb_build_object('type', 'ttl_changed', 'message_ttl_seconds', new.message_ttl_seconds),
            coalesce('Messages are deleted after ' || app.ttl_text(new.message_ttl_seconds) || '.',
                     'Messages are no longer deleted after a time.'));
    end if;
    return null;
end
$$;
create or replace trigger follow_ttl after update of message_ttl_seconds on public.conversations
    for each row when (new.message_ttl_seconds is distinct from old.message_ttl_seconds)
    execute function app.propagate_ttl();

-- Returns true if a new message repeats an expired one.
create or replace function app.is_expired_send(conversation_id uuid, sender_id uuid, client_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from app.expired_sends e
         where e.conversation_id = is_expired_send.conversation_id and e.client_id = is_expired_send.client_id
           and (e.sender_id = is_expired_send.sender_id or exists (
                select from app.merged_guests g
                 where g.guest_id = e.sender_id and g.account_id = is_expired_send.sender_id)));
end
$$;

-- Returns the caller's expired message with a client_id, as a deleted one; null if there is none. Raises
-- client_id_reused unless it was first sent in this form.
create or replace function app.expired_message(
    conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, data jsonb) returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := auth.uid();
    expired app.expired_sends;
begin
    if not app.is_member(conversation_id) or not app.is_expired_send(conversation_id, me, client_id) then
        return null;
    end if;
    select e.* into expired from app.expired_sends e
     where e.conversation_id = expired_message.conversation_id and e.client_id = expired_message.client_id
     order by e.sender_id = me desc limit 1;
    if expired.first_sent <> app.message_hash(expired.message_id, kind, content, attachment, data) then
        perform app.refuse_client_id();
    end if;
    return (
        select app.message_object(
                   row(expired.message_id, conversation_id, expired.seq, me, client_id, 'text', null, null, 2, null,
                       null, expired.created_at, null, expired.expired_at, null, null, null, null, null,
                       null)::public.messages,
                   s.object, 0, null)
          from app.sender_objects s where s.id = me);
end
$$;
