-- A deleted user: what is removed, and what stays.
begin;
select no_plan();
select tests.make_world();
update auth.users set encrypted_password = 'hash', phone = '+4512345678' where id = tests.id('alice');
update public.user_profiles set bio = 'b', avatar_type = 'built_in', avatar_id = 'fox', website = 'https://a.example',
    location = 'Lyon', language_code = 'fr', is_verified = true, attributes = '{"tier":"gold"}'
 where id = tests.id('alice');
update public.user_private set phone_number = '+4512345678', date_of_birth = '1990-05-17', preferences = '{"a":1}',
    biological_sex = 'female', height_cm = 170, preferred_unit_system = 'imperial'
 where id = tests.id('alice');
select tests.say('direct', 'alice', 'hello'), tests.say('group', 'alice', 'hello all'),
       tests.say('group', 'carol', 'hi');
insert into app.sessions (user_id) values (tests.id('alice')), (tests.id('alice')), (tests.id('bob'));
select tests.age();

select matches(tests.account(format('accounts.delete_user(%L, ''wrong'')', tests.id('alice'))),
    '^PL003 ', 'rejects a deletion with a wrong password');
select matches(tests.account(format('accounts.delete_user(%L, null)', tests.id('alice'))),
    '^PL003 ', 'rejects a deletion without a password');
select matches(tests.account('accounts.delete_user(gen_random_uuid(), null)'), '^PL004 ',
    'rejects a deletion of an unknown user');
select is(tests.account(format('accounts.delete_user(%L, ''hash'')', tests.id('alice'))),
    '{"deleted":true}', 'deletes a user');
select matches(tests.account(format('accounts.delete_user(%L, ''hash'')', tests.id('alice'))), '^PL004 ',
    'rejects a second deletion');

select is(tests.as('bob', format('api.profiles(array[%L]::uuid[]) -> ''profiles'' -> 0', tests.id('alice')))::jsonb
        - '{id,version,created_at,updated_at}'::text[],
    '{"username":null,"full_name":null,"bio":null,"avatar_type":null,"avatar_id":null,"avatar_url":null,
      "website":null,"location":null,"language_code":null,"is_verified":false,"is_guest":false,"is_deleted":true,
      "attributes":{}}', 'a tombstone contains no data of its user');
select results_eq($$select to_jsonb(s) - 'id' from public.user_private s where id = tests.id('alice')$$,
    $$values ('{"email":null,"phone_number":null,"phone_verified":false,"date_of_birth":null,
      "preferred_unit_system":"metric","preferences":{},"biological_sex":null,"height_cm":null,
      "username_changed_at":null,"username_change_count":0,"is_moderator":false}'::jsonb)$$, 'private data is erased');
select results_eq($$
    select email::text, phone, encrypted_password::text, raw_user_meta_data, deleted_at is not null
      from auth.users where id = tests.id('alice')
$$, $$values (null::text, null::text, null::text, '{}'::jsonb, true)$$, 'the account''s data is erased');
select is((select count(*) from app.sessions where user_id = tests.id('alice') and revoked_at is null),
    0::bigint, 'the deleted user''s sessions end');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null),
    1::bigint, 'other users'' sessions continue');
select results_eq($$
    select changed_xid > '3', public_changed_xid > '3' from public.user_profiles where id = tests.id('alice')
$$, $$values (true, true)$$, 'the deletion is a public change');

select matches(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, ''hash''))',
        tests.id('alice'))),
    '^PL004 ', 'a deleted user cannot open a session');
select matches(tests.account(format('accounts.ensure_profile(%L, false)', tests.id('alice'))),
    '^PL004 ', 'a deleted user cannot use a token of another auth server');
select is(tests.account('(select user_id from accounts.credentials(''tap.alice@example.org''))'),
    null, 'no account has the deleted user''s address');

-- Conversations.
select is(tests.as('bob', format('api.messages(%L)::json -> ''messages'' -> 0 ->> ''content''', tests.id('direct'))),
    'hello', 'the deleted user''s messages stay');
select is((tests.as('bob', format('api.messages(%L)::json -> ''messages'' -> 0 -> ''sender''',
            tests.id('direct')))::jsonb ->> 'username'),
    null, 'the sender of those messages is the tombstone');
select set_eq($$select user_id from public.conversation_members where conversation_id = tests.id('direct')$$,
    array[tests.id('alice'), tests.id('bob')], 'a direct conversation keeps both members');
select results_eq($$
    select i.name, m.role::text from public.conversation_members m
      join tests.ids i on i.id = m.user_id
     where conversation_id = tests.id('group') order by 1
$$, $$values ('bob', 'owner'), ('carol', 'member')$$, 'the oldest admin becomes the owner of the group');
select matches(tests.as('mallory', format('api.open_conversation(%L)', tests.id('alice'))),
    '^PL008 ', 'no user can open a conversation with a deleted user');
select throws_ok(format('insert into public.conversation_members (conversation_id, user_id) values (%L, %L)',
        tests.id('group'), tests.id('alice')),
    'PL008', null, 'a deleted user cannot be added to a group');

-- Names that are free again.
select is(tests.account($$accounts.register('tap.alice@example.org', 'x', null, 'Anew')$$) ~ '^[0-9a-f-]{36}$',
    true, 'the address can be registered again');
select matches(tests.as('carol', 'api.change_username(''tap_alice'')'), '^PL009 ',
    'the deleted user''s username is held');
select tests.forward('120 days');
select is(tests.as('carol', 'api.change_username(''tap_alice'') ->> ''username'''), 'tap_alice',
    'the username is free after 120 days');

-- A deletion is final, for all writers.
update public.user_profiles set full_name = 'Back', bio = 'b', username = 'tap_back' where id = tests.id('alice');
select results_eq($$select full_name, bio, username from public.user_profiles where id = tests.id('alice')$$,
    $$values (null::text, null::text, null::text)$$, 'a tombstone cannot be changed');
select throws_ok('update public.user_profiles set is_deleted = false where id = tests.id(''alice'')',
    '23001', null, 'a deleted user cannot be restored');
select is(tests.attempt('alice', 'update public.user_private set height_cm = 170'),
    '0', 'a deleted user cannot update its private data with a valid token');
select matches(tests.as('alice', 'api.update_me(''{"bio":"x"}'')'), '^PL004 ',
    'a deleted user cannot call an operation that writes');
select is((select count(*) from public.user_profiles where is_deleted and not (username is null and full_name is null)),
    0::bigint, 'no tombstone has a name');

-- Deletion by plain SQL, and of a guest.
select alike(tests.as('bob', format('app.my_message(%L, 1)', tests.id('direct'))), '%hello%',
    'a member can read a message');
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select results_eq($$
    select u.email::text, s.email, p.username from auth.users u
      join public.user_private s using (id)
      join public.user_profiles p using (id)
     where id = tests.id('bob')
$$, $$values (null::text, null::text, null::text)$$, 'setting is_deleted by SQL erases the user');
select is(tests.as('bob', format('app.my_message(%L, 1)', tests.id('direct'))), null,
    'a deleted user cannot read a message');
select is(tests.as('bob', format('app.ensure_participants(%L)', tests.id('alice'))), null,
    'a deleted user is not added to its conversation again');
select is((select role::text from public.conversation_members where conversation_id = tests.id('group')),
    'owner', 'the last member of a group becomes its owner');
select tests.make_user('visitor', true);
update public.user_profiles set username = 'tap_first' where id = tests.id('visitor');
update public.user_profiles set username = 'tap_second' where id = tests.id('visitor');
select tests.make_user('rival', true);
select matches(tests.as('rival', 'api.change_username(''tap_first'')'),
    '^PL009 ', 'a guest''s former username is held');
select is(tests.account(format('accounts.delete_user(%L, null)', tests.id('visitor'))),
    '{"deleted":true}', 'deletes a guest without a password');
select is((select count(*) from public.username_history where user_id = tests.id('visitor')),
    0::bigint, 'a deleted guest''s usernames are not held');
select tests.make_user('heir', true);
select is(tests.as('heir', 'api.change_username(''tap_first'') ->> ''username'''),
    'tap_first', 'a deleted guest''s former username is free');
select tests.make_user('heiress', true);
select is(tests.as('heiress', 'api.change_username(''tap_second'') ->> ''username'''), 'tap_second',
    'a deleted guest''s last username is free');

select * from finish();
rollback;
