-- Presence and its receivers: two nodes, leases, hidden users; feed and sync. Concurrent calls are in 190_races.sql.
-- '4:4:' is the snapshot that saw the aged world and nothing since.
begin;
select no_plan();
select tests.make_world();

create function tests.node(number integer) returns uuid language sql immutable as $$
    select ('00000000-0000-4000-8000-00000000000' || number)::uuid
$$;
create function tests.users(names text) returns uuid[] language sql stable as $$
    select array(select tests.id(n) from regexp_split_to_table(names, ' ') n where n <> '')
$$;
-- As the service calls it.
create function tests.report(node integer, arrived text, gone text default '', is_whole boolean default false)
returns boolean language plpgsql as $$
declare
    known boolean;
begin
    perform tests.authenticate_as('postline_feed');
    known := app.report_presence(tests.node(node), 10, tests.users(arrived), tests.users(gone), is_whole);
    perform tests.owner();
    return known;
end $$;
create function tests.lapse(number integer) returns void language sql as $$
    update app.nodes set lease_until = clock_timestamp() - interval '1 second' where id = tests.node(number)
$$;
create function tests.online() returns text language sql as $$
    select coalesce(string_agg(i.name, ' ' order by i.name), 'nobody')
      from public.presence p join tests.ids i on i.id = p.user_id where p.is_online
$$;
-- Returns a presence object as words: a name with `on`, `off` for a user who was online, or `-`.
create function tests.word(object jsonb) returns text language sql as $$
    select i.name || case when (object ->> 'is_online')::boolean then ' on'
                          when object -> 'last_seen_at' <> 'null' then ' off' else ' -' end
      from tests.ids i where i.id = (object ->> 'user_id')::uuid
$$;
create function tests.seen(who text, names text default 'alice bob carol mallory') returns text language sql as $$
    select string_agg(tests.word(o), ', ' order by place)
      from jsonb_array_elements(tests.as(who, format('api.presence(%L)', tests.users(names)))::jsonb -> 'presence')
           with ordinality as p (o, place)
$$;
-- The rows of the table that a user's own SQL sees.
create function tests.rows_of(who text) returns text language sql as $$
    select tests.as(who, $q$select string_agg(i.name || case when p.is_online then ' on' else '' end, ', '
                                              order by i.name)
                       from public.presence p join tests.ids i on i.id = p.user_id$q$)
$$;
create function tests.page(who text, since text default '4:4:', until text default null, "position" text default null,
                           bytes integer default 524288) returns record language plpgsql as $$
declare
    answer record;
begin
    perform tests.authenticate_as(who);
    select p.snapshot, p.next_position, p.changes::jsonb as changes, p.sees_presence, p.conversation_ids into answer
      from app.live_page(app.epoch(), since::pg_snapshot, until::pg_snapshot, "position", 20, bytes) p;
    perform tests.owner();
    if since is not null and "position" is null then
        perform tests.has_no_changes(who, since, answer.changes::text, answer.conversation_ids);
    end if;
    return answer;
end $$;
create function tests.told(who text, since text default '4:4:') returns text language plpgsql as $$
declare
    page record := tests.page(who, since);
begin
    return (select coalesce(string_agg(tests.word(o), ', ' order by tests.word(o)), 'nothing')
              from jsonb_array_elements(page.changes -> 'presence') o)
           || case when not page.sees_presence then ' (sees none)' else '' end;
end $$;
create function tests.walk(who text, since text, bytes integer, out told text, out pages integer)
language plpgsql as $$
declare
    page record;
    first text;
    place text;
    objects jsonb := '[]';
begin
    pages := 0;
    loop
        page := tests.page(who, since, first, place, bytes);
        first := coalesce(first, page.snapshot);
        place := page.next_position;
        objects := objects || coalesce(page.changes -> 'presence', '[]');
        pages := pages + 1;
        exit when place is null or pages > 100;
    end loop;
    told := (select coalesce(string_agg(tests.word(o), ', ' order by tests.word(o)), 'nothing')
               from jsonb_array_elements(objects) o);
end $$;
-- The presence that the feed returns, each row as words.
create function tests.poll(since text default '4:4:') returns text[] language plpgsql as $$
declare
    lines text[];
begin
    perform tests.authenticate_as('postline_feed');
    lines := array(
        select concat_ws(' ', l.kind, (select i.name from tests.ids i where i.id = l.conversation_id),
                         coalesce(tests.word(l.object::jsonb), (select i.name from tests.ids i where i.id = l.user_id)))
          from feed.poll_changes(since::pg_snapshot, '{presence}') l where l.kind ~ 'presence|behind|many');
    perform tests.owner();
    return lines;
end $$;
create function tests.users_with_changes() returns text language plpgsql as $$
declare
    users uuid[];
begin
    perform tests.authenticate_as('postline_feed');
    users := array(select feed.users_with_changes('4:4:', array(select i.id from tests.ids i)));
    perform tests.owner();
    return (select coalesce(string_agg(i.name, ' ' order by i.name), 'nobody') from tests.ids i
             where i.id = any(users));
end $$;
create function tests.prefer(who text, value text) returns void language plpgsql as $$
begin
    if tests.as(who, format('api.update_me(%L)', jsonb_build_object('preferences',
            jsonb_build_object('presence', value)))) not like '{%' then raise exception 'refused'; end if;
end $$;

-- Nodes.
select is(tests.report(1, 'alice'), false, 'a node that is not known is told so');
select is(tests.online(), 'nobody', 'and what it says is not taken');
select is_empty('select from app.nodes', 'nor is it known from then on');
select is(tests.report(1, 'alice', is_whole => true), true, 'it says the whole');
select is(tests.online(), 'alice');
select ok(bool_and(lease_until between clock_timestamp() + interval '9 s' and clock_timestamp() + interval '10 s'),
    'its lease goes by the clock of the database') from app.nodes;
select is(tests.as('alice', '(app.changes_since(''4:4:'')).has_presence'), 'false', 'to oneself one''s own is no news');
select is(tests.as('bob', '(app.changes_since(''4:4:'')).has_presence'), 'true', 'but to others');
select is(tests.report(1, 'bob', 'alice'), true, 'some come, some go');
select is(tests.online(), 'bob');
select is(last_seen_at, now(), 'since when one is not online is kept') from public.presence
 where user_id = tests.id('alice');
select is(tests.report(1, 'bob carol', 'bob'), true);
select is(tests.online(), 'bob carol', 'who comes and goes at once is there');
select is(app.report_presence(tests.node(1), 10, null, tests.users('carol')), true, 'a list may be absent');
select is(tests.online(), 'bob');
select is(app.report_presence(tests.node(1), 10, tests.users('carol'), null), true);
select is(tests.report(1, 'bob bob carol', 'mallory mallory'), true, 'what is said twice');
select is(tests.online(), 'bob carol', 'changes nothing');
select is(tests.report(2, 'bob mallory', is_whole => true), true, 'another node');
select is(tests.report(1, '', 'bob'), true);
select is(tests.online(), 'bob carol mallory', 'who is on two nodes and goes from one stays online');
select is(tests.report(2, '', 'bob'), true);
select is(tests.online(), 'carol mallory', 'and goes with the last');
select is(tests.report(2, 'alice bob', is_whole => true), true, 'the whole takes the place of what was said before');
select is(tests.online(), 'alice bob carol');
select is(app.report_presence(tests.node(2), 10, array[gen_random_uuid(), null, tests.id('alice')], array[null::uuid]),
    true, 'of whom there is no profile');
select is(tests.online(), 'alice bob carol', 'nothing is kept');
select is((select count(*) from app.node_users), 3::bigint);

-- An expired lease.
select is(tests.as('postline_feed', 'app.end_nodes()'), '0', 'nodes that are up are not ended');
select tests.report(1, 'alice');
select tests.lapse(2);
select is(tests.report(2, ''), true, 'a node that was away, and that nobody has ended, goes on');
select is(tests.as('postline_feed', 'app.end_nodes()'), '0');
select tests.lapse(2);
select is(tests.as('postline_feed', 'app.end_nodes()'), '2', 'one whose lease is over is ended');
select is(tests.online(), 'alice carol', 'its users are online where else they are');
select is(tests.report(2, '', 'alice'), false, 'it is told when it comes back');
select is(tests.report(2, 'bob', is_whole => true), true);
select is(tests.online(), 'alice bob carol', 'and what it then says holds');
select is(tests.report(2, '', is_whole => true), true, 'the whole may be nobody');
select is(tests.online(), 'alice carol');
select tests.lapse(1), tests.lapse(2);
select is(tests.as('postline_feed', 'app.end_nodes()'), '2');
select is(tests.online(), 'nobody', 'without nodes nobody is online');
select is_empty('select from app.nodes', 'and nothing is left of them');

-- Users who see it.
select is(tests.seen('alice'), 'alice off, bob off, carol off, mallory -', 'whoever shares a conversation');
select tests.report(1, 'alice bob carol mallory', is_whole => true);
select is(tests.seen('alice'), 'alice on, bob on, carol on, mallory -', 'and nobody else');
select is(tests.seen('mallory'), 'alice -, bob -, carol -, mallory on', 'in both directions; oneself, always');
select is(tests.seen('bob', 'mallory carol bob carol'), 'mallory -, carol on, bob on', 'in the order asked, each once');
select is(tests.as('alice', format('api.presence(%L)', array[tests.id('mallory')])),
    format('{"presence":[{"user_id":"%s","is_online":false,"last_seen_at":null}]}', tests.id('mallory')),
    'of whom one may not see it there is an object all the same');
select is(replace(tests.as('alice', format('api.presence(%L)', array[u.id])), u.id::text, '?'),
    replace(tests.as('alice', format('api.presence(%L)', array[tests.id('mallory')])), tests.id('mallory')::text, '?'),
    'the same as where there is no such user') from (select gen_random_uuid() as id) u;
select is(tests.as('alice', 'api.presence(array[null::uuid])'), '{"presence":[]}', 'and of none there is none');
select is(tests.field_of('alice', format('select api.presence(%L)', ids)), 'PL001 user_ids', 'bounded')
  from (values ('{}'::uuid[]), (null), (array_fill(gen_random_uuid(), array[101]))) v (ids);
select is(tests.rows_of('alice'), 'alice on, bob on, carol on', 'by SQL likewise');
select is(tests.rows_of('mallory'), 'mallory on');
delete from public.conversation_members where user_id = tests.id('carol');
select is(tests.seen('alice') || '; ' || tests.seen('carol'),
    'alice on, bob on, carol -, mallory -; alice -, bob -, carol on, mallory -',
    'who was removed sees and shows no more');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('carol'));

-- Users who hide it.
select tests.prefer('bob', 'nobody');
select is(tests.seen('alice'), 'alice on, bob -, carol on, mallory -', 'who hides it is shown to nobody');
select is(tests.seen('bob'), 'alice -, bob -, carol -, mallory -', 'and is shown nobody, nor itself');
select is(tests.rows_of('alice'), 'alice on, bob, carol on', 'by SQL: nothing is in the row');
select is(tests.rows_of('bob'), 'bob', 'nor are there others');
select throws_ok(format('update public.presence set is_online = true where user_id = %L', tests.id('bob')), '23514',
    null, 'and nothing can be');
select tests.age();
select tests.report(1, '', 'bob');
select tests.report(1, 'bob', '');
select is(tests.poll(), '{}', 'that it comes and goes is not told, not even that something was');
select is(tests.seen('alice', 'bob'), 'bob -');
select tests.prefer('bob', 'contacts');
select is(tests.seen('alice', 'bob') || ', ' || tests.seen('bob', 'alice'), 'bob on, alice on', 'until it shows it');
select tests.prefer('bob', 'nobody');
select tests.report(1, '', 'bob');
select tests.prefer('bob', 'contacts');
select is(tests.seen('alice', 'bob'), 'bob -', 'when it was online while it hid that nobody learns');
select tests.report(1, 'bob');
update public.user_private set preferences = '{"presence": "nobody"}' where id = tests.id('mallory');
select is(tests.seen('mallory', 'mallory'), 'mallory -', 'whoever sets it');
update public.user_private set preferences = '{"other": 1}' where id = tests.id('mallory');
select is(tests.seen('mallory', 'mallory'), 'mallory on');
update public.user_private set preferences = '{"presence": {"nobody": true}}' where id = tests.id('mallory');
select is(tests.seen('mallory', 'mallory'), 'mallory on', 'another value hides nothing');

-- The feed.
select tests.age();
select is(tests.poll(), '{}', 'an aged world holds no news');
select is(tests.poll('2:9:2'), '{}', 'nor is there any of a transaction that did nothing');
select is(tests.poll('3:9:3') @> array['presence alice on', 'presence bob on', 'presence carol on',
    'presence mallory on'], true, 'of one that was open in the snapshot there is');
select tests.report(1, 'alice bob');
select is(tests.poll(), '{}', 'nor is it news that who is online came to another session');
select tests.report(1, '', 'bob');
select is(tests.poll(), array['presence bob off'], 'one goes');
select tests.authenticate_as('postline_feed');
select results_eq($$
    select xid, conversation_id, user_id, seq, audience @> tests.users('direct group') and cardinality(audience) = 2,
           object, tail, marks
      from feed.poll_changes('4:4:', '{presence}')
$$, $$
    select pg_current_xact_id()::text, null::uuid, tests.id('bob'), null::bigint, true,
           format('{"user_id":"%s","is_online":false,"last_seen_at":%s}', tests.id('bob'), to_json(app.utc(now()))),
           null::text, null::bigint[]
$$, 'for the conversations that the user is in, whole, of its transaction');
select results_eq($$select kind from feed.poll_changes('4:4:', '{another}')$$, $$values (null::text)$$,
    'a node that does not name the feature gets none');
select results_eq($$select epoch, snapshot, kind from feed.poll_changes(null, '{presence}')$$,
    'select app.epoch(), pg_current_snapshot()::text, null::text', 'since nothing: the moment alone');
select tests.owner();
update public.user_profiles set bio = 'x' where id = tests.id('carol');
select tests.authenticate_as('postline_feed');
select results_eq($$select kind from feed.poll_changes('4:4:', '{presence}')$$,
    $$values ('me'), ('profile'), ('presence')$$, 'it stands behind all else');
select tests.owner();
select tests.age();
select tests.prefer('carol', 'nobody');
select is(tests.poll(), array['behind carol', 'presence carol -'], 'who begins to hide it falls behind');
select tests.prefer('carol', 'contacts');
select is(tests.poll(), array['behind carol', 'presence carol on'], 'and who ceases to');
select tests.age();
select tests.report(1, '', 'carol');
select is(tests.poll(), array['presence carol off'], 'and does not because it did once');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(tests.poll(), array['opening_presence group alice on', 'opening_presence group bob off',
    'opening_presence group carol off', 'opening_presence group mallory on'], 'with one who joins come all');

-- Sync.
select is(tests.told('mallory'), 'alice on, bob off, carol off', 'likewise when one comes back');
select is(tests.told('alice'), 'mallory on', 'to the members comes who joined');
select tests.age();
select is(tests.told('alice'), 'nothing', 'an aged world holds no news');
select ok(tests.has_no_changes('alice', '4:4:'), 'which is said at once');
select is(tests.told('alice', null), 'bob off, carol off, mallory on', 'in a reset come all');
select tests.report(1, 'bob');
select is(tests.told('alice') || '; ' || tests.told('mallory'), 'bob on; bob on', 'in a delta who changed');
select is(tests.told('bob'), 'nothing', 'not to itself');
select ok(tests.has_no_changes('bob', '4:4:'), 'that it is back itself is nothing it has missed');
select ok(not tests.has_no_changes('alice', '4:4:'), 'others have');
delete from public.conversation_members where user_id = tests.id('mallory');
select is(tests.told('mallory') || '; ' || tests.told('mallory', null), 'nothing; nothing', 'nor to a stranger');
select tests.age();
select tests.prefer('bob', 'nobody');
select is(tests.told('alice'), 'bob -', 'who hides it is told of as of one of whom nothing is known');
select is(tests.told('alice', null), 'carol off', 'and in a reset not at all');
select is(tests.told('bob'), 'alice -, carol - (sees none)', 'it is told that it sees nobody any more');
select is(tests.told('bob', null), 'nothing (sees none)', 'which a reset need not say');
select tests.age();
select tests.report(1, '', 'alice');
select is(tests.told('bob') || '; ' || tests.told('carol'), 'nothing (sees none); alice off',
    'and is told of no change from then on');
select tests.age();
select tests.prefer('bob', 'contacts');
select is(tests.told('bob'), 'alice off, carol off', 'and sees all when it shows itself');
select is(tests.told('alice'), 'bob on');
-- Away while a user hid it, and back in a conversation with the other.
delete from public.conversation_members where user_id = tests.id('carol');
select tests.age();
select tests.prefer('bob', 'nobody');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('carol'));
select is(tests.told('carol'), 'alice off, bob -', 'what was known of one is taken back');
select is(tests.poll(), array['opening_presence group alice off', 'opening_presence group bob -',
    'opening_presence group carol off'], 'by the feed too');
select tests.prefer('bob', 'contacts');

-- In pages.
select tests.report(1, 'alice bob carol mallory');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select tests.age('5', '4');
select is((tests.walk('alice', since, bytes)).told, 'bob on, carol on, mallory on',
    concat_ws(' ', 'each once, in pages of', bytes, 'since', since))
  from unnest(array[null, '4:4:']) since, unnest(array[0, 100, 300]) bytes;
select cmp_ok((tests.walk('alice', '4:4:', 0)).pages, '>', 6, 'a page ends within presence');
select ok(p.next_position ~ '^presence:[0-9a-f-]{36}$' and p.changes ? 'presence', 'and goes on from there')
  from (select (array_agg(u.id order by u.id desc))[1] as last from unnest(tests.users('bob carol mallory')) u (id)) l,
       tests.page('alice', '4:4:', '6:6:', 'profiles:' || l.last, 0)
         as p (snapshot text, next_position text, changes jsonb, sees_presence boolean, conversation_ids text);
-- Changes after the first page are in the delta that follows.
select tests.age();
select tests.report(1, '', 'bob');
select is((select p.changes -> 'presence' from tests.page('alice', null, '4:4:',
        'profiles:ffffffff-ffff-4fff-bfff-ffffffffffff', 100000)
        as p (snapshot text, next_position text, changes jsonb, sees_presence boolean, conversation_ids text))
        @> jsonb_build_array(jsonb_build_object('user_id', tests.id('bob'))), false, 'a later page leaves it out');
select is(tests.told('alice'), 'bob off', 'and the delta brings it');

-- Affected users.
select tests.age();
select is(tests.users_with_changes(), 'nobody');
select tests.report(1, '', 'carol');
delete from public.conversation_members where user_id = tests.id('mallory');
select tests.age('3', '4');
select tests.report(1, 'carol');
select is(tests.users_with_changes(), 'alice bob', 'whoever shares a conversation');
select tests.prefer('bob', 'nobody');
select tests.age();
select tests.report(1, '', 'carol');
select is(tests.users_with_changes(), 'alice', 'and sees presence');
select tests.age();
select tests.prefer('bob', 'contacts');
select is(tests.users_with_changes(), 'alice bob carol', 'who shows itself again, and those who see it');

-- Deleted users, and a merged guest.
select tests.report(1, 'alice bob carol mallory');
select tests.age();
update public.user_profiles set is_deleted = true where id = tests.id('carol');
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is(tests.seen('alice'), 'alice on, bob -, carol -, mallory -', 'of the deleted nothing is known any more');
select is(tests.told('alice'), 'bob -', 'which is told to whoever shares a conversation still');
select is((tests.poll())[1:2] <@ array['behind bob', 'behind carol'], true);
select tests.report(1, '', 'bob carol');
select tests.report(1, 'bob carol');
select is(tests.seen('alice', 'bob'), 'bob -', 'nor is it kept when a node comes with it');
select is((select count(*) from app.node_users u where u.user_id = any(tests.users('bob carol'))), 0::bigint);
select is(tests.seen('bob', 'alice'), 'alice -', 'and its token shows it nobody');
select tests.make_user('guest', true);
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('guest'));
select tests.report(1, 'guest');
select is(tests.seen('alice', 'guest'), 'guest on');
select app.merge_users(tests.id('guest'), tests.id('mallory'));
select is(tests.seen('alice', 'guest mallory'), 'guest -, mallory on', 'a merged guest goes, its account is shown');
update public.user_private set preferences = '{}' where id = tests.id('mallory');
select tests.make_user('hider', true);
select tests.prefer('hider', 'nobody');
select app.merge_users(tests.id('hider'), tests.id('mallory'));
select is(tests.seen('alice', 'mallory'), 'mallory -', 'what it preferred, and the account has not said, holds');

select tests.age();
update public.user_profiles set is_deleted = true where id = tests.id('mallory');
select is(tests.poll(), '{}', 'of one who hid it there is then nothing to tell');

-- Bounds.
select tests.age();
create temporary table crowd as select array_agg(gen_random_uuid()) as ids from generate_series(1, 10001);
set local session_replication_role = replica;
insert into auth.users (id) select u.id from crowd, unnest(ids) u (id);
insert into public.user_profiles (id, changed_xid, public_changed_xid)
select u.id, '3', '3' from crowd, unnest(ids) u (id);
set local session_replication_role = origin;
select app.report_presence(tests.node(1), 10, ids[:10000], '{}') from crowd;
select is((select count(*) from unnest(tests.poll())), 10000::bigint, 'a look tells of ten thousand');
select app.report_presence(tests.node(1), 10, ids[10001:], '{}') from crowd;
select is(tests.poll(), array['many'], 'and not of more');
select tests.lapse(1);
select is(tests.as('postline_feed', 'app.end_nodes()'), '5000', 'of a node that ends so many users go at once');
select is(tests.report(1, 'alice'), false, 'it does not go on in the midst of it');
select is(tests.as('postline_feed', 'app.end_nodes()'), '5000', 'and then the next');
select is((select count(*) from public.presence where is_online), (select count(*) from app.node_users));
select is(tests.report(1, 'alice', is_whole => true), true, 'it may begin anew');
select is((select count(*) from public.presence where is_online), 1::bigint, 'and has those whom it says, alone');
select is(tests.as('postline_feed', 'app.end_nodes()'), '0');

-- After a dump and restore.
update public.presence set changed_xid = '99999999', hidden_xid = '99999999' where user_id = tests.id('bob');
select app.renew_epoch();
select is((select changed_xid::text || hidden_xid from public.presence where user_id = tests.id('bob')), '33',
    'foreign transaction ids come home');

select * from finish();
rollback;
