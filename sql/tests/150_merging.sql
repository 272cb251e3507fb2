-- Merging a guest into an existing account.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('guest', true);
create function tests.talk(room text, kind text, members text[], title text default null) returns void
language plpgsql as $$
declare made uuid;
begin
    insert into public.conversations (kind, title, participant1_id, participant2_id)
    values (kind, title,
            case when kind = 'direct' then tests.id(members[1]) end,
            case when kind = 'direct' then tests.id(members[2]) end)
    returning id into made;
    insert into tests.ids values (room, made);
    if kind = 'group' then
        insert into public.conversation_members (conversation_id, user_id, role, joined_at)
        select made, tests.id(m), case place when 1 then 'owner' else 'member' end,
               now() + place * interval '1 second'
          from unnest(members) with ordinality as u (m, place);
    end if;
end $$;
create function tests.read(room text, who text, mark bigint) returns void language sql as $$
    update public.conversation_members set last_read_seq = mark
     where conversation_id = tests.id(room) and user_id = tests.id(who)
$$;
create function tests.marks(room text) returns text language sql as $$
    select string_agg(i.name || ' ' || m.last_read_seq, ', ' order by i.name)
      from public.conversation_members m join tests.ids i on i.id = m.user_id
     where m.conversation_id = tests.id(room)
$$;
create function tests.lines(room text) returns text language sql as $$
    select string_agg(m.seq || ' ' || i.name || ' ' || coalesce(m.content, '-'), ', ' order by m.seq)
      from public.messages m join tests.ids i on i.id = m.sender_id where m.conversation_id = tests.id(room)
$$;

-- The account is alice. Both talk with bob; only the guest with carol; both are in the group `common`; only the guest
-- in `club`, which it owns; it wrote in `gone` and left; and it talks with alice herself.
select tests.talk('guest bob', 'direct', array['guest', 'bob']),
       tests.talk('guest carol', 'direct', array['carol', 'guest']),
       tests.talk('guest alice', 'direct', array['guest', 'alice']),
       tests.talk('guest dead', 'direct', array['guest', 'mallory']),
       tests.talk('club', 'group', array['guest', 'carol'], 'Club'),
       tests.talk('common', 'group', array['guest', 'alice', 'bob'], 'Common'),
       tests.talk('gone', 'group', array['carol', 'guest'], 'Gone');
select tests.say('direct', 'alice', 'a1'), tests.say('direct', 'bob', 'b2'), tests.say('direct', 'alice', 'a3');
select tests.read('direct', 'bob', 3);
select tests.say('guest bob', 'guest', 'g1'), tests.say('guest bob', 'bob', 'b2'),
       tests.say('guest bob', 'guest', 'g3'), tests.say('guest bob', 'guest', 'g4');
select tests.read('guest bob', 'bob', 3);
select tests.say('guest carol', 'guest', 'g1'), tests.say('guest carol', 'carol', 'c2');
select tests.say('guest alice', 'guest', 'hi me');
select tests.say('club', 'guest', 'g1'), tests.say('club', 'carol', 'c2'), tests.say('common', 'guest', 'g1'),
       tests.say('common', 'alice', 'a2'), tests.say('common', 'guest', 'g3'), tests.say('gone', 'guest', 'g1'),
       tests.say('gone', 'carol', 'c2');
delete from public.conversation_members where conversation_id = tests.id('gone') and user_id = tests.id('guest');
update public.messages set deleted_at = now() where conversation_id = tests.id('guest bob') and seq = 3;
-- The same client_id in both of two conversations that become one, from either side; and in the common group.
insert into public.messages (conversation_id, sender_id, client_id, content) values
    (tests.id('direct'), tests.id('bob'), '00000000-0000-4000-8000-00000000000b', 'b4'),
    (tests.id('guest bob'), tests.id('bob'), '00000000-0000-4000-8000-00000000000b', 'b5'),
    (tests.id('guest bob'), tests.id('guest'), '00000000-0000-4000-8000-00000000000c', 'g6'),
    (tests.id('common'), tests.id('alice'), '00000000-0000-4000-8000-00000000000d', 'a4'),
    (tests.id('common'), tests.id('guest'), '00000000-0000-4000-8000-00000000000d', 'g5');
select tests.read('direct', 'alice', 3);
update auth.users set encrypted_password = 'hash' where id = tests.id('alice');
update public.user_profiles set full_name = 'Guest', bio = 'of the guest', avatar_type = 'built_in', avatar_id = 'fox',
    username = 'tap_guest', attributes = '{"a":1,"b":1}'
 where id = tests.id('guest');
update public.user_profiles set avatar_type = 'custom', avatar_url = 'https://a.example/a', attributes = '{"a":2}'
 where id = tests.id('alice');
update public.user_private set date_of_birth = '1990-05-17', height_cm = 170, preferences = '{"a":1,"b":1}'
 where id = tests.id('guest');
update public.user_private set height_cm = 180, preferences = '{"a":2,"c":2}' where id = tests.id('alice');
update public.user_profiles set is_deleted = true where id = tests.id('mallory');
create temporary table s as
    with made as (
        insert into app.sessions (user_id)
        values (tests.id('guest')), (tests.id('alice')), (tests.id('bob')) returning id, user_id)
    select (select id from made where user_id = tests.id('guest')) as guest,
           (select id from made where user_id = tests.id('alice')) as alice,
           (select id from made where user_id = tests.id('bob')) as bob;
create function tests.merge(account text, session uuid, generation integer default 1) returns text language sql as $$
    select tests.account(format('accounts.merge_guest(%L, %L, %L, %L, 10)', tests.id(account),
            (select encrypted_password from auth.users where id = tests.id(account)), session, generation))
$$;
create temporary table before as select id, conversation_id, content, version, created_at from public.messages;
select tests.age();

-- Refused merges change nothing.
select matches(tests.merge('alice', gen_random_uuid()), '^PL004 ', 'rejects an unknown session');
select matches(tests.merge('alice', bob), '^PL004 ', 'rejects a session of a full account') from s;
select matches(tests.merge('alice', alice), '^PL004 ', 'rejects a session of the account itself') from s;
select matches(tests.merge('alice', guest, 2), '^PL004 ', 'rejects a token that was never issued') from s;
select matches(tests.merge('guest', guest), '^PL004 ', 'rejects a merge of a guest into itself') from s;
select matches(tests.merge('mallory', guest), '^PL004 ', 'rejects a merge into a deleted account') from s;
select is((select count(*) from public.messages where version > 1 and deleted_at is null)
        + (select count(*) from app.merged_guests),
    0::bigint, 'rejected merges change nothing');
-- The rule is enforced without a merge too.
select throws_ok('update public.messages set sender_id = tests.id(''alice'') where sender_id = tests.id(''guest'')',
    '23001', null, 'the sender of a message cannot be changed');
select throws_ok(
    'update public.conversations set participant1_id = tests.id(''carol'') where id = tests.id(''direct'')',
    'PL007', null, 'the participants of a direct conversation cannot be changed');

select is(tests.merge('alice', guest), '{"conversations":5,"messages":10}', 'merges the guest into the account') from s;
select is(tests.merge('alice', guest), '{"conversations":5,"messages":10}',
    'a repeated merge returns the same result') from s;
select is(tests.merge('alice', guest, 0), '{"conversations":5,"messages":10}',
    'a repeated merge with another token returns the same result') from s;
select matches(tests.merge('bob', guest), '^PL004 ', 'rejects a merge of the same guest into another account') from s;

-- Two direct conversations with one user become one.
select is(tests.lines('direct'),
    '1 alice a1, 2 bob b2, 3 alice a3, 4 bob b4, 5 alice g1, 6 bob b2, 7 alice -, 8 alice g4, 9 bob b5, 10 alice g6',
    'appends the guest''s messages in order');
select is(tests.marks('direct'), 'alice 10, bob 9',
    'read marks keep their messages and cover the members'' own messages');
select results_eq($$
    select last_seq, last_message_content, last_message_sender_id, last_message_xid > '3'
      from public.conversations where id = tests.id('direct')
$$, $$values (10::bigint, 'g6', tests.id('alice'), true)$$, 'the conversation has its newest message');
select results_eq($$
    select last_seq, last_message_content, (select count(*) from public.messages m where m.conversation_id = c.id),
           (select count(*) from public.conversation_members m where m.conversation_id = c.id)
      from public.conversations c where id = tests.id('guest bob')
$$, $$values (0::bigint, null::text, 0::bigint, 0::bigint)$$, 'the emptied conversation has no messages or members');
select results_eq($$
    select seq, client_id::text from public.messages
     where conversation_id = tests.id('direct') and (client_id is not null or seq = 9) order by seq
$$, $$
    values (4::bigint, '00000000-0000-4000-8000-00000000000b'), (9, null), (10, '00000000-0000-4000-8000-00000000000c')
$$, 'messages keep their client_ids unless they are taken');
select is(tests.as('alice', format('api.open_conversation(%L) ->> ''id''', tests.id('bob'))),
    tests.id('direct')::text, 'open_conversation returns the merged conversation');
select is(tests.as('alice', format($$api.send_message(%L, 'next') ->> 'seq'$$, tests.id('direct'))),
    '11', 'the merged conversation accepts new messages');
-- A conversation that the account did not have becomes its own.
select is(tests.as('alice', format('api.open_conversation(%L) ->> ''id''', tests.id('carol'))),
    tests.id('guest carol')::text, 'the account takes over the guest''s direct conversation');
select is(tests.lines('guest carol') || ' / ' || tests.marks('guest carol'),
    '1 alice g1, 2 carol c2 / alice 1, carol 2', 'that conversation keeps its messages and marks');
select set_eq($$select user_id from public.conversation_members where conversation_id = tests.id('guest dead')$$,
    array[tests.id('alice'), tests.id('mallory')], 'the account takes over a conversation with a deleted user');
-- Groups.
select is(tests.lines('club') || ' / ' || tests.marks('club'),
    '1 alice g1, 2 carol c2 / alice 1, carol 2', 'the account takes over the guest''s group');
select is((tests.member('club', 'alice')).role::text, 'owner', 'the account takes over the guest''s role');
select is(tests.lines('common') || ' / ' || tests.marks('common'),
    '1 alice g1, 2 alice a2, 3 alice g3, 4 alice a4, 5 alice g5 / alice 5, bob 0',
    'in a shared group the later read mark is kept');
select is((tests.member('common', 'alice')).role::text, 'owner', 'in a shared group the stronger role is kept');
select is(tests.lines('gone') || ' / ' || tests.marks('gone'),
    '1 alice g1, 2 carol c2 / carol 2', 'the account is a former sender where the guest was one');
select ok((select wrote from app.former_members
            where conversation_id = tests.id('gone') and user_id = tests.id('alice')),
    'the account is recorded as a former member who wrote');
-- The direct conversation of guest and account.
select is(tests.marks('guest alice'), null, 'the conversation between guest and account is removed');
select set_eq($$
    select conversation_id from app.former_members where user_id = tests.id('alice') and changed_xid > '3'
$$, array[tests.id('guest alice'), tests.id('gone')],
    'the account has left only that conversation and the group that the guest left');
select is((select joined_xid > '3' from app.former_members
            where conversation_id = tests.id('gone') and user_id = tests.id('alice')), true,
    'members of that group get the account''s profile');

-- No message is lost or duplicated.
select set_eq('select id, content, created_at from public.messages where content is distinct from ''next''',
    'select id, content, created_at from before', 'keeps every message once, with its id and time');
select is_empty($$
    select c.id
      from public.conversations c
     where c.last_seq <> (select count(*) from public.messages m where m.conversation_id = c.id)
        or c.last_seq <> coalesce((select max(seq) from public.messages m where m.conversation_id = c.id), 0)
$$, 'message numbers have no gaps');
select is_empty($$
    select c.id
      from public.conversations c
      join public.messages m on m.conversation_id = c.id and m.seq = c.last_seq
     where row(c.last_message_content, c.last_message_sender_id, c.last_message_time)
           is distinct from row(left(m.content, 200), m.sender_id, m.created_at)
$$, 'each conversation has its newest message');
select is_empty($$
    select 1
      from public.conversation_members m
     where m.last_read_seq < m.sent_seq
        or m.sent_seq <> coalesce((select max(seq) from public.messages n
                                    where n.conversation_id = m.conversation_id and n.sender_id = m.user_id), 0)
$$, 'each read mark covers its member''s own messages');
select is((select count(*) from public.messages where sender_id = tests.id('guest')),
    1::bigint, 'only the guest''s messages to the account keep the guest as sender');
select is_empty($$
    select n.id from public.messages n
      join before b using (id)
     where (n.version > b.version) <> (n.changed_xid > '3') and n.content <> 'next'
$$, 'exactly the changed messages have a new version');
select is_empty($$
    select n.id from public.messages n
      join before b using (id)
     where (n.conversation_id <> b.conversation_id) <> (n.sent_xid > '3')
$$, 'exactly the moved messages have a new sent_xid');

-- The two users.
select results_eq($$
    select p.full_name, p.bio, p.avatar_type, p.avatar_id, p.username, p.attributes, s.date_of_birth, s.height_cm,
           s.preferences
      from public.user_profiles p join public.user_private s using (id) where id = tests.id('alice')
$$, $$
    values ('Tap Alice', 'of the guest', 'custom', null::text, 'tap_alice', '{"a":2,"b":1}'::jsonb, date '1990-05-17',
               180.00, '{"a":2,"b":1,"c":2}'::jsonb)
$$, 'the account''s own values are kept, and preferences merge by key');
select results_eq($$select is_deleted, username, bio from public.user_profiles where id = tests.id('guest')$$,
    $$values (true, null::text, null::text)$$, 'the guest becomes a tombstone');
select is((select count(*) from app.sessions where user_id = tests.id('guest') and revoked_at is null),
    0::bigint, 'the guest''s sessions end');
select matches(tests.as('carol', 'api.change_username(''tap_guest'')'), '^PL009 ', 'the guest''s username is held');
select is(tests.as('alice', 'api.change_username(''tap_guest'') ->> ''username'''), 'tap_guest',
    'the account can take the guest''s username');
select matches(tests.account(format('accounts.upgrade(%L, ''tap.late@example.org'', ''x'')', tests.id('guest'))),
    '^PL007 ', 'a merged guest cannot be upgraded');
select is((select count(*) from app.sessions where user_id = tests.id('guest') and forget_at is not null),
    0::bigint, 'the guest''s sessions are kept for repeated merges');
select matches(tests.account(format('accounts.merge_guest(%L, ''old'', %L, 1, 10)', tests.id('alice'), guest)),
    '^PL003 ', 'rejects a merge if the password has changed since it was verified')
  from s;

-- The changes that other users get. (In one transaction, a membership that ended and one that began have one id.)
create function tests.heard(who text) returns jsonb language plpgsql as $$
declare answer jsonb;
begin
    perform tests.authenticate_as(who);
    select changes::jsonb into answer from api.sync(app.epoch(), '4:4:', null, null, 20, 524288);
    perform tests.owner();
    return answer;
end $$;
create function tests.named(list jsonb) returns text[] language sql as $$
    select array_agg(i.name order by i.name) from jsonb_array_elements(list) e
      join tests.ids i on i.id = coalesce(e ->> 'id', e #>> '{}')::uuid
$$;
select is(tests.named(tests.heard('bob') -> 'left'), array['guest bob'], 'bob leaves the emptied conversation');
select is((select count(*) from jsonb_array_elements(tests.heard('bob') -> 'messages') m
            where (m ->> 'conversation_id')::uuid = tests.id('direct')),
    7::bigint, 'bob gets the appended messages');
select is((select count(*) from jsonb_array_elements(tests.heard('bob') -> 'messages') m
            where (m ->> 'conversation_id')::uuid = tests.id('common')),
    3::bigint, 'bob gets the guest''s messages of the shared group');
select is((select bool_and((m ->> 'sender_id')::uuid <> tests.id('guest')
                              and m -> 'sender' ->> 'username' = 'tap_guest'
                           or (m ->> 'sender_id')::uuid = tests.id('bob'))
             from jsonb_array_elements(tests.heard('bob') -> 'messages') m),
    true, 'the messages have the account as sender');
select is(tests.named(tests.heard('carol') -> 'conversations'),
    array['club', 'guest carol'], 'carol gets the conversations with the account');
select ok(tests.named(tests.heard('carol') -> 'profiles') @> array['alice'], 'carol gets the account''s profile');
select ok(tests.named(tests.heard('alice') -> 'conversations') @> array['club', 'common', 'guest carol'],
    'the account gets its new conversations');
select is(tests.named(tests.heard('alice') -> 'left'), array['gone', 'guest alice'],
    'the account leaves its conversation with the guest and the group that the guest left');

-- A rotated token whose response was lost; more data than the bounds; a deleted guest.
select tests.make_user('second', true);
insert into app.sessions (id, user_id, generation, refreshed_at)
values ('f0000000-0000-4000-8000-0000000000b1', tests.id('second'), 5, app.now());
update public.user_private set preferences = jsonb_build_object('big', repeat('x', 10000))
 where id = tests.id('second');
update public.user_private set preferences = jsonb_build_object('own', repeat('x', 10000)) where id = tests.id('alice');
select matches(tests.merge('alice', 'f0000000-0000-4000-8000-0000000000b1', 3),
    '^PL004 ', 'rejects a grandparent token');
select is(tests.merge('alice', 'f0000000-0000-4000-8000-0000000000b1', 4),
    '{"conversations":0,"messages":0}', 'accepts a parent token within the reuse window');
select is((select array(select jsonb_object_keys(preferences)) from public.user_private where id = tests.id('alice')),
    array['own'], 'keeps the account''s preferences if the merged ones are too large');
select tests.make_user('third', true);
insert into app.sessions (id, user_id) values ('f0000000-0000-4000-8000-0000000000b2', tests.id('third'));
select tests.account(format('accounts.delete_user(%L, null)', tests.id('third')));
select matches(tests.merge('alice', 'f0000000-0000-4000-8000-0000000000b2'),
    '^PL004 ', 'rejects a deleted guest');

-- Held names of many guests.
do $$
begin
    for number in 1..8 loop
        perform tests.make_user('many' || number, true);
        update public.user_profiles set username = 'tap_many' || number where id = tests.id('many' || number);
        insert into app.sessions (id, user_id) values (tests.id('many' || number), tests.id('many' || number));
        perform tests.merge('bob', tests.id('many' || number));
    end loop;
end $$;
select is((select count(*) from app.merged_guests where account_id = tests.id('bob')),
    8::bigint, 'an account can merge many guests');
select is((select array_agg(old_username order by old_username) from public.username_history
            where user_id = tests.id('bob')),
    array['tap_many4', 'tap_many5', 'tap_many6', 'tap_many7', 'tap_many8'],
    'at most five of the guests'' usernames are held for the account');
select is(tests.as('carol', 'api.change_username(''tap_many1'') ->> ''username'''), 'tap_many1',
    'the other usernames are free');

select * from finish();
rollback;
