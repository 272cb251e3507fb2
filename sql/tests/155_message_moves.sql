-- A5: a merged guest with more messages than the sign-in moves.
begin;
select no_plan();
select tests.make_world();
select tests.make_user(name, true) from unnest(array['guest', 'other', 'long', 'last', 'near', 'far']) name;
create function tests.talk(room text, kind text, members text[]) returns void language plpgsql as $$
declare made uuid;
begin
    insert into public.conversations (kind, title, participant1_id, participant2_id)
    values (kind, case when kind = 'group' then room end,
            case when kind = 'direct' then tests.id(members[1]) end,
            case when kind = 'direct' then tests.id(members[2]) end)
    returning id into made;
    insert into tests.ids values (room, made);
    if kind = 'group' then
        insert into public.conversation_members (conversation_id, user_id)
        select made, tests.id(m) from unnest(members) m;
    end if;
end $$;
-- Without triggers, by which many messages of one transaction would take long.
create function tests.say_many(room text, who text, how_many integer, content text default 'many') returns void
language plpgsql as $$
declare
    talk public.conversations := tests.conversation(room);
begin
    set local session_replication_role = replica;
    insert into public.messages (conversation_id, seq, sender_id, client_id, content, created_at)
    select talk.id, talk.last_seq + n, tests.id(who), gen_random_uuid(), say_many.content || ' ' || n, now()
      from generate_series(1, how_many) n;
    update public.conversations set last_seq = last_seq + how_many, last_message_sender_id = tests.id(who)
     where id = talk.id;
    update public.conversation_members m
       set sent_seq = talk.last_seq + how_many, last_read_seq = talk.last_seq + how_many
     where m.conversation_id = talk.id and m.user_id = tests.id(who);
    set local session_replication_role = origin;
end $$;
create function tests.merge(guest text, account text) returns text language sql as $$
    with session as (insert into app.sessions (user_id) values (tests.id(guest)) returning id)
    select tests.account(format('accounts.merge_guest(%L, %L, %L, 1, 10)', tests.id(account),
            (select encrypted_password from auth.users where id = tests.id(account)), session.id)) from session
$$;
create function tests.written(room text, who text) returns bigint language sql as $$
    select count(*) from public.messages m where m.conversation_id = tests.id(room) and m.sender_id = tests.id(who)
$$;
create function tests.left_to_move(guest text) returns text language sql as $$
    select string_agg(i.name || ' below ' || v.below, ', ' order by i.name)
      from app.message_moves v join tests.ids i on i.id = v.conversation_id where v.guest_id = tests.id(guest)
$$;
insert into tests.ids values ('node one', gen_random_uuid()), ('node two', gen_random_uuid());
create function tests.move(node text default 'node one', waits boolean default false) returns text language sql as $$
    select tests.as('postline_feed', format('app.move_messages(%L, %L)', tests.id(node), waits))
$$;
-- Moves all that is left, and returns the number of batches.
create function tests.move_all() returns integer language plpgsql as $$
declare batches integer := 0;
begin
    while tests.move() = 'moved' loop batches := batches + 1; end loop;
    return batches;
end $$;
create function tests.changes(who text) returns jsonb language plpgsql as $$
declare answer jsonb;
begin
    perform tests.authenticate_as(who);
    select changes::jsonb into answer from api.sync(app.epoch(), '4:4:', null, null, 20, 100000000);
    perform tests.owner();
    return answer;
end $$;
create function tests.page(who text, room text, before_seq bigint) returns jsonb language sql as $$
    select tests.as(who, format('api.messages(%L, %L, null, 50)', tests.id(room), before_seq))::jsonb -> 'messages'
$$;

select is(tests.move(), 'none', 'does nothing if no messages are left to move');
select is((select count(*) from app.leases), 0::bigint, 'takes no lease if no messages are left to move');

-- The guest has written 2,500 messages in a group, and talks with bob, as alice does.
select tests.talk('club', 'group', array['guest', 'bob', 'alice']),
       tests.talk('guest bob', 'direct', array['guest', 'bob']);
select tests.say_many('club', 'guest', 1700), tests.say_many('club', 'bob', 10), tests.say_many('club', 'guest', 800);
select tests.say_many('guest bob', 'guest', 650), tests.say_many('guest bob', 'bob', 2),
       tests.say_many('guest bob', 'guest', 648);
select tests.say('direct', 'alice', 'a1'), tests.say('direct', 'bob', 'b2');
-- A client_id of the guest that alice has used too, in the group and in the direct conversation.
insert into public.messages (conversation_id, sender_id, client_id, content)
select m.conversation_id, tests.id('alice'), m.client_id, 'same'
  from public.messages m where m.conversation_id = tests.id('club') and m.seq = 5;
insert into public.messages (conversation_id, sender_id, client_id, content)
select tests.id('direct'), tests.id('alice'), m.client_id, 'same'
  from public.messages m where m.conversation_id = tests.id('guest bob') and m.seq = 6;
update auth.users set encrypted_password = 'hash' where id in (tests.id('alice'), tests.id('carol'));
create temporary table before as
    select id, conversation_id, seq, sender_id, client_id, content, created_at from public.messages;
select tests.age();

select is(tests.merge('guest', 'alice'), '{"conversations":2,"messages":3798}', 'counts all messages of the guest');
select is(tests.written('club', 'alice') || ' ' || tests.written('direct', 'alice'), '501 502',
    'moves the newest messages during the sign-in, up to 1,000 in total');
select is(tests.left_to_move('guest'), 'club below 2011, guest bob below 801',
    'records the conversations with messages left to move');
select is((select count(*) from app.message_moves), 2::bigint, 'records each conversation once');
-- Bob's read mark is after what alice has read.
select results_eq($$
    select c.last_seq, m.sent_seq, m.last_read_seq >= m.sent_seq from public.conversations c
      join public.conversation_members m on m.conversation_id = c.id and m.user_id = tests.id('alice')
     where c.id = tests.id('direct')
$$, 'values (1303::bigint, 1303::bigint, true)', 'reserves numbers and moves marks for all messages');

-- Before they are moved.
select is(tests.page('bob', 'direct', 804) -> -1 ->> 'seq', '3',
    'a page leaves out messages that are still to be moved into the conversation');
select is((select m from jsonb_array_elements(tests.page('bob', 'club', 600)) m where m ->> 'seq' = '599') -> 'sender',
    jsonb_build_object('id', tests.id('guest'), 'username', null, 'full_name', null, 'avatar_type', null,
        'avatar_id', null, 'avatar_url', null,
        'version', (select version from public.user_profiles where id = tests.id('guest'))),
    'an unmoved message has the deleted guest as sender');
select ok((select bool_or(p ->> 'id' = tests.id('guest')::text and (p ->> 'is_deleted')::boolean)
             from jsonb_array_elements(tests.changes('bob') -> 'profiles') p), 'members get the guest''s profile');
select matches(tests.as('bob', format('api.edit_message(%L, 1, ''x'')', tests.id('club'))),
    '^PL007 ', 'a user who is not the sender cannot edit an unmoved message');
select matches(tests.as('mallory', format('app.move_message(%L, 1)', tests.id('club'))),
    '^PL008 ', 'a non-member cannot move a message');
select is(tests.as('bob', format('app.move_message(%L, 1)', tests.id('club'))), 'false',
    'another member cannot move a message');
select is(tests.as('carol', format('api.messages(%L)', tests.id('guest bob')))::text like 'PL008%', true,
    'a message that has left its conversation is not visible there');
select is(tests.as('alice', format('api.edit_message(%L, 1, ''edited'')', tests.id('club')))::jsonb
            - '{id,conversation_id,sender,client_id,created_at,edited_at,is_read,attachment,attachments}'::text[]
            - '{mentions,mentions_everyone,reply_to,data}'::text[],
    jsonb_build_object('seq', 1, 'sender_id', tests.id('alice'), 'kind', 'text', 'content', 'edited', 'version', 3,
        'deleted_at', null), 'the account can edit an unmoved message, which moves it');
select ok(tests.as('alice', format('api.delete_message(%L, 2) ->> ''deleted_at''', tests.id('club'))) is not null,
    'the account can delete an unmoved message');

-- The rule of moves.
select is(tests.attempt('none', format('update public.messages set %s where conversation_id = %L and seq = 3',
        change, tests.id('club'))), '23001', change)
  from unnest(array[
    format('sender_id = %L', tests.id('bob')), format('sender_id = %L, content = ''x''', tests.id('alice')),
    format('sender_id = %L, client_id = gen_random_uuid()', tests.id('alice')), 'client_id = null',
    'seq = 90000', format('sender_id = %L, seq = 90000', tests.id('alice')),
    format('conversation_id = %L, seq = 90000', tests.id('direct'))]) change;
select is(tests.attempt('none', format('update public.messages set conversation_id = %L, seq = 4 '
        'where conversation_id = %L and seq = 1', tests.id('group'), tests.id('guest bob'))), '23001',
    'a message can move only to its reserved number');

-- Permissions.
select is(tests.attempt(who, statement), '42501', who || ': ' || statement)
  from unnest(array['alice', 'anon', 'service_role', 'postline_accounts', 'postline_sender', 'tests_login']) who,
       unnest(array['select from app.message_moves', 'delete from app.message_moves',
                    'select app.move_messages(gen_random_uuid(), false)',
                    'select app.move_batch(gen_random_uuid(), gen_random_uuid(), 1)',
                    'select app.reassign_messages(''{}'', gen_random_uuid(), gen_random_uuid(), 0)']) statement;
select is(tests.attempt('postline_feed', 'select from app.message_moves'), '42501',
    'the feed cannot read message_moves');

-- Batches.
do $$ begin
    perform tests.move();
    raise exception 'killed';
exception when others then end $$;
select is(tests.left_to_move('guest'), 'club below 2011, guest bob below 801',
    'a batch that is interrupted changes nothing');
select is(tests.move('node one'), 'moved', 'the next batch moves the messages');
select is(tests.move('node two'), 'led', 'another node does not move messages without the lease');
update app.leases set expires_at = clock_timestamp() - interval '1 ms';
select is(tests.move('node two', true), 'moved', 'another node moves messages after the lease has expired');
select is(tests.move('node one'), 'led', 'the first node then no longer has the lease');
update app.leases set expires_at = clock_timestamp() - interval '1 ms';
select ok(tests.move_all() <= 4, 'at most four batches move all messages');
select is((select count(*) from app.message_moves), 0::bigint, 'no conversations are left to move');
select is(tests.move(), 'none', 'the next batch finds nothing to do');
select is((select count(*) from public.messages where sender_id = tests.id('guest')), 0::bigint,
    'no messages of the guest are left');
select is_empty($$
    select n.id from public.messages n full join before b using (id)
     where n.id is null or b.id is null or n.created_at <> b.created_at
        or n.content is distinct from b.content and n.content <> 'edited' and n.deleted_at is null
        or n.seq <> b.seq + case when b.conversation_id = tests.id('guest bob') then 3 else 0 end
        or n.conversation_id <> case when b.conversation_id = tests.id('guest bob') then tests.id('direct')
                                     else b.conversation_id end
        or n.sender_id <> case when b.sender_id = tests.id('guest') then tests.id('alice') else b.sender_id end
$$, 'keeps every message once, with its number and sender');
select is((select count(*) from public.messages n join before b using (id)
            where n.client_id is distinct from b.client_id), 2::bigint,
            'messages keep their client_ids unless they are taken');
select is_empty($$
    select c.id from public.conversations c
     where c.last_seq <> (select count(*) from public.messages m where m.conversation_id = c.id)
        or c.last_seq <> coalesce((select max(seq) from public.messages m where m.conversation_id = c.id), 0)
$$, 'message numbers have no gaps');
select is((select count(*) from jsonb_array_elements(tests.changes('bob') -> 'messages') m
            where m ->> 'conversation_id' = tests.id('club')::text),
    2500::bigint, 'a delta from before the merge has all of the guest''s messages');
select is((select messages from app.merged_guests where guest_id = tests.id('guest')), 3798,
    'the recorded number of messages does not change');

-- Long texts: a batch ends after 1 MiB of them, and has at least one message.
select tests.talk('texts', 'group', array['long', 'bob']);
select tests.say_many('texts', 'long', 300, repeat('x', 7000));
select is(tests.merge('long', 'alice'), '{"conversations":1,"messages":300}', 'counts long messages');
select ok(tests.written('texts', 'alice') between 140 and 160, 'moves about 1 MiB of text per batch');
select is(tests.move_all() || ' ' || tests.written('texts', 'alice'), '1 300', 'moves all long messages');

-- A guest that wrote in a group and left: its newest message is far back. The account's marks follow.
select tests.talk('left', 'group', array['bob', 'other', 'alice']);
select tests.say_many('left', 'other', 30);
delete from public.conversation_members where conversation_id = tests.id('left') and user_id = tests.id('other');
select tests.say_many('left', 'bob', 10050);
select is(tests.merge('other', 'alice'), '{"conversations":0,"messages":30}', 'counts all messages, however old');
select is(tests.written('left', 'alice'), 0::bigint, 'the sign-in searches the last 10,000 messages of a conversation');
select is(tests.move_all() || ' ' || tests.written('left', 'alice'), '1 30', 'a batch finds older messages');
select is((select sent_seq || ' ' || (last_read_seq >= sent_seq)
             from public.conversation_members where conversation_id = tests.id('left') and user_id = tests.id('alice')),
    '30 true', 'a batch moves the read mark');

-- The account is deleted before all messages are moved.
select tests.talk('early', 'group', array['last', 'bob']);
select tests.say_many('early', 'last', 1200);
select is(tests.merge('last', 'carol'), '{"conversations":1,"messages":1200}', 'merges another guest');
select is(tests.left_to_move('last'), 'early below 201', 'that guest has more messages than one batch moves');
select is(tests.account(format('accounts.delete_user(%L, ''hash'')', tests.id('carol'))), '{"deleted":true}',
    'deletes the account');
select is(tests.move_all() || ' ' || tests.written('early', 'carol') || ' ' || tests.written('early', 'last'),
    '1 1200 0', 'the rest of the messages moves to the account''s tombstone');
select is((select count(*) from app.message_moves), 0::bigint, 'no conversations are left to move');
select ok((select bool_and(m -> 'sender' -> 'full_name' = 'null' and m ->> 'sender_id' = tests.id('carol')::text)
             from jsonb_array_elements(tests.page('bob', 'early', 100)) m),
             'members see those messages under the tombstone');

-- Two guests who talk with each other are merged into two accounts that do.
select tests.talk('near far', 'direct', array['near', 'far']),
       tests.talk('alice mallory', 'direct', array['alice', 'mallory']);
select tests.say('alice mallory', 'mallory', 'm1');
select tests.say_many('near far', 'near', 1300, 'near'), tests.say_many('near far', 'far', 1300, 'far');
update auth.users set encrypted_password = 'hash' where id = tests.id('mallory');
select is(tests.merge('near', 'alice'), '{"conversations":1,"messages":1300}', 'merges the first of two guests');
select is(tests.left_to_move('near'), 'near far below 301', 'the first guest has messages left to move');
select is(tests.merge('far', 'mallory'), '{"conversations":1,"messages":1300}', 'merges the second guest');
select is(tests.left_to_move('near') is null and tests.left_to_move('far') is not null, true,
    'the second guest''s move takes over the first one''s rest');
select ok(tests.move_all() > 0, 'moves the messages of both guests');
select results_eq($$
    select i.name, min(m.seq), max(m.seq), count(*)
      from public.messages m join tests.ids i on i.id = m.sender_id
     where m.conversation_id = tests.id('alice mallory') and m.content <> 'm1' group by i.name order by i.name
$$, $$values ('alice', 2::bigint, 1301::bigint, 1300::bigint), ('mallory', 1302, 2601, 1300)$$,
    'both accounts get their messages in order');

-- Two guests of one account, who talk with one user: the numbers of one are reserved before those of the other.
select tests.make_user(name, true) from unnest(array['left one', 'right one']) name;
select tests.talk('left bob', 'direct', array['left one', 'bob']),
       tests.talk('right bob', 'direct', array['right one', 'bob']);
select tests.say_many('left bob', 'left one', 1100, 'left'),
       tests.say_many('right bob', 'right one', 1100, 'right');
select is(tests.merge('left one', 'alice') || tests.merge('right one', 'alice'),
    '{"conversations":1,"messages":1100}{"conversations":1,"messages":1100}', 'merges two guests into one account');
select is(tests.left_to_move('left one') || ' ' || tests.left_to_move('right one'),
    'left bob below 101 right bob below 101', 'both guests have messages left to move');
select tests.say('direct', 'alice', 'after');
select ok(tests.move_all() = 2, 'moves the messages of both guests');
select results_eq($$
    select split_part(m.content, ' ', 1), min(m.seq), max(m.seq), count(*)
      from public.messages m where m.conversation_id = tests.id('direct') and m.seq > 1303 group by 1 order by 2
$$, $$
    values ('left', 1304::bigint, 2403::bigint, 1100::bigint), ('right', 2404, 3503, 1100), ('after', 3504, 3504, 1)
$$, 'each message gets its reserved number');

-- A guest with more reactions than the sign-in moves: 1,500 to messages of bob in a group, of which alice has set two
-- too, and with bob 1,400 to messages of their conversation.
create function tests.react_to_all(room text, who text, emoji text) returns void language plpgsql as $$
begin
    set local session_replication_role = replica;
    insert into public.message_reactions (conversation_id, user_id, seq, emoji)
    select m.conversation_id, tests.id(who), m.seq, react_to_all.emoji
      from public.messages m where m.conversation_id = tests.id(room);
    insert into public.reaction_counts as c (conversation_id, seq, counts)
    select m.conversation_id, m.seq, jsonb_build_object(react_to_all.emoji, 1)
      from public.messages m where m.conversation_id = tests.id(room)
    on conflict on constraint reaction_counts_pkey do update set counts = c.counts || excluded.counts;
    set local session_replication_role = origin;
end $$;
create function tests.reactions_of(room text, who text) returns bigint language sql as $$
    select count(*) from public.message_reactions r
     where r.conversation_id = tests.id(room) and r.user_id = tests.id(who) and r.is_set
$$;
create function tests.wrong_counts() returns setof text language sql as $$
    select c.seq || ' ' || c.counts from public.reaction_counts c
     where c.counts is distinct from (
        select coalesce(jsonb_object_agg(n.emoji, n.number), '{}')
          from (select r.emoji, count(*) as number from public.message_reactions r
                 where r.conversation_id = c.conversation_id and r.seq = c.seq and r.is_set group by 1) n)
$$;
select tests.make_user('fan', true);
select tests.talk('wall', 'group', array['fan', 'bob', 'alice']), tests.talk('fan bob', 'direct', array['fan', 'bob']);
select tests.say_many('wall', 'bob', 1500), tests.say_many('fan bob', 'bob', 700);
select tests.react_to_all('wall', 'fan', '👍'), tests.react_to_all('fan bob', 'fan', '👍'),
       tests.react_to_all('fan bob', 'bob', '❤️');
select tests.as('alice', format('api.react(%L, %s, ''👍'')', tests.id('wall'), seq))
  from unnest(array[1, 1500]) seq;
select tests.as('fan', format('api.react(%L, 7, %L, false)', tests.id('wall'), '👍'));
select tests.age();
select is(tests.merge('fan', 'alice'), '{"conversations":2,"messages":0}', 'merges a guest who has only reacted');
select is(format('%s %s %s', tests.reactions_of('wall', 'alice'), tests.reactions_of('direct', 'alice'),
                 tests.reactions_of('direct', 'bob')), '501 250 250',
    'the sign-in moves the newest reactions, 500 in each of two conversations');
select is(jsonb_array_length(tests.changes('alice') -> 'reactions') >= 500, true, 'the account''s devices get them');
select is(format('%s %s', tests.move_all(), tests.left_to_move('fan')), '4 ', 'batches move the rest');
select is(format('%s %s %s %s', tests.reactions_of('wall', 'alice'), tests.reactions_of('direct', 'alice'),
                 tests.reactions_of('direct', 'bob'), tests.reactions_of('wall', 'fan')), '1499 700 700 0',
    'a reaction of guest and account is one, and one that was taken back is none');
select is_empty('select tests.wrong_counts()', 'the numbers are those of the rows');
select is(tests.attempt('alice', format('update public.message_reactions set user_id = %L', tests.id('bob'))), '42501',
    'nobody else moves reactions');

select * from finish();
rollback;
