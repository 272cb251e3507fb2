-- The login role that `migrate` creates, and the versions that it records.
begin;
select plan(8);

select app.create_login_role('Tests "login" \', e'it''s a \\ secret');
select results_eq($$
    select rolcanlogin, rolinherit, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb
      from pg_roles where rolname = 'Tests "login" \'
$$, 'values (true, false, false, false, false, false)', 'creates a login role with the given name and no rights');
select isnt(rolpassword, null,
    'the login role has the given password') from pg_authid where rolname = 'Tests "login" \';
select set_eq($$
    select m.roleid::regrole::text from pg_auth_members m join pg_roles r on r.oid = m.member
     where r.rolname = 'Tests "login" \'
$$, array['anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender'],
    'the login role may take on the five request roles');

create temporary table before as select rolpassword from pg_authid where rolname = 'Tests "login" \';
alter role "Tests ""login"" \" inherit;
select app.create_login_role('Tests "login" \', 'another');
select is(a.rolpassword, b.rolpassword, 'an existing login role keeps its password')
  from pg_authid a, before b where a.rolname = 'Tests "login" \';
select is(rolinherit, false,
    'an existing login role no longer inherits') from pg_roles where rolname = 'Tests "login" \';

select app.create_login_role('tests_without', null);
select is(rolpassword, null,
    'a login role without a given password has none') from pg_authid where rolname = 'tests_without';

create function tests.signed() returns text language sql as $$ select obj_description('api'::regnamespace) $$;
create temporary table signed as select tests.signed();
select app.record_schema_version('0123456789abcdef');
select is(tests.signed(), concat_ws(' ', s.signed, '0123456789abcdef'), 'appends a version to the recorded versions')
  from signed s;
select app.record_schema_version('0123456789abcdef');
select is(tests.signed(), concat_ws(' ', s.signed, '0123456789abcdef'),
    'records the same version only once') from signed s;

select * from finish();
rollback;
