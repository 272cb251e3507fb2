-- Helpers for the other files. Runs first, and its objects stay.
--
--   pg_prove -d <a database that was bootstrapped and migrated> sql/tests/*.sql     (as a superuser, in this order)
--
-- Every other file is `begin; select plan(n); … rollback;` and leaves nothing behind. They do not need the seed, and it
-- does not disturb them.
--
-- In one transaction all rows have one transaction id. tests.age() gives every row the id 3, as if it were written
-- before, and '4:4:' is the snapshot that sees exactly those.
\set QUIET 1
set client_min_messages = warning;
create extension if not exists pgtap;
drop schema if exists tests cascade;
create schema tests;
grant usage on schema tests to public;

do $$ begin create role tests_login noinherit nologin; exception when duplicate_object then null; end $$;
select app.grant_service_roles('tests_login');

create table tests.ids (name text primary key, id uuid not null);
grant select on tests.ids to public;

create function tests.id(name text) returns uuid language sql stable
    as $$ select i.id from tests.ids i where i.name = id.name $$;

create function tests.make_user(name text, guest boolean default false) returns uuid language plpgsql as $$
declare
    made uuid := gen_random_uuid();
begin
    insert into auth.users (id, email, is_anonymous, raw_user_meta_data)
    values (made, case when not guest then 'tap.' || name || '@example.org' end, guest,
            jsonb_build_object('full_name', 'Tap ' || initcap(name)));
    update public.user_profiles set username = 'tap_' || make_user.name where id = made and not guest;
    insert into tests.ids values (name, made);
    return made;
end $$;

-- alice and bob share a direct conversation and, with carol, a group; mallory is in neither.
create function tests.make_world() returns void language plpgsql as $$
begin
    perform tests.make_user(name) from unnest(array['alice', 'bob', 'carol', 'mallory']) name;
    with c as (insert into public.conversations (participant1_id, participant2_id)
               values (tests.id('bob'), tests.id('alice')) returning id)
    insert into tests.ids select 'direct', id from c;
    with c as (insert into public.conversations (kind, title, created_by)
               values ('group', 'Tap group', tests.id('alice')) returning id)
    insert into tests.ids select 'group', id from c;
    insert into public.conversation_members (conversation_id, user_id, role, joined_at)
    values (tests.id('group'), tests.id('alice'), 'owner', now() - interval '3 minutes'),
           (tests.id('group'), tests.id('bob'), 'admin', now() - interval '2 minutes'),
           (tests.id('group'), tests.id('carol'), 'member', now() - interval '1 minute');
end $$;

-- Turns events of groups off until the end of the transaction, for tests of other effects of a change.
create function tests.without_events() returns void language plpgsql as $$
begin
    create or replace function app.creates_event(conversation_id uuid) returns boolean language sql as 'select false';
end $$;

create function tests.conversation(room text) returns public.conversations language sql stable as $$
    select c from public.conversations c where c.id = tests.id(room)
$$;

create function tests.member(room text, who text) returns public.conversation_members language sql stable as $$
    select m from public.conversation_members m where m.conversation_id = tests.id(room) and m.user_id = tests.id(who)
$$;

create function tests.say(room text, sender text, content text) returns uuid language sql as $$
    insert into public.messages (conversation_id, sender_id, content)
    values (tests.id(room), tests.id(sender), say.content) returning id
$$;

-- Sets the role and claims that the server sets for a request, until the end of the transaction.
create function tests.authenticate_as(name text) returns void language plpgsql as $$
begin
    if name in ('anon', 'service_role', 'postline_feed', 'postline_accounts', 'postline_sender', 'tests_login',
                'none') then
        perform set_config('request.jwt.claims', '', true);
        perform set_config('role', name, true);
    else
        perform set_config('request.jwt.claims', json_build_object('sub', tests.id(name), 'role', 'authenticated',
            'session_id', gen_random_uuid(), 'is_anonymous', false)::text, true);
        perform set_config('role', 'authenticated', true);
    end if;
end $$;

create function tests.owner() returns void language plpgsql as $$
begin
    perform set_config('request.jwt.claims', '', true);
    perform set_config('role', 'none', true);
end $$;

-- Returns the number of rows that a statement returns or changes for a user, or its SQLSTATE. Its changes are undone.
create function tests.attempt(who text, statement text) returns text language plpgsql as $$
declare
    touched bigint;
begin
    perform tests.authenticate_as(who);
    execute statement;
    get diagnostics touched = row_count;
    raise exception using errcode = 'TT000', message = touched::text;
exception
    when sqlstate 'TT000' then return sqlerrm;
    when others then return sqlstate;
end $$;

create function tests.as(who text, expression text) returns text language plpgsql as $$
declare
    answer text;
begin
    perform tests.authenticate_as(who);
    execute 'select (' || expression || ')::text' into answer;
    perform tests.owner();
    return answer;
exception
    when others then
        perform tests.owner();
        return sqlstate || ' ' || sqlerrm;
end $$;

create function tests.account(expression text) returns text language sql as $$
    select tests.as('postline_accounts', expression)
$$;

create function tests.field_of(who text, statement text) returns text language plpgsql as $$
declare
    detail text;
begin
    perform tests.authenticate_as(who);
    execute statement;
    perform tests.owner();
    return 'no error';
exception
    when others then
        get stacked diagnostics detail = pg_exception_detail;
        perform tests.owner();
        return sqlstate || ' ' || coalesce(nullif(detail, '')::jsonb ->> 'field', '');
end $$;

-- Returns the rows of a statement as JSON, or its SQLSTATE, as PostgREST runs it: after the variables of the
-- transaction (PostgREST.Query.PreQuery), within the same wrapper (PostgREST.Query.Statements).
create function tests.request(who text, statement text, schema text default 'public') returns json
language plpgsql as $$
declare
    path text := current_setting('search_path');
    answer record;
begin
    perform tests.authenticate_as(who);
    if who = 'anon' then
        perform set_config('request.jwt.claims', '{"iss":"supabase","role":"anon"}', true);
    end if;
    perform set_config('search_path', format('%I, public', schema), true), set_config('request.method', 'GET', true),
            set_config('request.path', '/', true), set_config('request.headers', '{}', true),
            set_config('request.cookies', '{}', true);
    execute 'with pgrst_source as (' || statement || ') select coalesce(json_agg(_postgrest_t), ''[]'') as body, '
        'pg_catalog.count(_postgrest_t) as page_total, '
        'nullif(current_setting(''response.headers'', true), '''') as response_headers, '
        'nullif(current_setting(''response.status'', true), '''') as response_status '
        'from (select * from pgrst_source) _postgrest_t' into answer;
    perform set_config('search_path', path, true);
    perform tests.owner();
    return answer.body;
exception
    when others then
        perform tests.owner();
        return to_json(sqlstate);
end $$;

-- Moves the clock of app.now() forward.
create function tests.forward(by interval) returns void language sql as $$
    insert into app.settings values ('clock_offset', by::text) on conflict (name) do update set value = excluded.value
$$;

-- Gives rows with a transaction id beyond `past` the id `age`.
create function tests.age(age xid8 default '3', past xid8 default '0') returns void language plpgsql as $$
begin
    update public.user_profiles set changed_xid = age where changed_xid > past;
    update public.user_profiles set public_changed_xid = age where public_changed_xid > past;
    update public.conversations set changed_xid = age where changed_xid > past;
    update public.conversations set last_message_xid = age where last_message_xid > past;
    update public.conversation_members set changed_xid = age where changed_xid > past;
    update public.conversation_members set joined_xid = age where joined_xid > past;
    update public.conversation_members set sent_xid = age where sent_xid > past;
    update app.former_members set changed_xid = age where changed_xid > past;
    update app.former_members set joined_xid = age where joined_xid > past;
    update public.messages set changed_xid = age where changed_xid > past;
    update public.messages set sent_xid = age where sent_xid > past;
    update public.presence set changed_xid = age where changed_xid > past;
    update public.presence set hidden_xid = age where hidden_xid > past;
    update public.reaction_counts set changed_xid = age where changed_xid > past;
    update public.message_reactions set changed_xid = age where changed_xid > past;
    update public.delivered_marks set changed_xid = age where changed_xid > past;
    update public.message_pieces set changed_xid = age where changed_xid > past;
    update app.held_messages set changed_xid = age where changed_xid > past;
    update app.message_streams set changed_xid = age where changed_xid > past;
    alter table public.conversation_mutes disable trigger keep;
    update public.conversation_mutes set changed_xid = age where changed_xid > past;
    alter table public.conversation_mutes enable trigger keep;
end $$;

-- Returns true if feed.has_no_changes returns the user. Each delta that a test reads is compared with it: then the
-- delta is empty, and the conversations are the same.
create function tests.has_no_changes(who text, since text, changes text default null, conversations text default null)
returns boolean language plpgsql as $$
declare
    said record;
begin
    perform tests.authenticate_as('postline_feed');
    select * into said
      from feed.has_no_changes(array[app.epoch()], array[tests.id(who)], array[since::pg_snapshot]);
    perform tests.owner();
    if said.place is not null and changes is not null
       and (changes, conversations) is distinct from ('{}', said.conversation_ids) then
        raise exception '% is said to have missed nothing since %, and missed %', who, since, changes;
    end if;
    return said.place is not null;
end $$;

-- Returns the changes that the feed finds, in order, with names for ids.
create function tests.read_changes(since text default '4:4:')
returns table (kind text, conversation text, member text, seq bigint, object text) language plpgsql as $$
begin
    perform tests.authenticate_as('postline_feed');
    return query
        select l.kind, (select i.name from tests.ids i where i.id = l.conversation_id),
               (select i.name from tests.ids i where i.id = l.user_id), l.seq, l.object
          from feed.read_changes(since::pg_snapshot) l;
    perform tests.owner();
end $$;

-- Returns them as short lines.
create function tests.poll(since text default '4:4:') returns text[] language sql as $$
    select array(select concat_ws(' ', l.kind, l.conversation, l.member, l.seq)
                   from tests.read_changes(since) with ordinality l (kind, conversation, member, seq, object, place)
                  order by l.place)
$$;

-- Returns the Changes of all pages of a user's sync. A delta is compared with feed.has_no_changes.
create function tests.pages(who text, since text, messages integer default 20, bytes integer default 524288)
returns setof jsonb language plpgsql as $$
declare
    page record;
    first text;
    place text;
begin
    loop
        perform tests.authenticate_as(who);
        select * into page
          from api.sync(app.epoch(), since::pg_snapshot, first::pg_snapshot, place, messages, bytes);
        perform tests.owner();
        if since is not null and first is null then
            perform tests.has_no_changes(who, since, page.changes::text, page.conversation_ids::text);
        end if;
        first := coalesce(first, page.snapshot);
        place := page.next_position;
        return next page.changes;
        exit when place is null;
    end loop;
end $$;

-- Creates a file of a user, and records it as stored.
create function tests.create(who text, arguments text) returns uuid language sql as $$
    select (tests.as(who, 'api.create_media(' || arguments || ')')::json ->> 'id')::uuid
$$;
create function tests.store(file uuid) returns void language plpgsql as $$
begin
    perform tests.authenticate_as('postline_feed');
    perform app.record_stored_media(file);
    perform tests.owner();
end $$;

select plan(1);
select has_schema('tests', 'the test helpers exist');
select * from finish();
