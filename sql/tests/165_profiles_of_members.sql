-- The profiles of a conversation's members, returned with it on request.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('dora');

-- Each operation that returns a conversation, repeated without a change; with more members if it creates one.
create temporary table calls (name text, call text, members text[]);
grant select on calls to public;
insert into calls
select name, format(call, tests.id('direct'), tests.id('group'), tests.id('bob'), tests.id('carol')), members
  from (values
        ('open', 'api.open_conversation(%3$L', '{alice,bob}'::text[]),
        ('get, direct', 'api.conversation(%1$L', '{alice,bob}'),
        ('get', 'api.conversation(%2$L', '{alice,bob,carol}'),
        ('create_group', 'api.create_group(''Made'', array[%4$L, %3$L]::uuid[]', '{alice,carol,bob}'),
        ('update', 'api.update_conversation(%2$L, ''Tap group''', '{alice,bob,carol}'),
        ('add_members', 'api.add_members(%2$L, array[%4$L]::uuid[]', '{alice,bob,carol}'),
        ('set_role', 'api.set_member_role(%2$L, %3$L, ''admin''', '{alice,bob,carol}')) c (name, call, members);
create function tests.answer(name text, profiles text) returns jsonb language sql as $$
    select tests.as('alice', c.call || profiles || ')')::jsonb from calls c where c.name = answer.name $$;
create function tests.object(name text) returns jsonb language sql as $$
    select o.object::jsonb from app.profile_objects o where o.id = tests.id(name) $$;

select is((select array_agg(p order by p -> 'id')
             from jsonb_array_elements(tests.answer(name, ', true') -> 'profiles') p),
        (select array_agg(tests.object(m) order by tests.object(m) -> 'id') from unnest(members) m),
        name || ': returns the complete profiles of exactly the members')
  from calls;
select is(array(select p ->> 'id' from jsonb_array_elements(a -> 'profiles') p),
        array(select m ->> 'user_id' from jsonb_array_elements(a -> 'members') m),
        name || ': returns profiles in the order of the members')
  from calls, tests.answer(name, ', true') a;
select ok(not tests.answer(name, given) ? 'profiles', name || ': returns no profiles with "' || given || '"')
  from calls, unnest(array['', ', false', ', null']) given;
select is(tests.answer(name, ', profiles => true') - 'profiles', tests.answer(name, ''),
    name || ': the rest of the response is the same')
  from calls where name <> 'create_group';

-- Only members get it. Others get the response for a missing conversation.
select is(tests.as('mallory', format('api.conversation(%L, true)', room)),
    tests.as('mallory', format('api.conversation(%L, true)', gen_random_uuid())),
    'a non-member gets the same error as for a missing conversation')
  from unnest(array[tests.id('direct'), tests.id('group')]) room;
select is(tests.as('mallory', format('api.add_members(%L, array[%L]::uuid[], true)',
    tests.id('group'), tests.id('dora'))), 'PL008 There is no such conversation.',
    'a non-member cannot get profiles through add_members');
select matches(tests.as('carol', format('api.update_conversation(%L, ''Mine'', true)', tests.id('group'))), '^PL007 ',
    'a member without the right to change the title is refused');
select is(tests.as('alice', format('json_array_length(api.add_members(%L, array[%L]::uuid[], true) -> ''profiles'')',
    tests.id('group'), tests.id('dora'))), '4', 'returns the profile of a new member');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('dora');
select is(tests.as('alice', format('json_array_length(api.conversation(%L, true) -> ''profiles'')', tests.id('group'))),
    '3', 'does not return the profile of a removed member');
select is(tests.as('dora', format('api.conversation(%L, true)', tests.id('group'))),
    'PL008 There is no such conversation.', 'a removed member does not find the conversation');

-- Deleted users: a direct conversation keeps the tombstone.
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is((select p from jsonb_array_elements(tests.answer('open', ', true') -> 'profiles') p
            where p ->> 'id' = tests.id('bob')::text),
    tests.object('bob'), 'a deleted member''s profile is a tombstone');
select is(tests.object('bob') ->> 'full_name', null, 'a tombstone has no name');

-- Without them no member's profile is read. The caller's own is, to check that it is not deleted.
create function tests.reads() returns bigint language sql volatile as $$
    select seq_scan + idx_scan from pg_stat_xact_user_tables where relid = 'public.user_profiles'::regclass $$;
create function tests.reads_of(room text, more text default '') returns bigint language plpgsql volatile as $$
declare
    before bigint := tests.reads();
begin
    perform tests.as('alice', format('api.conversation(%L%s)', tests.id(room), more));
    return tests.reads() - before;
end $$;
select cmp_ok(tests.reads_of('group'), '<', tests.reads_of('group', ', true'),
    'without profiles, no member''s profile is read');

-- As many as fit into a response.
select tests.make_user('crowd' || n) from generate_series(1, 250) n;
update public.user_profiles set attributes = jsonb_build_object('a', repeat('x', 32000))
 where username like 'tap\_crowd%';
insert into public.conversation_members (conversation_id, user_id)
select tests.id('group'), i.id from tests.ids i where i.name like 'crowd%';
create temporary table large as
select tests.as('alice', format('api.conversation(%L, true)', tests.id('group'))) as answer;
select cmp_ok(octet_length(answer), '<=', app.answer_bytes(), 'the response for a large group is bounded')
  from large;
select cmp_ok(json_array_length(answer::json -> 'profiles'), '>', 100, 'the response has as many profiles as fit')
  from large;
select is(json_array_length(answer::json -> 'members'), 252, 'the response has all members') from large;

select * from finish();
rollback;
