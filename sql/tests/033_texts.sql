-- Invisible texts, names from other programs, languages and times.
begin;
select no_plan();
select tests.make_world();

-- E17: a text that shows nothing is not a name or title.
select ok(app.is_blank(text), 'is blank: ' || coalesce(nullif(convert_to(text, 'UTF8')::text, '\x'),
    'an empty text'))
  from unnest(array[
        '', ' ', e'\t', e'\n', e'\u0001', e'\u0085', e'\u00a0', e'\u1680', e'\u2003', e'\u2028', e'\u202f', e'\u3000',
        e'\u00ad', e'\u034f', e'\u061c', e'\u115f', e'\u1160', e'\u17b4', e'\u180b', e'\u180e', e'\u200b', e'\u200c',
        e'\u200d',
        e'\u200e', e'\u202e', e'\u2060', e'\u2063', e'\u2065', e'\u206f', e'\u2800', e'\u3164', e'\ufe00', e'\ufe0f',
        e'\ufeff',
        e'\uffa0', e'\ufff0', e'\ufff9', e'\ufffc', e'\ufffc \ufffc', e'\U0001bca0', e'\U0001d159',
        e'\U0001d173', e'\U00013442', e'\U000e0001',
        e'\U000e0020',
        e'\U000e007f', e'\U000e0100', e'\U000e0fff', e'\u0300', e'\u0301\u0323', e'\u064b',
        e'\u2800\u2800\u2800', e' \u3164 \uffa0\u200b']) text;
select ok(not app.is_blank(text), 'is not blank: ' || text)
  from unnest(array['a', '.', '-', '_', '!', '0', 'é', e'e\u0301', e'\u200ba', '王', '김', 'ا', 'क', e'\u093f', '🙂',
      '👨‍👩‍👧', '☺' || e'\ufe0f',
                    '𝕏', '⠁', 'ㅤa', '·', '♥', e'\u2014']) text;
select is(tests.field_of('alice', format('select api.update_me(%L)', json_build_object('full_name', text))),
    'PL001 full_name',
    'rejects a name of U+' || to_hex(ascii(text))) from unnest(array[e'\u2800', e'\uffa0', e'\u3164', e'\ufe0f',
        e'\U000e0100']) text;
-- Without their bound these took PostgreSQL half a minute each, in spite of its timeouts.
set local statement_timeout = '5s';
select is(tests.field_of('alice', format('select api.%s', call)), 'PL001 ' || field,
    field || ' of 64 kB of accents is rejected')
  from (select 'a' || repeat(e'\u0301\u0316', 16000) as text) accents,
       lateral (values
            ('full_name', format('update_me(%L)', json_build_object('full_name', text))),
            ('bio', format('update_me(%L)', json_build_object('bio', text))),
            ('location', format('update_me(%L)', json_build_object('location', text))),
            ('title', format('create_group(%L, array[tests.id(''bob'')])', text)),
            ('query', format('search_profiles(%L, 20)', text))) as c (field, call);
select is(app.normalized(e' \u3000' || repeat(' ', 3000) || e'e\u0301\n'), 'é', 'trims and collapses blanks');
-- PostgreSQL does not format numbers of 100,000 digits before it refuses them.
select is(tests.field_of('alice', format('update public.user_private set preferences = %L where id = auth.uid()',
        '{"a":[' || repeat('1e100000,', 1500) || '0]}')), 'PL001 preferences',
        'rejects numbers beyond the range of double');
set local statement_timeout = 0;
select is(tests.field_of('alice', format('select api.create_group(%L, array[tests.id(''bob'')])', text)), 'PL001 title',
    'rejects a title of U+' || to_hex(ascii(text))) from unnest(array[e'\u2800', e'\uffa0', e'\u3164', e'\ufe0f',
        e'\U000e0100']) text;

select is(tests.field_of('alice',
        format('select api.update_me(%L)', json_build_object('full_name', 'Ann' || text || 'Lee'))),
    'PL001 full_name', 'rejects a name with U+' || to_hex(ascii(text)))
  from unnest(array[e'\u0007', e'\u202e', e'\u2028', e'\u2029', e'\ufdd0', e'\ufdef', e'\ufffe', e'\uffff',
        e'\U0001fffe', e'\U0010ffff']) text;
select is(tests.field_of('alice',
        format('select api.create_group(%L, array[tests.id(''bob'')])', 'Ann' || text || 'Lee')),
    'PL001 title', 'rejects a title with U+' || to_hex(ascii(text)))
  from unnest(array[e'\u2028', e'\u2029', e'\ufdd0', e'\uffff', e'\U0001ffff']) text;
select is(tests.as('alice', format('api.update_me(%L) ->> ''full_name''', json_build_object('full_name', text))), text,
    'accepts the name ' || text) from unnest(array[e'Ann\ufffcLee', e'Ann \ufffd', 'Ann 🙂', e'\U00020000']) text;
select is(tests.as('alice',
        format('api.update_me(%L) ->> ''bio''', json_build_object('bio', e'one\ntwo\u2028three'))),
    e'one\ntwo\u2028three', 'a bio may contain each kind of line break');

-- E18: a user can sign up whatever another server has stored about it.
create function pg_temp.signs_up(metadata jsonb) returns text language plpgsql as $$
declare
    made uuid := gen_random_uuid();
    name text;
begin
    insert into auth.users (id, email, raw_user_meta_data) values (made, made || '@example.org', metadata);
    select p.full_name into strict name from public.user_profiles p where p.id = made;
    return name;
exception when others then
    return sqlstate || ' ' || sqlerrm;
end
$$;
select is(pg_temp.signs_up(metadata), name, 'user metadata: ' || coalesce(left(metadata::text, 60), 'no metadata'))
  from (values
        (null::jsonb, null), ('null', null), ('{}', null), ('[]', null), ('"x"', null), ('7', null), ('true', null),
        ('["full_name"]', null),
        ('{"full_name":null}', null), ('{"full_name":{}}', null), ('{"full_name":[]}', null), ('{"full_name":["Ann"]}',
        null),
        ('{"full_name":7}', null), ('{"full_name":true}', null), ('{"full_name":""}', null), ('{"full_name":"   "}',
        null),
        ('{"full_name":"Ann"}', 'Ann'), ('{"full_name":"  Ann  "}', 'Ann')) as t (metadata, name);
select is(pg_temp.signs_up(jsonb_build_object('full_name', text)), name, 'full name in user metadata: ' || what)
  from (values
        ('a hundred characters of no width first', repeat(e'\u200b', 100) || 'Ann', 'Ann'),
        ('a thousand of them', repeat(e'\u2060\ufeff', 500) || 'Ann', 'Ann'),
        ('those alone', repeat(e'\u200b', 300), null),
        ('fillers alone', repeat(e'\u3164', 300), null),
        ('blanks, then a name', repeat(' ', 5000) || 'Ann', 'Ann'),
        ('ten megabytes', repeat('Ann ', 2621440), btrim(repeat('Ann ', 25))),
        ('ten megabytes of nothing', repeat(e'\u200b', 3495253), null),
        ('a name of 101 characters', repeat('x', 101), repeat('x', 100)),
        ('controls', e'\u0001Ann\u0007\u009f', 'Ann'), ('a control in the midst', e'Ann\u0002Lee', 'Ann Lee'),
        ('text directions', e'\u202eAnn\u2066', 'Ann'), ('lines', e'Ann\nLee\r\n', 'Ann Lee'),
        ('what grows when normalized', repeat(e'\ufb2c', 100), left(repeat(normalize(e'\ufb2c', NFC), 34), 100)),
        ('marks on nothing', repeat(e'\u0301', 200), null),
        ('emoji', repeat('👨‍👩‍👧', 50), left(repeat('👨‍👩‍👧', 50), 100)), ('a noncharacter', e'\uffff', null),
        ('noncharacters about a name', e'\ufdd0Ann\ufdef\U0001fffe', 'Ann'),
        ('separators of lines', e'Ann\u2028Lee\u2029', 'Ann Lee'), ('an object of another text', e'\ufffc', null),
        ('U+FDFA', repeat(e'\ufdfa', 200), repeat(e'\ufdfa', 100)), ('CJK', repeat('龘', 300), repeat('龘',
        100))) as t (what, text, name);
select matches(pg_temp.signs_up(jsonb_build_object('full_name', 'A' || repeat(e'\u0301', 500))), '^Á',
    'full name in user metadata: many accents');
select lives_ok(format('insert into auth.users (id, email) values (gen_random_uuid(), %L)', email),
    'accepts the address ' || left(email, 20))
  from unnest(array[repeat('a', 255), '', e'\u212a@example.org', 'no address', null]) email;

-- E29: languages, as phones write them.
select is(app.language_tag(given), tag, format('%s is %s', coalesce(given, 'null'), coalesce(tag, 'none')))
  from (values
        ('en', 'en'), ('pt-BR', 'pt-BR'), ('zh-Hant-TW', 'zh-Hant-TW'), ('sl-rozaj-biske-1994', 'sl-rozaj-biske-1994'),
        ('de-DE-u-fw-mon-hc-h23-mu-celsius-rg-atzzzz', 'de-DE-u-fw-mon-hc-h23-mu-celsius-rg'),
        ('en-US-u-ca-gregory-fw-sun-hc-h12-ms-ussystem-mu-fahrenhe', 'en-US-u-ca-gregory-fw-sun-hc-h12-ms'),
        ('de-DE-x-aaaaaaaa-bbbbbbbb-cccccccc-d', 'de-DE-x-aaaaaaaa-bbbbbbbb-cccccccc'),
        ('de-DE-aaaaaaaa-bbbbbbbb-cccccc-u-cd-x', 'de-DE-aaaaaaaa-bbbbbbbb-cccccc-u-cd'),
        ('de-DE-aaaaaaaa-bbbbbbbb-cccccccc-u-cdefg', 'de-DE-aaaaaaaa-bbbbbbbb-cccccccc'),
        ('x-a', 'x-a'), ('de-x-a', 'de-x-a'), ('de-x', 'de'), ('en_US@rg=gbzzzz', 'en-US'),
        -- RFC 5646, 2.2.5 and 2.2.6: no variant and no singleton twice, except in private use.
        ('de-1901-1901', null), ('DE-1996-De-1996', null), ('sl-rozaj-biske-ROZAJ', null),
        ('de-u-co-phonebk-u-ca-buddhist', null), ('en-t-it-u-ca-iso8601-T-fr', null), ('de-1901-1996', 'de-1901-1996'),
        ('de-a-foo-b-foo', 'de-a-foo-b-foo'), ('de-x-a-a', 'de-x-a-a'),
        ('de-u-nu-latn-x-u-u', 'de-u-nu-latn-x-u-u'),
        ('de-u', 'de'), ('x-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd', 'x-aaaaaaaa-bbbbbbbb-cccccccc'), ('i-klingon',
        'i-klingon'),
        ('en_US', 'en-US'), ('zh_Hans_CN', 'zh-Hans-CN'), ('de_DE.UTF-8', 'de-DE'), ('ca_ES@euro', 'ca-ES'),
        ('en-US@calendar=gregorian', 'en-US'), (' fr ', 'fr'), ('de-toolongsubtag', 'de'), ('C', null), ('', null),
        ('!', null),
        ('x', null), ('-', null), ('123', null), ('toolonglanguage', null), ('日本語', null), (null, null),
        (repeat('a', 8) || repeat('-abc', 400), 'aaaaaaaa-abc-abc-abc-abc-abc-abc')) as t (given, tag);
select is(tests.as('alice', format('api.register_device(''apns'', ''a1'', null, %L) ->> ''id''',
    tag)) ~ '^[0-9a-f-]{36}$', true,
    'a device is registered: ' || coalesce(left(tag, 50), 'null'))
  from unnest(array['de-AT', 'de-1901-1901', 'de-DE-u-fw-mon-hc-h23-mu-celsius-rg-atzzzz', 'en_US', 'C', 'not a tag',
      '', '!', repeat('x', 5000), null]) tag;
select is(tests.field_of('alice', format('select api.update_me(%L)', json_build_object('language_code', tag))),
    'PL001 language_code', 'rejects the profile language ' || tag)
  from unnest(array['de-1901-1901', 'de-u-co-phonebk-u-ca-buddhist']) tag;
select is(tests.as('alice', format('api.update_me(%L) ->> ''language_code''',
        '{"language_code":"de-DE-u-fw-mon-hc-h23-mu-celsius-rg-atzzzz"}')), 'de-DE-u-fw-mon-hc-h23-mu-celsius-rg',
    'shortens a long profile language');

-- E31: times, RFC 3339.
select is(app.checked_time('until', given), wanted::timestamptz, coalesce(given, 'null') || ' is a valid time')
  from (values
        ('2026-11-20T10:00:00Z', '2026-11-20 10:00:00+00'), ('2026-11-20t10:00:00z', '2026-11-20 10:00:00+00'),
        ('2026-11-20T10:00:00.5Z', '2026-11-20 10:00:00.5+00'), ('2026-11-20T10:00:00.123456Z',
        '2026-11-20 10:00:00.123456+00'),
        ('2026-11-20T10:00:00.123456789Z', '2026-11-20 10:00:00.123457+00'),
        ('2026-11-20T10:00:00.1234567890123Z', '2026-11-20 10:00:00.123457+00'),
        ('2026-11-20T10:00:00+00:00', '2026-11-20 10:00:00+00'), ('2026-11-20T10:00:00-00:00',
        '2026-11-20 10:00:00+00'),
        ('2026-11-20T10:00:00+05:30', '2026-11-20 04:30:00+00'), ('2026-11-20T10:00:00-23:59',
        '2026-11-21 09:59:00+00'),
        ('2026-11-20T10:00:00+23:59', '2026-11-19 10:01:00+00'), ('2026-11-20T23:59:59Z', '2026-11-20 23:59:59+00'),
        ('2026-11-20T00:00:00Z', '2026-11-20 00:00:00+00'), ('2028-02-29T12:00:00Z', '2028-02-29 12:00:00+00'),
        ('2000-02-29T12:00:00Z', '2000-02-29 12:00:00+00'), ('1970-01-01T00:00:00Z', '1970-01-01 00:00:00+00'),
        ('9999-12-31T23:59:59.999999Z', '9999-12-31 23:59:59.999999+00'),
        ('2016-12-31T23:59:60Z', '2017-01-01 00:00:00+00'), ('2016-12-31T15:59:60-08:00', '2017-01-01 00:00:00+00'),
        ('2017-01-01T08:59:60+09:00', '2017-01-01 00:00:00+00'), ('1990-06-30T23:59:60.5Z', '1990-07-01 00:00:00.5+00'),
        (null, null)) as t (given, wanted);
select throws_ok(format('select app.checked_time(''until'', %L)', given), 'PL001', null,
    format('"%s" is not a valid time',
    given))
  from unnest(array[
        '', 'now', 'infinity', 'tomorrow', '2026-11-20', '10:00:00Z', '2026-11-20T10:00:00', '2026-11-20T10:00Z',
        '2026-11-20 10:00:00Z', '2026-11-20T10:00:00 Z', ' 2026-11-20T10:00:00Z', '2026-11-20T10:00:00Z ',
        e'2026-11-20T10:00:00Z\n',
        '2026-11-20T24:00:00Z', '2026-11-20T24:00:01Z', '2026-11-20T25:00:00Z', '2026-11-20T10:60:00Z',
        '2026-11-20T10:00:61Z',
        '2026-11-20T10:00:60Z', '2026-11-20T23:59:60Z', '2016-12-31T23:58:60Z', '2016-12-31T23:59:60+01:00',
        '2016-12-31T22:59:60Z',
        '2026-02-29T10:00:00Z', '2100-02-29T10:00:00Z', '2026-04-31T10:00:00Z', '2026-00-10T10:00:00Z',
        '2026-13-10T10:00:00Z',
        '2026-11-00T10:00:00Z', '2026-11-32T10:00:00Z', '2026-1-20T10:00:00Z', '26-11-20T10:00:00Z',
        '02026-11-20T10:00:00Z',
        '2026-11-20T10:00:00.Z', '2026-11-20T10:00:00,5Z', '2026-11-20T10:00:000Z', '2026-11-20T10:00:00+24:00',
        '2026-11-20T10:00:00+05:60', '2026-11-20T10:00:00+0530', '2026-11-20T10:00:00+05', '2026-11-20T10:00:00+5:30',
        '2026-11-20T10:00:00+05:30:00', '2026-11-20T10:00:00UTC', '2026-11-20T10:00:00Z+01:00',
        '2026-11-20T10:00:00−05:00',
        '20261120T100000Z', '2026-W47-5T10:00:00Z', '2026-324T10:00:00Z', '+2026-11-20T10:00:00Z',
        '1969-12-31T23:59:59Z',
        '1970-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '10000-01-01T00:00:00Z', '２０２６-11-20T10:00:00Z',
        '2026-11-20T10:00:00.١Z']) given;
select * from finish();
rollback;
