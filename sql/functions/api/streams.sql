-- Sends a message of the caller that grows, with its first text or none, and returns it. The params are those of
-- api.send_message, as is the error for a client_id that was used.
create or replace function api.stream_message(
    conversation_id uuid, content text default '', client_id uuid default null, reply_to_seq bigint default null,
    mentions uuid[] default null, mentions_everyone boolean default null, data jsonb default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    content := coalesce(content, '');
    if pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    perform app.start_stream(conversation_id, content, client_id, reply_to_seq, mentions, mentions_everyone, data);
    return app.my_message(conversation_id);
end
$$;

-- Appends a piece to a message of the caller that grows, at the character `start`, and returns how many characters the
-- message has. A repeated piece changes nothing.
create or replace function api.append_to_message(conversation_id uuid, seq bigint, start bigint, content text)
returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.json_build_object(
        'conversation_id', conversation_id, 'seq', seq,
        'length', app.append_piece(conversation_id, seq, start, content));
end
$$;

-- Finishes a message of the caller that grows, and returns it. One that is finished stays as it is.
create or replace function api.finish_message(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.finish_own_stream(conversation_id, seq);
    return app.my_message(conversation_id, seq);
end
$$;
