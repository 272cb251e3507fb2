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
select ok(pg_temp.imported('Info@Example.COM') is not null, 'an account with capitals is imported');
select is(pg_temp.signs_in(email), 'hash of Info@Example.COM', 'and signed in to as ' || email)
  from unnest(array['info@example.com', 'INFO@EXAMPLE.COM', 'Info@Example.COM']) email;
select is((select p.email from public.user_private p join auth.users u on u.id = p.id where u.email =
    'info@example.com'),
    'info@example.com', 'its owner is told the same address');
select throws_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', false, null)', email), 'PL010', null,
    'it is not registered again as ' || email) from unnest(array['info@example.com', 'INFO@example.com']) email;
select throws_ok($$select pg_temp.imported('INFO@EXAMPLE.com')$$, '23505', null, 'nor imported again');
select lives_ok($$select pg_temp.imported('INFO@EXAMPLE.com', true)$$, 'but by an enterprise''s sign-in, as before');
select lives_ok($$update auth.users set email = 'Other@Example.com' where email = 'info@example.com' and not
    is_sso_user$$,
    'an address is changed');
select is(pg_temp.signs_in('OTHER@example.com'), 'hash of Info@Example.COM', 'and is the same in any case');
select lives_ok($$select accounts.register('Mixed@Case.Example', 'h', null, 'Ann', false, null)$$,
    'capitals are registered');
select is(pg_temp.signs_in('mixed@CASE.example'), 'h', 'and found');

-- Letters beyond ASCII are not converted: neither a Kelvin sign nor a dotted capital I.
select lives_ok(format('select accounts.register(%L, ''kelvin'', null, ''Ann'', false, null)',
    e'\u212aarl@example.com'),
    'a Kelvin sign is in an address');
select is(pg_temp.signs_in('karl@example.com'), null, 'which is not that with a "k"');
select is(pg_temp.signs_in(e'\u212aARL@example.com'), 'kelvin', 'but itself');
select lives_ok($$select accounts.register('karl@example.com', 'k', null, 'Ann', false, null)$$, 'each is an account');
select throws_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', true, 9)', email), 'PL001', null,
    'and no mail is sent to ' || email)
  from unnest(array[e'\u212aarl@example.com', e'info@\u0130.example', e'\uff41nn@example.com',
      e'ann@e\u017fsen.example']) email;

-- After the "@" is the name of a host, as in URLs, not its address; no part is invisible.
select throws_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', false, null)', email), 'PL001', null,
    'no account has ' || left(email, 30))
  from unnest(array['a@x-.de', 'a@-x.de', 'a@x.-y', 'a@x.y-', 'a@' || repeat('x', 64) || '.de',
      'a@x.' || repeat('y', 64), 'a@x.1', 'a@x.123', 'a@1.2.3.4', 'a@x..de', 'a@.de', 'a@x.', 'a@', '@x.de',
      'a@b@x.de', 'a@[1.2.3.4]', 'a@[::1]', 'a@b_c.de', 'a@x.0x1', 'a@x.de.', 'a@xn--a.de', e'a@x\u200b.de',
      e'a\u200b@x.de', e'a\u202e@x.de', e'a\u00a0@x.de', e'a@x\u00ad.de', 'a@x' || repeat('.y', 126)]) email;
select lives_ok(format('select accounts.register(%L, ''h'', null, ''Ann'', false, null)', email),
    'an account has ' || left(email, 30))
  from unnest(array['a@x-y.de', 'a@x--y.de', 'a@1.de', 'a@x.1y', 'a@x.y', 'a@' || repeat('x', 63) || '.de',
      'ann@bücher.example']) email;
select is(app.lower_ascii('AZaz' || e'\u212a\u0130\u00c4\uff21'), 'azaz' || e'\u212a\u0130\u00c4\uff21',
    'A to Z alone are folded');

-- A provider's address leads to the account that has proven it.
update auth.users set email_confirmed_at = null where email = 'karl@example.com';
update auth.users set email_confirmed_at = now() where email = 'karl@example.com';
select is(accounts.identified_account('apple', 'subject', 'KARL@Example.com'),
    (select id from auth.users where email = 'karl@example.com'), 'also by a provider that writes capitals');
select is(accounts.identified_account('apple', 'subject', e'\u212aarl@example.com'), null, 'not by a Kelvin sign');
select is((select array_agg(n) from admin.matching_users(who) n),
    array(select id from auth.users where email = 'karl@example.com'),
    'an operator finds it as ' || who) from unnest(array['karl@example.com', 'KARL@EXAMPLE.COM']) who;
select * from finish();
rollback;
