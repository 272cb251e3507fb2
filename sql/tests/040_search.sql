begin;
select no_plan();
select tests.make_world();
select tests.make_user('visitor', true);
update public.user_profiles set full_name = 'Zebulon Quartzman' where id = tests.id('bob');
update public.user_profiles set full_name = 'Zebulona', username = 'tap_zz' where id = tests.id('carol');
update public.user_profiles set full_name = '100% Zeb_U\Lon' where id = tests.id('mallory');
update public.user_profiles set full_name = 'Zebulon Guest' where id = tests.id('visitor');

create function pg_temp.found(who text, query text) returns text language sql as $$
    select string_agg(u.username, ',' order by f.place) from json_array_elements(
        tests.as(who, format('api.search_profiles(%L, 50) -> ''profiles''', query))::json) with ordinality f (p, place)
      join public.user_profiles u on u.id = (f.p ->> 'id')::uuid where u.username like 'tap\_%'
$$;
select matches(pg_temp.found('alice', 'zebulon'), '^(tap_bob,tap_zz|tap_zz,tap_bob)',
    'finds names that begin with the query');
select is(split_part(pg_temp.found('alice', 'Zebulon Quartzman'), ',', 1),
    'tap_bob', 'ranks an exact name first');
select is(split_part(pg_temp.found('alice', 'quarzman'), ',', 1), 'tap_bob', 'tolerates one typo');
select is(split_part(pg_temp.found('alice', 'zebuln qartzman'), ',', 1), 'tap_bob', 'tolerates two typos');
select is(split_part(pg_temp.found('alice', 'artzma'), ',', 1), 'tap_bob', 'finds the middle of a name');
select is(split_part(pg_temp.found('alice', 'TAP_BOB'), ',', 1), 'tap_bob', 'finds a username in any case');
select is(pg_temp.found('alice', '0%'), null, 'does not treat % as a wildcard');
select is(pg_temp.found('alice', '00%'), 'tap_mallory', 'finds % literally');
select is(pg_temp.found('alice', '%%'), null, 'two % match no user');
select is(pg_temp.found('alice', '%%%'), null, 'three % match no user');
select is(pg_temp.found('alice', '__'), null, 'does not treat _ as a wildcard');
select is(split_part(pg_temp.found('alice', 'b_u\l'), ',', 1), 'tap_mallory', 'finds _ and \ literally');
select is(pg_temp.found('alice', '\\'), null, 'does not treat \ as an escape');
select is(pg_temp.found('bob', 'zebulon quartzman'), null, 'does not return the caller');
select is(tests.as('alice', 'api.search_profiles(''zebulon guest'')') ~ tests.id('visitor')::text,
    false, 'does not return guests');
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is(pg_temp.found('alice', 'zebulon quartzman'), null, 'does not return deleted users');
select is(tests.field_of('alice', 'select api.search_profiles(''x'')'), 'PL001 query',
    'rejects a query of one character');
select is(tests.field_of('alice', 'select api.search_profiles(''  x  '')'), 'PL001 query',
    'trims the query before it counts characters');
select is(tests.field_of('alice', format('select api.search_profiles(%L)', repeat('x', 51))),
    'PL001 query', 'rejects a query of 51 characters');
select is(tests.field_of('alice', 'select api.search_profiles(''xx'', 51)'),
    'PL001 limit', 'rejects a limit above 50');
-- Typos.
update public.user_profiles set full_name = 'Jörmund Ålund' where id = tests.id('carol');
select is(split_part(pg_temp.found('alice', query), ',', 1), 'tap_zz', 'finds a name with a typo: ' || query)
  from unnest(array[
        'jörmund', 'ÅLUND', 'jormund', 'jömrund', 'jörmnd', 'jörmuund', 'jörmumd', 'jörmund alund', 'alund jormund',
        'örmun', 'jö', 'ål', 'jörmundson']) query;
select is(pg_temp.found('alice', 'jörmund qqqqq'), null, 'requires a match for each word');
select is(pg_temp.found('alice', 'jörmund ålund the quick brown fox'), null, 'requires a match for each of many words');
update public.user_profiles set full_name = 'Jormund' where id = tests.id('mallory');
select is(pg_temp.found('alice', 'jormund'), 'tap_mallory,tap_zz',
    'a name with an accent matches the query without it');
update public.user_profiles set full_name = 'Jormunt' where id = tests.id('mallory');
select is(pg_temp.found('alice', 'jormunt'), 'tap_mallory', 'tolerates no typo if a name matches exactly');
select is(pg_temp.found('alice', 'tap_mal'), 'tap_mallory', 'finds the beginning of a username');

-- The words of names.
select is(app.name_words('tap_x.2', app.folded(' O’Neill  Ann‑Marie 3rd 王伟 Ö '), null),
    array['ann', 'marie', 'neill', 'rd', 'tap', '王伟'], 'splits words at blanks, digits and punctuation');
select is((select count(*) from app.words where word in ('jormund', 'joermund', 'alund', 'aalund', 'jormunt')),
    5::bigint, 'stores every word of names in each of its spellings');
select is((select count(*) from app.words where word = 'guest'),
    (select least(count(*), 1) from app.search_names where words @> '{guest}'),
    'does not store words of guests'' names');
select tests.age();
select is(tests.attempt('service_role',
        'update public.user_profiles set full_name = ''Zappa'' where id = tests.id(''carol'')'),
    '1', 'service_role can change a name');
update public.user_profiles set full_name = 'Jormunt Zappa' where id = tests.id('carol');
select set_eq($$select word from app.words where word in ('jormund', 'joermund', 'alund', 'aalund', 'jormunt',
    'zappa')$$,
    array['jormunt', 'zappa'], 'deletes a word that no name contains any more');
update public.user_profiles set is_deleted = true where id = tests.id('carol');
select set_eq($$select word from app.words where word in ('jormunt', 'zappa', 'zz')$$,
    array['jormunt'], 'deletes the words of a deleted user''s name');
update auth.users set is_anonymous = false, email = 'tap.visitor@example.org' where id = tests.id('visitor');
select ok(exists (select from app.words where word = 'guest'),
    'stores the words of a guest that becomes a full account');
select is(tests.attempt(who, 'select from app.words'), '42501', who || ' cannot read words')
  from unnest(array['anon', 'postline_feed', 'postline_accounts', 'postline_sender', 'service_role',
                    'tests_login']) who;
select is(tests.attempt('alice', 'delete from app.words'), '42501', 'a user cannot delete words');
select set_eq('select user_id, username, full_name from app.search_names',
    'select id, username, left(app.folded(full_name), 100) from public.user_profiles
      where not is_guest and not is_deleted',
    'search_names contains the names of all current profiles');
create function pg_temp.bounce() returns trigger language plpgsql as $$ begin
    update public.user_profiles set is_deleted = true where id = new.id;
    return null;
end $$;
create trigger bounce after update of full_name on public.user_profiles
    for each row when (new.full_name = 'Evil Spammer') execute function pg_temp.bounce();
update public.user_profiles set full_name = 'Evil Spammer' where id = tests.id('mallory');
select is_empty($$select from app.search_names where user_id = tests.id('mallory')$$,
    'search_names does not contain a user that a trigger deletes during the change');
select is(tests.as('alice', 'api.search_profiles(''evil spammer'')') ~ tests.id('mallory')::text, false,
    'does not find a user that a trigger deletes during the change');
select is(tests.attempt(who, 'select from app.search_names'), '42501', who || ' cannot read search_names')
  from unnest(array['anon', 'postline_feed', 'postline_accounts', 'postline_sender', 'service_role',
                    'tests_login']) who;

select lives_ok($$select tests.as('alice', 'api.search_profiles(''''''; drop table x; --'')')$$,
    'treats SQL in a query as text');
select * from finish();
rollback;
