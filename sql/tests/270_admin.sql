-- Administration: finding, listing, disabling, signing out, deleting, retrying, and the audit.
begin;
select no_plan();
select tests.make_world();
create function tests.open(who text) returns uuid language plpgsql as $$
declare session uuid := gen_random_uuid();
begin
    perform tests.account(format('(select generation from accounts.open_session(%L, %L, %L))', session, tests.id(who),
        (select encrypted_password from auth.users where id = tests.id(who))));
    return session;
end $$;
-- Returns code and message of an error.
create function tests.refusal(expression text) returns text language plpgsql as $$
begin
    execute 'select ' || expression;
    return 'done';
exception when others then return sqlstate || ' ' || sqlerrm;
end $$;
create function tests.last_order() returns text language sql as $$
    select concat_ws(' ', operator, database_role = session_user, action,
                     (select name from tests.ids i where i.id = user_id), detail)
      from admin.audit order by id desc limit 1
$$;

-- Only the owner may call it.
select is_empty($$
    select role || ' ' || p.oid::regprocedure
      from pg_proc p
      cross join unnest(array['public', 'anon', 'authenticated', 'service_role', 'postline_feed', 'postline_accounts',
                              'postline_sender', 'tests_login']) role
     where p.pronamespace = 'admin'::regnamespace and has_function_privilege(role, p.oid, 'execute')
$$, 'no role but the owner may call a function of admin');
select is_empty($$
    select role from unnest(array['public', 'anon', 'authenticated', 'service_role', 'postline_feed',
                                  'postline_accounts', 'postline_sender', 'tests_login']) role
     where has_schema_privilege(role, 'admin', 'usage') or has_table_privilege(role, 'admin.audit',
           'select, insert, update, delete, truncate')
$$, 'no role may use schema admin, or read or write the audit log');
select is(array_agg(distinct tests.attempt(who, order_)), array['42501'], 'each role is refused each operation')
  from unnest(array['alice', 'anon', 'service_role', 'postline_feed', 'postline_accounts', 'postline_sender',
                    'tests_login']) who,
       unnest(array[
           $$select admin.users('tap_bob', 20, true)$$, $$select admin.sessions('tap_bob', true, 10)$$,
           $$select admin.end_sessions('me', 'tap_bob', null)$$, $$select admin.disable('me', 'tap_bob', null, null)$$,
           $$select admin.enable('me', 'tap_bob')$$, $$select admin.delete_user('me', 'tap_bob', null)$$,
           $$select admin.mails(10, true)$$, $$select admin.retry_mails('me', null)$$, $$select admin.pushes(10)$$,
           $$select admin.retry_pushes('me', null)$$, $$select admin.log(null, 10)$$,
           $$select admin.record_action('me', 'delete', null, '{}')$$, $$select * from admin.audit$$,
           $$insert into admin.audit (operator, action) values ('me', 'delete')$$]) order_;
select is_empty('select from admin.audit', 'refused calls are not in the audit log');
select is_empty($$select from pg_proc where pronamespace = 'admin'::regnamespace and prosecdef$$,
    'admin functions run with their caller''s rights');

-- Finding users.
create function tests.found(query text, most integer default 20) returns text language sql as $$
    select string_agg(i.name, ' ' order by f.place) || case when answer -> 'has_more' = 'true' then ' …' else '' end
      from (select admin.users(query, most, false)::jsonb) as a (answer),
           jsonb_array_elements(answer -> 'users') with ordinality f (found, place)
      join tests.ids i on i.id = (found ->> 'id')::uuid
     group by answer
$$;
select is(tests.found(tests.id('bob')::text), 'bob', 'finds a user by id');
select is(tests.found(upper(tests.id('bob')::text)), 'bob', 'finds a user by id in any case');
select is(tests.found(' Tap.Bob@Example.org '), 'bob', 'finds a user by address');
select is(tests.found('@TAP_bob'), 'bob', 'finds a user by username');
select is(tests.found('tap c'), 'carol', 'finds a user by a part of the name');
select is(tests.found('tap_'), 'alice bob carol mallory', 'treats wildcard characters literally');
select is(tests.found('tap ', 2), 'alice bob …', 'returns at most the given number of users');
select matches(tests.refusal($$tests.found('nobody%')$$), '^PA002 No user has .* nobody%, or',
    'rejects a query without a match');
select matches(tests.refusal($$tests.found('  ')$$), '^PA001 ', 'rejects an empty query');
select matches(tests.refusal($$tests.found('tap', 0)$$), '^PA001 The limit', 'rejects a limit of 0');
select is(admin.users('tap_bob', 1, false) -> 'users' -> 0 ->> 'email', 't…@example.org', 'shortens an address');
select is(admin.users('tap_bob', 1, true) -> 'users' -> 0 ->> 'email', 'tap.bob@example.org',
    'shows a full address on request');
select is((admin.users('tap_bob', 1, false) -> 'users' -> 0)::jsonb - array['id', 'created_at'],
    '{"username":"tap_bob","full_name":"Tap Bob","email":"t…@example.org","email_confirmed_at":null,"is_guest":false,
      "is_moderator":false,
      "last_sign_in_at":null,"disabled_until":null,"is_deleted":false,"deleted_at":null,"sessions":0,"devices":0,
      "conversations":2}', 'a user object has the listed fields');
select tests.make_user('ghost', true);
select is(admin.user_object(tests.id('ghost'), false) ->> 'is_guest', 'true', 'marks a guest');
-- Enterprise sign-in may add a second account with an address.
insert into auth.users (id, email, is_sso_user)
values ('00000000-0000-4000-8000-0000000000aa', 'tap.bob@example.org', true);
select matches(tests.refusal($$admin.disable('me', 'tap.bob@example.org', null, null)$$),
    '^PA003 tap.bob@example.org matches several users. Give the id of one: .*00000000-0000-4000-8000-0000000000aa',
    'rejects an ambiguous user');
select matches(tests.refusal($$admin.disable('me', 'tap_bo', null, null)$$), '^PA002 ', 'rejects a part of a name');
select is_empty('select from admin.audit', 'rejected operations are not in the audit log');

-- Sessions.
create temporary table s as select tests.open('bob') as one, tests.open('bob') as two, tests.open('alice') as hers;
select is(json_array_length(admin.sessions('tap_bob', false, 10) -> 'sessions'), 2, 'lists active sessions');
select matches(tests.refusal(format($$admin.end_sessions('me', 'tap_bob', %L)$$, hers)), '^PA002 ',
    'rejects another user''s session')
  from s;
select matches(tests.refusal($$admin.end_sessions('me', 'tap_bob', 'x')$$), '^PA001 The id of a session must be',
    'rejects an invalid session id');
select is(admin.end_sessions('me', 'tap_bob', one::text) ->> 'ended_sessions', '1', 'ends one session') from s;
select is(tests.last_order(), format('me t end-sessions bob {"session": "%s", "ended_sessions": 1}', one),
    'the audit log has the ended session') from s;
select is(admin.end_sessions('me', 'tap_bob', one::text) ->> 'ended_sessions', '0',
    'ending a session again ends nothing') from s;
select is(json_array_length(admin.sessions('tap_bob', false, 10) -> 'sessions'), 1, 'the other session continues');
select is(json_array_length(admin.sessions('tap_bob', true, 10) -> 'sessions'), 2, 'lists ended sessions on request');
select is(admin.end_sessions('me', 'tap_bob', null) ->> 'ended_sessions', '1', 'ends all sessions of a user');
select is((select revoked_at from app.sessions where id = hers), null, 'another user''s sessions continue') from s;

-- Disabled and enabled.
select tests.open('bob');
select is(admin.disable('me', 'tap_bob', '7d', 'spam') ->> 'ended_sessions', '1', 'disabling a user ends its sessions');
select is((select banned_until - now() from auth.users where id = tests.id('bob')), interval '7 days',
    'disables a user for the given duration');
select is(tests.last_order(), format('me t disable bob {"until": "%s", "reason": "spam", "ended_sessions": 1}',
    app.utc(now() + interval '7 days')), 'the audit log has the duration and reason');
select matches(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, %L))',
    tests.id('bob'), (select encrypted_password from auth.users where id = tests.id('bob')))),
    '^PL016 This account is suspended until ', 'a disabled user cannot sign in');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null), 0::bigint,
    'a disabled user has no sessions');
select is(admin.disable('me', 'tap_bob', null, null) -> 'user' ->> 'disabled_until', '9999-12-31T00:00:00.000000Z',
    'disables a user without an end');
select is(admin.disable('me', 'tap_bob', '2999-01-02', null) -> 'user' ->> 'disabled_until',
    '2999-01-02T00:00:00.000000Z', 'disables a user until a date');
select is(admin.disable('me', 'tap_bob', '2999-01-02T05:00:00+02:00', null) -> 'user' ->> 'disabled_until',
    '2999-01-02T03:00:00.000000Z', 'disables a user until a time');
select matches(tests.refusal(format($$admin.disable('me', 'tap_bob', %L, null)$$, until)), '^PA001 ',
    'rejects the end ' || until)
  from unnest(array['', 'soon', '-1d', '0d', '2001-01-01', '2999-02-30', '2999-01-02 05:00']) until;
select matches(tests.refusal($$admin.disable('me', 'tap_bob', null, repeat('x', 1001))$$), '^PA001 The reason',
    'rejects a reason above 1000 bytes');
select matches(tests.refusal($$admin.disable('', 'tap_bob', null, null)$$), '^PA001 The operator',
    'rejects an empty operator name');
update auth.users set banned_until = 'infinity' where id = tests.id('bob');
select is(admin.user_object(tests.id('bob'), false) ->> 'disabled_until', '9999-12-31T23:59:59.000000Z',
    'an endless ban is returned as a time');
select is(admin.enable('me', 'tap_bob') ->> 'was_disabled', 'true', 'enables a disabled user');
select isnt(tests.open('bob'), null, 'an enabled user can sign in');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null), 1::bigint);
select is(admin.enable('me', 'tap_bob') ->> 'was_disabled', 'false', 'enabling an enabled user changes nothing');
select is(tests.last_order(), 'me t enable bob {"was_disabled": false}', 'the audit log has that call too');

-- Deleted.
select is(admin.delete_user('me', 'tap_bob', 'asked by letter') -> 'user' ->> 'is_deleted', 'true', 'deletes a user');
select is((select concat_ws(' ', p.is_deleted, p.full_name, u.email, u.deleted_at is not null,
                            (select count(*) from app.sessions s where s.user_id = p.id and s.revoked_at is null))
             from public.user_profiles p join auth.users u on u.id = p.id where p.id = tests.id('bob')),
    't t 0', 'a deleted user is a tombstone without sessions');
select is(tests.last_order(), 'me t delete bob {"reason": "asked by letter", "ended_sessions": 1}',
    'the audit log has the deletion');
select matches(tests.refusal(format($$admin.%s$$, format(order_, tests.id('bob')))), '^PA004 This account is deleted',
    'rejects a deleted user: ' || order_)
  from unnest(array[$$delete_user('me', '%s', null)$$, $$disable('me', '%s', null, null)$$, $$enable('me', '%s')$$])
       order_;
select isnt(admin.users(tests.id('bob')::text, 1, false) -> 'users' -> 0 ->> 'deleted_at', null,
    'finds a deleted user by id');
update auth.users set deleted_at = now() where id = tests.id('mallory');
select is(admin.delete_user('me', 'tap_mallory', null) -> 'user' ->> 'is_deleted', 'true',
    'deletes an account that an external server has deleted');
select is(admin.delete_user('me', '00000000-0000-4000-8000-0000000000aa', null) -> 'user' ->> 'is_deleted', 'true',
    'deletes an account without a profile');

-- Mail.
insert into app.mails (id, kind, email, user_id, created_at, attempts, due_at, last_error)
values ('00000000-0000-4000-8000-0000000000b1', 'confirm_email', 'tap.alice@example.org', tests.id('alice'),
        now() - interval '2 hours', 9, null, '550 <tap.alice@example.org>: no such user'),
       ('00000000-0000-4000-8000-0000000000b2', 'reset_password', 'carol@example.net', null,
        now() - interval '1 hour', 1, now() + interval '1 hour', '421 later');
select results_eq($$
    select m ->> 'kind', m ->> 'email', m ->> 'state', m ->> 'attempts', m ->> 'last_error'
      from json_array_elements(admin.mails(10, false) -> 'mails') m
$$, $$values ('confirm_email', 't…@example.org', 'given_up', '9', '550 <…>: no such user'),
             ('reset_password', 'c…@example.net', 'waiting', '1', '421 later')$$,
             'lists mails with shortened addresses');
select is(admin.mails(1, true) -> 'mails' -> 0 ->> 'last_error',
    '550 <tap.alice@example.org>: no such user', 'lists mails with full addresses on request');
select is(admin.mails(1, false) ->> 'total', '2', 'returns the total number of mails');
select is(admin.retry_mails('me', '00000000-0000-4000-8000-0000000000b1') ->> 'retried', '1', 'retries one mail');
select results_eq('select id::text like ''%b1'', attempts, due_at <= now() from app.mails order by id',
    'values (true, 0, true), (false, 1, false)', 'the retried mail is due now, and no other');
select is(tests.last_order(), 'me t retry-mail alice {"mail": "00000000-0000-4000-8000-0000000000b1", "retried": 1}',
    'the audit log has the retry without an address');
select matches(tests.refusal($$admin.retry_mails('me', gen_random_uuid()::text)$$), '^PA002 ',
    'rejects an unknown mail');
select matches(tests.refusal($$admin.retry_mails('me', 'all')$$), '^PA001 ', 'rejects an invalid mail id');
select is(admin.retry_mails('me', null) ->> 'retried', '2', 'retries all mails');

-- Push.
insert into app.devices (id, user_id, platform, token, environment)
values ('00000000-0000-4000-8000-0000000000d1', tests.id('alice'), 'apns', 'secret token', 'production'),
       ('00000000-0000-4000-8000-0000000000d2', tests.id('carol'), 'webhook', 'another', 'production');
insert into app.pushes (device_id, conversation_id, seq, noted_at, due_at, attempts)
values ('00000000-0000-4000-8000-0000000000d1', tests.id('group'), 3, now() - interval '3 minutes',
        now() + interval '1 hour', 7),
       ('00000000-0000-4000-8000-0000000000d2', tests.id('group'), 3, now() - interval '2 minutes',
        now() + interval '1 hour', 2),
       ('00000000-0000-4000-8000-0000000000d1', tests.id('direct'), 1, now(), null, 0);
select results_eq($$
    select p ->> 'platform', p ->> 'username', p ->> 'attempts'
      from json_array_elements(admin.pushes(10) -> 'pushes') p
$$, $$values ('apns', 'tap_alice', '7'), ('webhook', 'tap_carol', '2')$$, 'lists waiting pushes');
select unalike(admin.pushes(10)::text, '%secret%', 'shows no device token');
select is(admin.retry_pushes('me', '00000000-0000-4000-8000-0000000000d1') ->> 'retried', '1',
    'retries the pushes of one device');
select results_eq($$select due_at <= clock_timestamp(), attempts from app.pushes where due_at is not null
                     order by device_id$$, 'values (true, 0), (false, 2)',
                     'the retried pushes are due now, and no others');
select is(tests.last_order(), 'me t retry-push alice {"device": "00000000-0000-4000-8000-0000000000d1", "retried": 1}');
select matches(tests.refusal($$admin.retry_pushes('me', gen_random_uuid()::text)$$), '^PA002 ',
    'rejects an unknown device');
insert into app.reaction_pushes (device_id, conversation_id, seq, user_id, emoji, noted_at, due_at)
values ('00000000-0000-4000-8000-0000000000d1', gen_random_uuid(), 1, tests.id('bob'), '🎉', now(), now() + '1 hour');
select is(admin.pushes(10) ->> 'total', '3', 'lists waiting pushes about reactions too');
select is(admin.retry_pushes('me', null) ->> 'retried', '3', 'retries all pushes');
select ok(due_at <= clock_timestamp(), 'also one about a reaction') from app.reaction_pushes;
select is((select count(*) from app.pushes where due_at is null), 1::bigint,
    'a retry leaves pushes that are not waiting');

-- The audit.
select is(admin.log('tap_alice', 1) -> 'orders' -> 0 ->> 'action', 'retry-push',
    'lists the audit log of a user, newest first');
select is(admin.log(tests.id('bob')::text, 10) ->> 'total', (select count(*)::text from admin.audit
    where user_id = tests.id('bob')), 'lists the audit log of a deleted user');
select is(json_array_length(admin.log(null, 3) -> 'orders'), 3, 'returns at most the given number of entries');
select is((select count(*) from admin.audit where detail::text ~ 'example|tap_'), 0::bigint,
    'the audit log has no addresses or names');
select throws_ok('update admin.audit set operator = ''them''', '23001', null,
    'rows of the audit log cannot be changed');
select throws_ok('delete from admin.audit', '23001', null, 'rows of the audit log cannot be deleted');
select throws_ok('truncate admin.audit', '23001', null, 'the audit log cannot be truncated');
select is(tests.refusal($$admin.record_action(repeat('x', 201), 'x', null, '{}')$$) like 'PA001 %', true,
    'rejects an operator name above 200 bytes');

select * from finish();
rollback;
