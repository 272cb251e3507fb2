-- Messages that the filter holds until a moderator, or the operator's webhook, has decided.
--
-- The row of a held message in public.messages is that of a deleted one: so nothing that reads messages can show it, be
-- it a policy, the feed, a search, a push, a preview or a reply. Its text and all else is in app.held_messages, from
-- which its sender and moderators read it. A decision writes the message's row once more: released it has its content,
-- rejected it is a deleted message.
--
-- The sender gets the version after the row's, and a decision adds two. So each form of a message has a version of its
-- own, and a client that receives several of them keeps the right one, in whatever order they come.

-- Returns the most messages of a sender that wait.
create or replace function app.max_held() returns integer
language sql immutable parallel safe
begin atomic
    select 100;
end;

-- Returns after what time a message is rejected that nobody has looked at.
create or replace function app.held_timeout() returns interval
language sql immutable parallel safe
begin atomic
    select interval '30 days';
end;

-- Holds a message: keeps what it has, and returns it as a deleted one. `content` is its text. A message at the bound is
-- refused, or if it was streaming, when nobody could be told, deleted.
create or replace function app.hold_message(message public.messages, content text) returns public.messages
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    has_room boolean := (
        select count(*) from app.held_messages h where h.sender_id = message.sender_id) < app.max_held();
begin
    if has_room then
        insert into app.held_messages (
            message_id, sender_id, content, attachment, mentions, mentions_everyone, data, words)
        values (message.id, message.sender_id, content, message.attachment, message.mentions,
                message.mentions_everyone, message.data, app.holding_words(content));
        update public.media f set is_held = true
         where f.id = any (app.media_ids(message.attachment)) and f.message_id = message.id;
        -- The feed reads held messages only when it reads changes of a member's own conversations.
        perform app.tell_own_conversation(message.conversation_id, message.sender_id);
    elsif not app.is_streaming(message.conversation_id, message.seq) then
        perform app.refuse_forbidden(pg_catalog.format(
            '%s of your messages wait for a moderator. Wait until one is seen, or delete one.', app.max_held()));
    end if;
    message.deleted_at := pg_catalog.clock_timestamp();
    message.content := null;
    message.attachment := null;
    message.mentions := null;
    message.mentions_everyone := null;
    message.data := null;
    return message;
end
$$;

-- Returns a held message as JSON, as its sender and moderators see it.
create or replace function app.held_object(held app.held_messages, message public.messages) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    object text;
begin
    message.content := held.content;
    message.attachment := held.attachment;
    message.mentions := held.mentions;
    message.mentions_everyone := held.mentions_everyone;
    message.data := held.data;
    message.deleted_at := null;
    message.version := message.version + 1;
    select app.message_object(
               message, s.object, (
                   select min(r.last_read_seq) from public.conversation_members r
                    where r.conversation_id = message.conversation_id),
               case when message.reply_to_seq is not null then (
                   select app.reply_object(t) from public.messages t
                    where t.conversation_id = message.conversation_id and t.seq = message.reply_to_seq) end)
      into object
      from app.sender_objects s where s.id = message.sender_id;
    return pg_catalog.left(object, -1) || ',"is_held":true}';
end
$$;

-- Returns the fields of a held message for those who decide: the message, the words that held it, and since when.
create or replace function app.held_fields(held app.held_messages, message public.messages) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return '"message":' || app.held_object(held, message) || ',"words":' || pg_catalog.to_json(held.words)::text
        || ',"held_at":"' || app.utc(held.held_at) || '"';
end
$$;

-- Returns true if a message of the caller waits for a moderator.
create or replace function app.is_held(message_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from app.held_messages h
                    where h.message_id = is_held.message_id and h.sender_id = auth.uid());
end
$$;

-- Returns a deleted message as the caller sees it: `object`, or if the message is held and the caller's, what it has.
-- Called for deleted messages only.
create or replace function app.own_form(message_id uuid, object text) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return coalesce((
        select app.held_object(h, m)
          from app.held_messages h join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
         where h.message_id = own_form.message_id and h.sender_id = auth.uid()), object);
end
$$;

-- Returns a held message, locked after its conversation, or a null if there is none. The messages of a guest that are
-- still to be moved to its account wait.
create or replace function app.locked_held(conversation_id uuid, seq bigint) returns app.held_messages
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    held app.held_messages;
begin
    perform 1 from public.conversations c where c.id = locked_held.conversation_id for no key update;
    select h.* into held
      from public.messages m join app.held_messages h on h.message_id = m.id and h.sender_id = m.sender_id
     where m.conversation_id = locked_held.conversation_id and m.seq = locked_held.seq
       for update of h;
    return held;
end
$$;

-- Releases a held message that app.locked_held has returned, if its sender may still write in the conversation. Returns
-- whether it did. It is pushed like a new message.
create or replace function app.release_held(held app.held_messages) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    message public.messages;
begin
    if not exists (
        select from public.messages m
          join public.conversation_members o
            on o.conversation_id = m.conversation_id and o.user_id = held.sender_id and not o.is_deleted
           and not o.is_blocked
         where m.id = held.message_id)
       or exists (select from auth.users u where u.id = held.sender_id and app.is_banned(u)) then
        return false;
    end if;
    -- The triggers know by the version, and by the row of app.held_messages, that this is a decision.
    update public.messages m
       set deleted_at = null, content = held.content, attachment = held.attachment,
           mentions = app.mentioned_members(m.conversation_id, app.account_ids(held.mentions)),
           mentions_everyone = held.mentions_everyone, data = held.data, version = m.version + 2
     where m.id = held.message_id
    returning m.* into message;
    delete from app.held_messages h where h.message_id = held.message_id;
    update public.media f set is_held = null
     where f.id = any (app.media_ids(held.attachment)) and f.message_id = held.message_id;
    insert into app.push_queue as q (conversation_id, sender_id, seq)
    values (message.conversation_id, message.sender_id, message.seq)
    on conflict on constraint push_queue_pkey do update
       set sender_id = excluded.sender_id, seq = greatest(q.seq, excluded.seq);
    return true;
end
$$;

-- Rejects a held message that is locked: it becomes a deleted message for its sender too.
create or replace function app.reject_held(held app.held_messages) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update public.messages m set deleted_at = pg_catalog.clock_timestamp(), version = m.version + 2
     where m.id = held.message_id;
    delete from app.held_messages h where h.message_id = held.message_id;
end
$$;

-- Removes the files of a message that was held and is not released.
create or replace function app.propagate_held() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update public.media f set removed_at = pg_catalog.now()
     where f.id = any (app.media_ids(old.attachment)) and f.message_id = old.message_id and f.removed_at is null
       and not exists (select from public.messages m where m.id = old.message_id and m.deleted_at is null);
    return null;
end
$$;
create or replace trigger follow after delete on app.held_messages
    for each row execute function app.propagate_held();

-- Deletes what is held of a message, and returns true if something is.
create or replace function app.drop_held_message(id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.held_messages h where h.message_id = drop_held_message.id;
    return found;
end
$$;

-- Deletes a held message of the caller, or of a group of which the caller is owner or admin, if it is held.
create or replace function app.delete_held(conversation_id uuid, seq bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    held app.held_messages := app.locked_held(conversation_id, seq);
begin
    if held.sender_id = auth.uid() or held.message_id is not null and app.is_manager(conversation_id) then
        perform app.reject_held(held);
    end if;
end
$$;

-- Deletes the held messages of a user who leaves a conversation: a former member can no longer write there. Those of an
-- appended conversation are still to be moved.
create or replace function app.drop_held(conversation_id uuid, user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.held_messages h using public.messages m
     where h.sender_id = drop_held.user_id and m.id = h.message_id and m.conversation_id = drop_held.conversation_id
       and not (app.is_merging() and exists (
            select from app.message_moves v where v.conversation_id = drop_held.conversation_id));
end
$$;

-- Makes a guest's held messages the account's. They are told to it when they are moved.
create or replace function app.merge_held(guest uuid, account uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update app.held_messages h set sender_id = account where h.sender_id = guest
$$;

-- Updates what a held message has after the message was moved.
create or replace function app.move_held(message public.messages) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    files jsonb;
begin
    update app.held_messages h
       set sender_id = message.sender_id, mentions = app.account_ids(h.mentions),
           changed_xid = pg_catalog.pg_current_xact_id()
     where h.message_id = message.id
    returning h.attachment into files;
    if found then
        update public.media f set conversation_id = message.conversation_id, owner_id = message.sender_id
         where f.id = any (app.media_ids(files)) and f.message_id = message.id
           and row(f.conversation_id, f.owner_id) is distinct from row(message.conversation_id, message.sender_id);
        perform app.tell_own_conversation(message.conversation_id, message.sender_id);
    end if;
end
$$;

-- Tells the devices of a user the conversations in which messages of it are held: after a merge, when the account is a
-- member of all of them.
create or replace function app.tell_held(user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.tell_own_conversation(w.conversation_id, tell_held.user_id)
       from (select distinct m.conversation_id
               from app.held_messages h join public.messages m on m.id = h.message_id
              where h.sender_id = tell_held.user_id order by m.conversation_id) w;
end
$$;

-- Returns a page of the held messages, the oldest first, without those of `viewer`. It ends where it is too long for a
-- response.
create or replace function app.held_page(max_results integer, after text, viewer uuid) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    after_time timestamptz := '-infinity';
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    objects text[] := '{}';
    room bigint := app.page_bytes();
    next text;
    part record;
begin
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif after is not null then
        select p.created_at, p.id into after_time, after_id from app.parsed_position('after', after) p;
    end if;
    for part in
        select '{' || app.held_fields(h, m) || '}' as object,
               app.page_position(h.held_at, h.message_id) as place
          from app.held_messages h join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
         where (h.held_at, h.message_id) > (after_time, after_id) and h.sender_id is distinct from viewer
         order by h.held_at, h.message_id limit max_results + 1
    loop
        room := room - pg_catalog.octet_length(part.object);
        if pg_catalog.cardinality(objects) = max_results or room < 0 and objects <> '{}' then
            return ('{"held":[' || pg_catalog.array_to_string(objects, ',') || '],"next":"' || next || '"}')::json;
        end if;
        objects := objects || part.object;
        next := part.place;
    end loop;
    return ('{"held":[' || pg_catalog.array_to_string(objects, ',') || '],"next":null}')::json;
end
$$;

-- Returns the number of held messages, at most 10,000, and the age of the oldest in seconds.
create or replace function app.held_counts(out pending bigint, out oldest_seconds double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select count(*), coalesce(extract(epoch from pg_catalog.now() - min(h.held_at)), 0)
      from (select o.held_at from app.held_messages o order by o.held_at, o.message_id limit 10000) h
$$;

-- Rejects one message that was held for app.held_timeout() and whose conversation is not locked. Returns false if
-- there is none.
create or replace function app.expire_held() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    place record;
begin
    select m.conversation_id, m.seq into place
      from app.held_messages h
      join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
      join public.conversations c on c.id = m.conversation_id
     where h.held_at < pg_catalog.now() - app.held_timeout()
     order by h.held_at limit 1 for no key update of c skip locked;
    if not found then
        return false;
    end if;
    perform app.reject_held(h) from app.locked_held(place.conversation_id, place.seq) h where h.message_id is not null;
    return true;
end
$$;

-- Claims held messages about which the webhook is to be asked, at most `most`. Each is due again after a minute, in
-- case the node stops: it is asked at least once. `body` has the message with its content.
create or replace function app.claim_held(most integer) returns table (id uuid, body text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    return query
        with claimed as (
            update app.held_messages h set ask_at = pg_catalog.clock_timestamp() + interval '1 minute'
             where h.message_id in (
                    select d.message_id
                      from app.held_messages d
                      join public.messages m on m.id = d.message_id and m.sender_id = d.sender_id
                     where d.ask_at <= pg_catalog.clock_timestamp()
                       and d.held_at >= pg_catalog.now() - interval '1 day'
                     order by d.ask_at limit most for update of d skip locked)
            returning h.message_id)
        select h.message_id,
               '{"type":"message",' || app.held_fields(h, m) || '}'
          from claimed c
          join app.held_messages h on h.message_id = c.message_id
          join public.messages m on m.id = h.message_id;
end
$$;

-- Applies the webhook's decision about a held message: `release`, `reject`, or `hold` for a moderator. What a sender
-- has sent who may no longer write is rejected. Does nothing if it is decided already.
create or replace function app.apply_held_decision(message_id uuid, decision text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    held app.held_messages;
begin
    select l.* into held
      from public.messages m cross join lateral app.locked_held(m.conversation_id, m.seq) l
     where m.id = apply_held_decision.message_id;
    if held.message_id is null then
        return;
    elsif decision = 'hold' then
        update app.held_messages h set ask_at = null where h.message_id = held.message_id;
    elsif decision = 'reject' or not app.release_held(held) then
        perform app.reject_held(held);
    end if;
end
$$;
