-- Every table, read and written as every role: the number of rows, or 42501.
begin;
select no_plan();
select tests.make_world();
select tests.say('direct', 'alice', 'hello');
select tests.say('group', 'bob', 'hello all');
insert into public.username_history (user_id, old_username, held_until) values (tests.id('alice'), 'tap_old', now());
delete from public.conversation_members where user_id = tests.id('carol');
select app.report_presence(gen_random_uuid(), 10, array(select id from tests.ids), '{}', true);

create temporary table expected (who text, statement text, outcome text);
insert into expected
-- Reads: what the four users see of the world's rows. The where excludes other rows.
select who, format('select from %s where %s', t.name, t.mine), case
         when who = 'service_role' and t.name = 'app.former_members' then '1'
         when who = 'service_role'
              and t.name in ('app.sessions', 'app.merged_guests', 'app.message_moves', 'app.settings', 'app.nodes',
                             'app.node_users', 'app.unsettled_users', 'auth.users') then '42501'
         when who = 'service_role' then t.everything
         when who = 'postline_feed' then t.feed
         when who = 'alice' then t.alice
         when who = 'mallory' then t.mallory
         when who = 'carol' then t.carol
         when who = 'anon' and t.name = 'public.built_in_avatars' then '1'
         else '42501' end
  from (values
        ('public.built_in_avatars', $$id = 'fox'$$, '1', '42501', '1', '1', '1'),
        ('public.user_profiles', $$username like 'tap\_%'$$, '4', '4', '4', '4', '4'),
        ('public.user_private', $$email like 'tap.%'$$, '4', '4', '1', '1', '1'),
        ('public.username_history', $$old_username = 'tap_old'$$, '1', '42501', '1', '0', '0'),
        ('public.conversations', $$id in (tests.id('direct'), tests.id('group'))$$, '2', '2', '2', '0', '0'),
        ('public.conversation_members', $$conversation_id in (tests.id('direct'), tests.id('group'))$$,
            '4', '4', '4', '0', '0'),
        ('public.messages', $$conversation_id in (tests.id('direct'), tests.id('group'))$$, '2', '2', '2', '0', '0'),
        ('public.presence', 'user_id in (select id from tests.ids)', '4', '4', '2', '1', '1'),
        ('app.former_members', $$conversation_id = tests.id('group')$$, '1', '1', '1', '0', '1'),
        ('app.nodes', 'true', '42501', '42501', '42501', '42501', '42501'),
        ('app.node_users', 'true', '42501', '42501', '42501', '42501', '42501'),
        ('app.unsettled_users', 'true', '42501', '42501', '42501', '42501', '42501'),
        ('rest.user_profiles', $$username like 'tap\_%'$$, '42501', '42501', '4', '4', '4'),
        ('rest.conversations', $$id in (tests.id('direct'), tests.id('group'))$$, '42501', '42501', '2', '0', '0'),
        ('rest.messages', $$conversation_id in (tests.id('direct'), tests.id('group'))$$,
            '42501', '42501', '2', '0', '0'),
        ('app.sessions', 'true', '42501', '42501', '42501', '42501', '42501'),
        ('app.merged_guests', 'true', '42501', '42501', '42501', '42501', '42501'),
        ('app.message_moves', 'true', '42501', '42501', '42501', '42501', '42501'),
        ('app.settings', 'true', '42501', '42501', '42501', '42501', '42501'),
        ('auth.users', 'true', '42501', '42501', '42501', '42501', '42501'))
       as t (name, mine, everything, feed, alice, mallory, carol),
       unnest(array['service_role', 'postline_feed', 'alice', 'mallory', 'carol', 'anon', 'postline_accounts',
                    'tests_login']) who;

-- Writes of roles that may write nothing.
insert into expected
select who, statement, '42501'
  from unnest(array['anon', 'postline_feed', 'postline_accounts', 'tests_login']) who,
       unnest(array[
        $$insert into public.built_in_avatars values ('x', 'X', '#000000', 1)$$,
        $$insert into public.messages (conversation_id, sender_id, content)
            values (tests.id('direct'), tests.id('alice'), 'x')$$,
        $$insert into public.conversations (participant1_id, participant2_id)
            values (tests.id('alice'), tests.id('mallory'))$$,
        $$insert into public.conversation_members (conversation_id, user_id)
            values (tests.id('group'), tests.id('mallory'))$$,
        $$update public.user_profiles set bio = 'x'$$, $$update public.user_private set height_cm = 100$$,
        $$update public.conversations set title = 'x'$$, $$update public.conversation_members set last_read_seq = 1$$,
        $$update public.messages set content = 'x'$$, $$update public.username_history set old_username = 'x'$$,
        $$delete from public.conversation_members$$, $$delete from public.messages$$,
        $$delete from public.user_profiles$$, $$delete from public.conversations$$,
        $$delete from app.former_members$$, $$delete from public.user_private$$,
        $$insert into public.presence (user_id) values (tests.id('alice'))$$, $$delete from public.presence$$,
        $$update public.presence set is_online = false$$, $$delete from app.nodes$$, $$delete from app.node_users$$,
        $$insert into app.nodes values (gen_random_uuid(), now())$$, $$update app.nodes set lease_until = now()$$,
        $$insert into app.node_users values (gen_random_uuid(), tests.id('alice'))$$,
        $$insert into app.sessions (user_id) values (tests.id('alice'))$$, $$update app.settings set value = '9'$$,
        $$insert into app.settings values ('clock_offset', '1 year')$$, $$delete from public.username_history$$,
        $$insert into app.merged_guests (guest_id, account_id) values (tests.id('alice'), tests.id('mallory'))$$,
        $$insert into rest.messages (conversation_id, sender_id, content)
            values (tests.id('direct'), tests.id('alice'), 'x')$$,
        $$insert into rest.conversations (participant1_id, participant2_id)
            values (tests.id('alice'), tests.id('mallory'))$$,
        $$update rest.messages set is_read = true$$, $$update rest.messages set content = 'x'$$,
        $$update rest.conversations set title = 'x'$$, $$update rest.user_profiles set bio = 'x'$$,
        $$delete from rest.messages$$, $$delete from rest.conversations$$,
        $$delete from rest.user_profiles$$]) statement;

insert into expected values
-- A user: only its own rows.
('alice', $$update public.user_profiles set bio = 'x'$$, '1'),
('alice', $$update public.user_profiles set bio = 'x' where id = tests.id('bob')$$, '0'),
('alice', $$update public.user_profiles set is_verified = true$$, '42501'),
('alice', $$update public.user_profiles set attributes = '{"tier":"gold"}'$$, '42501'),
('alice', $$update public.user_profiles set username = 'tap_other'$$, '1'),
('alice', $$update public.user_profiles set username = 'tap_other' where id = tests.id('bob')$$, '0'),
('alice', $$update public.user_profiles set is_deleted = true$$, '42501'),
('alice', $$update public.user_profiles set version = 9$$, '42501'),
('alice', $$update public.user_profiles set changed_xid = '3'$$, '42501'),
('alice', $$update public.user_profiles set is_guest = true$$, '42501'),
('alice', $$insert into public.user_profiles (id) values (gen_random_uuid())$$, '42501'),
('alice', $$delete from public.user_profiles$$, '42501'),
('alice', $$update public.user_private set height_cm = 170$$, '1'),
('alice', $$update public.user_private set height_cm = 170 where id = tests.id('bob')$$, '0'),
('alice', $$update public.user_private set email = 'x@example.org'$$, '42501'),
('alice', $$update public.user_private set phone_verified = true$$, '42501'),
('alice', $$insert into public.user_private (id) values (tests.id('alice'))$$, '42501'),
('alice', $$delete from public.user_private$$, '42501'),
('alice', $$insert into public.username_history (user_id, old_username, held_until)
    values (tests.id('alice'), 'x', now())$$, '42501'),
('alice', $$delete from public.username_history$$, '42501'),
('alice', $$insert into public.built_in_avatars values ('x', 'X', '#000000', 1)$$, '42501'),
('alice', $$insert into public.conversations (participant1_id, participant2_id)
    values (tests.id('alice'), tests.id('mallory'))$$, '1'),
('alice', $$insert into public.conversations (participant1_id, participant2_id)
    values (tests.id('mallory'), tests.id('alice'))$$, '1'),
('alice', $$insert into public.conversations (participant1_id, participant2_id)
    values (tests.id('carol'), tests.id('mallory'))$$, '42501'),
('alice', $$insert into public.conversations (kind, title) values ('group', 'x')$$, '42501'),
('alice', $$insert into public.conversations (participant1_id, participant2_id, last_seq)
    values (tests.id('alice'), tests.id('mallory'), 9)$$, '42501'),
-- alice owns the group, bob is its admin.
('alice', $$update public.conversations set title = 'x'$$, '1'),
('bob', $$update public.conversations set title = 'x'$$, '1'),
('carol', $$update public.conversations set title = 'x'$$, '0'),
('mallory', $$update public.conversations set title = 'x'$$, '0'),
('alice', $$update public.conversations set title = 'x' where kind = 'direct'$$, '0'),
('alice', $$update public.conversations set title = null$$, 'PL001'),
('alice', $$update public.conversations set title = 'x', version = 9$$, '42501'),
('alice', $$update public.conversations set kind = 'direct'$$, '42501'),
('alice', $$update public.conversations set created_by = tests.id('bob')$$, '42501'),
('alice', $$update public.conversations set last_seq = 0$$, '42501'),
('alice', $$delete from public.conversations$$, '42501'),
('alice', $$insert into public.conversation_members (conversation_id, user_id)
    values (tests.id('group'), tests.id('mallory'))$$, '1'),
('bob', $$insert into public.conversation_members (conversation_id, user_id)
    values (tests.id('group'), tests.id('mallory'))$$, '1'),
('carol', $$insert into public.conversation_members (conversation_id, user_id)
    values (tests.id('group'), tests.id('carol'))$$, '42501'),
('alice', $$insert into public.conversation_members (conversation_id, user_id)
    values (tests.id('direct'), tests.id('mallory'))$$, '42501'),
('mallory', $$insert into public.conversation_members (conversation_id, user_id)
    values (tests.id('direct'), tests.id('mallory'))$$, '42501'),
('mallory', $$insert into public.conversation_members (conversation_id, user_id)
    values (gen_random_uuid(), tests.id('mallory'))$$, '42501'),
('alice', $$insert into public.conversation_members (conversation_id, user_id, role)
    values (tests.id('group'), tests.id('mallory'), 'admin')$$, '42501'),
('alice', $$insert into public.conversation_members (conversation_id, user_id, joined_at)
    values (tests.id('group'), tests.id('mallory'), '2000-01-01')$$, '42501'),
('alice', $$insert into public.conversation_members (conversation_id, user_id, last_read_seq)
    values (tests.id('group'), tests.id('mallory'), 0)$$, '42501'),
('mallory', $$insert into public.conversation_members (conversation_id, user_id)
    values (tests.id('group'), tests.id('mallory'))$$, '42501'),
('alice', $$update public.conversation_members set last_read_seq = 1
    where conversation_id = tests.id('group')$$, '1'),
('mallory', $$update public.conversation_members set last_read_seq = 1
    where conversation_id = tests.id('group')$$, '0'),
('alice', $$update public.conversation_members set role = 'owner'$$, '42501'),
('alice', $$update public.conversation_members set joined_xid = '3'$$, '42501'),
('bob', $$update public.conversation_members set role = 'owner' where user_id = tests.id('bob')$$, '42501'),
('bob', $$update public.conversation_members set user_id = tests.id('mallory')$$, '42501'),
('alice', $$delete from public.conversation_members where conversation_id = tests.id('direct')$$, '0'),
('alice', $$delete from public.conversation_members where user_id = tests.id('bob')$$, '1'),
('bob', $$delete from public.conversation_members where user_id = tests.id('alice')$$, '0'),
('bob', $$delete from public.conversation_members where user_id = tests.id('bob')$$, '1'),
('bob', $$delete from public.conversation_members$$, '1'),
('mallory', $$delete from public.conversation_members$$, '0'),
('carol', $$delete from public.conversation_members$$, '0'),
('alice', $$insert into public.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('alice'), 'x')$$, '1'),
('alice', $$insert into public.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('bob'), 'x')$$, 'PL008'),
('alice', $$insert into public.messages (conversation_id, sender_id, content, seq)
    values (tests.id('direct'), tests.id('alice'), 'x', 7)$$, '42501'),
('alice', $$insert into public.messages (conversation_id, sender_id, content, created_at)
    values (tests.id('direct'), tests.id('alice'), 'x', now())$$, '42501'),
('alice', $$insert into public.messages (conversation_id, sender_id, content, kind)
    values (tests.id('direct'), tests.id('alice'), 'x', 'system')$$, '42501'),
('mallory', $$insert into public.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('mallory'), 'x')$$, 'PL008'),
('mallory', $$insert into public.messages (conversation_id, sender_id, content)
    values (gen_random_uuid(), tests.id('mallory'), 'x')$$, 'PL008'),
('mallory', $$insert into public.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('alice'), 'x')$$, 'PL008'),
('carol', $$insert into public.messages (conversation_id, sender_id, content)
    values (tests.id('group'), tests.id('carol'), 'x')$$, 'PL008'),
-- alice wrote in the direct conversation, bob in the group.
('alice', $$update public.messages set content = 'x' where sender_id = tests.id('alice')$$, '1'),
('alice', $$update public.messages set content = 'x' where sender_id = tests.id('bob')$$, 'PL007'),
('alice', $$update public.messages set content = 'x'$$, 'PL007'),
('bob', $$update public.messages set content = 'x'$$, '1'),
('bob', $$update public.messages set content = 'x' where conversation_id = tests.id('direct')$$, '0'),
('bob', $$update public.messages set deleted_at = now() where conversation_id = tests.id('direct')$$, '0'),
('alice', $$update public.messages set deleted_at = now()$$, '2'),
('mallory', $$update public.messages set content = 'x'$$, '0'),
('mallory', $$update public.messages set deleted_at = now()$$, '0'),
('carol', $$update public.messages set deleted_at = now()$$, '0'),
('alice', $$update public.messages set content = 'x', edited_at = null$$, '42501'),
('alice', $$update public.messages set version = 9$$, '42501'),
('alice', $$update public.messages set kind = 'system'$$, '42501'),
('alice', $$update public.messages set attachment = null$$, '42501'),
('alice', $$update public.messages set sender_id = tests.id('bob')$$, '42501'),
('alice', $$update public.messages set changed_xid = '3'$$, '42501'),
('alice', $$delete from public.messages$$, '42501'),
-- The views for apps: the rights of the table, and `is_read`, which moves the user's own read mark.
('alice', $$update rest.user_profiles set bio = 'x'$$, '1'),
('alice', $$update rest.user_profiles set bio = 'x' where id = tests.id('bob')$$, '0'),
('alice', $$update rest.user_profiles set is_verified = true$$, '42501'),
('alice', $$update rest.user_profiles set attributes = '{"tier":"gold"}'$$, '42501'),
('alice', $$delete from rest.user_profiles$$, '42501'),
('alice', $$insert into rest.conversations (participant1_id, participant2_id)
    values (tests.id('alice'), tests.id('mallory'))$$, '1'),
('alice', $$insert into rest.conversations (participant1_id, participant2_id)
    values (tests.id('carol'), tests.id('mallory'))$$, '42501'),
('alice', $$insert into rest.conversations (participant1_id, participant2_id, last_seq)
    values (tests.id('alice'), tests.id('mallory'), 9)$$, '42501'),
('alice', $$update rest.conversations set title = 'x'$$, '1'),
('carol', $$update rest.conversations set title = 'x'$$, '0'),
('alice', $$update rest.conversations set unread_count = 0$$, '0A000'),
('alice', $$update rest.conversations set last_seq = 0$$, '42501'),
('alice', $$delete from rest.conversations$$, '42501'),
('alice', $$insert into rest.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('alice'), 'x')$$, '1'),
('alice', $$insert into rest.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('bob'), 'x')$$, 'PL008'),
('alice', $$insert into rest.messages (conversation_id, sender_id, content, is_read)
    values (tests.id('direct'), tests.id('alice'), 'x', true)$$, '0A000'),
('mallory', $$insert into rest.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('mallory'), 'x')$$, 'PL008'),
('carol', $$insert into rest.messages (conversation_id, sender_id, content)
    values (tests.id('group'), tests.id('carol'), 'x')$$, 'PL008'),
('alice', $$update rest.messages set is_read = true$$, '2'),
('mallory', $$update rest.messages set is_read = true$$, '0'),
('carol', $$update rest.messages set is_read = true$$, '0'),
('alice', $$update rest.messages set content = 'x' where sender_id = tests.id('alice')$$, '1'),
('alice', $$update rest.messages set content = 'x' where sender_id = tests.id('bob')$$, 'PL007'),
('bob', $$update rest.messages set content = 'x'$$, '1'),
('bob', $$update rest.messages set content = 'x' where conversation_id = tests.id('direct')$$, '0'),
('bob', $$update rest.messages set deleted_at = now() where conversation_id = tests.id('direct')$$, '0'),
('alice', $$update rest.messages set deleted_at = now()$$, '2'),
('mallory', $$update rest.messages set content = 'x'$$, '0'),
('carol', $$update rest.messages set deleted_at = now()$$, '0'),
('alice', $$update rest.messages set seq = 9$$, '42501'),
('alice', $$update rest.messages set edited_at = null$$, '42501'),
('alice', $$update rest.messages set sender_id = tests.id('bob')$$, '42501'),
('alice', $$delete from rest.messages$$, '42501'),
('alice', $$select app.move_recorded_mark()$$, '42501'),
('service_role', $$select from rest.messages$$, '42501'),
('alice', $$insert into app.former_members (conversation_id, user_id, wrote)
    values (tests.id('group'), tests.id('alice'), true)$$, '42501'),
('alice', $$delete from app.former_members$$, '42501'),
('alice', $$select is_hidden from public.presence$$, '42501'),
('alice', $$select hidden_xid from public.presence$$, '42501'),
('alice', $$select user_id, is_online, last_seen_at, changed_xid from public.presence$$, '2'),
('alice', $$insert into public.presence (user_id, is_online) values (tests.id('alice'), true)$$, '42501'),
('alice', $$update public.presence set is_online = false$$, '42501'),
('alice', $$delete from public.presence$$, '42501'),
('alice', $$select app.report_presence(gen_random_uuid(), 10, '{}', '{}', true)$$, '42501'),
('alice', $$select app.end_nodes()$$, '42501'),
('alice', $$select app.update_presence('{}')$$, '42501'),
('alice', $$select app.hide_presence(tests.id('bob'))$$, '42501'),
('alice', $$select app.show_presence(tests.id('bob'))$$, '42501'),
('alice', $$select feed.poll_changes('4:4:', '{presence}')$$, '42501'),
('alice', $$select from app.live_page(null, null, null, null, 20, 1000)$$, '1'),
('alice', $$select from app.presence_visible_users()$$, '2'),
('mallory', $$select from app.presence_visible_users()$$, '0'),
('service_role', $$insert into public.presence (user_id) values (tests.id('alice'))$$, '42501'),
('service_role', $$update public.presence set is_online = false$$, '42501'),
('service_role', $$delete from public.presence$$, '42501'),
('service_role', $$select app.report_presence(gen_random_uuid(), 10, '{}', '{}', true)$$, '42501'),
('service_role', $$select app.end_nodes()$$, '42501'),
('service_role', $$select api.presence(array[tests.id('alice')])$$, '42501'),
('postline_feed', $$select app.report_presence(gen_random_uuid(), 10, '{}', '{}', true)$$, '1'),
('postline_feed', $$select app.end_nodes()$$, '1'),
('postline_feed', $$select app.update_presence('{}')$$, '42501'),
('postline_feed', $$select app.hide_presence(tests.id('alice'))$$, '42501'),
('postline_feed', $$select app.show_presence(tests.id('alice'))$$, '42501'),
('postline_feed', $$select api.presence(array[tests.id('alice')])$$, '42501'),
('postline_feed', $$select from feed.poll_changes(null, '{presence}')$$, '1'),
('postline_accounts', $$select app.report_presence(gen_random_uuid(), 10, '{}', '{}', true)$$, '42501'),
('postline_accounts', $$select feed.poll_changes('4:4:', '{presence}')$$, '42501'),
('anon', $$select api.presence(array[tests.id('alice')])$$, '42501'),
('anon', $$select app.report_presence(gen_random_uuid(), 10, '{}', '{}', true)$$, '42501'),
('anon', $$select app.live_page(null, null, null, null, 20, 1000)$$, '42501'),
('tests_login', $$select app.report_presence(gen_random_uuid(), 10, '{}', '{}', true)$$, '42501'),
('tests_login', $$select feed.poll_changes('4:4:', '{presence}')$$, '42501'),
('alice', $$insert into app.sessions (user_id) values (tests.id('alice'))$$, '42501'),
('alice', $$select accounts.credentials('tap.bob@example.org')$$, '42501'),
('alice', $$select accounts.merge_guest(tests.id('alice'), null, gen_random_uuid(), 1, 10)$$, '42501'),
('alice', $$select accounts.delete_user(tests.id('bob'), null)$$, '42501'),
('alice', $$select app.merge_users(tests.id('bob'), tests.id('alice'))$$, '42501'),
('alice', $$select app.leave_group(tests.id('group'), tests.id('bob'))$$, '42501'),
('alice', $$insert into app.settings values ('clock_offset', '1 year')$$, '42501'),
('service_role', $$insert into app.settings values ('clock_offset', '1 year')$$, '42501'),
('alice', $$delete from public.username_history$$, '42501'),
('alice', $$insert into public.username_history (user_id, old_username, held_until)
    values (tests.id('alice'), 'tap_bob', now())$$, '42501'),
('alice', $$select feed.read_changes('4:4:')$$, '42501'),
('alice', $$select feed.poll_changes('4:4:', '{}')$$, '42501'),
('alice', $$select from feed.has_no_changes('{}', '{}', '{}')$$, '42501'),
('alice', $$select from app.sync_page(null, null, null, null, 20, 1000)$$, '1'),
('alice', $$select app.renew_epoch()$$, '42501'),
('alice', $$select app.grant_service_roles('authenticated')$$, '42501'),
('alice', $$select app.create_login_role('tests_other', null)$$, '42501'),
('alice', $$select app.record_schema_version('x')$$, '42501'),
('alice', $$select app.ensure_owner(tests.id('group'))$$, '42501'),
('alice', $$select app.touch_conversation(tests.id('group'))$$, '42501'),
('service_role', $$select app.create_login_role('tests_other', null)$$, '42501'),
('service_role', $$select feed.poll_changes('4:4:', '{}')$$, '42501'),
('service_role', $$select from feed.has_no_changes('{}', '{}', '{}')$$, '42501'),
('service_role', $$select app.sync_page(null, null, null, null, 20, 1000)$$, '42501'),
('postline_feed', $$select from feed.poll_changes(null, '{}')$$, '1'),
('postline_feed', $$select from feed.has_no_changes('{}', '{}', '{}')$$, '0'),
('postline_feed', $$select app.sync_page(null, null, null, null, 20, 1000)$$, '42501'),
('postline_feed', $$select app.create_login_role('tests_other', null)$$, '42501'),
('postline_feed', $$select app.record_schema_version('x')$$, '42501'),
('postline_feed', $$select api.me()$$, '42501'),
('postline_accounts', $$select api.me()$$, '42501'),
('postline_accounts', $$select feed.read_changes('4:4:')$$, '42501'),
('postline_accounts', $$select feed.poll_changes('4:4:', '{}')$$, '42501'),
('postline_accounts', $$select from feed.has_no_changes('{}', '{}', '{}')$$, '42501'),
('postline_accounts', $$select app.sync_page(null, null, null, null, 20, 1000)$$, '42501'),
('postline_accounts', $$select app.create_login_role('tests_other', null)$$, '42501'),
('anon', $$select api.me()$$, '42501'),
('anon', $$select api.avatars()$$, '1'),
('anon', $$select app.sync_page(null, null, null, null, 20, 1000)$$, '42501'),
('anon', $$select feed.poll_changes('4:4:', '{}')$$, '42501'),
('anon', $$select from feed.has_no_changes('{}', '{}', '{}')$$, '42501'),
('tests_login', $$select feed.poll_changes('4:4:', '{}')$$, '42501'),
('tests_login', $$select from feed.has_no_changes('{}', '{}', '{}')$$, '42501'),
('tests_login', $$select app.create_login_role('tests_other', null)$$, '42501'),
('tests_login', $$select api.avatars()$$, '42501'),
('tests_login', $$select app.epoch()$$, '42501'),
-- A trusted backend: every row, with the same triggers.
('service_role', $$update public.user_profiles set attributes = '{"tier":"gold"}' where id = tests.id('alice')$$, '1'),
('service_role', $$insert into public.messages (conversation_id, sender_id, content)
    values (tests.id('direct'), tests.id('bob'), 'x')$$, '1'),
('service_role', $$delete from public.messages$$, '23001'),
('service_role', $$delete from public.conversation_members
    where user_id = tests.id('bob') and conversation_id = tests.id('group')$$, '1');

select is(tests.attempt(who, statement), outcome, who || ': ' || regexp_replace(statement, '\s+', ' ', 'g'))
  from expected;

-- Without claims the role of users is no user.
select set_config('request.jwt.claims', '', true), set_config('role', 'authenticated', true);
select is_empty('select from public.messages', 'a user without claims reads no messages');
select is_empty('select from public.user_private', 'a user without claims reads no private data');
select is_empty('select from public.presence', 'a user without claims reads no presence');
select throws_ok('select api.me()', 'PL002', null, 'api.me without claims is unauthenticated');
select throws_ok('select api.conversations()', 'PL002', null, 'api.conversations without claims is unauthenticated');
select throws_ok('select api.presence(array[gen_random_uuid()])', 'PL002', null,
    'api.presence without claims is unauthenticated');
select throws_ok(format('select api.send_message(%L, %L)', gen_random_uuid(), 'x'),
    'PL002', null, 'api.send_message without claims is unauthenticated');
select throws_ok(format('select api.messages(%L)', tests.id('group')), 'PL002', null,
    'api.messages without claims is unauthenticated');
select tests.owner();

-- No role of a request may create temporary objects.
select tests.authenticate_as('mallory');
select throws_ok('create temporary table messages (id uuid)', '42501', null, 'a user cannot create a temporary table');
select throws_ok('create domain pg_temp.uuid as pg_catalog.uuid', '42501', null,
    'a user cannot create a temporary type');
select tests.owner();

-- If it may, since the owner of the database is another role, a temporary table does not deceive a definer function.
do $$ begin execute format('grant temporary on database %I to authenticated', current_database()); end $$;
select tests.authenticate_as('mallory');
create temporary table conversation_members (conversation_id uuid, user_id uuid);
insert into conversation_members values (tests.id('direct'), tests.id('mallory'));
create temporary table messages (id uuid, conversation_id uuid, content text);
set local search_path = pg_temp, public;
select public.is(app.is_member(tests.id('direct')), false, 'row 37: is_member looks at the real table');
select public.is_empty('select app.my_conversations()', 'row 37: my_conversations looks at the real table');
select public.throws_ok(format('select api.messages(%L)', tests.id('direct')),
    'PL008', null, 'row 37: messages looks at the real table');
select public.throws_ok(format('insert into public.messages (conversation_id, sender_id, content) values (%L, %L, %L)',
        tests.id('direct'), tests.id('mallory'), 'x'),
    'PL008', null, 'row 37: the last-message trigger looks at the real table');
reset search_path;
select tests.owner();

select * from finish();
rollback;
