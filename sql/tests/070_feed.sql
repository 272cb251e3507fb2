-- The changes of each kind that the feed finds. '4:4:' is the snapshot that saw the aged world and nothing since.
begin;
select no_plan();
select tests.make_world();
select tests.say('group', 'alice', 'old ' || n) from generate_series(1, 3) n;
select tests.say('direct', 'bob', 'old');

create function tests.polled(wanted text, since text default '4:4:') returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[]) language plpgsql as $$
begin
    perform set_config('role', 'postline_feed', true);
    return query select l.* from feed.read_changes(since::pg_snapshot) l where l.kind = wanted;
    perform tests.owner();
end $$;

select tests.age();
select is(tests.poll(), '{}', 'a poll of the aged world returns no changes');
select is(cardinality(tests.poll('3:3:')) > 0, true, 'a snapshot before the aged world returns all changes');
select is(tests.poll('4:4:'), '{}');
select is(cardinality(tests.poll('3:9:3')) > 0, true, 'returns changes of a transaction that was open in the snapshot');
select is(tests.poll('2:9:2'), '{}', 'returns nothing for another open transaction');

select tests.say('direct', 'alice', 'new');
select is(tests.poll(), array['message direct alice 2', 'read direct alice 2'],
    'returns a message and its sender''s read mark');
select results_eq($$select xid = pg_current_xact_id()::text, object::json ->> 'content' from tests.polled('message')$$,
    $$values (true, 'new')$$, 'a message change is complete and has its transaction id');

select tests.age();
update public.messages set content = 'edited' where conversation_id = tests.id('group') and seq = 2;
select is(tests.poll(), array['message group alice 2'], 'an edit does not return a read mark');

select tests.age();
select tests.as('carol', format('api.mark_read(%L, 2)', tests.id('group')));
select is(tests.poll(), array['read group carol 2'], 'returns a read mark');
select tests.say('group', 'carol', 'x');
select is(tests.poll(),
    array['message group carol 4', 'read group carol 4'], 'returns a mark once if it moved in both ways');

select tests.age();
update public.user_profiles set full_name = 'Tap Neu' where id = tests.id('bob');
select is(tests.poll(), array['me bob', 'profile bob'], 'a public change returns both profile and Me');
select results_eq($$
    select audience @> array[tests.id('direct'), tests.id('group')] and cardinality(audience) = 2,
           object::json ->> 'full_name'
      from tests.polled('profile')
$$, $$values (true, 'Tap Neu')$$, 'a profile change names the conversations of its audience');
select tests.age();
update public.user_private set phone_number = '+4512345678' where id = tests.id('bob');
select is(tests.poll(), array['me bob'], 'a private change returns only the user''s Me');

select tests.age();
update public.conversations set title = 'Neu' where id = tests.id('group');
select is(tests.poll(), array['conversation group 4'], 'returns a changed title');
select results_eq($$
    select (object || '7' || app.own_members(8, 0, false, null, false, false, 0, 0) || tail)::jsonb
             - '{last_read_seq,unread_count}'::text[]
           = tests.as('alice', format('api.conversation(%L)', tests.id('group')))::jsonb
             - '{last_read_seq,unread_count}'::text[],
           audience = array[tests.id('alice'), tests.id('bob'), tests.id('carol')],
           marks
      from tests.polled('conversation')
$$, $$values (true, true, array[3, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]::bigint[])$$,
    'a spliced conversation equals the one in responses, with members and their numbers in one order');

select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(tests.poll(),
    array['joined group mallory', 'conversation group 4', 'opening_profile group alice', 'opening_profile group bob',
        'opening_profile group carol', 'opening_profile group mallory', 'opening_message group alice 1',
        'opening_message group alice 2', 'opening_message group alice 3', 'opening_message group carol 4'],
    'returns the whole conversation to a user who joins');

select tests.age();
delete from public.conversation_members where user_id = tests.id('carol');
delete from public.conversation_members where user_id = tests.id('mallory');
select set_eq('select unnest(tests.poll())', array['left group carol', 'left group mallory', 'conversation group 4'],
    'returns users who left, and the conversation without them');
select tests.age();
update public.user_profiles set bio = 'gone' where id = tests.id('carol');
select results_eq($$select audience from tests.polled('profile')$$,
    $$select array[tests.id('group')]$$, 'a profile of a former member who wrote goes to the group');
select tests.age();
update public.user_profiles set bio = 'gone' where id = tests.id('mallory');
select results_eq($$select audience from tests.polled('profile')$$,
    $$select '{}'::uuid[]$$, 'a profile of a former member who did not write goes to no conversation');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(tests.poll(),
    array['joined group mallory', 'conversation group 4', 'opening_profile group alice', 'opening_profile group bob',
        'opening_profile group mallory', 'opening_profile group carol', 'opening_message group alice 1',
        'opening_message group alice 2', 'opening_message group alice 3', 'opening_message group carol 4'],
    'returns the profiles of all senders, also former members, to a user who joins');
select tests.age();
delete from public.conversation_members where user_id = tests.id('mallory');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
set local session_replication_role = replica;
insert into app.former_members (conversation_id, user_id, wrote, changed_xid)
select tests.id('group'), gen_random_uuid(), true, '3' from generate_series(1, 5001);
reset session_replication_role;
select is(tests.poll(), array['many'], 'returns "many" if thousands wrote and left');
delete from app.former_members where user_id not in (select id from tests.ids);
delete from public.conversation_members where user_id = tests.id('mallory');

select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('carol'));
delete from public.conversation_members where user_id = tests.id('carol');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('carol'));
select is((tests.poll())[1:2], array['left group carol', 'joined group carol'], '"left" comes before "joined"');

select tests.age();
select tests.as('alice', format('api.open_conversation(%L)', tests.id('mallory')));
select is((select count(*) from unnest(tests.poll()) l where l like 'joined%'),
    2::bigint, 'both users join a new conversation');

-- Notifications.
create function tests.bells() returns bigint language sql as $$
    select count(*) from pg_trigger t join pg_proc p on p.oid = t.tgfoid
     where t.tgname = 'ring' and not t.tgisinternal
       and pg_get_triggerdef(t.oid) like '%FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change()'
       and p.prosrc like '%postline.quiet%pg_notify%'
$$;
select is(tests.bells(),
    9::bigint, 'each table that clients see notifies once per statement, unless suppressed');
select isnt(app.epoch(), null, 'the database has an epoch');

-- Changes that a cursor covers are flushed.
create temporary table sealed as select pg_current_wal_insert_lsn() as lsn;
select is(tests.as('postline_feed', 'app.wait_for_wal_flush()'), '', 'the feed can wait for the WAL flush');
select is(tests.as('authenticated', 'app.wait_for_wal_flush()'),
    '42501 permission denied for function wait_for_wal_flush', 'other roles cannot wait for the WAL flush');

-- A restored dump.
select is(app.renew_epoch_after_restore(), false, 'a database that was not restored needs no new epoch');
create temporary table before as select app.epoch() as epoch;
update public.messages set changed_xid = (pg_current_xact_id()::text::bigint + 1000000)::text::xid8
 where conversation_id = tests.id('direct');
select is((select count(*) from unnest(tests.poll()) l where l like 'message direct%'),
    0::bigint, 'transaction ids of another cluster are not reported as changes');
update app.settings set value = 'elsewhere' where name = 'home';
select is(app.renew_epoch_after_restore(), true, 'a database that was restored from a dump gets a new epoch');
select isnt(app.epoch(), (select epoch from before), 'a new epoch invalidates all cursors');
select is((select count(*) from public.messages where changed_xid > pg_current_xact_id()),
    0::bigint, 'a new epoch resets foreign transaction ids');
select is(app.renew_epoch_after_restore(), false, 'the epoch is renewed only once');
select is_empty($$
    select a.attrelid::regclass, a.attname
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where a.atttypid = 'xid8'::regtype and c.relkind = 'r' and n.nspname in ('public', 'app', 'admin')
       and pg_get_functiondef('app.renew_epoch'::regproc)
           !~ format('update %s.%s set [^;]*%s', n.nspname, c.relname, a.attname)
$$, 'every column with a transaction id is reset');

-- More changes than one poll returns: it says so, and the affected users are queried.
select tests.age();
create function tests.users_with_changes(variadic names text[]) returns text[] language plpgsql as $$
declare
    concerned text[];
begin
    perform set_config('role', 'postline_feed', true);
    concerned := array(
        select i.name from feed.users_with_changes('4:4:', (select array_agg(tests.id(n)) from unnest(names) n)) u (id)
          join tests.ids i on i.id = u.id order by i.name);
    perform tests.owner();
    return concerned;
end $$;
select is(tests.users_with_changes('alice', 'bob', 'carol', 'mallory'), '{}',
    'returns no users if there are no changes');
insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 1001);
select is(tests.poll(), array['many'], 'a thousand new profiles exceed one poll');
select is(tests.users_with_changes('alice', 'bob', 'carol', 'mallory'), '{}',
    'new profiles without conversations affect no users');
update public.user_profiles set bio = 'changed' where id = tests.id('bob');
select is(tests.users_with_changes('alice', 'bob', 'carol', 'mallory'), array['alice', 'bob', 'carol'],
    'a profile affects its user and all who share a conversation');
select tests.age();
select tests.say('direct', 'alice', 'new');
select is(tests.users_with_changes('alice', 'bob', 'carol', 'mallory'),
    array['alice', 'bob'], 'a message affects the members of its conversation');
select tests.age();
update public.messages set content = 'edited anew' where conversation_id = tests.id('direct') and seq = 1;
select is(tests.users_with_changes('alice', 'bob', 'carol', 'mallory'),
    array['alice', 'bob'], 'an edit affects the members of the conversation');
select tests.say('group', 'alice', 'to read');
select tests.age();
select tests.as('carol', format('api.mark_read(%L, 5)', tests.id('group')));
select is(tests.users_with_changes('alice', 'bob', 'carol', 'mallory'),
    array['alice', 'bob', 'carol'], 'a read mark affects the members of the conversation');
select tests.age();
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('carol');
select is(tests.users_with_changes('carol', 'mallory'), array['carol'],
    'a removal affects the removed user');
select tests.age();
update public.user_profiles set is_deleted = true where id = tests.id('carol');
select is((tests.poll())[1], 'deleted carol', 'a deleted user is always returned');
insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 1001);
select is(tests.poll(), array['deleted carol', 'many'],
    'a deleted user is returned also when there are too many changes');

-- The poll that the service runs: with its moment.
select tests.age();
select tests.say('direct', 'alice', 'news');
create temporary table flushed as select pg_current_wal_flush_lsn() as log_end;
grant select on flushed to postline_feed;
select tests.authenticate_as('postline_feed');
select results_eq($$
    select kind, xid, conversation_id, user_id, seq, audience, object, tail, marks from feed.poll_changes('4:4:', '{}')
$$, $$select * from feed.read_changes('4:4:')$$, 'poll_changes returns the same changes as read_changes');
select is((select array_agg(distinct l::text) from (select epoch, snapshot from feed.poll_changes('4:4:', '{}')) l),
    array[row(app.epoch(), pg_current_snapshot())::text], 'poll_changes returns the snapshot for the next poll');
select ok(bool_and(coalesce(l.log_end >= f.log_end, true)), 'the log must be flushed at least as far as it was written')
  from feed.poll_changes('4:4:', '{}') l, flushed f;
select results_eq('select epoch, snapshot, kind from feed.poll_changes(pg_current_snapshot(), ''{}'')',
    $$select app.epoch(), pg_current_snapshot()::text, unnest(array['message', 'read'])$$,
    'returns changes that the given snapshot does not see, such as of this transaction');
select results_eq('select epoch, snapshot, kind from feed.poll_changes(null, ''{}'')',
    'select app.epoch(), pg_current_snapshot()::text, null::text',
    'without a snapshot, returns only the epoch and snapshot');
select tests.owner();
select tests.age();
select tests.authenticate_as('postline_feed');
select results_eq($$select epoch, snapshot, kind from feed.poll_changes('4:4:', '{}')$$,
    'select app.epoch(), pg_current_snapshot()::text, null::text',
    'without changes, returns only the epoch and snapshot');
select tests.owner();

-- A poll reads only what has changed, whatever the tables contain.
select tests.age();
set local session_replication_role = replica;
insert into public.messages (conversation_id, seq, sender_id, content, created_at, changed_xid, sent_xid)
select tests.id('direct'), 1000 + i, tests.id('alice'), 'old', now(), '3', '3' from generate_series(1, 5000) i;
set local session_replication_role = origin;
analyze public.messages;
select tests.say('direct', 'alice', 'one among many');
create function tests.entries_read() returns bigint language sql as $$
    select sum(pg_stat_get_xact_tuples_returned(i.indexrelid))::bigint
           + pg_stat_get_xact_tuples_returned('public.messages'::regclass)
      from pg_index i where i.indrelid = 'public.messages'::regclass
$$;
select tests.entries_read() as before \gset
select is(cardinality(tests.poll()), 2, 'finds a new message and its read mark among many messages');
select cmp_ok(tests.entries_read() - :before, '<', 200::bigint, 'reads only new index entries');

-- Users who join, write and leave between two polls.
with c as (insert into public.conversations (kind, title) values ('group', 'Crew') returning id)
insert into tests.ids select 'crew', id from c;
insert into public.conversation_members (conversation_id, user_id) values (tests.id('crew'), tests.id('alice'));
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('crew'), tests.id('bob'));
select tests.say('crew', 'bob', 'Hello, and goodbye.');
delete from public.conversation_members where conversation_id = tests.id('crew') and user_id = tests.id('bob');
select is(tests.poll(), array['left crew bob', 'profile bob', 'conversation crew 1', 'message crew bob 1'],
    'returns the profile of a user who joined, wrote and left');
select results_eq($$select audience, object::json ->> 'id' from tests.polled('profile')$$,
    $$select array[tests.id('crew')], tests.id('bob')::text$$, 'returns the complete profile of that user');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('crew'), tests.id('bob'));
delete from public.conversation_members where conversation_id = tests.id('crew') and user_id = tests.id('bob');
select is(tests.poll(), array['left crew bob', 'conversation crew 1'], 'returns that profile only once');


-- The conversations that get the changed profiles of a poll: 250 users in 400 groups.
select tests.age();
savepoint bounded;
create temporary table crowd as
select array(select p.id from public.user_profiles p
              where not exists (select from tests.ids i where i.id = p.id) order by p.id limit 250) as ids;
create temporary table rooms as select gen_random_uuid() as id from generate_series(1, 400);
set local session_replication_role = replica;
insert into public.conversations (id, kind, title, changed_xid) select r.id, 'group', 'Crowd', '3' from rooms r;
insert into public.conversation_members (conversation_id, user_id, last_read_seq, joined_xid, changed_xid)
select r.id, u.id, 0, '3', '3' from rooms r, crowd, unnest(ids) u (id);
set local session_replication_role = origin;
update public.user_profiles set bio = 'changed' from crowd where id = any (ids);
select is((select count(*) from unnest(tests.poll()) l where l like 'profile%'), 250::bigint,
    'a poll returns profiles for up to 100,000 conversations in all');
insert into app.former_members (conversation_id, user_id, wrote, changed_xid)
select tests.id('group'), ids[1], false, '3' from crowd;
select is((select count(*) from unnest(tests.poll()) l where l like 'profile%'), 250::bigint,
    'left conversations in which a user did not write do not count');
update app.former_members set wrote = true from crowd where user_id = ids[1];
select is(tests.poll(), array['many'], 'a poll returns "many" beyond them');
rollback to bounded;

-- Users who are returned without a look: nothing has changed.
savepoint bounded;
create temporary table rooms as select gen_random_uuid() as id, n from generate_series(1, 513) n;
create temporary table people as
select p.id, row_number() over (order by p.id) as n from public.user_profiles p
 where not exists (select from tests.ids i where i.id = p.id);
-- Puts mallory into rooms, others into the first of them, and both among the former members.
create function tests.is_returned(joined integer, others integer, former integer, has_left integer) returns boolean
language plpgsql as $$
begin
    set local session_replication_role = replica;
    delete from public.conversation_members m
     where m.user_id = tests.id('mallory') or m.conversation_id in (select r.id from rooms r);
    delete from app.former_members f
     where f.user_id = tests.id('mallory') or f.conversation_id in (select r.id from rooms r);
    insert into public.conversation_members (conversation_id, user_id, last_read_seq, joined_xid, changed_xid)
    select r.id, tests.id('mallory'), 0, xid8 '3', xid8 '3' from rooms r where r.n <= joined
    union all
    select r.id, p.id, 0, '3', '3' from rooms r, people p where r.n = 1 and p.n <= others;
    insert into app.former_members (conversation_id, user_id, wrote, changed_xid)
    select r.id, tests.id('mallory'), true, xid8 '3' from rooms r where r.n <= has_left
    union all
    select r.id, p.id, true, '3' from rooms r, people p where r.n = 1 and p.n <= former;
    set local session_replication_role = origin;
    return tests.users_with_changes('mallory') = array['mallory'];
end $$;
set local session_replication_role = replica;
insert into public.conversations (id, kind, title, changed_xid) select r.id, 'group', 'Full', '3' from rooms r;
set local session_replication_role = origin;
select is(tests.is_returned(joined, others, former, has_left), expected,
    case when expected then 'returns a user ' else 'looks at a user ' end || who)
  from (values
        (256, 0, 0, 0, false, 'in 256 conversations'),
        (257, 0, 0, 0, true, 'in 257 conversations without changes'),
        (1, 511, 0, 0, false, 'whose conversations have 512 members'),
        (1, 512, 0, 0, true, 'whose conversations have 513 members'),
        (1, 0, 512, 0, false, 'whose conversations have 512 former members'),
        (1, 0, 513, 0, true, 'whose conversations have 513 former members'),
        (0, 0, 0, 512, false, 'who has left 512 conversations'),
        (0, 0, 0, 513, true, 'who has left 513 conversations')) v (joined, others, former, has_left, expected, who);
rollback to bounded;

-- The parts of a poll that cost nothing, since they are inlined into the statement that calls them.
create function tests.is_inlined(called regprocedure) returns boolean language plpgsql as $$
declare
    line text;
    is_scanned boolean := false;
begin
    for line in execute (
        select format('explain select * from %s(%s) as part', p.oid::regproc,
                      string_agg('null::' || format_type(a.type, null), ', ' order by a.place))
          from pg_proc p cross join lateral unnest(p.proargtypes::oid[]) with ordinality as a (type, place)
         where p.oid = called group by p.oid)
    loop
        is_scanned := is_scanned or line ~ 'Function Scan on \w+ part\M';
    end loop;
    return not is_scanned;
end $$;
select tests.authenticate_as('postline_feed');
select is_empty($$
    select p.oid::regprocedure from pg_proc p
     where p.pronamespace = 'feed'::regnamespace and p.prosqlbody is not null
       -- A name of the previous version.
       and p.proname <> 'look' and not tests.is_inlined(p.oid)
$$, 'the functions of the feed that are in begin atomic are inlined');
select is(tests.is_inlined('feed.read_changes(pg_snapshot)'), false, 'feed.read_changes is not');
select tests.owner();

select * from finish();
rollback;
