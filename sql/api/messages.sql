-- The caller's message that a client_id stands for already; none, and its lock until the transaction's end, where
-- the id is new: of two sends at once the second waits here, and finds the first.
create or replace function app.sent_before(conversation_id uuid, client_id uuid) returns public.messages
language plpgsql security definer set search_path = '' as $$
declare
    me uuid := auth.uid();
    sent public.messages;
begin
    perform pg_catalog.pg_advisory_xact_lock(
        pg_catalog.hashtextextended(conversation_id::text || me::text || client_id::text, 0));
    select m.* into sent from public.messages m
     where m.conversation_id = sent_before.conversation_id and m.sender_id = me
       and m.client_id = sent_before.client_id;
    return sent;
end
$$;

-- A message of a conversation of the caller's; without seq the caller's newest. Null for one that is no member.
-- Two statements, each by a whole primary or unique key: a join's plan, kept from when the tables were small, could
-- read all messages of the conversation.
create or replace function app.my_message(conversation_id uuid, seq bigint default null) returns json
language plpgsql stable security definer set search_path = '' as $$
declare
    newest bigint := (select m.sent_seq from public.conversation_members m
                       where m.conversation_id = my_message.conversation_id and m.user_id = auth.uid());
begin
    if newest is null then
        return null;
    end if;
    seq := coalesce(seq, newest);
    return (select o.object from app.message_objects o
             where o.conversation_id = my_message.conversation_id and o.seq = my_message.seq);
end
$$;

create or replace function api.send_message(
    conversation_id uuid, content text, client_id uuid default null, kind text default 'text',
    attachment jsonb default null) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid := auth.uid();
    sent public.messages;
    answer json;
begin
    if me is null then
        me := app.caller();
    end if;
    kind := coalesce(kind, 'text');
    content := coalesce(content, case when kind = 'image' then '' end);
    if client_id is not null then
        sent := app.sent_before(conversation_id, client_id);
        if sent.id is not null then
            answer := app.my_message(conversation_id, sent.seq);
            if answer is null then
                perform app.refuse_hidden('There is no such conversation.');
            elsif coalesce(sent.first_sent <> app.message_hash(kind, content, attachment),
                           row(sent.kind, sent.content, sent.attachment)
                           is distinct from row(kind, content, attachment)) then
                raise exception using errcode = 'PL012', detail = '{"field":"client_id"}',
                    message = 'This client_id was used for another message in this conversation.';
            end if;
            return answer;
        end if;
    end if;

    if kind not in ('text', 'image') then
        perform app.refuse_param('kind', 'A message is of kind "text" or "image".');
    elsif pg_catalog.char_length(content) > 8000 then
        perform app.refuse_param('content', 'A message has 1 to 8000 characters.');
    end if;
    insert into public.messages (conversation_id, sender_id, client_id, kind, content, attachment)
    values (conversation_id, me, client_id, kind, content, attachment);
    return app.my_message(conversation_id);
end
$$;

create or replace function api.messages(
    conversation_id uuid, before_seq bigint default null, after_seq bigint default null,
    max_results integer default 50) returns json
language plpgsql stable set search_path = '' as $$
declare
    found_objects text;
begin
    perform app.caller();
    if not coalesce(max_results between 1 and 200, false) then
        perform app.refuse_param('limit', 'A limit is between 1 and 200.');
    elsif before_seq is not null and after_seq is not null then
        perform app.refuse_param('after_seq', 'Give "before_seq" or "after_seq", not both.');
    elsif not app.is_member(conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    if after_seq is not null then
        select pg_catalog.string_agg(page.object::text, ',' order by page.seq) into found_objects
          from (select o.seq, o.object from app.message_objects o
                 where o.conversation_id = messages.conversation_id and o.seq > messages.after_seq
                 order by o.seq limit messages.max_results) page;
    else
        select pg_catalog.string_agg(page.object::text, ',' order by page.seq) into found_objects
          from (select o.seq, o.object from app.message_objects o
                 where o.conversation_id = messages.conversation_id
                   and o.seq < coalesce(messages.before_seq, 9223372036854775807)
                 order by o.seq desc limit messages.max_results) page;
    end if;
    return ('{"messages":[' || coalesce(found_objects, '') || ']}')::json;
end
$$;

create or replace function api.mark_read(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid := app.caller();
    mark bigint;
    newest bigint;
begin
    if seq is null or seq < 0 then
        perform app.refuse_param('seq', 'A seq is a number from 0 on.');
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
    return pg_catalog.row_to_json(w) from (
        select mark_read.conversation_id as conversation_id, me as user_id, mark as last_read_seq,
               greatest(newest - mark, 0) as unread_count) w;
end
$$;

create or replace function api.edit_message(conversation_id uuid, seq bigint, content text) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
begin
    select m.* into message from public.messages m
     where m.conversation_id = edit_message.conversation_id and m.seq = edit_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif message.sender_id <> me or message.kind = 'system' then
        perform app.refuse_forbidden('Only its sender edits a message.');
    elsif message.deleted_at is not null then
        perform app.refuse_forbidden('A deleted message is not changed any more.');
    elsif message.kind = 'image' then
        content := coalesce(content, '');
    elsif coalesce(content, '') = '' then
        perform app.refuse_param('content', 'A message has 1 to 8000 characters.');
    end if;
    if pg_catalog.char_length(content) > 8000 then
        perform app.refuse_param('content', 'A message has 1 to 8000 characters.');
    elsif content <> message.content then
        update public.messages m set content = edit_message.content
         where m.conversation_id = edit_message.conversation_id and m.seq = edit_message.seq;
    end if;
    return app.my_message(conversation_id, seq);
end
$$;

-- Again: no change.
create or replace function api.delete_message(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
begin
    select m.* into message from public.messages m
     where m.conversation_id = delete_message.conversation_id and m.seq = delete_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif seat.role = 'member' and (message.sender_id <> me or message.kind = 'system') then
        perform app.refuse_forbidden('A message is deleted by its sender, or by the owner or an admin of its group.');
    elsif message.deleted_at is null then
        update public.messages m set deleted_at = pg_catalog.clock_timestamp()
         where m.conversation_id = delete_message.conversation_id and m.seq = delete_message.seq;
    end if;
    return app.my_message(conversation_id, seq);
end
$$;
