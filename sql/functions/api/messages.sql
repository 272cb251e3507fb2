-- Returns a message of one of the caller's conversations, without `seq` the caller's newest; null for others. `offset
-- 0` forces a lookup by the whole key: a plan made while the tables were small could read all messages of the
-- conversation.
create or replace function app.my_message(conversation_id uuid, seq bigint default null) returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := auth.uid();
    message text;
begin
    select case when o.deleted_at is not null and o.sender_id = me then app.own_form(o.id, o.object) else o.object end
      into message
      from public.conversation_members m
     cross join lateral (
            select o.id, o.sender_id, o.deleted_at, o.object from app.message_objects o
             where o.conversation_id = m.conversation_id and o.seq = coalesce(my_message.seq, m.sent_seq) offset 0) o
     where m.conversation_id = my_message.conversation_id and m.user_id = me and not m.is_deleted;
    return message;
end
$$;

-- Overloads of an earlier version.
drop function if exists api.send_message(uuid, text, uuid, text, jsonb);
drop function if exists api.sent_message(uuid, text, uuid, text, jsonb);
drop function if exists api.sent_message(uuid, text, uuid, text, jsonb, bigint, jsonb);
drop function if exists api.edit_message(uuid, bigint, text);

-- Sends a message of the caller and returns it. Raises unique_violation (messages_client_id_key) if the caller has used
-- the client_id in the conversation; api.sent_message then has the response. So first sends, nearly all, pay nothing
-- for the check.
create or replace function api.send_message(
    conversation_id uuid, content text, client_id uuid default null, kind text default 'text',
    attachment jsonb default null, reply_to_seq bigint default null, mentions uuid[] default null,
    mentions_everyone boolean default null, data jsonb default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    me uuid := auth.uid();
begin
    if me is null then
        me := app.caller();
    end if;
    kind := coalesce(kind, 'text');
    if not app.may_send_kind(kind) then
        perform app.refuse_kind();
    elsif pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    if attachment is not null then
        attachment := app.complete_attachment(attachment);
    end if;
    insert into public.messages (
        conversation_id, sender_id, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
        data)
    values (conversation_id, me, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone, data);
    return app.my_message(conversation_id);
end
$$;

-- Returns the caller's message with a client_id, in its present form. Raises client_id_reused unless the first sent
-- form equals these params, which are those of api.send_message. Mentions are not compared (app.is_first_sent). An
-- expired one is returned as a deleted one.
create or replace function api.sent_message(
    conversation_id uuid, content text, client_id uuid, kind text default 'text', attachment jsonb default null,
    reply_to_seq bigint default null, mentions uuid[] default null, mentions_everyone boolean default null,
    data jsonb default null) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    sent public.messages;
    expired json;
begin
    kind := coalesce(kind, 'text');
    select f.content, f.attachment into content, attachment from app.stored_form(kind, content, attachment) f;
    select m.* into sent from public.messages m
     where m.conversation_id = sent_message.conversation_id and m.sender_id = me
       and m.client_id = sent_message.client_id;
    if sent.id is null then
        expired := app.expired_message(conversation_id, client_id, kind, content, attachment, data);
        if expired is null then
            perform app.refuse_hidden('There is no such message.');
        end if;
        return expired;
    elsif not app.is_first_sent(conversation_id, client_id, kind, content, attachment, reply_to_seq, data) then
        perform app.refuse_client_id();
    end if;
    return app.my_message(conversation_id, sent.seq);
end
$$;

-- Returns the values that the messages of a page share, read once per page: the seq before the page, the senders (or
-- the two that are possible), and the lowest read mark of the conversation. The mark is null if the caller is not a
-- member.
--
-- For a page with a given end the beginning is counted back from it, since numbers have no gaps.
create or replace function app.message_page(
    conversation_id uuid, before_seq bigint, after_seq bigint, max_results integer,
    out mark bigint, out beyond bigint, out sender_ids uuid[])
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set jit = off as $$
declare
    me uuid := auth.uid();
    newest bigint;
begin
    select c.last_seq, array[c.participant1_id, c.participant2_id], (
                select min(r.last_read_seq) from public.conversation_members r where r.conversation_id = c.id
                having pg_catalog.bool_or(r.user_id = me and not r.is_deleted))
      into newest, sender_ids, mark
      from public.conversations c where c.id = message_page.conversation_id;
    if mark is null then
        sender_ids := null;
        return;
    end if;
    beyond := coalesce(after_seq, greatest(least(before_seq, newest + 1), 0) - max_results - 1);
    if sender_ids[1] is null then
        sender_ids := array(
            select distinct m.sender_id
              from (select m.sender_id from public.messages m
                     where m.conversation_id = message_page.conversation_id and m.seq > message_page.beyond
                     order by m.seq limit message_page.max_results) m);
    end if;
end
$$;

-- Returns a page of messages. It walks the index from one message to the next: statistics know the average length of
-- conversations, and for a long one a sort would read all of it. A page that is too long for a response ends where the
-- next page can continue.
create or replace function api.messages(
    conversation_id uuid, before_seq bigint default null, after_seq bigint default null,
    max_results integer default 50) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
declare
    -- A bound in a variable becomes a condition of the index; with `coalesce`, under row-level security, it would not.
    bound bigint := coalesce(before_seq, 9223372036854775807);
    me uuid := auth.uid();
    conversation text := app.conversation_member(conversation_id);
    page record;
    sender_ids uuid[];
    senders text[];
    objects text;
    found_rows bigint;
    newest bigint;
    reactions text;
    pieces text;
begin
    if not coalesce(max_results between 1 and 200, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 200.');
    elsif before_seq is not null and after_seq is not null then
        perform app.refuse_param('after_seq', '"after_seq" cannot be given together with "before_seq".');
    end if;
    page := app.message_page(conversation_id, before_seq, after_seq, max_results);
    if page.mark is null then
        perform app.caller();
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    select pg_catalog.array_agg(s.id), pg_catalog.array_agg(app.sender_members(s.id, s.object))
      into sender_ids, senders
      from unnest(page.sender_ids) as i (id)
     cross join lateral (select s.id, s.object from app.sender_objects s where s.id = i.id offset 0) s;
    loop
        select pg_catalog.string_agg(
                   case when o.deleted_at is not null and o.sender_id = me then app.own_form(o.id, o.object)
                        else o.object end, ','),
               count(*), max(o.seq)
          into objects, found_rows, newest
          from (select m.id, m.sender_id, m.deleted_at, m.seq, app.message_object(
                           m, conversation,
                           coalesce(senders[pg_catalog.array_position(sender_ids, m.sender_id)],
                                    app.sender_of(m.sender_id)),
                           page.mark,
                           case when m.reply_to_seq is not null then (
                               select app.reply_object(t) from public.messages t
                                where t.conversation_id = messages.conversation_id and t.seq = m.reply_to_seq) end)
                           as object
                  from public.messages m
                 where m.conversation_id = messages.conversation_id and m.seq > page.beyond and m.seq < bound
                 order by m.seq limit messages.max_results) o;
        exit when found_rows = max_results or after_seq is not null or page.beyond <= 0;
        -- Some messages were deleted by SQL: find the beginning.
        page.beyond := coalesce((
            select m.seq - 1 from public.messages m
             where m.conversation_id = messages.conversation_id and m.seq < bound
             order by m.seq desc offset max_results - 1 limit 1), 0);
    end loop;
    if pg_catalog.octet_length(objects) > app.page_bytes() then
        objects := app.joined(array(
            select case when o.deleted_at is not null and o.sender_id = me then app.own_form(o.id, o.object)
                        else o.object end
              from app.message_objects o
             where o.conversation_id = messages.conversation_id and o.seq > page.beyond and o.seq < bound
             order by o.seq limit messages.max_results), from_last => after_seq is null, room => app.page_bytes());
    end if;
    select pg_catalog.string_agg(r.object, ',') into reactions
      from app.seen_reactions(messages.conversation_id, page.beyond, newest) r;
    if app.has_streams(conversation_id) then
        select pg_catalog.string_agg(p.object, ',' order by p.seq) into pieces
          from app.seen_pieces(messages.conversation_id, page.beyond, newest) p;
    end if;
    return pg_catalog.concat('{"messages":[', objects, '],"reactions":[', reactions, '],"pieces":[', pieces, ']}');
end
$$;

-- Returns a page of the replies to a message: the newest, or those before or after a number.
create or replace function api.replies(
    conversation_id uuid, reply_to_seq bigint, before_seq bigint, after_seq bigint, max_results integer) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    upper bigint := coalesce(before_seq, 9223372036854775807);
    lower bigint := coalesce(after_seq, 0);
    seqs bigint[];
    reactions text;
    pieces text;
begin
    if not coalesce(max_results between 1 and 200, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 200.');
    elsif before_seq is not null and after_seq is not null then
        perform app.refuse_param('after_seq', '"after_seq" cannot be given together with "before_seq".');
    elsif not exists (
        select from public.messages m
         where m.conversation_id = replies.conversation_id and m.seq = replies.reply_to_seq) then
        perform app.refuse_hidden('There is no such message.');
    end if;
    seqs := case when after_seq is null
                 then array(select m.seq from public.messages m
                             where m.conversation_id = replies.conversation_id
                               and m.reply_to_seq = replies.reply_to_seq and m.seq < upper
                             order by m.seq desc limit max_results)
                 else array(select m.seq from public.messages m
                             where m.conversation_id = replies.conversation_id
                               and m.reply_to_seq = replies.reply_to_seq and m.seq > lower
                             order by m.seq limit max_results) end;
    select pg_catalog.string_agg(r.object, ',' order by r.seq) into reactions
      from unnest(seqs) as s (seq)
     cross join lateral app.seen_reactions(replies.conversation_id, s.seq - 1, s.seq) r;
    if app.has_streams(conversation_id) then
        select pg_catalog.string_agg(p.object, ',' order by p.seq) into pieces
          from unnest(seqs) as s (seq)
         cross join lateral app.seen_pieces(replies.conversation_id, s.seq - 1, s.seq) p;
    end if;
    return pg_catalog.concat(
        '{"messages":[', app.joined(array(
            select case when o.deleted_at is not null and o.sender_id = auth.uid() then app.own_form(o.id, o.object)
                        else o.object end
              from app.message_objects o
             where o.conversation_id = replies.conversation_id and o.seq = any (seqs)
             order by o.seq), from_last => after_seq is null, room => app.page_bytes()),
        '],"reactions":[', reactions, '],"pieces":[', pieces, ']}');
end
$$;

-- Moves the caller's read mark forward, and returns it with the numbers of unread messages and mentions. The
-- conversation is no longer marked as unread.
create or replace function api.mark_read(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    mark bigint;
    newest bigint;
begin
    if seq is null or seq < 0 then
        perform app.refuse_param('seq', '"seq" must be 0 or more.');
    end if;
    select m.last_read_seq, c.last_seq into mark, newest
      from public.conversation_members m join public.conversations c on c.id = m.conversation_id
     where m.conversation_id = mark_read.conversation_id and m.user_id = me;
    if not found then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    if least(seq, newest) > mark then
        update public.conversation_members m set last_read_seq = mark_read.seq
         where m.conversation_id = mark_read.conversation_id and m.user_id = me
        returning m.last_read_seq into mark;
        if not found then
            perform app.refuse_hidden('There is no such conversation.');
        end if;
        select c.last_seq into newest from public.conversations c where c.id = mark_read.conversation_id;
    end if;
    update public.conversation_mutes x set marked_unread_seq = null
     where x.conversation_id = mark_read.conversation_id and x.user_id = me and x.marked_unread_seq is not null;
    return pg_catalog.row_to_json(w) from (
        select mark_read.conversation_id as conversation_id, me as user_id, mark as last_read_seq,
               greatest(newest - mark, 0) as unread_count,
               app.unread_mentions(mark_read.conversation_id, me, mark) as unread_mentions) w;
end
$$;

-- Changes the content of one of the caller's messages, and returns the message. Null mentions stay as they are; `data`
-- is not read if `keeps_data` is true.
create or replace function api.edit_message(
    conversation_id uuid, seq bigint, content text, mentions uuid[] default null,
    mentions_everyone boolean default null, data jsonb default null, keeps_data boolean default true) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
begin
    select m.* into message from public.messages m
     where m.conversation_id = edit_message.conversation_id and m.seq = edit_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif message.sender_id <> me and not app.move_message(conversation_id, seq) or message.kind = 'system' then
        perform app.refuse_forbidden('Only the sender of a message can edit it.');
    elsif app.is_held(message.id) then
        perform app.refuse_forbidden('A moderator has to see this message first. It can be deleted, and sent again.');
    elsif message.deleted_at is not null then
        perform app.refuse_forbidden('A deleted message cannot be changed.');
    elsif app.may_be_empty(message.kind) then
        content := coalesce(content, '');
    elsif coalesce(content, '') = '' then
        perform app.refuse_content();
    end if;
    if pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    if keeps_data then
        data := message.data;
    end if;
    mentions_everyone := nullif(coalesce(mentions_everyone, message.mentions_everyone), false);
    mentions := case when mentions is null then message.mentions
                     else app.mentioned_members(conversation_id, mentions) end;
    if row(content, mentions, mentions_everyone, data)
       is distinct from row(message.content, message.mentions, message.mentions_everyone, message.data) then
        update public.messages m
           set content = edit_message.content, mentions = edit_message.mentions,
               mentions_everyone = edit_message.mentions_everyone, data = edit_message.data
         where m.conversation_id = edit_message.conversation_id and m.seq = edit_message.seq;
    end if;
    return app.my_message(conversation_id, seq);
end
$$;

-- Deletes the content of a message, and returns the message. A repeated deletion changes nothing.
create or replace function api.delete_message(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
begin
    select m.* into message from public.messages m
     where m.conversation_id = delete_message.conversation_id and m.seq = delete_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif seat.role = 'member'
          and (message.sender_id <> me and not app.move_message(conversation_id, seq) or message.kind = 'system') then
        perform app.refuse_forbidden(
            'Only the sender of a message, or the owner or an admin of its group, can delete it.');
    elsif message.deleted_at is null then
        update public.messages m set deleted_at = pg_catalog.clock_timestamp()
         where m.conversation_id = delete_message.conversation_id and m.seq = delete_message.seq;
    else
        perform app.delete_held(conversation_id, seq);
    end if;
    return app.my_message(conversation_id, seq);
end
$$;
