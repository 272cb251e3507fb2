-- Replies, mentions and the app's own data of messages. The rules hold for all writers: the triggers of messages call
-- these functions, for messages that have such details only.

-- Returns true if a message has a reply, mentions or data.
create or replace function app.has_details(message public.messages) returns boolean
language sql immutable parallel safe
begin atomic
    select message.reply_to_seq is not null or message.mentions is not null or message.mentions_everyone is not null
           or message.data is not null;
end;

-- Returns the message to which another replies, as an object of that one. `content` has at most 100 characters.
create or replace function app.reply_object(message public.messages) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.concat(
        '{"seq":', message.seq, ',"sender_id":"', message.sender_id, '","kind":"', message.kind, '","content":',
        -- Counting characters takes longer than all else of a short text.
        coalesce(pg_catalog.to_json(
            case when pg_catalog.octet_length(message.content) <= 100 then message.content::text
                 else pg_catalog.left(message.content::text, 100) end), 'null'), ',"version":', message.version, '}');
end;

-- Returns the JSON members `reply_to`, `mentions`, `mentions_everyone` and `data` of a message that has one of them.
-- `reply` is the object of the message to which it replies, or null if that is not there (yet): a guest's conversation
-- may be moving. Clients replace it by a greater version.
create or replace function app.message_details(message public.messages, reply text) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.concat(
        ',"reply_to":',
        case when message.reply_to_seq is null then 'null'
             else coalesce(reply, '{"seq":' || message.reply_to_seq
                                  || ',"sender_id":null,"kind":null,"content":null,"version":0}') end,
        ',"mentions":', coalesce(pg_catalog.array_to_json(message.mentions)::text, '[]'),
        ',"mentions_everyone":', coalesce(message.mentions_everyone, false)::text,
        ',"data":', coalesce(message.data::text, 'null'));
end;

-- Function of an earlier version.
drop function if exists app.is_valid_data(jsonb);

-- Returns what is wrong with the data of an app, or null if it is an object of at most 4 KiB of JSON that every
-- parser accepts.
create or replace function app.data_error(data jsonb) returns text
language sql immutable parallel safe
begin atomic
    select case when pg_catalog.jsonb_typeof(data) <> 'object' then '"data" must be an object.'
                when app.json_flaw(data) is not null then '"data" ' || app.json_flaw(data) || '.'
                when app.json_bytes(data) > app.max_data_bytes() then '"data" must be at most 4 KiB of JSON.' end;
end;

-- Raises invalid_params unless the data of an app is valid (app.data_error).
create or replace function app.check_data(data jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    problem text := app.data_error(data);
begin
    if problem is not null then
        perform app.refuse_param('data', problem);
    end if;
end
$$;

-- Returns true if a sender may mention everyone: the owner and admins of a group.
create or replace function app.may_mention_everyone(conversation_id uuid, sender_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from public.conversations c
          join public.conversation_members m on m.conversation_id = c.id
         where c.id = may_mention_everyone.conversation_id and c.kind = 'group'
           and m.user_id = may_mention_everyone.sender_id and m.role in ('owner', 'admin'));
end
$$;

-- Raises forbidden unless a sender may mention everyone.
create or replace function app.check_everyone(conversation_id uuid, sender_id uuid) returns void
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not app.may_mention_everyone(conversation_id, sender_id) then
        perform app.refuse_forbidden('Only the owner and admins of a group can mention everyone.');
    end if;
end
$$;

-- Returns those of these users who are members of a conversation, in the order given. Null if there are none.
create or replace function app.mentioned_members(conversation_id uuid, mentions uuid[]) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if pg_catalog.cardinality(mentions) > 50 then
        perform app.refuse_param('mentions', '"mentions" must hold at most 50 UUIDs.');
    end if;
    return nullif(array(
        select u.id
          from (select u.id, min(u.place) as place from pg_catalog.unnest(mentions) with ordinality as u (id, place)
                 group by u.id) u
          join public.conversation_members m
            on m.conversation_id = mentioned_members.conversation_id and m.user_id = u.id and not m.is_deleted
         order by u.place), '{}');
end
$$;

-- Checks the details of a new message that has its number. Returns the message without mentions of users who are not
-- members.
create or replace function app.add_details(message public.messages) returns public.messages
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    message.mentions_everyone := nullif(message.mentions_everyone, false);
    if message.deleted_at is not null then
        message.mentions := null;
        message.mentions_everyone := null;
        message.data := null;
    end if;
    -- Numbers have no gaps: this is the whole check.
    if message.reply_to_seq is not null and message.reply_to_seq not between (
        select c.first_seq from public.conversations c where c.id = message.conversation_id) and message.seq - 1 then
        perform app.refuse_reply();
    end if;
    if message.data is not null then
        perform app.check_data(message.data);
    end if;
    if message.mentions_everyone then
        perform app.check_everyone(message.conversation_id, message.sender_id);
    end if;
    message.mentions := app.mentioned_members(message.conversation_id, message.mentions);
    return message;
end
$$;

-- Raises not_found for a reply to a message that is not an earlier one of its conversation.
create or replace function app.refuse_reply() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL008', detail = '{"field":"reply_to_seq"}',
        message = 'There is no such message.',
        hint = '"reply_to_seq" must be the number of an earlier message of the same conversation.';
end
$$;

-- Checks the changed details of a message, and records its mentions anew. Returns the message as app.add_details.
create or replace function app.change_details(before public.messages, message public.messages) returns public.messages
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    message.mentions_everyone := nullif(message.mentions_everyone, false);
    if message.data is distinct from before.data and message.data is not null then
        perform app.check_data(message.data);
    end if;
    if message.mentions_everyone and before.mentions_everyone is null then
        perform app.check_everyone(message.conversation_id, message.sender_id);
    end if;
    if message.mentions is distinct from before.mentions then
        message.mentions := app.mentioned_members(message.conversation_id, message.mentions);
    end if;
    perform app.replace_mentions(before, message);
    return message;
end
$$;
