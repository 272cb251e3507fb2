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
select is(tests.refresh(id, 1), 'active 2', 'the active token is rotated') from s;
select is(tests.refresh(id, 1), 'active 2', 'its parent gets the same child again') from s;
select is(tests.refresh(id, 2), 'active 3', 'and the child its own') from s;
select is(tests.refresh(id, 2), 'active 3', 'as often as it is asked') from s;
select is(tests.refresh(id, 9), 'unknown', 'a token that was never given is not known') from s;
select is(tests.refresh(gen_random_uuid(), 1), 'unknown', 'nor one of no session');
select is(tests.refresh(id, null), 'unknown', 'nor none') from s;
select is((select revoked_at from app.sessions where id = s.id), null, 'and that ends nothing') from s;
select results_eq($$
    select user_id, email, is_anonymous, app_metadata::text from accounts.refresh((select id from s), 3, 10)
$$, $$select tests.id('alice'), 'tap.alice@example.org', false, '{}'$$, 'with what the access token says');
select is(tests.refresh(id, 4), 'active 5', 'on and on') from s;

-- Reuse.
select is(tests.refresh(id, 3), 'revoked', 'a grandparent ends the family') from s;
select isnt((select revoked_at from app.sessions where id = s.id), null, 'by a row that is committed, not by an error')
  from s;
select is(tests.refresh(id, 5), 'revoked', 'the active token is of no use any more') from s;
select is(tests.refresh(id, 4), 'revoked', 'nor its parent') from s;
select is(tests.refresh(other, 1), 'active 2', 'the user''s other session goes on') from s;
select tests.forward('10 seconds');
select is(tests.refresh(other, 1), 'active 2', 'the reuse window is inclusive') from s;
select tests.forward('10.1 seconds');
select is(tests.refresh(other, 1), 'revoked', 'a parent past the window ends the family') from s;
select tests.forward('10 years');
select is(tests.refresh(bobs, 1), 'active 2', 'a session unused for long goes on') from s;
update auth.users set banned_until = now() + interval '1 day' where id = tests.id('bob');
select is(tests.refresh(bobs, 2), 'revoked', 'not that of a banned user') from s;
update auth.users set banned_until = null where id = tests.id('bob');
select is(tests.refresh(bobs, 2), 'revoked', 'whom that has signed out') from s;

-- Logout.
truncate app.sessions cascade;
truncate s;
insert into s select tests.open('alice'), tests.open('alice'), tests.open('bob');
select is(tests.account(format('accounts.logout(%L, %L, false)', tests.id('alice'), bobs)),
    '0', 'nobody logs another out')
  from s;
select is(tests.account(format('accounts.logout(%L, %L, false)', tests.id('alice'), id)), '1', 'a session ends') from s;
select is(tests.account(format('accounts.logout(%L, %L, false)', tests.id('alice'), id)), '0', 'once') from s;
select matches(tests.account(format('accounts.use_session(%L, %L)', tests.id('alice'), id)),
    '^PL006 ', 'and is not used any more')
  from s;
select is(tests.account(format('accounts.use_session(%L, %L)', tests.id('alice'), other)), 'false', 'the other is')
  from s;
select is((select count(*) from s, tests.open('alice')), 1::bigint);
select is(tests.account(format('accounts.logout(%L, %L, true)', tests.id('alice'), other)), '2', 'all end') from s;
select is(tests.refresh(bobs, 1), 'active 2', 'of that user') from s;

-- The password.
update auth.users set encrypted_password = 'old' where id = tests.id('bob');
select is(tests.account(format('accounts.password_hash(%L)', tests.id('bob'))), 'old', 'the hash to verify against');
select is(tests.account(format('accounts.password_hash(%L)', tests.id('alice'))), null, 'none where there is none');
select tests.open('bob'), tests.open('bob');
select matches(tests.account(format('accounts.change_password(%L, %L, ''wrong'', ''new'')', tests.id('bob'), bobs)),
    '^PL003 ', 'another change came first')
  from s;
select matches(tests.account(format('accounts.change_password(%L, %L, null, ''new'')', tests.id('alice'), id)),
    '^PL003 ', 'a user without a password changes none')
  from s;
select is(tests.account(format('accounts.change_password(%L, %L, ''old'', ''new'')', tests.id('bob'), bobs)),
    '2', 'every other session ends')
  from s;
select is(tests.account(format('accounts.use_session(%L, %L)', tests.id('bob'), bobs)), 'false', 'this one goes on')
  from s;
select is(tests.account(format('accounts.password_hash(%L)', tests.id('bob'))),
    'new', 'and the password is the new one');

-- Ended sessions, as nodes read them.
select is(tests.account('(select session_ids from accounts.ended_sessions(null))'), '{}', 'without a snapshot: none');
select is(cardinality(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[]),
    5, 'those that ended since');
select is(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[] @> array[id, other],
    true, 'by name')
  from s;
update app.sessions set ended_xid = '3' where revoked_at is not null;
select is(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))'), '{}', 'and no others');
select is(cardinality(tests.account('(select session_ids from accounts.ended_sessions(''3:4:3''))')::uuid[]),
    5, 'also those that were about to');
update app.sessions set revoked_at = now() where id = (select bobs from s);
select is(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[],
    array[bobs], 'whoever ends it')
  from s;
update app.sessions set revoked_at = null where id = (select bobs from s);
select isnt((select revoked_at from app.sessions where id = bobs), null, 'an end is for good') from s;

-- A password that changes during a sign-in with the old one.
update auth.users set encrypted_password = 'old' where id = tests.id('carol');
create temporary table c as select tests.open('carol') as id;
select is(tests.account(format('accounts.change_password(%L, %L, ''old'', ''new'')', tests.id('carol'), id)),
    '0', 'carol changes her password')
  from c;
select is(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, %L))',
        tests.id('carol'), hash)),
    answer, coalesce(hash, 'none') || ' opens a session: ' || answer)
  from (values
        ('old', 'PL003 The email address or the password is wrong.'),
        (null, 'PL003 The email address or the password is wrong.'),
        ('', 'PL003 The email address or the password is wrong.'),
        ('new', '1')) as t (hash, answer);
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    2::bigint, 'so two are there');
select matches(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, ''x''))',
        tests.id('alice'))),
    '^PL003 ', 'nor a hash where there is none');

-- Users who are banned or deleted by SQL are signed out.
select is((select array_agg(i.name order by i.name) from tests.open('bob'), app.sessions s
             join tests.ids i on i.id = s.user_id
            where s.revoked_at is null),
    array['carol', 'carol'], 'before');
update app.sessions set ended_xid = '3' where revoked_at is not null;
update auth.users set banned_until = now() - interval '1 hour' where id = tests.id('carol');
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    2::bigint, 'not by a ban that is over');
update auth.users set banned_until = now() + interval '1 hour' where id = tests.id('carol');
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    0::bigint, 'by one that is not');
select is(cardinality(tests.account('(select session_ids from accounts.ended_sessions(''4:4:''))')::uuid[]),
    2, 'as the nodes hear');
select matches(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, ''new''))',
        tests.id('carol'))),
    '^PL003 ', 'and opens none');
update auth.users set banned_until = null where id = tests.id('carol');
select is(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, ''new''))',
        tests.id('carol'))),
    '1', 'until it is lifted');
update auth.users set deleted_at = now() where id = tests.id('carol');
select is((select count(*) from app.sessions where user_id = tests.id('carol') and revoked_at is null),
    0::bigint, 'a deleted account is signed out too');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null),
    1::bigint, 'and nobody else');

-- The number of sessions is bounded.
truncate app.sessions cascade;
create temporary table many as select number, gen_random_uuid() as id from generate_series(1, 101) number;
select tests.account(format('accounts.open_session(%L, %L, null)', id, tests.id('alice')))
  from many where number <= 100 order by number;
update app.sessions s set refreshed_at = app.now() - interval '1 day' * (number + 1)
  from many where many.id = s.id and number <> 5;
select is((select count(*) from app.sessions where revoked_at is null), 100::bigint, 'a user has a hundred sessions');
select tests.account(format('accounts.open_session(%L, %L, null)', id, tests.id('alice'))) from many where number = 101;
select results_eq('select number from app.sessions join many using (id) where revoked_at is not null',
    'values (100)', 'with one more, the one that was used longest ago ends');
update auth.users set encrypted_password = null where id = tests.id('bob');
select tests.open('bob');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null),
    1::bigint, 'another user has its own');

-- Ended sessions are deleted.
update app.sessions set revoked_at = now() where user_id = tests.id('alice');
select is((select count(*) from app.sessions where revoked_at is not null), 101::bigint, 'ended');
select tests.forward('10 years 6 days 23 hours');
select tests.open('bob');
select is((select count(*) from app.sessions where revoked_at is not null), 101::bigint, 'is kept for a week');
select tests.forward('10 years 7 days');
select tests.open('bob'), tests.open('bob');
select is((select count(*) from app.sessions where revoked_at is not null),
    81::bigint, 'and then goes, ten with each sign-in');
select is((select count(*) from app.sessions where revoked_at is null), 4::bigint, 'what lives stays');

select is((select count(*) from information_schema.columns
            where table_schema = 'app' and table_name = 'sessions' and column_name ~ 'token|secret|hash'),
    0::bigint, 'nothing that could be used is stored');
select * from finish();
rollback;
