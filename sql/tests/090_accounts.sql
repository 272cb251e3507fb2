begin;
select no_plan();
select tests.make_world();

create temporary table made as
select tests.account($$
    accounts.register(' Tap.New@Example.org ', '$argon2id$x', 'Tap_New', '  New  One ')$$)::uuid as id;
select results_eq($$
    select u.email::text, u.aud::text, u.role::text, u.confirmation_token::text, p.username, p.full_name, s.email,
           p.is_guest
      from made
      join auth.users u using (id)
      join public.user_profiles p using (id)
      join public.user_private s using (id)
$$, $$
    values ('tap.new@example.org', 'authenticated', 'authenticated', '', 'tap_new', 'New  One',
            'tap.new@example.org', false)
$$, 'an account, its profile and its private data');
select matches(tests.account($$accounts.register('TAP.NEW@example.org', 'x', null, 'X')$$),
    '^PL010 ', 'an address is taken in any case');
select matches(tests.account($$accounts.register('tap.other@example.org', 'x', 'TAP_NEW', 'X')$$),
    '^PL009 ', 'a username is taken in any case');
select is((select count(*) from auth.users where email = 'tap.other@example.org'),
    0::bigint, 'and then there is no account');
select is(tests.field_of('postline_accounts', format('select accounts.register(%L, ''x'', %L, %L)',
        email, username, full_name)),
    'PL001 ' || field, coalesce(email, '') || ' ' || coalesce(username, '') || ' ' || coalesce(full_name, 'null'))
  from (values
        ('nobody', null, 'X', 'email'),
        ('', null, 'X', 'email'),
        (null, null, 'X', 'email'),
        ('a b@x', null, 'X', 'email'),
        ('tap.o@example.org', 'ab', 'X', 'username'),
        ('tap.o@example.org', 'a b c', 'X', 'username'),
        ('tap.o@example.org', '', 'X', 'username'),
        ('tap.o@example.org', null, ' ', 'full_name'),
        ('tap.o@example.org', null, null, 'full_name'),
        ('tap.o@example.org', null, repeat('x', 101), 'full_name')) as t (email, username, full_name, field);
select is(tests.account($$accounts.register('tap.noname@example.org', 'x', null, 'X')$$) ~ '^[0-9a-f-]{36}$',
    true, 'a username may wait');

select is(tests.account($$(select user_id || ' ' || password_hash from accounts.credentials('TAP.new@example.org'))$$),
    (select id || ' $argon2id$x' from made), 'credentials in any case');
select is(tests.account($$(select user_id from accounts.credentials('nobody@example.org'))$$),
    null, 'none of an unknown address');
update auth.users set deleted_at = now() where email = 'tap.noname@example.org';
select is(tests.account($$(select user_id from accounts.credentials('tap.noname@example.org'))$$),
    null, 'none of a deleted account');

create temporary table opened as
select session || ' ' || tests.account(format($$(
           select generation || ' ' || email || ' ' || is_anonymous
             from accounts.open_session(%L, %L, '$argon2id$x'))$$, session, id)) as line
  from made, gen_random_uuid() as session;
select matches((select line from opened), '^[0-9a-f-]{36} 1 tap.new@example.org false$', 'a session');
select is(tests.account(format('accounts.use_session(%L, %L)', id, split_part(line, ' ', 1))),
    'false', 'is used by its user')
  from made, opened;
select matches(tests.account(format('accounts.use_session(%L, %L)', tests.id('bob'), split_part(line, ' ', 1))),
    '^PL006 ', 'by nobody else')
  from opened;
select matches(tests.account(format('accounts.use_session(%L, gen_random_uuid())', id)),
    '^PL006 ', 'an unknown one by nobody')
  from made;
select is(tests.account(format('accounts.are_in_use(%L, %L)',
        array[id, tests.id('bob'), id, id, null], array[session, session, gen_random_uuid(), null, session])),
    '{t,f,f,f,f}', 'of many at once those that are, in their order')
  from made, (select split_part(line, ' ', 1)::uuid as session from opened) s;
select is(tests.account('accounts.are_in_use(''{}'', ''{}'')'), '{}', 'of none none');
delete from public.user_private where id = (select id from made);
select is(tests.account(format('accounts.are_in_use(%L, %L)', array[id], array[split_part(line, ' ', 1)])),
    '{f}', 'not one whose user is to get its profile first')
  from made, opened;
select is(tests.account(format('accounts.use_session(%L, %L)', id, split_part(line, ' ', 1))),
    'false', 'which it gets by use')
  from made, opened;
select is(tests.account(format('accounts.are_in_use(%L, %L)', array[id], array[split_part(line, ' ', 1)])),
    '{t}', 'and then it is')
  from made, opened;
update app.sessions set revoked_at = now() where user_id = (select id from made);
select is(tests.account(format('accounts.are_in_use(%L, %L)', array[id], array[split_part(line, ' ', 1)])),
    '{f}', 'a revoked one is not in use')
  from made, opened;
select matches(tests.account(format('accounts.use_session(%L, %L)', id, split_part(line, ' ', 1))),
    '^PL006 ', 'a revoked one by nobody')
  from made, opened;

-- Another hash of the same password.
select is(tests.account(format('accounts.renew_hash(%L, ''x'', ''y'')', id)),
    '$argon2id$x', 'a hash is not replaced that is not the stored one any more')
  from made;
select is(tests.account(format('accounts.renew_hash(%L, ''$argon2id$x'', ''$argon2id$y'')', id)),
    '$argon2id$y', 'the stored one is')
  from made;
select is(tests.account(format('accounts.password_hash(%L)', id)), '$argon2id$y', 'then it is') from made;
select is(tests.account('accounts.renew_hash(gen_random_uuid(), ''x'', ''y'')'), null, 'nor is one of nobody''s');

-- Accounts of another auth server.
select matches(tests.account('accounts.ensure_profile(gen_random_uuid(), false)'),
    '^PL004 ', 'an unknown account has no profile');
alter table auth.users disable trigger postline_new_account;
insert into auth.users (id, email, is_anonymous, raw_user_meta_data)
values ('f0000000-0000-4000-8000-000000000001', null, true, null),
       ('f0000000-0000-4000-8000-000000000002', 'tap.ext@example.org', false,
           jsonb_build_object('full_name', e' a\u0007b\u202e' || repeat('x', 200)));
alter table auth.users enable trigger postline_new_account;
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000001', true)$$),
    'true', 'a guest at first sight');
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000001', true)$$),
    'true', 'and at second');
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$), 'false', 'a user');
select is((select full_name from public.user_profiles where id = 'f0000000-0000-4000-8000-000000000002'),
    'a b ' || repeat('x', 96), 'what can be kept of a name is');
update auth.users set is_anonymous = false, email = 'tap.up@example.org'
 where id = 'f0000000-0000-4000-8000-000000000001';
select results_eq($$
    select p.is_guest, s.email from public.user_profiles p
      join public.user_private s using (id)
     where id = 'f0000000-0000-4000-8000-000000000001'
$$, $$values (false, 'tap.up@example.org')$$, 'a guest that became a full account is one');

update auth.users set banned_until = now() + interval '1 hour' where id = 'f0000000-0000-4000-8000-000000000002';
select matches(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$),
    '^PL004 ', 'a banned account is not known, though it has a profile');
update auth.users set banned_until = now() - interval '1 hour' where id = 'f0000000-0000-4000-8000-000000000002';
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$),
    'false', 'until its ban is over');
update auth.users set deleted_at = now() where id = 'f0000000-0000-4000-8000-000000000002';
select matches(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$),
    '^PL004 ', 'nor is a deleted one');

select * from finish();
rollback;
