-- Scheduled messages: who may schedule what, how they are sent at their time, and what becomes of refused ones.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('guest', true);
select tests.say('group', 'alice', 'one');
select tests.say('direct', 'bob', 'old');
select tests.age();

-- Schedules a message in an hour, or calls with other params, and returns its content and time; or the error.
create function pg_temp.plan(who text, room text, content text, rest text default '', due text default null)
returns text language plpgsql as $$
declare
    answer text := tests.as(who, format('api.schedule_message(%L, %L, %L%s)', tests.id(room),
        coalesce(due, app.utc(now() + interval '1 hour')), content, rest));
begin
    if answer not like '{%' then return answer; end if;
    return concat_ws(' ', answer::json ->> 'kind', answer::json ->> 'content',
        (answer::json ->> 'due_at')::timestamptz - now());
end $$;
-- Makes all waiting messages due, sends them, and returns how many were handled.
create function pg_temp.send() returns integer language plpgsql as $$
declare
    handled integer;
begin
    update public.scheduled_messages set next_try_at = now() - interval '1 hour' + (next_try_at - due_at)
     where refusal is null;
    perform set_config('role', 'postline_feed', true);
    handled := 0;
    while app.send_due() loop
        handled := handled + 1;
    end loop;
    perform tests.owner();
    return handled;
end $$;
create function pg_temp.listed(who text, params text default '') returns text language sql as $$
    select coalesce(string_agg(concat_ws(': ', s ->> 'content', s -> 'error' ->> 'code'), ', ' order by n), 'none')
      from json_array_elements(tests.as(who, format('api.scheduled_messages(%s)', params))::json -> 'scheduled')
           with ordinality as w (s, n)
$$;
create function pg_temp.counts(who text, room text) returns text language sql as $$
    select concat_ws(' ', c ->> 'scheduled_count', c ->> 'unsent_count')
      from (select tests.as(who, format('api.conversation(%L)', tests.id(room)))::json) w (c)
$$;

select is(pg_temp.plan(who, room, content, rest, due), answer, format('%s in %s: %s%s %s', who, room, left(content, 9),
                                                                   rest, due))
  from (values
    ('alice', 'group', 'later', '', null, 'text later 01:00:00'),
    ('alice', 'group', '', ', kind => ''custom'', data => ''{"a": 1}''', null, 'custom  01:00:00'),
    ('mallory', 'group', 'x', '', null, 'PL008 There is no such conversation.'),
    ('alice', 'group', '', '', null, 'PL001 "content" must be 1 to 8000 characters long.'),
    ('alice', 'group', repeat('x', 8001), '', null, 'PL001 "content" must be 1 to 8000 characters long.'),
    ('alice', 'group', 'x', '', 'tomorrow',
        'PL001 "due_at" must be a time such as 2026-11-20T10:00:00Z, from 1970 to 9999.'),
    ('alice', 'group', 'x', '', '2020-01-01T00:00:00Z',
        'PL001 "due_at" must be in the future, at most a year from now.'),
    ('alice', 'group', 'x', '', '2999-01-01T00:00:00Z',
        'PL001 "due_at" must be in the future, at most a year from now.'),
    ('alice', 'group', 'x', ', kind => ''system''', null, 
        'PL001 "kind" must be "text", "image", "video", "audio", "file" or "custom".'),
    ('alice', 'group', 'x', ', kind => ''image''', null,
        'PL001 "attachment" is missing: a message of kind "image" needs it, or "attachments".'),
    ('alice', 'group', 'x', ', reply_to_seq => 9', null, 'PL008 There is no such message.'),
    ('carol', 'group', 'x', ', mentions_everyone => true', null,
        'PL007 Only the owner and admins of a group can mention everyone.'))
    w (who, room, content, rest, due, answer);
select is(tests.as('alice', format('api.schedule_message(%L, null, %L)', tests.id('group'), 'x')),
    'PL001 "due_at" must be in the future, at most a year from now.', 'without a time');
select is((select last_seq from tests.conversation('group')), 1::bigint, 'checks send nothing');
select is((select count(*) from public.messages where conversation_id = tests.id('group')), 1::bigint,
    'checks write nothing');
select is(pg_temp.listed('alice'), 'later, ', 'the list');
select is(pg_temp.listed('bob'), 'none', 'the list of another');
select is(pg_temp.counts('alice', 'group'), '2 0', 'the numbers of the conversation');
select is(pg_temp.counts('bob', 'group'), '0 0', 'not told to another member');

-- The member's devices are told.
create function pg_temp.poll() returns text[] language sql as $$
    select array(select concat_ws(' ', l.kind, l.member, l.object::jsonb ->> 'scheduled_count',
                                  l.object::jsonb ->> 'unsent_count')
                   from tests.read_changes() l)
$$;
select is(pg_temp.poll(), array['own_conversation alice 2 0'], 'the feed tells the sender alone');
select is((select (feed.own_numbers(tests.id('group'), array[tests.id('alice')], '{0}'))[3]), 512::bigint,
    'two are 2 × 256 in feed.own_numbers');

-- Rights by SQL.
select is(tests.attempt('alice', 'select from public.scheduled_messages'), '2', 'a user selects its own');
select is(tests.attempt('bob', 'select from public.scheduled_messages'), '0', 'and not those of others');
select is(tests.attempt('bob', 'delete from public.scheduled_messages'), '0', 'nor deletes them');
select is(tests.attempt('alice', 'update public.scheduled_messages set content = ''x'''), '42501', 'updates none');
select is(left(tests.attempt('bob', format(
    'insert into public.scheduled_messages (sender_id, conversation_id, due_at, content) values (%L, %L, %L, %L)',
    tests.id('alice'), tests.id('group'), now() + interval '1 hour', 'as alice')), 5), 'PL008',
    'a user schedules nothing for another');
select is(tests.attempt('bob', 'select app.send_due()'), '42501', 'a user sends nothing');
select is(left(tests.attempt('bob', format(
    'insert into public.scheduled_messages (sender_id, conversation_id, due_at, content, refusal)
     values (%L, %L, now(), %L, %L)', tests.id('bob'), tests.id('group'), 'x', '{}')), 5), '42501',
    'a user sets no refusal');

-- At their time.
select is(app.send_due(), false, 'before their time none is sent');
select is(pg_temp.send(), 2, 'both are sent');
select results_eq(
    $$select seq, kind::text, content::text, client_id is not null from public.messages
       where conversation_id = tests.id('group') and seq > 1 order by seq$$,
    $$values (2::bigint, 'text', 'later', true), (3, 'custom', '', true)$$, 'as messages, in their order');
select is(pg_temp.listed('alice') || ' ' || pg_temp.counts('alice', 'group'), 'none 0 0',
    'and are no longer scheduled');
select is(pg_temp.send(), 0, 'once');

-- The same client_id.
select is(pg_temp.plan('bob', 'direct', content, ', client_id => ''00000000-0000-4000-8000-0000000000aa''', due),
    answer, format('%s with a client_id', content))
  from (values ('twice', '2099-01-01T00:00:00Z', 'PL001 "due_at" must be in the future, at most a year from now.'),
               ('twice', null, 'text twice 01:00:00'), ('twice', null, 'text twice 01:00:00'),
               ('other', null, 'PL012 "client_id" was already used for another message in this conversation.'))
    w (content, due, answer);
select is(pg_temp.listed('bob'), 'twice', 'is one message');
select is(pg_temp.send(), 1, 'is sent once');
select is(pg_temp.plan('bob', 'direct', content, ', client_id => ''00000000-0000-4000-8000-0000000000aa'''), answer,
    format('%s after it was sent', content))
  from (values ('twice', 'text twice 01:00:00'),
               ('other', 'PL012 "client_id" was already used for another message in this conversation.'))
    w (content, answer);
select is(pg_temp.listed('bob'), 'none', 'and is not scheduled again');

-- Refused ones.
select pg_temp.plan('carol', 'group', 'removed');
select pg_temp.plan('bob', 'group', 'stays');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('carol');
select is(pg_temp.send(), 2, 'one is sent, one refused');
select is(pg_temp.listed('carol') || '; ' || pg_temp.listed('bob'), 'removed: not_found; none',
    'the one of a removed member is kept with the reason');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('carol'));
select is(pg_temp.counts('carol', 'group'), '0 1', 'a member that returns has its unsent messages');
select is(pg_temp.send(), 0, 'it is not tried again');
select is(tests.as('bob', format('api.unschedule_message(%L)',
    (select id from public.scheduled_messages where sender_id = tests.id('carol')))),
    'PL008 There is no such scheduled message. It may be sent.', 'another user removes none');
select is(tests.as('carol', format('api.unschedule_message(%L)',
    (select id from public.scheduled_messages)))::json ->> 'content', 'removed', 'its sender removes it');

-- A failure that may pass.
select pg_temp.plan('bob', 'direct', 'flaky');
create function pg_temp.fail() returns trigger language plpgsql as $$ begin raise 'broken'; end $$;
create trigger a_fault before insert on public.messages for each row execute function pg_temp.fail();
select is(pg_temp.send(), 1, 'it is tried');
select is((select tries || ' ' || (next_try_at > now()) || ' ' || (refusal is null) from public.scheduled_messages),
    '1 true true', 'and later again');
update public.scheduled_messages set tries = 9;
select pg_temp.send();
select is(pg_temp.listed('bob') || ' ' || pg_temp.counts('bob', 'direct'), 'flaky: unavailable 0 1',
    'after ten attempts it is refused, and counted as unsent');
drop trigger a_fault on public.messages;

-- A banned sender.
select pg_temp.plan('bob', 'direct', 'banned');
update auth.users set banned_until = now() + interval '1 day' where id = tests.id('bob');
select pg_temp.send();
update auth.users set banned_until = null where id = tests.id('bob');
select is(pg_temp.listed('bob', format('%L, 1, null', tests.id('direct'))), 'flaky: unavailable', 'a page of one');
select is(pg_temp.listed('bob', format('null, 50, %L',
    tests.as('bob', 'api.scheduled_messages(null, 1)')::json ->> 'next')), 'banned: forbidden', 'the next page');
select is(tests.as('bob', 'api.scheduled_messages(null, 51)'), 'PL001 "limit" must be 1 to 50.', 'too large a page');
select is(left(tests.as('bob', 'api.scheduled_messages(null, 1, ''x'')'), 12), 'PL001 "after', 'a wrong position');

-- The bound.
select pg_temp.plan('alice', 'direct', 'n' || n) from generate_series(1, 100) n;
select is(left(pg_temp.plan('alice', 'direct', 'n101'), 37), 'PL007 You have 100 scheduled messages',
    '101 are too many');
select is((select count(*) from public.scheduled_messages where sender_id = tests.id('alice')), 100::bigint,
    '100 are not');

-- Many at one time.
select is((select array_agg(next_try_at - due_at order by next_try_at) from public.scheduled_messages
            where sender_id = tests.id('alice') and next_try_at < due_at + interval '2 s'),
    '{0,0.5,1,1.5}'::interval[], 'a sender''s messages of one time are sent half a second apart');
select pg_temp.plan('bob', 'group', 'of another');
select is((select next_try_at - due_at from public.scheduled_messages where content = 'of another'), '0',
    'those of others at their time');
delete from public.scheduled_messages where content in ('n7', 'n100');
select pg_temp.plan('alice', 'direct', 'again');
select is((select next_try_at - due_at from public.scheduled_messages where content = 'again'), '3',
    'a time that is free again is used');

-- Rows by SQL.
select tests.authenticate_as('bob');
insert into public.scheduled_messages (sender_id, conversation_id, due_at, content, mentions)
values (tests.id('bob'), tests.id('group'), now() + interval '2 hours', 'mentions',
        array[array[tests.id('alice'), null], array[tests.id('group'), tests.id('alice')]]);
select tests.owner();
select is((select mentions from public.scheduled_messages where content = 'mentions'),
    array[tests.id('alice'), tests.id('group')], 'mentions are a list without nulls and repetitions');
select is(left(tests.as('bob', format('api.%s(%L%s, %L, kind => ''image'', attachment => ''5'')', function,
    tests.id('group'), due, 'x')), 32), 'PL001 "attachment" must be an ob', function || ' with a number as attachment')
  from (values ('schedule_message', format(', %L', app.utc(now() + interval '1 hour'))), ('send_message', ''))
    w (function, due);

-- Pictures.
delete from public.scheduled_messages;
insert into public.media (id, owner_id, purpose, conversation_id, mime_type, bytes, stored_at, created_at)
values ('00000000-0000-4000-8000-00000000000e', tests.id('alice'), 'message', tests.id('direct'), 'image/png', 10,
        now(), now() - interval '3 days');
select is(pg_temp.plan('alice', 'direct', content, format(', kind => ''image'', attachment => %L',
        '{"media_id": "00000000-0000-4000-8000-00000000000e", '
        '"url": "https://a.example/00000000-0000-4000-8000-00000000000e"}')),
    answer, content)
  from (values ('a picture', 'image a picture 01:00:00'),
               ('the same', 'PL001 "attachment.media_id" is already used by another scheduled message.'))
    w (content, answer);
select app.claim_removals(10);
select is((select used_at is null from public.media where id = '00000000-0000-4000-8000-00000000000e'), true,
    'a picture that waits with its message is not removed');
select is(pg_temp.send(), 1, 'it is sent');
select is((select used_at is not null from public.media where id = '00000000-0000-4000-8000-00000000000e'), true,
    'and the picture is used');

-- A guest that becomes an account.
select tests.say('direct', 'alice', 'before');
insert into public.conversations (participant1_id, participant2_id)
select least(tests.id('guest'), tests.id('bob')), greatest(tests.id('guest'), tests.id('bob'));
insert into tests.ids select 'guest_bob', c.id from public.conversations c
 where tests.id('guest') in (c.participant1_id, c.participant2_id);
select tests.say('guest_bob', 'guest', 'hi');
select pg_temp.plan('guest', 'guest_bob', 'of the guest', ', reply_to_seq => 1');
select pg_temp.plan('bob', 'guest_bob', 'to the guest', ', reply_to_seq => 1');
insert into public.conversations (participant1_id, participant2_id)
select least(tests.id('guest'), tests.id('alice')), greatest(tests.id('guest'), tests.id('alice'));
insert into tests.ids select 'guest_alice', c.id from public.conversations c
 where c.participant1_id = least(tests.id('guest'), tests.id('alice'))
   and c.participant2_id = greatest(tests.id('guest'), tests.id('alice'));
select pg_temp.plan('guest', 'guest_alice', 'to myself'), pg_temp.plan('alice', 'guest_alice', 'to myself too');
select app.merge_users(tests.id('guest'), tests.id('alice'));
select results_eq(
    $$select s.content::text, s.sender_id = any (array[tests.id('alice'), tests.id('bob')]), s.conversation_id,
             s.reply_to_seq from public.scheduled_messages s order by content$$,
    format($$values ('of the guest', true, %L::uuid, %s::bigint), ('to the guest', true, %L::uuid, %s)$$,
        tests.id('direct'), (select last_seq from tests.conversation('direct')),
        tests.id('direct'), (select last_seq from tests.conversation('direct'))),
    'scheduled messages move with a merged conversation, and those between guest and account are deleted');
select is(pg_temp.counts('alice', 'direct') || ' ' || pg_temp.counts('bob', 'direct'), '1 0 1 0',
    'and are counted there');
select is(pg_temp.send(), 2, 'and are sent there');

-- A guest with more than the account may have.
select tests.make_user('second', true);
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('second'));
select pg_temp.plan('alice', 'direct', 'account ' || n) from generate_series(1, 98) n;
select pg_temp.plan('second', 'group', 'guest ' || n, due => app.utc(now() + n * interval '1 hour'))
  from unnest(array[3, 1, 2]) n;
select app.merge_users(tests.id('second'), tests.id('alice'));
select is((select string_agg(content, ', ' order by content) from public.scheduled_messages
            where content like 'guest%'), 'guest 1, guest 2', 'the earliest remain, up to 100');
select is((select count(*) from public.scheduled_messages where sender_id = tests.id('alice')), 100::bigint,
    'of the account');

-- A deleted account.
select pg_temp.plan('alice', 'direct', 'never');
update public.user_profiles set is_deleted = true where id = tests.id('alice');
select is((select count(*) from public.scheduled_messages), 0::bigint, 'those of a deleted account are deleted');
select * from finish();
rollback;
