-- Scheduled messages. A row is sent as a message with its id as client_id, and deleted in the same transaction, so that
-- a message is sent once whichever node sends it.

-- Returns a scheduled message as JSON.
create or replace function app.scheduled_object(scheduled public.scheduled_messages) returns json
language sql stable parallel safe
begin atomic
    select pg_catalog.row_to_json(w) from (select
        scheduled.id, scheduled.conversation_id, app.utc(scheduled.due_at) as due_at, scheduled.kind,
        scheduled.content,
        case when scheduled.attachment is not null
             then app.attachment_object(scheduled.attachment) end as attachment,
        coalesce((select pg_catalog.json_agg(app.attachment_object(a.value) order by a.place)
                    from pg_catalog.jsonb_array_elements(app.attachments(scheduled.attachment))
                             with ordinality as a (value, place)), '[]') as attachments,
        scheduled.reply_to_seq,
        coalesce(scheduled.mentions, '{}') as mentions,
        coalesce(scheduled.mentions_everyone, false) as mentions_everyone, scheduled.data,
        app.utc(scheduled.created_at) as created_at, scheduled.refusal as error) w;
end;

-- Writes a scheduled message to its conversation, where the triggers of messages check it.
create or replace function app.send_scheduled(scheduled public.scheduled_messages) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    insert into public.messages (
        conversation_id, sender_id, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
        data)
    values (
        scheduled.conversation_id, scheduled.sender_id, scheduled.id, scheduled.kind, scheduled.content,
        scheduled.attachment, scheduled.reply_to_seq, scheduled.mentions, scheduled.mentions_everyone, scheduled.data)
$$;

-- Returns the most scheduled messages of a user.
create or replace function app.max_scheduled() returns integer
language sql immutable parallel safe
begin atomic
    select 100;
end;

-- Returns when a message is sent that is due at a time: then, or later if the sender has others at that time. Its
-- messages are sent half a second apart, so that those of one user do not delay others'.
create or replace function app.free_send_time(sender uuid, due_at timestamptz) returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp as $$
    with taken as materialized (
        select s.next_try_at as time from public.scheduled_messages s
         where s.sender_id = free_send_time.sender and s.refusal is null)
    select min(c.time)
      from (select free_send_time.due_at
            union all
            select t.time + interval '0.5 s' from taken t
             where t.time + interval '0.5 s' > free_send_time.due_at) c (time)
     where not exists (
            select from taken t where t.time > c.time - interval '0.5 s' and t.time < c.time + interval '0.5 s')
$$;

-- Checks a new scheduled message: it is sent and taken back, so that all rules of messages hold now. They are checked
-- again at its time.
create or replace function app.check_scheduled() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- The policy checks it too, but only after this trigger, whose errors would reveal who is a member.
    if new.sender_id <> auth.uid() then
        perform app.refuse_message();
    elsif not coalesce(new.due_at > pg_catalog.now() and new.due_at <= pg_catalog.now() + interval '366 days', false)
    then
        perform app.refuse_param('due_at', '"due_at" must be in the future, at most a year from now.');
    elsif not app.may_send_kind(new.kind) then
        perform app.refuse_kind();
    end if;
    begin
        perform app.send_scheduled(new);
        raise exception using errcode = 'PL099';
    exception when sqlstate 'PL099' then
        -- The message is taken back, and its locks with it.
    end;
    -- Serializes the user's changes, so that all its messages are counted, and refuses deleted and merged users.
    perform 1 from public.user_profiles p where p.id = new.sender_id and not p.is_deleted for no key update;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    elsif (select count(*) from public.scheduled_messages s where s.sender_id = new.sender_id) >= app.max_scheduled()
    then
        perform app.refuse_forbidden(pg_catalog.format(
            'You have %s scheduled messages. Remove one, or wait until one is sent, before you schedule another.',
            app.max_scheduled()));
    elsif exists (
        select from public.scheduled_messages s
         where s.sender_id = new.sender_id
           and app.media_ids(s.attachment) && app.media_ids(new.attachment)) then
        perform app.refuse_param('attachment.media_id',
            '"attachment.media_id" is already used by another scheduled message.');
    end if;
    new.attachment := app.normalized_attachment(new.attachment);
    new.mentions := case when new.mentions is not null then array(
        select u.id from unnest(new.mentions) with ordinality u (id, place)
         where u.id is not null group by u.id order by min(u.place)) end;
    new.tries := 0;
    new.next_try_at := app.free_send_time(new.sender_id, new.due_at);
    new.refusal := null;
    return new;
end
$$;
create or replace trigger check_new before insert on public.scheduled_messages
    for each row execute function app.check_scheduled();

-- Counts a member's scheduled and unsent messages of a conversation anew, which tells them to its devices.
create or replace function app.count_scheduled(conversation_id uuid, user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.tell_own_conversation(count_scheduled.conversation_id, count_scheduled.user_id);
    -- It has locked the row. A separate statement sees what was committed before.
    update public.conversation_mutes x set scheduled_count = n.scheduled, unsent_count = n.unsent
      from (select count(*) filter (where s.refusal is null) as scheduled,
                   count(*) filter (where s.refusal is not null) as unsent
              from public.scheduled_messages s
             where s.sender_id = count_scheduled.user_id
               and s.conversation_id = count_scheduled.conversation_id) n
     where x.conversation_id = count_scheduled.conversation_id and x.user_id = count_scheduled.user_id;
end
$$;

-- Counts a scheduled message that was added, removed, refused or moved.
create or replace function app.propagate_scheduled() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if old.id is not null then
        perform app.count_scheduled(old.conversation_id, old.sender_id);
    end if;
    if new.id is not null
       and row(new.conversation_id, new.sender_id) is distinct from row(old.conversation_id, old.sender_id) then
        perform app.count_scheduled(new.conversation_id, new.sender_id);
    end if;
    return null;
end
$$;
create or replace trigger follow_rows after insert or delete on public.scheduled_messages
    for each row execute function app.propagate_scheduled();
create or replace trigger follow_changed after update on public.scheduled_messages
    for each row when (
        row(new.sender_id, new.conversation_id, new.refusal is null)
        is distinct from row(old.sender_id, old.conversation_id, old.refusal is null))
    execute function app.propagate_scheduled();

-- Sends one message whose time has come. Returns false if there is none.
--
-- A refused message stays with its error. After a failure that may pass it is tried again, ten times in ten minutes.
--
-- Each message has a transaction of its own, which waits at most 5 ms for a lock. So a conversation that a transaction
-- keeps locked hardly delays messages of others. Its own are tried again, less often the longer they wait, until it is
-- free.
create or replace function app.send_due() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5ms' as $$
declare
    due public.scheduled_messages;
    state text;
    problem text;
    code text;
begin
    select s.* into due from public.scheduled_messages s
     where s.refusal is null and s.next_try_at <= pg_catalog.clock_timestamp()
     order by s.next_try_at limit 1 for update skip locked;
    if not found then
        return false;
    end if;
    begin
        if exists (select from auth.users u where u.id = due.sender_id and app.is_banned(u)) then
            perform app.refuse_forbidden('This account is banned.');
        end if;
        perform app.send_scheduled(due);
        delete from public.scheduled_messages s where s.sender_id = due.sender_id and s.id = due.id;
    exception
        when lock_not_available then
            update public.scheduled_messages s
               set next_try_at = pg_catalog.clock_timestamp() + least(greatest(
                       (pg_catalog.clock_timestamp() - s.due_at) / 4, interval '0.2 s'), interval '10 s')
             where s.sender_id = due.sender_id and s.id = due.id;
        when others then
            get stacked diagnostics state = returned_sqlstate, problem = message_text;
            code := case state when 'PL001' then 'invalid_params' when 'PL007' then 'forbidden'
                               when 'PL008' then 'not_found' when 'PL017' then 'content_refused'
                               when '23505' then 'client_id_reused'
                               else case when due.tries >= 9 then 'unavailable' end end;
            update public.scheduled_messages s
               set tries = s.tries + 1,
                   next_try_at = pg_catalog.clock_timestamp()
                       + least(pg_catalog.power(2, s.tries), 300) * interval '1 second',
                   refusal = case when code is not null then pg_catalog.jsonb_build_object(
                       'code', code, 'message', case when code = 'unavailable'
                           then 'The message could not be sent. Schedule it again.' else problem end) end
             where s.sender_id = due.sender_id and s.id = due.id;
    end;
    return true;
end
$$;

-- Makes a guest's scheduled messages the account's, up to the most that a user may have: the earliest ones. Those of
-- the direct conversation of the two are deleted with it.
create or replace function app.merge_scheduled(guest uuid, account uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from public.scheduled_messages s using public.conversations c
     where s.sender_id in (guest, account) and c.id = s.conversation_id
       and c.participant1_id = least(guest, account) and c.participant2_id = greatest(guest, account);
    -- Those that the device has scheduled again as the account.
    delete from public.scheduled_messages s
     where s.sender_id = guest
       and exists (select from public.scheduled_messages o where o.sender_id = account and o.id = s.id);
    delete from public.scheduled_messages s
     where s.sender_id = guest and s.id in (
            select o.id from public.scheduled_messages o where o.sender_id = guest
             order by o.due_at, o.id offset greatest(0, app.max_scheduled() - (
                select count(*) from public.scheduled_messages a where a.sender_id = account)));
    update public.scheduled_messages s set sender_id = account where s.sender_id = guest;
end
$$;

-- Moves the scheduled messages of a conversation to another, in which its messages' numbers grow by `base`.
create or replace function app.move_scheduled(from_id uuid, into_id uuid, base bigint) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update public.scheduled_messages s set conversation_id = into_id, reply_to_seq = s.reply_to_seq + base
     where s.conversation_id = from_id
$$;
