-- Cooldown, hold and history of usernames, for all writers.
begin;
select no_plan();
select tests.make_world();
create function tests.rename(who text, name text) returns text language sql as $$
    select tests.as(who, format('api.change_username(%L) ->> ''username''', name)) $$;
create temporary table seen as
select p.version, s.* from public.user_profiles p join public.user_private s using (id) where id = tests.id('alice');

select is(app.now(), now(), 'the clock is right');
select is(tests.rename('alice', ' TAP_alice '), 'tap_alice', 'the same name again');
select results_eq($$
    select p.version, s.username_change_count, s.username_changed_at
      from public.user_profiles p join public.user_private s using (id) where id = tests.id('alice')
$$, $$select version, 0, null::timestamptz from seen$$, 'is no change');
select is(tests.as('alice', $$api.me() ->> 'username_change_allowed_at'$$), null, 'the first name was none either');
select is(tests.field_of('alice', format('select api.change_username(%L)', bad)),
    'PL001 username', 'bad: ' || coalesce(quote_literal(bad), 'null'))
  from unnest(array['ab', '1abc', 'a b c', 'ümlaut', repeat('a', 31), '', 'аdmin', e'abc\u007f', null]) bad;
select matches(tests.rename('alice', 'TAP_Bob'), '^PL009 ', 'a name in use, in any case');
select is(tests.field_of('alice', 'select api.change_username(''tap_bob'')'), 'PL009 username', 'names its field');
select is(tests.rename('alice', 'Tap_Alicia'), 'tap_alicia', 'a change');
select is(tests.as('alice', 'api.me()')::jsonb ->> 'username_change_count', '1', 'is counted');
select is((tests.as('alice', 'api.me()')::jsonb ->> 'username_change_allowed_at')::timestamptz,
    now() + interval '90 days', 'and says when the next may be');
select results_eq($$
    select old_username, new_username, changed_at, held_until
      from public.username_history where user_id = tests.id('alice')
$$, $$values ('tap_alice', 'tap_alicia', now(), now() + interval '120 days')$$, 'the old name stands in the history');
select is((select string_agg(key, ',')
             from json_object_keys(tests.as('bob', 'api.change_username(''tap_bobby'')')::json) key),
    (select string_agg(key, ',') from json_object_keys(tests.as('bob', 'api.me()')::json) key),
    'the answer is Me, whole');

-- Cooldown.
select matches(tests.rename('alice', 'tap_other'), '^PL013 ', 'not twice');
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
    app.utc(now() + interval '90 days'), 'it says when to try again');
select matches(tests.rename('alice', 'tap_carol'), '^PL013 ', 'a taken name is not told meanwhile');
select throws_ok('update public.user_profiles set username = ''tap_other'' where id = tests.id(''alice'')',
    'PL013', null, 'psql does not go round it');
select is(tests.attempt('alice',
        'update public.user_profiles set username = ''tap_other'' where id = tests.id(''alice'')'),
    'PL013', 'nor does a user''s own update');
select is(tests.attempt('service_role',
        'update public.user_profiles set username = ''tap_other'' where id = tests.id(''alice'')'),
    'PL013', 'nor a trusted backend');
select matches(tests.rename('alice', 'tap_alice'), '^PL013 ', 'nor the way back');
select throws_ok('update public.user_profiles set username = null where id = tests.id(''alice'')',
    'PL001', null, 'a name is not given up');
select tests.forward('90 days -1 second');
select matches(tests.rename('alice', 'tap_other'), '^PL013 ', 'a second too early');

-- Hold.
select matches(tests.rename('carol', 'tap_alice'), '^PL009 ', 'the old name is held');
select throws_ok('update public.user_profiles set username = ''tap_alice'' where id = tests.id(''carol'')',
    'PL009', null, 'psql does not go round it');
select is(tests.attempt('carol', 'update public.user_profiles set username = ''tap_alice'''),
    'PL009', 'nor does a user''s own update');
select matches(tests.as('postline_accounts',
        'accounts.register(''tap.thief@example.org'', ''x'', ''TAP_alice'', ''X'')'),
    '^PL009 ', 'nor a new account');
select is((select count(*) from auth.users where email = 'tap.thief@example.org'), 0::bigint, 'which is then not made');
select tests.forward('90 days');
select is(tests.rename('alice', 'tap_alice'), 'tap_alice', 'its owner returns to it');
select matches(tests.rename('carol', 'tap_alicia'), '^PL009 ', 'and leaves another behind');
select tests.forward('180 days');
select is(tests.rename('alice', 'tap_alix'), 'tap_alix', 'a third change');
select tests.forward('209 days');
select matches(tests.rename('carol', 'tap_alicia'), '^PL009 ', 'a day too early');
select tests.forward('210 days');
select is(tests.rename('carol', 'tap_alicia'), 'tap_alicia', 'after 120 days it is free');
select matches(tests.rename('mallory', 'tap_alice'), '^PL009 ', 'the last one is not yet');
select is((tests.as('alice', 'api.me()')::jsonb ->> 'username_change_count'), '3', 'all changes are counted');
select is(tests.as('alice', '(select count(*) from public.username_history)'),
    '3', 'and stand in the history, for their owner');
select is(tests.as('mallory', '(select count(*) from public.username_history)'), '0', 'and for nobody else');
update public.user_private set username_changed_at = null where id = tests.id('alice');
select is(tests.rename('alice', 'tap_alma'), 'tap_alma', 'an operator can lift a cooldown');

-- The clock.
select is(app.now(), now() + interval '210 days', 'the clock of the rules can be moved by the owner');
select set_config('app.clock_offset', '9 years', true), set_config('postline.clock_offset', '9 years', true);
select is(app.now(), now() + interval '210 days', 'and by no setting');

select * from finish();
rollback;
