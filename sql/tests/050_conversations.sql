begin;
select no_plan();
select tests.make_world();

-- Direct conversations.
select is((select participant1_id < participant2_id from public.conversations where id = tests.id('direct')),
    true, 'stores participants in order');
select set_eq($$select user_id from public.conversation_members where conversation_id = tests.id('direct')$$,
    array[tests.id('alice'), tests.id('bob')], 'inserting a direct conversation adds its two members');
select is((tests.conversation('direct')).version, 1::bigint, 'a new conversation has version 1');
select is(tests.as('alice', format('api.open_conversation(%L) ->> ''id''', tests.id('bob'))),
    tests.id('direct')::text, 'opens the conversation from one side');
select is(tests.as('bob', format('api.open_conversation(%L) ->> ''id''', tests.id('alice'))),
    tests.id('direct')::text, 'opens the same conversation from the other side');
select is(tests.as('alice', format('api.open_conversation(%L) ->> ''id''', tests.id('mallory'))),
    tests.as('mallory', format('api.open_conversation(%L) ->> ''id''', tests.id('alice'))),
    'creates a conversation once for both sides');
select is(tests.as('alice', format('api.open_conversation(%L) ->> ''created_by''', tests.id('mallory'))),
    tests.id('alice')::text, 'created_by is the user who opened the conversation');
select is(tests.field_of('alice', format('select api.open_conversation(%L)', tests.id('alice'))),
    'PL001 user_id', 'rejects a conversation with oneself');
select matches(tests.as('alice', format('api.open_conversation(%L)', gen_random_uuid())), '^PL008 ',
    'rejects a conversation with an unknown user');
select throws_ok(format('insert into public.conversations (participant1_id, participant2_id) values (%L, %L)',
        tests.id('alice'), tests.id('bob')),
    '23505', null, 'two users have at most one direct conversation');
select throws_ok(format('insert into public.conversations (participant1_id, participant2_id) values (%L, %L)',
        tests.id('alice'), tests.id('alice')),
    'PL001', null, 'rejects a direct conversation of one user');
select throws_ok(format('insert into public.conversation_members (conversation_id, user_id) values (%L, %L)',
        tests.id('direct'), tests.id('carol')),
    'PL007', null, 'rejects a third member in a direct conversation');
select throws_ok('update public.conversations set title = ''x'' where kind = ''direct''',
    'PL001', null, 'rejects a title of a direct conversation');
select throws_ok(format('update public.conversations set participant1_id = %L where id = %L',
        '00000000-0000-4000-8000-000000000000', tests.id('direct')),
    'PL007', null, 'rejects a change of the participants');
select throws_ok('insert into public.conversations (kind) values (''group'')', 'PL001', null,
    'rejects a group without a title');
select throws_ok('insert into public.conversations (kind, title) values (''group'', ''  '')',
    'PL001', null, 'rejects a group with a blank title');
select throws_ok('insert into public.conversations (kind, title) values (''channel'', ''x'')',
    '23514', null, 'rejects an unknown kind');
select throws_ok('delete from public.conversations', '23001', null, 'conversations cannot be deleted');
set local client_min_messages = warning;
select throws_ok('truncate public.conversations cascade', '23001', null, 'conversations cannot be truncated');

-- A member row deleted by SQL is a removal until either user opens the conversation, which restores it with both
-- members.
create function tests.opened(who text, other text, variadic gone text[]) returns text language plpgsql as $$
declare
    answer text;
begin
    delete from public.conversation_members
     where conversation_id = tests.id('direct') and user_id in (select tests.id(g) from unnest(gone) g);
    if tests.as(who, format('api.conversation(%L)', tests.id('direct'))) like 'PL008 %' <> (who = any (gone)) then
        return 'no removal';
    end if;
    answer := tests.as(who, format('api.open_conversation(%L)', tests.id(other)));
    return (select string_agg(i.name, ',' order by i.name)
              from json_array_elements(answer::json -> 'members') m
              join tests.ids i on i.id = (m ->> 'user_id')::uuid
             where answer::json ->> 'id' = tests.id('direct')::text);
end $$;
select tests.say('direct', 'alice', 'before');
select is(tests.opened('alice', 'bob', variadic gone),
    'alice,bob', 'row 58a: opening restores both members after SQL removed ' || array_to_string(gone, ' and '))
  from (values (array['alice', 'bob']), (array['bob']), (array['alice'])) t (gone);
select is(tests.opened('bob', 'alice', variadic gone),
    'alice,bob',
    'row 58a: opening from the other side restores both members after SQL removed ' || array_to_string(gone, ' and '))
  from (values (array['alice', 'bob']), (array['bob']), (array['alice'])) t (gone);
select is(tests.as('bob', format('api.messages(%L)::json -> ''messages'' -> 0 ->> ''content''', tests.id('direct'))),
    'before', 'a restored member sees all messages');
select is(tests.as('mallory', format('api.open_conversation(%L) ->> ''id''',
        tests.id('alice'))) = tests.id('direct')::text,
    false, 'another user opens a conversation of its own');
select is(tests.as('mallory', format('app.ensure_participants(%L)', tests.id('carol'))),
    null, 'ensure_participants does nothing without a conversation');
select set_eq($$select user_id from public.conversation_members where conversation_id = tests.id('direct')$$,
    array[tests.id('alice'), tests.id('bob')], 'the conversation still has exactly its two members');

-- The object, as one member sees it.
select is((select string_agg(key, ',')
             from json_object_keys(tests.as('alice', format('api.conversation(%L)', tests.id('group')))::json) key),
    'id,kind,title,created_by,participant1_id,participant2_id,members,last_seq,version,last_message_content,'
    'last_message_time,last_message_sender_id,last_read_seq,unread_count,unread_mentions,is_marked_unread,'
    'muted_until,is_archived,is_pinned,scheduled_count,unsent_count,first_seq,message_ttl_seconds,'
    'pinned_seqs,data,created_at,updated_at',
    'a Conversation has every member, in the order of the protocol');
select is((select string_agg(key, ',')
             from json_object_keys(tests.as('alice', format('api.conversation(%L) -> ''members'' -> 0',
                     tests.id('group')))::json) key),
    'user_id,role,joined_at,last_read_seq,last_delivered_seq',
    'a member object has every member, in the order of the protocol');
select is(tests.as('mallory', format('api.conversation(%L)', tests.id('group'))),
    tests.as('mallory', format('api.conversation(%L)', gen_random_uuid())),
    'a hidden conversation and a missing one give the same error');

-- Membership.
select tests.age();
update public.conversations set title = '  Renamed ' where id = tests.id('group');
select results_eq($$
    select title::text, version, changed_xid > '3' from public.conversations where id = tests.id('group')
$$, $$values ('Renamed', 2::bigint, true)$$, 'normalizes a new title and increases the version');
select tests.say('group', 'alice', n::text) from generate_series(1, 3) n;
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select results_eq($$select version, changed_xid > '3' from public.conversations where id = tests.id('group')$$,
    $$values (3::bigint, true)$$, 'adding a member increases the version');
select is((tests.member('group', 'mallory')).last_read_seq, 3::bigint, 'a new member''s read mark is the last seq');
select is(json_array_length(tests.as('mallory', format('api.messages(%L)::json -> ''messages''',
        tests.id('group')))::json),
    3, 'a new member sees earlier messages');
select tests.age();
update public.conversation_members set role = 'admin'
 where user_id = tests.id('mallory') and conversation_id = tests.id('group');
select is((tests.conversation('group')).version, 4::bigint, 'a changed role increases the version');
select throws_ok(format(
        'insert into public.conversation_members (conversation_id, user_id, role) values (%L, %L, ''owner'')',
        tests.id('group'), tests.make_user('second')),
    '23505', null, 'rejects a second owner');
select throws_ok('update public.conversation_members set role = ''king''', '23514', null, 'rejects an unknown role');
select tests.say('group', 'mallory', 'bye');
select tests.age();
delete from public.conversation_members
 where user_id in (tests.id('mallory'), tests.id('carol')) and conversation_id = tests.id('group');
select results_eq($$
    select user_id = tests.id('mallory'), wrote, changed_xid > '3'
      from app.former_members where conversation_id = tests.id('group') order by wrote
$$, $$values (false, false, true), (true, true, true)$$,
'a deleted member row is recorded as a removal, with whether the user wrote');
select is((tests.conversation('group')).version, 5::bigint, 'removals increase the version once per transaction');
select matches(tests.as('mallory', format('api.messages(%L)', tests.id('group'))),
    '^PL008 ', 'a removed member does not find the conversation');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(json_array_length(tests.as('mallory', format('api.messages(%L)::json -> ''messages''',
        tests.id('group')))::json),
    4, 'a member who returns sees all messages');
select is((select count(*) from app.former_members where user_id = tests.id('mallory')),
    1::bigint, 'a member who returns stays recorded as a former member');
delete from public.conversation_members where user_id = tests.id('mallory') and conversation_id = tests.id('group');
select is((select wrote from app.former_members where user_id = tests.id('mallory')), true,
    'the record still says that the former member wrote');

-- The list.
select tests.make_user('dora');
select tests.make_user('peer' || n) from generate_series(1, 7) n;
insert into public.conversations (participant1_id, participant2_id, created_at)
select tests.id('dora'), tests.id('peer' || n), '2020-01-01'::timestamptz + n * interval '1 microsecond'
  from generate_series(1, 7) n;
insert into public.messages (conversation_id, sender_id, content, created_at)
select c.id, tests.id('dora'), 'x', '2024-01-01' from public.conversations c
 where tests.id('dora') in (c.participant1_id, c.participant2_id)
   and (tests.id('peer3') in (c.participant1_id, c.participant2_id)
        or tests.id('peer5') in (c.participant1_id, c.participant2_id));
create function pg_temp.walk(page integer) returns text language plpgsql as $$
declare
    answer json;
    next text;
    walked text[] := '{}';
begin
    loop
        answer := tests.as('dora', format('api.conversations(%s, %L)', page, next));
        walked := walked || array(
            select i.name::text
              from json_array_elements(answer -> 'conversations') with ordinality c (o, place)
              join tests.ids i on i.id in ((c.o ->> 'participant1_id')::uuid, (c.o ->> 'participant2_id')::uuid)
               and i.name <> 'dora'
             order by c.place);
        next := answer ->> 'next';
        exit when next is null;
    end loop;
    return array_to_string(walked, ',');
end $$;
select matches(pg_temp.walk(100), '^(peer3,peer5|peer5,peer3),peer7,peer6,peer4,peer2,peer1$',
    'lists by newest message; conversations without messages by creation time');
select is(pg_temp.walk(n), pg_temp.walk(100), 'pages of ' || n || ' list the same conversations once')
  from generate_series(1, 4) n;
select is(json_array_length(tests.as('dora', 'api.conversations(2) -> ''profiles''')::json),
    3, 'returns the profiles of the members');
select is(tests.field_of('dora', format('select api.conversations(50, %L)', bad)), 'PL001 before',
    'rejects "before" of ' || bad)
  from unnest(array[
        '', 'x', '1.x', '99999999999999999999.d0000000-0000-4000-8000-000000000001',
        '99999999999999999.d0000000-0000-4000-8000-000000000001;']) bad;
select is(tests.field_of('dora', 'select api.conversations(0)'), 'PL001 limit');
select is(tests.field_of('dora', 'select api.conversations(101)'), 'PL001 limit');
select unalike(tests.as('dora', 'api.conversations(50, ''99999999999999999.d0000000-0000-4000-8000-000000000001'')'),
    'PL%', 'accepts a cursor far in the future');

select * from finish();
rollback;
