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
        (select jsonb_agg(to_jsonb(m) - '{id,created_at}'::text[] order by m.conversation_id, m.seq)
           from public.messages m),
        (select jsonb_agg(to_jsonb(c) - 'last_message_time' order by c.id) from public.conversations c),
        (select jsonb_agg(to_jsonb(m) order by m.conversation_id, m.user_id) from public.conversation_members m));
end $$;

-- Returns the outcome of sends in one of the two ways, which is undone.
create function pg_temp.outcome(sends pg_temp.send[], grouped boolean) returns jsonb language plpgsql as $$
declare
    answers text[] := array_fill(null::text, array[cardinality(sends)]);
    s pg_temp.send;
    t record;
begin
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
    raise exception using errcode = 'TT000', message = jsonb_build_array(
        (select jsonb_agg(pg_temp.plain(a)) from unnest(answers) a), pg_temp.left_behind())::text;
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
select is(tests.attempt(who, $$select app.number_messages('{}', '{}', '{}', '{}')$$), '42501',
    who || ' cannot call number_messages')
  from unnest(array['alice', 'anon', 'service_role', 'postline_feed', 'postline_accounts', 'tests_login']) who;

select * from finish();
rollback;
