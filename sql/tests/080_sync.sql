-- A user's view: whole, its changes, and in pages. '4:4:' is the snapshot that saw the aged world.
begin;
select no_plan();
select tests.make_world();
select tests.say('group', (array['alice', 'bob', 'carol'])[1 + n % 3], 'old ' || n) from generate_series(1, 30) n;
select tests.say('direct', 'bob', 'old ' || n) from generate_series(1, 5) n;
select tests.age();

create type tests.page as (
    epoch text, snapshot text, reset boolean, "position" text, changes jsonb, conversation_ids uuid[]);
create function tests.sync(who text, since text default '4:4:', until text default null, "position" text default null,
                           messages integer default 20, bytes integer default 524288, epoch text default app.epoch())
returns tests.page language plpgsql as $$
declare
    answer tests.page;
begin
    perform tests.authenticate_as(who);
    select * into answer from api.sync(epoch, since::pg_snapshot, until::pg_snapshot, "position", messages, bytes);
    perform tests.owner();
    if since is not null and "position" is null and epoch = app.epoch() then
        perform tests.has_no_changes(who, since, answer.changes::text, answer.conversation_ids::text);
    end if;
    return answer;
end $$;
-- Returns the changes as short words, as a client would see them.
create function tests.words(changes jsonb) returns text[] language sql as $$
    select coalesce(array_agg(word order by kind, room, seq, word), '{}') from (
        select 1 as kind, '' as room, 0 as seq, 'me' as word where changes ? 'me'
        union all select 2, '', 0, 'profile ' || i.name
          from jsonb_array_elements(changes -> 'profiles') o join tests.ids i on i.id = (o ->> 'id')::uuid
        union all select 3, '', 0, 'left ' || i.name
          from jsonb_array_elements_text(changes -> 'left') o join tests.ids i on i.id = o::uuid
        union all select 4, '', 0, 'conversation ' || coalesce(i.name, '?')
          from jsonb_array_elements(changes -> 'conversations') o left join tests.ids i on i.id = (o ->> 'id')::uuid
        union all select 5, i.name, (o ->> 'seq')::integer, i.name || ' ' || (o ->> 'seq')
          from jsonb_array_elements(changes -> 'messages') o join tests.ids i on i.id = (o ->> 'conversation_id')::uuid
        union all select 6, i.name, 0, 'read ' || i.name || ' ' || u.name || ' ' || (o ->> 'last_read_seq')
          from jsonb_array_elements(changes -> 'reads') o join tests.ids i on i.id = (o ->> 'conversation_id')::uuid
          join tests.ids u on u.id = (o ->> 'user_id')::uuid
        union all select 7, '', 0, 'limited ' || i.name
          from jsonb_array_elements_text(changes -> 'limited') o join tests.ids i on i.id = o::uuid) w
$$;
create function tests.news(who text) returns text[] language sql as $$ select tests.words((tests.sync(who)).changes) $$;
create function tests.numbers(room text, first integer, last integer) returns text[] language sql as $$
    select array_agg(room || ' ' || n order by n) from generate_series(first, last) n
$$;
-- Reads all pages of a view, and puts them together as a client does.
create function tests.walk(who text, since text, bytes integer, messages integer default 20,
                           out changes jsonb, out pages integer, out sections text[]) language plpgsql as $$
declare
    page tests.page;
    first text;
begin
    changes := '{}';
    pages := 0;
    -- Those in which pages ended, in their order.
    sections := '{}';
    loop
        page := tests.sync(who, since, first, page."position", messages, bytes);
        first := coalesce(first, page.snapshot);
        if page.snapshot <> first then raise exception 'another view'; end if;
        if (page."position" is null) <> (page.conversation_ids is not null) then
            raise exception 'conversation_ids';
        end if;
        pages := pages + 1;
        if sections[cardinality(sections)] is distinct from split_part(page."position", ':', 1) then
            sections := sections || split_part(page."position", ':', 1);
        end if;
        select jsonb_object_agg(key,
                   case when key = 'me' then coalesce(page.changes -> key, changes -> key)
                        else coalesce(changes -> key, '[]') || coalesce(page.changes -> key, '[]') end)
          into changes
          from (select jsonb_object_keys(changes) as key union select jsonb_object_keys(page.changes)) k;
        changes := coalesce(changes, '{}');
        exit when page."position" is null or pages > 1000;
    end loop;
end $$;

-- A reset.
select is((tests.sync('alice', null)).reset, true, 'returns a reset without a cursor');
select is(tests.words((tests.sync('alice', null)).changes),
    array['me', 'profile bob', 'profile carol', 'conversation direct', 'conversation group']
    || tests.numbers('direct', 1, 5) || tests.numbers('group', 11, 30) || array['limited group'],
    'a reset has the whole view, the newest messages, and limited conversations');
select set_eq($$select unnest((tests.sync('alice', null)).conversation_ids)$$,
    $$select tests.id(n) from unnest(array['direct', 'group']) n$$, 'returns the ids of the user''s conversations');
select is(tests.words((tests.sync('alice', null, messages => 0)).changes),
    array['me', 'profile bob', 'profile carol', 'conversation direct', 'conversation group', 'limited direct',
        'limited group'], 'with 0 messages per conversation, all are limited');
select is(tests.words((tests.sync('mallory', null)).changes), array['me'], 'a user without conversations gets only Me');
select is((tests.sync('alice', null)).changes -> 'me' ->> 'email', 'tap.alice@example.org', 'me is a Me object');
select is((tests.sync('alice', null)).changes -> 'conversations' -> 0 ? 'unread_count',
    true, 'a conversation has the user''s unread count');
select is((tests.sync('alice')).reset, false, 'returns a delta with a cursor');
select is((tests.sync('alice')).changes, '{}', 'a delta without changes is empty');
select is((tests.sync('alice', epoch => 'another')).reset, true, 'returns a reset for a cursor of another epoch');
select is((tests.sync('alice', '99999999999:99999999999:')).reset, true,
    'returns a reset for a cursor from the future');
select is((tests.sync('alice', null, epoch => null)).reset, true, 'returns a reset without an epoch');

-- In pages.
select ok((tests.walk('alice', null, bytes)).pages > 2, 'returns several pages of ' || bytes || ' bytes')
  from unnest(array[0, 900, 5000]) bytes;
select is((tests.walk('alice', null, bytes)).changes,
    (tests.sync('alice', null)).changes, 'pages of ' || bytes || ' bytes contain the whole view once')
  from unnest(array[0, 900, 5000]) bytes;
select is((tests.sync('alice', since, '4:4:', bad)).reset,
    true,
    concat_ws(' ', 'row 58a: returns a reset for an invalid position:',
        quote_literal(split_part(bad, e'\n', 1)), since))
  from unnest(array[
        '', 'x', 'messages', 'messages:x', 'profiles;', 'reads:1:2', 'left:', 'reads:' || gen_random_uuid() || ':123',
        'messages:' || gen_random_uuid() || ':' || gen_random_uuid(), 'profiles:' || gen_random_uuid() || ':1',
        'messages:' || gen_random_uuid() || ':9223372036854775808',
        'left:' || gen_random_uuid() || e'\n']) bad, unnest(array[null, '3:3:']) since;
select is((tests.sync('alice', null, '4:4:', good)).reset,
    false, 'continues at a valid position: ' || split_part(good, ':', 1))
  from unnest(array[
        'left:', 'profiles:', 'conversations:', 'messages:' || gen_random_uuid() || ':0',
        'reads:' || gen_random_uuid()
        || ':']) prefix,
       lateral (select case when prefix like '%:' then prefix || gen_random_uuid() else prefix end) g (good);
-- Changes after the first page are in the delta that follows.
create temporary table page as select (tests.sync('alice', null, bytes => 0)).*;
select tests.say('group', 'bob', 'after');
update public.user_profiles set bio = 'after' where id = tests.id('carol');
create temporary table rest as
select tests.words((tests.sync('alice', null, p.snapshot, p."position")).changes) as words from page p;
select ok((select words @> tests.numbers('group', 11, 30)
               and not words @> array['group 31'] and not words @> array['profile carol']
             from rest),
    'later pages leave out what changed meanwhile');
select is(tests.news('alice'), array['profile carol', 'group 31', 'read group bob 31'],
    'the next delta has what changed meanwhile');
select tests.age();

-- Deltas.
select tests.say('direct', 'alice', 'new');
select is(tests.news('alice'), array['direct 6', 'read direct alice 6'],
    'a delta has a new message and its sender''s read mark');
select is(tests.news('bob'), array['direct 6', 'read direct alice 6'], 'the other member''s delta has them too');
select is(tests.news('carol'), '{}', 'a non-member''s delta does not have them');
select tests.age();
update public.messages set content = 'edited' where conversation_id = tests.id('group') and seq = 2;
update public.messages set deleted_at = now() where conversation_id = tests.id('group') and seq = 31;
select is(tests.news('carol'), array['group 2', 'group 31'], 'a delta has edited and deleted messages');
select tests.say('group', 'carol', 'x');
select is(tests.news('carol'),
    array['group 2', 'group 31', 'group 32', 'read group carol 32'], 'a delta has edited and new messages, each once');
-- A later page shows what its view's first page saw: that must be older than this transaction.
select tests.age('5', '4');
select is((tests.walk('carol', '4:4:', 0)).changes,
    (tests.sync('carol')).changes, 'a delta in pages equals the delta in one page');
select tests.age();
select tests.as('carol', format('api.mark_read(%L, 32)', tests.id('group')));
select is(tests.news('bob'), '{}', 'an unmoved mark is not in the delta');
select tests.as('bob', format('api.mark_read(%L, 32)', tests.id('group')));
select is(tests.news('alice'), array['read group bob 32'], 'a delta has a moved mark');
select tests.age();
update public.user_private set phone_number = '+4512345678' where id = tests.id('bob');
select is(tests.news('bob'), array['me'], 'a private change is in the user''s own delta');
select is(tests.news('alice'), '{}', 'a private change is in no other user''s delta');
update public.user_profiles set bio = 'x' where id = tests.id('bob');
select is(tests.news('alice'), array['profile bob'], 'a public change is in the deltas of contacts');
select is(tests.news('mallory'), '{}', 'a public change is not in a stranger''s delta');
select tests.age();
update public.conversations set title = 'Neu' where id = tests.id('group');
select is(tests.news('alice'), array['conversation group'], 'a delta has a changed title');

-- Many messages.
select tests.age();
select tests.say('direct', 'bob', 'flood ' || n) from generate_series(1, 100) n;
select is(tests.news('alice'),
    tests.numbers('direct', 7, 106) || array['read direct bob 106'], 'a delta has up to a hundred new messages');
select tests.say('direct', 'bob', 'one more');
select is(tests.news('alice'), tests.numbers('direct', 8, 107) || array['read direct bob 107', 'limited direct'],
    'a delta has the newest hundred messages, and is limited');
select tests.age('5', '4');
select is((tests.walk('alice', '4:4:', 3000)).changes, (tests.sync('alice')).changes,
    'a limited delta is the same in pages');

-- Joining and leaving.
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(tests.news('mallory'),
    array['profile alice', 'profile bob', 'profile carol', 'conversation group'] || tests.numbers('group', 13, 32)
    || array['limited group'], 'a joined conversation comes as in a reset');
select is(tests.news('alice'), array['profile mallory', 'conversation group'], 'members get the new member''s profile');
select tests.say('group', 'mallory', 'hi');
select tests.age();
delete from public.conversation_members where user_id = tests.id('mallory');
select is(tests.news('mallory'), array['left group'], 'a removed user gets only "left"');
select tests.say('group', 'alice', 'secret');
select is(tests.news('mallory'), array['left group'], 'a removed user still gets only "left" later');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
select is(tests.news('mallory'),
    array['profile alice', 'profile bob', 'profile carol', 'left group', 'conversation group']
    || tests.numbers('group', 15, 34) || array['limited group'],
    'a user who returns gets "left" and the whole conversation');
delete from public.conversation_members where user_id = tests.id('mallory');
select tests.age();
select is(tests.news('mallory'), '{}', 'the next delta is empty');
update public.user_profiles set bio = 'gone' where id = tests.id('mallory');
select is(tests.news('alice'), array['profile mallory'], 'members get the profile of a former member who wrote');
select tests.age();
select tests.as('mallory', format('api.open_conversation(%L)', tests.id('carol')));
select is(tests.news('carol'), array['profile mallory', 'conversation ?'],
    'a user gets a conversation that another opened');
select is((tests.sync('carol')).conversation_ids @> array[tests.id('group')]
    and cardinality((tests.sync('carol')).conversation_ids) = 2,
    true, 'conversation_ids include the new conversation');

-- Many left conversations, and many of which the page only says that they are limited.
select tests.age();
create temporary table rooms (id uuid);
with made as (
    insert into public.conversations (kind, title)
    select 'group', 'Room ' || n from generate_series(1, 40) n returning id)
insert into rooms select id from made;
insert into app.former_members (conversation_id, user_id, wrote) select id, tests.id('mallory'), false from rooms;
select tests.age('5', '4');
select is((tests.walk('mallory', '4:4:', 390)).pages, 4, 'row 58a: pages are split within left conversations');
select is((tests.walk('mallory', '4:4:', 390)).changes, (tests.sync('mallory')).changes,
    'pages have each left conversation once');
insert into public.conversation_members (conversation_id, user_id) select r.id, tests.id('mallory') from rooms r;
insert into public.messages (conversation_id, sender_id, content) select r.id, tests.id('mallory'), 'x' from rooms r;
select tests.age();
create temporary table whole as select (tests.sync('mallory', null, messages => 0)).changes;
select is(jsonb_array_length(changes -> 'limited'), 40, 'forty conversations are limited without messages') from whole;
select cmp_ok((tests.walk('mallory', null, 0, 0)).pages, '>', 80,
    'row 58a: a limited conversation counts for the size of a page');
select ok((tests.walk('mallory', null, bytes, 0)).changes = changes,
    'has each limited conversation once in pages of ' || bytes)
  from whole, unnest(array[0, 390, 12000]) bytes;

-- The frequent case without changes: the rest of the page is not read.
select tests.age();
create temporary table people as select unnest(array['alice', 'bob', 'carol', 'mallory']) as who;
select is((tests.sync(who)).changes, '{}', who || ' gets an empty delta') from people;
select is((tests.sync(who)).conversation_ids, (tests.sync(who, null)).conversation_ids,
    'an empty delta has the conversation ids of a whole view') from people;
select ok(tests.has_no_changes(who, '4:4:', '{}', (tests.sync(who)).conversation_ids::text),
    who || ' has no changes, and the same conversation ids') from people;
select tests.say('direct', 'alice', 'new');
select is(tests.has_no_changes(who, '4:4:'), who in ('carol', 'mallory'),
    'has_no_changes is true only without new messages: ' || who)
  from people;
select tests.age();
-- Several users in one call, each with its cursor.
select tests.say('direct', 'bob', 'new');
select tests.authenticate_as('postline_feed');
select results_eq($$
    select place, epoch, snapshot, sees_presence from feed.has_no_changes(
        array[app.epoch(), app.epoch(), 'another', app.epoch(), app.epoch()],
        array(select tests.id(who) from unnest(array['mallory', 'alice', 'mallory', 'mallory', 'mallory']) who),
        array['4:4:', '4:4:', '4:4:', '99999999999:99999999999:', '3:3:']::pg_snapshot[])
$$, $$values (1, app.epoch(), pg_current_snapshot()::text, true)$$,
    'does not return users with changes, another epoch, or an old or future cursor');
select is((select count(*) from feed.has_no_changes('{}', '{}', '{}')), 0::bigint, 'returns nothing for no users');
select tests.owner();
select tests.age();
insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 511);
select is(tests.has_no_changes('alice', '4:4:'), true, 'checks the owners of 511 changed profiles');
insert into auth.users (id, is_anonymous) values (gen_random_uuid(), true);
select is(tests.has_no_changes('alice', '4:4:'), false, 'does not check the owners of 512 changed profiles');
select tests.age();
-- Their conversations: 32 users in 256 groups, in which alice is not.
savepoint bounded;
create temporary table crowd as
select array(select p.id from public.user_profiles p
              where not exists (select from tests.ids i where i.id = p.id) order by p.id limit 32) as ids;
set local session_replication_role = replica;
with made as (
    insert into public.conversations (kind, title, changed_xid)
    select 'group', 'Crowd', '3' from generate_series(1, 256) returning id)
insert into public.conversation_members (conversation_id, user_id, last_read_seq, joined_xid, changed_xid)
select m.id, u.id, 0, '3', '3' from made m, crowd, unnest(ids) u (id);
create temporary table seat as
select m.conversation_id, m.user_id from public.conversation_members m, crowd where m.user_id = any (ids) limit 1;
update public.user_profiles set changed_xid = '5', public_changed_xid = '5' from crowd where id = any (ids);
select is(tests.has_no_changes('alice', '4:4:'), false,
    'does not check the conversations of users with changed profiles beyond 8,191');
select is(tests.has_no_changes('alice', '6:6:'), true, 'changes that a cursor has seen do not count');
savepoint one_less;
delete from public.conversation_members m using seat s
 where m.conversation_id = s.conversation_id and m.user_id = s.user_id;
select is(tests.has_no_changes('alice', '4:4:'), true,
    'checks up to 8,191 conversations of users with changed profiles');
insert into app.former_members (conversation_id, user_id, wrote, changed_xid)
select tests.id('direct'), ids[1], false, '3' from crowd;
update public.user_profiles set changed_xid = '6' where id = (select ids[1] from crowd);
select is(tests.has_no_changes('alice', '4:4:'), false, 'conversations that changed users have left count too');
select is(tests.has_no_changes('alice', '6:6:'), false, 'a conversation that a changed user has left is checked');
select is(tests.has_no_changes('carol', '6:6:'), true, 'users who are not in that conversation have no changes');
rollback to one_less;
update public.user_profiles set changed_xid = '3', public_changed_xid = '3' where changed_xid = '5';
insert into public.presence (user_id, is_online, changed_xid) select u.id, true, '5' from crowd, unnest(ids) u (id);
select is(tests.has_no_changes('alice', '4:4:'), false,
    'does not check the conversations of users with changed presence beyond 8,191');
delete from public.conversation_members m using seat s
 where m.conversation_id = s.conversation_id and m.user_id = s.user_id;
select is(tests.has_no_changes('alice', '4:4:'), true,
    'checks up to 8,191 conversations of users with changed presence');
set local session_replication_role = origin;
rollback to bounded;
with made as (
    insert into public.conversations (kind, title)
    select 'group', 'Another room'
      from generate_series(1, 257 - (
        select count(*) from public.conversation_members m where m.user_id = tests.id('mallory')))
    returning id)
insert into public.conversation_members (conversation_id, user_id) select m.id, tests.id('mallory') from made m;
select tests.age();
select is(tests.has_no_changes('mallory', '4:4:'), false, 'does not return a user in 257 conversations');
delete from public.conversation_members m
 where (m.conversation_id, m.user_id) in (
    select o.conversation_id, o.user_id from public.conversation_members o
     where o.user_id = tests.id('mallory') limit 1);
select tests.age();
select is(tests.has_no_changes('mallory', '4:4:'), true, 'returns a user in 256 conversations');
select is(tests.account(format('accounts.delete_user(%L, null)', tests.id('mallory'))), '{"deleted":true}',
    'a user is deleted');
select tests.age();
select is((tests.sync('mallory')).conversation_ids, '{}', 'a deleted user has no conversation ids');

-- Users who wrote and left stay visible to the members and to those who join.
select tests.make_user(name) from unnest(array['dave', 'erin', 'frank']) name;
with c as (insert into public.conversations (kind, title) values ('group', 'Crew') returning id)
insert into tests.ids select 'crew', id from c;
insert into public.conversation_members (conversation_id, user_id)
select tests.id('crew'), tests.id(who) from unnest(array['dave', 'erin', 'frank']) who;
select tests.say('crew', 'erin', 'Goodbye.');
delete from public.conversation_members where user_id in (tests.id('erin'), tests.id('frank'));
select tests.age();
select is(tests.words((tests.sync('dave', null)).changes), array['me', 'profile erin', 'conversation crew', 'crew 1'],
    'a reset has former members who wrote, not those who only read');
select is((tests.walk('dave', null, 390)).changes, (tests.sync('dave', null)).changes,
    'the reset is the same in pages');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('crew'), tests.id('bob'));
select is((tests.news('bob'))[1:2], array['profile dave', 'profile erin'],
    'a new member gets the profiles of former members who wrote');
select is(tests.news('dave'), array['profile bob', 'conversation crew'], 'members do not get those profiles again');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('crew'), tests.id('frank'));
select tests.say('crew', 'frank', 'Hello, and goodbye.');
delete from public.conversation_members where user_id in (tests.id('bob'), tests.id('frank'));
select is(tests.news('dave'), array['profile frank', 'conversation crew', 'crew 2'],
    'a delta has the profile of a user who joined, wrote and left');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('crew'), tests.id('frank'));
delete from public.conversation_members where user_id in (tests.id('frank'));
select is(tests.news('dave'), array['conversation crew'], 'the next delta does not have that profile');

-- The function that nodes call: the same page, and whether it may become a cursor at once.
select tests.authenticate_as('alice');
select results_eq($$
    select epoch_now, snapshot, reset, next_position, changes, conversation_ids
      from app.sync_page(app.epoch(), '3:3:', null, null, 20, 3000)
$$, $$select * from api.sync(app.epoch(), '3:3:', null, null, 20, 3000)$$,
'sync_page returns the same page as api.sync');
select isnt(is_durable, null, 'sync_page returns whether the log is flushed')
  from app.sync_page(app.epoch(), '4:4:', null, null, 20, 1000);
select tests.owner();

-- The conversations that a delta reads if little has changed, and if much has.
insert into public.conversation_members (conversation_id, user_id)
select tests.id('crew'), tests.id(who) from unnest(array['alice', 'carol']) who;
select tests.say('group', 'alice', 'last');
select tests.age();
update public.user_profiles set bio = 'one' where id = tests.id('carol');
select tests.authenticate_as('alice');
select is((select array[cardinality(touched), has_profiles::integer, has_members::integer]
             from app.changes_since('4:4:', null)),
    array[1, 1, 0], 'one of the conversations with the owner of a changed profile is read');
select tests.owner();
select tests.as('carol', format('api.mark_read(%L, %s)', id, (tests.conversation(name)).last_seq))
  from tests.ids where name = 'group';
select tests.authenticate_as('alice');
select is((select array[touched @> array[tests.id('group')], has_members] from app.changes_since('4:4:', null)),
    array[true, true], 'a conversation with changed members is read');
select tests.owner();
select tests.make_user('newcomer');
select tests.authenticate_as('newcomer');
select is((select touched from app.changes_since('4:4:', null)), '{}', 'the conversations of others are not told');
select tests.owner();
insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 64);
select tests.authenticate_as('alice');
select is((select touched from app.changes_since('4:4:', null)), null,
    'all conversations are read if more has changed than is checked');
select tests.owner();
select is((tests.news('alice'))[1:1] || array(select * from unnest(tests.news('alice')) w where w like 'read%'),
    array['profile carol', 'read group carol 35'], 'that delta has the changes');

-- A page ends after a time, and the next continues: here after each step of each section.
select tests.age();
insert into public.conversations (kind, title, created_by)
select 'group', 'many ' || n, tests.id('erin') from generate_series(1, 70) n;
insert into public.conversation_members (conversation_id, user_id)
select c.id, u from public.conversations c, unnest(array[tests.id('erin'), tests.id('frank')]) u
 where c.title like 'many %';
select tests.make_user('crowd' || n) from generate_series(1, 40) n;
insert into public.conversation_members (conversation_id, user_id)
select c.id, i.id from public.conversations c, tests.ids i
 where c.title in ('many 1', 'many 2', 'many 3') and i.name like 'crowd%';
delete from public.conversation_members m using tests.ids i
 where m.user_id = i.id and i.name between 'crowd30' and 'crowd40';
update app.former_members f set wrote = true from tests.ids i where f.user_id = i.id and i.name like 'crowd%';
select tests.age();
-- With all kinds of changes.
update public.user_profiles set bio = 'changed' where id in (select i.id from tests.ids i where i.name like 'crowd%');
insert into public.presence (user_id, is_online) select i.id, true from tests.ids i where i.name like 'crowd%';
update public.conversations set title = title || '!' where title like 'many 1%';
insert into app.former_members (conversation_id, user_id, wrote)
select r.id, i.id, false from (select id from rooms limit 3) r, tests.ids i where i.name in ('erin', 'frank');
insert into public.messages (conversation_id, sender_id, content)
select c.id, tests.id('erin'), 'in ' || c.title from public.conversations c where c.title like 'many %'
   and c.title not like '%7%';
select tests.age('5', '4');
create temporary table views as
select who, since, (tests.sync(who, since)).changes
  from unnest(array['erin', 'frank']) who, unnest(array[null, '4:4:']) since;
create or replace function app.page_time() returns interval language sql immutable as
    $$ select interval '-1 second' $$;
create or replace function app.step_members() returns integer language sql immutable as $$ select 1 $$;
select is(w.changes, h.changes, format('%s gets the same changes since %s in pages that end after a time', h.who,
                                       h.since))
  from views h cross join lateral tests.walk(h.who, h.since, 524288) w;
select is((tests.walk('erin', '4:4:', 524288)).sections,
    array['left', 'profiles', 'presence', 'conversations', 'messages', 'reads', null],
    'pages end after a time in each section');
select is(w.changes, h.changes, 'that walk also has pages that end by size')
  from views h cross join lateral tests.walk(h.who, h.since, 3000) w;

-- Other users' conversations do not appear.
select unalike((tests.sync('mallory', null)).changes::text, '%secret%',
    'a stranger''s view contains nothing of the conversation');
select set_config('role', 'authenticated', true);
select throws_ok('select api.sync(null, null, null, null, 20, 1)', 'PL002', null,
    'api.sync without claims is unauthenticated');
select throws_ok('select app.sync_page(null, null, null, null, 20, 1)', 'PL002', null,
    'app.sync_page without claims is unauthenticated');
select tests.owner();

select * from finish();
rollback;
