-- The user's own data: physical, avatar, and the version that a change was made from.
begin;
select no_plan();
select tests.make_world();
create function tests.keys(object text) returns text language sql as $$
    select string_agg(key, ',') from json_object_keys(object::json) key
$$;

-- Physical.
select is(tests.as('alice', $$api.update_physical(
        '{"biological_sex":"female","height_cm":171.5,"date_of_birth":"1990-05-17"}') -> 'physical'$$)::jsonb,
    '{"biological_sex":"female","height_cm":171.5,"date_of_birth":"1990-05-17"}', 'update_physical sets fields');
select is(tests.as('alice', $$api.update_physical('{"height_cm":null}') -> 'physical'$$)::jsonb,
    '{"biological_sex":"female","height_cm":null,"date_of_birth":"1990-05-17"}',
    'null clears a field, and absent fields keep their values');
select is(tests.as('alice', $$api.me() ->> 'date_of_birth'$$), '1990-05-17',
    'date_of_birth and physical.date_of_birth are the same value');
select is(tests.as('alice', $$api.update_me('{"date_of_birth":"1990-05-18"}') -> 'physical' ->> 'date_of_birth'$$),
    '1990-05-18', 'a change of date_of_birth also changes physical.date_of_birth');
select is(tests.field_of('alice', 'select api.update_physical(''' || patch || ''')'), 'PL001 ' || field, patch)
  from (values
        ('{"biological_sex":"m"}', 'biological_sex'),
        ('{"biological_sex":1}', 'biological_sex'),
        ('{"height_cm":29.9}', 'height_cm'),
        ('{"height_cm":300.1}', 'height_cm'),
        ('{"height_cm":"170"}', 'height_cm'),
        ('{"height_cm":1e300}', 'height_cm'),
        ('{"date_of_birth":"1899-12-31"}', 'date_of_birth'),
        ('{"date_of_birth":"2999-01-01"}', 'date_of_birth'),
        ('{"date_of_birth":7}', 'date_of_birth'),
        ('{"full_name":"X"}', 'full_name'),
        ('{"birthday":"1990-01-01"}', 'birthday'),
        ('[]', 'patch')) as t (patch, field);
select is(tests.as('alice', format($$api.update_physical('{"height_cm":%s}') -> 'physical' ->> 'height_cm'$$, height)),
    height, height || ' cm is accepted as height')
  from unnest(array['30', '300', '170.25']) height;
select throws_ok(format('update public.user_private set %s where id = tests.id(''alice'')', bad), '23514', null, bad)
  from unnest(array[
        'height_cm = 29', 'height_cm = 301', 'biological_sex = ''x''', 'preferred_unit_system = ''x''',
        'preferences = ''[]''']) bad;
select throws_ok(format('update public.user_private set %s where id = tests.id(''alice'')', bad), 'PL001', null, bad)
  from unnest(array['phone_number = ''0123''', 'date_of_birth = ''2999-01-01''', 'date_of_birth = ''1899-12-31''']) bad;

-- Version.
select tests.age();
create temporary table seen as select version from public.user_profiles where id = tests.id('alice');
select is(tests.as('alice', call),
    'PL011 Your profile has changed since this version. Read it again before you change it.',
    'rejects an outdated if_version: ' || call)
  from unnest(array[
        'api.update_physical(''{"height_cm":180}'', 0)', 'api.change_username(''tap_alicia'', 0)',
        'api.set_avatar(''built_in'', ''owl'', if_version => 0)']) call;
select results_eq('select username, avatar_id from public.user_profiles where id = tests.id(''alice'')',
    $$values ('tap_alice', null::text)$$, 'a rejected change changes nothing');
do $$
declare detail text;
begin
    perform tests.authenticate_as('alice');
    perform api.update_physical('{"height_cm":180}', 0);
exception when sqlstate 'PL011' then
    get stacked diagnostics detail = pg_exception_detail;
    perform set_config('tests.detail', detail, true), tests.owner();
end $$;
select is(current_setting('tests.detail')::json ->> 'current',
    tests.as('alice', 'api.me()'), 'the error contains the current Me');
select tests.age();
select is(tests.as('alice', format($$api.update_physical('{"height_cm":180}', %s) ->> 'version'$$, version))::bigint,
    version + 1, 'accepts the current version and increases it by one')
  from seen;
select is(tests.as('alice', format($$api.update_physical('{"height_cm":180}', %s) ->> 'version'$$,
        version + 1))::bigint,
    version + 1, 'an update without a change keeps the version')
  from seen;

-- Avatars.
create function tests.avatar(who text, arguments text) returns text language sql as $$
    select case when a like '{%'
                then concat_ws(' ', a::json ->> 'avatar_type', a::json ->> 'avatar_id', a::json ->> 'avatar_url')
                else a end
      from tests.as(who, 'api.set_avatar(' || arguments || ')') a
$$;
select is(tests.avatar('alice', '''built_in'', ''fox'''), 'built_in fox', 'sets a built-in avatar');
select is(tests.avatar('alice', '''custom'', null, ''https://x.example/a'''),
    'custom https://x.example/a', 'a custom avatar replaces a built-in one');
select is(tests.avatar('alice', '''built_in'', ''owl'''), 'built_in owl', 'a built-in avatar replaces a custom one');
select is(tests.avatar('alice', 'null'), '', 'null removes the avatar');
select is(tests.field_of('alice', 'select api.set_avatar(' || arguments || ')'), 'PL001 ' || field, arguments)
  from (values
        ('''other''', 'avatar_type'),
        ('''built_in''', 'avatar_id'),
        ('''built_in'', ''nope''', 'avatar_id'),
        ('''custom''', 'avatar_url'),
        ('''built_in'', ''fox'', ''https://x.example/a''', 'avatar_url'),
        ('''custom'', ''fox'', ''https://x.example/a''', 'avatar_id'),
        ('null, ''fox''', 'avatar_id'),
        ('null, null, ''https://x.example/a''', 'avatar_url'),
        ('''custom'', null, ''http://x.example/a''', 'avatar_url'),
        ('''custom'', null, ''javascript:alert(1)''', 'avatar_url'),
        ('''custom'', null, ''https://x.example/' || repeat('a', 2048) || '''', 'avatar_url')) as t (arguments, field);
select is(tests.as('alice', 'api.me() ->> ''avatar_type'''), null, 'a rejected avatar changes nothing');
select is(tests.as('alice', format('api.set_avatar(''custom'', null, %L) ->> ''avatar_url''',
        'https://x.example/' || repeat('a', 2030))),
    'https://x.example/' || repeat('a', 2030), 'accepts an address of 2048 characters');

-- Each returns the complete own object, and changes nothing of another user.
select is(tests.keys(tests.as('bob', call)), tests.keys(tests.as('bob', 'api.me()')),
    'returns the complete Me: ' || call)
  from unnest(array['api.update_me(''{}'')', 'api.update_physical(''{}'')', 'api.set_avatar(null)',
                    'api.change_username(''tap_bob'')', 'api.save_me(''{}'')']) call;
create temporary table before as
select * from public.user_profiles where id <> tests.id('bob') and username like 'tap\_%';
select tests.as('bob', call)
  from unnest(array['api.update_me(''{"bio":"x"}'')', 'api.update_physical(''{"height_cm":99}'')',
                    'api.set_avatar(''built_in'', ''bee'')', 'api.change_username(''tap_b'')']) call;
select set_eq('select * from public.user_profiles where id <> tests.id(''bob'') and username like ''tap\_%''',
    'select * from before', 'a user''s operations change no other user');
select results_eq('select bio, avatar_id, username from public.user_profiles where id = tests.id(''bob'')',
    $$values ('x', 'bee', 'tap_b')$$, 'a user''s operations change its own data');
select matches(tests.as('none', call), '^PL002 ', 'requires a signed-in user: ' || call)
  from unnest(array['api.update_me(''{}'')', 'api.update_physical(''{}'')', 'api.set_avatar(null)',
                    'api.change_username(''tap_bob'')', 'api.save_me(''{}'')']) call;

select * from finish();
rollback;
