-- The export: its pages, and who gets what.
begin;
select no_plan();
select tests.make_world();
select tests.say('group', (array['alice', 'bob'])[1 + n % 2], 'text ' || n) from generate_series(1, 450) n;
select tests.say('direct', 'bob', 'to you');
select tests.as('alice', format('api.react(%L, 3, ''👍'')', tests.id('group')));
select tests.as('bob', format('api.block_user(%L)', tests.id('mallory')));

-- Returns the number of objects of each kind in a user's export, and the number of pages.
create function pg_temp.export(who text) returns text language plpgsql as $$
declare
    page jsonb;
    position text;
    kinds text[] := '{}';
    pages integer := 0;
begin
    loop
        page := tests.as(who, format('api.export(%L)', position))::jsonb;
        kinds := kinds || array(select jsonb_object_keys(o) from jsonb_array_elements(page -> 'objects') o);
        position := page ->> 'next';
        pages := pages + 1;
        exit when position is null or pages > 100;
    end loop;
    return (select string_agg(k.kind || ' ' || k.number, ', ' order by k.kind)
              from (select u.kind, count(*) as number from unnest(kinds) u (kind) group by u.kind) k)
           || ' in ' || pages || ' pages';
end $$;
select is(pg_temp.export('alice'),
    'blocked 1, conversation 2, me 1, message 451, profile 2, reactions 1 in 14 pages', 'a member gets all');
select is(pg_temp.export('mallory'), 'blocked 1, me 1 in 4 pages', 'a stranger gets its own data');
select is(tests.as('alice', 'api.export()')::json -> 'objects' -> 0 -> 'me' ->> 'id', tests.id('alice')::text,
    'the first object is the user''s own');
select is(tests.as('mallory', format('api.export(%L)', 'messages:' || tests.id('group') || ':0'))::jsonb,
    jsonb_build_object('objects', '[]'::jsonb, 'next', 'messages:' || tests.id('group')),
    'a position names no conversation of others');
select is(tests.field_of('alice', format('select api.export(%L)', after)), 'PL001 after',
    'rejects the position ' || after)
  from unnest(array['', 'x', 'messages:1', 'me:', 'messages:' || tests.id('group') || ':x',
                    'messages:' || tests.id('group') || ':99999999999999999999']) after;
select is(tests.attempt('anon', 'select api.export()'), '42501', 'anon gets none');
select is(tests.attempt(who, format('select app.export_own(%L)', tests.id('alice'))), '1',
    who || ' gets by SQL what it may select') from unnest(array['mallory']) who;
select is(tests.as('mallory', format('app.export_own(%L)', tests.id('alice')))::text not like '%alice%', true,
    'which is not another user''s');

select * from finish();
rollback;
