-- Types in pg_temp: PostgreSQL looks up types there first, unless the search path says otherwise. A user who may create
-- temporary objects shadows every type that our functions name, and must not get code to run as their owner.
begin;
select plan(3);
select tests.make_world();
do $$ begin execute format('grant temporary on database %I to authenticated', current_database()); end $$;
create table tests.ran_as (name name, type name, is_control boolean default false);
grant insert on tests.ran_as to public;
-- The control: an empty search path, as our functions once had.
create function tests.naive() returns void language plpgsql security definer set search_path = '' as
    $$ declare me uuid := pg_catalog.gen_random_uuid(); begin end $$;
-- A session compiles a function once. As in a new session, none is compiled when the types appear.
update pg_proc set prosrc = prosrc
 where pronamespace in (select oid from pg_namespace where nspname in ('public', 'app', 'api', 'tests'));

select tests.authenticate_as('mallory');
do $$
declare
    type name;
begin
    foreach type in array array['uuid', 'text', 'json', 'jsonb', 'int8', 'int4', 'bool', 'timestamptz', 'xid8',
                                'pg_snapshot', '_uuid', '_text'] loop
        execute format('create function pg_temp.spy_%1$s(value pg_catalog.%1$s) returns pg_catalog.bool '
            'language plpgsql as $f$ begin insert into tests.ran_as values (current_user, %1$L); return true; end $f$',
            type);
        execute format('create domain pg_temp.%1$I as pg_catalog.%1$s check (pg_temp.spy_%1$s(value))', type);
    end loop;
end
$$;
select tests.naive();
reset role;
update tests.ran_as set is_control = true;
select tests.authenticate_as('mallory');
select app.is_member(tests.id('direct')), (select count(*) from app.my_conversations()),
       (select count(*) from public.messages), (select count(*) from public.user_profiles);
select api.me()::pg_catalog.text, api.conversations()::pg_catalog.text, api.search_profiles('alice')::pg_catalog.text;
select api.update_me('{"bio":"x"}')::pg_catalog.text, api.open_conversation(tests.id('alice'))::pg_catalog.text;
update public.user_profiles set full_name = 'Mallory Shadow' where id = tests.id('mallory');
insert into public.messages (conversation_id, sender_id, content)
select c.id, tests.id('mallory'), 'x' from public.conversations c limit 1;
select epoch_now from app.live_page(null, null, null, null, 10, 100000);
select value::uuid from (values ('00000000-0000-4000-8000-000000000000')) as own (value);
reset role;
drop domain pg_temp.uuid, pg_temp.text, pg_temp.json, pg_temp.jsonb, pg_temp.int8, pg_temp.int4, pg_temp.bool,
    pg_temp.timestamptz, pg_temp.xid8, pg_temp.pg_snapshot, pg_temp._uuid, pg_temp._text;

select ok(exists (select from tests.ran_as where is_control and name = current_user),
    'a function with an empty search path runs the code of a type in pg_temp as its owner');
select ok(exists (select from tests.ran_as where not is_control and name = 'authenticated'),
    'the caller''s own statement uses the type in pg_temp');
select is_empty($$select distinct name, type from tests.ran_as where not is_control and name <> 'authenticated'$$,
    'no function of Postline runs the type''s code as another role than the caller');
select * from finish();
rollback;
