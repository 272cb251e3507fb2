-- Replies, mentions and the app's data of messages; pins and data of conversations; a member's own view. '4:4:' is the
-- snapshot that saw the aged world.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('guest', true);
select tests.say('group', (array['alice', 'bob', 'carol'])[1 + n % 3], 'old ' || n) from generate_series(1, 6) n;
select tests.say('direct', 'bob', repeat('x', 150));

-- Returns the answer of a send: its object, or the error.
create function pg_temp.send(who text, room text, params text default '') returns text language sql as $$
    select tests.as(who, format('api.send_message(%L, ''hi''%s)', tests.id(room),
        case when params = '' then '' else ', ' || params end))
$$;
create function pg_temp.ids(variadic names text[]) returns text language sql as $$
    select array_agg(tests.id(n) order by place)::text from unnest(names) with ordinality as u (n, place)
$$;
create function pg_temp.unread(who text, room text) returns text language sql as $$
    select tests.as(who, format('api.conversation(%L) ->> ''unread_mentions''', tests.id(room)))
$$;
create function pg_temp.own(who text, room text) returns text language sql as $$
    select concat_ws(' ', o ->> 'is_marked_unread', o ->> 'is_archived', o ->> 'is_pinned')
      from (select tests.as(who, format('api.conversation(%L)', tests.id(room)))::jsonb) as c (o)
$$;
create function pg_temp.news(who text) returns jsonb language plpgsql as $$
declare
    page record;
begin
    perform tests.authenticate_as(who);
    select * into page from api.sync(app.epoch(), '4:4:', null, null, 20, 524288);
    perform tests.owner();
    perform tests.has_no_changes(who, '4:4:', page.changes, page.conversation_ids);
    return page.changes;
end $$;

-- Returns how often a page of these messages scans the table and its indexes.
create function pg_temp.scans(most integer) returns bigint language plpgsql as $$
declare
    before bigint;
    relations oid[] := array(select 'public.messages'::regclass::oid
                             union all
                             select i.indexrelid from pg_index i where i.indrelid = 'public.messages'::regclass);
begin
    before := (select sum(pg_stat_get_xact_numscans(r)) from unnest(relations) r);
    perform tests.as('alice', format('api.messages(%L, max_results => %s)', tests.id('group'), most));
    return (select sum(pg_stat_get_xact_numscans(r)) from unnest(relations) r) - before;
end $$;
select is(pg_temp.scans(6), pg_temp.scans(1), 'a list reads nothing else for a message that is no reply');

-- Replies.
select tests.age();
select is(pg_temp.send('alice', 'direct', 'reply_to_seq => 1')::jsonb -> 'reply_to',
    jsonb_build_object('seq', 1, 'sender_id', tests.id('bob'), 'kind', 'text', 'content', repeat('x', 100),
                       'version', 1),
    'a reply shows the first 100 characters of the message that it answers');
select is(pg_temp.send('alice', room, 'reply_to_seq => ' || seq), answer, 'a reply to ' || room || ' ' || seq)
  from (values
    ('direct', '3', 'PL008 There is no such message.'), ('direct', '0', 'PL008 There is no such message.'),
    ('direct', '-1', 'PL008 There is no such message.'),
    ('direct', '9223372036854775807', 'PL008 There is no such message.')) w (room, seq, answer);
select is(pg_temp.send('mallory', 'direct', 'reply_to_seq => 1'), 'PL008 There is no such conversation.',
    'a stranger cannot reply');
select is((tests.conversation('direct')).last_seq, 2::bigint, 'a refused reply takes no number');
select is(tests.as('bob', format('api.messages(%L)', tests.id('direct')))::jsonb #>> '{messages,-1,reply_to,seq}', '1',
    'a list shows the reply');
select results_eq($$
    select o -> 'reply_to' ->> 'version', o -> 'reply_to' ->> 'content'
      from jsonb_array_elements(pg_temp.news('bob') -> 'messages') o where o ->> 'seq' = '2'
$$, $$values ('1', repeat('x', 100))$$, 'a delta shows the reply');
select is((select l.object::jsonb #>> '{reply_to,sender_id}'
             from feed.read_changes('4:4:') l where l.kind = 'message'), tests.id('bob')::text,
    'a poll shows the reply');
select tests.as('bob', format('api.delete_message(%L, 1)', tests.id('direct')));
select is(tests.as('bob', format('api.messages(%L)', tests.id('direct')))::jsonb #> '{messages,-1,reply_to}',
    jsonb_build_object('seq', 1, 'sender_id', tests.id('bob'), 'kind', 'text', 'content', null, 'version', 2),
    'a reply follows the deletion of the message that it answers');
select throws_ok('update public.messages set reply_to_seq = 1 where reply_to_seq is null and seq > 1', '23001', null,
    'a reply cannot be changed');

-- The replies to one message.
select pg_temp.send('bob', 'group', 'reply_to_seq => 2') from generate_series(1, 3);
select pg_temp.send('carol', 'group', 'reply_to_seq => 3');
create function pg_temp.replies(who text, params text) returns text language sql as $$
    select coalesce((select string_agg(m ->> 'seq', ',') from jsonb_array_elements(a.answer::jsonb -> 'messages') m),
                    '')
      from (select tests.as(who, format('api.replies(%L, %s)', tests.id('group'), params))) as a (answer)
     where a.answer like '{%'
    union all
    select a.answer from (select tests.as(who, format('api.replies(%L, %s)', tests.id('group'), params))) as a (answer)
     where a.answer not like '{%'
$$;
select is(pg_temp.replies(who, params), answer, 'replies: ' || params)
  from (values
    ('alice', '2, null, null, 50', '7,8,9'), ('alice', '2, null, null, 2', '8,9'), ('alice', '2, 8, null, 50', '7'),
    ('alice', '2, null, 7, 1', '8'), ('alice', '1, null, null, 50', ''),
    ('alice', '99, null, null, 50', 'PL008 There is no such message.'),
    ('mallory', '2, null, null, 50', 'PL008 There is no such message.'),
    ('alice', '2, null, null, 0', 'PL001 "limit" must be 1 to 200.')) w (who, params, answer);

-- Mentions.
select tests.age();
select is(pg_temp.send('alice', 'group', format('mentions => %L',
        pg_temp.ids('carol', 'mallory', 'bob', 'carol')))::jsonb -> 'mentions',
    to_jsonb(array[tests.id('carol'), tests.id('bob')]),
    'an answer has the mentioned members once, in the order given, without users who are not members');
select is(pg_temp.unread(who, 'group'), unread, who || ' has ' || unread || ' unread mentions')
  from (values ('alice', '0'), ('bob', '1'), ('carol', '1')) w (who, unread);
select is(tests.poll() , array['message group alice 11', 'read group alice 11'],
    'a mention changes no conversation');
select is(jsonb_path_query_array(pg_temp.news('bob') -> 'conversations', '$[*].unread_mentions'), '[1]',
    'a delta with a mention has the conversation, whose number counts');
select is(pg_temp.news('alice') ? 'conversations', false, 'a delta of a user without a new mention does not');
insert into public.message_mentions (conversation_id, user_id, seq)
select tests.id('group'), app.everyone(), 1000 + n from generate_series(1, 150) n;
select is(pg_temp.unread('bob', 'group'), '100', 'at most 100 unread mentions are counted in a conversation');
select is(tests.as('bob', format('api.mark_read(%L, 0) ->> ''unread_mentions''', tests.id('group'))), '100',
    'and in the answer to a read mark');
select is((feed.own_numbers(tests.id('group'), array[tests.id('bob')], array[0::bigint]))[2], 100::bigint,
    'and for pushes');
delete from public.message_mentions where seq > 1000;
select is(pg_temp.send('alice', 'group', format('mentions => %L', array_fill(tests.id('bob'), array[51]))),
    'PL001 "mentions" must hold at most 50 UUIDs.', 'at most 50 mentions');

select tests.age();
select tests.as('alice', format('api.edit_message(%L, 11, ''hi'', mentions => %L)', tests.id('group'),
    pg_temp.ids('bob', 'mallory')));
select is(pg_temp.unread(who, 'group'), unread, 'after the edit ' || who || ' has ' || unread || ' unread mentions')
  from (values ('bob', '1'), ('carol', '0')) w (who, unread);
select set_eq('select unnest(tests.poll())',
    array['message group alice 11', 'own_conversation group carol', 'own_conversation group bob'],
    'an edit of the mentions tells the users concerned their number');
select tests.age();
select tests.as('alice', format('api.edit_message(%L, 11, ''hi'', mentions => %L)', tests.id('group'),
    pg_temp.ids('mallory', 'bob')));
select is(tests.poll(), '{}', 'an edit that changes nothing is no change');
select matches(tests.as('bob', format('api.edit_message(%L, 11, ''hi'', mentions => ''{}'')', tests.id('group'))),
    '^PL007 ', 'only the sender can edit the mentions');

select is(pg_temp.send(who, room, 'mentions_everyone => true'),
    'PL007 Only the owner and admins of a group can mention everyone.', who || ' cannot mention everyone in ' || room)
  from (values ('carol', 'group'), ('alice', 'direct')) w (who, room);
select is(pg_temp.send('alice', 'group', 'mentions_everyone => true')::jsonb -> 'mentions_everyone', 'true',
    'the owner can mention everyone');
select is(pg_temp.unread(who, 'group'), unread, who || ' is mentioned too')
  from (values ('bob', '2'), ('carol', '1'), ('alice', '0')) w (who, unread);
select tests.age();
select is(tests.as('bob', format('api.mark_read(%L, 11) ->> ''unread_mentions''', tests.id('group'))), '1',
    'mark_read returns the mentions that are left');
select is(tests.poll(), array['read group bob 11', 'own_conversation group bob'],
    'a mark that leaves mentions tells the user their number');
select tests.age();
select tests.as('bob', format('api.mark_read(%L, 12)', tests.id('group')));
select is(tests.poll(), array['read group bob 12', 'own_conversation group bob'],
    'and one after which nothing is unread, before which another message may come');
savepoint after_it;
select tests.age();
select tests.say('group', 'carol', 'after it');
select tests.as('bob', format('api.mark_read(%L, 13)', tests.id('group')));
select is('own_conversation group bob' = any (tests.poll()), false, 'a mark that passes no mention does not');
rollback to after_it;
select tests.as('alice', format('api.delete_message(%L, 12)', tests.id('group')));
select is(pg_temp.unread('carol', 'group'), '0', 'a deleted message mentions nobody');
select is((select row(m.mentions, m.mentions_everyone, m.data) is not distinct from row(null, null, null)
             from public.messages m where m.conversation_id = tests.id('group') and m.seq = 12),
    true, 'a deleted message has no mentions and no data');

-- Selects by users.
select pg_temp.send('alice', 'group', format('mentions => %L', pg_temp.ids('bob')));
select is(tests.attempt(who, 'select from public.message_mentions'), outcome, who || ' selects ' || outcome)
  from (values ('bob', '2'), ('carol', '0'), ('mallory', '0')) w (who, outcome);
select is(tests.attempt('bob', 'delete from public.message_mentions'), '42501', 'users cannot write mentions');
select is(tests.as(who, format('app.mentioned_members(%L, %L)', tests.id('group'), pg_temp.ids('bob'))), outcome,
    who || ' learns of members: ' || coalesce(outcome, 'nothing'))
  from (values ('alice', pg_temp.ids('bob')), ('mallory', null)) w (who, outcome);

-- Data.
select is(pg_temp.send('alice', 'direct', 'data => ''{"b": 1, "a": [null]}''')::jsonb -> 'data',
    '{"b": 1, "a": [null]}', 'a message carries the data of the app');
select is(pg_temp.send('alice', 'direct', 'data => ' || quote_literal(data)), answer, left(data, 40))
  from (values
    ('[]', 'PL001 "data" must be an object.'), ('"x"', 'PL001 "data" must be an object.'),
    ('null', 'PL001 "data" must be an object.'),
    ('{"a":1e400}', 'PL001 "data" has a number that is out of range.'),
    ('{"a":' || repeat('[', 128) || repeat(']', 128) || '}', 'PL001 "data" is nested more than 128 deep.'),
    (format('{"a":"%s"}', repeat('x', 4089)), 'PL001 "data" must be at most 4 KiB of JSON.')) w (data, answer);
select isnt(pg_temp.send('alice', 'direct', 'data => ' || quote_literal(format('{"a":"%s"}', repeat('x', 4088)))),
    'PL001 "data" must be at most 4 KiB of JSON.', '4,096 bytes of data');
select is(tests.as('alice', format('api.send_message(%L, null, kind => ''custom'', data => ''{"poll": 1}'')',
        tests.id('direct')))::jsonb ->> 'content', '', 'a custom message may have no content');
select is(tests.as('alice', format('api.send_message(%L, ''x'', kind => ''custom'')', tests.id('direct'))),
    'PL001 "data" is missing: a message of kind "custom" needs it.', 'a custom message needs data');
select is(tests.as('alice', format('api.edit_message(%L, 5, '''', data => ''{"poll": 2}'', keeps_data => false)',
        tests.id('direct')))::jsonb -> 'data', '{"poll": 2}', 'an edit changes the data');
select is(tests.as('alice', format('api.edit_message(%L, 5, ''now'')', tests.id('direct')))::jsonb -> 'data',
    '{"poll": 2}', 'an edit without data keeps it');
select is(tests.as('alice', format('api.edit_message(%L, 3, ''hi'', keeps_data => false)', tests.id('direct')))::jsonb
    -> 'data', 'null', 'an edit can remove the data');

-- A repeated client_id.
select is(tests.as('alice', format('api.send_message(%L, ''a'', %L, reply_to_seq => 2, data => ''{"n": 1}'')',
    tests.id('direct'), '00000000-0000-4000-8000-000000000001'))::jsonb ->> 'seq', '6');
select is(left(tests.as('alice', format('api.sent_message(%L, ''a'', %L, reply_to_seq => %s, data => %L)',
        tests.id('direct'), '00000000-0000-4000-8000-000000000001', reply, data)), 5), outcome, label)
  from (values (2, '{"n": 1}', '{"id"', 'the same message again'), (1, '{"n": 1}', 'PL012', 'with another reply'),
               (2, '{"n": 2}', 'PL012', 'with other data')) w (reply, data, outcome, label);
select tests.as('alice', format('api.delete_message(%L, 6)', tests.id('direct')));
select is(left(tests.as('alice', format('api.sent_message(%L, ''a'', %L, reply_to_seq => 2, data => %L)',
        tests.id('direct'), '00000000-0000-4000-8000-000000000001', data)), 5), outcome, 'deleted, with ' || data)
  from (values ('{"n": 1}', '{"id"'), ('{"n": 2}', 'PL012')) w (data, outcome);

-- In a batch.
create function pg_temp.batch(reply bigint, mentions text, everyone boolean, data text, who text default 'alice')
returns jsonb language plpgsql as $$
declare
    answer jsonb;
begin
    perform tests.authenticate_as('postline_sender');
    select t.object::jsonb into answer
      from app.send_messages(array[tests.id(who), tests.id('bob')], array[tests.id('group'), tests.id('direct')],
                             array['hi', 'plain'], array[null, null]::uuid[], array[reply, null],
                             array[mentions, null], array[everyone, null], array[data, null]) t
     where t.place = 1;
    perform tests.owner();
    return answer;
end $$;
select is(b - '{id,conversation_id,seq,sender_id,sender,client_id,kind,content,attachment,attachments}'::text[]
            - '{is_read,version,created_at,edited_at,deleted_at}'::text[],
    jsonb_build_object('mentions', array[tests.id('carol')], 'mentions_everyone', false, 'data', '{"a": 1}'::jsonb,
        'reply_to', jsonb_build_object('seq', 2, 'sender_id', tests.id('carol'), 'kind', 'text', 'content', 'old 2',
                                       'version', 1)), 'a batch carries reply, mentions and data')
  from pg_temp.batch(2, pg_temp.ids('carol', 'mallory'), null, '{"a": 1}') b;
select is(pg_temp.unread('carol', 'group'), '1', 'a mention in a batch counts');
select is(pg_temp.batch(null, null, true, null) -> 'mentions_everyone', 'true', 'a batch mentions everyone');
select is(pg_temp.batch(reply, null, everyone, data, who), null, label)
  from (values
    (99, null, null, 'alice', 'a batch leaves out a reply to no message'),
    (0, null, null, 'alice', 'a batch leaves out a reply to 0'),
    (null, true, null, 'carol', 'a batch leaves out a mention of everyone by a member'),
    (null, null, '[]', 'alice', 'a batch leaves out invalid data')) w (reply, everyone, data, who, label);

-- Pins.
select tests.age();
create function pg_temp.pin(who text, room text, seq integer, pinned boolean default true) returns text
language sql as $$
    select coalesce(a.answer::jsonb ->> 'pinned_seqs', '')
      from (select tests.as(who, format('api.pin_message(%L, %s, %L)', tests.id(room), seq, pinned))) as a (answer)
     where a.answer like '{%'
    union all
    select a.answer
      from (select tests.as(who, format('api.pin_message(%L, %s, %L)', tests.id(room), seq, pinned))) as a (answer)
     where a.answer not like '{%'
$$;
select is(pg_temp.pin(who, room, seq, pinned), answer, format('%s pins %s %s: %s', who, room, seq, pinned))
  from (values
    ('alice', 'group', 2, null, '[2]'), ('alice', 'group', 2, null, '[2]'),
    ('alice', 'group', 5, true, '[5, 2]'), ('alice', 'group', 2, true, '[5, 2]'),
    ('alice', 'group', 5, false, '[2]'), ('bob', 'direct', 2, true, '[2]'),
    ('carol', 'group', 3, true, 'PL007 Only the owner and admins of a group can pin messages.'),
    ('carol', 'group', 2, false, 'PL007 Only the owner and admins of a group can pin messages.'),
    ('mallory', 'group', 2, true, 'PL008 There is no such conversation.'),
    ('alice', 'group', 99, true, 'PL008 There is no such message.'),
    ('alice', 'group', 12, true, 'PL007 A deleted message cannot be pinned.')) w (who, room, seq, pinned, answer);
select set_eq('select unnest(tests.poll())', array['conversation group 15', 'conversation direct 12'],
    'a pin tells the conversation');
select tests.as('carol', format('api.delete_message(%L, 2)', tests.id('group')));
select is((tests.conversation('group')).pinned_seqs, null, 'a deleted message is pinned no longer');
select is(tests.attempt('alice', 'update public.conversations set pinned_seqs = ''{1}'''), '42501',
    'users pin by the function only');
update public.conversations set pinned_seqs = array(select n from generate_series(101, 150) n)
 where id = tests.id('group');
select is(pg_temp.pin('alice', 'group', 3), 'PL007 At most 50 messages can be pinned.', 'at most 50 pins');

-- Data of conversations.
select is(tests.as(who, format('api.update_conversation(%L, null, data => %L, keeps_data => false)', tests.id(room),
        data))::text, answer, format('%s sets %s of %s', who, data, room))
  from (values
    ('carol', 'group', '{}', 'PL007 Only the owner and admins of a group can change its data.'),
    ('mallory', 'direct', '{}', 'PL008 There is no such conversation.'),
    ('bob', 'direct', '[]', 'PL001 "data" must be an object.')) w (who, room, data, answer);
select is(tests.as('bob', format('api.update_conversation(%L, null, data => ''{"c": 1}'', keeps_data => false)',
        tests.id('direct')))::jsonb -> 'data', '{"c": 1}', 'a member of a direct conversation sets its data');
select is(tests.as('alice', format('api.update_conversation(%L, ''Neu'')', tests.id('group')))::jsonb ->> 'title',
    'Neu', 'a title without data');
select is(tests.as('alice', format('api.create_group(''New'', %L, data => ''{"k": 1}'')', pg_temp.ids('bob')))::jsonb
    -> 'data', '{"k": 1}', 'a new group has data');

-- A member's own view.
select tests.age();
create function pg_temp.set(who text, room text, params text) returns text language sql as $$
    select tests.as(who, format('api.set_conversation(%L, %s)', tests.id(room), params))
$$;
select pg_temp.set('carol', 'group', 'true, true, true');
select is(pg_temp.own('carol', 'group'), 'true true true', 'all three are set');
select is(pg_temp.own('bob', 'group'), 'false false false', 'others have their own');
select is(tests.poll(), array['own_conversation group carol'], 'only the member is told');
select tests.age();
select pg_temp.set('carol', 'group', 'true, null, true');
select pg_temp.set('bob', 'group', 'false, false, false'),
       tests.as('bob', format('api.mute_conversation(%L, null)', tests.id('group')));
select is(tests.poll(), '{}', 'setting what is set is no change');
select is(pg_temp.set('mallory', 'group', 'true, true, true'), 'PL008 There is no such conversation.',
    'a stranger sets nothing');
select pg_temp.send('bob', 'group');
select is(pg_temp.own('carol', 'group'), 'true true true', 'a new message changes nothing of it');
select tests.age();
select pg_temp.send('bob', 'group', format('mentions => %L', pg_temp.ids('carol')));
select is(pg_temp.own('carol', 'group'), 'true false true', 'a mention takes the conversation out of the archive');
select is('own_conversation group carol' = any (tests.poll()), true, 'and the member is told');
select tests.as('carol', format('api.mark_read(%L, 0)', tests.id('group')));
select is(pg_temp.own('carol', 'group'), 'false false true', 'reading ends the mark as unread');
select pg_temp.set('carol', 'group', 'true, null, false');
select is(pg_temp.own('carol', 'group'), 'true false false', 'marked as unread again');
select is((select (l.object || split_part(l.marks[array_position(l.audience, tests.id('carol'))]::text, ' ', 1)
                   || app.own_members(0, 0, false, null, false, false, 0, 0) || l.tail)::jsonb ->> 'id'
             from feed.read_changes('3:3:') l where l.kind = 'conversation' and l.conversation_id = tests.id('group')),
    tests.id('group')::text, 'the parts of a polled conversation are one object');
select is((select l.marks[3 * cardinality(l.audience) + array_position(l.audience, tests.id('carol'))]
             from feed.read_changes('3:3:') l where l.kind = 'conversation' and l.conversation_id = tests.id('group')),
    1::bigint, 'a polled conversation has what each member has set');
select pg_temp.send('carol', 'group');
select is(pg_temp.own('carol', 'group'), 'false false false', 'sending ends the mark as unread');

-- A merged guest: its replies and mentions are the account's.
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('guest'), tests.id('bob')) returning id)
insert into tests.ids select 'guest bob', id from c;
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('guest'));
select pg_temp.send('guest', 'guest bob'), pg_temp.send('bob', 'guest bob', 'reply_to_seq => 1'),
       pg_temp.send('bob', 'guest bob', format('mentions => %L', pg_temp.ids('guest')));
select pg_temp.pin('bob', 'guest bob', 2);
insert into public.conversations (participant1_id, participant2_id) values (tests.id('carol'), tests.id('bob'));
insert into tests.ids select 'carol bob', id from public.conversations
 where participant1_id in (tests.id('carol'), tests.id('bob'))
   and participant2_id in (tests.id('carol'), tests.id('bob'));
select pg_temp.send('carol', 'carol bob'), pg_temp.send('carol', 'carol bob');
select pg_temp.pin('carol', 'carol bob', 1);
select pg_temp.send('bob', 'group', format('mentions => %L', pg_temp.ids('guest', 'carol')));
update public.conversations set message_ttl_seconds = 86400 where id = tests.id('carol bob');
update public.conversations set message_ttl_seconds = 3600 where id = tests.id('guest bob');
select app.merge_users(tests.id('guest'), tests.id('carol'));
select is((tests.conversation('carol bob')).message_ttl_seconds, 3600, 'messages expire after the shorter time');
select results_eq($$
    select m.seq, m.reply_to_seq, m.mentions, m.edited_at from public.messages m
     where m.conversation_id = tests.id('carol bob') and m.seq > 2 order by m.seq
$$, $$values (3::bigint, null::bigint, null::uuid[], null::timestamptz), (4, 3, null, null),
             (5, null, array[tests.id('carol')], null)$$,
    'messages that are appended reply to the moved ones, and mention the account');
select is((tests.conversation('carol bob')).pinned_seqs, '{4,1}', 'pins move along');
select is((select m.mentions from public.messages m where m.conversation_id = tests.id('group')
            order by m.seq desc limit 1), array[tests.id('carol')],
    'a message of another user mentions the account in the guest''s place');
select is((select string_agg(i.name || ' ' || x.seq, ', ' order by i.name, x.seq)
             from public.message_mentions x join tests.ids i on i.id = x.user_id
            where x.conversation_id = tests.id('carol bob')), 'carol 5', 'the account has the mention');

-- Through the views for PostgREST, and direct SQL.
select is(tests.attempt('bob', format(
    'insert into rest.messages (conversation_id, sender_id, content, reply_to_seq, data)
     values (%L, %L, ''x'', 2, ''{}'')',
    tests.id('direct'), tests.id('bob'))), '1', 'PostgREST sends a reply with data');
select is(tests.attempt('carol', format(
    'insert into public.messages (conversation_id, sender_id, content, %s) values (%L, %L, ''x'', %s)', columns,
    tests.id('group'), tests.id('carol'), vals)), code, 'with SQL: ' || columns)
  from (values ('reply_to_seq', '99', 'PL008'), ('mentions_everyone', 'true', 'PL007'), ('data', '''[]''', 'PL001'),
               ('mentions', quote_literal(array_fill(tests.id('bob'), array[51])), 'PL001')) w (columns, vals, code);
select is(tests.attempt('bob', 'update public.messages set data = ''[]'' where sender_id = auth.uid() '
    'and deleted_at is null'), 'PL001', 'an update checks the data');

select * from finish();
rollback;
