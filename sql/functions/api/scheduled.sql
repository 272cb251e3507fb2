-- Schedules a message of the caller for `due_at`, and returns it. The other params are those of api.send_message. A
-- repeated call with the same client_id returns the same, also after the message is sent.
create or replace function api.schedule_message(
    conversation_id uuid, due_at text, content text, client_id uuid default null, kind text default 'text',
    attachment jsonb default null, reply_to_seq bigint default null, mentions uuid[] default null,
    mentions_everyone boolean default null, data jsonb default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    time timestamptz := app.checked_time('due_at', due_at);
    asked public.scheduled_messages;
    present public.scheduled_messages;
begin
    kind := coalesce(kind, 'text');
    if not app.may_send_kind(kind) then
        perform app.refuse_kind();
    elsif pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    select f.content, f.attachment into content, attachment from app.stored_form(kind, content, attachment) f;
    asked := row(
        coalesce(client_id, app.message_id()), me, conversation_id, time, kind, content,
        attachment, reply_to_seq, mentions, mentions_everyone, data, pg_catalog.now(), 0, time,
        null)::public.scheduled_messages;
    select s.* into present from public.scheduled_messages s where s.sender_id = me and s.id = asked.id;
    if present.id is not null then
        if row(present.conversation_id, present.due_at, present.kind, present.content, present.attachment,
               present.reply_to_seq, present.data)
           is distinct from row(asked.conversation_id, asked.due_at, asked.kind, asked.content, asked.attachment,
                                asked.reply_to_seq, asked.data) then
            perform app.refuse_client_id();
        end if;
        return app.scheduled_object(present);
    elsif client_id is not null and exists (
        select from public.messages m
         where m.conversation_id = schedule_message.conversation_id and m.sender_id = me
           and m.client_id = schedule_message.client_id) then
        if not app.is_first_sent(
            conversation_id, client_id, kind, content, asked.attachment, reply_to_seq, data) then
            perform app.refuse_client_id();
        end if;
        return app.scheduled_object(asked);
    end if;
    insert into public.scheduled_messages (
        id, sender_id, conversation_id, due_at, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
        data)
    values (asked.id, me, conversation_id, time, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
            data);
    select s.* into present from public.scheduled_messages s where s.sender_id = me and s.id = asked.id;
    return app.scheduled_object(present);
exception
    when unique_violation then
        perform app.refuse_client_id();
end
$$;

-- Returns the caller's scheduled messages, of one conversation or all, by their time, and the position of the next
-- page.
create or replace function api.scheduled_messages(
    conversation_id uuid default null, max_results integer default 50, after text default null) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    after_time timestamptz := '-infinity';
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    last record;
begin
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif after is not null then
        select p.created_at, p.id into after_time, after_id from app.parsed_position('after', after) p;
    end if;
    if conversation_id is not null and not app.is_member(conversation_id) and not exists (
        select from public.scheduled_messages s
         where s.sender_id = me and s.conversation_id = scheduled_messages.conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    select count(*), pg_catalog.string_agg(app.scheduled_object(w.s)::text, ',' order by w.due_at, w.id) as objects,
           (pg_catalog.array_agg(app.page_position(w.due_at, w.id) order by w.due_at desc, w.id desc))[1] as place
      into last
      from (select s, s.due_at, s.id from public.scheduled_messages s
             where s.sender_id = me
               and (scheduled_messages.conversation_id is null
                    or s.conversation_id = scheduled_messages.conversation_id)
               and (s.due_at, s.id) > (after_time, after_id)
             order by s.due_at, s.id limit max_results) w;
    return pg_catalog.format('{"scheduled":[%s],"next":%s}', last.objects,
        case when last.count = max_results then pg_catalog.to_json(last.place)::text else 'null' end)::json;
end
$$;

-- Removes a scheduled message of the caller, and returns it.
create or replace function api.unschedule_message(id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    removed public.scheduled_messages;
begin
    delete from public.scheduled_messages s
     where s.sender_id = app.caller() and s.id = unschedule_message.id
    returning s.* into removed;
    if removed.id is null then
        perform app.refuse_hidden('There is no such scheduled message. It may be sent.');
    end if;
    return app.scheduled_object(removed);
end
$$;
