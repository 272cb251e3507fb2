-- Groups: creating, naming, adding, removing and leaving, and the rights for each.
begin;
select no_plan();
select tests.make_world();
select tests.make_user(name) from unnest(array['dora', 'erik', 'gone']) name;
select tests.make_user('visitor', true);
update public.user_profiles set is_deleted = true where id = tests.id('gone');

-- Returns the members of a conversation with their roles, oldest first.
create function tests.seats(room uuid) returns text language sql as $$
    select string_agg(i.name || ' ' || m.role, ', ' order by m.joined_at, m.user_id)
      from public.conversation_members m join tests.ids i on i.id = m.user_id where m.conversation_id = room
$$;
create function tests.seats(room text default 'group') returns text language sql as $$
    select tests.seats(tests.id(room))
$$;
create function tests.version(room text default 'group') returns bigint language sql as $$
    select version from public.conversations where id = tests.id(room)
$$;
create function tests.users(variadic names text[]) returns text language sql as $$
    select quote_literal(array(select tests.id(n) from unnest(names) n)::text) || '::uuid[]'
$$;
-- Each calls an operation on a conversation as a user, and returns the response.
create function tests.create_group(who text, title text, members text) returns text language sql as $$
    select tests.as(who, format('api.create_group(%L, %s)', title, members)) $$;
create function tests.rename(who text, title text, room text default 'group') returns text language sql as $$
    select tests.as(who, format('api.update_conversation(%L, %L)', tests.id(room), title)) $$;
create function tests.add(who text, members text, room text default 'group') returns text language sql as $$
    select tests.as(who, format('api.add_members(%L, %s)', tests.id(room), members)) $$;
create function tests.remove(who text, member text, room text default 'group') returns text language sql as $$
    select tests.as(who, format('api.remove_member(%L, %L)', tests.id(room), tests.id(member))) $$;
create function tests.role(who text, member text, role text, room text default 'group') returns text language sql as $$
    select tests.as(who, format('api.set_member_role(%L, %L, %L)', tests.id(room), tests.id(member), role)) $$;
create function tests.fresh_world() returns void language plpgsql as $$
begin
    delete from public.conversation_members where conversation_id = tests.id('group');
    insert into public.conversation_members (conversation_id, user_id, role, joined_at)
    select tests.id('group'), tests.id(u), r, now() - n * interval '1 minute'
      from (values
            (4, 'alice', 'owner'),
            (3, 'bob', 'admin'),
            (2, 'carol', 'member'),
            (1, 'dora', 'admin')) s (n, u, r);
    perform tests.age();
end $$;

-- Creating.
create temporary table made as
select tests.create_group('alice', ' New  group ', tests.users('carol', 'bob', 'carol', 'alice'))::json as o;
insert into tests.ids select 'made', (o ->> 'id')::uuid from made;
select is((select string_agg(key, ',') from made, json_object_keys(o) key),
    'id,kind,title,created_by,participant1_id,participant2_id,members,last_seq,version,last_message_content,'
    'last_message_time,last_message_sender_id,last_read_seq,unread_count,unread_mentions,is_marked_unread,'
    'muted_until,is_archived,is_pinned,scheduled_count,unsent_count,first_seq,message_ttl_seconds,'
    'pinned_seqs,data,created_at,updated_at',
    'create_group returns a complete Conversation');
select results_eq($$
    select o ->> 'kind', o ->> 'title', (o ->> 'created_by')::uuid, (o ->> 'version')::integer,
           (o ->> 'unread_count')::integer
      from made
$$, $$select 'group', 'New  group', tests.id('alice'), 1, 0$$, 'a new group has its title and version 1');
select is(tests.seats('made'), 'alice owner, carol member, bob member',
    'the creator is the owner; duplicates and the creator in the list are ignored');
select is(tests.as('bob', format('api.conversation(%L) ->> ''title''', tests.id('made'))),
    'New  group', 'members see the new group');
select matches(tests.as('mallory', format('api.conversation(%L)', tests.id('made'))), '^PL008 ',
    'non-members do not see the new group');
select isnt(tests.create_group('alice', 'New group', tests.users('bob'))::json ->> 'id',
    tests.id('made')::text, 'each call creates another group');
select is(tests.create_group('alice', e'e\u0301te\u0301', tests.users('bob'))::json ->> 'title',
    'été', 'normalizes a title');
select is(tests.create_group('visitor', 'Guests too', tests.users('bob'))::json ->> 'kind',
    'group', 'a guest can create a group');
select is(tests.field_of('alice', format('select api.create_group(%s)', args)), 'PL001 ' || field, label)
  from (values
        ('null, ' || tests.users('bob'), 'title', 'a null title'),
        ($$' ', $$ || tests.users('bob'), 'title', 'a blank title'),
        ($$repeat('x', 101), $$ || tests.users('bob'), 'title', 'a title of 101 characters'),
        (quote_literal(e'a\u202eb') || ', ' || tests.users('bob'), 'title', 'a title with a bidirectional override'),
        ($$'x', null$$, 'member_ids', 'a null list'),
        ($$'x', '{}'$$, 'member_ids', 'an empty list'),
        ($$'x', $$ || tests.users('alice'), 'member_ids', 'only the caller'),
        ($$'x', array[null]::uuid[]$$, 'member_ids', 'a null id'),
        ($$'x', array(select gen_random_uuid() from generate_series(1, 256))$$, 'member_ids', '256 others'))
       as t (args, field, label);
create temporary table count as select (select count(*) from public.conversations) as n;
select is(tests.create_group('alice', 'x',
        format('%s || %L::uuid', tests.users('bob'), '00000000-0000-4000-8000-00000000000f')),
    'PL008 There is no such user.', 'rejects an unknown member');
select is(tests.create_group('alice', 'x', tests.users('bob', 'gone')),
    tests.create_group('alice', 'x', 'array[gen_random_uuid()]'),
    'a deleted and an unknown member give the same error');
select is((select count(*) from public.conversations), (select n from count), 'a rejected call creates no group');

-- Naming.
select tests.fresh_world();
create temporary table version as select tests.version() as v;
select is(tests.rename('alice', '  Named ')::json ->> 'title', 'Named', 'the owner can rename a group');
select results_eq($$
    select version - v, changed_xid > '3' from public.conversations c, version where c.id = tests.id('group')
$$, $$values (1::bigint, true)$$, 'a new title increases the version');
select tests.age();
select is(tests.rename('bob', 'Named')::json ->> 'title', 'Named', 'an admin can rename a group');
select results_eq($$
    select version - v, changed_xid > '3' from public.conversations c, version where c.id = tests.id('group')
$$, $$values (1::bigint, false)$$, 'the same title is no change');
select matches(tests.rename('carol', 'Mine'), '^PL007 ', 'a member cannot rename a group');
select matches(tests.rename('alice', 'Ours', 'direct'), '^PL007 ', 'a direct conversation cannot be renamed');
select is(tests.field_of('alice', format('select api.update_conversation(%L, %L)', tests.id('group'), bad)),
    'PL001 title', 'rejects the title ' || coalesce(bad, 'null'))
  from unnest(array[null, '', e'\u200b', repeat('x', 101), e'a\u0007']) bad;

-- Adding.
select tests.fresh_world();
truncate version;
insert into version select tests.version();
select is(json_array_length(tests.add('alice', tests.users('erik', 'mallory', 'erik', 'bob'))::json -> 'members'),
    6, 'the owner can add members; duplicates and existing members are ignored');
select is(tests.seats(), 'alice owner, bob admin, carol member, dora admin, erik member, mallory member',
    'added users have the role member');
select is(tests.version() - v, 1::bigint, 'adding members increases the version once') from version;
select tests.age();
select is(tests.add('bob', tests.users('erik', 'alice', 'bob'))::json ->> 'id',
    tests.id('group')::text, 'adding existing members succeeds');
select results_eq($$
    select version - v, changed_xid > '3' from public.conversations c, version where c.id = tests.id('group')
$$, $$values (1::bigint, false)$$, 'adding existing members changes nothing');
select is((tests.member('group', 'bob')).role::text, 'admin', 'adding an existing member keeps the role');
select alike(tests.add('bob', tests.users('visitor')), '{%', 'an admin can add a guest');
select matches(tests.add('carol', tests.users('visitor')), '^PL007 ', 'a member cannot add members');
select matches(tests.add('alice', tests.users('carol'), 'direct'), '^PL007 ',
    'members cannot be added to a direct conversation');
select is(tests.add('alice', tests.users('gone')), 'PL008 There is no such user.', 'a deleted user cannot be added');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('erik');
select is(tests.add('alice', tests.users('erik') || ' || gen_random_uuid()'),
    'PL008 There is no such user.', 'an unknown user cannot be added');
select unalike(tests.seats(), '%erik%', 'a rejected call adds no members');
select is(tests.field_of('alice', format('select api.add_members(%L, %s)', tests.id('group'), bad)),
    'PL001 user_ids', 'rejects user_ids ' || bad)
  from unnest(array['null', '''{}''', 'array[null]::uuid[]']) bad;
select tests.say('group', 'alice', n::text) from generate_series(1, 3) n;
select tests.add('alice', tests.users('erik'));
select results_eq($$
    select (tests.conversation('group')).last_seq - last_read_seq, joined_at > now() - interval '1 minute'
      from tests.member('group', 'erik')
$$, $$values (1::bigint, true)$$, 'a new member''s read mark is just before the event of joining');
select is(json_array_length(tests.as('erik', format('api.messages(%L)::json -> ''messages''',
        tests.id('group')))::json),
    (tests.conversation('group')).last_seq::integer, 'a new member sees earlier messages');

-- At most 256 members.
select tests.make_user('m' || n) from generate_series(1, 256) n;
select is(json_array_length(tests.create_group('alice', 'Full',
        'array(select tests.id(''m'' || n) from generate_series(1, 255) n)')::json -> 'members'),
    256, 'a group can have 256 members');
insert into tests.ids select 'full', id from public.conversations where title = 'Full';
select is(tests.field_of('alice', format('select api.add_members(%L, %s)', tests.id('full'), tests.users('m256'))),
    'PL001 user_ids', 'rejects member 257');
select alike(tests.add('alice', tests.users('m1', 'm255'), 'full'), '{%', 'accepts existing members in a full group');
select is(tests.attempt('alice', $$
        insert into public.conversation_members (conversation_id, user_id)
        values (tests.id('full'), tests.id('m256'))$$),
    'PL001', 'a user''s own insert cannot exceed 256 members');
select throws_ok($$
    insert into public.conversation_members (conversation_id, user_id) values (tests.id('full'), tests.id('m256'))
$$, 'PL001', null, 'plain SQL cannot exceed 256 members');
select tests.remove('m7', 'm7', 'full');
select is(tests.field_of('alice', format('select api.add_members(%L, %s)',
        tests.id('full'), tests.users('m256', 'm7'))),
    'PL001 user_ids', 'rejects two members if there is room for one');
select alike(tests.add('alice', tests.users('m256'), 'full'), '{%', 'accepts a member after another was removed');

-- Removing.
select tests.fresh_world();
select is(tests.remove('carol', 'bob'), 'PL007 Only the owner and admins of a group can remove members.',
    'a member cannot remove another member');
select is(tests.remove('bob', 'dora'), 'PL007 An admin cannot remove the owner or another admin.',
    'an admin cannot remove another admin');
select is(tests.remove('bob', 'alice'), 'PL007 An admin cannot remove the owner or another admin.',
    'an admin cannot remove the owner');
select is(tests.remove('bob', 'erik'), 'PL008 There is no such member.', 'rejects a user who is not a member');
select is(tests.remove('alice', 'gone'),
    tests.as('alice', format('api.remove_member(%L, gen_random_uuid())', tests.id('group'))),
    'a former member and an unknown user give the same error');
select is(tests.as('alice', format('api.remove_member(%L, null)', tests.id('group'))),
    'PL008 There is no such member.', 'rejects a null user');
select is(tests.remove('carol', 'erik'), tests.remove('carol', 'bob'),
    'a member learns nothing about who else is a member');
select is(json_array_length(tests.remove('bob', 'carol')::json -> 'members'), 3, 'an admin can remove a member');
select is(tests.seats(), 'alice owner, bob admin, dora admin', 'the removed member is gone');
select matches(tests.as('carol', call), '^PL008 ', 'a removed member gets not_found: ' || call)
  from unnest(array[format('api.conversation(%L)', tests.id('group')),
                    format('api.messages(%L)', tests.id('group')),
                    format('api.send_message(%L, ''x'')', tests.id('group')),
                    format('api.mark_read(%L, 1)', tests.id('group'))]) call;
select is(tests.remove('carol', 'carol'), 'PL008 There is no such conversation.',
    'a removed member cannot leave again');
select alike(tests.remove('alice', 'bob'), '{%', 'the owner can remove an admin');
select matches(tests.remove('alice', 'bob', 'direct'), '^PL007 ',
    'members cannot be removed from a direct conversation');
select matches(tests.remove('alice', 'alice', 'direct'), '^PL007 ', 'a member cannot leave a direct conversation');
select alike(tests.add('dora', tests.users('carol')), '{%', 'a removed member can be added again');
select is(json_array_length(tests.as('carol', format('api.messages(%L)::json -> ''messages''',
        tests.id('group')))::json),
    (tests.conversation('group')).last_seq::integer, 'a member who returns sees all messages');

-- Leaving.
select tests.fresh_world();
select is(tests.remove('carol', 'carol'),
    format('{"conversation_id":"%s","left":true}', tests.id('group')), 'a member can leave');
select tests.remove('alice', 'alice');
select is(tests.seats(), 'bob owner, dora admin', 'the oldest admin becomes the owner when the owner leaves');
select tests.fresh_world();
select tests.role('alice', 'bob', 'member'), tests.role('alice', 'dora', 'member'), tests.remove('alice', 'alice');
select is(tests.seats(), 'bob owner, carol member, dora member', 'without admins the oldest member becomes the owner');
select tests.remove('bob', 'bob'), tests.remove('carol', 'carol'), tests.remove('dora', 'dora');
select is(tests.seats(), null, 'the group is empty after the last member leaves');
select is(tests.add('dora', tests.users('alice')),
    'PL008 There is no such conversation.', 'a former member cannot add members to an empty group');

-- Roles.
select tests.fresh_world();
truncate version;
insert into version select tests.version();
select alike(tests.role('alice', 'carol', 'admin'), '%"role":"admin"%', 'the owner can promote a member to admin');
select is(tests.version() - v, 1::bigint, 'a changed role increases the version') from version;
select tests.age();
select tests.role('alice', 'carol', 'admin');
select is(tests.version() - v, 1::bigint, 'the same role is no change') from version;
select tests.role('alice', 'carol', 'member');
select is(tests.seats(), 'alice owner, bob admin, carol member, dora admin', 'the owner can demote an admin');
select matches(tests.role(who, 'carol', role), '^PL007 ', format('%s cannot change a role to %s', who, role))
  from unnest(array['bob', 'carol']) who, unnest(array['owner', 'admin', 'member']) role;
select matches(tests.role('bob', 'bob', 'owner'), '^PL007 ', 'an admin cannot promote itself to owner');
select is(tests.role('alice', 'erik', 'admin'), 'PL008 There is no such member.', 'rejects a user who is not a member');
select is(tests.field_of('alice', format('select api.set_member_role(%L, %L, %L)',
        tests.id('group'), tests.id('bob'), bad)),
    'PL001 role', 'rejects the role ' || coalesce(bad, 'null'))
  from unnest(array['king', 'Owner', '', null]) bad;
select matches(tests.role('alice', 'alice', 'member'), '^PL007 ',
    'the owner cannot give up the role without a successor');
select alike(tests.role('alice', 'alice', 'owner'), '{%', 'the owner can be set to owner again');
select matches(tests.role('alice', 'bob', 'admin', 'direct'), '^PL007 ', 'a direct conversation has no roles');
select alike(tests.role('alice', 'carol', 'owner'), '{%', 'the owner can transfer the ownership');
select is(tests.seats(), 'alice admin, bob admin, carol owner, dora admin', 'the former owner becomes an admin');
select matches(tests.role('alice', 'alice', 'owner'), '^PL007 ', 'the former owner cannot take the ownership back');

-- Every operation is not_found for a user who is not a member.
select is(tests.as(who, replace(call, '$', quote_literal(tests.id(room)))),
    'PL008 There is no such conversation.', format('%s of %s: %s', who, room, call))
  from (values
        ('mallory', 'group'), ('erik', 'group'), ('carol', 'direct')) as r (who, room),
       unnest(array['api.update_conversation($, ''x'')', 'api.update_conversation($, null)',
               format('api.add_members($, array[%L]::uuid[])', tests.id('mallory')),
               'api.add_members($, array[gen_random_uuid()])', format('api.remove_member($, %L)', tests.id('alice')),
               format('api.remove_member($, %L)', tests.id('mallory')),
               format('api.set_member_role($, %L, ''owner'')', tests.id('mallory')), 'api.edit_message($, 1, ''x'')',
               'api.edit_message($, 99, null)', 'api.delete_message($, 1)', 'api.delete_message($, 99)']) call;
select is(tests.as('mallory', call), 'PL008 There is no such conversation.',
    'a missing conversation gives not_found: ' || call)
  from unnest(array[
        'api.update_conversation(gen_random_uuid(), ''x'')',
        'api.add_members(gen_random_uuid(), array[gen_random_uuid()])',
        'api.remove_member(gen_random_uuid(), gen_random_uuid())', 'api.remove_member(null, null)',
        'api.set_member_role(gen_random_uuid(), gen_random_uuid(), ''owner'')',
        'api.edit_message(gen_random_uuid(), 1, ''x'')', 'api.delete_message(gen_random_uuid(), 1)']) call;
select set_config('request.jwt.claims', '', true), set_config('role', 'authenticated', true);
select throws_ok('select ' || call, 'PL002', null, 'requires a signed-in user: ' || call)
  from unnest(array[
        'api.create_group(''x'', array[gen_random_uuid()])', 'api.update_conversation(gen_random_uuid(), ''x'')',
        'api.add_members(gen_random_uuid(), array[gen_random_uuid()])',
        'api.remove_member(gen_random_uuid(), gen_random_uuid())',
        'api.set_member_role(gen_random_uuid(), gen_random_uuid(), ''owner'')',
        'api.edit_message(gen_random_uuid(), 1, ''x'')', 'api.delete_message(gen_random_uuid(), 1)']) call;
select tests.owner();

-- The user's own SQL has the rights of the operations.
select tests.fresh_world();
insert into tests.ids values ('nowhere', gen_random_uuid());
create function tests.try(who text, statement text) returns text language sql as $$
    select tests.attempt(who, replace(replace(statement, 'members', 'public.conversation_members'),
        '$', 'conversation_id = tests.id(''group'') and user_id = tests.id'))
$$;
select is(tests.try(who, statement), outcome, who || ': ' || statement)
  from (values
        ('alice', 'delete from members where $(''bob'')', '1'),
        ('alice', 'delete from members where $(''carol'')', '1'),
        ('alice', 'delete from members where $(''alice'')', '1'),
        ('bob', 'delete from members where $(''carol'')', '1'),
        ('bob', 'delete from members where $(''bob'')', '1'),
        ('bob', 'delete from members where $(''dora'')', '0'),
        ('bob', 'delete from members where $(''alice'')', '0'),
        ('carol', 'delete from members where $(''carol'')', '1'),
        ('carol', 'delete from members where $(''dora'')', '0'),
        ('carol', 'delete from members where $(''alice'')', '0'),
        ('mallory', 'delete from members where $(''carol'')', '0'),
        ('alice', 'delete from members '
            'where conversation_id = tests.id(''direct'') and user_id = tests.id(''alice'')', '0'),
        ('dora', 'update members set role = ''owner'' where $(''dora'')', '42501'),
        ('alice', 'update members set role = ''admin'' where $(''carol'')', '42501'),
        ('alice', 'update members set last_read_seq = 0 where $(''carol'')', '0'),
        ('bob', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''group''), tests.id(''erik''))', '1'),
        ('bob', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''group''), tests.id(''gone''))', 'PL008'),
        ('bob', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''group''), tests.id(''carol''))', '23505'),
        ('carol', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''group''), tests.id(''erik''))', '42501'),
        ('bob', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''direct''), tests.id(''erik''))', '42501'),
        -- Hidden and missing conversations are indistinguishable; a unique violation does not reveal a hidden member.
        ('mallory', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''full''), tests.id(''mallory''))', '42501'),
        ('mallory', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''direct''), tests.id(''alice''))', '42501'),
        ('mallory', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''direct''), tests.id(''erik''))', '42501'),
        ('mallory', 'insert into members (conversation_id, user_id) '
            'values (tests.id(''nowhere''), tests.id(''erik''))', '42501'),
        ('mallory', 'select app.create_group(''x'')', '1'),
        ('mallory', 'select app.set_member_role(tests.id(''group''), tests.id(''mallory''), ''owner'')', 'PL008'),
        ('bob', 'select app.set_member_role(tests.id(''group''), tests.id(''bob''), ''owner'')', 'PL007'),
        ('mallory', 'select app.lock_conversation(tests.id(''group''))', 'PL008'),
        ('service_role', 'delete from members where $(''alice'')', '1'),
        ('service_role', 'update members set role = ''owner'' where $(''carol'')', '1')) as t (who, statement, outcome);

-- One owner, also with plain SQL.
select tests.fresh_world();
update public.conversation_members set role = 'owner'
 where user_id = tests.id('carol') and conversation_id = tests.id('group');
select is(tests.seats(), 'alice admin, bob admin, carol owner, dora admin',
    'the former owner becomes an admin when SQL sets another owner');
select throws_ok(format(
        'update public.conversation_members set role = %L where role = ''owner'' and conversation_id = %L',
        r, tests.id('group')),
    '23001', null, 'SQL cannot change the owner''s role to ' || r)
  from unnest(array['admin', 'member']) r;
delete from public.conversation_members where role = 'owner' and conversation_id = tests.id('group');
select is(tests.seats(), 'alice owner, bob admin, dora admin',
    'the oldest admin becomes the owner when SQL deletes the owner''s row');
delete from public.conversation_members
 where conversation_id = tests.id('group') and user_id in (tests.id('alice'), tests.id('bob'));
select is(tests.seats(), 'dora owner', 'the new owner is one of the remaining members');
delete from public.conversation_members where conversation_id = tests.id('group');
insert into public.conversation_members (conversation_id, user_id, role, joined_at)
values (tests.id('group'), tests.id('erik'), 'member', now()),
       (tests.id('group'), tests.id('bob'), 'member', now() - interval '1 day');
select is(tests.seats(), 'bob owner, erik member', 'a group whose members have no owner gets one');
select throws_ok(format('update public.conversation_members set role = %L where conversation_id = %L',
        r, tests.id('direct')),
    'PL007', null, 'rejects the role ' || r || ' in a direct conversation')
  from unnest(array['owner', 'admin']) r;
select tests.fresh_world();
update public.user_profiles set is_deleted = true where id = tests.id('alice');
select is(tests.seats(), 'bob owner, carol member, dora admin',
    'the oldest admin becomes the owner when the owner is deleted');
select is_empty($$
    select c.id from public.conversations c
      join public.conversation_members m on m.conversation_id = c.id
     where c.kind = 'group' group by c.id
    having count(*) filter (where m.role = 'owner') <> 1
$$, 'every group with members has exactly one owner');

select * from finish();
rollback;
