-- Messages that grow while they are written: a row of app.message_streams for each, and its text in pieces. A message's
-- own row is written at the beginning and at the end, so no send waits for a piece.
--
-- Pieces follow each other without gaps or overlaps. The first begins at 0, and is empty if the message began so: that
-- a message grows is known by its pieces.

-- Returns the most messages of a user that grow at the same time.
create or replace function app.max_streams() returns integer
language sql immutable parallel safe
begin atomic
    select 20;
end;

-- Returns after what time without a piece a message is finished by the server.
create or replace function app.stream_timeout() returns interval
language sql immutable parallel safe
begin atomic
    select interval '60 seconds';
end;

-- Returns a piece as JSON.
create or replace function app.piece_object(conversation_id uuid, seq bigint, start integer, content text) returns text
language sql stable parallel safe
begin atomic
    select '{"conversation_id":"' || conversation_id::text || '","seq":' || seq || ',"start":' || start
           || ',"content":' || pg_catalog.to_json(content)::text || '}';
end;

-- Sends a message of the caller that grows.
create or replace function app.start_stream(
    conversation_id uuid, content text, client_id uuid, reply_to_seq bigint, mentions uuid[],
    mentions_everyone boolean, data jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
begin
    if (select count(*) from app.message_streams s where s.sender_id = me) >= app.max_streams() then
        perform app.refuse_forbidden(pg_catalog.format(
            '%s of your messages are streaming. Finish one before you start another.', app.max_streams()));
    elsif exists (select from app.filter_rules f where f.scope = 'messages' and f.word = '*') then
        -- Its members would see the text before the moderator.
        perform app.refuse_forbidden('Messages cannot stream here: a moderator sees each of them first.');
    end if;
    -- The version tells the triggers, and only this function can write it.
    insert into public.messages (
        conversation_id, sender_id, client_id, content, reply_to_seq, mentions, mentions_everyone, data, version)
    values (start_stream.conversation_id, me, client_id, content, reply_to_seq, mentions, mentions_everyone, data, 0);
end
$$;

-- Records a new message that grows, which has its number.
create or replace function app.add_stream(message public.messages) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into app.message_streams (conversation_id, seq, sender_id, length)
    values (message.conversation_id, message.seq, message.sender_id, pg_catalog.char_length(message.content));
    insert into public.message_pieces (conversation_id, seq, start, content)
    values (message.conversation_id, message.seq, 0, message.content);
end
$$;

-- Returns true if a message grows.
create or replace function app.is_streaming(conversation_id uuid, seq bigint) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from app.message_streams s
                    where s.conversation_id = is_streaming.conversation_id and s.seq = is_streaming.seq);
end
$$;

-- Returns true if a message of one of the caller's conversations grows.
create or replace function app.has_streams(conversation_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from app.message_streams s where s.conversation_id = has_streams.conversation_id)
           and exists (select from public.conversation_members m
                        where m.conversation_id = has_streams.conversation_id and m.user_id = auth.uid()
                          and not m.is_deleted);
end
$$;

-- Returns the text of a message that grows.
create or replace function app.stream_text(conversation_id uuid, seq bigint) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return (select pg_catalog.string_agg(p.content, '' order by p.start) from public.message_pieces p
             where p.conversation_id = stream_text.conversation_id and p.seq = stream_text.seq);
end
$$;

-- Appends a piece to a message of the caller that grows, at the character `start`, and returns the new length. A piece
-- that the message has already changes nothing.
create or replace function app.append_piece(conversation_id uuid, seq bigint, start bigint, content text)
returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    me uuid := app.caller();
    added integer := pg_catalog.char_length(content);
    present integer;
begin
    if coalesce(content, '') = '' then
        perform app.refuse_param('content', '"content" must be at least 1 character long.');
    end if;
    update app.message_streams s
       set length = s.length + added, appended_at = pg_catalog.clock_timestamp(),
           changed_xid = pg_catalog.pg_current_xact_id()
     where s.conversation_id = append_piece.conversation_id and s.seq = append_piece.seq and s.sender_id = me
       and s.length = append_piece.start and s.length + added <= app.max_message_characters()
       and exists (select from public.conversation_members m
                    where m.conversation_id = append_piece.conversation_id and m.user_id = me and not m.is_deleted
                      and not m.is_blocked)
    returning s.length into present;
    if found then
        if start > 0 then
            insert into public.message_pieces (conversation_id, seq, start, content)
            values (append_piece.conversation_id, append_piece.seq, append_piece.start, append_piece.content);
        else
            -- The first piece is empty if the message began without a text. Not for all pieces, since this runs the
            -- triggers of inserts and updates.
            insert into public.message_pieces as p (conversation_id, seq, start, content)
            values (append_piece.conversation_id, append_piece.seq, append_piece.start, append_piece.content)
            on conflict on constraint message_pieces_pkey do update
               set content = excluded.content, changed_xid = excluded.changed_xid;
        end if;
        return present;
    end if;
    perform app.check_stream(conversation_id, seq);
    if app.has_block(conversation_id) then
        perform app.refuse_blocked();
    end if;
    select s.length into present from app.message_streams s
     where s.conversation_id = append_piece.conversation_id and s.seq = append_piece.seq;
    if start between 0 and present - added
       and pg_catalog.substr(app.stream_text(conversation_id, seq), start::integer + 1, added) = content then
        return present;
    elsif start <> present then
        perform app.refuse_param('start', pg_catalog.format(
            '"start" must be %s, the number of characters that the message has.', present));
    end if;
    perform app.refuse_param('content', pg_catalog.format(
        '"content" is too long: a message has at most %s characters.', app.max_message_characters()));
end
$$;
create or replace trigger ring after insert or update or delete on public.message_pieces
    for each statement execute function app.notify_change();

-- Appends pieces to messages of several users in one transaction, as app.append_piece appends one. Returns the position
-- and response of each. Pieces without a response were not appended, and must be appended singly, where they get their
-- error: a piece that a rule refuses, a repeated one, the first of a message, the second for a message in this batch,
-- and one of a message that another transaction has locked. So no piece waits for another's message.
--
-- Nodes call it and name the senders.
create or replace function app.append_pieces(
    senders uuid[], conversations uuid[], seqs bigint[], starts bigint[], contents text[])
    returns table (place bigint, object json)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off rows 16 as $$
#variable_conflict use_column
begin
    return query
    with pieces as materialized (
        select distinct on (p.conversation_id, p.seq) p.*, pg_catalog.char_length(p.content) as added
          from unnest(senders, conversations, seqs, starts, contents) with ordinality
                   as p (sender_id, conversation_id, seq, start, content, place)
         where p.start > 0 and p.content <> ''
         order by p.conversation_id, p.seq, p.place),
    locked as materialized (
        select p.* from pieces p
          join app.message_streams s on s.conversation_id = p.conversation_id and s.seq = p.seq
           for no key update of s skip locked),
    grown as (
        update app.message_streams s
           set length = s.length + l.added, appended_at = pg_catalog.clock_timestamp(),
               changed_xid = pg_catalog.pg_current_xact_id()
          from locked l
         where s.conversation_id = l.conversation_id and s.seq = l.seq and s.sender_id = l.sender_id
           and s.length = l.start and s.length + l.added <= app.max_message_characters()
           and exists (select from public.conversation_members m
                        where m.conversation_id = l.conversation_id and m.user_id = l.sender_id and not m.is_deleted
                          and not m.is_blocked)
        returning l.*, s.length),
    written as (
        insert into public.message_pieces (conversation_id, seq, start, content)
        select g.conversation_id, g.seq, g.start, g.content from grown g)
    select g.place,
           pg_catalog.json_build_object('conversation_id', g.conversation_id, 'seq', g.seq, 'length', g.length)
      from grown g;
end
$$;

-- Raises an error unless a message of the caller grows.
create or replace function app.check_stream(conversation_id uuid, seq bigint) returns void
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    sender_id uuid;
begin
    select m.sender_id into sender_id
      from public.messages m
      join public.conversation_members o on o.conversation_id = m.conversation_id and o.user_id = auth.uid()
     where m.conversation_id = check_stream.conversation_id and m.seq = check_stream.seq and not o.is_deleted;
    if sender_id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif sender_id <> auth.uid() then
        perform app.refuse_forbidden('Only the sender of a message can append to it and finish it.');
    elsif not app.is_streaming(conversation_id, seq) then
        perform app.refuse_forbidden('The message is finished.');
    end if;
end
$$;

-- Writes the text of a message that grows as its content, if the last piece came before a time. One without a text is
-- deleted. The caller has locked the conversation.
create or replace function app.finish_stream(
    conversation_id uuid, seq bigint, appended_before timestamptz default 'infinity') returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- Messages are locked before their streams, as by a deletion.
    perform 1 from public.messages m
     where m.conversation_id = finish_stream.conversation_id and m.seq = finish_stream.seq for no key update;
    perform 1 from app.message_streams s
     where s.conversation_id = finish_stream.conversation_id and s.seq = finish_stream.seq
       and s.appended_at < appended_before for update;
    if found then
        -- A separate statement, which sees everything that was committed before the locks were taken. The triggers know
        -- by the version that the stream ends.
        update public.messages m
           set content = coalesce(nullif(t.content, ''), m.content), version = m.version + 1,
               deleted_at = case when t.content = '' then pg_catalog.clock_timestamp() end,
               changed_xid = pg_catalog.pg_current_xact_id()
          from (select app.stream_text(finish_stream.conversation_id, finish_stream.seq) as content) t
         where m.conversation_id = finish_stream.conversation_id and m.seq = finish_stream.seq;
    end if;
end
$$;

-- Finishes a message of the caller. Does nothing if it is finished.
create or replace function app.finish_own_stream(conversation_id uuid, seq bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.lock_conversation(conversation_id);
    if not exists (select from public.messages m
                    where m.conversation_id = finish_own_stream.conversation_id and m.seq = finish_own_stream.seq
                      and m.sender_id = auth.uid())
       or app.is_streaming(conversation_id, seq) then
        perform app.check_stream(conversation_id, seq);
        if app.stream_text(conversation_id, seq) = '' then
            perform app.refuse_forbidden('The message has no text: append to it, or delete it.');
        end if;
        perform app.finish_stream(conversation_id, seq);
    end if;
end
$$;

-- Removes the pieces of a message that is finished or deleted.
create or replace function app.remove_stream(conversation_id uuid, seq bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.message_streams s
     where s.conversation_id = remove_stream.conversation_id and s.seq = remove_stream.seq;
    if found then
        delete from public.message_pieces p
         where p.conversation_id = remove_stream.conversation_id and p.seq = remove_stream.seq;
    end if;
end
$$;

-- Finishes one message to which nothing was appended for a time, if its conversation is not locked. Returns false if
-- there is none.
create or replace function app.finish_abandoned_stream() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    latest timestamptz := pg_catalog.clock_timestamp() - app.stream_timeout();
    stream record;
begin
    select s.conversation_id, s.seq into stream
      from app.message_streams s join public.conversations c on c.id = s.conversation_id
     where s.appended_at < latest
     limit 1 for no key update of c skip locked;
    if not found then
        return false;
    end if;
    perform app.finish_stream(stream.conversation_id, stream.seq, latest);
    return true;
end
$$;

-- Finishes all messages that grow and that a user has sent, or that are in one of these conversations, which the caller
-- has locked.
create or replace function app.finish_streams(sender_id uuid, conversations uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    stream record;
begin
    for stream in
        select s.conversation_id, s.seq from app.message_streams s
         where s.sender_id = finish_streams.sender_id or s.conversation_id = any (conversations)
         order by s.conversation_id, s.seq
    loop
        perform app.finish_stream(stream.conversation_id, stream.seq);
    end loop;
end
$$;

-- Returns the text of each message of a conversation that grows, with a number above `low` and up to `high`, as one
-- piece: what `since` does not see of it (null: all). Nothing if the caller is not a member, or if `since` sees all.
--
-- Clients take of a piece what is beyond what they have, so it may contain more than a snapshot sees.
create or replace function app.seen_pieces(
    conversation_id uuid, low bigint, high bigint, since pg_snapshot default null)
    returns table (seq bigint, object text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp rows 10 as $$
#variable_conflict use_column
begin
    if not exists (
        select from public.conversation_members m
         where m.conversation_id = seen_pieces.conversation_id and m.user_id = auth.uid() and not m.is_deleted) then
        return;
    end if;
    return query
    select s.seq, app.piece_object(s.conversation_id, s.seq, p.start, p.content)
      from app.message_streams s
     cross join lateral (
            select min(p.start) as start, pg_catalog.string_agg(p.content, '' order by p.start) as content
              from public.message_pieces p
             where p.conversation_id = s.conversation_id and p.seq = s.seq
               and (since is null or not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))) p
     where s.conversation_id = seen_pieces.conversation_id and s.seq > low and s.seq <= high and p.start is not null
     order by s.seq;
end
$$;

-- Returns those of the caller's conversations `mine` in which a message has grown since a snapshot.
create or replace function app.streamed_since(since pg_snapshot, mine uuid[]) returns uuid[]
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    most constant integer := 64;
    streamed uuid[] := array(
        select s.conversation_id from app.message_streams s
         where s.changed_xid >= pg_catalog.pg_snapshot_xmin(since)
           and not pg_catalog.pg_visible_in_snapshot(s.changed_xid, since) limit most);
begin
    if streamed = '{}' then
        return streamed;
    end if;
    -- Only the user's conversations: a change of another's is not revealed.
    return case when pg_catalog.cardinality(streamed) = most then mine
                else array(select o.conversation_id from public.conversation_members o
                            where o.user_id = auth.uid() and o.conversation_id = any (streamed)
                              and o.conversation_id = any (mine)) end;
end
$$;
