-- The search of messages by the index messages_words, whose words are those of app.message_words.

-- Merges the pending list of the index, in which a search looks at each message. Nodes call it each second, and one
-- does it every two seconds. Returns false: the next call is never due at once.
create or replace function app.flush_message_words() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if app.acquire_lease('message_words', gen_random_uuid(), 2) then
        perform gin_clean_pending_list('public.messages_words'::regclass);
    end if;
    return false;
end
$$;

-- Returns what a folded query looks for: all its words, and messages whose words begin with the last one if that has
-- three letters or more. Null if the query has no word.
create or replace function app.search_condition(folded text) returns tsquery
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    -- Of these scripts a single character begins a word of two.
    joined constant text := '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]';
    part text;
    terms text[] := '{}';
    is_last boolean := true;
begin
    -- From the last part to the first.
    for part in
        select p.part from regexp_split_to_table(regexp_replace(folded, joined || '+', ' \& ', 'g'), ' +')
               with ordinality p (part, place)
         where p.part <> '' order by p.place desc
    loop
        if part ~ joined and char_length(part) > 1 then
            terms := terms || array(
                select quote_literal(substr(part, i, 2)) from generate_series(1, char_length(part) - 1) as i);
        else
            terms := terms || (quote_literal(part)
                || case when part ~ joined or is_last and char_length(part) >= 3 then ':*' else '' end);
        end if;
        is_last := false;
    end loop;
    return nullif(array_to_string(terms, ' & '), '')::tsquery;
end
$$;

-- Returns the condition for the messages of a span of time, of these conversations unless null. `width` is the number
-- of bits of its seconds: 20 are 12 days, 16 are 18 hours, and 64 are all time. `span` is its number.
create or replace function app.span_condition(conversations uuid[], span bigint, width integer) returns tsquery
language sql immutable parallel safe
begin atomic
    select nullif(pg_catalog.concat_ws(
        ' & ',
        (select '(' || pg_catalog.string_agg(pg_catalog.quote_literal(pg_catalog.concat(
                    '@', pg_catalog.right(i::text, 12),
                    case width when 20 then 'l' || span when 16 then 'l' || (span >> 4) end)), ' | ') || ')'
           from unnest(conversations) as i),
        case when conversations is null and width = 20 then pg_catalog.quote_literal('@l' || span) end,
        case when width = 16 then pg_catalog.quote_literal('@s' || span) end), '')::tsquery;
end;

-- Returns where the caller's messages are that match a query, the newest first, and the position after each. `next` is
-- the position of the next page, or null. Only of one conversation, of one sender, or after a position, if given.
--
-- Runs as the owner: operators of text search are not leakproof, so under row-level security every message of the
-- caller would be read. It checks the membership itself, and returns no texts.
--
-- Spans of time are searched, the newest first: the last 12 days, then all time before. One with more matches than ten
-- times the results is searched in parts: all time by 12 days, and those by 18 hours. All time is left for later where
-- a span shows that it would have too many. So the results up to a time are complete when the search ends early, after
-- `duration`: `is_partial` is true, and the next page continues from there. Only matches within 18 hours may be left
-- out.
--
-- Up to 16 conversations are in the condition, so that the index finds their messages only. An `or` of more would take
-- longer than to look at the messages of others. Of so few the newest messages are looked at without the index of
-- words first: for the beginning of a frequent word the index reads all messages with it, in each span again. This
-- ends after 512 messages, or 128 if none matches, at the end of a span.
create or replace function app.find_messages(
    query text, only_in uuid, only_by uuid, before_time timestamptz, before_id uuid, max_results integer,
    duration interval, out conversations uuid[], out seqs bigint[], out positions text[], out next text,
    out is_partial boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set work_mem = '32MB'
set enable_seqscan = off set jit = off as $$
declare
    most integer := greatest(200, 10 * max_results);
    origin constant timestamptz := '2000-01-01 00:00:00+00';
    no_id constant uuid := '00000000-0000-0000-0000-000000000000';
    deadline timestamptz := clock_timestamp() + duration;
    folded text := app.search_text(query);
    condition tsquery := app.search_condition(folded);
    -- Characters of which each two may be in a text without following each other all.
    phrases text[] := array(
        select p[1] from regexp_matches(folded,
            '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]{3,}', 'g') as p);
    mine uuid[] := array(select app.my_conversations());
    -- The conversations if they are few.
    few uuid[];
    -- True while messages are looked at without the index of words; how many were, and in how many spans.
    is_without_index boolean := false;
    looked_at integer := 0;
    steps integer := 0;
    -- The number of messages of the conversations.
    total bigint;
    -- The spans that are left, the newest last, by their number and the bits of their seconds: 64 is all time.
    spans bigint[] := '{}';
    bits integer[] := '{}';
    span bigint;
    width integer;
    narrowed tsquery;
    -- The last second that may have more results.
    latest bigint;
    newest bigint;
    oldest bigint;
    has_progress boolean := false;
    -- The number of messages of a span that were looked at, and the most that may be.
    looked integer;
    bound integer;
    -- True if the whole span was looked at.
    is_complete boolean;
    -- The number of matches so far, and of those before the span.
    matches integer;
    complete integer := 0;
    -- True if the 12 days before are next, and not all time.
    has_next boolean;
    ids uuid[] := '{}';
    times timestamptz[] := '{}';
    rooms uuid[] := '{}';
    numbers bigint[] := '{}';
    hit record;
begin
    is_partial := false;
    if only_in is not null then
        if only_in <> all (mine) then
            perform app.refuse_hidden('There is no such conversation.');
        end if;
        mine := array[only_in];
    end if;
    if cardinality(mine) between 1 and 16 then
        few := mine;
        is_without_index := true;
    end if;
    if condition is not null then
        -- The position after a span of time, which has no id, is before all messages of its instant.
        select floor(extract(epoch from
                   least(max(c.last_message_time),
                         case when before_id = no_id then before_time - interval '1 microsecond'
                              else before_time end) - origin)),
               sum(c.last_seq - c.first_seq + 1)
          into latest, total from public.conversations c where c.id = any (mine);
    end if;
    if latest is not null then
        spans := array[0, latest >> 20];
        bits := array[64, 20];
    end if;
    while spans <> '{}' and complete <= max_results loop
        span := spans[cardinality(spans)];
        width := bits[cardinality(bits)];
        if has_progress and clock_timestamp() > deadline then
            is_partial := true;
            exit;
        end if;
        spans := trim_array(spans, 1);
        bits := trim_array(bits, 1);
        narrowed := app.span_condition(few, span, width);
        if not is_without_index then
            narrowed := coalesce(condition && narrowed, condition);
        end if;
        bound := case when is_without_index then case width when 16 then 1024 else 64 end
                      when width > 16 then most else 2147483647 end;
        looked := 0;
        for hit in
            select m.id, m.conversation_id, m.seq, m.created_at,
                   (before_time is null or (m.created_at, m.id) < (before_time, before_id))
                   and m.created_at < origin + (latest + 1) * interval '1 second'
                   and m.conversation_id = any (mine) and (only_by is null or m.sender_id = only_by)
                   and m.kind <> 'system'
                   and (not is_without_index
                        or app.message_words(m.conversation_id, m.created_at, m.content) @@ condition)
                   and (phrases = '{}' or (
                        select bool_and(strpos(m.content, p) > 0 or strpos(app.search_text(m.content), p) > 0)
                          from unnest(phrases) as p))
                   and not exists (select from app.message_streams s
                                    where s.conversation_id = m.conversation_id and s.seq = m.seq) as is_match
              from public.messages m
             where app.message_words(m.conversation_id, m.created_at, m.content) @@ narrowed and m.content <> ''
        loop
            looked := looked + 1;
            if hit.is_match then
                ids := ids || hit.id;
                times := times || hit.created_at;
                rooms := rooms || hit.conversation_id;
                numbers := numbers || hit.seq;
            end if;
            exit when looked > bound;
            if width = 16 and not is_without_index and looked % 64 = 0 and clock_timestamp() > deadline then
                is_partial := true;
                exit;
            end if;
        end loop;
        is_complete := looked <= bound;
        matches := cardinality(ids);
        has_next := is_complete and width = 20 and spans = array[0::bigint] and (matches - complete) * 30 > most;
        if is_complete then
            complete := matches;
            if width < 64 then
                latest := (span << width) - 1;
            end if;
            has_progress := true;
            exit when is_partial;
        else
            ids := ids[:complete];
            times := times[:complete];
            rooms := rooms[:complete];
            numbers := numbers[:complete];
        end if;
        if is_without_index and (is_complete or width = 16) then
            -- The share of those that match says whether all time has too many.
            looked_at := looked_at + looked;
            steps := steps + 1;
            has_next := spans = array[0::bigint];
            if not is_complete or looked_at >= (case complete when 0 then 128 else 512 end) or steps = 8 then
                is_without_index := false;
                spans := array[0];
                bits := array[64];
                has_next := matches * total > most * looked_at;
            end if;
        end if;
        if has_next then
            spans := spans || (latest >> 20);
            bits := bits || 20;
        end if;
        continue when is_complete or width = 16;
        -- Too many: in parts.
        if width = 64 then
            newest := latest >> 20;
            -- Times increase with the numbers, but for the messages of merged guests, which were appended.
            select floor(extract(epoch from least(min(f.created_at), (
                       select min(p.created_at) from public.conversations c
                         join app.merged_guests g on g.account_id in (c.participant1_id, c.participant2_id)
                         join public.user_profiles p on p.id = g.guest_id
                        where c.id = any (mine))) - origin))::bigint >> 20
              into oldest
              from unnest(mine) as i
             cross join lateral (select m.created_at from public.messages m
                                  where m.conversation_id = i order by m.seq limit 1) f;
        else
            newest := least((span << 4) + 15, latest >> 16);
            oldest := span << 4;
        end if;
        spans := spans || array(select n from generate_series(oldest, newest) as n);
        bits := bits || array(select case width when 64 then 20 else 16 end from generate_series(oldest, newest));
    end loop;
    select array_agg(w.room order by w.place), array_agg(w.number order by w.place),
           array_agg(app.page_position(w.time, w.id) order by w.place)
      into conversations, seqs, positions
      from (select f.*, row_number() over (order by f.time desc, f.id desc) as place
              from unnest(ids, times, rooms, numbers) as f (id, time, room, number)
             order by place limit max_results) w;
    if cardinality(ids) > max_results then
        is_partial := false;
        next := positions[max_results];
    elsif is_partial and spans = '{}' then
        is_partial := false;
    elsif is_partial then
        next := app.page_position(origin + (latest + 1) * interval '1 second', no_id);
    end if;
end
$$;
