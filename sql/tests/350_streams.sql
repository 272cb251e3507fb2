-- Messages that grow: their pieces, who may write and read them, and how clients get them. '4:4:' is the snapshot that
-- saw the aged world.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('guest', true);
select tests.say('group', 'bob', 'old');
select tests.say('direct', 'bob', 'old');
select tests.age();

-- Returns the answers in short, or the error.
create function pg_temp.start(who text, room text, content text default '', client_id uuid default null) returns text
language plpgsql as $$
declare
    answer text := tests.as(who, format('api.stream_message(%L, %L, %L)', tests.id(room), content, client_id));
begin
    if answer not like '{%' then return answer; end if;
    return concat_ws(' ', answer::jsonb ->> 'seq', answer::jsonb -> 'content', answer::jsonb ->> 'version');
end $$;
create function pg_temp.append(who text, room text, seq bigint, start bigint, content text) returns text
language plpgsql as $$
declare
    answer text := tests.as(who, format('api.append_to_message(%L, %s, %s, %L)', tests.id(room), seq, start, content));
begin
    return case when answer like '{%' then answer::jsonb ->> 'length' else answer end;
end $$;
create function pg_temp.finish(who text, room text, seq bigint) returns text language plpgsql as $$
declare
    answer text := tests.as(who, format('api.finish_message(%L, %s)', tests.id(room), seq));
begin
    if answer not like '{%' then return answer; end if;
    return concat_ws(' ', answer::jsonb -> 'content', answer::jsonb ->> 'version', answer::jsonb -> 'edited_at');
end $$;
create function pg_temp.short(pieces jsonb) returns text[] language sql as $$
    select coalesce(array_agg(concat_ws(' ',
                        (select i.name from tests.ids i where i.id = (p ->> 'conversation_id')::uuid),
                                        p ->> 'seq', p ->> 'start', p ->> 'content') order by n), '{}')
      from jsonb_array_elements(pieces) with ordinality w (p, n)
$$;
create function pg_temp.poll() returns text[] language sql as $$
    select array(select concat_ws(' ', l.kind, l.conversation, l.seq, l.object::jsonb ->> 'start',
                                  l.object::jsonb ->> 'content')
                   from tests.read_changes() l where l.kind like '%piece')
$$;
create function pg_temp.page(who text, since text, messages integer default 20, bytes integer default 524288)
returns text[] language sql as $$
    select coalesce((select array_agg(l order by n, m)
                       from tests.pages(who, since, messages, bytes) with ordinality c (changes, n)
                      cross join lateral unnest(pg_temp.short(changes -> 'pieces')) with ordinality l (l, m)), '{}')
$$;
create function pg_temp.list(who text, room text, more text default '') returns text[] language sql as $$
    select pg_temp.short(tests.as(who, format('api.messages(%L%s)', tests.id(room), more))::jsonb -> 'pieces')
$$;

-- Growth.
select is(pg_temp.start('alice', 'direct', content), answer, 'starts with ' || length(content) || ' characters')
  from (values ('', '2 "" 1'), ('Once', '3 "Once" 1'),
               (repeat('x', 8001), 'PL001 "content" must be 1 to 8000 characters long.')) w (content, answer);
select is(pg_temp.append(who, 'direct', seq, start, content), answer,
    format('%s appends %s at %s', who, content, start))
  from (values
    ('alice', 2, 0, 'A', '1'), ('alice', 2, 1, 'béé😀', '5'), ('alice', 2, 1, 'béé😀', '5'), ('alice', 2, 2, 'éé', '5'),
    ('alice', 2, 5, 'c', '6'), ('alice', 3, 4, ' upon', '9'),
    ('alice', 2, 5, 'd', 'PL001 "start" must be 6, the number of characters that the message has.'),
    ('alice', 2, 7, 'd', 'PL001 "start" must be 6, the number of characters that the message has.'),
    ('alice', 2, -1, 'd', 'PL001 "start" must be 6, the number of characters that the message has.'),
    ('alice', 2, 9223372036854775807, 'd', 'PL001 "start" must be 6, the number of characters that the message has.'),
    ('alice', 2, 6, '', 'PL001 "content" must be at least 1 character long.'),
    ('alice', 2, 6, repeat('x', 7995), 'PL001 "content" is too long: a message has at most 8000 characters.'),
    ('alice', 1, 0, 'd', 'PL007 Only the sender of a message can append to it and finish it.'),
    ('alice', 9, 0, 'd', 'PL008 There is no such message.'),
    ('bob', 2, 6, 'd', 'PL007 Only the sender of a message can append to it and finish it.'),
    ('bob', 1, 0, 'd', 'PL007 The message is finished.'),
    ('mallory', 2, 6, 'd', 'PL008 There is no such message.'),
    ('anon', 2, 6, 'd', '42501 permission denied for function append_to_message'))
    w (who, seq, start, content, answer);

-- Lists, pushes and pages.
select is(pg_temp.list(who, 'direct'), pieces, who || ' lists')
  from (values ('alice', array['direct 2 0 Abéé😀c', 'direct 3 0 Once upon']),
               ('bob', array['direct 2 0 Abéé😀c', 'direct 3 0 Once upon'])) w (who, pieces);
select is(pg_temp.list('bob', 'direct', ', before_seq => 3, max_results => 1'), array['direct 2 0 Abéé😀c'],
    'a list has the texts of its messages');
select is(pg_temp.list('bob', 'direct', ', before_seq => 2'), '{}', 'and of no other');
select is(pg_temp.poll(), array['piece direct 2 0 Abéé😀c', 'piece direct 3 0 Once upon'],
    'a poll has the pieces of a message as one');
select is(pg_temp.page(who, since), pieces, format('%s since %s', who, since))
  from (values ('bob', '4:4:', array['direct 2 0 Abéé😀c', 'direct 3 0 Once upon']),
               ('bob', null, array['direct 2 0 Abéé😀c', 'direct 3 0 Once upon']),
               ('carol', '4:4:', '{}'), ('carol', null, '{}'), ('mallory', null, '{}')) w (who, since, pieces);
select is(pg_temp.page('bob', null, bytes => 100), pg_temp.page('bob', null), 'in small pages too');
select is(pg_temp.page('bob', null, messages => 1), array['direct 3 0 Once upon'],
    'a reset has none of messages that it leaves out');
select tests.age();
select is(pg_temp.poll(), '{}', 'an aged world has no new pieces');
select is(pg_temp.page('bob', '4:4:'), '{}', 'nor a delta');
select is(tests.has_no_changes('bob', '4:4:'), true, 'a reconnect finds none');
select pg_temp.append('alice', 'direct', 3, 9, ' a'), pg_temp.append('alice', 'direct', 3, 11, ' time');
select is(pg_temp.poll(), array['piece direct 3 9  a time'], 'a poll has the new pieces only');
select is(pg_temp.page('bob', '4:4:'), array['direct 3 9  a time'], 'and so has a delta');
select is(tests.has_no_changes(who, '4:4:'), none, format('a reconnect of %s finds the piece', who))
  from (values ('bob', false), ('alice', false), ('carol', true), ('mallory', true)) w (who, none);
select is(array(select i.name from feed.users_with_changes('4:4:', array(select id from tests.ids)) u
                  join tests.ids i on i.id = u order by 1), '{alice,bob}', 'members have changes');
select is(tests.as(who, format('app.streamed_since(''4:4:'', %L)', array[tests.id('direct')])), '{}',
    'a stranger does not learn of it: ' || who) from (values ('carol'), ('mallory')) w (who);
select is(tests.as(who, format('app.has_streams(%L)', tests.id('direct'))), has::text, who || ' asks for streams')
  from (values ('alice', true), ('carol', false), ('mallory', false)) w (who, has);

-- A user who joins.
select pg_temp.start('bob', 'group', 'All');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(pg_temp.poll(), array['opening_piece group 2 0 All'], 'who joins gets the texts');
select is(pg_temp.page('mallory', '4:4:'), array['group 2 0 All'], 'by a delta too');

-- Edits and the end.
select is(left(tests.as('alice', format('api.edit_message(%L, 3, ''x'')', tests.id('direct'))), 5), 'PL007',
    'a message that grows cannot be edited');
select is(tests.attempt('alice', 'update public.messages set content = ''x'' where seq = 3'), 'PL007', 'nor by SQL');
select tests.age();
select is(pg_temp.finish(who, 'direct', seq), answer, format('%s finishes %s', who, seq))
  from (values ('bob', 3, 'PL007 Only the sender of a message can append to it and finish it.'),
               ('mallory', 3, 'PL008 There is no such conversation.'), ('alice', 9, 'PL008 There is no such message.'),
               ('alice', 3, '"Once upon a time" 2 null'), ('alice', 3, '"Once upon a time" 2 null'))
    w (who, seq, answer);
select is(pg_temp.append('alice', 'direct', 3, 16, '!'), 'PL007 The message is finished.', 'then it grows no more');
select is((select c.last_message_content from public.conversations c where c.id = tests.id('direct')),
    'Once upon a time', 'the list shows the text');
select is(tests.poll() @> array['message direct alice 3'], true, 'the end is pushed as an edit');
select is(pg_temp.poll() || pg_temp.page('bob', '4:4:'), '{}', 'without pieces');
select is((select count(*) from public.message_pieces where seq = 3), 0::bigint, 'which are removed');
select is(left(tests.as('alice', format('api.edit_message(%L, 3, ''x'')', tests.id('direct'))), 1), '{',
    'now it can be edited');
select is(pg_temp.start('alice', 'direct', 'short'), '4 "short" 1', 'a message that is finished as it began');
select is(pg_temp.finish('alice', 'direct', 4), '"short" 2 null', 'has a version too');
select is(pg_temp.start('alice', 'direct'), '5 "" 1', 'a message without a text');
select is(pg_temp.finish('alice', 'direct', 5), 'PL007 The message has no text: append to it, or delete it.',
    'cannot be finished');
select is(tests.as('alice', format('api.delete_message(%L, 5) ->> ''deleted_at'' is not null', tests.id('direct'))),
    'true', 'but deleted');
select is(pg_temp.append('alice', 'direct', 5, 0, 'x'), 'PL007 The message is finished.', 'then it grows no more');
select is((select count(*) from app.message_streams where seq = 5), 0::bigint, 'and has no row');

-- A repeated start.
select is(pg_temp.start('bob', 'direct', content, client_id), answer, concat('starts again with ', content))
  from (values ('', '6 "" 1'), ('', '23505 "client_id" was already used in this conversation.')) w (content, answer),
       (values ('00000000-0000-4000-8000-000000000001'::uuid)) c (client_id);
select is(tests.as('bob', format('api.sent_message(%L, %L, ''00000000-0000-4000-8000-000000000001'') ->> ''seq''',
    tests.id('direct'), content)) like answer, true, 'the earlier message of ' || content)
  from (values ('', '6'), ('other', 'PL012%')) w (content, answer);

-- Bounds, and those who stop.
select pg_temp.start('carol', 'group', 'n') from generate_series(1, 20);
select is(pg_temp.start('carol', 'group', 'n'),
    'PL007 20 of your messages are streaming. Finish one before you start another.', 'at most 20');
select is(app.finish_abandoned_stream(), false, 'a message that grows is left alone');
update app.message_streams set appended_at = now() - interval '61 seconds'
 where seq in (2, 6) and conversation_id = tests.id('direct');
select is(array[app.finish_abandoned_stream(), app.finish_abandoned_stream(), app.finish_abandoned_stream()],
    array[true, true, false], 'those that nobody continues are finished');
select is((select array_agg(concat_ws(' ', m.seq, m.content, m.version, m.deleted_at is not null) order by m.seq)
             from public.messages m where m.conversation_id = tests.id('direct') and m.seq in (2, 6)),
    array['2 Abéé😀c 2 f', '6 2 t'], 'with their text, and deleted without one');

-- Batches of pieces, as nodes append them: each is a sender, a conversation, a number, a start and a text.
select pg_temp.start('alice', 'direct', 'once');
select pg_temp.start('bob', 'direct', 'here');
select pg_temp.start('bob', 'group', 'there');
create function pg_temp.together(variadic pieces text[]) returns text[] language sql as $$
    select array(select concat_ws(' ', place, object ->> 'length')
                   from app.append_pieces(array_agg(tests.id(p[1])), array_agg(tests.id(p[2])),
                            array_agg(p[3]::bigint), array_agg(p[4]::bigint), array_agg(p[5])) a
                  order by place)
      from (select string_to_array(piece, '/') as p from unnest(pieces) piece) w
$$;
select is(pg_temp.together('alice/direct/7/4/ upon', 'bob/direct/8/4/béé😀', 'bob/group/23/5/ a'), '{1 9,2 8,3 7}',
    'a batch appends pieces of several users');
select is((select answer::jsonb from tests.as('alice', format('api.append_to_message(%L, 7, 4, '' upon'')',
    tests.id('direct'))) answer),
    (select jsonb_build_object('conversation_id', tests.id('direct'), 'seq', 7, 'length', 9)),
    'a repeated piece has the answer of the batch');
select is(pg_temp.together(variadic pieces), answers, pieces::text || ' in a batch')
  from (values
    (array['alice/direct/7/4/ upon'], '{}'::text[]), (array['alice/direct/7/10/x'], '{}'),
    (array['alice/direct/7/8/x'], '{}'), (array['alice/direct/7/-1/x'], '{}'), (array['alice/direct/7/9/'], '{}'),
    (array['alice/direct/7/9/' || repeat('x', 7992)], '{}'), (array['alice/direct/8/8/x'], '{}'),
    (array['mallory/direct/7/9/x'], '{}'), (array['mallory/group/23/7/x'], '{}'), (array['alice/direct/9/0/x'], '{}'),
    (array['alice/direct/1/3/x'], '{}'),
    (array['alice/direct/7/9/ a', 'alice/direct/7/11/ time', 'mallory/direct/8/8/x', 'bob/group/23/7/ b'],
        '{1 11,4 9}')) w (pieces, answers);
select is(pg_temp.list('bob', 'direct', ', after_seq => 6'), array['direct 7 0 once upon a', 'direct 8 0 herebéé😀'],
    'the texts have each piece once');
select pg_temp.start('alice', 'direct');
select is(pg_temp.together('alice/direct/9/0/x'), '{}', 'a batch leaves out the first piece of a message');
update public.conversation_members set is_blocked = true where user_id = tests.id('alice');
select is(pg_temp.together('alice/direct/7/11/x', 'bob/direct/8/8/!'), '{2 9}',
    'a batch leaves out the piece of a member who may not write');
update public.conversation_members set is_blocked = false where user_id = tests.id('alice');
select tests.age();
select pg_temp.together('alice/direct/7/11/ time', 'bob/direct/8/9/!');
select is(pg_temp.poll(), array['piece direct 7 11  time', 'piece direct 8 9 !'], 'a poll has the pieces of a batch');
select is(tests.attempt(who, $$select app.append_pieces('{}', '{}', '{}', '{}', '{}')$$),
    case who when 'postline_sender' then '0' else '42501' end, who || ' calls append_pieces')
  from unnest(array['alice', 'anon', 'service_role', 'postline_feed', 'postline_accounts', 'tests_login',
                    'postline_sender']) who;
select app.finish_streams(tests.id('alice'), array[tests.id('direct')]), app.finish_stream(tests.id('group'), 23);

-- A member who leaves.
select pg_temp.start('carol', 'group', 'n');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('carol');
select is(pg_temp.append('carol', 'group', 3, 1, 'x'), 'PL008 There is no such message.', 'appends no more');
update app.message_streams set appended_at = now() - interval '61 seconds' where sender_id = tests.id('carol');
select is((select count(*) from generate_series(1, 21) where app.finish_abandoned_stream()), 20::bigint,
    'its messages are finished');

-- SQL, as users and trusted backends write it.
select is(tests.attempt('bob', format(statement, tests.id('group'), tests.id('bob'))), outcome, statement)
  from (values
    ('insert into public.messages (conversation_id, sender_id, content, version) values (%L, %L, '''', 0)', '42501'),
    ('insert into public.messages (conversation_id, sender_id, content) values (%L, %L, '''')', 'PL001'),
    ('update public.messages set version = 2 -- %L %L', '42501'),
    ('insert into public.message_pieces (conversation_id, seq, start, content) values (%L, 2, 3, ''x'') -- %L',
     '42501'),
    ('delete from public.message_pieces -- %L %L', '42501')) w (statement, outcome);
select is(tests.attempt(who, 'select from public.message_pieces'), rows, who || ' reads')
  from (values ('bob', '1'), ('mallory', '1'), ('carol', '0'), ('anon', '42501')) w (who, rows);

-- A merged guest.
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('guest'), tests.id('bob')) returning id)
insert into tests.ids select 'guest bob', id from c;
select pg_temp.start('guest', 'guest bob', 'of the guest'), pg_temp.start('bob', 'guest bob', 'to the guest');
select pg_temp.append('bob', 'guest bob', 2, 12, '!');
select app.merge_users(tests.id('guest'), tests.id('alice'));
select is((select array_agg(m.content::text order by m.seq) from (
        select m.seq, m.content from public.messages m where m.conversation_id = tests.id('direct')
         order by m.seq desc limit 2) m), array['of the guest', 'to the guest!'],
    'messages are finished before they move');
select is(array(select s.seq from app.message_streams s), array[2::bigint], 'those of other conversations grow on');

select * from finish();
rollback;
