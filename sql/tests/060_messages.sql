begin;
select no_plan();
select tests.make_world();

-- The numbering trigger, with plain SQL.
insert into public.messages (conversation_id, sender_id, content)
select tests.id('group'), tests.id(who), n || repeat('x', 300)
  from generate_series(1, 5) n, lateral (select (array['alice', 'bob', 'carol'])[1 + n % 3] as who) w order by n;
select results_eq($$
    select seq from public.messages where conversation_id = tests.id('group') order by created_at, seq
$$, 'select n::bigint from generate_series(1, 5) n',
    'numbers messages without gaps, in the order of their times');
select results_eq($$
    select last_seq, last_message_content, last_message_sender_id,
           last_message_time = (select created_at from public.messages m where m.conversation_id = c.id and seq = 5)
      from public.conversations c where id = tests.id('group')
$$, $$select 5::bigint, '5' || repeat('x', 199), tests.id('carol'), true$$,
    'A8, A22: the conversation has 200 characters of its newest message');
select is_empty($$
    select id, created_at from public.messages
     where id::text !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
        or ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint
           not between extract(epoch from created_at) * 1000 - 5000 and extract(epoch from created_at) * 1000 + 5000
$$, 'ids begin with their time, as in UUID version 7 (RFC 9562)');
select is((tests.conversation('group')).version, 1::bigint,
    'a message does not increase the version of its conversation');
select results_eq($$
    select u, m.last_read_seq
      from unnest(array['alice','bob','carol']) u
      join public.conversation_members m on m.user_id = tests.id(u) and m.conversation_id = tests.id('group')
     order by u
$$, $$values ('alice', 3::bigint), ('bob', 4), ('carol', 5)$$, 'a send moves the sender''s read mark');
select is((select public.is_read(m) from public.messages m where conversation_id = tests.id('group') and seq = 3),
    true, 'is_read is true if every other member''s mark has reached the message');
select is((select m.is_read from public.messages m where conversation_id = tests.id('group') and seq = 4),
    false, 'is_read can be read as a computed field');
select throws_ok(format('insert into public.messages (conversation_id, sender_id, content) values (%L, %L, ''x'')',
        tests.id('direct'), tests.id('carol')),
    'PL008', null, 'only members can send, also with plain SQL');
select throws_ok('delete from public.messages', '23001', null, 'messages cannot be deleted');
select throws_ok('truncate public.messages cascade', '23001', null, 'messages cannot be truncated');
select throws_ok(format('insert into public.messages (conversation_id, sender_id, %s) values (%L, %L, %s)',
        columns, tests.id('direct'), tests.id('alice'), vals),
    code, null, label)
  from (values
        ('content', '''''', 'PL001', 'an empty text'),
        ('content', 'null', 'PL001', 'null content'),
        ('content', 'repeat(''x'', 8001)', '23514', '8001 characters'),
        ('content, kind', '''x'', ''poll''', '23514', 'an unknown kind'),
        ('kind', '''image''', 'PL001', 'an image without an attachment'),
        ('kind, attachment', '''image'', ''{"url":"http://x.example/a"}''', 'PL001', 'an http address'),
        ('kind, attachment', '''image'', ''{"url":"https://x.example/a","evil":1}''', 'PL001', 'an unknown member'),
        ('kind, attachment', '''image'', ''{"url":"https://x.example/a","width":"3"}''', 'PL001',
            'a width that is a string'),
        ('kind, attachment', '''image'', ''{"width":3}''', 'PL001', 'an attachment without an address'),
        ('kind, attachment', '''image'', ''[]''', 'PL001', 'an attachment that is a list'))
       as t (columns, vals, code, label);
select is((tests.conversation('direct')).last_seq, 0::bigint, 'a rejected message takes no number');
select lives_ok(format($$
        insert into public.messages (conversation_id, sender_id, content) values (%L, %L, repeat('😀', 8000))$$,
        tests.id('direct'), tests.id('alice')),
    'accepts 8000 code points');

-- Sending. A call that sends to the group, or returns what was sent to it, with one client_id.
create function pg_temp.call(name text, content text default e' kept \n as sent\u202e ') returns text language sql as $$
    select format('api.%s(%L, %L, %L)', name, tests.id('group'), content, '11111111-1111-4111-8111-111111111111')
$$;
create temporary table sent as
select o, (o ->> 'id')::uuid as id from (select tests.as('alice', pg_temp.call('send_message'))::json) s (o);
select is((select string_agg(key, ',') from sent, json_object_keys(o) key),
    'id,conversation_id,seq,sender_id,sender,client_id,kind,content,attachment,attachments,is_read,version,'
    'reply_to,mentions,mentions_everyone,data,created_at,edited_at,'
    'deleted_at', 'a Message has every member, in the order of the protocol');
select is((select string_agg(key, ',') from sent, json_object_keys(o -> 'sender') key),
    'id,username,full_name,avatar_type,avatar_id,avatar_url,version',
    'a sender object has every member, in the order of the protocol');
select is((select o ->> 'content' from sent), e' kept \n as sent\u202e ', 'stores content unchanged');
select is((select (o ->> 'seq')::integer from sent), 6, 'a sent message gets the next number');
select matches(tests.as('alice', pg_temp.call('send_message', 'any')), '^23505 ', 'rejects a reused client_id');
select is(tests.as('alice', pg_temp.call('sent_message'))::jsonb,
    (select o::jsonb from sent), 'a repeated client_id returns the same message');
select is((tests.conversation('group')).last_seq, 6::bigint, 'a repeated client_id takes no number');
select is(tests.field_of('alice', 'select ' || pg_temp.call('sent_message', 'other')),
    'PL012 client_id', 'rejects a repeated client_id with other content');
select is(tests.field_of('alice', format('select api.sent_message(%L, %L, %L, ''image'', %L)', tests.id('group'),
        e' kept \n as sent\u202e ', '11111111-1111-4111-8111-111111111111', '{"url":"https://x.example/a"}')),
    'PL012 client_id', 'rejects a repeated client_id with another kind');
select isnt(tests.as('bob', format('api.send_message(%L, ''mine'', %L) ->> ''seq''',
        tests.id('group'), '11111111-1111-4111-8111-111111111111')),
    '6', 'another user may use the same client_id');
select is(tests.as('alice', format('api.send_message(%L, ''there'', %L) ->> ''seq''',
        tests.id('direct'), '11111111-1111-4111-8111-111111111111')),
    '2', 'another conversation may use the same client_id');
select throws_ok(format($$
        insert into public.messages (conversation_id, sender_id, client_id, content)
        values (%L, %L, %L, 'x') on conflict do nothing$$,
        tests.id('group'), tests.id('alice'), '11111111-1111-4111-8111-111111111111'),
    '23505', null, '"on conflict do nothing" cannot cause a gap in the numbers');
select is((tests.conversation('group')).last_seq, 7::bigint, 'last_seq has no gap');
select matches(tests.as('mallory', format('api.send_message(%L, ''x'')', tests.id('group'))),
    '^PL008 ', 'a non-member does not find the conversation');
select is(tests.as('bob', format('api.sent_message(%L, %L, %L)',
        tests.id('group'), e' kept \n as sent\u202e ', gen_random_uuid())),
    tests.as('mallory', pg_temp.call('sent_message')), 'a non-member learns nothing about a client_id');
select is(tests.as('mallory', format('api.send_message(%L, ''x'', gen_random_uuid())', tests.id('group'))),
    tests.as('mallory', format('api.send_message(%L, ''x'', gen_random_uuid())', gen_random_uuid())),
    'a hidden conversation and a missing one give the same error');
select is(tests.field_of('alice', format('select api.send_message(%L, %s)', tests.id('group'), args)),
    'PL001 ' || field, args)
  from (values
        ('''''', 'content'),
        ('null', 'content'),
        ('repeat(''x'', 8001)', 'content'),
        ('''x'', null, ''system''', 'kind'),
        ('''x'', null, ''image''', 'attachment')) as t (args, field);
select is(tests.as('alice', format($$
        api.send_message(%L, null, null, 'image', '{"bytes":5,"url":"https://x.example/a"}') -> 'attachment'$$,
        tests.id('group'))),
    '{"url":"https://x.example/a","mime_type":null,"width":null,"height":null,"bytes":5,"media_id":null,'
        '"blurhash":null,"name":null,"duration_ms":null,"waveform":null,"preview_media_id":null}',
    'an image may have no content, and its attachment has every member');
select is(tests.as('alice', format('api.send_message(%L, %L) ->> ''content''',
        tests.id('group'), '''); drop table messages; --')),
    '''); drop table messages; --', 'treats SQL in content as text');

-- Editing and deleting by SQL.
select tests.age();
update public.messages set content = 'edited' where id = (select id from sent);
select results_eq($$
    select version, edited_at is not null, changed_xid > '3', sent_xid::text
      from public.messages where id = (select id from sent)
$$, $$values (2::bigint, true, true, '3')$$, 'an edit increases the version');
select is(tests.as('alice', pg_temp.call('sent_message') || ' ->> ''content'''),
    'edited', 'a repeated send of the original content returns the edited message');
select is(tests.field_of('alice', 'select ' || pg_temp.call('sent_message', 'edited')),
    'PL012 client_id', 'a repeated send of the edited content is rejected as other content');
update public.messages set deleted_at = now() where id = (select id from sent);
select results_eq($$select version, content::text from public.messages where id = (select id from sent)$$,
    $$values (3::bigint, null)$$, 'a deleted message keeps its row without content');
select is(tests.as('alice', pg_temp.call('sent_message') || ' ->> ''content'''),
    null, 'a repeated send of the original content returns the deleted message');
select throws_ok('update public.messages set content = ''x'' where deleted_at is not null',
    'PL007', null, 'a deleted message cannot be edited');
select throws_ok('update public.messages set seq = seq + 100', '23001', null, 'a message''s number cannot be changed');
select isnt((tests.conversation('group')).last_message_content,
    null, 'deleting an older message keeps last_message_content');
update public.messages set content = 'the newest'
 where conversation_id = tests.id('group') and seq = (tests.conversation('group')).last_seq;
select is((tests.conversation('group')).last_message_content, 'the newest',
    'last_message_content follows an edit of the newest message');
update public.messages set deleted_at = now()
 where conversation_id = tests.id('group') and seq = (tests.conversation('group')).last_seq;
select is((tests.conversation('group')).last_message_content, null,
    'last_message_content is null after the newest message is deleted');

-- Pages.
create function pg_temp.seqs(args text) returns text language sql as $$
    select string_agg(m ->> 'seq', ',' order by place)
      from json_array_elements(tests.as('alice', format('api.messages(%L, %s)::json -> ''messages''',
               tests.id('group'), args))::json) with ordinality t (m, place)
$$;
select is((tests.conversation('group')).last_seq, 9::bigint);
select is(pg_temp.seqs('null, null, 3'), '7,8,9', 'returns the newest messages in ascending order');
select is(pg_temp.seqs('7, null, 3'), '4,5,6', 'before_seq returns the messages just before');
select is(pg_temp.seqs('null, 3, 3'), '4,5,6', 'after_seq returns the messages just after');
select is(pg_temp.seqs('1, null, 3'), null, 'no messages come before the first');
select is(tests.field_of('alice', format('select api.messages(%L, 5, 2)', tests.id('group'))),
    'PL001 after_seq', 'rejects before_seq together with after_seq');
select is(tests.field_of('alice', format('select api.messages(%L, null, null, 201)', tests.id('group'))),
    'PL001 limit', 'rejects a limit above 200');
select is(tests.as('mallory', format('api.messages(%L)', tests.id('group'))),
    tests.as('mallory', format('api.messages(%L)', gen_random_uuid())),
    'a hidden conversation and a missing one give the same error');
update public.user_profiles set full_name = 'Tap Renamed' where id = tests.id('bob');
select is(tests.as('alice', format(
        'api.messages(%L, 3, null, 1)::json -> ''messages'' -> 0 -> ''sender'' ->> ''full_name''', tests.id('group'))),
    case (select sender_id from public.messages where conversation_id = tests.id('group') and seq = 2)
         when tests.id('bob') then 'Tap Renamed' else 'Tap Carol' end,
    'a message contains its sender''s current profile');

-- Marks.
select is(tests.as('carol', format('api.mark_read(%L, 7)', tests.id('group'))),
    format('{"conversation_id":"%s","user_id":"%s","last_read_seq":7,"unread_count":2,"unread_mentions":0}',
    tests.id('group'), tests.id('carol')), 'mark_read moves the read mark');
select is(tests.as('carol', format('api.mark_read(%L, 2) ->> ''last_read_seq''', tests.id('group'))),
    '7', 'a read mark never moves back');
select is(tests.as('carol', format('api.mark_read(%L, 99) ->> ''last_read_seq''', tests.id('group'))),
    '9', 'a mark beyond the last seq is set to the last seq');
select is(tests.field_of('carol', format('select api.mark_read(%L, -1)', tests.id('group'))), 'PL001 seq');
select is(tests.as('mallory', format('api.mark_read(%L, 1)', tests.id('group'))),
    tests.as('mallory', format('api.mark_read(%L, 1)', gen_random_uuid())),
    'a hidden conversation and a missing one give the same error');
update public.conversation_members set last_read_seq = 1
 where user_id = tests.id('carol') and conversation_id = tests.id('group');
select is((tests.member('group', 'carol')).last_read_seq, 9::bigint, 'plain SQL cannot move a read mark back');
update public.conversation_members set last_read_seq = 999
 where user_id = tests.id('bob') and conversation_id = tests.id('group');
select is((tests.member('group', 'bob')).last_read_seq, 9::bigint,
    'plain SQL cannot move a read mark beyond the last seq');
select tests.age();
select tests.say('group', 'bob', 'x');
select is((tests.member('group', 'bob')).changed_xid::text,
    '3', 'a send moves the sender''s mark without setting changed_xid');
select is(tests.as('carol', format('api.mark_read(%L, 10) ->> ''unread_count''', tests.id('group'))), '0');
select is((tests.member('group', 'carol')).changed_xid > '3', true,
    'a mark that moves without a send sets changed_xid');

-- Vacuum freezes inserted rows before the next checkpoint (20261124000700_freezing).
select ok(c.reloptions @> array['autovacuum_vacuum_insert_scale_factor=0', 'autovacuum_vacuum_insert_threshold=10000',
        'autovacuum_freeze_min_age=0'], 'messages are vacuumed and frozen every ten thousand inserts')
  from pg_class c where c.oid = 'public.messages'::regclass;

-- Messages that SQL deletes without the triggers leave a gap, and pages keep their length.
set local session_replication_role = replica;
delete from public.messages where conversation_id = tests.id('group') and seq in (4, 8, 9);
update public.messages set sender_id = tests.id('mallory') where conversation_id = tests.id('direct');
set local session_replication_role = origin;
select is(pg_temp.seqs('null, null, 3'), '6,7,10', 'a gap does not shorten the newest page');
select is(pg_temp.seqs('6, null, 3'), '2,3,5', 'a gap does not shorten a page before a message');
select is(pg_temp.seqs('null, 3, 3'), '5,6,7', 'a gap does not shorten a page after a message');
select is(tests.as('alice', format(
        'array(select distinct m #>> ''{sender,id}'''
        ' from json_array_elements(api.messages(%L)::json -> ''messages'') m)',
        tests.id('direct'))),
    format('{%s}', tests.id('mallory')), 'returns the sender of a message, also a former member');
select is(tests.as('mallory', format('app.message_page(%L, null, null, 50)', tests.id(conversation))), '(,,)',
    'message_page returns nothing to a non-member: ' || conversation)
  from unnest(array['direct', 'group']) conversation;
select is(tests.as('alice', format('(app.message_page(%L, null, null, 50)).mark', tests.id('group'))),
    (select min(last_read_seq)::text from public.conversation_members where conversation_id = tests.id('group')),
    'message_page returns the lowest read mark to a member');

-- Times.
set local datestyle = 'SQL, DMY';
set local timezone = 'Asia/Kathmandu';
select is(app.quoted_utc(time), '"' || app.utc(time) || '"', time::text)
  from unnest(array['2026-11-23T15:00:01.000017Z', '2026-11-23T15:00:01.00001Z', '2026-11-23T15:00:01.5Z',
        '2026-11-23T23:59:59.999999Z', '2026-11-23Z', '1969-12-31T23:59:59.999999Z', '0001-01-01T00:00:00.000001Z',
        '9999-12-31T23:59:59.999999Z', '10000-01-01T00:00:00.12345Z', '294276-12-31T23:59:59.999999Z',
        '0044-03-15 12:00:00.123Z BC', '0001-12-31 23:59:59.999999Z BC', '4713-01-01 00:00:00.000001Z BC',
        'infinity', '-infinity']::timestamptz[]) time;
select is(app.quoted_utc('2026-11-23T15:00:01.000017Z'), '"2026-11-23T15:00:01.000017Z"',
    'writes a time in UTC with microseconds');
select is(app.quoted_utc('2026-11-23T15:00:01.5Z'), '"2026-11-23T15:00:01.500000Z"',
    'writes a time with six fractional digits');

select is(tests.as('alice', format($$
        (api.send_message(%L, '', %L, 'image',
            '{"bytes":5.0,"width":1e2,"height":3.00000000,"url":"https://x.example/a"}') -> 'attachment')::jsonb
        - '{url,mime_type,media_id,blurhash,name,duration_ms,waveform,preview_media_id}'::text[]$$,
        tests.id('group'), '00000000-0000-4000-8000-00000000f10a')),
    '{"bytes": 5, "width": 100, "height": 3}', 'stores the counts of an attachment as integers');
select * from finish();
rollback;
