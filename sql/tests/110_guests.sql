-- Guests, and their upgrade to a full account.
begin;
select no_plan();

insert into tests.ids
values ('guest', tests.account('accounts.guest('' Tap  Guest '')')::uuid),
       ('nameless', tests.account('accounts.guest()')::uuid);
select results_eq($$
    select i.name, u.is_anonymous, u.email::text, u.encrypted_password::text, u.role::text, p.is_guest, p.full_name,
           s.email
      from tests.ids i join auth.users u using (id) join public.user_profiles p using (id)
      join public.user_private s using (id) order by 1
$$, $$
    values ('guest', true, null, null, 'authenticated', true, 'Tap  Guest', null),
           ('nameless', true, null, null, 'authenticated', true, null, null)
$$, 'a guest has a profile, but no address or password');
select is(tests.field_of('postline_accounts', format('select accounts.guest(%L)', bad)),
    'PL001 full_name', 'rejects an invalid name')
  from unnest(array[' ', e'a\u202eb', repeat('x', 101)]) bad;
select is(tests.account(format('(select is_anonymous from accounts.open_session(gen_random_uuid(), %L, null))',
        tests.id('guest'))),
    'true', 'the session says that the user is a guest');
select is(tests.as('guest', $$api.update_me('{"date_of_birth":"1990-05-17"}') ->> 'is_guest'$$),
    'true', 'a guest has its own data');

-- Upgrading.
select is(tests.field_of('postline_accounts', format('select accounts.upgrade(%L, %L, ''hash'', %L)',
        tests.id('guest'), email, name)),
    state, state)
  from (values
        ('nobody', null, 'PL001 email'),
        (null, null, 'PL001 email'),
        ('tap.up@example.org', ' ', 'PL001 full_name')) as t (email, name, state);
select tests.make_user('bob');
select matches(tests.account(format('accounts.upgrade(%L, ''TAP.bob@example.org'', ''hash'')', tests.id('guest'))),
    '^PL010 ', 'rejects a taken address');
select is((select is_anonymous from auth.users where id = tests.id('guest')), true,
    'a rejected upgrade leaves the guest as it is');
select is(tests.account(format('accounts.upgrade(%L, '' Tap.Up@example.org '', ''hash'')', tests.id('guest'))),
    '', 'upgrades a guest to a full account');
select results_eq($$
    select u.is_anonymous, u.email::text, u.encrypted_password::text, u.raw_app_meta_data ->> 'provider', p.is_guest,
           p.full_name, s.email, s.date_of_birth
      from auth.users u join public.user_profiles p using (id)
      join public.user_private s using (id)
     where id = tests.id('guest')
$$, $$
    values (false, 'tap.up@example.org', 'hash', 'email', false, 'Tap  Guest', 'tap.up@example.org', date '1990-05-17')
$$, 'the account keeps the guest''s id, name and data');
select is(tests.account('(select user_id from accounts.credentials(''tap.up@example.org''))'),
    tests.id('guest')::text, 'finds the credentials of the upgraded account');
select matches(tests.account(format('accounts.upgrade(%L, ''tap.up2@example.org'', ''hash'')', tests.id('guest'))),
    '^PL007 ', 'rejects a second upgrade');
select matches(tests.account(format('accounts.upgrade(%L, ''tap.up2@example.org'', ''hash'')', tests.id('bob'))),
    '^PL007 ', 'rejects an upgrade of a full account');
select matches(tests.account('accounts.upgrade(gen_random_uuid(), ''tap.up2@example.org'', ''hash'')'),
    '^PL007 ', 'rejects an upgrade of an unknown user');
select is(tests.account(format('accounts.upgrade(%L, ''tap.up3@example.org'', ''hash'', ''Named'')',
        tests.id('nameless'))),
    '', 'an upgrade can set a name');
select results_eq($$
    select p.full_name, u.raw_user_meta_data ->> 'full_name'
      from public.user_profiles p join auth.users u using (id) where id = tests.id('nameless')
$$, $$values ('Named', 'Named')$$, 'the new name is stored in profile and account');
select matches(tests.account('accounts.register(''tap.up3@example.org'', ''x'', null, ''X'')'),
    '^PL010 ', 'the address of an upgraded account is taken');

-- A user that another auth server creates, whose role has rights on its own tables only.
do $$ begin create role tests_auth_admin noinherit nologin; exception when duplicate_object then null; end $$;
grant usage on schema auth to tests_auth_admin;
grant insert, update on auth.users to tests_auth_admin;
create policy tests on auth.users to tests_auth_admin using (true) with check (true);
grant select on auth.users to tests_auth_admin;
set local role tests_auth_admin;
insert into auth.users (id, aud, role, email, is_anonymous, raw_user_meta_data)
values ('f0000000-0000-4000-8000-0000000000a1', 'authenticated', 'authenticated', 'Tap.Ext@example.org', false,
           '{"full_name":" Ext "}'),
       ('f0000000-0000-4000-8000-0000000000a2', 'authenticated', 'authenticated', null, true, null);
update auth.users set email = 'tap.ext2@example.org', is_anonymous = false
 where id = 'f0000000-0000-4000-8000-0000000000a2';
reset role;
select results_eq($$
    select p.full_name, p.is_guest, s.email from public.user_profiles p
      join public.user_private s using (id)
     where id::text like 'f0000000-0000-4000-8000-0000000000a_' order by id
$$, $$values ('Ext', false, 'tap.ext@example.org'), (null, false, 'tap.ext2@example.org')$$,
    'a trigger creates the profile of a new external user and updates it');

select * from finish();
rollback;
