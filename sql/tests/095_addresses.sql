-- E23, E24, E10: an address belongs to one account, in any case of ASCII and in any locale.
begin;
select no_plan();
select tests.make_world();

create function pg_temp.imported(email text, sso boolean default false) returns uuid language sql as $$
    insert into auth.users (id, email, encrypted_password, is_sso_user)
    values (gen_random_uuid(), email, 'hash of ' || email, sso) returning id
$$;
create function pg_temp.signs_in(email text) returns text language sql as $$
    select password_hash from accounts.credentials(email)
$$;
select ok(pg_temp.imported('Info@Example.COM') is not null, 'imports an account with capitals in its address');
select is(pg_temp.signs_in(email), 'hash of Info@Example.COM', 'signs in as ' || email)
  from unnest(array['info@example.com', 'INFO@EXAMPLE.COM', 'Info@Example.COM']) email;
select is((select p.email from public.user_private p join auth.users u on u.id = p.id where u.email =
    'info@example.com'),
    'info@example.com', 'stores the address in lower case for its owner');
select throws_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', false, null)', email), 'PL010', null,
    'rejects a registration as ' || email) from unnest(array['info@example.com', 'INFO@example.com']) email;
select throws_ok($$select pg_temp.imported('INFO@EXAMPLE.com')$$, '23505', null,
    'rejects a second import of the address in another case');
select lives_ok($$select pg_temp.imported('INFO@EXAMPLE.com', true)$$, 'accepts the same address for an SSO user');
select lives_ok($$update auth.users set email = 'Other@Example.com' where email = 'info@example.com' and not
    is_sso_user$$,
    'changes an address');
select is(pg_temp.signs_in('OTHER@example.com'), 'hash of Info@Example.COM', 'finds the changed address in any case');
select lives_ok($$select accounts.register('Mixed@Case.Example', 'h', null, 'Ann', false, null)$$,
    'registers an address with capitals');
select is(pg_temp.signs_in('mixed@CASE.example'), 'h', 'finds the address in another case');

-- Letters beyond ASCII are not converted: neither a Kelvin sign nor a dotted capital I.
select lives_ok(format('select accounts.register(%L, ''kelvin'', null, ''Ann'', false, null)',
    e'\u212aarl@example.com'),
    'registers an address with a Kelvin sign');
select is(pg_temp.signs_in('karl@example.com'), null, 'a Kelvin sign is not the letter k');
select is(pg_temp.signs_in(e'\u212aARL@example.com'), 'kelvin', 'finds the address with a Kelvin sign');
select lives_ok($$select accounts.register('karl@example.com', 'k', null, 'Ann', false, null)$$,
    'registers the same address with the letter k');
select throws_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', true, 9)', email), 'PL001', null,
    'rejects an address that cannot get mail: ' || email)
  from unnest(array[e'\u212aarl@example.com', e'info@\u0130.example', e'\uff41nn@example.com',
      e'ann@e\u017fsen.example']) email;

-- After the "@" is the name of a host, as in URLs, not its address; no part is invisible.
select throws_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', false, null)', email), 'PL001', null,
    'rejects the address ' || left(email, 30))
  from unnest(array['a@x-.de', 'a@-x.de', 'a@x.-y', 'a@x.y-', 'a@' || repeat('x', 64) || '.de',
      'a@x.' || repeat('y', 64), 'a@x.1', 'a@x.123', 'a@1.2.3.4', 'a@x..de', 'a@.de', 'a@x.', 'a@', '@x.de',
      'a@b@x.de', 'a@[1.2.3.4]', 'a@[::1]', 'a@b_c.de', 'a@x.0x1', 'a@x.de.', 'a@xn--a.de', e'a@x\u200b.de',
      e'a\u200b@x.de', e'a\u202e@x.de', e'a\u00a0@x.de', e'a@x\u00ad.de', 'a@x' || repeat('.y', 126)]) email;
select lives_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', false, null)', email),
    'accepts the address ' || left(email, 30))
  from unnest(array['a@x-y.de', 'a@x--y.de', 'a@1.de', 'a@x.1y', 'a@x.y', 'a@' || repeat('x', 63) || '.de',
      'ann@bücher.example']) email;
select is(app.lower_ascii('AZaz' || e'\u212a\u0130\u00c4\uff21'), 'azaz' || e'\u212a\u0130\u00c4\uff21',
    'converts only A to Z to lower case');

-- A provider's address leads to the account that has proven it.
update auth.users set email_confirmed_at = null where email = 'karl@example.com';
update auth.users set email_confirmed_at = now() where email = 'karl@example.com';
select is(accounts.identified_account('apple', 'subject', 'KARL@Example.com'),
    (select id from auth.users where email = 'karl@example.com'), 'finds the account if a provider writes capitals');
select is(accounts.identified_account('apple', 'subject', e'\u212aarl@example.com'), null,
    'does not find an account by a Kelvin sign');
select is((select array_agg(n) from admin.matching_users(who) n),
    array(select id from auth.users where email = 'karl@example.com'),
    'an operator finds the account as ' || who) from unnest(array['karl@example.com', 'KARL@EXAMPLE.COM']) who;
select * from finish();
rollback;
