-- Refresh tokens, and how sessions end.
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
create function tests.refresh(session uuid, generation integer, reuse integer default 10)
returns text language sql as $$
    select tests.account(format(
        '(select outcome || coalesce('' '' || active_generation, '''') from accounts.refresh(%L, %L, %L))',
        session, generation, reuse))
$$;

-- Rotation.
create temporary table s as select tests.open('alice') as id, tests.open('alice') as other, tests.open('bob') as bobs;
select is(tests.refresh(id, 1), 'active 2', 'rotates the active token') from s;
select is(tests.refresh(id, 1), 'active 2', 'the parent token returns the same child again') from s;
select is(tests.refresh(id, 2), 'active 3', 'the child token returns its own child') from s;
select is(tests.refresh(id, 2), 'active 3', 'a repeated refresh returns the same child') from s;
select is(tests.refresh(id, 9), 'unknown', 'a token that was never issued is unknown') from s;
select is(tests.refresh(gen_random_uuid(), 1), 'unknown', 'a token of an unknown session is unknown');
select is(tests.refresh(id, null), 'unknown', 'a null token is unknown') from s;
select is((select revoked_at from app.sessions where id = s.id), null,
    'an unknown token does not end the session') from s;
select results_eq($$
    select user_id, email, is_anonymous, app_metadata::text from accounts.refresh((select id from s), 3, 10)
$$, $$select tests.id('alice'), 'tap.alice@example.org', false, '{}'$$,
'refresh returns the claims for the access token');
select is(tests.refresh(id, 4), 'active 5', 'rotates repeatedly') from s;

-- Reuse.
select is(tests.refresh(id, 3), 'revoked', 'a grandparent token ends the session') from s;
select isnt((select revoked_at from app.sessions where id = s.id), null, 'the end of the session is committed')
  from s;
select is(tests.refresh(id, 5), 'revoked', 'the active token is revoked with the session') from s;
select is(tests.refresh(id, 4), 'revoked', 'the parent token is revoked with the session') from s;
select is(tests.refresh(other, 1), 'active 2', 'another session of the user continues') from s;
select tests.forward('10 seconds');
select is(tests.refresh(other, 1), 'active 2', 'the reuse window is inclusive') from s;
select tests.forward('10.1 seconds');
select is(tests.refresh(other, 1), 'revoked', 'a parent token past the reuse window ends the session') from s;
select tests.forward('10 years');
select is(tests.refresh(bobs, 1), 'active 2', 'an unused session can be refreshed after a long time') from s;
update auth.users set banned_until = now() + interval '1 day' where id = tests.id('bob');
select is(tests.refresh(bobs, 2), 'revoked', 'a banned user''s session cannot be refreshed') from s;
update auth.users set banned_until = null where id = tests.id('bob');
select is(tests.refresh(bobs, 2), 'revoked', 'a banned user is signed out') from s;

-- Logout.
truncate app.sessions cascade;
truncate s;
insert into s select tests.open('alice'), tests.open('alice'), tests.open('bob');
select is(tests.account(format('accounts.logout(%L, %L, false)', tests.id('alice'), bobs)),
    '0', 'a user cannot end another user''s session')
  from s;
select is(tests.account(format('accounts.logout(%L, %L, false)', tests.id('alice'), id)), '1',
    'logout ends the session') from s;
select is(tests.account(format('accounts.logout(%L, %L, false)', tests.id('alice'), id)), '0',
    'a second logout ends nothing') from s;
select matches(tests.account(format('accounts.use_session(%L, %L)', tests.id('alice'), id)),
    '^PL006 ', 'an ended session cannot be used')
  from s;
select is(tests.account(format('accounts.use_session(%L, %L)', tests.id('alice'), other)), 'false',
    'another session of the user can be used')
  from s;
select is((select count(*) from s, tests.open('alice')), 1::bigint);
select is(tests.account(format('accounts.logout(%L, %L, true)', tests.id('alice'), other)), '2',
    'logout ends all sessions of the user') from s;
select is(tests.refresh(bobs, 1), 'active 2', 'logout does not end another user''s session') from s;

-- The password.
update auth.users set encrypted_password = 'old' where id = tests.id('bob');
select is(tests.account(format('accounts.password_hash(%L)', tests.id('bob'))), 'old',
    'returns the password hash to verify');
select is(tests.account(format('accounts.password_hash(%L)', tests.id('alice'))), null,
    'returns null for a user without a password');
select tests.open('bob'), tests.open('bob');
select matches(tests.account(format('accounts.change_password(%L, %L, ''wrong'', ''new'')', tests.id('bob'), bobs)),
    '^PL003 ', 'rejects a password change if the hash has changed')
  from s;
select matches(tests.account(format('accounts.change_password(%L, %L, null, ''new'')', tests.id('alice'), id)),
    '^PL003 ', 'rejects a password change of a user without a password')
  from s;
select is(tests.account(format('accounts.change_password(%L, %L, ''old'', ''new'')', tests.id('bob'), bobs)),
    '2', 'a password change ends all other sessions')
  from s;
select is(tests.account(format('accounts.use_session(%L, %L)', tests.id('bob'), bobs)), 'false',
    'a password change keeps the current session')
  from s;
select is(tests.account(format('accounts.password_hash(%L)', tests.id('bob'))),
    'new', 'the new password is stored');

-- Ended sessions, as nodes read them.
select is(tests.account('(select session_ids from accounts.ended_sessions(null))'), '{}',
    'returns no ended sessions without a snapshot');
select is(cardinality(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[]),
    5, 'returns the sessions that ended since the snapshot');
select is(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[] @> array[id, other],
    true, 'returns the ids of ended sessions')
  from s;
update app.sessions set ended_xid = '3' where revoked_at is not null;
select is(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))'), '{}',
    'returns no sessions that ended before the snapshot');
select is(cardinality(tests.account('(select session_ids from accounts.ended_sessions(''3:4:3''))')::uuid[]),
    5, 'returns sessions that were ending at the snapshot');
update app.sessions set revoked_at = now() where id = (select bobs from s);
select is(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[],
    array[bobs], 'returns sessions that SQL has ended')
  from s;
update app.sessions set revoked_at = null where id = (select bobs from s);
select isnt((select revoked_at from app.sessions where id = bobs), null, 'an ended session cannot be reopened') from s;

-- A password that changes during a sign-in with the old one.
update auth.users set encrypted_password = 'old' where id = tests.id('carol');
create temporary table c as select tests.open('carol') as id;
select is(tests.account(format('accounts.change_password(%L, %L, ''old'', ''new'')', tests.id('carol'), id)),
    '0', 'a user changes the password')
  from c;
select is(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, %L))',
        tests.id('carol'), hash)),
    answer, 'a sign-in with the hash ' || coalesce(hash, 'null') || ' returns ' || answer)
  from (values
        ('old', 'PL003 The email address or the password is wrong.'),
        (null, 'PL003 The email address or the password is wrong.'),
        ('', 'PL003 The email address or the password is wrong.'),
        ('new', '1')) as t (hash, answer);
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    2::bigint, 'only the correct hash has opened sessions');
select matches(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, ''x''))',
        tests.id('alice'))),
    '^PL003 ', 'rejects a hash for a user without a password');

-- Users who are banned or deleted by SQL are signed out.
select is((select array_agg(i.name order by i.name) from tests.open('bob'), app.sessions s
             join tests.ids i on i.id = s.user_id
            where s.revoked_at is null),
    array['carol', 'carol'], 'carol has two sessions before the ban');
update app.sessions set ended_xid = '3' where revoked_at is not null;
update auth.users set banned_until = now() - interval '1 hour' where id = tests.id('carol');
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    2::bigint, 'an expired ban does not end sessions');
update auth.users set banned_until = now() + interval '1 hour' where id = tests.id('carol');
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    0::bigint, 'a current ban ends all sessions');
select is(cardinality(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[]),
    2, 'nodes see the sessions that the ban has ended');
select matches(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, ''new''))',
        tests.id('carol'))),
    '^PL016 ', 'a banned user cannot open a session');
update auth.users set banned_until = null where id = tests.id('carol');
select is(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, ''new''))',
        tests.id('carol'))),
    '1', 'a user can open a session after the ban is lifted');
update auth.users set deleted_at = now() where id = tests.id('carol');
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    0::bigint, 'deletion ends all sessions of the account');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null),
    1::bigint, 'deletion does not end another user''s session');

-- The number of sessions is bounded.
truncate app.sessions cascade;
create temporary table many as select number, gen_random_uuid() as id from generate_series(1, 101) number;
select tests.account(format('accounts.open_session(%L, %L, null)', id, tests.id('alice')))
  from many where number <= 100 order by number;
update app.sessions s set refreshed_at = app.now() - interval '1 day' * (number + 1)
  from many where many.id = s.id and number <> 5;
select is((select count(*) from app.sessions where revoked_at is null), 100::bigint,
    'a user has at most a hundred sessions');
select tests.account(format('accounts.open_session(%L, %L, null)', id, tests.id('alice'))) from many where number = 101;
select results_eq('select number from app.sessions join many using (id) where revoked_at is not null',
    'values (100)', 'one more session ends the least recently used');
update auth.users set encrypted_password = null where id = tests.id('bob');
select tests.open('bob');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null),
    1::bigint, 'the bound does not count another user''s sessions');

-- Ended sessions are deleted.
update app.sessions set revoked_at = now() where user_id = tests.id('alice');
select is((select count(*) from app.sessions where revoked_at is not null), 101::bigint, 'all sessions have ended');
select tests.forward('10 years 6 days 23 hours');
select tests.open('bob');
select is((select count(*) from app.sessions where revoked_at is not null), 101::bigint,
    'ended sessions are kept for a week');
select tests.forward('10 years 7 days');
select tests.open('bob'), tests.open('bob');
select is((select count(*) from app.sessions where revoked_at is not null),
    81::bigint, 'each sign-in deletes ten old sessions');
select is((select count(*) from app.sessions where revoked_at is null), 4::bigint, 'active sessions are kept');

select is((select count(*) from information_schema.columns
            where table_schema = 'app' and table_name = 'sessions' and column_name ~ 'token|secret|hash'),
    0::bigint, 'the sessions table stores no tokens, secrets or hashes');
select * from finish();
rollback;
