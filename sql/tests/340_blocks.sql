-- Blocks: who may set and read them, what they refuse on every path, and what the two users still see of each other.
-- '4:4:' is the snapshot that saw the aged world.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('dave');
select tests.make_user('guest', true);

create function pg_temp.blocks() returns text language sql as $$
    select coalesce(string_agg(concat_ws(' ', a.name, b.name), ', ' order by a.name, b.name), 'none')
      from public.blocks x join tests.ids a on a.id = x.blocker_id join tests.ids b on b.id = x.blocked_id
$$;
create function pg_temp.named(list jsonb) returns text language sql as $$
    select coalesce(string_agg(i.name, ' ' order by e.place), 'nobody')
      from jsonb_array_elements_text(list) with ordinality e (id, place) join tests.ids i on i.id = e.id::uuid
$$;
create function pg_temp.block(who text, other text) returns text language sql as $$
    select case when answer like '{%' then pg_temp.named(answer::jsonb -> 'user_ids') else answer end
      from tests.as(who, format('api.block_user(%L)', tests.id(other))) answer
$$;
create function pg_temp.unblock(who text, other text) returns text language sql as $$
    select case when answer like '{%' then pg_temp.named(answer::jsonb -> 'user_ids') else answer end
      from tests.as(who, format('api.unblock_user(%L)', tests.id(other))) answer
$$;
-- Returns the error of a call by each of the two, with ids for names in braces; 'ok' if there is none.
create function pg_temp.both(call text) returns text language sql as $$
    select string_agg(w.who || ' ' || case when a.answer ~ '^[0-9A-Z]{5} ' then a.answer else 'ok' end, ', '
                      order by w.who)
      from unnest(array['alice', 'bob']) w (who)
     cross join lateral (select string_agg(case when t.part ~ '^[{].*[}]$'
                                                then quote_literal(case trim(t.part, '{}')
                                                         when 'other' then tests.id(case w.who when 'bob' then 'alice'
                                                                                           else 'bob' end)
                                                         when 'me' then tests.id(w.who)
                                                         else tests.id(trim(t.part, '{}')) end::text)
                                                else t.part end, '' order by t.place) as text
                           from regexp_split_to_table(regexp_replace(call, '([{][a-z]+[}])', e'\x1f\\1\x1f', 'g'),
                                                      e'\x1f') with ordinality t (part, place)) f
     cross join lateral (select tests.as(w.who, f.text) as answer) a
$$;
create function pg_temp.page(who text, since text default '4:4:') returns jsonb language sql as $$
    select coalesce(jsonb_agg(c), '[]') from tests.pages(who, since) c
$$;
-- The blocked users, and the presence, of the first page of a sync.
create function pg_temp.told(who text, since text default '4:4:') returns text language sql as $$
    select concat_ws('; ', case when p ? 'blocked' then 'blocked ' || pg_temp.named(p -> 'blocked') end,
                     (select string_agg(i.name || case when (o ->> 'is_online')::boolean then ' on' else ' -' end, ', '
                                        order by i.name)
                        from jsonb_array_elements(p -> 'presence') o
                        join tests.ids i on i.id = (o ->> 'user_id')::uuid))
      from (select pg_temp.page(who, since) -> 0 as p) p
$$;
create function pg_temp.behind() returns text language sql as $$
    select coalesce(string_agg(i.name, ' ' order by i.name), 'nobody')
      from tests.read_changes() l join tests.ids i on i.name = l.member where l.kind = 'behind'
$$;
create function pg_temp.online() returns void language plpgsql as $$
begin
    perform tests.authenticate_as('postline_feed');
    perform app.report_presence(gen_random_uuid(), 10, array(select i.id from tests.ids i), '{}', true);
    perform tests.owner();
end $$;

-- The list.
select is(tests.as('alice', 'api.blocked_users()'), '{"user_ids" : []}', 'a user blocks nobody at first');
select is(pg_temp.block('alice', 'alice'), 'PL001 "user_id" must be another user.', 'no user blocks itself');
select is(tests.field_of('alice', 'select api.block_user(null)'), 'PL001 user_id', 'the user must be named');
select matches(tests.as('alice', format('api.block_user(%L)', gen_random_uuid())), '^PL008 There is no such user',
    'the user must exist');
select matches(tests.as('anon', format('api.block_user(%L)', tests.id('bob'))), '^42501 ', 'a user must be signed in');
select is(pg_temp.block('alice', 'mallory'), 'mallory');
select is(pg_temp.block('alice', 'bob'), 'mallory bob', 'returns the blocked users, the first one first');
select is(pg_temp.block('alice', 'bob'), 'mallory bob', 'a repeated block changes nothing');
select is(pg_temp.unblock('alice', 'mallory'), 'bob', 'a block ends');
select is(pg_temp.unblock('alice', 'mallory'), 'bob', 'a repeated end changes nothing');
select is(tests.as('bob', 'api.blocked_users()'), '{"user_ids" : []}', 'a blocked user does not see it');
select is(tests.attempt('alice', 'select from public.blocks'), '1', 'the blocker sees the row');
select is(tests.attempt('bob', 'select from public.blocks'), '0', 'a blocked user sees no row');
select is(tests.attempt('bob', 'delete from public.blocks'), '0', 'a blocked user cannot end the block');
select is(tests.attempt('bob', format('insert into public.blocks (blocker_id, blocked_id) values (%L, %L)',
                                      tests.id('alice'), tests.id('carol'))), 'PL007',
    'a user blocks for itself alone');
select is(tests.attempt('bob', 'select app.blocked_users(auth.uid())'), '42501', 'no user can list who blocks it');
select is(tests.attempt('bob', 'select app.is_blocked(auth.uid(), auth.uid())'), '42501');
select is(tests.attempt('bob', 'select feed.unseen_users(auth.uid())'), '42501');
create or replace function app.max_blocks() returns integer language sql as 'select 1';
select matches(pg_temp.block('alice', 'carol'), '^PL007 You block 1 users', 'a user blocks a bounded number');
create or replace function app.max_blocks() returns integer language sql as 'select 1000';

-- The direct conversation of the two.
select pg_temp.unblock('alice', 'bob');
select tests.say('direct', 'alice', 'first'), tests.say('direct', 'bob', 'second');
select tests.as('bob', format('api.send_message(%L, ''kept'', %L)', tests.id('direct'), tests.id('dave')));
select tests.as('bob', format('api.stream_message(%L, ''grows'')', tests.id('direct')));
select tests.as('alice', format('api.pin_message(%L, 2, true)', tests.id('direct')));
select tests.as(who, format('api.react(%L, 1, ''👍'')', tests.id('direct')))
  from unnest(array['alice', 'bob']) who;
select pg_temp.block('alice', 'bob');
select is((tests.member('direct', who)).is_blocked, true, 'both members are marked')
  from unnest(array['alice', 'bob']) who;
select is(pg_temp.both(call), 'alice PL007 You cannot write in this conversation., '
                              'bob PL007 You cannot write in this conversation.',
          'in both directions refuses ' || call)
  from unnest(array[
       'api.send_message({direct}, ''x'')',
       'api.send_message({direct}, ''x'', null, ''custom'', null, null, null, null, ''{"a":1}'')',
       'api.stream_message({direct}, ''x'')',
       'api.schedule_message({direct}, app.utc(now() + interval ''1 hour''), ''x'', gen_random_uuid())',
       'api.react({direct}, 2, ''🔥'')',
       'api.pin_message({direct}, 1, true)', 'api.pin_message({direct}, 2, false)',
       'app.set_conversation_data({direct}, ''{"a":1}'')']) call;
select is(tests.as('alice', format('api.edit_message(%L, 1, ''x'')', tests.id('direct'))),
    'PL007 You cannot write in this conversation.', 'the blocker cannot edit');
select is(tests.as('bob', format('api.edit_message(%L, 2, ''x'')', tests.id('direct'))),
    'PL007 You cannot write in this conversation.', 'nor can the blocked user');
select is(tests.as('bob', format('api.append_to_message(%L, 4, 5, ''x'')', tests.id('direct'))),
    'PL007 You cannot write in this conversation.', 'a message does not grow');
select is(tests.attempt(who, format('insert into public.messages (conversation_id, sender_id, content)
                                     values (%L, %L, ''x'')', tests.id('direct'), tests.id(who))), 'PL007',
          'SQL of a user is refused')
  from unnest(array['alice', 'bob']) who;
select is(tests.attempt('service_role', format('insert into public.messages (conversation_id, sender_id, content)
                                                values (%L, %L, ''x'')', tests.id('direct'), tests.id('bob'))), 'PL007',
    'and that of a backend');
select is(tests.attempt('bob', format('update public.messages set content = ''x'' where sender_id = %L and seq = 2',
                                      tests.id('bob'))), 'PL007', 'also for edits');
select is(tests.attempt('bob', format('insert into public.message_reactions (conversation_id, user_id, seq, emoji)
                                       values (%L, %L, 2, ''🔥'')', tests.id('direct'), tests.id('bob'))), 'PL007',
    'and reactions');
select is(tests.attempt('postline_sender', format(
        'select from app.send_messages(array[%L::uuid, %L], array[%L::uuid, %L], array[''x'', ''y''],
                                       array[null::uuid, null])',
        tests.id('bob'), tests.id('bob'), tests.id('direct'), tests.id('group'))), '1',
    'a batch leaves the message out, and sends the others');
select matches(tests.as('bob', format('api.send_message(%L, ''kept'', %L)', tests.id('direct'), tests.id('dave'))),
    '^23505 ', 'a repeated message counts as sent');
select is(pg_temp.both('api.typing({direct})'), 'alice ok, bob ok');
select is(tests.as(who, format('api.typing(%L)', tests.id('direct'))), 'false', 'typing is not shown')
  from unnest(array['alice', 'bob']) who;
select is(tests.as(who, format('api.typing(%L)', tests.id('group'))), 'true', 'in a group it is, to the others')
  from unnest(array['alice', 'bob']) who;
select is((select count(*) from app.acknowledged_messages(
               array[tests.id('carol'), tests.id('bob')], array[pg_current_snapshot(), pg_current_snapshot()],
               array[1, 2], array[tests.id('group'), tests.id('direct')]) a where a.user_id = tests.id('bob')),
    0::bigint, 'no delivered mark shows that a device is online');
select is(pg_temp.both('api.open_conversation({other})'), 'alice ok, bob ok', 'both still see the conversation');
select is(pg_temp.both('api.mark_read({direct}, 4)'), 'alice ok, bob ok', 'and read it');
select is(pg_temp.both('api.react({direct}, 1, ''👍'', false)'), 'alice ok, bob ok', 'and take reactions back');
select is(tests.as('bob', format('api.finish_message(%L, 4)', tests.id('direct')))::json ->> 'content', 'grows',
    'a message that grows ends as it is');
select is(tests.as('bob', format('api.delete_message(%L, 2)', tests.id('direct')))::json ->> 'content', null,
    'and delete their messages');

-- Groups.
select is(pg_temp.both('api.send_message({group}, ''x'')'), 'alice ok, bob ok', 'both write in a group');
select is(tests.as('alice', format('api.create_group(''Club'', array[%L::uuid])', tests.id('bob'))),
    'PL008 There is no such user.', 'the blocker cannot add the other to a group');
select is(tests.as('bob', format('api.create_group(''Club'', array[%L::uuid])', tests.id('alice'))),
    'PL008 There is no such user.', 'nor can the blocked user');
select is(tests.as('carol', format('api.create_group(''Club'', array[%L::uuid, %L])', tests.id('alice'),
                                   tests.id('bob'))) ~ '"Club"', true, 'another user can add both');
with c as (insert into public.conversations (kind, title, created_by)
           values ('group', 'Bobs', tests.id('bob')) returning id)
insert into tests.ids select 'bobs', id from c;
insert into public.conversation_members (conversation_id, user_id, role)
values (tests.id('bobs'), tests.id('bob'), 'owner');
select is(tests.as('bob', format('api.add_members(%L, array[%L::uuid])', tests.id('bobs'), tests.id('alice'))),
    'PL008 There is no such user.', 'nor later');
select is(tests.attempt('bob', format('insert into public.conversation_members (conversation_id, user_id)
                                       values (%L, %L)', tests.id('bobs'), tests.id('alice'))), 'PL008', 'nor by SQL');

-- No new conversation.
select pg_temp.block('dave', 'mallory');
select is(tests.as('mallory', format('api.open_conversation(%L)', tests.id('dave'))), 'PL008 There is no such user.',
    'a blocked user begins no conversation');
select is(tests.as('dave', format('api.open_conversation(%L)', tests.id('mallory'))), 'PL008 There is no such user.',
    'nor does the blocker');
select is(tests.attempt('mallory', format('insert into public.conversations (kind, participant1_id, participant2_id)
                                           values (''direct'', %L, %L)', tests.id('mallory'), tests.id('dave'))),
    'PL008', 'nor by SQL');
select tests.attempt('service_role', 'select');
insert into public.conversations (participant1_id, participant2_id) values (tests.id('mallory'), tests.id('dave'));
select is(count(*) filter (where m.is_blocked), 2::bigint, 'one that a backend begins is blocked')
  from public.conversation_members m join public.conversations c on c.id = m.conversation_id
 where tests.id('dave') in (c.participant1_id, c.participant2_id) and c.kind = 'direct';

-- Search.
create function pg_temp.found(who text, query text) returns bigint language sql as $$
    select count(*) from json_array_elements(tests.as(who, format('api.search_profiles(%L)', query))::json
                                             -> 'profiles')
$$;
select is(pg_temp.found('alice', 'tap_bob') || ' ' || pg_temp.found('bob', 'tap_alice'), '0 0',
    'neither finds the other');
select is(pg_temp.found('carol', 'tap_bob') || ' ' || pg_temp.found('carol', 'tap_alice'), '1 1', 'others find both');

-- Presence, and cursors.
select pg_temp.unblock('alice', 'bob');
select pg_temp.online();
select tests.age();
select is(pg_temp.behind(), 'nobody');
select pg_temp.block('alice', 'bob');
select is(pg_temp.behind(), 'alice bob', 'live sessions of both resync');
select is(pg_temp.told('alice'), 'blocked bob; bob -, carol on', 'the blocker is told the block and the presence');
select is(pg_temp.told('bob'), 'blocked nobody; alice -, carol on', 'the blocked user loses the presence alone');
select is(pg_temp.told('carol'), 'alice on, bob on', 'others see both');
select is(pg_temp.told('alice', null), 'blocked bob; carol on', 'a new device of the blocker has the list');
select is(pg_temp.told('bob', null), 'carol on', 'one of the blocked user has none');
select is(tests.as('bob', format('api.presence(array[%L::uuid])', tests.id('alice'))),
    format('{"presence":[{"user_id":"%s","is_online":false,"last_seen_at":null}]}', tests.id('alice')),
    'the presence is unknown on request');
select is(tests.as('alice', $$(select count(*) from public.presence p where p.is_online)$$), '2',
    'a user''s own SQL sees the same presence');
select is(pg_temp.named(to_jsonb(feed.unseen_users(tests.id(who)))), other, 'a node hides each from the other')
  from (values ('alice', 'bob'), ('bob', 'alice'), ('carol', 'nobody')) v (who, other);
select tests.age();
update public.presence set is_online = false, last_seen_at = now(), changed_xid = pg_current_xact_id()
 where user_id = tests.id('alice');
select is(pg_temp.told('bob'), '', 'the blocked user is told no later presence');
select is(pg_temp.told('carol'), 'alice -', 'others are');
select is(tests.has_no_changes('bob', '4:4:'), false, 'users with blocks are not answered without a page');
select tests.age();
select pg_temp.unblock('alice', 'bob');
select is(pg_temp.behind(), 'alice bob', 'sessions resync when it ends');
select is(pg_temp.told('alice'), 'blocked nobody; bob on, carol on', 'the list is empty, and the presence is back');
select is(pg_temp.told('bob'), 'blocked nobody; alice -, carol on');
select is((tests.member('direct', 'bob')).is_blocked, false, 'the members are no longer marked');
select is(pg_temp.both('api.send_message({direct}, ''again'')'), 'alice ok, bob ok', 'both write again');
select pg_temp.block('alice', 'bob');
select tests.age();
select pg_temp.block('bob', 'alice');
select is(pg_temp.behind(), 'bob', 'who blocks already is not told of the other''s block');
select pg_temp.unblock('alice', 'bob');
select is((tests.member('direct', 'bob')).is_blocked, true, 'of two blocks each holds alone');
select is(pg_temp.unblock('bob', 'alice'), 'nobody');

-- A deleted user.
update public.user_profiles set is_deleted = true where id = tests.id('dave');
select is(pg_temp.blocks(), 'none', 'a deleted user blocks nobody');
select is(pg_temp.block('alice', 'dave'), 'PL008 There is no such user.', 'and cannot be blocked');

-- A guest that becomes an account.
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('guest'), tests.id('mallory')) returning id)
insert into tests.ids select 'guest mallory', id from c;
select pg_temp.block('guest', 'carol'), pg_temp.block('guest', 'alice'), pg_temp.block('bob', 'guest'),
       pg_temp.block('mallory', 'alice');
select app.merge_users(tests.id('guest'), tests.id('alice'));
select is(pg_temp.blocks(), 'alice carol, bob alice, mallory alice', 'blocks of a guest are the account''s');
select is((tests.member('direct', 'alice')).is_blocked, true, 'its conversations are marked');
select is((tests.member('guest mallory', who)).is_blocked, true, 'also those that it brings along')
  from unnest(array['alice', 'mallory']) who;

select * from finish();
rollback;
