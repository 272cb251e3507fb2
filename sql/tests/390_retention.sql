-- Messages that expire: which, in what order, what is deleted with them, and what members see then.
begin;
select no_plan();
select tests.make_world();
select tests.without_events();
select tests.say('group', (array['alice', 'bob'])[1 + n % 2], 'text ' || n) from generate_series(1, 450) n;
select tests.age();

-- Sets the ages of the messages of a conversation: the first by so many seconds, each next one second less.
create function pg_temp.age_messages(room text, seconds integer) returns void language sql as $$
    update public.messages m
       set created_at = clock_timestamp() - make_interval(secs => seconds - (m.seq - c.first_seq)::integer)
      from public.conversations c where c.id = tests.id(room) and m.conversation_id = c.id
$$;
-- Does the work of the nodes until nothing is left, as if so much later. Returns the number of steps.
create function pg_temp.expire(days integer default 0, later interval default '0') returns integer
language plpgsql as $$
declare
    steps integer := 0;
begin
    update app.message_expiry set check_at = check_at - later;
    perform tests.authenticate_as('postline_feed');
    while app.expire_messages(days) loop
        steps := steps + 1;
    end loop;
    perform tests.owner();
    return steps;
end $$;
create function pg_temp.ttl(who text, room text, seconds text) returns text language sql as $$
    select case when a.answer like '{%' then a.answer::json ->> 'message_ttl_seconds' else a.answer end
      from (select tests.as(who, format('api.update_conversation(%L, null, message_ttl_seconds => %s,
                keeps_ttl => false)', tests.id(room), seconds)) as answer) a
$$;
create function pg_temp.kept(room text) returns text language sql as $$
    select concat_ws(' ', c.first_seq, '|', min(m.seq), max(m.seq), count(m.*))
      from public.conversations c left join public.messages m on m.conversation_id = c.id
     where c.id = tests.id(room) group by c.first_seq
$$;

-- Permission to set the time.
select is(pg_temp.ttl(who, room, seconds), answer, format('%s sets %s of %s', who, seconds, room))
  from (values
    ('alice', 'group', '86400', '86400'),
    ('bob', 'group', '60', '60'),
    ('carol', 'group', '60', 'PL007 Only the owner and admins of a group can change when its messages expire.'),
    ('mallory', 'group', '60', 'PL008 There is no such conversation.'),
    ('alice', 'direct', '3600', '3600'),
    ('bob', 'direct', 'null', null),
    ('alice', 'group', '59', 'PL001 "message_ttl_seconds" must be 60 to 31536000 (a year), or null.'),
    ('alice', 'group', '31536001', 'PL001 "message_ttl_seconds" must be 60 to 31536000 (a year), or null.'))
    c (who, room, seconds, answer);
savepoint blocked;
select tests.as('bob', format('api.block_user(%L)', tests.id('alice')));
select matches(pg_temp.ttl('alice', 'direct', '3600'), '^PL007 ', 'not of a direct conversation with a block');
rollback to blocked;
select is(tests.attempt(who, 'update public.conversations set ' || change), '42501', who || ' cannot set ' || change)
  from unnest(array['alice', 'anon']) who, unnest(array['message_ttl_seconds = 60', 'first_seq = 100']) change;
select is(app.ttl_text(seconds), words, words)
  from (values (60, '1 minute'), (90, '90 seconds'), (7200, '2 hours'), (86400, '1 day'), (604800, '1 week'),
               (2592000, '30 days'), (31536000, '365 days')) t (seconds, words);

-- Expiry.
select is(pg_temp.expire(), 2, 'conversations are checked after a change of their time');
select is(pg_temp.kept('group'), '1 | 1 450 450', 'nothing expires before its time');
select pg_temp.age_messages('group', 60 + 409);
select pg_temp.expire();
select is(pg_temp.kept('group'), '1 | 1 450 450',
    'a conversation is not checked before its oldest message can expire');
select is(pg_temp.expire(later => '1 minute'), 3, 'expired messages leave in batches of 200');
select is(pg_temp.kept('group'), '411 | 411 450 40', 'those that are not as old are kept');
select is((select min(last_read_seq) from public.conversation_members where conversation_id = tests.id('group')),
    410::bigint, 'an expired message is not unread');
select is((tests.conversation('group')).last_message_content, 'text 450', 'the last message is still shown');
select pg_temp.age_messages('group', 1000);
select pg_temp.expire(later => '1 minute');
select is(pg_temp.kept('group'), '451 | 0', 'all messages can expire');
select is((select row(c.last_seq, c.last_message_content, c.last_message_time is not null)::text
             from tests.conversation('group') c), '(450,,t)', 'the text of the last one is shown no longer');
select is((select a.answer -> 'first_seq' || jsonb_build_array(a.answer -> 'unread_count')
             from (select tests.as('carol', format('api.conversation(%L)', tests.id('group')))::jsonb as answer) a),
    '[451, 0]', 'a member gets the number of the oldest message');
select is(tests.as('carol', format('api.messages(%L)', tests.id('group')))::json ->> 'messages', '[]',
    'and no message');
select tests.say('group', 'alice', 'new');
select is((tests.conversation('group')).last_seq, 451::bigint, 'numbers go on');
select is(pg_temp.ttl('alice', 'group', 'null'), null, 'the time can be taken back');
select pg_temp.age_messages('group', 1000);
select pg_temp.expire(later => '1 minute');
select is(pg_temp.kept('group'), '451 | 451 451 1', 'then nothing expires');
select is((select count(*) from app.message_expiry where conversation_id = tests.id('group')), 0::bigint,
    'and nothing is checked');

-- Rows deleted with a message.
select tests.make_user('dora');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('dora'));
select tests.as('alice', format('api.send_message(%L, ''look'', gen_random_uuid(), mentions => %L)', tests.id('group'),
    array[tests.id('dora')]));
select tests.as('alice', format('api.pin_message(%L, %s)', tests.id('group'), seq)) from generate_series(451, 452) seq;
select tests.as('bob', format('api.react(%L, %s, %L)', tests.id('group'), 452, emoji)) from unnest(array['👍',
    '🎉']) emoji;
insert into public.media (owner_id, purpose, conversation_id, mime_type, bytes, stored_at)
values (tests.id('alice'), 'message', tests.id('group'), 'image/png', 5, now());
select tests.as('alice', format('api.send_message(%L, '''', kind => ''image'', attachment => %L)', tests.id('group'),
    json_build_object('url', 'https://x.test/' || m.id, 'media_id', m.id))) from public.media m;
select tests.as('bob', format('api.send_message(%L, ''an answer'', reply_to_seq => 453)', tests.id('group')));
select tests.as('alice', format('api.stream_message(%L, ''grows'')', tests.id('group')));
select is(pg_temp.kept('group'), '451 | 451 455 5', 'five messages');
update public.conversations set first_seq = 453 where id = tests.id('group');
select is(pg_temp.kept('group'), '453 | 453 455 3', 'a database administrator can delete old messages too');
select is((select pinned_seqs from tests.conversation('group')), null, 'they are pinned no longer');
select is((select count(*) from public.message_reactions where conversation_id = tests.id('group'))
    + (select count(*) from public.reaction_counts where conversation_id = tests.id('group'))
    + (select count(*) from public.message_mentions where conversation_id = tests.id('group')), 0::bigint,
    'reactions and mentions are deleted');
select is((select count(*) from public.media where removed_at is not null), 0::bigint,
    'a file of a kept message stays');
select pg_temp.ttl('alice', 'group', '60');
select pg_temp.age_messages('group', 1000);
select pg_temp.expire();
select is(pg_temp.kept('group'), '455 | 455 455 1', 'a message that grows, and those after it, stay');
select is((select count(*) from public.media where removed_at is not null), 1::bigint, 'a file goes with its message');
select is((select count(*) from app.media_removals where purpose = 'message'), 1::bigint,
    'and is removed from the store');
select tests.as('bob', format('api.react(%L, 453, ''👍'')', tests.id('group')));
select is((select count(*) from public.message_reactions where seq = 453), 0::bigint, 'nobody reacts to it');
select is(tests.field_of('bob', format('select api.send_message(%L, ''x'', reply_to_seq => 454)', tests.id('group'))),
    'PL008 reply_to_seq', 'or answers it');
select is(tests.field_of('bob', format('select api.send_message(%L, ''x'', reply_to_seq => 455)', tests.id('group'))),
    'no error', 'a kept one can be answered');
create function pg_temp.batch(reply bigint) returns bigint language plpgsql as $$
declare
    sent bigint;
begin
    perform set_config('role', 'postline_sender', true);
    select count(*) into sent from app.send_messages(
        array[tests.id('bob')], array[tests.id('group')], array['x'], array[null::uuid], array[reply]);
    perform tests.owner();
    return sent;
end $$;
select is(array[pg_temp.batch(454), pg_temp.batch(455)], array[0, 1]::bigint[], 'as in a batch');

-- Rules of the columns.
update public.conversations set first_seq = 3 where id = tests.id('group');
select is((tests.conversation('group')).first_seq, 455::bigint, 'the number never falls');
select tests.say('direct', 'alice', 'one');
update public.conversations set first_seq = 1000 where id = tests.id('direct');
select is((tests.conversation('direct')).first_seq, 2::bigint, 'and is at most the one of the next message');
select is(tests.attempt(who, format('delete from public.messages where conversation_id = %L', tests.id('group'))),
    '23001',
    who || ' cannot delete a kept message') from unnest(array['service_role', 'none']) who;

-- A repeated send of an expired message.
select gen_random_uuid() as client \gset
select tests.as('alice', format('api.send_message(%L, ''once'', %L)', tests.id('direct'), :'client')) as sent \gset
update public.conversations set first_seq = 3 where id = tests.id('direct');
select is(tests.attempt('alice', format('select api.send_message(%L, ''once'', %L)', tests.id('direct'),
    :'client')), '23505',
    'a repeated send is recognized after the message has expired');
select is((select row(a.answer ->> 'id', a.answer ->> 'seq', a.answer ->> 'content',
    a.answer ->> 'deleted_at' <> '')::text
             from (select tests.as('alice', format('api.sent_message(%L, ''once'', %L)', tests.id('direct'),
                           :'client'))::jsonb as answer) a),
    (select row(:'sent'::jsonb ->> 'id', '2', null, true)::text), 'and answered as a deleted one');
select matches(tests.as('alice', format('api.sent_message(%L, ''twice'', %L)', tests.id('direct'), :'client')),
    '^PL012 ', 'unless it has another content');
select matches(tests.as(who, format('api.sent_message(%L, ''once'', %L)', tests.id('direct'), :'client')), '^PL008 ',
    who || ' does not get it') from unnest(array['bob', 'mallory']) who;
create function pg_temp.batch_again(client uuid) returns bigint language plpgsql as $$
declare
    sent bigint;
begin
    perform set_config('role', 'postline_sender', true);
    select count(*) into sent from app.send_messages(
        array[tests.id('alice')], array[tests.id('direct')], array['once'], array[client]);
    perform tests.owner();
    return sent;
end $$;
select is(pg_temp.batch_again(:'client'), 0::bigint, 'a batch leaves it out');
select is(pg_temp.batch_again(gen_random_uuid()), 1::bigint, 'and sends others');
update app.expired_sends set expired_at = now() - interval '8 days';
select pg_temp.expire();
select is((select count(*) from app.expired_sends), 0::bigint, 'the ids are kept for a week');

-- The time of the server.
select tests.say('direct', 'alice', 'text ' || n) from generate_series(1, 5) n;
select pg_temp.ttl('alice', 'group', 'null');
update public.messages set created_at = clock_timestamp() - interval '30 days' where content <> 'text 5';
update app.retention_walk set started_at = '-infinity', position = null;
select is(pg_temp.expire(0), 0, 'without a time of the server there is nothing to do');
select is(pg_temp.kept('direct'), '3 | 3 8 6', 'and messages are kept');
select pg_temp.expire(31);
select is(pg_temp.kept('direct'), '3 | 3 8 6', 'messages are kept for so many days');
select pg_temp.expire(29);
select is(pg_temp.kept('direct'), '3 | 3 8 6', 'a walk begins an hour after the one before');
update app.retention_walk set started_at = now() - interval '61 minutes';
select pg_temp.expire(29);
select is(pg_temp.kept('direct'), '8 | 8 8 1', 'those that are older expire');

-- Rights.
select is(tests.attempt(who, 'select app.expire_messages(1)'), '42501', who || ' cannot do the work of the nodes')
  from unnest(array['alice', 'anon']) who;

select * from finish();
rollback;
