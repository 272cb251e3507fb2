-- Mails: queued in the transaction that needs them, checked when due, and what their tokens prove.
begin;
select no_plan();
select tests.make_world();
update auth.users set email_confirmed_at = null;

create function tests.queued() returns text[] language sql as $$
    select coalesce(array_agg(concat_ws(' ', m.kind, m.email, coalesce(i.name, 'nobody'),
                                        case when m.due_at is null then 'given up' end) order by m.kind, m.email), '{}')
      from app.mails m left join tests.ids i on i.id = m.user_id
$$;
create function tests.hash_of(token text) returns text language sql as $$
    select encode(sha256(token::bytea), 'hex')
$$;
-- Claims due mails with these tokens.
create function tests.claim(variadic tokens text[]) returns text[] language plpgsql as $$
declare
    taken text[];
    hashes text[] := array(select tests.hash_of(t) from unnest(tokens) with ordinality as u (t, n) order by n);
begin
    perform tests.authenticate_as('postline_accounts');
    select array_agg(concat_ws(' ', t.kind, t.email, i.name, t.locale, t.attempts,
                               coalesce(tokens[array_position(hashes, t.token_hash)], '-')) order by t.kind, t.email)
      into taken from accounts.claim_mails(hashes) t left join tests.ids i on i.id = t.user_id;
    perform tests.owner();
    return coalesce(taken, '{}');
end $$;
create function tests.record_result(kind text, outcome text, error text default null, retry float8 default 0)
returns void
language plpgsql as $$
declare
    mail app.mails;
begin
    select m.* into mail from app.mails m where m.kind = record_result.kind;
    perform tests.authenticate_as('postline_accounts');
    perform accounts.record_mail_results(
        array[mail.id], array[mail.attempts - 1], array[outcome], array[error], array[retry]);
    perform tests.owner();
end $$;
create function tests.reset(token text, password text default 'hash2') returns text language sql as $$
    select coalesce((select i.name from tests.ids i where i.id::text = a), a)
      from tests.account(format('accounts.reset_password(%L, %L)', tests.hash_of(token), password)) a
$$;
create function tests.confirm(token text) returns text language sql as $$
    select tests.account(format('accounts.confirm_email(%L)', tests.hash_of(token)))
$$;
create function tests.ask(email text, most integer default null) returns text language sql as $$
    select left(tests.account(format('accounts.request_password_reset(%L, %L)', email, most)), 5)
$$;
create function tests.change(who text, email text, hash text default 'hash', most integer default null) returns text
language sql as $$
    select left(tests.account(format('accounts.request_email_change(%L, %L, %L, %L)',
                                     tests.id(who), hash, email, most)),
                5)
$$;
create function tests.register(name text, needs_proof boolean default true, most integer default null) returns text
language plpgsql as $$
declare
    made text := tests.account(format('accounts.register(%L, ''hash'', null, %L, %L, %L)',
        'tap.' || name || '@example.org', name, needs_proof, most));
begin
    if made ~ '^[0-9a-f]{8}-' then
        insert into tests.ids values (name, made::uuid);
        return 'made';
    end if;
    return left(made, 5);
end $$;
create function tests.proof(who text) returns text language sql as $$
    select concat_ws(' ', u.email, u.email_confirmed_at is not null, app.is_proven(u))
      from auth.users u where u.id = tests.id(who)
$$;
create function tests.pass(since interval) returns void language sql as $$
    insert into app.settings values ('clock_offset', since::text)
    on conflict (name) do update set value = (app.settings.value::interval + since)::text;
    update app.mails set due_at = due_at - since;
$$;

-- Registering.
select is(tests.register('new'), 'made', 'creates an account');
select is(tests.proof('new'), 'tap.new@example.org f f', 'the address of a new account is not confirmed');
select is(tests.queued(), array['confirm_email tap.new@example.org new'],
    'registration queues a mail for confirmation');
select is(tests.register('new'), 'PL010', 'rejects a taken address');
select is(tests.queued(), array['confirm_email tap.new@example.org new'], 'a rejected registration queues no mail');
select is(tests.register('unasked', false), 'made', 'registers without a mail if mail is not set up');
select is(tests.proof('unasked'), 'tap.unasked@example.org t f',
    'such an address counts as confirmed, but is not proven');
select is((select array_length(tests.queued(), 1)), 1, 'such a registration queues no mail');
select is(tests.account($$accounts.register('tap.four@example.org', 'h', null, 'Four')$$) ~ '^[0-9a-f-]{36}$', true,
    'registers by the previous version''s function');
select is((select email_confirmed_at is not null from auth.users where email = 'tap.four@example.org'), true,
    'the previous version''s function confirms the address');

-- Sending.
select is(tests.claim('t1', 't2'), array['confirm_email tap.new@example.org new 0 t1'], 'claims a due mail');
select is(tests.claim('t3'), '{}', 'a claimed mail is not due again at once');
select is((select array_agg(encode(hash, 'hex')) from app.mail_tokens), array[tests.hash_of('t1')],
    'stores only the hash of the token');
select tests.record_result('confirm_email', 'later', '451 greylisted', 300);
select is(tests.claim('t3'), '{}', 'a mail to be retried later is not due yet');
select is((select last_error from app.mails), '451 greylisted', 'stores the error of the last attempt');
select tests.pass('301 seconds');
select is(tests.claim('t3'), array['confirm_email tap.new@example.org new 1 t3'],
    'retries the mail with a new token');
select tests.pass('241 seconds');
select is(tests.claim('t4'), array['confirm_email tap.new@example.org new 2 t4'],
    'a mail without a recorded result is due again');
select tests.record_result('confirm_email', 'taken');
select is(tests.queued(), '{}', 'a sent mail is deleted');
select is((select count(*) from app.mail_tokens), 3::bigint, 'the tokens of a sent mail are kept');
insert into app.mails (kind, email, user_id) values ('email_changed', 'tap.old@example.org', tests.id('new'));
select is(tests.claim('t5'), array['email_changed tap.old@example.org new 0 -'], 'a notice has no token');
select tests.record_result('email_changed', 'refused', '550 ' || repeat('x', 600));
select is(tests.queued(), array['email_changed tap.old@example.org new given up'], 'a rejected mail is not retried');
select is((select octet_length(last_error) from app.mails), 500, 'stores at most 500 bytes of the error');
update app.mails set due_at = now(), attempts = 0;
select is(tests.claim('t5'), array['email_changed tap.old@example.org new 0 -'],
    'an operator can retry a rejected mail');
select accounts.record_mail_results(array[m.id], array[m.attempts - 2], '{refused}', '{late}', '{0}') from app.mails m;
select is((select due_at is not null and last_error <> 'late' from app.mails), true, 'ignores a late result');
update app.mails set due_at = null;
select tests.pass('31 days');
select tests.claim('t5');
select is(tests.queued(), '{}', 'deletes failed mails after a month');
select is((select count(*) from app.mail_tokens), 0::bigint, 'deletes expired tokens');

-- Invented addresses.
insert into app.mails (kind, email, due_at)
select 'reset_password', 'tap.nobody' || n || '@example.org', now() - interval '1 hour' from generate_series(1, 400) n;
insert into app.mails (kind, email, due_at) values ('reset_password', 'tap.new@example.org', now());
select is(tests.claim('n1', 'n2'), array['reset_password tap.new@example.org new 0 n1'],
    'unneeded mails do not delay others');
select is(tests.queued(), array['reset_password tap.new@example.org nobody'], 'deletes unneeded mails');
delete from app.mails;
select is(left(tests.account(format('accounts.register(%L, ''hash'', null, ''X'', true, null)', address)), 5), 'PL001',
    'with mail set up, rejects the address ' || address)
  from unnest(array['a,b@example.org', '<x>@example.org', 'x@[127.0.0.1]', 'x@example.org,y.org', 'ü@example.org',
                    'x"@example.org', 'x@example.org;rm']) address;

-- Confirming.
insert into app.mails (kind, email, user_id) values ('confirm_email', 'tap.new@example.org', tests.id('new'));
select tests.claim('c1'), tests.record_result('confirm_email', 'taken');
select is(left(tests.confirm('c2'), 5), 'PL004', 'rejects an unknown token');
select is(left(tests.reset('c1'), 5), 'PL004', 'rejects a token of another kind');
select is(tests.proof('new'), 'tap.new@example.org f f', 'a rejected token confirms nothing');
select is(tests.confirm('c1'), '{"email":"tap.new@example.org"}', 'accepts the token of the mail');
select is(tests.proof('new'), 'tap.new@example.org t t', 'the token confirms and proves the address');
select is(left(tests.confirm('c1'), 5), 'PL004', 'rejects a used token');
insert into app.mails (kind, email, user_id) values ('confirm_email', 'tap.new@example.org', tests.id('new'));
select is(tests.claim('c3'), '{}', 'claims no confirmation mail for a proven address');
select is(tests.queued(), '{}', 'deletes the unneeded confirmation mail');

-- Setting a new password.
select is(tests.ask('TAP.new@example.org'), '', 'queues a reset mail for an address in any case');
select is(tests.ask('nobody@example.org'), '', 'queues a reset mail for an unknown address');
select is(tests.queued(),
    array['reset_password nobody@example.org nobody', 'reset_password tap.new@example.org nobody'],
    'known and unknown addresses write the same rows');
select is(tests.ask('no address'), 'PL001', 'rejects an invalid address');
insert into app.sessions (user_id, refreshed_at) values (tests.id('new'), now()), (tests.id('bob'), now());
update public.user_profiles set language_code = 'de-AT' where id = tests.id('new');
select is(tests.claim('r1', 'r2'), array['reset_password tap.new@example.org new de-AT 0 r1'],
    'sends a reset mail only to an account, in its language');
select is(tests.queued(), array['reset_password tap.new@example.org nobody'],
    'deletes the mail to the unknown address');
select tests.record_result('reset_password', 'taken');
select is(tests.account(format('accounts.resettable_account(%L)', tests.hash_of('r1'))), tests.id('new')::text,
    'returns the account of a reset token');
select is(left(tests.reset('r0'), 5), 'PL004', 'rejects an unknown reset token');
select is(left(tests.confirm('r1'), 5), 'PL004', 'a reset token does not confirm an address');
select tests.pass('61 minutes');
select is(left(tests.reset('r1'), 5), 'PL004', 'a reset token expires after an hour');
select tests.ask('tap.new@example.org');
select tests.ask('tap.new@example.org');
select tests.claim('r3', 'r4'), tests.change('new', 'tap.newer@example.org');
select is(tests.reset('r3'), 'new', 'a reset token sets the password');
select is((select encrypted_password::text from auth.users where id = tests.id('new')), 'hash2',
    'stores the new password hash');
select is((select array_agg(i.name) from app.sessions s join tests.ids i on i.id = s.user_id
            where s.revoked_at is null), array['bob'], 'a reset ends all sessions of that user');
select is(left(tests.reset('r3'), 5), 'PL004', 'rejects a used reset token');
select is(left(tests.reset('r4', 'hash3'), 5), 'PL004', 'a reset invalidates the user''s other reset tokens');
select is((select count(*) from app.mails where kind = 'change_email'), 0::bigint,
    'a reset cancels a pending change of address');
delete from app.mails;
update auth.users set email_confirmed_at = null where id = tests.id('new');
select tests.ask('tap.new@example.org');
select tests.claim('r5'), tests.record_result('reset_password', 'taken');
select is(tests.reset('r5', 'hash'), 'new', 'a user without a proven address can reset the password');
select is(tests.proof('new'), 'tap.new@example.org t t', 'a reset by mail proves the address');
select tests.ask('tap.new@example.org');
select tests.claim('r6'), tests.record_result('reset_password', 'taken');
update auth.users set banned_until = now() + interval '1 hour' where id = tests.id('new');
select is(left(tests.reset('r6'), 5), 'PL004', 'a banned user cannot reset the password');
select tests.ask('tap.new@example.org');
select is(tests.claim('r7'), '{}', 'a banned user gets no reset mail');
update auth.users set banned_until = null where id = tests.id('new');
select is(tests.account(format('accounts.change_password(%L, null, ''hash'', ''hash4'')', tests.id('new'))), '0',
    'changes the password');
select is(left(tests.reset('r6'), 5), 'PL004', 'a password change invalidates reset tokens');
update auth.users set encrypted_password = 'hash' where id = tests.id('new');

-- Changing the address.
select is(tests.change('new', 'tap.newer@example.org', 'wrong'), 'PL003', 'a change of address requires the password');
select is(tests.change('bob', 'tap.newer@example.org', null), 'PL003', 'a guest cannot request a change of address');
select is(tests.change('new', 'tap.new@example.org'), 'PL001', 'rejects the account''s current address');
select is(tests.change('new', 'no address'), 'PL001', 'rejects an invalid new address');
select is(tests.change('new', 'Tap.Newer@example.org'), '', 'accepts a change of address');
select is(tests.proof('new'), 'tap.new@example.org t t', 'the address stays until the change is confirmed');
select is(tests.change('new', 'tap.bob@example.org'), '', 'a taken address gives the same response');
select is(tests.queued(), array['change_email tap.bob@example.org new'], 'only the newest change of address is queued');
select is(tests.claim('e0'), '{}', 'sends no mail to a taken address');
select tests.change('new', 'tap.newer@example.org');
select is(tests.claim('e1'), array['change_email tap.newer@example.org new de-AT 0 e1'],
    'sends the mail to the new address');
select tests.record_result('change_email', 'taken'), tests.ask('tap.new@example.org');
select tests.claim('r8'), tests.record_result('reset_password', 'taken');
select is(tests.confirm('e1'), '{"email":"tap.newer@example.org"}', 'the token confirms the new address');
select is(tests.proof('new'), 'tap.newer@example.org t t', 'the new address is the account''s, and proven');
select is((select s.email from public.user_private s where s.id = tests.id('new')), 'tap.newer@example.org',
    'the user''s private data has the new address');
select is(tests.queued(), array['email_changed tap.new@example.org new'], 'queues a notice to the old address');
select is(left(tests.reset('r8'), 5), 'PL004', 'reset tokens of the old address are invalid');
delete from app.mails;
select tests.change('new', 'tap.third@example.org');
select tests.claim('e2'), tests.record_result('change_email', 'taken');
select tests.register('third', false);
select is(left(tests.confirm('e2'), 5), 'PL010', 'rejects a new address that was taken meanwhile');
select is(tests.proof('new'), 'tap.newer@example.org t t', 'the account keeps its address');
select is(tests.change('unasked', 'tap.unasked@example.org', 'hash'), '',
    'a user can request a change to its own unproven address');
select is(tests.queued(), array['confirm_email tap.unasked@example.org unasked'],
    'that request queues a confirmation mail');
select tests.claim('c4'), tests.record_result('confirm_email', 'taken');
select tests.confirm('c4');
select is(tests.proof('unasked'), 'tap.unasked@example.org t t', 'the token proves the address');

-- Guests.
select tests.make_user('guest', true);
select is(tests.account(format('accounts.upgrade(%L, ''tap.guest@example.org'', ''hash'', null, true, null)',
    tests.id('guest'))), '', 'upgrades a guest to a full account');
select is(tests.proof('guest'), 'tap.guest@example.org f f', 'the address of the upgraded account is not confirmed');
select is(tests.queued(), array['confirm_email tap.guest@example.org guest'], 'the upgrade queues a confirmation mail');

-- Accounts that wait for the confirmation.
select is(tests.account(format('accounts.await_confirmation(%L, 2)', tests.id('new'))), 'true',
    'returns true for a confirmed address');
select is(tests.account(format('accounts.await_confirmation(%L, 2)', tests.id('guest'))), 'false',
    'returns false for an unconfirmed address');
select is(tests.queued(), array['confirm_email tap.guest@example.org guest'], 'queues at most one confirmation mail');
select tests.claim('c5'), tests.record_result('confirm_email', 'taken');
select tests.account(format('accounts.await_confirmation(%L, 2)', tests.id('guest')));
select is(tests.queued(), '{}', 'queues no mail while a token is valid');
select tests.pass('61 minutes');
select tests.account(format('accounts.await_confirmation(%L, 2)', tests.id('guest')));
select is(tests.queued(), array['confirm_email tap.guest@example.org guest'],
    'queues a mail after the token has expired');
delete from app.mails;
update app.mail_counts set asked = 2;
select is(tests.account(format('accounts.await_confirmation(%L, 2)', tests.id('guest'))), 'false',
    'returns false beyond the rate limit');
select is(tests.queued(), '{}', 'queues no mail beyond the rate limit');
select tests.make_user('visitor', true);
select is(tests.account(format('accounts.await_confirmation(%L, 2)', tests.id('visitor'))), 'true',
    'returns true for a user without an address');

-- The number of mails is bounded.
delete from app.mail_counts;
select is(array(select tests.ask('tap.alice@example.org', 3) from generate_series(1, 4)), '{"","","",PL014}',
    'limits mails to an address per hour');
select is(array(select tests.ask('nobody@example.org', 3) from generate_series(1, 4)), '{"","","",PL014}',
    'applies the same limit to an unknown address');
select is(tests.change('new', 'nobody@example.org', 'hash', 3), '', 'limits each kind of mail separately');
select is((select array_agg(distinct octet_length(address_hash)) from app.mail_counts), array[32],
    'stores only the hash of the address');
select tests.pass('61 minutes');
select is(tests.ask('tap.alice@example.org', 3), '', 'the limit is lifted after an hour');
select tests.claim('x');
select is((select count(*) from app.mail_counts where asked > 1), 0::bigint, 'deletes old counts');
delete from app.mails;

-- Deletion.
select tests.change('new', 'tap.last@example.org');
select tests.claim('e3');
update public.user_profiles set is_deleted = true where id = tests.id('new');
select is((select count(*) from app.mails m where m.user_id = tests.id('new'))
        + (select count(*) from app.mail_tokens t where t.user_id = tests.id('new')), 0::bigint,
    'deletion removes the user''s mails and tokens');
select is(left(tests.confirm('e3'), 5), 'PL004', 'a deleted user''s token is invalid');

-- The user's own SQL sees none of it.
select is(tests.attempt(who, statement), '42501', who || ': ' || statement)
  from unnest(array['alice', 'anon', 'postline_feed', 'postline_accounts', 'postline_sender', 'service_role']) who,
       unnest(array['select from app.mails', 'select from app.mail_tokens', 'select from app.mail_counts']) statement;
select is(tests.attempt(who, statement), '42501', who || ': ' || statement)
  from unnest(array['alice', 'anon', 'postline_feed']) who,
       unnest(array['select accounts.claim_mails(''{}'')', 'select accounts.confirm_email(''00'')',
                    'select app.queue_mail(''reset_password'', ''x@example.org'', null, null)']) statement;

select * from finish();
rollback;
