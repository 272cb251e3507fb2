-- Gives each message another word in the index of words: its conversation and its span of 12 days together, so that a
-- search in a few conversations does not read all their messages for each span. The index is built anew, which takes
-- about a minute for two million messages; until then no message can be written.
drop index public.messages_words;

-- Returns the words by which a message is found: those of its text, and four that begin with "@", as no word of a text
-- does: for its conversation, for the spans of 12 days and of 18 hours in which it was sent, and for the conversation
-- in the 12 days.
--
-- Most messages are short and in ASCII. Of these it makes the words itself, in one expression: each costs some
-- microseconds in a new transaction.
create or replace function app.message_words(conversation_id uuid, created_at timestamptz, content text)
returns tsvector
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    -- Computed from a difference, since the epoch of a time is not immutable.
    seconds bigint := floor(extract(epoch from least(created_at, timestamptz '9999-01-01 00:00:00+00')
                                               - timestamptz '2000-01-01 00:00:00+00'));
    conversation text := right(conversation_id::text, 12);
begin
    if octet_length(content) = char_length(content) and octet_length(content) <= 500 then
        return array_to_tsvector(string_to_array(ltrim(concat(
            regexp_replace(lower(content collate "C") || '@', '[^a-z0-9]+', ' ', 'g'),
            '@', conversation, ' @l', seconds >> 20, ' @s', seconds >> 16, ' @', conversation, 'l', seconds >> 20)),
            ' '));
    end if;
    return array_to_tsvector(app.search_words(app.search_text(content)) || array[
        '@' || conversation, '@l' || (seconds >> 20), '@s' || (seconds >> 16),
        '@' || conversation || 'l' || (seconds >> 20)]);
end
$$;

create index messages_words on public.messages using gin (app.message_words(conversation_id, created_at, content))
    with (fastupdate = on, gin_pending_list_limit = 16384) where content <> '';
alter index public.messages_words alter column 1 set statistics 0;
