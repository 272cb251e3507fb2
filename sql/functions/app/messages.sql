-- Returns a new UUIDv7 (RFC 9562, section 5.7): the default of messages.id. See
-- sql/migrations/20261124000800_message_ids.sql.
create or replace function app.message_id() returns uuid
language sql volatile parallel safe
begin atomic
    select (pg_catalog.lpad(pg_catalog.to_hex(
                (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint), 12, '0')
            || '7' || pg_catalog.substr(pg_catalog.gen_random_uuid()::text, 16))::uuid;
end;

-- Raises not_found for a message whose sender is not a member of its conversation.
create or replace function app.refuse_message() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL008', message = 'There is no such conversation.',
        hint = 'The sender of a message must be a member of its conversation.';
end
$$;

-- Raises invalid_params for a message without a content of a valid length.
create or replace function app.refuse_content() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_param('content', pg_catalog.format(
        '"content" must be 1 to %s characters long.', app.max_message_characters()));
end
$$;

-- Raises client_id_reused (PL012).
create or replace function app.refuse_client_id() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL012', detail = '{"field":"client_id"}',
        message = '"client_id" was already used for another message in this conversation.';
end
$$;

-- Raises unique_violation for a repeated client_id, as the index messages_client_id_key would.
create or replace function app.refuse_repeated() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'unique_violation', constraint = 'messages_client_id_key',
        schema = 'public', table = 'messages', message = '"client_id" was already used in this conversation.';
end
$$;

-- Returns true if its sender has sent a message with the client_id of this new one in the conversation.
create or replace function app.is_repeated(message public.messages) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
               select from public.messages s
                where s.conversation_id = message.conversation_id and s.sender_id = message.sender_id
                  and s.client_id = message.client_id)
           or app.is_expired_send(message.conversation_id, message.sender_id, message.client_id);
end
$$;

-- Numbers a new message under its conversation's lock, stores it as the conversation's last message, and moves the
-- sender's read mark. The hot path of the service: two statements, each by primary key. Lock order: conversation,
-- members, messages.
create or replace function app.number_message() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    xid xid8 := pg_catalog.pg_current_xact_id();
    is_list boolean := new.attachment ? 'more';
    seat public.conversation_members;
    original text;
    first bigint;
    latest timestamptz;
    action text;
    held text;
begin
    -- app.number_messages has numbered it.
    if pg_catalog.current_setting('role') = 'postline_sender' then
        if app.has_details(new) then
            perform app.record_mentions(new);
        end if;
        return new;
    end if;
    -- The policy checks it too, but only after this trigger, whose errors would reveal who is a member and what was
    -- sent.
    if coalesce(new.sender_id <> auth.uid(), new.sender_id is null) then
        perform app.refuse_message();
    end if;
    if new.attachment is not null then
        perform app.check_attachment(new.attachment);
        new.attachment := app.normalized_attachment(new.attachment);
    end if;
    if new.deleted_at is not null then
        new.content := null;
        new.attachment := null;
    elsif app.needs_attachment(new.kind) then
        if new.attachment is null then
            perform app.refuse_without_attachment(new.kind);
        end if;
        new.content := app.attachment_content(new.kind, new.content, new.attachment);
    elsif new.kind = 'custom' then
        if new.data is null then
            perform app.refuse_param('data', '"data" is missing: a message of kind "custom" needs it.');
        end if;
        new.content := coalesce(new.content, '');
    elsif coalesce(new.content, '') = '' and new.version <> 0 then
        perform app.refuse_content();
    end if;
    -- A message that is repeated has been sent, whatever the rules are now.
    if new.content is not null and exists (select from app.filter_rules) and new.event is null
       and not app.is_repeated(new) then
        original := new.content;
        action := app.filter_action('messages', original);
        if action is not null then
            new.content := app.filtered('messages', 'content', original);
        end if;
        -- A message that streams is held at its end.
        if action = 'hold' and new.version <> 0 and new.kind <> 'system' then
            held := new.content;
            new.content := null;
        end if;
    end if;

    update public.conversations c
       set last_seq = c.last_seq + 1,
           last_message_content = pg_catalog.left(new.content, app.preview_characters()),
           -- After the wait for the lock, and later than the previous message even if the clock was set back, so that
           -- times increase with the numbers. A time that is given may be earlier, but no message is later.
           last_message_time = case
               when new.created_at is null
               then greatest(pg_catalog.clock_timestamp(), c.last_message_time + interval '1 microsecond')
               else greatest(new.created_at, c.last_message_time) end,
           last_message_sender_id = new.sender_id,
           last_message_xid = xid
     where c.id = new.conversation_id
    returning c.last_seq, c.last_message_time, c.first_seq into new.seq, latest, first;
    new.created_at := coalesce(new.created_at, latest);
    if first > 1 and new.client_id is not null
       and app.is_expired_send(new.conversation_id, new.sender_id, new.client_id) then
        perform app.refuse_repeated();
    end if;

    -- The repeated client_id is checked under the lock, by a statement that sees all earlier commits: `on conflict do
    -- nothing` would skip the row after it got its number.
    update public.conversation_members m
       set last_read_seq = new.seq, sent_seq = new.seq, sent_xid = xid
     where m.conversation_id = new.conversation_id and m.user_id = new.sender_id and not m.is_deleted
       and not m.is_blocked
       and (new.client_id is null or not exists (
            select from public.messages s
             where s.conversation_id = new.conversation_id and s.sender_id = new.sender_id
               and s.client_id = new.client_id));
    if not found then
        select m.* into seat from public.conversation_members m
         where m.conversation_id = new.conversation_id and m.user_id = new.sender_id and not m.is_deleted;
        if seat.user_id is not null then
            -- A repeated message has been sent, whoever blocks whom now.
            if seat.is_blocked and not app.is_repeated(new) then
                perform app.refuse_blocked();
            end if;
            perform app.refuse_repeated();
        -- A user who left the group is no longer a member when the event is written.
        elsif new.event is null then
            perform app.refuse_message();
        end if;
    end if;
    if new.attachment is not null then
        perform app.use_media(new, null, is_list);
    end if;
    if app.has_details(new) then
        new := app.add_details(new);
        if held is null then
            perform app.record_mentions(new);
        end if;
    end if;

    -- Only app.start_stream can write the version.
    if new.version = 0 then
        perform app.add_stream(new);
    end if;
    new.version := 1;
    new.sent_xid := xid;
    new.changed_xid := xid;
    -- A repeated send of a masked or held message is compared with what was sent.
    new.first_sent := case when original <> new.content or held is not null
                           then app.message_hash(new.id, new.kind, original, new.attachment, new.data) end;
    if held is not null then
        new := app.hold_message(new, held);
    end if;
    return new;
end
$$;
create or replace trigger number before insert on public.messages
    for each row execute function app.number_message();

-- Functions of an earlier version.
drop function if exists app.message_hash(text, text, jsonb);
drop function if exists app.message_hash(text, text, jsonb, jsonb);
drop function if exists app.is_first_sent(uuid, uuid, text, text, jsonb);

-- Returns the hash of a message by which a repeated send with the same client_id is compared. Members can select
-- messages.first_sent: it has a key, so that guesses of a deleted content cannot be tried, and the message's id, so
-- that one's own messages do not have the hashes of others. So users cannot call it.
create or replace function app.message_hash(
    id uuid, kind text, content text, attachment jsonb, data jsonb) returns bytea
language sql stable set search_path = pg_catalog, pg_temp as $$
    select pg_catalog.sha256(pg_catalog.decode(s.value, 'hex') || pg_catalog.sha256(pg_catalog.convert_to(
        id::text || kind || e'\x1f' || coalesce(attachment::text, '') || e'\x1f' || coalesce(content, '')
            || coalesce(e'\x1f' || data::text, ''), 'UTF8')))
      from app.settings s where s.name = 'message_hash_key'
$$;

-- Returns whether the caller first sent its message with this client_id in this form. Mentions are not compared: those
-- of users who are not members are not stored.
create or replace function app.is_first_sent(
    conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, reply_to_seq bigint, data jsonb)
    returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select m.reply_to_seq is not distinct from is_first_sent.reply_to_seq
           and case when m.first_sent is null
                    then row(m.kind, m.content, m.attachment, m.data) is not distinct from row(
                             is_first_sent.kind, is_first_sent.content, is_first_sent.attachment, is_first_sent.data)
                    else m.first_sent = app.message_hash(
                             m.id, is_first_sent.kind, is_first_sent.content, is_first_sent.attachment,
                             is_first_sent.data) end
      from public.messages m
     where m.conversation_id = is_first_sent.conversation_id and m.sender_id = auth.uid()
       and m.client_id = is_first_sent.client_id
$$;

-- Checks a changed message, removes the content of a deleted one, and sets its version.
create or replace function app.validate_message() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    sent_xid xid8;
    action text;
    has_details boolean := app.has_details(old) or app.has_details(new);
    is_other boolean := row(new.id, new.conversation_id, new.seq, new.sender_id, new.client_id, new.reply_to_seq)
        is distinct from row(old.id, old.conversation_id, old.seq, old.sender_id, old.client_id, old.reply_to_seq);
begin
    -- A merged guest's message moves, or mentions the account in the guest's place.
    if is_other or new.mentions is distinct from old.mentions then
        sent_xid := app.moved_xid(old, new);
        if sent_xid is not null then
            -- A message that moves to another conversation counts as sent by the transaction that reserved its number.
            new.sent_xid := sent_xid;
            new.version := old.version + 1;
            new.changed_xid := pg_catalog.pg_current_xact_id();
            if has_details then
                perform app.replace_mentions(old, new);
            end if;
            if new.deleted_at is not null then
                perform app.move_held(new);
            end if;
            return new;
        end if;
    end if;
    if is_other then
        raise exception using errcode = 'restrict_violation',
            message = 'The ids, conversation, number, sender and reply of a message cannot be changed.';
    end if;
    if old.deleted_at is not null then
        -- A held message is deleted by its sender, or an owner or admin: the policies admit nobody else.
        if new.version = old.version and new.deleted_at <> old.deleted_at and auth.uid() is not null
           and app.drop_held_message(old.id) then
            new := old;
            new.deleted_at := pg_catalog.clock_timestamp();
            new.version := old.version + 2;
            new.changed_xid := pg_catalog.pg_current_xact_id();
            return new;
        end if;
        -- The decision about a held message (app.release_held and app.reject_held).
        if new.version <> old.version
           and exists (select from app.held_messages h where h.message_id = old.id) then
            if has_details then
                perform app.replace_mentions(old, new);
            end if;
            new.changed_xid := pg_catalog.pg_current_xact_id();
            return new;
        end if;
        raise exception using errcode = 'PL007', message = 'A deleted message cannot be changed.';
    end if;
    if new.deleted_at is not null then
        new.deleted_at := pg_catalog.clock_timestamp();
        new.content := null;
        new.attachment := null;
        new.event := null;
        new.mentions := null;
        new.mentions_everyone := null;
        new.data := null;
    elsif new.version <> old.version then
        -- The end of a stream (app.finish_stream) is no edit.
        null;
    -- The policies admit every user who may delete the message. Only its sender may edit it, and nobody an event.
    elsif auth.uid() is not null and (auth.uid() <> old.sender_id or old.kind = 'system') then
        perform app.refuse_forbidden('Only the sender of a message can edit it.');
    elsif app.is_streaming(old.conversation_id, old.seq) then
        perform app.refuse_forbidden('The message is streaming. Append to it, or finish it first.');
    elsif auth.uid() is not null and app.has_block(old.conversation_id) then
        perform app.refuse_blocked();
    elsif new.content is null or new.content = '' and not app.may_be_empty(new.kind) then
        perform app.refuse_content();
    elsif app.needs_attachment(new.kind) and new.attachment is null then
        perform app.refuse_without_attachment(new.kind);
    elsif new.kind = 'custom' and new.data is null then
        perform app.refuse_param('data', '"data" is missing: a message of kind "custom" needs it.');
    elsif row(new.kind, new.content, new.attachment, new.mentions, new.mentions_everyone, new.data)
          is distinct from row(old.kind, old.content, old.attachment, old.mentions, old.mentions_everyone, old.data)
          and new.edited_at is not distinct from old.edited_at then
        new.edited_at := pg_catalog.clock_timestamp();
    end if;
    if new.deleted_at is null and row(new.content, new.data) is distinct from row(old.content, old.data)
       and exists (select from app.filter_rules) then
        -- The end of a stream is not refused but masked: its members have seen the text. A rule about every message is
        -- also about the data that an app may show.
        action := app.filter_action(
            'messages', case when new.content is distinct from old.content then new.content else '' end);
        if action = 'hold' and new.version = old.version then
            perform app.refuse_held_edit();
        elsif action is not null then
            new.content := app.filtered(
                'messages', case when new.version = old.version then 'content' end, new.content);
        end if;
        if action = 'hold' then
            new := app.hold_message(new, new.content);
        end if;
    end if;
    if new.attachment is distinct from old.attachment and new.attachment is not null then
        perform app.check_attachment(new.attachment);
        new.attachment := app.normalized_attachment(new.attachment);
        perform app.use_media(new, old.attachment, new.attachment ? 'more');
    end if;
    if has_details then
        new := app.change_details(old, new);
    end if;
    new.first_sent := coalesce(old.first_sent, app.message_hash(
        old.id, old.kind, old.content, old.attachment, old.data));
    new.version := old.version + 1;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;
create or replace trigger keep_changed before update on public.messages
    for each row when (
        row(new.id, new.conversation_id, new.seq, new.sender_id, new.client_id, new.kind, new.content,
            new.attachment, new.event, new.edited_at, new.deleted_at, new.reply_to_seq, new.mentions,
            new.mentions_everyone, new.data)
        is distinct from
        row(old.id, old.conversation_id, old.seq, old.sender_id, old.client_id, old.kind, old.content,
            old.attachment, old.event, old.edited_at, old.deleted_at, old.reply_to_seq, old.mentions,
            old.mentions_everyone, old.data))
    execute function app.validate_message();

-- Updates the conversation's last message after an edit or deletion. A deleted message is pinned no longer, and neither
-- grows any more.
create or replace function app.propagate_message() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.remove_stream(new.conversation_id, new.seq);
    if new.deleted_at is not null then
        perform app.remove_reactions(new.conversation_id, new.seq);
        update public.conversations c set pinned_seqs = pg_catalog.array_remove(c.pinned_seqs, new.seq)
         where c.id = new.conversation_id and new.seq = any (c.pinned_seqs);
    end if;
    update public.conversations c
       set last_message_content = case when c.last_seq = new.seq
                                       then pg_catalog.left(new.content, app.preview_characters())
                                       else c.last_message_content end,
           last_message_xid = pg_catalog.pg_current_xact_id()
     where c.id = new.conversation_id;
    return null;
end
$$;
create or replace trigger follow_changed after update on public.messages
    for each row when (
        old.version <> new.version and old.conversation_id = new.conversation_id and old.sender_id = new.sender_id)
    execute function app.propagate_message();
