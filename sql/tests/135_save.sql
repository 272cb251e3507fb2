-- Saving all of a user's own data at once: what each single operation accepts, with the same rules, or nothing.
begin;
select no_plan();
select tests.make_world();
create view tests.own as
    select p.id, to_jsonb(p) - 'changed_xid' - 'public_changed_xid' || to_jsonb(s) as data
      from public.user_profiles p join public.user_private s using (id);
select tests.age();
create temporary table before as select * from tests.own;

-- All of it.
select is(tests.as('bob', format('api.save_me(%L)', '{
        "full_name":"Saved Bob","bio":"all","website":"https://saved.example","location":"Everywhere",
        "language_code":"pt","phone_number":"+4912345678","date_of_birth":"1990-05-17",
        "preferred_unit_system":"imperial","preferences":{"theme":"dark"},"username":"Tap_Saved",
        "avatar":{"avatar_type":"built_in","avatar_id":"blue_circle"},
        "physical":{"biological_sex":"other","height_cm":170.5,"date_of_birth":"1990-05-17"}}')),
    tests.as('bob', 'api.me()'), 'save_me returns the complete Me');
select is((select jsonb_object_agg(key, value) from jsonb_each(own.data)
            where key not in ('updated_at', 'username_changed_at') and value is distinct from before.data -> key),
    '{"full_name":"Saved Bob","bio":"all","website":"https://saved.example","location":"Everywhere",
      "language_code":"pt","phone_number":"+4912345678","date_of_birth":"1990-05-17",
      "preferred_unit_system":"imperial","preferences":{"theme":"dark"},"username":"tap_saved",
      "avatar_type":"built_in","avatar_id":"blue_circle","biological_sex":"other","height_cm":170.5,
      "username_change_count":1}'::jsonb
    || jsonb_build_object('version', (before.data ->> 'version')::integer + 1),
    'saves all given fields and only those, with one new version')
  from tests.own join before using (id) where id = tests.id('bob');
select set_eq('select * from tests.own where id <> tests.id(''bob'')',
    'select * from before where id <> tests.id(''bob'')', 'save_me changes no other user');

-- Nothing of it.
truncate before;
insert into before select * from tests.own;
select is(tests.field_of('carol', format('select api.save_me(%L)',
        '{"bio":"unsaved","full_name":"Unsaved","phone_number":"+4912345678",' || patch || '}')),
        'PL001 ' || field, left(patch, 80))
  from (values
        ('"nickname":"x"', 'nickname'), ('"avatar_id":"fox"', 'avatar_id'), ('"attributes":{}', 'attributes'),
        ('"location":7', 'location'), ('"date_of_birth":"1899-12-31"', 'date_of_birth'),
        ('"preferences":[]', 'preferences'), ('"website":"http://x.example"', 'website'),
        ('"preferences":{"k":"' || repeat('x', 16384) || '"}', 'preferences'),
        ('"username":null', 'username'), ('"username":"a b"', 'username'), ('"username":7', 'username'),
        ('"avatar":null', 'avatar'), ('"avatar":"fox"', 'avatar'), ('"avatar":{}', 'avatar.avatar_type'),
        ('"avatar":{"avatar_type":"built_in","media_id":"x"}', 'avatar.media_id'),
        ('"avatar":{"avatar_type":7}', 'avatar.avatar_type'),
        ('"avatar":{"avatar_type":"other"}', 'avatar.avatar_type'),
        ('"avatar":{"avatar_type":"built_in"}', 'avatar.avatar_id'),
        ('"avatar":{"avatar_type":"built_in","avatar_id":"nope"}', 'avatar.avatar_id'),
        ('"avatar":{"avatar_type":null,"avatar_id":"fox"}', 'avatar.avatar_id'),
        ('"avatar":{"avatar_type":"custom"}', 'avatar.avatar_url'),
        ('"avatar":{"avatar_type":"custom","avatar_url":"http://x.example/a"}', 'avatar.avatar_url'),
        ('"avatar":{"avatar_type":"built_in","avatar_id":"fox","avatar_url":"https://x.example"}',
         'avatar.avatar_url'),
        ('"physical":null', 'physical'), ('"physical":[]', 'physical'), ('"physical":{"weight":7}', 'physical.weight'),
        ('"physical":{"biological_sex":"m"}', 'physical.biological_sex'),
        ('"physical":{"biological_sex":7}', 'physical.biological_sex'),
        ('"physical":{"height_cm":301}', 'physical.height_cm'),
        ('"physical":{"height_cm":"170"}', 'physical.height_cm'),
        ('"physical":{"date_of_birth":"1899-12-31"}', 'physical.date_of_birth'),
        ('"physical":{"date_of_birth":"2001-02-29"}', 'physical.date_of_birth'),
        ('"physical":{"date_of_birth":"1.1.1990"}', 'physical.date_of_birth'),
        ('"physical":{"date_of_birth":7}', 'physical.date_of_birth'),
        ('"date_of_birth":"1990-01-01","physical":{"date_of_birth":"1990-01-02"}', 'physical.date_of_birth'),
        ('"date_of_birth":"1990-01-01","physical":{"date_of_birth":null}', 'physical.date_of_birth'))
       as t (patch, field);
select is(tests.as('carol', $$api.save_me('{"bio":"unsaved","username":"tap_mallory"}')$$),
    'PL009 That username is taken.', 'rejects a taken username');
select matches(tests.as('bob', $$api.save_me('{"bio":"unsaved","username":"tap_again"}')$$), '^PL013 ',
    'rejects a username during the cooldown');
select is(tests.as('carol', $$api.save_me('{"bio":"unsaved"}', 0)$$),
    'PL011 Your profile has changed since this version. Read it again before you change it.',
    'rejects an outdated version');
select set_eq('select * from tests.own', 'select * from before', 'a rejected change changes nothing');

-- Some of it.
select is(tests.as('carol', format('api.save_me(%L, %s) ->> ''version''', patch, data ->> 'version')),
        data ->> 'version', 'an update without a change keeps the version: ' || patch)
  from before, unnest(array['{}', '{"physical":{}}', '{"username":"tap_carol","avatar":{"avatar_type":null}}']) patch
 where id = tests.id('carol');
select is(tests.as('carol', $$api.save_me('{"preferences":{"a":1}}') -> 'preferences'$$)::jsonb, '{"a":1}',
    'merges preferences');
select is(tests.as('carol', $$api.save_me('{"preferences":{"a":null,"b":2}}') -> 'preferences'$$)::jsonb, '{"b":2}',
    'merges preferences by key');
select is(tests.as('carol', $$api.save_me('{"physical":{"date_of_birth":"1990-05-17"}}') ->> 'date_of_birth'$$),
    '1990-05-17', 'sets date_of_birth through physical');
select is(tests.as('carol', $$api.save_me('{"physical":{"height_cm":170}}') ->> 'date_of_birth'$$), '1990-05-17',
    'absent fields keep their values');

select * from finish();
rollback;
