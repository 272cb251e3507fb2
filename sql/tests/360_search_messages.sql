-- The search of messages: what is found, by whom, in which order, and how the index is used.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('guest', true);

create function pg_temp.search(who text, query text, rest text default '') returns text language sql as $$
    select tests.as(who, format('api.search_messages(%L%s)', query, rest))
$$;
-- Returns the texts that a user finds, or the error.
create function pg_temp.found(who text, query text, rest text default '') returns text language plpgsql as $$
declare
    answer text := pg_temp.search(who, query, rest);
begin
    if answer not like '{%' then return answer; end if;
    return coalesce((select string_agg(m ->> 'content', ' | ' order by place)
              from json_array_elements(answer::json -> 'messages') with ordinality as w (m, place)), '');
end $$;

-- Results by user.
select tests.say('direct', 'bob', 'The walrus called');
select tests.say('group', 'alice', 'A walrus in the group');
select tests.say('group', 'carol', 'Carol saw the walruses');
select is(pg_temp.found('alice', 'walrus'), 'Carol saw the walruses | A walrus in the group | The walrus called',
    'finds the messages of all conversations, the newest first');
select is(pg_temp.found('carol', 'walrus'), 'Carol saw the walruses | A walrus in the group',
    'finds nothing of conversations of others');
select is(pg_temp.found('mallory', 'walrus'), '', 'a stranger finds nothing');
select is(pg_temp.found('guest', 'walrus'), '', 'a guest finds nothing of others');
select is(pg_temp.found('anon', 'walrus') ~ '^42501', true, 'nobody can search without a user');
select is(pg_temp.found('alice', 'walrus', format(', %L', tests.id('direct'))), 'The walrus called',
    'finds the messages of one conversation');
select is(pg_temp.found(who, 'walrus', format(', %L', tests.id('direct'))), 'PL008 There is no such conversation.',
    format('%s cannot search a conversation of others', who))
  from unnest(array['carol', 'mallory']) who;
select is(pg_temp.found('alice', 'walrus', format(', null, %L', tests.id('carol'))), 'Carol saw the walruses',
    'finds the messages of one sender');
select is(pg_temp.found('alice', 'walrus', format(', %L, %L', tests.id('direct'), tests.id('carol'))), '',
    'finds the messages of one sender in one conversation');
select is((select m from json_array_elements(pg_temp.search('alice', 'called')::json -> 'messages') m)::text,
    tests.as('alice', format('api.messages(%L)::json -> ''messages'' -> 0', tests.id('direct'))),
    'returns whole messages');
select tests.as('alice', format('api.remove_member(%L, %L)', tests.id('group'), tests.id('carol')));
select is(pg_temp.found('carol', 'walrus'), '', 'a removed member finds nothing');
select is(pg_temp.found('carol', 'walrus', format(', %L', tests.id('group'))), 'PL008 There is no such conversation.',
    'a removed member cannot search the group');
select is(pg_temp.found('bob', 'saw'), 'Carol saw the walruses', 'the others find what a removed member has sent');

-- Edits, deletions, streams, system messages.
select tests.as('alice', format('api.edit_message(%L, %s, ''A pelican in the group'')', m.conversation_id, m.seq))
  from public.messages m where m.content = 'A walrus in the group';
select is(pg_temp.found('bob', query), expected, format('after an edit: %s', query))
  from (values ('walrus group', ''), ('pelican', 'A pelican in the group')) w (query, expected);
select tests.as('bob', format('api.delete_message(%L, 1)', tests.id('direct')));
select is(pg_temp.found(who, 'called'), '', format('%s does not find a deleted message', who))
  from unnest(array['alice', 'bob']) who;
select tests.as('alice', format('api.stream_message(%L, ''growing heron'', gen_random_uuid())', tests.id('direct')));
select is(pg_temp.found('bob', 'heron'), '', 'does not find a message that streams');
select tests.as('alice', format('api.append_to_message(%1$L, 2, 13, '' feathers'')', tests.id('direct')));
select tests.as('alice', format('api.finish_message(%L, 2)', tests.id('direct')));
select is(pg_temp.found('bob', 'heron feathers'), 'growing heron feathers', 'finds it once it is finished');
select tests.as('alice', format('api.update_conversation(%L, ''Ostrich'', true)', tests.id('group')));
select is(pg_temp.found('bob', 'ostrich') || pg_temp.found('bob', 'alice'), '', 'does not find events of groups');

-- Words in all languages.
select tests.say('direct', 'alice', content) from unnest(array[
    'Straße Özgür ŁÓDŹ', 'Café № 42: crème-brûlée', 'Ёлки ПАЛКИ', 'Καλημέρα ΚΌΣΜΕ', 'ışık ISTANBUL İstanbul',
    'שָׁלוֹם עולם',
    'مُحَمَّد فى المدرسة', '明日の会議の資料', '東京都に住む', '京都の東にある', 'カフェでﾃﾞｰﾀ', '학교에서 만나요', 'คุณช่วยนำเอกสารมา',
    'ʻokina Əliyev ДҚазақ', 'mail bob.miller@example.com', E'snake_case\tTabs\nlines',
    'don’t O''Neill "quoted" \back\ %x',
    '🎉party🎉 time', '한국어로', 'ພາສາລາວ', 'x']) content;
select is(pg_temp.found('bob', query), content, format('%s finds %s', query, content))
  from (values ('strasse', 'Straße Özgür ŁÓDŹ'), ('OZGUR lodz', 'Straße Özgür ŁÓDŹ'),
    ('cafe 42', 'Café № 42: crème-brûlée'),
    ('Creme Brulee', 'Café № 42: crème-brûlée'), ('елки', 'Ёлки ПАЛКИ'), ('палки', 'Ёлки ПАЛКИ'),
    ('κόσμε', 'Καλημέρα ΚΌΣΜΕ'), ('isik', 'ışık ISTANBUL İstanbul'), ('שלום', 'שָׁלוֹם עולם'),
    ('محمد', 'مُحَمَّد فى المدرسة'), ('المدرسه', 'مُحَمَّد فى المدرسة'), ('会議', '明日の会議の資料'), ('会議の資料', '明日の会議の資料'),
    ('資料 明日', '明日の会議の資料'), ('東京', '東京都に住む'), ('東京都', '東京都に住む'), ('京都', '京都の東にある | 東京都に住む'),
    ('京都の', '京都の東にある'), ('データ', 'カフェでﾃﾞｰﾀ'), ('학교', '학교에서 만나요'), ('만나', '학교에서 만나요'), ('국어', '한국어로'),
    ('เอกสาร', 'คุณช่วยนำเอกสารมา'), ('ສາລາ', 'ພາສາລາວ'), ('əliyev', 'ʻokina Əliyev ДҚазақ'),
    ('дқазақ', 'ʻokina Əliyev ДҚазақ'),
    ('bob.miller@example', 'mail bob.miller@example.com'), ('case tabs', E'snake_case\tTabs\nlines'),
    ('don''t', 'don’t O''Neill "quoted" \back\ %x'), ('\back''', 'don’t O''Neill "quoted" \back\ %x'),
    ('party', '🎉party🎉 time'), ('東 京', '京都の東にある | 東京都に住む'),
    -- A prefix from three letters on, of the last word.
    ('par', '🎉party🎉 time'), ('pa', ''), ('time part', '🎉party🎉 time'), ('part time', ''), ('🎉🎉', ''), ('%%', ''),
    ('東京の', ''), ('a & !b', ''), ('''', 'PL001 "query" must be 2 to 100 characters long.'))
    w (query, content);
select is(array(
        select letter from (select chr(i) as letter from pg_catalog.generate_series(192, 11263) i) l
         where app.folded(letter) ~ '^[a-zα-ωа-яё]+$' and app.search_text(letter) not in (app.folded(letter), '')),
    '{}', 'letters are folded as in names');

select is(app.message_words(tests.id('direct'), '2026-06-01', content),
          array_to_tsvector(array_remove(app.search_words(app.search_text(content)), '')
                            || '{@l794,@s12719}'::text[] || ('@' || right(tests.id('direct')::text, 12))
                            || ('@' || right(tests.id('direct')::text, 12) || 'l794')),
          format('the words of %L', left(content, 20)))
  from unnest(array['', ' ', '.', 'one', ' two  words.', '@s1 @l1', repeat('word ', 99), repeat('word ', 101),
                    repeat('long', 500) || ' é', repeat('京', 8000), repeat('x', 8000)]) content;

-- Invalid params.
select is(tests.field_of('alice', format('select api.search_messages(%s)', params)), 'PL001 ' || field,
    format('rejects %s', left(params, 40)))
  from (values ('null', 'query'), (''' x ''', 'query'), (format('%L', repeat('x', 101)), 'query'),
    ('''xx'', null, null, 0', 'limit'), ('''xx'', null, null, 51', 'limit'), ('''xx'', null, null, null', 'limit'),
    ('''xx'', null, null, 20, ''x''', 'before'), ('''xx'', null, null, 20, ''1.2''', 'before')) w (params, field);

-- Pages, in one conversation and in more than the index is asked for.
select tests.as('alice', format('api.create_group(%L, array[%L::uuid], true)', 'Room ' || n, tests.id('bob')))
  from generate_series(1, 20) n;
insert into public.messages (conversation_id, sender_id, content)
select (array(select c.id from public.conversations c where c.title like 'Room %' order by c.title))[1 + n % 20],
       tests.id('alice'), 'giraffe ' || n from generate_series(1, 45) n;
create function pg_temp.pages(who text, query text, rest text) returns text[] language plpgsql as $$
declare
    page json;
    texts text[] := '{}';
begin
    loop
        page := pg_temp.search(who, query, format(rest, quote_nullable(page ->> 'next')))::json;
        texts := texts || array(select m ->> 'content' from json_array_elements(page -> 'messages') m);
        exit when page ->> 'next' is null or cardinality(texts) > 1000;
    end loop;
    return texts;
end $$;
select is(pg_temp.pages('bob', 'giraffe', ', null, null, 7, %s'),
    array(select 'giraffe ' || n from generate_series(45, 1, -1) n), 'pages go on where the last one ended');
select is(pg_temp.search('bob', 'giraffe', ', null, null, 45')::json ->> 'next', null, 'the last page has no next');
select is(cardinality(pg_temp.pages('alice', 'giraffe', ', null, null, 50, %s')), 45, 'finds all of them');

-- Times that are given: of one instant, and before an earlier message.
insert into public.messages (conversation_id, sender_id, content, created_at)
select tests.id('direct'), tests.id('alice'), 'okapi ' || n, timestamptz '2026-01-01 12:00:00'
  from generate_series(1, 30) n;
select is(cardinality(pg_temp.pages('bob', 'okapi', format(', %L, null, %s, %%s', room, size))), 30,
    format('finds messages of one second in pages of %s, in %s', size, coalesce(room::text, 'all')))
  from unnest(array[tests.id('direct'), null]) room, unnest(array[1, 7, 29]) size;
insert into public.messages (conversation_id, sender_id, content, created_at)
select tests.id('direct'), tests.id('alice'), 'quokka ' || n, now() + (3 - n) * interval '1 day'
  from generate_series(1, 2) n;
select is(pg_temp.pages('bob', 'quokka', format(', %L, null, 20, %%s', tests.id('direct'))), '{quokka 1,quokka 2}',
    'finds a message that is later than the last one');
select tests.make_user('visitor', true), tests.make_user('dora');
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('visitor'), tests.id('carol')), (tests.id('dora'), tests.id('carol'))
           returning id, participant1_id, participant2_id)
insert into tests.ids select case when tests.id('visitor') in (participant1_id, participant2_id) then 'visitor carol'
                                  else 'dora carol' end, id from c;
select set_config('session_replication_role', 'replica', true);
update public.user_profiles p set created_at = now() - interval '401 days' where p.id = tests.id('visitor');
select set_config('session_replication_role', 'origin', true);
insert into public.messages (conversation_id, sender_id, content, created_at)
select tests.id(room), tests.id(who), 'bilby ' || n, now() - interval '1 day' * days + n * interval '1 second'
  from (values ('visitor carol', 'visitor', 400, 300), ('dora carol', 'dora', 8, 100)) w (room, who, days, most)
 cross join lateral generate_series(1, most) n;
select tests.say('visitor carol', 'visitor', 'numbat before'), tests.say('dora carol', 'dora', 'numbat after');
update public.messages m set created_at = created_at - interval '1 day' where m.content = 'numbat before';
select app.merge_users(tests.id('visitor'), tests.id('dora'));
select is(cardinality(pg_temp.pages('carol', 'bilby', format(', %L, null, 20, %%s', tests.id('dora carol')))), 400,
    'finds all messages of a merged guest');
select is(pg_temp.pages('carol', 'numbat', format(', %L, null, 20, %%s', tests.id('dora carol'))),
    '{numbat after,numbat before}', 'finds the messages of a merged guest and those after them');

-- More matches than a span of time may have: of one hour each, over 100 days, and of one instant.
select set_config('session_replication_role', 'replica', true);
update public.messages m set created_at = m.created_at - interval '100 days'
 where m.conversation_id in (tests.id('direct'), tests.id('group'));
insert into public.messages (conversation_id, seq, sender_id, content, created_at)
select tests.id('direct'), 1000 + n, tests.id('alice'),
       concat('ibis ', n, case when n % 3 = 0 then ' often' end, case when n % 40 = 0 then ' seldom' end,
              case when n % 700 = 0 then ' rarely' end, case when n < 300 then ' formerly' end),
       now() - interval '99 days' + n * interval '1 hour'
  from generate_series(1, 2300) n;
insert into public.messages (conversation_id, seq, sender_id, content, created_at)
select tests.id('direct'), 4000 + n, tests.id('alice'), 'ibis ' || 2300 + n, now() - interval '1 hour'
  from generate_series(1, 1200) n;
update public.conversations c set last_seq = 5200, last_message_time = now() - interval '1 hour'
 where c.id = tests.id('direct');
select set_config('session_replication_role', 'origin', true);
-- Reads all pages, and returns their messages and how many pages are partial.
create function pg_temp.read_pages(
    query text, room uuid, max_results integer, duration interval, out seqs bigint[], out partial bigint)
language plpgsql as $$
declare
    found record;
    time timestamptz;
    id uuid;
begin
    seqs := '{}';
    partial := 0;
    for i in 1..400 loop
        found := app.find_messages(query, room, null, time, id, max_results, duration);
        seqs := seqs || found.seqs;
        partial := partial + found.is_partial::integer;
        exit when found.next is null;
        select p.created_at, p.id into time, id from app.parsed_position('before', found.next) p;
    end loop;
end $$;
-- A search that ends early goes on where it ended, and finds each message once.
create function pg_temp.steps(duration interval) returns bigint[] language sql as $$
    select array[partial, cardinality(seqs), (select count(distinct s) from unnest(seqs) s)]
      from pg_temp.read_pages('ibis', tests.id('direct'), 50, duration)
$$;
select tests.authenticate_as('bob');
set local role none;
select is(pg_temp.steps('1 minute'), array[0, 3500, 3500]::bigint[], 'pages through spans of time find every message');
select is((pg_temp.read_pages(word, room, 20, '1 minute')).seqs, array(
        select m.seq from public.messages m
         where m.conversation_id = tests.id('direct') and (' ' || m.content) like '% ' || word || '%'
         order by m.created_at desc, m.id desc),
    format('finds each message with a word in its order: %s, in %s conversations', word,
           case when room is null then 'all' else 'few' end))
  from unnest(array['ibis', 'often', 'seldom', 'rarely', 'formerly', 'never']) word,
       unnest(array[tests.id('direct'), null]) room;
select is((pg_temp.steps('0 seconds'))[1] > 0, true, 'a search without time is partial');
select is((pg_temp.steps('0 seconds'))[2:3], array[2364, 2364]::bigint[],
    'partial pages skip nothing but the rest of one span of 18 hours');
select tests.owner();

-- The index: its words, who may flush it, and that a search uses it.
select is(tests.as(who, 'app.flush_message_words()'), answer, format('%s flushes: %s', who, answer))
  from (values ('postline_feed', 'false'), ('alice', '42501 permission denied for function flush_message_words'))
  w (who, answer);
select is(tests.as(who, 'app.find_messages(''walrus'', null, null, null, null, 5, ''1 s'')') ~ '^42501', true,
    format('%s cannot search as the owner', who))
  from unnest(array['anon', 'postline_feed', 'postline_sender']) who;
create function pg_temp.plan() returns text language plpgsql set enable_seqscan = off as $$
declare
    plan json;
begin
    execute $q$explain (format json) select from public.messages m
        where app.message_words(m.conversation_id, m.created_at, m.content) @@ 'walrus'
           and m.content <> ''$q$ into plan;
    return plan;
end $$;
select matches(pg_temp.plan(), 'messages_words', 'a search uses the index');
select * from finish();
rollback;
