-- Rules of profiles for all writers, and the operations on them.
begin;
select no_plan();
select tests.make_world();

-- Texts.
update public.user_profiles set full_name = e'  \u00a0Zoe\u0308 Q\u3000 ' where id = tests.id('alice');
select is((select full_name::text from public.user_profiles where id = tests.id('alice')), U&'Zo\00EB Q',
    'normalizes a name to NFC and trims it, also with plain SQL');
select throws_ok(format('update public.user_profiles set full_name = %L where id = tests.id(''alice'')', bad),
    'PL001', null, label)
  from (values
        ('   ', 'a blank name'),
        (e'\u200b\u2060', 'a name of nothing visible'),
        (e'a\u0007b', 'a control character'),
        (e'a\nb', 'a line break'),
        (e'a\u0085b', 'a C1 control'),
        (e'a\u202eb', 'a bidirectional override'),
        (e'a\u2066b', 'a bidirectional isolate'),
        (repeat('x', 101), '101 characters')) as t (bad, label);
select lives_ok(format('update public.user_profiles set full_name = %L where id = tests.id(''alice'')',
        repeat('😀', 100)),
    'counts lengths in code points');
select throws_ok(format('update public.user_profiles set username = %L where id = tests.id(''alice'')', bad),
    'PL001', null, 'username ' || bad)
  from unnest(array['ab', '1abc', 'a b c', 'ümlaut', repeat('a', 31), '_abc', 'abc-d', 'αβγ']) bad;
update public.user_profiles set username = ' Tap.Alice_9 ' where id = tests.id('alice');
select is((select username from public.user_profiles where id = tests.id('alice')),
    'tap.alice_9', 'converts a username to lower case');
select throws_ok('update public.user_profiles set username = ''TAP_BOB'' where id = tests.id(''carol'')', '23505', null,
    'a username is unique in any case');
select throws_ok(format('update public.user_profiles set website = %L where id = tests.id(''alice'')', bad),
    'PL001', null, 'website ' || bad)
  from unnest(array['http://x.example', 'javascript:alert(1)', 'https://', 'https:// x', 'https://x y']) bad;
select throws_ok('update public.user_profiles set language_code = ''e'' where id = tests.id(''alice'')', 'PL001');
select throws_ok(format('update public.user_profiles set attributes = %L where id = tests.id(''alice'')', bad),
    'PL001', '"attributes" must be an object.', 'attributes ' || coalesce(bad, 'null'))
  from unnest(array['[]', 'null', null]) bad;
select lives_ok('update public.user_profiles set language_code = ''pt-BR'' where id = tests.id(''alice'')');

-- One avatar shape at a time.
select throws_ok(format('update public.user_profiles set %s where id = tests.id(''alice'')', bad), 'PL001', null, bad)
  from unnest(array[
        'avatar_type = ''built_in''', 'avatar_type = ''custom''', 'avatar_id = ''fox''',
        'avatar_url = ''https://x.example/a''', 'avatar_type = ''other'', avatar_id = ''fox''',
        'avatar_type = ''built_in'', avatar_id = ''fox'', avatar_url = ''https://x.example/a''']) bad;
select throws_ok('update public.user_profiles set avatar_type = ''custom'', '
    'avatar_url = ''http://x.example/a'' where id = tests.id(''alice'')',
    'PL001');
select throws_ok(
    'update public.user_profiles set avatar_type = ''built_in'', avatar_id = ''nope'' where id = tests.id(''alice'')',
    'PL001', 'There is no such built-in avatar.', 'rejects an unknown built-in avatar with its field');
select lives_ok(
    'update public.user_profiles set avatar_type = ''built_in'', avatar_id = ''fox'' where id = tests.id(''alice'')');
select lives_ok('update public.user_profiles set avatar_type = ''custom'', avatar_id = null, '
    'avatar_url = ''https://x.example/a'' where id = tests.id(''alice'')');

-- Times and indexes.
update public.user_profiles set bio = 'of now', updated_at = '2000-01-01' where id = tests.id('carol');
select is((select updated_at from public.user_profiles where id = tests.id('carol')),
    now(), 'B32: sets updated_at to the database''s time, whatever the statement gives');
select set_has($$
    select a.attname::text
      from pg_index i
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
     where i.indrelid = 'public.user_profiles'::regclass
$$, $$values ('id'), ('username'), ('changed_xid'), ('public_changed_xid')$$,
    'B32: indexes find a profile by id and username, and changed profiles');

-- Version and the two transaction ids.
create temporary table seen as select * from public.user_profiles where id = tests.id('bob');
select tests.age();
update public.user_profiles set bio = 'public' where id = tests.id('bob');
select results_eq($$
    select version - (select version from seen), changed_xid > '3', public_changed_xid > '3'
      from public.user_profiles where id = tests.id('bob')
$$, $$values (1::bigint, true, true)$$, 'a public change sets both transaction ids');
select tests.age();
update public.user_private set phone_number = '+4512345678' where id = tests.id('bob');
select results_eq($$
    select version - (select version from seen), changed_xid > '3', public_changed_xid > '3'
      from public.user_profiles where id = tests.id('bob')
$$, $$values (2::bigint, true, false)$$, 'a private change sets only changed_xid');
select tests.age();
update auth.users set email = 'Tap.Bob2@example.org' where id = tests.id('bob');
select results_eq($$select s.email, p.changed_xid > '3', p.public_changed_xid > '3'
    from public.user_profiles p join public.user_private s using (id) where id = tests.id('bob')$$,
    $$values ('tap.bob2@example.org', true, false)$$, 'a change of the account''s address is a private change');
select tests.age();
update public.user_profiles set bio = bio where id = tests.id('bob');
update public.user_private set preferences = preferences where id = tests.id('bob');
select is((select changed_xid::text from public.user_profiles where id = tests.id('bob')), '3',
    'an update without a change sets no transaction id');
update public.user_profiles set bio = 'one' where id = tests.id('bob');
update public.user_private set phone_number = '+4512345679' where id = tests.id('bob');
update public.user_profiles set bio = 'two', location = 'There' where id = tests.id('bob');
select is((select version from public.user_profiles where id = tests.id('bob')), (select version + 4 from seen),
    'the version grows by one per transaction');
update public.user_profiles set version = 1 where id = tests.id('bob');
select ok((select version > 1 from public.user_profiles where id = tests.id('bob')), 'the version never decreases');
update public.user_private set phone_verified = true where id = tests.id('bob');
update public.user_private set phone_number = '+4587654321' where id = tests.id('bob');
select is((select phone_verified from public.user_private where id = tests.id('bob')),
    false, 'B42: a changed phone number is not verified');
select throws_ok('delete from public.user_profiles', '23001', 'DELETE is not allowed on user_profiles.');

-- me.
select is(tests.as('alice', 'api.me() ->> ''email'''), 'tap.alice@example.org', 'me contains the email address');
select is((select string_agg(key, ',') from json_object_keys(tests.as('alice', 'api.me()')::json) key),
    'id,username,full_name,bio,avatar_type,avatar_id,avatar_url,website,location,language_code,is_verified,is_guest,'
    'is_deleted,attributes,version,created_at,updated_at,email,phone_number,phone_verified,date_of_birth,'
    'preferred_unit_system,preferences,physical,username_changed_at,username_change_count,username_change_allowed_at,'
    'is_moderator',
    'Me has every member, in the order of the protocol');
select set_eq($$
    select key from json_object_keys(tests.as('alice', 'api.me()')::json) key
    except
    select column_name::text from information_schema.columns
     where table_schema = 'public' and table_name in ('user_profiles', 'user_private')
$$, array['physical', 'username_change_allowed_at'],
    'B36: members of Me have the names of their columns, except two');
select matches(tests.as('alice', 'api.me() ->> ''created_at'''),
    '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$', 'times have six fractional digits and end in Z');
select is(tests.as('alice', $$api.update_me(
        '{"full_name":" New ","bio":null,"location":"Lyon","preferences":{"a":1,"b":{"c":null}}}') ->> 'full_name'$$),
    'New', 'update_me sets fields');
select is(left(tests.as('alice', format($$api.update_me('{"preferences":{"presence":%s}}')$$, word)), 5), 'PL001',
    'rejects the presence preference ' || word)
  from unnest(array['"Nobody"', 'false', '"none"', '[]']) word;
select is(
    tests.as('alice', $$api.update_me('{"preferences":{"presence":"contacts"}}') -> 'preferences' ->> 'presence'$$),
    'contacts', 'accepts "contacts" as the presence preference');
select tests.as('alice', $$api.update_me('{"preferences":{"presence":null}}')$$);
select is(tests.as('alice', $$api.update_me('{"preferences":{"a":null,"d":2}}') -> 'preferences'$$)::jsonb,
    '{"b":{"c":null},"d":2}'::jsonb, 'merges preferences by key, and null removes a key');
select is(tests.as('alice', $$api.me() ->> 'location'$$), 'Lyon', 'an absent field keeps its value');
select is(tests.field_of('alice', 'select api.update_me(''' || patch || ''')'), 'PL001 ' || field, patch)
  from (values
        ('{"full_name":null}', 'full_name'), ('{"full_name":""}', 'full_name'), ('{"full_name":7}', 'full_name'),
        ('{"bio":["x"]}', 'bio'), ('{"website":"x"}', 'website'), ('{"language_code":"!"}', 'language_code'),
        ('{"phone_number":"123"}', 'phone_number'), ('{"date_of_birth":"2001-02-30"}', 'date_of_birth'),
        ('{"date_of_birth":"yesterday"}', 'date_of_birth'), ('{"date_of_birth":"2999-01-01"}', 'date_of_birth'),
        ('{"preferred_unit_system":"miles"}', 'preferred_unit_system'), ('{"preferences":[]}', 'preferences'),
        ('{"is_verified":true}', 'is_verified'), ('{"attributes":{}}', 'attributes'),
        ('{"bio":"' || repeat('x', 501) || '"}', 'bio'),
        ('{"preferences":{"k":"' || repeat('x', 16377) || '"}}', 'preferences')) as t (patch, field);
select is(tests.as('carol', format('length(api.update_me(%L) -> ''preferences'' ->> ''k'')',
        '{"preferences":{"k":"' || repeat('x', 16376) || '"}}')),
    '16376', 'accepts preferences of 16 KiB');
select is(tests.as('alice', $$api.update_me('{"bio":"x"}', 1)$$),
    'PL011 Your profile has changed since this version. Read it again before you change it.',
    'rejects an outdated if_version');
select is(tests.as('alice', $$api.me() ->> 'bio'$$), null, 'a rejected change changes nothing');
select is(tests.as('alice', format($$api.update_me('{"bio":"x"}', %s) ->> 'bio'$$,
        (select version from public.user_profiles where id = tests.id('alice')))),
    'x', 'accepts the current version');
select is(tests.as('alice', $$api.update_me(jsonb_build_object('bio', '''; drop table messages; --')) ->> 'bio'$$),
    '''; drop table messages; --', 'treats SQL in a value as text');

-- Others' profiles.
select is(tests.as('alice', format($$(
        select string_agg(p ->> 'username', ',')
          from json_array_elements(api.profiles(array[%L, %L, %L, %L]::uuid[]) -> 'profiles') p)$$,
        tests.id('carol'), gen_random_uuid(), tests.id('bob'), tests.id('carol'))),
    'tap_carol,tap_bob', 'returns profiles once, in the requested order, without unknown ones');
select is(tests.as('alice', $$api.profile_by_username('Tap_Bob') ->> 'id'$$),
    tests.id('bob')::text, 'finds a username in any case');
select matches(tests.as('alice', $$api.profile_by_username('tap_nobody')$$),
    '^PL008 ', 'an unknown username is not found');
select is((select string_agg(key, ',')
             from json_object_keys(tests.as('alice', 'api.profile_by_username(''tap_bob'')')::json) key),
    'id,username,full_name,bio,avatar_type,avatar_id,avatar_url,website,location,language_code,is_verified,is_guest,'
    'is_deleted,attributes,version,created_at,updated_at', 'a Profile has every public member and no private one');
update public.user_profiles set is_deleted = true where id = tests.id('carol');
select is(tests.as('alice', format('api.profiles(array[%L]::uuid[]) -> ''profiles'' -> 0 ->> ''full_name''',
        tests.id('carol'))),
    null, 'a tombstone has no name');
select matches(tests.as('alice', $$api.profile_by_username('tap_carol')$$),
    '^PL008 ', 'a tombstone is not found by username');
select is(tests.attempt('carol', 'update public.user_profiles set bio = ''x'''), '0',
    'a tombstone cannot be updated by its user');
select is(json_array_length(tests.as('anon', 'api.avatars() -> ''avatars''')::json),
    (select count(*)::integer from public.built_in_avatars), 'anon can list the built-in avatars');

select * from finish();
rollback;
