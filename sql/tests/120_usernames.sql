-- Cooldown, hold and history of usernames, for all writers.
begin;
select no_plan();
select tests.make_world();
create function tests.rename(who text, name text) returns text language sql as $$
    select tests.as(who, format('api.change_username(%L) ->> ''username''', name)) $$;
create temporary table seen as
select p.version, s.* from public.user_profiles p join public.user_private s using (id) where id = tests.id('alice');

select is(app.now(), now(), 'app.now() is the current time');
select is(tests.rename('alice', ' TAP_alice '), 'tap_alice', 'accepts the current username again');
select results_eq($$
    select p.version, s.username_change_count, s.username_changed_at
      from public.user_profiles p join public.user_private s using (id) where id = tests.id('alice')
$$, $$select version, 0, null::timestamptz from seen$$, 'the current username does not count as a change');
select is(tests.as('alice', $$api.me() ->> 'username_change_allowed_at'$$), null,
    'the first username does not count as a change');
select is(tests.field_of('alice', format('select api.change_username(%L)', bad)),
    'PL001 username', 'rejects the username ' || coalesce(quote_literal(bad), 'null'))
  from unnest(array['ab', '1abc', 'a b c', 'ümlaut', repeat('a', 31), '', 'аdmin', e'abc\u007f', null]) bad;
select matches(tests.rename('alice', 'TAP_Bob'), '^PL009 ', 'rejects a taken username in any case');
select is(tests.field_of('alice', 'select api.change_username(''tap_bob'')'), 'PL009 username',
    'the error for a taken username names its field');
select is(tests.rename('alice', 'Tap_Alicia'), 'tap_alicia', 'changes a username');
select is(tests.as('alice', 'api.me()')::jsonb ->> 'username_change_count', '1', 'counts the change');
select is((tests.as('alice', 'api.me()')::jsonb ->> 'username_change_allowed_at')::timestamptz,
    now() + interval '90 days', 'returns the time of the next possible change');
select results_eq($$
    select old_username, new_username, changed_at, held_until
      from public.username_history where user_id = tests.id('alice')
$$, $$values ('tap_alice', 'tap_alicia', now(), now() + interval '120 days')$$,
'stores the old username in the history');
select is((select string_agg(key, ',')
             from json_object_keys(tests.as('bob', 'api.change_username(''tap_bobby'')')::json) key),
    (select string_agg(key, ',') from json_object_keys(tests.as('bob', 'api.me()')::json) key),
    'change_username returns the complete Me');

-- Cooldown.
select matches(tests.rename('alice', 'tap_other'), '^PL013 ', 'rejects a second change during the cooldown');
do $$
declare detail text;
begin
    perform tests.authenticate_as('alice');
    perform api.change_username('tap_other');
exception when sqlstate 'PL013' then
    get stacked diagnostics detail = pg_exception_detail;
    perform tests.owner();
    perform set_config('tests.detail', detail, true);
end $$;
select is((current_setting('tests.detail')::json ->> 'retry_at'),
    app.utc(now() + interval '90 days'), 'the error contains the time of the next possible change');
select matches(tests.rename('alice', 'tap_carol'), '^PL013 ',
    'the cooldown''s error does not reveal whether a name is taken');
select throws_ok('update public.user_profiles set username = ''tap_other'' where id = tests.id(''alice'')',
    'PL013', null, 'plain SQL cannot bypass the cooldown');
select is(tests.attempt('alice',
        'update public.user_profiles set username = ''tap_other'' where id = tests.id(''alice'')'),
    'PL013', 'a user''s own update cannot bypass the cooldown');
select is(tests.attempt('service_role',
        'update public.user_profiles set username = ''tap_other'' where id = tests.id(''alice'')'),
    'PL013', 'service_role cannot bypass the cooldown');
select matches(tests.rename('alice', 'tap_alice'), '^PL013 ', 'the cooldown also applies to the previous username');
select throws_ok('update public.user_profiles set username = null where id = tests.id(''alice'')',
    'PL001', null, 'rejects the removal of a username');
select tests.forward('90 days -1 second');
select matches(tests.rename('alice', 'tap_other'), '^PL013 ',
    'rejects a change one second before the end of the cooldown');

-- Hold.
select matches(tests.rename('carol', 'tap_alice'), '^PL009 ', 'another user cannot take a held username');
select throws_ok('update public.user_profiles set username = ''tap_alice'' where id = tests.id(''carol'')',
    'PL009', null, 'plain SQL cannot bypass the hold');
select is(tests.attempt('carol', 'update public.user_profiles set username = ''tap_alice'''),
    'PL009', 'a user''s own update cannot bypass the hold');
select matches(tests.as('postline_accounts',
        'accounts.register(''tap.thief@example.org'', ''x'', ''TAP_alice'', ''X'')'),
    '^PL009 ', 'a new account cannot take a held username');
select is((select count(*) from auth.users where email = 'tap.thief@example.org'), 0::bigint,
    'a rejected registration creates no account');
select tests.forward('90 days');
select is(tests.rename('alice', 'tap_alice'), 'tap_alice', 'the owner can return to a held username');
select matches(tests.rename('carol', 'tap_alicia'), '^PL009 ', 'the name that the owner left is held too');
select tests.forward('180 days');
select is(tests.rename('alice', 'tap_alix'), 'tap_alix', 'a third change succeeds');
select tests.forward('209 days');
select matches(tests.rename('carol', 'tap_alicia'), '^PL009 ', 'a username is still held a day before the end');
select tests.forward('210 days');
select is(tests.rename('carol', 'tap_alicia'), 'tap_alicia', 'a username is free after 120 days');
select matches(tests.rename('mallory', 'tap_alice'), '^PL009 ', 'the most recent username is still held');
select is((tests.as('alice', 'api.me()')::jsonb ->> 'username_change_count'), '3', 'counts all changes');
select is(tests.as('alice', '(select count(*) from public.username_history)'),
    '3', 'the owner sees all changes in the history');
select is(tests.as('mallory', '(select count(*) from public.username_history)'), '0',
    'another user sees no changes in the history');
update public.user_private set username_changed_at = null where id = tests.id('alice');
select is(tests.rename('alice', 'tap_alma'), 'tap_alma', 'an operator can lift a cooldown');

-- The clock.
select is(app.now(), now() + interval '210 days', 'the database owner can move the clock of app.now()');
select set_config('app.clock_offset', '9 years', true), set_config('postline.clock_offset', '9 years', true);
select is(app.now(), now() + interval '210 days', 'a session setting cannot move the clock of app.now()');

select * from finish();
rollback;
