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
-- The members of two conversations, and their presence, that a page of the user may contain.
create function tests.members_of(who text) returns text language sql as $$
    select tests.as(who, format($q$
        select string_agg(i.name || case when p.is_online then ' on' else '' end, ', ' order by i.name)
          from app.shared_presence(%L, '{}', null, null, '00000000-0000-0000-0000-000000000000',
                                   'ffffffff-ffff-ffff-ffff-ffffffffffff') p
          join tests.ids i on i.id = p.user_id$q$, tests.users('direct group')))
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
create function pg_temp.poll(since text default '4:4:') returns text[] language plpgsql as $$
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
select is(tests.report(1, 'alice'), false, 'an unknown node''s partial report is rejected');
select is(tests.online(), 'nobody', 'a rejected report changes no presence');
select is_empty('select from app.nodes', 'a rejected report does not create the node');
select is(tests.report(1, 'alice', is_whole => true), true, 'accepts a whole report of an unknown node');
select is(tests.online(), 'alice');
select ok(bool_and(lease_until between clock_timestamp() + interval '9 s' and clock_timestamp() + interval '10 s'),
    'the lease uses the database''s clock') from app.nodes;
select is(tests.as('alice', '(app.changes_since(''4:4:'', null)).has_presence'), 'false',
    'a user''s own presence is not a change for itself');
select is(tests.as('bob', '(app.changes_since(''4:4:'', null)).has_presence'), 'true',
    'a user''s presence is a change for others');
select is(tests.report(1, 'bob', 'alice'), true, 'users arrive and leave in one report');
select is(tests.online(), 'bob');
select is(last_seen_at, now(), 'last_seen_at is set when a user goes offline') from public.presence
 where user_id = tests.id('alice');
select is(tests.report(1, 'bob carol', 'bob'), true);
select is(tests.online(), 'bob carol', 'a user in both lists is online');
select is(app.report_presence(tests.node(1), 10, null, tests.users('carol')), true, 'a list can be null');
select is(tests.online(), 'bob');
select is(app.report_presence(tests.node(1), 10, tests.users('carol'), null), true);
select is(tests.report(1, 'bob bob carol', 'mallory mallory'), true, 'accepts repeated users in a report');
select is(tests.online(), 'bob carol', 'repeated users change nothing');
select is(tests.report(2, 'bob mallory', is_whole => true), true, 'accepts a report of another node');
select is(tests.report(1, '', 'bob'), true);
select is(tests.online(), 'bob carol mallory', 'a user on two nodes stays online after leaving one');
select is(tests.report(2, '', 'bob'), true);
select is(tests.online(), 'carol mallory', 'a user goes offline after leaving the last node');
select is(tests.report(2, 'alice bob', is_whole => true), true, 'a whole report replaces earlier reports of the node');
select is(tests.online(), 'alice bob carol');
select is(app.report_presence(tests.node(2), 10, array[gen_random_uuid(), null, tests.id('alice')], array[null::uuid]),
    true, 'accepts users without a profile');
select is(tests.online(), 'alice bob carol', 'stores no presence of users without a profile');
select is((select count(*) from app.node_users), 3::bigint);

-- An expired lease.
select is(tests.as('postline_feed', 'app.end_nodes()'), '0', 'does not end nodes with a valid lease');
select tests.report(1, 'alice');
select tests.lapse(2);
select is(tests.report(2, ''), true, 'a node with an expired lease continues if it was not ended');
select is(tests.as('postline_feed', 'app.end_nodes()'), '0');
select tests.lapse(2);
select is(tests.as('postline_feed', 'app.end_nodes()'), '2', 'ends a node with an expired lease');
select is(tests.online(), 'alice carol', 'its users stay online on other nodes');
select is(tests.report(2, '', 'alice'), false, 'an ended node''s partial report is rejected');
select is(tests.report(2, 'bob', is_whole => true), true);
select is(tests.online(), 'alice bob carol', 'an ended node''s whole report is accepted');
select is(tests.report(2, '', is_whole => true), true, 'a whole report can be empty');
select is(tests.online(), 'alice carol');
select tests.lapse(1), tests.lapse(2);
select is(tests.as('postline_feed', 'app.end_nodes()'), '2');
select is(tests.online(), 'nobody', 'without nodes no user is online');
select is_empty('select from app.nodes', 'ended nodes are deleted');

-- Users who see it.
select is(tests.seen('alice'), 'alice off, bob off, carol off, mallory -',
    'a user sees the presence of users in its conversations');
select tests.report(1, 'alice bob carol mallory', is_whole => true);
select is(tests.seen('alice'), 'alice on, bob on, carol on, mallory -', 'a user does not see the presence of others');
select is(tests.seen('mallory'), 'alice -, bob -, carol -, mallory on',
    'visibility is mutual, and users always see themselves');
select is(tests.seen('bob', 'mallory carol bob carol'), 'mallory -, carol on, bob on',
    'returns presence once per user in the requested order');
select is(tests.as('alice', format('api.presence(%L)', array[tests.id('mallory')])),
    format('{"presence":[{"user_id":"%s","is_online":false,"last_seen_at":null}]}', tests.id('mallory')),
    'returns an object also for a user whose presence is hidden');
select is(replace(tests.as('alice', format('api.presence(%L)', array[u.id])), u.id::text, '?'),
    replace(tests.as('alice', format('api.presence(%L)', array[tests.id('mallory')])), tests.id('mallory')::text, '?'),
    'a hidden and an unknown user look the same') from (select gen_random_uuid() as id) u;
select is(tests.as('alice', 'api.presence(array[null::uuid])'), '{"presence":[]}', 'ignores null ids');
select is(tests.field_of('alice', format('select api.presence(%L)', ids)), 'PL001 user_ids', 'limits the number of ids')
  from (values ('{}'::uuid[]), (null), (array_fill(gen_random_uuid(), array[101]))) v (ids);
select is(tests.rows_of('alice'), 'alice on, bob on, carol on', 'a user''s own SQL sees the same presence');
select is(tests.members_of('alice'), 'bob on, carol on', 'a page sees the same presence');
select is(tests.members_of('carol'), 'alice on, bob on', 'a page sees members of the user''s conversations only');
select is(tests.members_of('mallory'), null, 'a page sees no members of other users'' conversations');
select is(tests.rows_of('mallory'), 'mallory on');
delete from public.conversation_members where user_id = tests.id('carol');
select is(tests.seen('alice') || '; ' || tests.seen('carol'),
    'alice on, bob on, carol -, mallory -; alice -, bob -, carol on, mallory -',
    'a removed member and the group no longer see each other''s presence');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('carol'));

-- Users who hide it.
select tests.prefer('bob', 'nobody');
select is(tests.seen('alice'), 'alice on, bob -, carol on, mallory -',
    'a user who hides its presence is not visible to others');
select is(tests.seen('bob'), 'alice -, bob -, carol -, mallory -',
    'a user who hides its presence sees no presence, not even its own');
select is(tests.rows_of('alice'), 'alice on, bob, carol on', 'the row of a hidden user has no presence');
select is(tests.rows_of('bob'), 'bob', 'a hidden user sees only its own row');
select is(tests.members_of('bob'), 'alice, carol', 'a page of a hidden user has no presence');
select throws_ok(format('update public.presence set is_online = true where user_id = %L', tests.id('bob')), '23514',
    null, 'the row of a hidden user cannot have presence');
select tests.age();
select tests.report(1, '', 'bob');
select tests.report(1, 'bob', '');
select is(pg_temp.poll(), '{}', 'the feed returns nothing about a hidden user');
select is(tests.seen('alice', 'bob'), 'bob -');
select tests.prefer('bob', 'contacts');
select is(tests.seen('alice', 'bob') || ', ' || tests.seen('bob', 'alice'), 'bob on, alice on',
    'presence is visible again after the user shows it');
select tests.prefer('bob', 'nobody');
select tests.report(1, '', 'bob');
select tests.prefer('bob', 'contacts');
select is(tests.seen('alice', 'bob'), 'bob -', 'the time online while hidden is not shown later');
select tests.report(1, 'bob');
update public.user_private set preferences = '{"presence": "nobody"}' where id = tests.id('mallory');
select is(tests.seen('mallory', 'mallory'), 'mallory -', 'presence is hidden also if SQL changes the preference');
update public.user_private set preferences = '{"other": 1}' where id = tests.id('mallory');
select is(tests.seen('mallory', 'mallory'), 'mallory on');
update public.user_private set preferences = '{"presence": {"nobody": true}}' where id = tests.id('mallory');
select is(tests.seen('mallory', 'mallory'), 'mallory on', 'an unknown preference hides nothing');

-- The feed.
select tests.age();
select is(pg_temp.poll(), '{}', 'a poll of the aged world returns no changes');
select is(pg_temp.poll('2:9:2'), '{}', 'a transaction without changes returns nothing');
select is(pg_temp.poll('3:9:3') @> array['presence alice on', 'presence bob on', 'presence carol on',
    'presence mallory on'], true, 'returns changes of a transaction that was open in the snapshot');
select tests.report(1, 'alice bob');
select is(pg_temp.poll(), '{}', 'a second session of an online user is not a change');
select tests.report(1, '', 'bob');
select is(pg_temp.poll(), array['presence bob off'], 'returns a user who goes offline');
select tests.authenticate_as('postline_feed');
select results_eq($$
    select xid, conversation_id, user_id, seq, audience @> tests.users('direct group') and cardinality(audience) = 2,
           object, tail, marks
      from feed.poll_changes('4:4:', '{presence}')
$$, $$
    select pg_current_xact_id()::text, null::uuid, tests.id('bob'), null::bigint, true,
           format('{"user_id":"%s","is_online":false,"last_seen_at":%s}', tests.id('bob'), to_json(app.utc(now()))),
           null::text, null::bigint[]
$$, 'a presence change is complete and names its conversations');
select results_eq($$select kind from feed.poll_changes('4:4:', '{another}')$$, $$values (null::text)$$,
    'a node without the feature gets no presence changes');
select results_eq($$select epoch, snapshot, kind from feed.poll_changes(null, '{presence}')$$,
    'select app.epoch(), pg_current_snapshot()::text, null::text',
    'without a snapshot, returns only the epoch and snapshot');
select tests.owner();
update public.user_profiles set bio = 'x' where id = tests.id('carol');
select tests.authenticate_as('postline_feed');
select results_eq($$select kind from feed.poll_changes('4:4:', '{presence}')$$,
    $$values ('me'), ('profile'), ('presence')$$, 'presence changes come after all others');
select tests.owner();
select tests.age();
select tests.prefer('carol', 'nobody');
select is(pg_temp.poll(), array['behind carol', 'presence carol -'],
    'a user who starts to hide its presence must resync');
select tests.prefer('carol', 'contacts');
select is(pg_temp.poll(), array['behind carol', 'presence carol on'],
    'a user who stops hiding its presence must resync');
select tests.age();
select tests.report(1, '', 'carol');
select is(pg_temp.poll(), array['presence carol off'], 'a later change requires no resync');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(pg_temp.poll(), array['opening_presence group alice on', 'opening_presence group bob off',
    'opening_presence group carol off', 'opening_presence group mallory on'],
    'a new member gets the presence of all members');

-- Sync.
select is(tests.told('mallory'), 'alice on, bob off, carol off',
    'a member who returns gets the presence of all members');
select is(tests.told('alice'), 'mallory on', 'the members get the new member''s presence');
select tests.age();
select is(tests.told('alice'), 'nothing', 'a delta of the aged world has no presence');
select ok(tests.has_no_changes('alice', '4:4:'), 'has_no_changes returns the user');
select is(tests.told('alice', null), 'bob off, carol off, mallory on', 'a reset has all visible presence');
select tests.report(1, 'bob');
select is(tests.told('alice') || '; ' || tests.told('mallory'), 'bob on; bob on', 'a delta has changed presence');
select is(tests.told('bob'), 'nothing', 'a user''s own presence is not in its delta');
select ok(tests.has_no_changes('bob', '4:4:'), 'a user''s own presence is not a change for has_no_changes');
select ok(not tests.has_no_changes('alice', '4:4:'), 'another user''s presence is a change for has_no_changes');
-- The newest change of a conversation may be the user's own.
savepoint newest;
update public.presence set changed_xid = case user_id when tests.id('alice') then '7' when tests.id('bob') then '6'
                                         when tests.id('carol') then '5' else '3' end::xid8;
select ok(not tests.has_no_changes(who, '4:4:'), 'the presence of others is a change for ' || who)
  from unnest(array['alice', 'bob', 'carol']) who;
select is(tests.has_no_changes(who, '7:7:'), who = 'alice', 'only alice''s presence is a change since 7:7: for ' || who)
  from unnest(array['alice', 'bob', 'carol']) who;
rollback to newest;
delete from public.conversation_members where user_id = tests.id('mallory');
select is(tests.told('mallory') || '; ' || tests.told('mallory', null), 'nothing; nothing',
    'a stranger gets no presence');
select tests.age();
select tests.prefer('bob', 'nobody');
select is(tests.told('alice'), 'bob -', 'a delta clears the presence of a user who hides it');
select is(tests.told('alice', null), 'carol off', 'a reset leaves out a user who hides its presence');
select is(tests.told('bob'), 'alice -, carol - (sees none)',
    'a user who hides its presence gets cleared presence of others');
select is(tests.told('bob', null), 'nothing (sees none)', 'a reset of a user who hides its presence has no presence');
select tests.age();
select tests.report(1, '', 'alice');
select is(tests.told('bob') || '; ' || tests.told('carol'), 'nothing (sees none); alice off',
    'a user who hides its presence gets no changes');
select tests.age();
select tests.prefer('bob', 'contacts');
select is(tests.told('bob'), 'alice off, carol off', 'a user who shows its presence gets all presence');
select is(tests.told('alice'), 'bob on');
-- Away while a user hid it, and back in a conversation with the other.
delete from public.conversation_members where user_id = tests.id('carol');
select tests.age();
select tests.prefer('bob', 'nobody');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('carol'));
select is(tests.told('carol'), 'alice off, bob -', 'a delta clears presence that was hidden meanwhile');
select is(pg_temp.poll(), array['opening_presence group alice off', 'opening_presence group bob -',
    'opening_presence group carol off'], 'the feed clears presence that was hidden meanwhile');
select tests.prefer('bob', 'contacts');

-- In pages.
select tests.report(1, 'alice bob carol mallory');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select tests.age('5', '4');
select is((tests.walk('alice', since, bytes)).told, 'bob on, carol on, mallory on',
    concat_ws(' ', 'has each presence once, in pages of', bytes, 'since', since))
  from unnest(array[null, '4:4:']) since, unnest(array[0, 100, 300]) bytes;
select cmp_ok((tests.walk('alice', '4:4:', 0)).pages, '>', 6, 'a page can end within the presence');
select ok(p.next_position ~ '^presence:[0-9a-f-]{36}$' and p.changes ? 'presence',
    'the next page continues within the presence')
  from (select (array_agg(u.id order by u.id desc))[1] as last from unnest(tests.users('bob carol mallory')) u (id)) l,
       tests.page('alice', '4:4:', '6:6:', 'profiles:' || l.last, 0)
         as p (snapshot text, next_position text, changes jsonb, sees_presence boolean, conversation_ids text);
-- Changes after the first page are in the delta that follows.
select tests.age();
select tests.report(1, '', 'bob');
select is((select p.changes -> 'presence' from tests.page('alice', null, '4:4:',
        'profiles:ffffffff-ffff-4fff-bfff-ffffffffffff', 100000)
        as p (snapshot text, next_position text, changes jsonb, sees_presence boolean, conversation_ids text))
        @> jsonb_build_array(jsonb_build_object('user_id', tests.id('bob'))), false,
        'a later page leaves out a user whose presence has changed');
select is(tests.told('alice'), 'bob off', 'the next delta has that user''s presence');

-- Affected users.
select tests.age();
select is(tests.users_with_changes(), 'nobody');
select tests.report(1, '', 'carol');
delete from public.conversation_members where user_id = tests.id('mallory');
select tests.age('3', '4');
select tests.report(1, 'carol');
select is(tests.users_with_changes(), 'alice bob', 'presence affects users who share a conversation');
select tests.prefer('bob', 'nobody');
select tests.age();
select tests.report(1, '', 'carol');
select is(tests.users_with_changes(), 'alice', 'presence affects only users who see presence');
select tests.age();
select tests.prefer('bob', 'contacts');
select is(tests.users_with_changes(), 'alice bob carol', 'showing presence affects the user and all who then see it');

-- Deleted users, and a merged guest.
select tests.report(1, 'alice bob carol mallory');
select tests.age();
update public.user_profiles set is_deleted = true where id = tests.id('carol');
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is(tests.seen('alice'), 'alice on, bob -, carol -, mallory -', 'a deleted user''s presence is cleared');
select is(tests.told('alice'), 'bob -', 'users of shared conversations get the cleared presence');
select is((pg_temp.poll())[1:2] <@ array['behind bob', 'behind carol'], true);
select tests.report(1, '', 'bob carol');
select tests.report(1, 'bob carol');
select is(tests.seen('alice', 'bob'), 'bob -', 'a node''s report stores no presence of a deleted user');
select is((select count(*) from app.node_users u where u.user_id = any(tests.users('bob carol'))), 0::bigint);
select is(tests.seen('bob', 'alice'), 'alice -', 'a deleted user''s token shows no presence');
select tests.make_user('guest', true);
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('guest'));
select tests.report(1, 'guest');
select is(tests.seen('alice', 'guest'), 'guest on');
select app.merge_users(tests.id('guest'), tests.id('mallory'));
select is(tests.seen('alice', 'guest mallory'), 'guest -, mallory on', 'a merged guest is replaced by its account');
update public.user_private set preferences = '{}' where id = tests.id('mallory');
select tests.make_user('hider', true);
select tests.prefer('hider', 'nobody');
select app.merge_users(tests.id('hider'), tests.id('mallory'));
select is(tests.seen('alice', 'mallory'), 'mallory -',
    'the guest''s presence preference applies to an account without one');

select tests.age();
update public.user_profiles set is_deleted = true where id = tests.id('mallory');
select is(pg_temp.poll(), '{}', 'a hidden user causes no presence change');

-- Bounds.
select tests.age();
create temporary table crowd as select array_agg(gen_random_uuid()) as ids from generate_series(1, 10001);
set local session_replication_role = replica;
insert into auth.users (id) select u.id from crowd, unnest(ids) u (id);
insert into public.user_profiles (id, changed_xid, public_changed_xid)
select u.id, '3', '3' from crowd, unnest(ids) u (id);
set local session_replication_role = origin;
select app.report_presence(tests.node(1), 10, ids[:10000], '{}') from crowd;
select is((select count(*) from unnest(pg_temp.poll())), 10000::bigint,
    'a poll returns up to ten thousand presence changes');
select app.report_presence(tests.node(1), 10, ids[10001:], '{}') from crowd;
select is(pg_temp.poll(), array['many'], 'a poll returns "many" beyond ten thousand presence changes');
select tests.lapse(1);
select is(tests.as('postline_feed', 'app.end_nodes()'), '5000',
    'end_nodes removes up to 5,000 users of a node per call');
select is(tests.report(1, 'alice'), false, 'a node that is being ended cannot send a partial report');
select is(tests.as('postline_feed', 'app.end_nodes()'), '5000', 'the next call removes the remaining users');
select is((select count(*) from public.presence where is_online), (select count(*) from app.node_users));
select is(tests.report(1, 'alice', is_whole => true), true, 'the node can start again with a whole report');
select is((select count(*) from public.presence where is_online), 1::bigint,
    'only the users of the whole report are online');
select is(tests.as('postline_feed', 'app.end_nodes()'), '0');

-- After a dump and restore.
update public.presence set changed_xid = '99999999', hidden_xid = '99999999' where user_id = tests.id('bob');
select app.renew_epoch();
select is((select changed_xid::text || hidden_xid from public.presence where user_id = tests.id('bob')), '33',
    'resets foreign transaction ids of presence');

select * from finish();
rollback;
