-- Accounts of identity providers: found, created, linked, merged with a guest, and deleted.
begin;
select no_plan();

-- Returns the result of a token: the user's name if it is in tests.ids, and what was merged.
create function tests.enter(subject text, email text, token text, guest uuid default null) returns text
language plpgsql as $$
declare
    entered record;
begin
    perform tests.authenticate_as('postline_accounts');
    select * into entered from accounts.sign_in_by_identity('apple', subject, email, 'Tap Apple',
        encode(sha256(token::bytea), 'hex'), extract(epoch from now() + interval '1 hour'), guest, 0, 10);
    perform tests.owner();
    return concat_ws(' ', coalesce((select i.name from tests.ids i where i.id = entered.user_id limit 1), 'new'),
                     entered.merged::text);
exception
    when others then
        perform tests.owner();
        return sqlstate;
end $$;
create function tests.apple_user(subject text) returns uuid language sql stable as $$
    select user_id from app.identities i where i.provider = 'apple' and i.subject = apple_user.subject
$$;

select is(tests.enter('s1', 'Tap.S1@Example.org', 't1'), 'new', 'an unknown subject creates an account');
select results_eq($$
    select u.email::text, u.email_confirmed_at is not null, u.is_anonymous, u.encrypted_password is null, p.full_name
      from auth.users u join public.user_profiles p using (id) where u.id = tests.apple_user('s1')
$$, $$ values ('tap.s1@example.org', true, false, true, 'Tap Apple') $$,
    'the account has the provider''s verified address and name');
insert into tests.ids values ('first', tests.apple_user('s1'));
select is(tests.enter('s1', null, 't1'), 'PL004', 'a token can be used only once');
select is(tests.enter('s1', 'other@example.org', 't2'), 'first',
    'a known subject finds the account, whatever the address');
select is((select u.email::text from auth.users u where u.id = tests.id('first')), 'tap.s1@example.org',
    'a sign-in does not change the account''s address');
select is((select count(*) from app.used_identity_tokens t where t.hash = 't1'::bytea), 0::bigint,
    'stores only the hash of a used token');
update app.used_identity_tokens t set expires_at = now() - interval '1 second' where t.hash = sha256('t1'::bytea);
select is(tests.enter('s1', null, 't3'), 'first', 'signs in again after expired tokens were deleted');
select is((select count(*) from app.used_identity_tokens t where t.hash = sha256('t1'::bytea)), 0::bigint,
    'deletes the hash of an expired token');
select is(tests.enter('s2', null, 't4'), 'new', 'creates an account without an unverified address');
select is((select u.email from auth.users u where u.id = tests.apple_user('s2')), null,
    'an unverified address is not stored');

-- An attacker registers another user's address with a password, and waits.
insert into tests.ids values ('squatter', tests.account(
    'accounts.register(''tap.victim@example.org'', ''hash'', null, ''Tap Squatter'')')::uuid);
select is(tests.enter('victim', 'tap.victim@example.org', 't5'), 'new',
    'does not link an account with an unproven address');
select isnt(tests.apple_user('victim'), tests.id('squatter'), 'the owner of the address gets another account');
select is((select u.email from auth.users u where u.id = tests.apple_user('victim')), null,
    'that account has no address');
select is(tests.account('accounts.identified_account(''apple'', ''other'', ''tap.victim@example.org'')'), null,
    'the unproven account is not linked later');

-- A proven address.
insert into tests.ids values ('proven', tests.account(
    'accounts.register(''tap.proven@example.org'', ''hash'', null, ''Tap Proven'')')::uuid);
update auth.users set email_confirmed_at = null where id = tests.id('proven');
select is(tests.account('accounts.identified_account(''apple'', ''p1'', ''tap.proven@example.org'')'), null,
    'does not link an account with an unconfirmed address');
update auth.users set email_confirmed_at = now() where id = tests.id('proven');
insert into app.sessions (user_id, refreshed_at) values (tests.id('proven'), now()), (tests.id('squatter'), now());
insert into app.mails (kind, email, user_id) values ('change_email', 'tap.else@example.org', tests.id('proven'));
select is(tests.enter('p1', 'tap.PROVEN@example.org', 't6'), 'proven', 'links an account with a proven address');
select is((select u.encrypted_password from auth.users u where u.id = tests.id('proven')), null,
    'linking removes the password, which another person may have set');
select is((select string_agg(i.name, ' ') from app.sessions s join tests.ids i on i.id = s.user_id
            where s.revoked_at is null and i.name in ('proven', 'squatter')), 'squatter',
    'linking ends the account''s sessions and no others');
select is((select count(*) from app.mails m where m.user_id = tests.id('proven')), 0::bigint,
    'linking cancels the account''s mails');
update auth.users set encrypted_password = 'hash' where id = tests.id('proven');
select is(tests.enter('p1', 'tap.proven@example.org', 't6b'), 'proven', 'a linked subject signs in again');
select is((select u.encrypted_password from auth.users u where u.id = tests.id('proven')), 'hash',
    'a later sign-in keeps a new password');
select is(tests.enter('p2', 'tap.proven@example.org', 't7'), 'new', 'a second subject is not linked to the account');
update auth.users set email = 'tap.moved@example.org' where id = tests.id('proven');
select is((select count(*) from app.identities i where i.user_id = tests.id('proven') and i.provider = 'email'),
    0::bigint, 'a changed address is no longer proven');
select is(tests.enter('p1', null, 't8'), 'proven', 'the linked subject still finds the account');

-- Guests.
insert into tests.ids values ('guest', tests.account('accounts.guest(''Tap Guest'')')::uuid),
                             ('second', tests.account('accounts.guest(''Tap Second'')')::uuid);
insert into app.sessions (id, user_id, refreshed_at)
select gen_random_uuid(), i.id, now() from tests.ids i where i.name in ('guest', 'second');
create function tests.session_of(name text) returns uuid language sql stable as $$
    select s.id from app.sessions s where s.user_id = tests.id(name)
$$;
update public.user_private set date_of_birth = '2000-02-29' where id in (tests.id('guest'), tests.id('second'));
select is(tests.enter('g1', 'tap.g1@example.org', 't9', gen_random_uuid()), 'PL004', 'rejects an unknown guest');
select is(tests.enter('g1', 'tap.g1@example.org', 't9', tests.session_of('guest')),
    'guest {"conversations":0,"messages":0}',
    'E3: a guest becomes the account with its id; the rejected token was not used up');
select results_eq($$
    select u.is_anonymous, u.email::text, p.is_guest, s.date_of_birth::text
      from auth.users u join public.user_profiles p using (id) join public.user_private s using (id)
     where u.id = tests.id('guest')
$$, $$ values (false, 'tap.g1@example.org', false, '2000-02-29') $$, 'the account keeps the guest''s data');
select is(tests.enter('g1', null, 't10', tests.session_of('guest')), 'guest {"conversations":0,"messages":0}',
    'a repeated sign-in with the guest succeeds');
select is(tests.enter('g2', null, 't11', tests.session_of('guest')), 'PL004', 'rejects a full account as a guest');
select is(tests.enter('s1', null, 't12', tests.session_of('second')), 'first {"conversations":0,"messages":0}',
    'E5: a guest is merged into an existing account');
select results_eq($$
    select p.is_deleted, s.date_of_birth::text, o.date_of_birth::text
      from public.user_profiles p join public.user_private s using (id), public.user_private o
     where p.id = tests.id('second') and o.id = tests.id('first')
$$, $$ values (true, null, '2000-02-29') $$, 'the account gets the guest''s date of birth');

-- Disabled and deleted accounts.
update auth.users set banned_until = now() + interval '1 hour' where id = tests.id('first');
select is(tests.enter('s1', null, 't13'), 'PL016', 'rejects a sign-in to a disabled account');
update auth.users set banned_until = null where id = tests.id('first');
select is(tests.field_of('postline_accounts', format('select accounts.delete_user(%L, null)', tests.id('first'))),
    'PL001 identity_token', 'a deletion requires an identity token');
select is(tests.field_of('postline_accounts', format(
        'select accounts.delete_by_identity(%L, ''apple'', ''s2'', ''aa'', 9e9)', tests.id('first'))),
    'PL003 identity_token', 'rejects another subject''s token for the deletion');
select is(tests.account(format('accounts.delete_by_identity(%L, ''apple'', ''s1'', ''aa'', 9e9)', tests.id('first'))),
    '{"deleted":true}', 'deletes the account with its own token');
select is(tests.apple_user('s1'), null, 'deletion removes all identities');
select is(tests.enter('s1', 'tap.s1@example.org', 't14'), 'new',
    'the subject of a deleted account can create a new one');

-- Another auth server has both.
select tests.make_user('outer', true), tests.make_user('inner'), tests.make_user('late', true);
update public.user_private set date_of_birth = '1999-12-16' where id = tests.id('outer');
select is(tests.account(format('accounts.merge_external_guest(%L, %L)', tests.id('inner'), tests.id('outer'))),
    '{"conversations":0,"messages":0}', 'E6: merges a guest of an external auth server')
  from generate_series(1, 2);
select is((select date_of_birth::text from public.user_private where id = tests.id('inner')), '1999-12-16',
    'the account gets all data of the guest');
select is(tests.account(format('accounts.merge_external_guest(%L, %L)', tests.id('inner'), tests.id('inner'))),
    '{"conversations":0,"messages":0}', 'a guest that became the account itself brings nothing');
select matches(tests.account(format('accounts.merge_external_guest(%L, %L)', tests.id(account), tests.id(guest))),
    '^PL004', account || ' cannot merge ' || guest)
  from (values ('late', 'inner'), ('inner', 'proven'), ('late', 'outer'), ('first', 'late')) as t (account, guest);

select * from finish();
rollback;
