-- Devices, mutes and pushes: from a sent message to the provider's response.
begin;
select no_plan();
select tests.make_world();

create function tests.register(who text, token text, platform text default 'apns') returns uuid language plpgsql as $$
declare
    answer json;
begin
    perform tests.authenticate_as(who);
    answer := api.register_device(platform, token, 'production', 'de-AT');
    perform tests.owner();
    return answer ->> 'id';
end $$;
create function tests.devices_of(who text) returns text language sql as $$
    select coalesce(string_agg(d ->> 'platform' || ' ' || (d ->> 'token'), ', ' order by d ->> 'token'), 'none')
      from json_array_elements(tests.as(who, 'api.devices()')::json -> 'devices') d
$$;
-- The work of the node that pushes: queues the changes since the world was aged, and claims due pushes, as if so much
-- later.
create function tests.queue() returns integer language plpgsql as $$
declare
    noted integer;
begin
    delete from app.push_cursor;
    insert into app.push_cursor (epoch, snapshot) values (app.epoch(), '4:4:');
    perform tests.authenticate_as('postline_feed');
    noted := app.queue_pushes();
    perform tests.owner();
    perform tests.age();
    return noted;
end $$;
create function tests.due(later interval default '3 seconds', with_text boolean default true) returns text[]
language plpgsql as $$
declare
    told text[];
begin
    update app.pushes set due_at = due_at - later, noted_at = noted_at - later;
    perform tests.authenticate_as('postline_feed');
    select array_agg(concat_ws(' ', d.kind, d.token, c.name, d.seq, d.sender_name, d.content, d.badge)
                     order by d.token, c.name)
      into told from app.claim_pushes(100, with_text) d join tests.ids c on c.id = d.conversation_id;
    perform tests.owner();
    return coalesce(told, '{}');
end $$;
create function tests.record_result(token text, room text, seq bigint, kind text, outcome text, retry float8 default 0)
returns void language plpgsql as $$
declare
    device uuid := (select d.id from app.devices d where d.token = record_result.token);
begin
    perform tests.authenticate_as('postline_feed');
    perform app.record_push_results(array[device], array[tests.id(room)], array[seq], array[kind], array[outcome],
                              array[retry]);
    perform tests.owner();
end $$;

create function tests.name_of(id uuid) returns text language sql stable as $$
    select i.name from tests.ids i where i.id = name_of.id
$$;
create function tests.delta_of(who text) returns jsonb language plpgsql as $$
declare
    answer jsonb;
begin
    perform tests.authenticate_as(who);
    select p.changes::jsonb into answer from api.sync(app.epoch(), '4:4:', null, null, 20, 524288) p;
    perform tests.owner();
    return answer;
end $$;

-- Devices.
select tests.register('bob', 'b1') as first \gset
select is(tests.register('bob', 'b1'), :'first'::uuid, 'the same token of the same user is the same device');
select isnt(tests.register('carol', 'b1'), :'first'::uuid, 'a token that another user registers is a new device');
select is(tests.devices_of('bob'), 'none', 'a token belongs only to the user who registered it last');
select tests.register('carol', 'a token that is long', 'webhook');
select is(tests.devices_of('carol'), 'apns b1, webhook s long',
    'a user sees its own devices with the ends of their tokens');
select tests.as('bob', $$app.register_device('apns', 'bob''s', 'production', repeat('x', 30000000))$$);
select is((select coalesce(locale, 'none') from app.devices where token = 'bob''s'), 'none',
    'a locale that is no language tag is not stored');
delete from app.devices where token = 'bob''s';
select is(tests.field_of('bob', $$select api.register_device('pager', 'x')$$), 'PL001 platform',
    'rejects an unknown platform');
select is(tests.field_of('bob', $$select api.register_device('apns', '')$$), 'PL001 token', 'rejects an empty token');
select is(tests.field_of('bob', $$select api.register_device('apns', repeat('x', 2049))$$),
    'PL001 token', 'rejects a token of 2049 bytes');
select is(tests.field_of('bob', $$select api.register_device('apns', 'x', 'staging')$$), 'PL001 environment',
    'rejects an unknown environment');
select is(tests.as('bob', format('api.remove_device(%L)', d.id)), 'PL008 There is no such device.',
    'a user cannot remove another user''s device') from app.devices d where d.token = 'b1';
select is(tests.as('carol', format('api.remove_device(%L)', d.id)), '{}', 'a user can remove its own device')
  from app.devices d where d.token = 'b1';
select is(tests.devices_of('carol'), 'webhook s long', 'a removed device is gone');
select count(tests.register('mallory', 'm' || n)) from generate_series(1, 40) n;
select is((select count(*) from app.devices where user_id = tests.id('mallory')), 10::bigint,
    'a user has at most ten devices');
select is(tests.attempt('bob', 'insert into app.devices (user_id, platform, token, environment) values '
    || format('(%L, ''apns'', ''x'', ''production'')', tests.id('alice'))), '42501',
    'a user cannot insert a device by SQL');
select is(tests.attempt('bob', 'select session_id from app.devices'), '42501',
    'a user cannot read sessions of devices');
select is(tests.attempt('alice', 'select from app.pushes'), '42501', 'a user cannot read pushes');

-- A device is deleted with its session, and an ended session registers none.
insert into app.sessions (id, user_id, refreshed_at) values (tests.id('direct'), tests.id('bob'), now());
create function tests.in_session(token text) returns text language plpgsql as $$
begin
    perform set_config('request.jwt.claims', json_build_object('sub', tests.id('bob'), 'role', 'authenticated',
        'session_id', tests.id('direct'))::text, true);
    perform set_config('role', 'authenticated', true);
    perform api.register_device('apns', token);
    perform tests.owner();
    return 'registered';
exception
    when others then
        perform tests.owner();
        return sqlstate;
end $$;
select is(tests.in_session('b2'), 'registered', 'a session can register a device');
update app.sessions set revoked_at = now() where id = tests.id('direct');
select is(tests.devices_of('bob'), 'none', 'a device is removed when its session ends');
select is(tests.in_session('b3'), 'PL006', 'an ended session cannot register a device');

-- Mutes.
select tests.age();
select is(tests.as('alice', format('api.mute_conversation(%L, %L)', tests.id('direct'), '2030-01-02T03:04:05.5+01:00'))
    ::json ->> 'muted_until', '2030-01-02T02:04:05.500000Z', 'mute_conversation returns the conversation');
select results_eq(
    $$select kind, tests.name_of(user_id), object::json ->> 'muted_until' from feed.poll_changes('4:4:', '{mutes}')$$,
    $$values ('own_conversation', 'alice', '2030-01-02T02:04:05.500000Z')$$,
    'the feed returns a mute to the user who set it');
select is(tests.as('bob', format('api.conversation(%L)', tests.id('direct')))::jsonb -> 'muted_until', 'null'::jsonb,
    'another member does not see the mute');
select is(tests.attempt('bob', 'select from public.conversation_mutes'), '0',
    'another member does not see the mute by SQL');
select is(tests.attempt('bob', format('insert into public.conversation_mutes values (%L, %L, now())',
    tests.id('group'), tests.id('alice'))), '42501', 'a user cannot mute for another user');
select is(tests.attempt('mallory', format('insert into public.conversation_mutes (conversation_id, user_id, muted_until)
    values (%L, %L, now())', tests.id('group'), tests.id('mallory'))), '42501',
    'a user cannot mute a conversation without being a member');
select is(tests.as('mallory', format('api.mute_conversation(%L, null)', tests.id('group'))),
    'PL008 There is no such conversation.', 'a non-member does not find the conversation');
select is(tests.field_of('alice', format('select api.mute_conversation(%L, %L)', tests.id('direct'), time)),
    'PL001 until', 'rejects the time ' || time)
  from unnest(array['tomorrow', '2030-02-30T00:00:00Z', '1969-12-31T00:00:00Z', 'infinity', '2030-01-01']) time;
select ok(c.answer -> 'conversations' -> 0 ->> 'muted_until' is not null, 'the user''s delta has the mute')
  from (select tests.delta_of('alice') as answer) c;
select is(tests.delta_of('bob') -> 'conversations', null, 'another member''s delta does not have the mute');
select is(tests.as('alice', format('api.mute_conversation(%L, null)', tests.id('direct')))::jsonb -> 'muted_until',
    'null'::jsonb, 'null ends a mute');
select is(tests.as('alice', format('api.mute_conversation(%L, %L)', tests.id('direct'), '2020-01-01T00:00:00Z'))
    ::jsonb -> 'muted_until', 'null'::jsonb, 'an expired mute is returned as null');
select is(answer, 'null'::jsonb, 'an expired mute is null in ' || place)
  from (values
    ('api.conversation', tests.as('alice', format('api.conversation(%L)', tests.id('direct')))::jsonb -> 'muted_until'),
    ('api.conversations', jsonb_path_query_first(tests.as('alice', 'api.conversations()')::jsonb,
        '$.conversations[*] ? (@.id == $id).muted_until', jsonb_build_object('id', tests.id('direct')))),
    ('a delta', jsonb_path_query_first(tests.delta_of('alice'),
        '$.conversations[*] ? (@.id == $id).muted_until', jsonb_build_object('id', tests.id('direct')))),
    ('what the feed tells', (select object::jsonb -> 'muted_until' from feed.poll_changes('4:4:', '{mutes}')
        where kind = 'own_conversation'))) v (place, answer);
savepoint far;
update public.conversation_mutes set muted_until = '294276-12-31' where user_id = tests.id('alice');
select is((feed.own_numbers(tests.id('direct'), array[tests.id('alice')], '{0}'))[1], 253402214400000000,
    'a mute ends in the year 9999 at the latest');
rollback to far;
select is(feed.own_numbers(tests.id('direct'), array[tests.id('alice')], '{0}'), '{0,0,0}',
    'an expired mute is not in feed.own_numbers');
select is(tests.field_of('alice', format('select api.mute_conversation(%L, %L)', tests.id('direct'),
    '9999-12-31T23:59:59-23:59')), 'PL001 until', 'rejects an offset beyond 23:59');
select is(tests.field_of('alice', format('select api.mute_conversation(%L, %L)', tests.id('direct'),
    '9999-12-31T23:59:59-01:00')), 'PL001 until', 'rejects a time beyond the year 9999');

-- Receivers of a push.
delete from app.devices;
select count(tests.register(who, who)) from unnest(array['alice', 'bob', 'carol', 'mallory']) who;
select tests.age();
select tests.say('group', 'alice', 'hello all');
select is(tests.queue(), 2, 'a message is queued for the devices of the other members');
select is(tests.due('0 seconds'), '{}', 'a push is due after two seconds');
select is(tests.due(), array['tell bob group 1 Tap Alice hello all 1', 'tell carol group 1 Tap Alice hello all 1'],
    'a push has the text and the number of unread messages');
select is(tests.due(), '{}', 'a claimed push is not due again at once');
select is(tests.due('2 minutes'), array['tell bob group 1 Tap Alice hello all 1',
    'tell carol group 1 Tap Alice hello all 1'], 'a push without a recorded result is due again');
select tests.record_result('bob', 'group', 1, 'tell', 'taken'),
       tests.record_result('carol', 'group', 1, 'tell', 'taken');
select is(tests.due('1 day'), '{}', 'a delivered push is not due again');
update public.messages set content = 'hello, all' where conversation_id = tests.id('group');
select is(tests.queue(), 0, 'an edit queues no push');

select tests.say('group', 'alice', 'one'), tests.say('group', 'alice', 'two'), tests.say('direct', 'alice', 'you');
select tests.queue();
select is(tests.due(with_text => false), array['tell bob direct 1 Tap Alice 4', 'tell bob group 3 Tap Alice 4',
    'tell carol group 3 Tap Alice 3'],
    'several messages of a conversation are one push, without text if previews are off');
select tests.record_result('bob', 'direct', 1, 'tell', 'taken'),
       tests.record_result('bob', 'group', 3, 'tell', 'taken'),
       tests.record_result('carol', 'group', 3, 'tell', 'later', 60);
select is(tests.due('30 seconds'), '{}', 'a push to be retried later is not due yet');
select is(tests.due('40 seconds', false), array['tell carol group 3 Tap Alice 3'],
    'a push is retried at the given time');
select tests.record_result('carol', 'group', 3, 'tell', 'later', 3600);
select is(tests.due('2 days'), array['late carol group 3 Tap Alice two 3'], 'a push is retried for a day');
select is(tests.due('2 days'), '{}', 'a push expires after a day');

-- Read elsewhere.
select tests.as('bob', format('api.mark_read(%L, 3)', tests.id('group')));
select tests.queue();
select is(tests.due('0 seconds'), array['read bob group 3 1'],
    'a delivered push is withdrawn with a new badge when the message is read');
select tests.record_result('bob', 'group', 3, 'read', 'taken');
select is((select count(*) from app.pushes p join tests.ids i on i.id = p.conversation_id
            where i.name = 'group' and p.device_id = (select id from app.devices where token = 'bob')), 0::bigint,
    'a withdrawn push is deleted');
select tests.say('direct', 'bob', 'an answer');
select tests.queue();
select is(tests.due('0 seconds'), array['read bob direct 2 0'], 'a reply counts as reading');
select tests.record_result('bob', 'direct', 2, 'read', 'taken');
select is(tests.due(), array['tell alice direct 2 Tap Bob an answer 1'], 'a reply is pushed to the other member');
delete from app.devices where token = 'alice';

-- Users who get no push.
select tests.say('direct', 'alice', 'read at once');
select tests.queue();
select tests.as('bob', format('api.mark_read(%L, 3)', tests.id('direct')));
select is(tests.due(), '{}', 'a read message is not pushed');
select tests.as('bob', format('api.mute_conversation(%L, %L)', tests.id('direct'), '9999-12-31T00:00:00Z'));
select tests.age();
select tests.say('direct', 'alice', 'muted');
select tests.queue();
select is(tests.due(), '{}', 'a muted conversation is not pushed');
select tests.as('bob', format('api.mute_conversation(%L, null)', tests.id('direct')));
select tests.age();
select app.report_presence(gen_random_uuid(), 10, array[tests.id('bob')], '{}', true);
select tests.say('direct', 'alice', 'seen');
select tests.queue();
select is(tests.due(), '{}', 'a message is not pushed to an online user');
select is(tests.due('6 seconds'), '{}', 'a message is not pushed to a user who stays online');
select is((select count(*) from app.pushes where due_at is not null), 0::bigint, 'a push to an online user is deleted');
select tests.say('direct', 'alice', 'just gone');
select tests.queue();
select is(tests.due(), '{}', 'a push waits while the user is reported online');
delete from app.node_users;
select is(tests.due('6 seconds'), array['tell bob direct 6 Tap Alice just gone 3'],
    'a push to a user who has gone offline is due');
select tests.record_result('bob', 'direct', 6, 'tell', 'taken');
select tests.say('direct', 'alice', 'deleted');
select tests.queue();
update public.messages set deleted_at = now() where content = 'deleted';
select is(tests.due(), '{}', 'a deleted message is not pushed');
select tests.say('group', 'alice', 'for members');
select tests.queue();
delete from public.conversation_members where user_id = tests.id('carol') and conversation_id = tests.id('group');
select is(tests.due(), array['tell bob group 4 Tap Alice for members 5'], 'a message is not pushed to a former member');
select tests.say('group', 'alice', 'another owner');
select tests.queue();
select tests.register('mallory', 'bob');
select is(tests.due('2 minutes'), '{}', 'a message is not pushed to a device that another user registered');

-- Responses of providers.
select tests.register('bob', 'bob');
select tests.age();
select tests.say('group', 'alice', 'unwanted');
select tests.queue();
select tests.due();
select tests.record_result('bob', 'group', 6, 'tell', 'refused');
select is(tests.due('1 hour'), '{}', 'a rejected push is not retried');
select tests.say('group', 'alice', 'first');
select tests.queue();
select tests.due();
select tests.say('group', 'alice', 'second');
select tests.queue();
select tests.record_result('bob', 'group', 7, 'tell', 'taken');
select is(tests.due(), array['tell bob group 8 Tap Alice second 9'],
    'a message that arrives during a delivery is pushed after it');
select tests.record_result('bob', 'group', 8, 'tell', 'unregistered');
select is(tests.devices_of('bob'), 'none', 'an unregistered device is deleted');
select is((select count(*) from app.pushes),
    (select count(*) from app.pushes p join app.devices d on d.id = p.device_id),
    'the pushes of a deleted device are deleted');
select tests.register('bob', 'b9');

-- Late and crossing calls.
select tests.age();
select tests.say('group', 'alice', 'read on its way');
select tests.queue();
select tests.due();
select tests.as('bob', format('api.mark_read(%L, 9)', tests.id('group')));
select tests.queue();
select tests.record_result('b9', 'group', 9, 'tell', 'taken');
select matches((tests.due('0 seconds'))[1], '^read b9 group 9 ',
    'a push that is read during its delivery is withdrawn');
select tests.record_result('b9', 'group', 9, 'read', 'taken');
select tests.say('group', 'alice', 'of a leader that stands still');
select tests.queue();
select tests.due();
select tests.say('group', 'alice', 'of the next');
select tests.queue();
select tests.due('2 minutes');
select tests.record_result('b9', 'group', 11, 'tell', 'taken');
select tests.record_result('b9', 'group', 10, 'tell', 'taken');
select is(tests.due('1 hour'), '{}', 'a late result of an older push does not repeat a newer one');
select tests.say('group', 'alice', 'to a provider that is away');
select tests.queue();
select tests.due();
select tests.record_result('b9', 'group', 12, 'tell', 'later', 3600);
select tests.say('group', 'alice', 'and is back');
select tests.queue();
select matches((tests.due('61 seconds'))[1], '^tell b9 group 13 ', 'long retry times do not delay a new message');
update app.devices set registered_at = clock_timestamp() + interval '1 second' where token = 'b9';
select tests.record_result('b9', 'group', 13, 'tell', 'unregistered');
select is(tests.devices_of('bob'), 'apns b9', 'a device that registered again is not deleted by an old result');
select matches((tests.due('2 minutes'))[1], '^tell b9 group 13 ', 'a device that registered again gets pushes');
-- Senders take turns: a sender with many conversations or receivers does not delay others.
delete from app.pushes;
delete from app.devices;
select count(tests.register(who, who)) from unnest(array['alice', 'bob', 'carol']) who;
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (least(tests.id('bob'), tests.id('carol')), greatest(tests.id('bob'), tests.id('carol')))
           returning id)
insert into tests.ids select 'bob and carol', id from c;
select tests.age();
-- Each conversation has two devices: two conversations are a step.
create or replace function app.pushes_per_step() returns integer language sql immutable return 3;
select tests.say('group', 'alice', 'first'), tests.say('direct', 'alice', 'second');
select tests.say('bob and carol', 'bob', 'third');
select tests.queue();
select is((select array_agg(sender_id) from app.push_queue), array[tests.id('alice')],
    'a step takes one conversation of each sender, and leaves what is too much');
select tests.queue();
select is((select count(*) from app.push_queue), 0::bigint, 'the next step takes the rest');
select is((select count(*) from app.pushes), 3::bigint, 'all steps together queue all pushes');
create or replace function app.pushes_per_step() returns integer language sql immutable return 1;
select tests.say('group', 'alice', 'fourth');
select tests.queue();
select is((select count(*) from app.push_queue), 0::bigint, 'a step takes a conversation that is larger than a step');
create or replace function app.pushes_per_step() returns integer language sql immutable return 2000;
delete from app.pushes;
insert into app.pushes (device_id, conversation_id, sender_id, seq, noted_at, due_at)
select d.id, gen_random_uuid(), tests.id('mallory'), 1, now() - interval '1 hour', now() - interval '1 hour'
  from app.devices d, generate_series(1, 50) where d.token = 'carol';
select tests.say('direct', 'alice', 'in turn');
select tests.queue();
update app.pushes set due_at = due_at - interval '3 seconds';
select tests.authenticate_as('postline_feed');
select is((select array_agg(d.token) from app.claim_pushes(4, false) d), array['bob'],
    'a push does not wait for the older pushes of another sender');
select tests.owner();
select is((select count(*) from app.pushes where sender_id = tests.id('mallory')), 48::bigint,
    'a claim takes the same share of each sender');

-- The functions end within the service's statement timeout also if the planner takes the table for empty.
create function tests.seconds(statement text) returns double precision language plpgsql as $$
declare
    start timestamptz := clock_timestamp();
begin
    perform tests.authenticate_as('postline_feed');
    execute statement;
    perform tests.owner();
    return extract(epoch from clock_timestamp() - start);
end $$;
insert into app.pushes (device_id, conversation_id, sender_id, seq, noted_at, due_at)
select d.id, gen_random_uuid(), tests.id('mallory'), 1, now() - interval '1 hour', now() - interval '1 hour'
  from app.devices d, generate_series(1, 30000) where d.token = 'carol';
update pg_class set reltuples = 0, relpages = 1 where oid = 'app.pushes'::regclass;
select tests.say('group', 'alice', 'among many');
select tests.as('bob', format('api.mark_read(%L, 1)', tests.id('bob and carol')));
select cmp_ok(tests.seconds('select app.queue_pushes()'), '<', 10::double precision,
    'queues pushes beside many others');
select cmp_ok(tests.seconds('select app.claim_pushes(400, false)'), '<', 10::double precision,
    'claims among many others');
select cmp_ok(tests.seconds(format('select app.record_push_results(%L, %L, %L, %L, %L, %L)',
        array_agg(p.device_id), array_agg(p.conversation_id), array_agg(p.seq), array_agg('tell'::text),
        array_agg('taken'::text), array_agg(0))), '<', 10::double precision, 'records results among many others')
  from (select * from app.pushes limit 400) p;
delete from app.pushes where sender_id = tests.id('mallory') and seq = 1 and ctid not in (
    select ctid from app.pushes where sender_id = tests.id('mallory') limit 48);
create function tests.senders(start text, most integer) returns text language sql as $$
    select array_to_string(app.push_senders(start::uuid, most), ' ')
$$;
select is((select array_agg(s) from unnest(string_to_array(tests.senders(start, most), ' ')) s)::uuid[],
    (select array_agg(sender_id order by sender_id <= start::uuid, sender_id)
       from (select distinct sender_id from app.pushes where due_at is not null) p), 'senders from ' || start)
  from (values ('00000000-0000-0000-0000-000000000000', 9), ('ffffffff-ffff-ffff-ffff-ffffffffffff', 9),
               (tests.id('mallory')::text, 9)) v (start, most);
delete from app.devices;
select tests.register('bob', 'b9');

update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is((select count(*) from app.devices where user_id = tests.id('bob')), 0::bigint,
    'a deleted user has no devices');

-- If the cursor belongs to another history, earlier messages are not pushed.
update app.push_cursor set epoch = 'another';
select tests.authenticate_as('postline_feed');
select is(app.queue_pushes(), 0, 'a restored database queues no pushes for old messages');
select tests.owner();
select is((select epoch from app.push_cursor), app.epoch(), 'the queue continues from the new epoch');

-- A mention breaks a mute.
select tests.make_user('dora');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('dora'));
select tests.register('dora', 'd1');
select tests.as('dora', format('api.mute_conversation(%L, %L)', tests.id('group'), '9999-12-31T00:00:00Z'));
select tests.age();
select tests.as('alice', format('api.send_message(%L, ''to you'', mentions => %L)', tests.id('group'),
    array[tests.id('dora')]));
select tests.say('group', 'alice', 'muted');
select tests.queue();
select is((select count(*) from unnest(tests.due()) d where d like 'tell d1 group % to you %'), 1::bigint,
    'a mention in a muted conversation is pushed, and not the message after it');

-- A message that streams is pushed at its end, and delays no other.
delete from app.devices;
delete from app.push_queue;
select tests.register('dora', 'b');
select tests.as('dora', format('api.mute_conversation(%L, null)', tests.id('group')));
select tests.age();
select tests.say('group', 'alice', 'a question');
select tests.as('alice', format('api.stream_message(%L, ''an '')', tests.id('group')));
select tests.queue();
create temporary table told as
select l from unnest(tests.due()) l;
select matches(l, '^tell b group [0-9]+ .* a question [0-9]+$', 'the message before is pushed') from told;
select tests.record_result('b', 'group', (select split_part(l, ' ', 4)::bigint from told), 'tell', 'taken');
select is(tests.due(), '{}', 'the one that streams waits');
select tests.as('alice', format('api.append_to_message(%L, %s, 3, ''answer'')', c.id, c.last_seq)),
       tests.as('alice', format('api.finish_message(%L, %s)', c.id, c.last_seq))
  from public.conversations c where c.id = tests.id('group');
select matches((tests.due())[1], '^tell b group [0-9]+ .* an answer [0-9]+$', 'and is pushed at its end');

-- Between two users of whom one blocks the other no message is pushed.
delete from app.devices;
delete from app.push_queue;
select tests.make_user('erna');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('erna'));
select tests.register('dora', 'd'), tests.register('erna', 'e');
update public.conversation_members set last_read_seq = 1000000 where conversation_id = tests.id('group');
select tests.age();
select tests.as('dora', format('api.block_user(%L)', tests.id('erna')));
create function pg_temp.pushed() returns text[] language sql as $$
    select array_agg(split_part(l, ' ', 2) || ' ' || (regexp_match(l, 'from [a-z]+|you there'))[1] order by l)
      from unnest(tests.due()) l
$$;
select tests.say('group', 'alice', 'from alice'), tests.say('group', 'erna', 'from erna');
select tests.as('erna', format('api.send_message(%L, ''you there?'', mentions => %L)', tests.id('group'),
    array[tests.id('dora')]));
select tests.queue();
select is(pg_temp.pushed(), array['d from alice'], 'the blocker is pushed what others write');
select tests.age();
select tests.say('group', 'alice', 'from alice'), tests.say('group', 'dora', 'from dora');
select tests.queue();
select is(pg_temp.pushed(), array['e from alice'], 'and so is the blocked user');

-- Reactions are pushed to the sender of the message who has turned that on.
delete from app.devices;
delete from app.push_queue;
select count(tests.register(who, who)) from unnest(array['alice', 'dora', 'erna']) who;
create function pg_temp.reactions(later interval default '3 seconds', with_text boolean default true) returns text[]
language plpgsql as $$
declare
    told text[];
begin
    update app.reaction_pushes set due_at = due_at - later, noted_at = noted_at - later;
    perform tests.authenticate_as('postline_feed');
    select array_agg(concat_ws(' ', d.kind, d.token, c.name, d.sender_name, d.emoji, d.content, d.attempts)
                     order by d.token, c.name)
      into told from app.claim_reaction_pushes(100, with_text) d join tests.ids c on c.id = d.conversation_id;
    perform tests.owner();
    return coalesce(told, '{}');
end $$;
create function pg_temp.react(who text, emoji text, is_set boolean default true) returns void language plpgsql as $$
begin
    perform tests.as(who, format('api.react(%L, %s, %L, %L)', tests.id('group'),
        (select max(m.seq) from public.messages m where m.conversation_id = tests.id('group')
            and m.sender_id = tests.id('alice')), emoji, is_set));
    perform tests.queue();
end $$;
create function pg_temp.settle(emoji text, outcome text, retry float8 default 0, by text default 'dora') returns void
language plpgsql as $$
declare
    push app.reaction_pushes;
begin
    select p.* into push from app.reaction_pushes p join app.devices d on d.id = p.device_id where d.token = 'alice';
    perform tests.authenticate_as('postline_feed');
    perform app.record_reaction_push_results(array[push.device_id], array[push.conversation_id], array[push.seq],
        array[tests.id(by)], array[outcome], array[retry]);
    perform tests.owner();
end $$;
select tests.say('group', 'alice', 'my news');
select tests.age();
select pg_temp.react('dora', '👍');
select is((select count(*) from app.reaction_pushes), 0::bigint, 'without the preference no reaction is queued');
select is(tests.field_of('alice', $$select api.save_me('{"preferences":{"notify_reactions":"yes"}}')$$),
    'PL001 preferences', 'the preference is true or false');
select tests.as('alice', $$api.save_me('{"preferences":{"notify_reactions":true}}')$$);
select tests.age();
select pg_temp.react('dora', '🎉'), pg_temp.react('alice', '🎉');
select is(pg_temp.reactions('0 seconds'), '{}', 'a push about a reaction is due after two seconds');
select is(pg_temp.reactions(), array['reaction alice group Tap Dora 🎉 my news 0'],
    'the sender is told of it, and nobody of one''s own');
select is(pg_temp.reactions(), '{}', 'a claimed one is not due again at once');
select pg_temp.settle('🎉', 'later', 60);
select is(pg_temp.reactions('50 seconds'), '{}', 'one that the provider refuses for now waits');
select is(pg_temp.reactions('20 seconds', false), array['reaction alice group Tap Dora 1'],
    'and is tried again; without previews it has no text and no emoji');
select pg_temp.settle('🎉', 'taken', by => 'erna');
select is((select count(*) from app.reaction_pushes), 1::bigint,
    'the response about another reaction does not end it');
select pg_temp.settle('🎉', 'taken');
select is((select count(*) from app.reaction_pushes), 0::bigint, 'a delivered one is deleted');
select tests.queue();
select is((select count(*) from app.reaction_pushes), 0::bigint, 'and not queued again');

select pg_temp.react('dora', '🎈'), pg_temp.react('erna', '🎈');
select is(pg_temp.reactions(), array['reaction alice group Tap Erna 🎈 my news 0'],
    'of several in a conversation the newest is told');
select pg_temp.react('dora', '🐘');
select pg_temp.settle('🎈', 'taken', by => 'erna');
select is(pg_temp.reactions(), array['reaction alice group Tap Dora 🐘 my news 1'],
    'one that came meanwhile is told too');
update app.devices set registered_at = clock_timestamp();
select pg_temp.settle('🐘', 'unregistered');
select is((select count(*) from app.devices d where d.token = 'alice'), 1::bigint,
    'a device that has registered since the push stays');
update app.devices set registered_at = registered_at - interval '1 day';
select pg_temp.react('dora', '🐙');
select is(cardinality(pg_temp.reactions()), 1, 'the next one is told');
select pg_temp.settle('🐙', 'unregistered');
select is((select count(*) from app.devices d where d.token = 'alice'), 0::bigint, 'an unknown device is deleted');

-- Reasons not to tell.
select tests.register('alice', 'alice');
create function pg_temp.told_after(change text) returns integer language plpgsql as $$
declare
    told integer;
begin
    perform tests.age();
    perform pg_temp.react('dora', '🐳');
    begin
        execute change;
        select count(*) into told from unnest(pg_temp.reactions('9 seconds')) r where r like 'reaction %';
        raise exception using errcode = 'ZZ000', message = told::text;
    exception when sqlstate 'ZZ000' then
        told := sqlerrm::integer;
    end;
    perform pg_temp.react('dora', '🐳', false);
    delete from app.reaction_pushes;
    return told;
end $$;
select is(pg_temp.told_after('select'), 1, 'a reaction is told');
select is(pg_temp.told_after(change), 0, 'and not if ' || reason)
  from (values
    ('it is taken back', $$select pg_temp.react('dora', '🐳', false)$$),
    ('the message is deleted', format($$update public.messages set deleted_at = now()
        where conversation_id = %L and content = 'my news'$$, tests.id('group'))),
    ('the conversation is muted', format($$insert into public.conversation_mutes
        (conversation_id, user_id, muted_until) values (%L, %L, 'infinity')$$, tests.id('group'), tests.id('alice'))),
    ('the user has blocked the other',
        format($$select tests.as('alice', 'api.block_user(''%s'')')$$, tests.id('dora'))),
    ('the user has turned it off', $$select tests.as('alice', 'api.save_me(''{"preferences":null}'')')$$),
    ('the user has left', format($$select tests.as('alice', 'api.remove_member(''%s'', ''%s'')')$$,
        tests.id('group'), tests.id('alice'))),
    ('the user is online', format($$insert into app.nodes (id, lease_until) values (%1$L, 'infinity');
        insert into app.node_users (node_id, user_id) values (%1$L, %2$L)$$, gen_random_uuid(), tests.id('alice'))),
    ('a day has passed', $$update app.reaction_pushes set noted_at = noted_at - interval '2 days'$$))
    c (reason, change);
select is(tests.attempt('alice', 'select from app.reaction_pushes'), '42501', 'a user cannot read pushes');

select * from finish();
rollback;
