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
$$, 'register creates an account, its profile and its private data');
select matches(tests.account($$accounts.register('TAP.NEW@example.org', 'x', null, 'X')$$),
    '^PL010 ', 'rejects a taken address in any case');
select matches(tests.account($$accounts.register('tap.other@example.org', 'x', 'TAP_NEW', 'X')$$),
    '^PL009 ', 'rejects a taken username in any case');
select is((select count(*) from auth.users where email = 'tap.other@example.org'),
    0::bigint, 'a rejected username creates no account');
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
    true, 'registers without a username');

select is(tests.account($$(select user_id || ' ' || password_hash from accounts.credentials('TAP.new@example.org'))$$),
    (select id || ' $argon2id$x' from made), 'finds credentials in any case');
select is(tests.account($$(select user_id from accounts.credentials('nobody@example.org'))$$),
    null, 'an unknown address has no credentials');
update auth.users set deleted_at = now() where email = 'tap.noname@example.org';
select is(tests.account($$(select user_id from accounts.credentials('tap.noname@example.org'))$$),
    null, 'a deleted account has no credentials');

create temporary table opened as
select session || ' ' || tests.account(format($$(
           select generation || ' ' || email || ' ' || is_anonymous
             from accounts.open_session(%L, %L, '$argon2id$x'))$$, session, id)) as line
  from made, gen_random_uuid() as session;
select matches((select line from opened), '^[0-9a-f-]{36} 1 tap.new@example.org false$', 'opens a session');
select is(tests.account(format('accounts.use_session(%L, %L)', id, split_part(line, ' ', 1))),
    'false', 'a session can be used by its user')
  from made, opened;
select matches(tests.account(format('accounts.use_session(%L, %L)', tests.id('bob'), split_part(line, ' ', 1))),
    '^PL006 ', 'a session cannot be used by another user')
  from opened;
select matches(tests.account(format('accounts.use_session(%L, gen_random_uuid())', id)),
    '^PL006 ', 'an unknown session cannot be used')
  from made;
select is(tests.account(format('accounts.are_in_use(%L, %L)',
        array[id, tests.id('bob'), id, id, null], array[session, session, gen_random_uuid(), null, session])),
    '{t,f,f,f,f}', 'are_in_use returns one result per session, in order')
  from made, (select split_part(line, ' ', 1)::uuid as session from opened) s;
select is(tests.account('accounts.are_in_use(''{}'', ''{}'')'), '{}', 'are_in_use returns nothing for no sessions');
delete from public.user_private where id = (select id from made);
select is(tests.account(format('accounts.are_in_use(%L, %L)', array[id], array[split_part(line, ' ', 1)])),
    '{f}', 'a session whose user has no profile is not in use yet')
  from made, opened;
select is(tests.account(format('accounts.use_session(%L, %L)', id, split_part(line, ' ', 1))),
    'false', 'use_session creates the profile')
  from made, opened;
select is(tests.account(format('accounts.are_in_use(%L, %L)', array[id], array[split_part(line, ' ', 1)])),
    '{t}', 'a session whose user has a profile is in use')
  from made, opened;
update app.sessions set revoked_at = now() where user_id = (select id from made);
select is(tests.account(format('accounts.are_in_use(%L, %L)', array[id], array[split_part(line, ' ', 1)])),
    '{f}', 'a revoked session is not in use')
  from made, opened;
select matches(tests.account(format('accounts.use_session(%L, %L)', id, split_part(line, ' ', 1))),
    '^PL006 ', 'a revoked session cannot be used')
  from made, opened;

-- Another hash of the same password.
select is(tests.account(format('accounts.renew_hash(%L, ''x'', ''y'')', id)),
    '$argon2id$x', 'does not replace a hash that has changed')
  from made;
select is(tests.account(format('accounts.renew_hash(%L, ''$argon2id$x'', ''$argon2id$y'')', id)),
    '$argon2id$y', 'replaces the stored hash')
  from made;
select is(tests.account(format('accounts.password_hash(%L)', id)), '$argon2id$y', 'the new hash is stored') from made;
select is(tests.account('accounts.renew_hash(gen_random_uuid(), ''x'', ''y'')'), null,
    'an unknown user has no hash to replace');

-- Accounts of another auth server.
select matches(tests.account('accounts.ensure_profile(gen_random_uuid(), false)'),
    '^PL004 ', 'an unknown account gets no profile');
alter table auth.users disable trigger postline_new_account;
insert into auth.users (id, email, is_anonymous, raw_user_meta_data)
values ('f0000000-0000-4000-8000-000000000001', null, true, null),
       ('f0000000-0000-4000-8000-000000000002', 'tap.ext@example.org', false,
           jsonb_build_object('full_name', e' a\u0007b\u202e' || repeat('x', 200)));
alter table auth.users enable trigger postline_new_account;
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000001', true)$$),
    'true', 'creates the profile of a guest of another auth server');
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000001', true)$$),
    'true', 'finds the existing profile of a guest');
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$), 'false',
    'creates the profile of a user of another auth server');
select is((select full_name from public.user_profiles where id = 'f0000000-0000-4000-8000-000000000002'),
    'a b ' || repeat('x', 96), 'stores the usable part of a name');
update auth.users set is_anonymous = false, email = 'tap.up@example.org'
 where id = 'f0000000-0000-4000-8000-000000000001';
select results_eq($$
    select p.is_guest, s.email from public.user_profiles p
      join public.user_private s using (id)
     where id = 'f0000000-0000-4000-8000-000000000001'
$$, $$values (false, 'tap.up@example.org')$$, 'a guest of another auth server becomes a full account');

update auth.users set banned_until = now() + interval '1 hour' where id = 'f0000000-0000-4000-8000-000000000002';
select matches(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$),
    '^PL004 ', 'a banned account is invalid, also with a profile');
update auth.users set banned_until = now() - interval '1 hour' where id = 'f0000000-0000-4000-8000-000000000002';
select is(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$),
    'false', 'an account is valid after its ban has ended');
update auth.users set deleted_at = now() where id = 'f0000000-0000-4000-8000-000000000002';
select matches(tests.account($$accounts.ensure_profile('f0000000-0000-4000-8000-000000000002', false)$$),
    '^PL004 ', 'a deleted account is invalid');

select * from finish();
rollback;
