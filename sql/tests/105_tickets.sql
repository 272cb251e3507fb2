-- Tickets for event streams: once, for thirty seconds, ten a user.
begin;
select no_plan();
select tests.make_world();
create function tests.keep(hash text, who text default 'alice') returns text language sql as $$
    select tests.account(format('(select accounts.keep_ticket(%L, %L, ''5ea1ed''))', hash, tests.id(who)))
$$;
create function tests.take(hash text) returns text language sql as $$
    select tests.account(format('(select accounts.take_ticket(%L))', hash))
$$;

select tests.keep('aa');
select is(tests.take('bb'), null, 'a ticket that was never given opens nothing');
select is(tests.take('aa'), '5ea1ed', 'one that was opens what was sealed');
select is(tests.take('aa'), null, 'once');

select tests.keep('aa');
insert into app.settings (name, value) values ('clock_offset', '31 seconds')
    on conflict (name) do update set value = excluded.value;
select is(tests.take('aa'), null, 'for thirty seconds');
select is((select count(*) from app.stream_tickets), 0::bigint, 'and is gone after that was asked');
update app.settings set value = '0' where name = 'clock_offset';
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
select tests.keep('ff', 'bob');
select is(left(tests.keep('ff', 'bob'), 5), '23505', 'no two have one hash');

select * from finish();
rollback;
