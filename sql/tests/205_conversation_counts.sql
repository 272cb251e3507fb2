-- The bound on the groups of a user, and its shares: for the user's own groups, for users whom it knows, for
-- strangers and for guests.
begin;
select no_plan();
select tests.make_world();
select tests.make_user(name) from unnest(array['dora', 'erik', 'frank', 'grace']) name;
select tests.make_user('visitor', true), tests.make_user('friend', true);

-- The shares, and then a bound that the tests can reach: 40 for own groups, 20 for all, 10 for strangers, 2 for guests.
select results_eq($$
    select app.max_own_conversations(), app.max_conversations(), app.max_conversations_by_strangers(),
           app.max_conversations_by_guests()
$$, $$values (4000, 2000, 1000, 200)$$, 'the bounds are those that docs/limits.md lists');
create or replace function app.max_conversations() returns integer language sql immutable as 'select 20';
discard plans;

-- A group of each user who adds others, so that it can add members.
create function tests.make_group(owner text) returns void language plpgsql as $$
declare
    made uuid;
begin
    insert into public.conversations (kind, title, created_by) values ('group', owner, tests.id(owner))
    returning id into made;
    insert into public.conversation_members (conversation_id, user_id, role)
    values (made, tests.id(owner), 'owner');
    insert into tests.ids values (owner || '''s', made);
end $$;
select tests.make_group(name) from unnest(array['alice', 'dora', 'erik', 'frank', 'mallory', 'visitor', 'friend']) name;

-- Groups without other members, which set the number of a user's conversations.
create temporary table filler as
with made as (insert into public.conversations (kind, title) select 'group', 'filler' from generate_series(1, 60)
              returning id)
select id, row_number() over () as n from made;
create function tests.count_of(who text) returns bigint language sql as $$
    select count(*) from public.conversation_members m join public.conversations c on c.id = m.conversation_id
     where m.user_id = tests.id(who) and c.kind = 'group'
$$;
create function tests.set_count(who text, conversations integer) returns bigint language plpgsql as $$
declare
    missing bigint;
begin
    set local session_replication_role = replica;
    delete from public.conversation_members m using filler f
     where m.conversation_id = f.id and m.user_id = tests.id(who);
    missing := conversations - tests.count_of(who);
    insert into public.conversation_members (conversation_id, user_id, last_read_seq)
    select f.id, tests.id(who), 0 from filler f where f.n <= missing;
    set local session_replication_role = origin;
    return tests.count_of(who);
end $$;

-- Returns the SQLSTATE, field and message of a call, or 'no error'. Its changes are undone.
create function tests.refusal(who text, statement text) returns text language plpgsql as $$
declare
    detail text;
begin
    perform tests.authenticate_as(who);
    execute statement;
    raise exception using errcode = 'TT000';
exception
    when sqlstate 'TT000' then return 'no error';
    when others then
        get stacked diagnostics detail = pg_exception_detail;
        return concat_ws(' ', sqlstate, nullif(detail, '')::json ->> 'field', sqlerrm);
end $$;
create function tests.create_group(who text, variadic members text[]) returns text language sql as $$
    select tests.refusal(who, format('select api.create_group(''x'', %L)', array(
        select tests.id(name) from unnest(members) name)))
$$;
create function tests.add(who text, member text) returns text language sql as $$
    select tests.refusal(who, format('select api.add_members(%L, %L)', tests.id(who || '''s'), array[tests.id(member)]))
$$;
create function tests.open(who text, other text) returns text language sql as $$
    select tests.as(who, format('api.open_conversation(%L) ->> ''kind''', tests.id(other)))
$$;
create function tests.is_write_first(answer text, field text, conversations integer, name text) returns text
language sql as $$
    select is(answer, format('PL001 %s One of the users is in at least %s groups. You can add them only after '
                             'they have written to you: write to them first.', field, conversations), name)
$$;
create function tests.is_full(answer text, field text, name text) returns text language sql as $$
    select is(answer, format('PL001 %s One of the users is in at least 20 groups, and cannot be added to '
                             'another. They must leave one first.', field), name)
$$;

-- Who knows whom: bob opened the conversation with carol, and wrote in those with erik and with the guest `friend`.
-- alice and dora wrote to bob, who did not answer.
select is(tests.open('bob', 'carol'), 'direct', 'bob opens a conversation with carol');
select is(tests.open(who, 'bob'), 'direct', who || ' opens a conversation with bob')
  from unnest(array['dora', 'erik', 'friend']) who;
create function tests.write(who text, other text) returns text language sql as $$
    select tests.as(who, format('api.send_message(%L, ''hello'') ->> ''seq''', (
        select c.id from public.conversations c
         where c.participant1_id = least(tests.id(who), tests.id(other))
           and c.participant2_id = greatest(tests.id(who), tests.id(other)))))
$$;
select is(tests.write(who, other), '1', format('%s writes to %s', who, other))
  from (values ('alice', 'bob'), ('dora', 'bob'), ('bob', 'erik'), ('bob', 'friend')) w (who, other);

-- The groups above are of earlier transactions.
select tests.age();

-- Strangers.
select is(tests.set_count('bob', 9), 9::bigint, 'bob is in nine groups');
select is(tests.create_group('mallory', 'bob'), 'no error',
    'a stranger can create a group with a user below half of the bound');
select is(tests.add('mallory', 'bob'), 'no error', 'a stranger can add a user below half of the bound');
select tests.set_count('bob', 10);
select tests.is_write_first(tests.create_group('mallory', 'bob'), 'member_ids', 10,
    'a stranger cannot create a group with a user at half of the bound');
select tests.is_write_first(tests.add('mallory', 'bob'), 'user_ids', 10,
    'a stranger cannot add a user at half of the bound');
select tests.is_write_first(tests.create_group('mallory', 'frank', 'bob', 'erik'), 'member_ids', 10,
    'a stranger cannot create a group with several users, of whom one is at half of the bound');
select is(tests.attempt('mallory', $$
        insert into public.conversation_members (conversation_id, user_id)
        values (tests.id('mallory''s'), tests.id('bob'))$$),
    'PL001', 'a stranger''s own insert cannot exceed half of the bound');
select tests.is_write_first(tests.add(who, 'bob'), 'user_ids', 10,
    who || ' remains a stranger: bob has not answered the message')
  from unnest(array['alice', 'dora']) who;
select is(tests.attempt('service_role', $$
        insert into public.conversation_members (conversation_id, user_id)
        values (tests.id('mallory''s'), tests.id('bob'))$$),
    '1', 'service_role can add a user at half of the bound');

-- Users whom the user knows.
select is(tests.create_group(who, 'bob'), 'no error',
    who || ', whom bob knows, can create a group with bob at half of the bound')
  from unnest(array['carol', 'erik', 'friend']) who;
select is(tests.add('erik', 'bob'), 'no error', 'a user to whom bob has written can add bob at half of the bound');
select is(tests.as('bob', format('api.delete_message(%L, 1) ->> ''content''', (
        select m.conversation_id from public.messages m
          join public.conversations c on c.id = m.conversation_id
         where m.sender_id = tests.id('bob') and tests.id('erik') in (c.participant1_id, c.participant2_id)))),
    null, 'bob deletes the message');
select is(tests.add('erik', 'bob'), 'no error', 'a user to whom bob had written can still add bob');
select is(tests.write('bob', 'alice'), '2', 'bob answers alice');
select is(tests.add('alice', 'bob'), 'no error', 'a stranger is known after an answer');
select tests.is_write_first(tests.add('dora', 'bob'), 'user_ids', 10, 'an answer to one user is none to others');
select tests.set_count('bob', 19);
select is(tests.add('erik', 'bob'), 'no error', 'a known user can add a user below the bound');
select is(tests.create_group('carol', 'bob'), 'no error', 'a known user can create a group up to the bound');

-- At the bound everyone is refused.
select tests.set_count('bob', 20);
select tests.is_full(tests.create_group(who, 'bob'), 'member_ids',
    who || ' cannot create a group with a user in too many groups')
  from unnest(array['carol', 'erik', 'friend', 'mallory', 'visitor']) who;
select tests.is_full(tests.add(who, 'bob'), 'user_ids', who || ' cannot add a user in too many groups')
  from unnest(array['erik', 'friend', 'mallory', 'visitor']) who;
select tests.is_full(tests.refusal('service_role', $$
        insert into public.conversation_members (conversation_id, user_id)
        values (tests.id('mallory''s'), tests.id('bob'))$$),
    'user_ids', 'service_role cannot add a user in too many groups');

-- Guests.
select tests.set_count('frank', 1);
select is(tests.create_group('visitor', 'frank'), 'no error',
    'a guest can create a group with a user below a tenth of the bound');
select is(tests.add('visitor', 'frank'), 'no error', 'a guest can add a user below a tenth of the bound');
select tests.set_count('frank', 2);
select tests.is_write_first(tests.create_group('visitor', 'frank'), 'member_ids', 2,
    'a guest cannot create a group with a user at a tenth of the bound');
select tests.is_write_first(tests.add('visitor', 'frank'), 'user_ids', 2,
    'a guest cannot add a user at a tenth of the bound');
select is(tests.add('mallory', 'frank'), 'no error', 'a full account can add a user at a tenth of the bound');
update auth.users set is_anonymous = false where id = tests.id('visitor');
select is(tests.add('visitor', 'frank'), 'no error', 'an upgraded guest can add a user at a tenth of the bound');
update auth.users set is_anonymous = true where id = tests.id('visitor');
select tests.set_count('bob', 19);
select is(tests.add('friend', 'bob'), 'no error', 'a guest whom a user knows can add it below the bound');

-- The user's own groups.
select tests.set_count('bob', 20);
select is(tests.create_group('bob', 'carol'), 'no error',
    'a user whom others have added up to the bound can create a group');
select tests.set_count('bob', 39);
select is(tests.create_group('bob', 'carol'), 'no error', 'a user can create groups up to twice the bound');
select tests.set_count('bob', 40);
select is(tests.create_group('bob', 'carol'),
    'PL001 member_ids You can be in at most 40 groups. Leave one first.',
    'a user cannot create groups beyond twice the bound');
select tests.set_count('visitor', 30);
select is(tests.create_group('visitor', 'grace'), 'no error', 'the share of guests does not bound their own groups');

-- Direct conversations.
select is(tests.open('mallory', 'bob'), 'direct', 'a stranger can open a direct conversation beyond the bound');
select is(tests.open('bob', 'frank'), 'direct', 'a user can open a direct conversation beyond the bound');

-- Direct conversations that others opened. Forty of them are beyond each bound.
select tests.set_count('grace', 0);
create function tests.open_from_strangers(who text, number integer) returns bigint language plpgsql as $$
declare
    stranger text;
begin
    for n in 1..number loop
        stranger := 'stranger_' || n;
        perform tests.make_user(stranger);
        perform tests.open(stranger, who);
    end loop;
    return (select count(*) from public.conversation_members m where m.user_id = tests.id(who));
end $$;
select ok(tests.open_from_strangers('grace', 41) > 40, 'grace is in more direct conversations than the bound');
select is(tests.create_group('grace', 'frank'), 'no error', 'direct conversations do not bound own groups');
select is(tests.add('mallory', 'grace'), 'no error', 'direct conversations do not keep a stranger from adding a user');

-- A merge brings the account the guest's conversations, as its own groups.
create function tests.merge() returns text language sql as $$
    select tests.refusal('none', 'select app.merge_users(tests.id(''visitor''), tests.id(''bob''))')
$$;
select is(tests.set_count('visitor', 1), 1::bigint, 'the guest is in one group');
select tests.set_count('bob', 39);
select is(tests.merge(), 'no error', 'a merge can exceed the bound for others');
select tests.set_count('bob', 40);
select is(tests.merge(), 'PL001 guest_refresh_token You can be in at most 40 groups. Leave one first.',
    'a merge cannot exceed twice the bound');

select * from finish();
rollback;
