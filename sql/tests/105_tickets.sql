-- Tickets for event streams: used once, within thirty seconds, ten per user; and again to resume until the token
-- expires.
begin;
select no_plan();
select tests.make_world();
create function tests.store(hash text, who text default 'alice') returns text language sql as $$
    select tests.account(format('(select accounts.store_ticket(%L, %L, ''5ea1ed'', %s))', hash, tests.id(who),
                                extract(epoch from app.now() + interval '15 minutes')))
$$;
create function tests.redeem(hash text, is_used boolean default false) returns text language sql as $$
    select tests.account(format('(select accounts.redeem_ticket(%L, %L))', hash, is_used))
$$;

select tests.store('aa');
select is(tests.redeem('bb'), null, 'an unknown ticket returns nothing');
select is(tests.redeem('aa'), '5ea1ed', 'a ticket returns the stored secret');
select is(tests.redeem('aa'), null, 'a ticket can be redeemed only once');
select is(tests.redeem('aa', true), '5ea1ed', 'a used ticket can resume');
select is(tests.redeem('aa', true), '5ea1ed', 'a used ticket can resume repeatedly');
select tests.store('ab');
select is(tests.redeem('ab', true), null, 'an unused ticket cannot resume');
insert into app.settings (name, value) values ('clock_offset', '901 seconds')
    on conflict (name) do update set value = excluded.value;
select is(tests.redeem('aa', true), null, 'a ticket cannot resume after the token has expired');
select tests.store('ac');
select is((select count(*) from app.stream_tickets), 1::bigint,
    'an expired ticket is deleted when a new one is stored');
update app.settings set value = '0' where name = 'clock_offset';
delete from app.stream_tickets;
select tests.account(format('(select accounts.store_ticket(%L, %L, ''5ea1ed'', 1e11))', 'ad', tests.id('alice')));
select ok((select resumes_until < now() + interval '25 hours' from app.stream_tickets),
    'a ticket can resume for at most a day');
delete from app.stream_tickets;

select tests.store('aa');
insert into app.settings (name, value) values ('clock_offset', '31 seconds')
    on conflict (name) do update set value = excluded.value;
select is(tests.redeem('aa'), null, 'a ticket expires after thirty seconds');
update app.settings set value = '0' where name = 'clock_offset';
delete from app.stream_tickets;
select tests.store('bb', 'bob');
update app.stream_tickets set expires_at = now() - interval '1 second';
select tests.store('cc', 'carol');
select is((select count(*) from app.stream_tickets), 1::bigint, 'old tickets are deleted when a new one is stored');

select tests.store(to_hex(n + 16)) from generate_series(1, 30) n;
select is((select count(*) from app.stream_tickets where user_id = tests.id('alice')), 10::bigint,
    'a user has at most ten tickets');
select is((select count(*) from app.stream_tickets where user_id = tests.id('carol')), 1::bigint,
    'the bound does not count another user''s tickets');
update app.stream_tickets set expires_at = expires_at - interval '1 second' where user_id = tests.id('alice');
select tests.store('ee');
select is(tests.redeem('ee'), '5ea1ed', 'the newest tickets are kept');
select tests.store('ed');
select is(tests.redeem('ed'), '5ea1ed', 'used tickets do not displace unused ones');
select tests.store('ff', 'bob');
select is(left(tests.store('ff', 'bob'), 5), '23505', 'two tickets cannot have the same hash');

select * from finish();
rollback;
