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
select matches(pg_temp.found('alice', 'zebulon'), '^(tap_bob,tap_zz|tap_zz,tap_bob)', 'beginnings are found');
select is(split_part(pg_temp.found('alice', 'Zebulon Quartzman'), ',', 1),
    'tap_bob', 'the whole name is the best match');
select is(split_part(pg_temp.found('alice', 'quarzman'), ',', 1), 'tap_bob', 'a typo is tolerated');
select is(split_part(pg_temp.found('alice', 'zebuln qartzman'), ',', 1), 'tap_bob', 'two typos are tolerated');
select is(split_part(pg_temp.found('alice', 'artzma'), ',', 1), 'tap_bob', 'a middle is found');
select is(split_part(pg_temp.found('alice', 'TAP_BOB'), ',', 1), 'tap_bob', 'a username is found in any case');
select is(pg_temp.found('alice', '0%'), null, '% is a character: nobody begins so');
select is(pg_temp.found('alice', '00%'), 'tap_mallory', '% is found as itself');
select is(pg_temp.found('alice', '%%'), null, 'two % match nobody');
select is(pg_temp.found('alice', '%%%'), null, 'three % match nobody');
select is(pg_temp.found('alice', '__'), null, '_ is no wildcard');
select is(split_part(pg_temp.found('alice', 'b_u\l'), ',', 1), 'tap_mallory', '_ and \ are found as themselves');
select is(pg_temp.found('alice', '\\'), null, '\ escapes nothing');
select is(pg_temp.found('bob', 'zebulon quartzman'), null, 'the caller is not found');
select is(tests.as('alice', 'api.search_profiles(''zebulon guest'')') ~ tests.id('visitor')::text,
    false, 'guests are not found');
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is(pg_temp.found('alice', 'zebulon quartzman'), null, 'the deleted are not found');
select is(tests.field_of('alice', 'select api.search_profiles(''x'')'), 'PL001 query', 'one character is too few');
select is(tests.field_of('alice', 'select api.search_profiles(''  x  '')'), 'PL001 query', 'blanks do not count');
select is(tests.field_of('alice', format('select api.search_profiles(%L)', repeat('x', 51))),
    'PL001 query', '51 are too many');
select is(tests.field_of('alice', 'select api.search_profiles(''xx'', 51)'),
    'PL001 limit', 'a limit over 50 is refused');
-- Typos.
update public.user_profiles set full_name = 'Jörmund Ålund' where id = tests.id('carol');
select is(split_part(pg_temp.found('alice', query), ',', 1), 'tap_zz', query || ' is found')
  from unnest(array[
        'jörmund', 'ÅLUND', 'jormund', 'jömrund', 'jörmnd', 'jörmuund', 'jörmumd', 'jörmund alund', 'alund jormund',
        'örmun', 'jö', 'ål', 'jörmundson']) query;
select is(pg_temp.found('alice', 'jörmund qqqqq'), null, 'each word must be found');
select is(pg_temp.found('alice', 'jörmund ålund the quick brown fox'), null, 'also of many');
update public.user_profiles set full_name = 'Jormund' where id = tests.id('mallory');
select is(pg_temp.found('alice', 'jormund'), 'tap_mallory,tap_zz', 'an accent makes no other name');
update public.user_profiles set full_name = 'Jormunt' where id = tests.id('mallory');
select is(pg_temp.found('alice', 'jormunt'), 'tap_mallory', 'where somebody is called just so, nobody is guessed');
select is(pg_temp.found('alice', 'tap_mal'), 'tap_mallory', 'a username begins so');

-- The words of names.
select is(app.name_words('tap_x.2', app.folded(' O’Neill  Ann‑Marie 3rd 王伟 Ö '), null),
    array['ann', 'marie', 'neill', 'rd', 'tap', '王伟'], 'blanks, digits and punctuation part words');
select is((select count(*) from app.words where word in ('jormund', 'joermund', 'alund', 'aalund', 'jormunt')),
    5::bigint, 'every word is kept, as it may be spelled');
select is((select count(*) from app.words where word = 'guest'),
    (select least(count(*), 1) from app.search_names where words @> '{guest}'), 'but those of guests');
select tests.age();
select is(tests.attempt('service_role',
        'update public.user_profiles set full_name = ''Zappa'' where id = tests.id(''carol'')'),
    '1', 'a trusted backend writes names');
update public.user_profiles set full_name = 'Jormunt Zappa' where id = tests.id('carol');
select set_eq($$select word from app.words where word in ('jormund', 'joermund', 'alund', 'aalund', 'jormunt',
    'zappa')$$,
    array['jormunt', 'zappa'], 'a word that no name has goes');
update public.user_profiles set is_deleted = true where id = tests.id('carol');
select set_eq($$select word from app.words where word in ('jormunt', 'zappa', 'zz')$$,
    array['jormunt'], 'also that of the deleted');
update auth.users set is_anonymous = false, email = 'tap.visitor@example.org' where id = tests.id('visitor');
select ok(exists (select from app.words where word = 'guest'), 'a guest that becomes a full account can be found');
select is(tests.attempt(who, 'select from app.words'), '42501', who || ' reads no words')
  from unnest(array['anon', 'postline_feed', 'postline_accounts', 'postline_sender', 'service_role',
                    'tests_login']) who;
select is(tests.attempt('alice', 'delete from app.words'), '42501', 'a user writes none');
select set_eq('select user_id, username, full_name from app.search_names',
    'select id, username, left(app.folded(full_name), 100) from public.user_profiles
      where not is_guest and not is_deleted',
    'the names that are searched are those of the profiles, whatever became of them');
create function pg_temp.bounce() returns trigger language plpgsql as $$ begin
    update public.user_profiles set is_deleted = true where id = new.id;
    return null;
end $$;
create trigger bounce after update of full_name on public.user_profiles
    for each row when (new.full_name = 'Evil Spammer') execute function pg_temp.bounce();
update public.user_profiles set full_name = 'Evil Spammer' where id = tests.id('mallory');
select is_empty($$select from app.search_names where user_id = tests.id('mallory')$$,
    'also of whoever is deleted by a trigger of the name''s own change');
select is(tests.as('alice', 'api.search_profiles(''evil spammer'')') ~ tests.id('mallory')::text, false,
    'who is not found');
select is(tests.attempt(who, 'select from app.search_names'), '42501', who || ' reads none of them')
  from unnest(array['anon', 'postline_feed', 'postline_accounts', 'postline_sender', 'service_role',
                    'tests_login']) who;

select lives_ok($$select tests.as('alice', 'api.search_profiles(''''''; drop table x; --'')')$$, 'SQL is text');
select * from finish();
rollback;
