-- Tickets for event streams: once, for thirty seconds, ten a user; and again to resume, until the token expires.
begin;
select no_plan();
select tests.make_world();
create function tests.keep(hash text, who text default 'alice') returns text language sql as $$
    select tests.account(format('(select accounts.keep_ticket(%L, %L, ''5ea1ed'', %s))', hash, tests.id(who),
                                extract(epoch from app.now() + interval '15 minutes')))
$$;
create function tests.take(hash text, is_used boolean default false) returns text language sql as $$
    select tests.account(format('(select accounts.take_ticket(%L, %L))', hash, is_used))
$$;

select tests.keep('aa');
select is(tests.take('bb'), null, 'a ticket that was never given opens nothing');
select is(tests.take('aa'), '5ea1ed', 'one that was opens what was sealed');
select is(tests.take('aa'), null, 'once');
select is(tests.take('aa', true), '5ea1ed', 'a used one resumes');
select is(tests.take('aa', true), '5ea1ed', 'as often as it is asked to');
select tests.keep('ab');
select is(tests.take('ab', true), null, 'one that was not used resumes nothing');
insert into app.settings (name, value) values ('clock_offset', '901 seconds')
    on conflict (name) do update set value = excluded.value;
select is(tests.take('aa', true), null, 'until the token expires');
select tests.keep('ac');
select is((select count(*) from app.stream_tickets), 1::bigint, 'and is gone when there is a new one');
update app.settings set value = '0' where name = 'clock_offset';
delete from app.stream_tickets;
select tests.account(format('(select accounts.keep_ticket(%L, %L, ''5ea1ed'', 1e11))', 'ad', tests.id('alice')));
select ok((select resumes_until < now() + interval '25 hours' from app.stream_tickets), 'nor for more than a day');
delete from app.stream_tickets;

select tests.keep('aa');
insert into app.settings (name, value) values ('clock_offset', '31 seconds')
    on conflict (name) do update set value = excluded.value;
select is(tests.take('aa'), null, 'for thirty seconds');
update app.settings set value = '0' where name = 'clock_offset';
delete from app.stream_tickets;
select tests.keep('bb', 'bob');
update app.stream_tickets set expires_at = now() - interval '1 second';
select tests.keep('cc', 'carol');
select is((select count(*) from app.stream_tickets), 1::bigint, 'old ones go when there is a new one');

select tests.keep(to_hex(n + 16)) from generate_series(1, 30) n;
select is((select count(*) from app.stream_tickets where user_id = tests.id('alice')), 10::bigint, 'a user has ten');
select is((select count(*) from app.stream_tickets where user_id = tests.id('carol')), 1::bigint, 'of its own');
update app.stream_tickets set expires_at = expires_at - interval '1 second' where user_id = tests.id('alice');
select tests.keep('ee');
select is(tests.take('ee'), '5ea1ed', 'the newest among them');
select tests.keep('ed');
select is(tests.take('ed'), '5ea1ed', 'used ones do not displace unused ones');
select tests.keep('ff', 'bob');
select is(left(tests.keep('ff', 'bob'), 5), '23505', 'no two have one hash');

select * from finish();
rollback;
