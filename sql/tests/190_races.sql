-- Two concurrent transactions in sessions of their own: the second waits for the first, and then sees its result. Their
-- world is committed, and removed at the end. Needs dblink, which comes with PostgreSQL; without it all is skipped.
\set QUIET 1
set client_min_messages = warning;
select exists (select from pg_available_extensions where name = 'dblink') as possible \gset
\if :possible
create extension if not exists dblink;
select no_plan();
select tests.make_world();
select tests.make_user(name) from unnest(array['dora', 'erik', 'frank']) name;

create function tests.connect(link text) returns void language plpgsql as $$
begin
    perform dblink_connect(link, format('host=%s port=%s dbname=%s user=%s',
        split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'),
        current_database(), current_user));
end $$;
create function tests.begin_as(link text, who text) returns void language plpgsql as $$
begin
    perform dblink_exec(link, 'begin');
    perform from dblink(link, format('select tests.authenticate_as(%L)::text', who)) as t (answer text);
end $$;
-- Replaces $ by the group's id, and a user's name in braces by its id.
create function tests.with_ids(statement text) returns text language plpgsql as $$
declare
    i tests.ids;
begin
    for i in select * from tests.ids loop
        statement := replace(statement, format('{%s}', i.name), quote_literal(i.id));
    end loop;
    return replace(statement, '$', quote_literal(tests.id('group')));
end $$;
-- Sends a statement, and returns whether it has ended or waits for a lock.
create function tests.start(link text, statement text) returns text language plpgsql as $$
declare
    backend integer;
begin
    select pid into backend from dblink(link, 'select pg_backend_pid()') as t (pid integer);
    perform dblink_send_query(link, tests.with_ids(statement));
    loop
        if dblink_is_busy(link) = 0 then return 'done'; end if;
        if exists (select from pg_locks where pid = backend and not granted) then return 'waits'; end if;
        perform pg_sleep(0.002);
    end loop;
end $$;
-- Commits, and returns the result of the statement or its SQLSTATE.
create function tests.finish(link text) returns text language plpgsql as $$
declare
    answer text := '';
begin
    begin
        select string_agg(t.answer, '') into answer from dblink_get_result(link) as t (answer text);
        -- The statement's end.
        perform from dblink_get_result(link) as t (answer text);
    exception when others then
        answer := sqlstate;
        perform from dblink_get_result(link, false) as t (answer text);
    end;
    perform dblink_exec(link, 'commit');
    return answer;
end $$;
-- Runs both as their users, each in a transaction: the first has executed its statement when the second begins. Returns
-- the first result, whether the second waited, and the second result.
create function tests.race(first_user text, first text, second_user text, second text) returns text
language plpgsql as $$
declare
    waited text;
    answers text[];
begin
    perform tests.begin_as('one', first_user), tests.begin_as('two', second_user);
    perform tests.start('one', first);
    waited := tests.start('two', second);
    answers := array[tests.finish('one')];
    answers := answers || waited || tests.finish('two');
    return array_to_string(array(select case when a like '{%' then 'ok' else a end from unnest(answers) a), ' ');
end $$;
create function tests.seats() returns text language sql as $$
    select string_agg(i.name || ' ' || m.role, ', ' order by m.joined_at, m.user_id)
      from public.conversation_members m join tests.ids i on i.id = m.user_id
     where m.conversation_id = tests.id('group')
$$;
-- Creates another group named 'group', with one message of carol's.
create function tests.fresh_world() returns void language plpgsql as $$
declare
    made uuid;
begin
    update tests.ids set name = 'group ' || (select count(*) from tests.ids) where name = 'group';
    insert into public.conversations (kind, title) values ('group', 'Races') returning id into made;
    insert into tests.ids values ('group', made);
    insert into public.conversation_members (conversation_id, user_id, role, joined_at)
    select tests.id('group'), tests.id(u), r, now() - n * interval '1 minute'
      from (values
            (4, 'alice', 'owner'),
            (3, 'bob', 'admin'),
            (2, 'carol', 'member'),
            (1, 'dora', 'admin')) s (n, u, r);
    perform tests.say('group', 'carol', 'old');
end $$;
create function tests.last_seq() returns bigint language sql as $$
    select last_seq from public.conversations where id = tests.id('group')
$$;
select tests.connect('one'), tests.connect('two');

-- Users who remove and are removed at once.
select tests.fresh_world();
select is(tests.race('alice', 'select api.remove_member($, {bob})', 'bob', 'select api.remove_member($, {carol})'),
    'ok waits PL008', 'a removed admin cannot remove a member');
select is(tests.seats(), 'alice owner, carol member, dora admin');
select tests.fresh_world();
select is(tests.race('alice', 'select api.set_member_role($, {bob}, ''member'')',
        'bob', 'select api.remove_member($, {carol})'),
    'ok waits PL007', 'a demoted admin cannot remove a member');
select is(tests.race('dora', 'select api.remove_member($, {carol})', 'alice', 'select api.remove_member($, {carol})'),
    'ok waits PL008', 'a removed member cannot be removed again');
select tests.fresh_world();
select is(tests.race('bob', 'select api.remove_member($, {dora})', 'dora', 'select api.remove_member($, {bob})'),
    'PL007 done PL007', 'an admin cannot remove another admin');
select is(tests.race('alice', 'select api.remove_member($, {bob})', 'bob', 'select api.remove_member($, {bob})'),
    'ok waits PL008', 'a removed member cannot leave');
select is(tests.race('alice', 'select api.set_member_role($, {dora}, ''member'')',
        'dora', 'insert into public.conversation_members (conversation_id, user_id) values ($, {erik})'),
    'ok waits 42501', 'a user''s own insert is checked after the lock''s holder has committed');

-- The owner.
select tests.fresh_world();
select is(tests.race('alice', 'select api.set_member_role($, {carol}, ''owner'')',
        'alice', 'select api.remove_member($, {alice})'),
    'ok waits ok', 'the owner can transfer the ownership and leave');
select is(tests.seats(), 'bob admin, carol owner, dora admin', 'the new owner stays the owner');
select tests.fresh_world();
select is(tests.race('alice', 'select api.remove_member($, {alice})',
        'alice', 'select api.set_member_role($, {carol}, ''owner'')'),
    'ok waits PL008', 'an owner who left cannot transfer the ownership');
select is(tests.seats(), 'bob owner, carol member, dora admin', 'the oldest admin is the new owner');
select tests.fresh_world();
select is(tests.race('bob', 'select api.remove_member($, {bob})', 'alice', 'select api.remove_member($, {alice})'),
    'ok waits ok', 'the owner and its successor can leave at once');
select is(tests.seats(), 'carol member, dora owner', 'the next member is the new owner');
select tests.fresh_world();
select is(tests.race('bob', 'select api.remove_member($, {bob})',
        'alice', 'select api.set_member_role($, {bob}, ''owner'')'),
    'ok waits PL008', 'a member who left cannot become the owner');
select is(tests.seats(), 'alice owner, carol member, dora admin');
select is(tests.race('alice', 'select api.set_member_role($, {carol}, ''owner'')',
        'alice', 'select api.set_member_role($, {dora}, ''owner'')'),
    'ok waits PL007', 'the second of two transfers of ownership is rejected');
select is(tests.seats(), 'alice admin, carol owner, dora admin', 'the group has one owner');

-- A full group.
select tests.fresh_world();
select tests.make_user('m' || n) from generate_series(1, 251) n;
insert into public.conversation_members (conversation_id, user_id)
select tests.id('group'), tests.id('m' || n) from generate_series(1, 251) n;
select is(tests.race('alice', 'select api.add_members($, array[{erik}]::uuid[])',
        'bob', 'select api.add_members($, array[{frank}]::uuid[])'),
    'ok waits PL001', 'the last place of a group is taken once');
delete from public.conversation_members where user_id = tests.id('erik');
select is(tests.race('alice', 'insert into public.conversation_members (conversation_id, user_id) values ($, {erik})',
        'bob', 'insert into public.conversation_members (conversation_id, user_id) values ($, {frank})'),
    'INSERT 0 1 waits PL001', 'users'' own inserts take the last place once');
delete from public.conversation_members where user_id = tests.id('erik');
select is(tests.race('alice', 'select api.add_members($, array[{erik}]::uuid[])',
        'bob', 'select api.add_members($, array[{erik}]::uuid[])'),
    'ok waits ok', 'a user added by two members is added once');
select is((select count(*) from public.conversation_members where conversation_id = tests.id('group')),
    256::bigint, 'the group has 256 members');

-- Messages of a user who is being removed.
select tests.fresh_world();
select is(tests.race('alice', 'select api.remove_member($, {carol})', 'carol', 'select api.send_message($, ''late'')'),
    'ok waits PL008', 'a removed member cannot send');
select is(tests.last_seq(), 2::bigint, 'the rejected send takes no number');
select tests.fresh_world();
select is(tests.race('carol', 'select api.send_message($, ''in time'')',
        'alice', 'select api.remove_member($, {carol})'),
    'ok waits ok', 'a message sent before the removal stays');
select is((select wrote from app.former_members
            where conversation_id = tests.id('group') and user_id = tests.id('carol')),
    true, 'the former member is recorded as having written');
select tests.fresh_world();
select is(tests.race('alice', 'select api.remove_member($, {carol})',
        'carol', 'select api.edit_message($, 1, ''late'')'),
    'ok waits PL008', 'a removed member cannot edit');
select tests.fresh_world();
select is(tests.race('alice', 'select api.remove_member($, {carol})', 'carol', 'select api.delete_message($, 1)'),
    'ok waits PL008', 'a removed member cannot delete');
select tests.fresh_world();
select is(tests.race('alice', 'select api.set_member_role($, {bob}, ''member'')',
        'bob', 'select api.delete_message($, 1)'),
    'ok waits PL007', 'a demoted admin cannot delete another''s message');
select tests.fresh_world();
select is(tests.race('alice', 'select api.delete_message($, 1)', 'carol', 'select api.edit_message($, 1, ''late'')'),
    'ok waits PL007', 'a deleted message cannot be edited');
select is(tests.race('carol', 'select api.send_message($, ''two'')',
        'carol', 'select api.edit_message($, 1, ''late'')'),
    'ok waits PL007', 'the sender cannot edit a deleted message either');
select is(tests.race('carol', 'select api.edit_message($, 2, ''edited'')',
        'bob', 'select api.send_message($, ''three'')'),
    'ok waits ok', 'the newest message can be edited while another is sent');
select is((tests.conversation('group')).last_message_content, 'three', 'last_message_content is the newest message''s');
select is(tests.race('bob', 'select api.send_message($, ''four'')', 'bob', 'select api.edit_message($, 3, ''edited'')'),
    'ok waits ok', 'a message can be sent before an edit of the previous one');
select is((tests.conversation('group')).last_message_content, 'four',
    'last_message_content is the newest message''s after the edit');
select is(tests.race('carol', 'select api.edit_message($, 2, ''once'')',
        'carol', 'select api.edit_message($, 2, ''once'')'),
    'ok waits ok', 'two identical edits both succeed');
select is((select version from public.messages where conversation_id = tests.id('group') and seq = 2),
    3::bigint, 'two identical edits create one version');

-- Messages of a user who returns.
select tests.fresh_world();
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('carol');
select is(tests.race('alice', 'select api.add_members($, array[{carol}]::uuid[])',
        'carol', 'select api.send_message($, ''just in time'')'),
    'ok waits ok', 'a send that waits for its sender to be added succeeds');
select is(tests.race('bob', 'select api.send_message($, ''twice'', ''22222222-2222-4222-8222-222222222222'')',
        'bob', 'select api.send_message($, ''twice'', ''22222222-2222-4222-8222-222222222222'')'),
    'ok waits 23505', 'of two sends with one client_id the second is rejected');

-- Where single sends and batches differ: a single send waits for a locked conversation, a batch leaves its texts out.
select tests.fresh_world();
create function tests.batch(variadic sends text[]) returns text language sql as $$
    select format('select string_agg(place::text, '','' order by place) from app.send_messages(array[%s]::uuid[], '
                  'array[%s]::uuid[], array_fill(''x''::text, array[%s]), array_fill(null::uuid, array[%3$s]))',
                  string_agg(format('{%s}', split_part(s, ' ', 1)), ', '),
                  string_agg(format('{%s}', split_part(s, ' ', 2)), ', '), count(*))
      from unnest(sends) s
$$;
select is(tests.race('carol', 'select api.send_message($, ''first'')', 'bob', 'select api.send_message($, ''second'')'),
    'ok waits ok', 'a single send waits for a locked conversation');
select is(tests.race('carol', 'select api.send_message($, ''third'')',
        'postline_sender', tests.batch('bob group', 'alice direct')),
    'ok done 2', 'a batch leaves out the texts of a locked conversation');
select is(tests.race('carol', 'select api.send_message($, ''fourth'')',
        'postline_sender', tests.batch('bob direct', 'bob group', 'bob direct', 'alice direct')),
    'ok done 1,4', 'a batch leaves out later texts of a sender who waits, so that they keep their order');
select is(tests.race('postline_sender', tests.batch('bob group'), 'carol', 'select api.send_message($, ''fifth'')'),
    '1 waits ok', 'a single send waits for a batch');
select is(tests.race('postline_sender', tests.batch('bob group'), 'postline_sender', tests.batch('alice group')),
    '1 done', 'a batch does not wait for another');
select is(array(select seq from public.messages where conversation_id = tests.id('group') order by seq),
    array(select generate_series(1, tests.last_seq())), 'numbers have no gap');

-- Pieces of messages that stream. Alice's message is number 2, and Bob's number 3.
select tests.fresh_world();
select is(tests.race('alice', 'select api.stream_message($, ''a'')', 'bob', 'select api.stream_message($, ''b'')'),
    'ok waits ok', 'the begin of a message waits for another');
create function tests.pieces(variadic pieces text[]) returns text language sql as $$
    select format('select string_agg(place::text, '','' order by place) from app.append_pieces(array[%s]::uuid[], '
                  'array_fill(%L::uuid, array[%s]), array[%s]::bigint[], array[%s]::bigint[], array[%s]::text[])',
                  string_agg(format('{%s}', p[1]), ', '), tests.id('group'), count(*), string_agg(p[2], ', '),
                  string_agg(p[3], ', '), string_agg(quote_literal(p[4]), ', '))
      from (select string_to_array(piece, ' ') as p from unnest(pieces) piece) w
$$;
select is(tests.race('alice', 'select api.append_to_message($, 2, 1, ''l'')',
        'postline_sender', tests.pieces('alice 2 2 i', 'bob 3 1 o')),
    'ok done 2', 'a batch leaves out the piece of a locked message');
select is(tests.race('postline_sender', tests.pieces('alice 2 2 i', 'bob 3 2 b'),
        'alice', 'select api.append_to_message($, 2, 2, ''i'')'),
    '1,2 waits ok', 'the same piece sent singly waits for a batch');
select is(tests.race('postline_sender', tests.pieces('alice 2 3 ce!'), 'alice', 'select api.finish_message($, 2)'),
    '1 waits ok', 'the end of a message waits for a batch');
select is(tests.race('bob', 'select api.finish_message($, 3)', 'postline_sender', tests.pieces('bob 3 3 !')),
    'ok done', 'a batch leaves out the piece of a message that ends');
select is(array(select content::text from public.messages where conversation_id = tests.id('group') order by seq),
    array['old', 'alice!', 'bob'], 'the texts have each piece once');

-- A transaction that is older than the one that wrote last.
create function tests.version_of(who text) returns bigint language sql as $$
    select version from public.user_profiles where id = tests.id(who)
$$;
do $$ begin
    perform dblink_exec('one', 'begin');
    perform from dblink('one', 'select pg_current_xact_id()::text') as t (id text);
end $$;
select tests.version_of('erik') as version \gset
update public.user_private set preferences = '{"by": "the younger"}' where id = tests.id('erik');
select is(tests.version_of('erik'), (:version + 1)::bigint, 'a change of private data increases the version');
do $$ begin
    perform dblink_exec('one', tests.with_ids(
        'update public.user_private set preferences = ''{"by": "the older"}'' where id = {erik}'));
    perform dblink_exec('one', 'commit');
end $$;
select is(tests.version_of('erik'), (:version + 2)::bigint,
    'a change by an older transaction increases the version too');

-- Presence of a user who arrives at one node and leaves another at once.
create function tests.report(node integer, arrived text, gone text, is_whole boolean default false) returns text
language sql as $$
    select format('select app.report_presence(''00000000-0000-4000-8000-00000000000%s'', 60, array[%s]::uuid[], '
                  'array[%s]::uuid[], %L)::text', node, arrived, gone, is_whole)
$$;
create function tests.lapse(node integer) returns void language sql as $$
    update app.nodes set lease_until = clock_timestamp() - interval '1 second'
     where id = ('00000000-0000-4000-8000-00000000000' || node)::uuid
$$;
create function tests.online() returns text language sql as $$
    select string_agg(i.name, ' ' order by i.name)
      from public.presence p join tests.ids i on i.id = p.user_id where p.is_online
$$;
-- Two calls of nodes or a user, and the state after both.
create function tests.presence_race(first text, second text, second_user text default 'postline_feed') returns text
language plpgsql as $$
declare
    answers text := tests.race('postline_feed', first, second_user, second);
begin
    perform app.update_presence('{}');
    return answers || ': ' || coalesce(tests.online(), 'nobody');
end $$;
select is(tests.presence_race(tests.report(1, '', '', true), tests.report(2, '', '', true)),
    'true done true: nobody', 'two nodes report for the first time');
select is(tests.presence_race(tests.report(1, '{alice},{bob}', ''), tests.report(2, '{bob},{alice}', '')),
    'true waits true: alice bob', 'two nodes report the same new users: each row is inserted once');
select is(tests.presence_race(tests.report(1, '', '{alice},{bob}'), tests.report(2, '{carol}', '{alice}')),
    'true done true: bob carol', 'a user leaves both nodes, another only one');
select is(tests.presence_race(tests.report(2, '', '{bob}'), tests.report(1, '{bob}', '')),
    'true done true: bob carol', 'a user leaves one node and then arrives at another');
select is(tests.presence_race(tests.report(2, '{bob}', ''), tests.report(1, '', '{bob}')),
    'true done true: bob carol', 'a user arrives at one node and then leaves another');
select is(tests.presence_race(tests.report(1, '{dora}', ''), tests.report(1, '', '{dora}')),
    'true waits true: bob carol', 'two reports of one node apply in order');
select is(tests.presence_race(tests.report(1, '{erik}', ''), tests.report(2, '{erik}', '{carol}')),
    'true waits true: bob erik', 'two nodes report one new user: its row is inserted once');
-- A node that was paused.
select tests.lapse(2);
select is(tests.presence_race('select app.end_nodes()::text', tests.report(2, '{frank}', '')),
    '2 waits false: erik', 'a node that is being ended cannot report');
select is(tests.presence_race(tests.report(2, '{bob},{frank}', '', true), 'select app.end_nodes()::text'),
    'true done 0: bob erik frank', 'the node then reports its whole state');
select tests.lapse(2);
select is(tests.presence_race(tests.report(2, '', ''), 'select app.end_nodes()::text'),
    'true done 0: bob erik frank', 'a node that reports before it is ended stays');
select tests.lapse(2);
select is(tests.presence_race('select app.end_nodes()::text', tests.report(2, '{dora}', '', true)),
    '2 waits true: dora erik', 'a user of a node that was ended and returned is online');
select tests.lapse(1), tests.lapse(2);
select is(tests.presence_race('select app.end_nodes()::text', 'select app.end_nodes()::text'),
    '2 done 0: nobody', 'two calls end the same nodes once');
select is(tests.presence_race(tests.report(1, '{alice}', '', true), tests.report(2, '{alice}', '', true)),
    'true done true: alice', 'two nodes return with one user');
select tests.lapse(1);
select is(tests.presence_race('select app.end_nodes()::text', tests.report(2, '', '{alice}')),
    '1 done true: nobody', 'a node is ended while the user leaves another');
-- A user who hides its presence, or is deleted.
create function tests.hide(value text) returns text language sql as $$
    select format('select api.update_me(''{"preferences":{"presence":%s}}'')', to_json(value))
$$;
select is(tests.presence_race(tests.report(2, '{alice}', ''), tests.hide('nobody'), 'alice'),
    'true waits ok: nobody', 'a user arrives and hides its presence');
select is(tests.presence_race(tests.report(2, '', '{alice}'), tests.hide('contacts'), 'alice'),
    'true waits ok: nobody', 'a user leaves and shows its presence');
select is(tests.presence_race(tests.report(2, '{carol}', ''), 'select app.hide_presence({carol})::text', 'none'),
    'true waits : nobody', 'a user arrives and is deleted');
-- A transaction that stays open for long.
select tests.report(2, '{alice}', '') as arrival \gset
select from dblink('two', tests.with_ids(:'arrival')) as t (answer text);
select is(tests.online(), 'alice');
do $$ begin
    perform tests.begin_as('one', 'alice');
    perform tests.start('one', tests.hide('nobody'));
end $$;
select tests.report(2, '{bob}', '{alice}') as leaving \gset
select from dblink('two', tests.with_ids(:'leaving')) as t (answer text);
select is(tests.online(), 'alice bob', 'an open transaction delays only its own user');
select is((select count(*) from app.unsettled_users), 1::bigint, 'the delayed user is recorded');
select tests.report(2, '', '') as renewal \gset
select from dblink('two', tests.with_ids(:'renewal')) as t (answer text);
select is((select count(*) from app.unsettled_users), 1::bigint,
    'the user stays recorded while the transaction is open');
do $$ begin
    perform from dblink_get_result('one') as t (answer text);
    perform from dblink_get_result('one') as t (answer text);
    perform dblink_exec('one', 'rollback');
end $$;
select from dblink('two', tests.with_ids(:'renewal')) as t (answer text);
select is(tests.online() || (select count(*) from app.unsettled_users), 'bob0',
    'the next call applies the user''s presence');

-- An operator's command and a sign-in.
select is(tests.race('postline_accounts',
        'select generation from accounts.open_session(gen_random_uuid(), {frank}, null)',
        'none', 'select admin.end_sessions(''me'', ''tap_frank'', null) ->> ''ended_sessions'''),
    '1 waits 1', 'end_sessions waits for a concurrent sign-in and ends its session');
select is(tests.race('postline_accounts',
        'select generation from accounts.open_session(gen_random_uuid(), {frank}, null)',
        'none', 'select admin.disable(''me'', ''tap_frank'', null, null) ->> ''ended_sessions'''),
    '1 waits 1', 'disable waits for a concurrent sign-in and ends its session');
select admin.enable('me', 'tap_frank');
select is(tests.race('none', 'select admin.disable(''me'', ''tap_frank'', null, null) ->> ''ended_sessions''',
        'postline_accounts', 'select generation from accounts.open_session(gen_random_uuid(), {frank}, null)'),
    '0 waits PL016', 'a sign-in after disable is rejected');

-- Another program's transaction delays its own user only.
create function tests.call_beside(statement text, call text) returns text language plpgsql as $$
declare
    answer text;
begin
    perform dblink_exec('one', 'begin');
    perform dblink_exec('one', tests.with_ids(statement));
    perform tests.begin_as('two', 'postline_feed');
    perform dblink_exec('two', 'set local statement_timeout = ''5s''');
    perform dblink_send_query('two', tests.with_ids(call));
    answer := tests.finish('two');
    perform dblink_exec('one', 'rollback');
    return answer;
end $$;
delete from public.presence where user_id in (tests.id('dora'), tests.id('erik'));
select is(tests.call_beside(
        $$update public.user_private set preferences = '{"presence":"nobody"}' where id = {dora}$$,
        $$select app.report_presence({alice}, 60, array[{dora}, {erik}]::uuid[], '{}', true)$$), 't',
    'a user who is hiding its presence does not delay a node''s report');
select is((select string_agg(i.name, ' ') from public.presence p join tests.ids i on i.id = p.user_id and p.is_online
            where i.name in ('dora', 'erik')), 'erik', 'the report shows the other users');
select app.report_presence(tests.id('alice'), 60, '{}', '{}');
select is((select count(*) from public.presence p where p.is_online and p.user_id = tests.id('dora')), 1::bigint,
    'the delayed user is shown after the transaction');
delete from app.node_users;
select tests.fresh_world();
delete from app.push_cursor;
select tests.call_beside('lock table tests.ids in access share mode', 'select app.queue_pushes()');
insert into app.devices (user_id, platform, token, environment)
select tests.id(n), 'apns', 'race ' || n, 'production' from unnest(array['carol', 'dora']) n;
select tests.say('group', 'alice', 'to both');
create function tests.noted() returns text language sql as $$
    select coalesce(string_agg(d.token, ', ' order by d.token), 'none')
      from app.pushes p join app.devices d on d.id = p.device_id and d.token like 'race %'
$$;
select tests.call_beside('delete from app.devices where token = ''race dora''', 'select app.queue_pushes()');
select is(tests.noted(), 'race carol', 'a device that is being deleted does not delay other users'' pushes');
select tests.call_beside('lock table tests.ids in access share mode', 'select app.queue_pushes()');
select is(tests.noted(), 'race carol, race dora', 'the device''s pushes are queued if it is kept');
select is((select count(*) from app.push_backlog), 0::bigint, 'the backlog is processed once');
drop function tests.call_beside, tests.noted();
delete from app.devices where token like 'race %';
delete from app.push_cursor;

-- Reactions, and the deletion of their message.
create function tests.reacted() returns text language sql as $$
    select coalesce((select c.counts::text from public.reaction_counts c where c.conversation_id = tests.id('group')),
                    'none') || ' ' || count(*) from public.message_reactions r
     where r.conversation_id = tests.id('group') and r.is_set
$$;
select tests.fresh_world();
select is(tests.race('alice', 'select api.react($, 1, ''+1'')', 'bob', 'select api.react($, 1, ''+1'')'),
    'ok waits ok', 'two reactions are counted one after the other');
select is(tests.reacted(), '{"+1": 2} 2');
select is(tests.race('alice', 'select api.react($, 1, ''+1'', false)', 'carol', 'select api.delete_message($, 1)'),
    'ok waits ok', 'a deletion waits for a reaction');
select is(tests.reacted(), '{} 0', 'and removes it');
select tests.fresh_world();
select is(tests.race('alice', 'select api.react($, 1, ''+1'')', 'carol', 'select api.delete_message($, 1)'),
    'ok waits ok', 'a deletion waits for the first reaction');
select is(tests.reacted(), '{} 0', 'and removes it');
select tests.fresh_world();
select is(tests.race('carol', 'select api.delete_message($, 1)', 'alice', 'select api.react($, 1, ''+1'')'),
    'ok waits PL007', 'a reaction waits for the deletion, and is refused');
select is(tests.reacted(), 'none 0', 'and leaves nothing');
select tests.fresh_world();
select is(tests.race('alice', 'select api.react($, 1, ''+1'')', 'bob', 'select api.send_message($, ''x'')'),
    'ok done ok', 'a send does not wait for a reaction');
select is(tests.race('bob', 'select api.edit_message($, 2, ''y'')', 'alice', 'select api.react($, 2, ''+1'')'),
    'ok done ok', 'a reaction does not wait for an edit');
drop function tests.reacted();

-- Delivered marks, and members who are removed.
create function tests.report(who text, seq integer) returns text language sql as $$
    select format('select cardinality(unsettled)::text
                     from app.report_delivered(array[$]::uuid[], array[{%s}]::uuid[], array[%s]::bigint[])', who, seq)
$$;
create function tests.delivered() returns text language sql as $$
    select coalesce(string_agg(i.name || ' ' || d.last_delivered_seq, ', ' order by i.name), 'none')
      from public.delivered_marks d join tests.ids i on i.id = d.user_id where d.conversation_id = tests.id('group')
$$;
select tests.fresh_world();
select tests.say('group', 'carol', 'new');
select is(tests.race('alice', 'select api.remove_member($, {bob})', 'postline_feed', tests.report('bob', 1)),
    'ok done 1', 'a first mark does not wait for the removal of its member, and is reported again');
select is(tests.delivered(), 'none');
select tests.fresh_world();
select tests.say('group', 'carol', 'new');
select is(tests.race('postline_feed', tests.report('bob', 1), 'alice', 'select api.remove_member($, {bob})'),
    '0 waits ok', 'a removal waits for a first mark');
select is(tests.delivered(), 'none', 'and removes it');
select tests.fresh_world();
select tests.say('group', 'carol', 'new');
select is(tests.race('postline_feed', tests.report('bob', 1), 'postline_feed', tests.report('bob', 2)), '0 waits 1',
    'of two first marks one is reported again');
select is(tests.race('postline_feed', tests.report('bob', 2), 'bob', 'select api.mark_read($, 2)'), '0 done ok',
    'a read mark does not wait for a delivered mark');
select is(tests.delivered(), 'bob 2');
select tests.say('group', 'carol', 'newer');
select is(tests.race('postline_feed', tests.report('dora', 1), 'dora', 'select api.send_message($, ''x'')'),
    '0 done ok', 'a send does not wait for its sender''s first mark');
select is(tests.race('alice', 'select api.remove_member($, {bob})', 'postline_feed', tests.report('bob', 3)),
    'ok done 1', 'a mark does not wait for the removal of its member');
select is(tests.delivered(), 'dora 1', 'and goes with it');
drop function tests.report(text, integer), tests.delivered();

-- Blocks.
select tests.make_user(name) from unnest(array['gina', 'hans', 'ivan', 'judy']) name;
create function tests.blocked() returns bigint language sql as $$
    select count(*) from public.conversation_members m
     where m.is_blocked and m.user_id in (select i.id from tests.ids i)
$$;
select is(tests.race('gina', 'select api.block_user({hans})', 'hans', 'select api.open_conversation({gina})'),
    'ok waits PL008', 'a conversation waits for a block, and does not begin');
select is(tests.race('ivan', 'select api.open_conversation({judy})', 'judy', 'select api.block_user({ivan})'),
    'ok waits ok', 'a block waits for a conversation');
select is(tests.blocked(), 2::bigint, 'and holds for it');
insert into tests.ids select 'ivan judy', c.id from public.conversations c
 where c.participant1_id = least(tests.id('ivan'), tests.id('judy'))
   and c.participant2_id = greatest(tests.id('ivan'), tests.id('judy'));
select is(tests.race('judy', 'select api.unblock_user({ivan})', 'ivan', 'select api.send_message({ivan judy}, ''x'')'),
    'ok waits ok', 'a message waits for the end of a block');
select is(tests.race('judy', 'select api.block_user({ivan})', 'ivan', 'select api.send_message({ivan judy}, ''x'')'),
    'ok waits PL007', 'a message waits for a block, and is refused');
select is(tests.race('gina', 'select api.unblock_user({hans})', 'hans', 'select api.block_user({gina})'),
    'ok waits ok', 'two users block each other at once');
drop function tests.blocked();

-- Held messages, of which one decision counts.
insert into app.filter_rules (scope, word, action) values ('messages', 'gamble', 'hold');
update public.user_private set is_moderator = true where id in (tests.id('erik'), tests.id('gina'));
create function tests.held_world() returns void language sql as $$
    select tests.fresh_world();
    select tests.say('group', 'carol', 'gamble');
$$;
create function tests.decided() returns text language sql as $$
    select concat_ws(' ', m.content, m.version, case when m.deleted_at is not null then 'deleted' end, (
               select 'held' from app.held_messages h where h.message_id = m.id))
      from public.messages m where m.conversation_id = tests.id('group') and m.seq = 2
$$;
select tests.held_world();
select is(tests.decided(), '1 deleted held');
select is(tests.race('erik', 'select api.release_message($, 2)', 'gina', 'select api.reject_message($, 2)'),
    'ok waits PL008', 'row 65b: of two moderators the first decides');
select is(tests.decided(), 'gamble 3');
select tests.held_world();
select is(tests.race('erik', 'select api.release_message($, 2)', 'carol', 'select api.delete_message($, 2)'),
    'ok waits ok', 'a deletion waits for a release');
select is(tests.decided(), '4 deleted', 'and deletes the message');
select tests.held_world();
select is(tests.race('carol', 'select api.delete_message($, 2)', 'erik', 'select api.release_message($, 2)'),
    'ok waits PL008', 'a release waits for a deletion, and finds nothing');
select is(tests.decided(), '3 deleted');
select tests.held_world();
select is(tests.race('alice', 'select api.remove_member($, {carol})', 'erik', 'select api.release_message($, 2)'),
    'ok waits PL008', 'a release waits for the removal of the sender, and finds nothing');
select is(tests.decided(), '1 deleted');
select tests.held_world();
select is(tests.race('erik', 'select api.release_message($, 2)', 'alice', 'select api.remove_member($, {carol})'),
    'ok waits ok', 'a removal waits for a release');
select is(tests.decided(), 'gamble 3', 'and the message stays');
select tests.held_world();
select is(tests.race('erik', 'select api.reject_message($, 2)', 'none', format(
        'select app.apply_held_decision(%L, ''release'')::text', (
        select m.id from public.messages m where m.conversation_id = tests.id('group') and m.seq = 2))),
    'ok waits ', 'the webhook''s decision waits for the moderator''s, and changes nothing');
select is(tests.decided(), '3 deleted');
drop function tests.held_world(), tests.decided();
delete from app.filter_rules;

-- Cleanup.
select dblink_disconnect('one'), dblink_disconnect('two');
set session_replication_role = replica;
delete from app.sessions where user_id in (select id from tests.ids);
delete from admin.audit;
delete from public.message_reactions where conversation_id in (select id from tests.ids);
delete from public.reaction_counts where conversation_id in (select id from tests.ids);
delete from public.delivered_marks where conversation_id in (select id from tests.ids);
delete from app.held_messages where sender_id in (select id from tests.ids);
delete from app.push_queue where conversation_id in (select id from tests.ids);
delete from public.conversation_mutes where user_id in (select id from tests.ids);
delete from public.messages where sender_id in (select id from tests.ids);
delete from public.conversation_members where user_id in (select id from tests.ids);
delete from app.former_members where user_id in (select id from tests.ids);
delete from public.conversations where id in (select id from tests.ids);
delete from public.username_history where user_id in (select id from tests.ids);
delete from public.presence where user_id in (select id from tests.ids);
delete from public.blocks where blocker_id in (select id from tests.ids);
delete from app.node_users;
delete from app.nodes;
delete from app.unsettled_users;
delete from public.user_private where id in (select id from tests.ids);
delete from app.search_names where user_id in (select id from tests.ids);
delete from public.user_profiles where id in (select id from tests.ids);
delete from auth.users where id in (select id from tests.ids);
delete from app.words w
 where not exists (select from app.search_names s where s.words @> array[w.word]);
reset session_replication_role;
delete from tests.ids;
drop function tests.connect, tests.begin_as, tests.with_ids, tests.start, tests.finish, tests.race, tests.seats(),
    tests.batch,
    tests.fresh_world(), tests.last_seq(), tests.version_of(text), tests.report, tests.lapse, tests.online(),
    tests.presence_race, tests.hide;
select * from finish();
\else
select plan(1);
select skip('dblink is not installed', 1);
select * from finish();
\endif
