-- Functions that nodes of the previous version call still exist under their old names (remove after 0.1).
begin;
select no_plan();
select tests.make_world();
select tests.age();
select tests.say('direct', 'alice', 'hello');

select tests.authenticate_as('postline_feed');
select results_eq($$select kind, object from feed.next_look('4:4:', '{presence,mutes,packed}')$$,
    $$select kind, object from feed.poll_changes('4:4:', '{presence,mutes,packed}')$$, 'feed.next_look polls');
select results_eq($$select kind from feed.next_look('4:4:')$$, $$select kind from feed.poll_changes('4:4:', '{}')$$,
    'feed.next_look without features polls too');
select results_eq($$select * from feed.look('4:4:')$$, $$select * from feed.read_changes('4:4:')$$,
    'feed.look reads the changes');
select is(array(select c from feed.concerned('4:4:', array(select id from tests.ids)) c order by c),
    array(select unnest(array[tests.id('alice'), tests.id('bob')]) u order by u),
    'feed.concerned returns the users with changes');
select is((select count(*) from feed.missed_nothing(
               array[app.epoch()], array[tests.id('carol')], array['4:4:'::pg_snapshot])),
    1::bigint, 'feed.missed_nothing returns users without changes');
select lives_ok('select app.seal()', 'app.seal waits for the log');
select is((select n.replayed from app.note_ended(null, null) n), null, 'app.note_ended records nothing on a primary');
select is(app.note_pushes(), 0, 'app.note_pushes queues pushes');
select is_empty('select * from app.due_pushes(10, true)', 'app.due_pushes claims pushes');
select lives_ok($$select app.settle_pushes('{}', '{}', '{}', '{}', '{}', '{}')$$, 'app.settle_pushes records results');
select lives_ok('select app.note_stored(gen_random_uuid())', 'app.note_stored records a stored picture');
select is_empty('select * from app.due_removals(10)', 'app.due_removals claims removals');
select ok(app.lead('x', '00000000-0000-4000-8000-000000000001', 10), 'app.lead acquires a lease');
select ok(not app.lead('x', '00000000-0000-4000-8000-000000000002', 10), 'app.lead does not acquire another''s lease');
select app.resign('x', '00000000-0000-4000-8000-000000000001');
select ok(app.lead('x', '00000000-0000-4000-8000-000000000002', 10), 'app.resign releases a lease');
select tests.owner();

insert into app.media_removals (id, purpose, due_at)
select '00000000-0000-4000-8000-000000000003'::uuid, p, now() from unnest(array['avatar', 'message', 'upload']) p;
select tests.authenticate_as('postline_feed');
select app.removed_media(array['00000000-0000-4000-8000-000000000003'::uuid], array['message']);
select tests.owner();
select is(array(select purpose::text from app.media_removals order by 1), array['avatar', 'upload'],
    'app.removed_media completes removals');
select tests.authenticate_as('postline_feed');
select app.removed_media(array['00000000-0000-4000-8000-000000000003'::uuid]);
select tests.owner();
select is(array(select purpose::text from app.media_removals), array['upload'],
    'app.removed_media of a version without uploads leaves them');

select tests.authenticate_as('postline_accounts');
select accounts.keep_ticket(repeat('ab', 32), tests.id('alice'), 'cd');
select is(accounts.take_ticket(repeat('ab', 32)), 'cd',
    'accounts.keep_ticket and take_ticket store and redeem a ticket');
select is_empty($$select * from accounts.take_mails('{}')$$, 'accounts.take_mails claims mails');
select lives_ok($$select accounts.settle_mails('{}', '{}', '{}', '{}', '{}')$$,
    'accounts.settle_mails records results');
select isnt((select user_id from accounts.enter_by_identity(
                 'apple', 'previous', null, null, repeat('ef', 32), 4e9, null, null, null)),
    null, 'accounts.enter_by_identity signs in');
select matches(accounts.register('tap.previous@example.org', 'hash', null, 'Previous')::text, '^[0-9a-f-]{36}$',
    'accounts.register without mail registers');
select tests.owner();

select is(app.settle(), false, 'app.settle leaves the epoch of a database that was not restored');
select lives_ok($$select app.sign('0123456789abcdef')$$, 'app.sign records a schema version');

-- Functions for nodes of the previous version say until when they are kept. The tests run in the repository's folder.
\set sources `cat sql/functions/*/*.sql`
\set previous `cat sql/functions/*/previous_names.sql`
select ok(:'previous' <> '', 'the sources of the functions are found');
select is(regexp_count(:'previous', '-- remove after [0-9.]+[^\n]*\ncreate or replace function '),
    regexp_count(:'previous', 'create or replace function '), 'each previous name says when it is removed');
select is_empty(format($$
    select p.name, p.overloads
      from (select n.nspname || '.' || p.proname as name, count(*) as overloads
              from pg_proc p join pg_namespace n on n.oid = p.pronamespace
             where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin')
               and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
             group by 1 having count(*) > 1) p
      -- Names of which this version calls several functions.
      left join (values ('app.message_object', 2)) c (name, overloads) on c.name = p.name
     where p.overloads - regexp_count(%L,
               '-- remove after [0-9.]+[^\n]*\n(-- [^\n]*\n)*create or replace function ' || p.name || '\(')
           > coalesce(c.overloads, 1)
$$, :'sources'), 'each overload for the previous version says when it is removed');
select * from finish();
rollback;
