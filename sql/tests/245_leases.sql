-- A10: leases are rows that no role of a user can write or lock.
begin;
select no_plan();
select tests.make_world();

create function tests.lead(holder uuid, name text default 'push', seconds double precision default 4) returns boolean
language plpgsql as $$
declare
    leads boolean;
begin
    perform tests.authenticate_as('postline_feed');
    leads := app.acquire_lease(name, holder, seconds);
    perform tests.owner();
    return leads;
end $$;
insert into tests.ids values ('one', gen_random_uuid()), ('two', gen_random_uuid());

select ok(tests.lead(tests.id('one')), 'the first node acquires the lease');
select ok(not tests.lead(tests.id('two')), 'a second node cannot acquire the lease');
select ok(tests.lead(tests.id('one')), 'the first node renews the lease');
select ok(tests.lead(tests.id('two'), 'other'), 'leases with different names are independent');
update app.leases set expires_at = clock_timestamp() - interval '1 ms';
select ok(tests.lead(tests.id('two')), 'another node acquires an expired lease');
select ok(not tests.lead(tests.id('one')), 'the first node cannot renew an expired lease');
create function tests.release_lease(holder uuid) returns void language plpgsql as $$
begin
    perform tests.authenticate_as('postline_feed');
    perform app.release_lease('push', holder);
    perform tests.owner();
end $$;
select tests.release_lease(tests.id('one'));
select ok(not tests.lead(tests.id('one')), 'a node can release only its own lease');
select tests.release_lease(tests.id('two'));
select ok(tests.lead(tests.id('one')), 'a released lease can be acquired');

-- Neither row nor table can be locked or written by others.
select is(tests.attempt(who, statement), '42501', who || ': ' || statement)
  from unnest(array['alice', 'anon', 'service_role', 'postline_accounts', 'postline_sender']) who,
       unnest(array[
           'select app.acquire_lease(''push'', gen_random_uuid(), 1e9)',
           'select app.release_lease(''push'', gen_random_uuid())',
           'select from app.leases for key share', 'select from app.identity_attempts for update',
           'update app.leases set expires_at = ''infinity''',
           'insert into app.identity_attempts values (''apple'', ''x'')',
           'lock table app.leases in access share mode', 'lock table app.identity_attempts in row share mode',
           'lock table app.migrations in access share mode',
           'lock table app.migrations in share row exclusive mode']) statement;

-- No function of ours waits for a lock that every role can take.
select is((select coalesce(string_agg(p.oid::regprocedure::text, ', '), 'none')
             from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin') and p.prosrc ~* 'advisory_'),
    'none', 'no function takes an advisory lock');
select * from finish();
rollback;
