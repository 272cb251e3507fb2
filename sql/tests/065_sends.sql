-- Texts that are sent as a batch have the same rows, responses, errors and changes as texts sent one by one.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('dora');
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('alice'), tests.id('dora')) returning id)
insert into tests.ids select 'left', id from c;
select tests.account(format('accounts.delete_user(%L, null)', tests.id('dora')));
with c as (insert into public.conversations (kind, title, created_by)
           values ('group', 'Alone', tests.id('alice')) returning id)
insert into tests.ids select 'alone', id from c;
insert into public.conversation_members (conversation_id, user_id) values (tests.id('alone'), tests.id('alice'));
insert into tests.ids values ('none', gen_random_uuid());

create type pg_temp.send as (place bigint, who text, room text, content text, client_id uuid);

-- A batch, as a node sends it: responses by place, for those that were sent.
create function pg_temp.together(sends pg_temp.send[]) returns table (place bigint, answer text) language plpgsql as $$
begin
    perform tests.authenticate_as('postline_sender');
    return query
    select t.place, t.object
      from (select array_agg(tests.id(s.who) order by s.place) as who,
                   array_agg(tests.id(s.room) order by s.place) as room,
                   array_agg(s.content order by s.place) as content,
                   array_agg(s.client_id order by s.place) as client_id
              from unnest(sends) s) a,
           app.send_messages(a.who, a.room, a.content, a.client_id) t;
    perform tests.owner();
end $$;

-- A single send, as a node makes it: for a used client_id it reads the message that was sent with it.
create function pg_temp.alone(send pg_temp.send) returns text language plpgsql as $$
declare
    params text := format('(%L, %L, %L)', tests.id(send.room), send.content, send.client_id);
    answer text := tests.as(send.who, 'api.send_message' || params);
begin
    return case when answer like '23505 %' then tests.as(send.who, 'api.sent_message' || params) else answer end;
end $$;

-- Without values that differ each time: new ids, and times. Whether a repeated send was read depends on the time.
create function pg_temp.plain(answer text) returns text language sql as $$
    select regexp_replace(regexp_replace(answer, '"(id|created_at)":"[^"]*",("conversation_id")?', '\2', 'g'),
                          '"is_read":(true|false),', '')
$$;

-- Everything that sends leave, and what the feed returns for it.
create function pg_temp.left_behind() returns jsonb language plpgsql as $$
declare
    news jsonb;
begin
    perform set_config('role', 'postline_feed', true);
    select jsonb_agg(jsonb_build_array(l.kind, l.conversation_id, l.user_id, l.seq, pg_temp.plain(l.object), l.marks)
                     order by l.kind, l.conversation_id, l.user_id, l.seq)
      into news from feed.read_changes('4:4:') l;
    perform tests.owner();
    return jsonb_build_array(
        news,
        (select jsonb_agg(to_jsonb(m) - '{id,created_at,first_sent}'::text[] order by m.conversation_id, m.seq)
           from public.messages m),
        (select jsonb_agg(to_jsonb(c) - 'last_message_time' order by c.id) from public.conversations c),
        (select jsonb_agg(to_jsonb(m) order by m.conversation_id, m.user_id) from public.conversation_members m));
end $$;

-- Returns the outcome of sends in one of the two ways, after a statement: the responses, and what they leave. It is
-- undone.
create function pg_temp.outcome(sends pg_temp.send[], grouped boolean, setup text default null) returns jsonb
language plpgsql as $$
declare
    answers text[] := array_fill(null::text, array[cardinality(sends)]);
    s pg_temp.send;
    t record;
begin
    if setup is not null then
        execute setup;
    end if;
    perform tests.age();
    if grouped then
        for t in select * from pg_temp.together(sends) loop
            answers[t.place] := t.answer;
        end loop;
    end if;
    foreach s in array sends loop
        if answers[s.place] is null then
            answers[s.place] := pg_temp.alone(s);
        end if;
    end loop;
    -- Without the times of what `setup` changed.
    raise exception using errcode = 'TT000', message = regexp_replace(jsonb_build_array(
        (select jsonb_agg(pg_temp.plain(a)) from unnest(answers) a), pg_temp.left_behind())::text,
        '\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-][\d:]+)', 'a time', 'g');
exception when sqlstate 'TT000' then return sqlerrm::jsonb;
end $$;

select setseed(0.19);
create function pg_temp.one_of(variadic choice text[]) returns text language sql volatile as $$
    select choice[1 + floor(random() * cardinality(choice))::integer]
$$;
create function pg_temp.some_sends(number integer) returns pg_temp.send[] language sql volatile as $$
    select array_agg(row(n, pg_temp.one_of('alice', 'alice', 'bob', 'bob', 'carol', 'mallory', 'dora'),
                         pg_temp.one_of('direct', 'direct', 'group', 'group', 'left', 'alone', 'none'),
                         pg_temp.one_of('hello', 'hello', 'a "quoted" \ text', e'two\nlines \u202e 😀', 'null', '{a,b}',
                                        repeat('x', 8000), '', null, repeat('x', 8001)),
                         pg_temp.one_of('11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222',
                                        null, gen_random_uuid()::text)::uuid)::pg_temp.send order by n)
      from generate_series(1, number) n
$$;
create temporary table trials as
select n, sends, pg_temp.outcome(sends, true) as grouped, pg_temp.outcome(sends, false) as single
  from (select n, pg_temp.some_sends(1 + n * 2) as sends from generate_series(1, 20) n) s;
select is(grouped, single,
    format('a batch of %s texts has the same effects and responses as single sends', cardinality(sends)))
  from trials;
select cmp_ok((select count(*) from trials, jsonb_array_elements_text(single -> 0) a where a like '{%'),
    '>', 60::bigint, 'most of the trials'' texts are sent');
select is((select array_agg(distinct left(a, 5) order by left(a, 5))
             from trials, jsonb_array_elements_text(single -> 0) a where a not like '{%'),
    '{PL001,PL008,PL012}', 'the trials include each kind of error');

-- Cases of each rule, sent both ways: the result of each text, and the places of those that the batch sends. It leaves
-- the others to single sends.
create function pg_temp.text(who text, room text, content text, client_id uuid default null) returns pg_temp.send
language sql as $$ select row(null, who, room, content, client_id)::pg_temp.send $$;
create temporary table cases (
    name text, sends pg_temp.send[], results text[], places bigint[], setup text, n serial);
create function pg_temp.try(
    name text, results text[], places bigint[], setup text, variadic sends pg_temp.send[]) returns void
language sql as $$
    insert into cases (name, results, places, setup, sends)
    select name, results, places, setup, array_agg(row(n, who, room, content, client_id)::pg_temp.send order by n)
      from unnest(sends) with ordinality as s (place, who, room, content, client_id, n)
$$;
\set one '''11111111-1111-4111-8111-111111111111'''
-- Lengths and characters.
select pg_temp.try('a text of ' || name, array[case when is_sent then 'sent' else 'PL001' end],
                   case when is_sent then '{1}'::bigint[] end, null, pg_temp.text('alice', 'direct', content))
  from (values
        ('no characters', '', false), ('null', null, false), ('one character', 'x', true),
        ('8,000 characters', repeat('x', app.max_message_characters()), true),
        ('8,001 characters', repeat('x', app.max_message_characters() + 1), false),
        ('8,000 characters of four bytes', repeat('😀', 8000), true),
        ('8,001 characters of four bytes', repeat('😀', 8001), false),
        ('8,000 code points in 4,000 letters', repeat(e'e\u0301', 4000), true),
        ('8,002 code points in 4,001 letters', repeat(e'e\u0301', 4001), false),
        ('blanks only', '   ', true), ('line ends and tabs only', e'\n\t\r\n', true),
        ('invisible characters only', e'\u200b\u3000\ufeff', true),
        ('blanks around a word', '  word ', true),
        ('controls and noncharacters', e'\u0001\u001f\u007f\u0085\u202e\ufdd0\uffff\U0010ffff', true),
        ('letters in two forms', e'\u00e9 e\u0301', true), ('JSON', '{"a":[null,"\\u0000"]}', true),
        ('an array', '{a,NULL,"b"}', true), ('quotes and backslashes', $x$'' "" \ \\ $1 %s$x$, true),
        ('199 characters', repeat('p', 199), true), ('200 characters', repeat('p', 200), true),
        ('201 characters', repeat('p', 200) || 'q', true), ('201 emoji', repeat('😀', 201), true),
        ('an accent after 200 characters', repeat('p', 199) || e'e\u0301', true)) t (name, content, is_sent);

-- client_id.
select pg_temp.try('two texts without client_id', '{sent,sent}', '{1,2}', null,
    pg_temp.text('alice', 'direct', 'x'), pg_temp.text('alice', 'direct', 'x'));
select pg_temp.try('a repeated text', '{sent,sent}', '{1}', null,
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('alice', 'direct', 'x', :one));
select pg_temp.try('a client_id with another text', '{sent,PL012}', '{1}', null,
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('alice', 'direct', 'y', :one));
select pg_temp.try('a repeated text between others', '{sent,sent,sent,sent}', '{1,2,4}', null,
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('bob', 'direct', 'y'),
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('alice', 'direct', 'z'));
select pg_temp.try('a client_id of two senders', '{sent,sent}', '{1,2}', null,
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('bob', 'direct', 'y', :one));
select pg_temp.try('a client_id in two conversations', '{sent,sent}', '{1,2}', null,
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('alice', 'group', 'y', :one));
select pg_temp.try('a client_id of a text that is refused', '{PL001,sent}', '{2}', null,
    pg_temp.text('alice', 'direct', '', :one), pg_temp.text('alice', 'direct', 'x', :one));
select pg_temp.try('a text of an earlier batch', '{sent,PL012,sent}', '{3}', format($x$
        insert into public.messages (conversation_id, sender_id, client_id, content) values (%L, %L, %L, 'x')
    $x$, tests.id('direct'), tests.id('alice'), :one),
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('alice', 'direct', 'y', :one),
    pg_temp.text('bob', 'direct', 'y', :one));
select pg_temp.try('a text that was ' || change || ' since', results, null, format($x$
        insert into public.messages (conversation_id, sender_id, client_id, content) values (%L, %L, %L, 'x');
        update public.messages set %s where client_id = %5$L and conversation_id = %1$L
    $x$, tests.id('direct'), tests.id('alice'), :one, assignment, :one),
    pg_temp.text('alice', 'direct', 'x', :one), pg_temp.text('alice', 'direct', 'y', :one))
  from (values
        ('edited', '{sent,PL012}'::text[], $x$content = 'y'$x$),
        ('deleted', '{sent,PL012}', 'deleted_at = now()')) t (change, results, assignment);

-- Senders and conversations.
select tests.make_user('guest', true), tests.make_user('erin');
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('alice'), tests.id('guest')) returning id)
insert into tests.ids select 'with guest', id from c;
select pg_temp.try(name, array[result], case result when 'sent' then '{1}'::bigint[] end, null,
                   pg_temp.text(who, room, 'x', :one))
  from (values
        ('a non-member in a direct conversation', 'mallory', 'direct', 'PL008'),
        ('a non-member in a group', 'mallory', 'group', 'PL008'),
        ('a conversation that does not exist', 'alice', 'none', 'PL008'),
        ('no conversation', 'alice', 'nowhere', 'PL008'),
        ('a deleted user', 'dora', 'left', 'PL008'), ('a text to a deleted user', 'alice', 'left', 'sent'),
        ('a guest', 'guest', 'with guest', 'sent'), ('a text to a guest', 'alice', 'with guest', 'sent'),
        ('a guest who is not a member', 'guest', 'direct', 'PL008'),
        ('the only member', 'alice', 'alone', 'sent')) t (name, who, room, result);
select pg_temp.try('a member who was removed', '{PL008,sent}', '{2}', format(
        'delete from public.conversation_members where conversation_id = %L and user_id = %L',
        tests.id('group'), tests.id('carol')),
    pg_temp.text('carol', 'group', 'x'), pg_temp.text('bob', 'group', 'y'));
select pg_temp.try('a member who was removed and returned', '{sent}', '{1}', format($x$
        delete from public.conversation_members where conversation_id = %1$L and user_id = %2$L;
        insert into public.conversation_members (conversation_id, user_id) values (%1$L, %2$L)
    $x$, tests.id('group'), tests.id('carol')), pg_temp.text('carol', 'group', 'x'));
select pg_temp.try('a member who was just added', '{sent}', '{1}', format(
        'insert into public.conversation_members (conversation_id, user_id) values (%L, %L)',
        tests.id('group'), tests.id('erin')), pg_temp.text('erin', 'group', 'x'));
select pg_temp.try('a group without members', '{PL008}', null, format(
        'delete from public.conversation_members where conversation_id = %L', tests.id('alone')),
    pg_temp.text('alice', 'alone', 'x'));

-- Numbers, and read marks of the senders.
select pg_temp.try('texts of two senders in turn', '{sent,sent,sent}', '{1,2,3}', null,
    pg_temp.text('alice', 'direct', '1'), pg_temp.text('bob', 'direct', '2'), pg_temp.text('alice', 'direct', '3'));
select pg_temp.try('texts in two conversations', '{sent,sent,PL008,sent,sent}', '{1,2,4,5}', null,
    pg_temp.text('alice', 'direct', '1'), pg_temp.text('carol', 'group', '1'), pg_temp.text('carol', 'direct', '2'),
    pg_temp.text('alice', 'group', '2'), pg_temp.text('bob', 'group', '3'));
select pg_temp.try('a text of a member with unread messages', '{sent}', '{1}', format($x$
        insert into public.messages (conversation_id, sender_id, content)
        select %L, %L, 'unread' from generate_series(1, 3)
    $x$, tests.id('direct'), tests.id('bob')), pg_temp.text('alice', 'direct', 'x'));

create temporary table tried as
select c.*, pg_temp.outcome(sends, true, setup) as grouped, pg_temp.outcome(sends, false, setup) as single
  from cases c;
select is(grouped, single, name || ': a batch has the same effects and responses as single sends')
  from tried order by n;
select is(array(select case when a like '{%' then 'sent' else left(a, 5) end
                  from jsonb_array_elements_text(single -> 0) with ordinality r (a, place) order by place),
          results, name || ': the result of each text') from tried order by n;
-- Returns the places of the texts that a batch sends, which is undone.
create function pg_temp.places(sends pg_temp.send[], setup text) returns bigint[] language plpgsql as $$
begin
    if setup is not null then
        execute setup;
    end if;
    raise exception using errcode = 'TT000',
        message = array(select t.place from pg_temp.together(sends) t order by t.place)::text;
exception when sqlstate 'TT000' then return sqlerrm::bigint[];
end $$;
select is(pg_temp.places(sends, setup), coalesce(places, '{}'), name || ': the texts that the batch sends')
  from cases order by n;

-- The expected state after both ways, which must also be the same.
select is(c ->> 'last_message_content', left(t.sends[1].content, app.preview_characters()),
    name || ': the preview has up to 200 characters')
  from tried t cross join lateral jsonb_array_elements(single -> 1 -> 2) c
 where t.name like 'a text of %' and t.results = '{sent}' and c ->> 'id' = tests.id('direct')::text order by n;
select is(array(select (m ->> 'last_read_seq')::integer from jsonb_array_elements(single -> 1 -> 3) m
                 where m ->> 'conversation_id' = tests.id('direct')::text
                 order by m ->> 'user_id' = tests.id('bob')::text),
          marks, t.name || ': the read marks of alice and bob')
  from tried t
  join (values
        ('texts of two senders in turn', '{3,2}'::integer[]), ('a text of a member with unread messages', '{4,3}'),
        ('a repeated text', '{1,0}'), ('a client_id with another text', '{1,0}'), ('a text of null', '{0,0}'))
       e (name, marks) using (name);
-- The bounds have one place each; the column's type cannot call a function.
select is(app.max_message_characters(), 8000, 'a message has at most 8,000 characters');
select is(app.preview_characters(), 200, 'a preview has at most 200 characters');
select lives_ok($$select repeat('x', app.max_message_characters())::app.message_content$$,
    'the type of the column has the same bound');
select throws_ok($$select repeat('x', app.max_message_characters() + 1)::app.message_content$$, '23514', null,
    'the type of the column refuses longer texts');
select is_empty($$
    select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('app', 'api') and p.prosrc ~ '\m8000\M|left\([a-z_.]*content, [0-9]'
$$, 'functions do not repeat the bounds of messages');

-- Texts of a batch that must be sent singly.
create function pg_temp.sends(variadic sends text[]) returns pg_temp.send[] language sql as $$
    select array_agg(row(n, split_part(s, ' ', 1), split_part(s, ' ', 2), 'x', nullif(split_part(s, ' ', 3), ''))::
                     pg_temp.send order by n)
      from unnest(sends) with ordinality t (s, n)
$$;
create temporary table first as
select * from pg_temp.together(pg_temp.sends(
    'alice direct', 'mallory direct', 'alice none', 'dora left', 'alice left',
    'bob direct 11111111-1111-4111-8111-111111111111', 'bob direct 11111111-1111-4111-8111-111111111111',
    'carol group', 'alice alone', 'bob group'));
select is((select array_agg(place order by place) from first), '{1,5,6,8,9,10}',
    'leaves out non-members and repeated client_ids');
select is((select count(*) from public.messages), 6::bigint, 'does not write texts that are left out');
select is((select array_agg((answer::json ->> 'is_read')::boolean order by place) from first),
    '{f,f,f,f,t,f}', 'a message is read if its sender is the only member');
select is((select count(distinct created_at) from public.messages where conversation_id = tests.id('group')), 2::bigint,
    'each message has its own time');
select is((select last_message_time from public.conversations where id = tests.id('group')),
    (select created_at from public.messages where conversation_id = tests.id('group') and seq = 2),
    'last_message_time is the newest message''s time');
select is((select array_agg(m.seq order by m.created_at) from public.messages m
            where m.conversation_id = tests.id('group')), '{1,2}', 'times grow with the numbers');

-- E13: a clock that was set back by an hour, so that the previous message is an hour in the future.
select is(pg_temp.alone(row(1, 'alice', 'group', 'Before', null)::pg_temp.send) is not null, true,
    'a single message is sent');
update public.messages set created_at = now() + interval '1 hour'
 where conversation_id = tests.id('group') and seq = (select max(seq) from public.messages where conversation_id =
     tests.id('group'));
update public.conversations set last_message_time = now() + interval '1 hour' where id = tests.id('group');
select pg_temp.alone(row(1, 'alice', 'group', 'One', null)::pg_temp.send);
select count(*) from pg_temp.together(pg_temp.sends('bob group', 'carol group', 'alice direct', 'bob group'));
select pg_temp.alone(row(1, 'alice', 'group', 'Another', null)::pg_temp.send);
select results_eq($$select seq from public.messages where conversation_id = tests.id('group') order by created_at,
    seq desc$$,
    $$select seq from public.messages where conversation_id = tests.id('group') order by seq$$,
    'times grow with the numbers, also after the clock was set back');
select is((select last_message_time from public.conversations where id = tests.id('group')),
    now() + interval '1 hour 5 microseconds', 'last_message_time is the newest message''s time');
select ok((select last_message_time < now() + interval '1 minute' from public.conversations where id =
    tests.id('direct')),
    'other conversations use the current time');
select is(tests.attempt('service_role', format($$insert into public.messages (conversation_id, sender_id, content,
    created_at)
    values (%L, %L, 'Imported', '2020-01-01')$$, tests.id('direct'), tests.id('alice'))), '1',
        'service_role can insert messages with their own times');

-- postline_sender writes only for members, and reads no message.
select is(tests.attempt('postline_sender', format($$
        insert into public.messages (id, conversation_id, seq, sender_id, content, created_at)
        values (gen_random_uuid(), %L, 99, %L, 'x', now())$$, tests.id('direct'), tests.id(who))), outcome,
        'writes a message only as a member: ' || who)
  from (values ('alice', '1'), ('mallory', '42501'), ('dora', '42501')) t (who, outcome);
select is(substr(answer::json ->> 'id', 15, 1), '7', 'ids begin with their time, also in a batch')
  from pg_temp.together(array[row(1, 'alice', 'direct', 'An id', null)::pg_temp.send]);
select is(tests.attempt('postline_sender', statement), '42501', statement)
  from unnest(array[
    'select content from public.messages', $$insert into public.messages (kind) values ('system')$$,
    $$insert into public.messages (attachment) values ('{}')$$, 'select bio from public.user_profiles',
    'select last_read_seq from public.conversation_members', 'update public.conversations set last_seq = 0',
    'update public.conversation_members set last_read_seq = 0', 'select api.me()',
    'select from app.message_objects', 'select accounts.password_hash(null)']) statement;
select is(tests.attempt(who, $$select app.send_messages('{}', '{}', '{}', '{}')$$), '42501',
    who || ' cannot call send_messages')
  from unnest(array['alice', 'anon', 'service_role', 'postline_feed', 'postline_accounts', 'tests_login']) who;
select is(tests.attempt(who, $$select app.number_messages('{}', '{}', '{}', '{}', null, null, null, null)$$), '42501',
    who || ' cannot call number_messages')
  from unnest(array['alice', 'anon', 'service_role', 'postline_feed', 'postline_accounts', 'tests_login']) who;

select * from finish();
rollback;
