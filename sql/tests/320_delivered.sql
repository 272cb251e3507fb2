-- Delivered marks: what a node may report, who may read them, and how clients get them. '4:4:' is the snapshot that saw
-- the aged world.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('guest', true);
select tests.say('group', 'alice', 'old ' || n) from generate_series(1, 6) n;
select tests.say('direct', 'alice', 'old ' || n) from generate_series(1, 6) n;
update public.conversation_members set last_read_seq = 0, sent_seq = 0 where user_id <> tests.id('alice');
select tests.age();

-- Reports marks such as 'direct bob 3' as a node does, and returns what was not settled.
create function pg_temp.report(variadic reports text[]) returns text language plpgsql as $$
declare
    outcome record;
begin
    perform tests.authenticate_as('postline_feed');
    select o.large, o.unsettled into outcome
      from (select array_agg(tests.id(split_part(r, ' ', 1)) order by n) as rooms,
                   array_agg(tests.id(split_part(r, ' ', 2)) order by n) as users,
                   array_agg(split_part(r, ' ', 3)::bigint order by n) as seqs
              from unnest(reports) with ordinality u (r, n)) w,
           app.report_delivered(w.rooms, w.users, w.seqs) o;
    perform tests.owner();
    return concat_ws(' ', (select string_agg(i.name, ',') from tests.ids i where i.id = any (outcome.large)),
                     outcome.unsettled);
end $$;
create function pg_temp.marks() returns text language sql as $$
    select coalesce(string_agg(concat_ws(' ', r.name, u.name, d.last_delivered_seq), ', ' order by r.name, u.name), '')
      from public.delivered_marks d
      join tests.ids r on r.id = d.conversation_id join tests.ids u on u.id = d.user_id
$$;
create function pg_temp.poll(since text default '4:4:') returns text[] language sql as $$
    select array(select concat_ws(' ', l.kind, l.conversation, l.member, l.seq)
                   from tests.read_changes(since) l where l.kind = 'delivered' order by 1)
$$;
-- The list `delivered` of all pages of a sync.
create function pg_temp.page(who text, since text, bytes integer default 524288) returns text[] language sql as $$
    select array(select concat_ws(' ', (select i.name from tests.ids i where i.id = (r ->> 'conversation_id')::uuid),
                                  (select i.name from tests.ids i where i.id = (r ->> 'user_id')::uuid),
                                  r ->> 'last_delivered_seq')
                   from tests.pages(who, since, 20, bytes) c, jsonb_array_elements(c -> 'delivered') r order by 1)
$$;
-- The members of a conversation as a user sees them, with read and delivered marks.
create function pg_temp.members(who text, room text) returns text language sql as $$
    select string_agg(concat_ws(' ', i.name, m ->> 'last_read_seq', m ->> 'last_delivered_seq'), ', ' order by i.name)
      from json_array_elements(tests.as(who, format('api.conversation(%L)', tests.id(room)))::json -> 'members') m
      join tests.ids i on i.id = (m ->> 'user_id')::uuid
$$;

-- Reports of a node.
select is(pg_temp.report('direct bob 3', 'group bob 2', 'group carol 99', 'group mallory 3', 'mallory bob 1'), '{}',
    'takes a report');
select is(pg_temp.marks(), 'direct bob 3, group bob 2, group carol 6',
    'row 65a: members have marks, at most at the newest message, and a stranger has none');
select is(pg_temp.report('direct bob 2', 'group bob 4', 'direct alice 6'), '{}', 'takes another');
select is(pg_temp.marks(), 'direct bob 3, group bob 4, group carol 6',
    'row 65a: a mark never moves back, and a sender needs none');
create temporary table before as
select d.conversation_id, d.user_id, d.xmin::text as writer from public.delivered_marks d;
select pg_temp.report('direct bob 3', 'group bob 4', 'group carol 5');
select is((select count(*) from public.delivered_marks d join before b using (conversation_id, user_id)
            where d.xmin::text = b.writer), 3::bigint, 'a mark that is there is not written');
update public.delivered_marks set last_delivered_seq = 1 where user_id = tests.id('bob');
select is(pg_temp.marks(), 'direct bob 3, group bob 4, group carol 6', 'the owner cannot move one back either');

-- Marks that members see.
select is(pg_temp.members('alice', 'group'), 'alice 6 6, bob 0 4, carol 0 6', 'members have delivered marks');
select is(pg_temp.members('alice', 'direct'), 'alice 6 6, bob 0 3', 'in a direct conversation too');
select tests.as('bob', format('api.mark_read(%L, 5)', tests.id('direct')));
select is(pg_temp.members('alice', 'direct'), 'alice 6 6, bob 5 5', 'what was read was delivered');
select pg_temp.report('direct bob 4');
select is(pg_temp.marks(), 'direct bob 3, group bob 4, group carol 6', 'and is not written twice');

-- Pushes and pages: to the other members.
select tests.age();
select is(pg_temp.poll(), '{}', 'an aged world has no changed marks');
select is(pg_temp.page(who, '4:4:'), '{}', 'nor a delta of ' || who) from unnest(array['alice', 'bob', 'mallory']) who;
select pg_temp.report('direct bob 6', 'group bob 5');
select is(pg_temp.poll(), array['delivered direct bob 6', 'delivered group bob 5'], 'a poll has one row for each mark');
select is(array(select distinct l.kind from feed.read_changes('4:4:') l), '{delivered}', 'and no other rows');
select is(pg_temp.page(who, '4:4:'), words, 'the delta of ' || who)
  from (values ('alice', array['direct bob 6', 'group bob 5']), ('carol', array['group bob 5']), ('bob', '{}'),
               ('mallory', '{}')) w (who, words);
savepoint small;
update public.delivered_marks set changed_xid = '5' where changed_xid > '3';
select is(pg_temp.page('alice', '4:4:', bytes => 10), array['direct bob 6', 'group bob 5'], 'in small pages too');
rollback to small;
select is(tests.has_no_changes(who, '4:4:'), answer, 'a reconnect of ' || who)
  from (values ('alice', false), ('carol', false), ('bob', true), ('mallory', true)) w (who, answer);
select is(array(select i.name from feed.users_with_changes('4:4:', array(select id from tests.ids)) u
                  join tests.ids i on i.id = u order by 1), '{alice,carol}', 'the other members have changes');
select is((select count(*) from feed.poll_changes('4:4:', features) where kind is not null), rows,
    'a node with ' || features::text)
  from (values ('{presence,mutes,reactions}'::text[], 0::bigint), ('{delivered}', 2)) w (features, rows);
select is(pg_temp.page('alice', null), '{}', 'a reset has the marks in its conversations');
select is((select count(*) from public.conversation_members m where m.changed_xid > '3')
          + (select count(*) from public.conversations c where c.changed_xid > '3' or c.last_message_xid > '3'),
    0::bigint, 'a mark changes neither members nor conversations');

-- Reconnects after more marks than are walked: those of the user's conversations are read.
select tests.age();
insert into public.conversations (kind, title) select 'group', 'Crowd' from generate_series(1, 2);
insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 300);
insert into public.delivered_marks (conversation_id, user_id, last_delivered_seq)
select c.id, p.id, 1 from public.conversations c cross join (select p.id from public.user_profiles p limit 300) p
 where c.title = 'Crowd';
update public.user_profiles set changed_xid = '3', public_changed_xid = '3' where changed_xid > '3';
update public.conversations set changed_xid = '3' where changed_xid > '3';
select is(tests.has_no_changes('alice', '4:4:'), true, 'none of 600 marks is of her conversations');
select is(pg_temp.page('alice', '4:4:'), '{}', 'nor in her delta');
savepoint marked;
update public.delivered_marks set changed_xid = '5' where conversation_id = tests.id('group');
select is(tests.has_no_changes('alice', '4:4:'), false, 'an older one is');
select is(pg_temp.page('alice', '4:4:'), array['group bob 5', 'group carol 6'], 'and in her delta');
rollback to marked;
delete from public.delivered_marks d using public.conversations c where c.id = d.conversation_id and c.title = 'Crowd';

-- A member who is removed, and one who returns.
select tests.age();
select pg_temp.report('group carol 6', 'group bob 6');
insert into public.delivered_marks values (tests.id('group'), tests.id('mallory'), 6);
select is(pg_temp.poll(), array['delivered group bob 6'], 'row 65a: a mark without a membership is not told');
select is(pg_temp.page('alice', '4:4:'), array['group bob 6'], 'nor in a delta');
select is(pg_temp.members('alice', 'group'), 'alice 6 6, bob 0 6, carol 0 6', 'nor a member');
delete from public.delivered_marks where user_id = tests.id('mallory');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('bob');
select is(pg_temp.marks(), 'direct bob 6, group carol 6', 'row 65a: a removed member has no mark');
select is(pg_temp.poll(), '{}', 'and none is told');
select is(pg_temp.report('group bob 6'), '{}', 'nor can it get one');
select is(pg_temp.marks(), 'direct bob 6, group carol 6', 'while it is no member');
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('bob'));
select tests.say('group', 'alice', 'new');
select is(pg_temp.report(format('group bob %s', (tests.conversation('group')).last_seq)), '{}', 'a returned member');
select is(pg_temp.poll(), '{}', 'its mark is in the conversation that is told');
select is(split_part(pg_temp.members('alice', 'group'), ', ', 2),
    format('bob %s %s', (tests.member('group', 'bob')).last_read_seq, (tests.conversation('group')).last_seq),
    'with its own');

-- Messages that devices have acknowledged, by their cursors.
create function pg_temp.acknowledge(who text, room text, cursor text, epoch text default null) returns text
language plpgsql as $$
declare
    outcome text;
begin
    perform tests.authenticate_as('postline_feed');
    select concat_ws(' ', o.moved, (select string_agg(i.name, ',') from tests.ids i where i.id = any (o.large)),
                     nullif(o.unsettled, '{}')) into outcome
      from app.report_acknowledged(array[tests.id(who)], array[coalesce(acknowledge.epoch, app.epoch())],
                                   array[cursor::pg_snapshot], array[1], array[tests.id(room)]) o;
    perform tests.owner();
    return outcome;
end $$;
savepoint unread;
delete from public.delivered_marks;
update public.conversation_members set last_read_seq = 0, sent_seq = 0 where user_id = tests.id('bob');
select tests.age();
select tests.say('direct', 'alice', 'new'), tests.say('group', 'alice', 'new');
create temporary table sent as select (tests.conversation('direct')).last_seq as direct,
                                      (tests.conversation('group')).last_seq as room;
update public.messages m set sent_xid = '7' from sent s
 where m.conversation_id in (tests.id('direct'), tests.id('group')) and m.sent_xid > '3';
select is(pg_temp.acknowledge('bob', 'direct', '4:4:', 'another'), '0', 'a cursor of another epoch');
select is(pg_temp.acknowledge('mallory', 'direct', '4:4:'), '0', 'a stranger''s cursor');
select is(pg_temp.acknowledge('bob', 'direct', '2:2:'), '0', 'a cursor that sees nothing');
select is(pg_temp.acknowledge('bob', 'direct', '4:4:'), '1', 'a cursor that sees older messages');
select is(pg_temp.marks(), format('direct bob %s', s.direct - 1), 'acknowledges those') from sent s;
select is(pg_temp.acknowledge('bob', 'direct', '7:9:7'), '0', 'a message whose transaction was in progress');
select is(pg_temp.acknowledge('bob', 'direct', '8:8:'), '1', 'a cursor that sees the message');
select is(pg_temp.acknowledge('bob', 'direct', '8:8:'), '0', 'again');
select is(pg_temp.acknowledge('bob', null, '8:8:'), '1', 'a cursor acknowledges all conversations');
select is(pg_temp.marks(), format('direct bob %s, group bob %s', s.direct, s.room)) from sent s;
select is(pg_temp.acknowledge('alice', null, '8:8:'), '0', 'a sender has read its messages');
select tests.say('direct', 'alice', 'hidden');
update public.user_private set preferences = '{"presence": "nobody"}' where id = tests.id('bob');
select is(pg_temp.acknowledge('bob', null, '999999999:999999999:'), '0', 'one who hides its presence has no new marks');
update public.user_private set preferences = '{}' where id = tests.id('bob');
select is(pg_temp.acknowledge('bob', null, '999999999:999999999:'), '1', 'once it shows it, it has');
update sent set direct = direct + 1;
select tests.say('direct', 'alice', 'many ' || n) from generate_series(1, 240) n;
update public.messages m set sent_xid = case when m.seq <= s.direct + 120 then '10' else '12' end::xid8 from sent s
 where m.conversation_id = tests.id('direct') and m.seq > s.direct;
select is(pg_temp.acknowledge('bob', room, '11:11:'), moved, 'of many messages a cursor sees those before the last 100')
  from (values (1, null, '1'), (2, 'direct', '1'), (3, null, '0')) w (n, room, moved);
select is(pg_temp.marks(), format('direct bob %s, group bob %s', s.direct + 120, s.room), 'the mark reaches the last')
  from sent s;
rollback to unread;

-- Deleted users, and large groups.
savepoint deleted;
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is(pg_temp.report('direct bob 99'), '{}', 'a deleted user');
select is(pg_temp.marks() like '%direct bob 6%', true, 'gets no mark');
rollback to deleted;
insert into public.conversation_members (conversation_id, user_id)
select tests.id('group'), p.id from public.user_profiles p
 where not exists (select from tests.ids i where i.id = p.id) limit 29;
select is((select count(*) from public.conversation_members where conversation_id = tests.id('group')), 32::bigint);
select tests.say('group', 'alice', 'newer');
select is(pg_temp.report('group carol 999'), '{}', 'a group of 32');
select is(pg_temp.marks() like format('%%group carol %s%%', (tests.conversation('group')).last_seq), true, 'has marks');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
create temporary table marks as select pg_temp.marks();
select tests.say('group', 'alice', 'newest'), tests.say('direct', 'alice', 'newest');
select is(pg_temp.report('group carol 999', 'group mallory 999', 'direct bob 7'), 'group {}',
    'a node learns which conversations have too many members');
savepoint large;
select is(pg_temp.acknowledge('carol', 'group', '999999999:999999999:'), '0 group', 'also by cursors');
select is(pg_temp.acknowledge('carol', null, '999999999:999999999:'), '0', 'a cursor for all leaves them out');
rollback to large;
select is(pg_temp.marks(), (select replace(m.marks, 'direct bob 6', 'direct bob 7') from marks m),
    'and their marks stay as they are');

-- SQL, as users and trusted backends write it.
select is(tests.attempt(who, statement), outcome, who || ': ' || statement)
  from (values
    ('mallory', format('select from public.delivered_marks where conversation_id = %L', tests.id('direct')), '0'),
    ('alice', format('select from public.delivered_marks where conversation_id = %L', tests.id('direct')), '1'),
    ('alice', 'update public.delivered_marks set last_delivered_seq = 0', '42501'),
    ('alice', 'insert into public.delivered_marks values (gen_random_uuid(), gen_random_uuid(), 1)', '42501'),
    ('alice', 'delete from public.delivered_marks', '42501'),
    ('service_role', 'update public.delivered_marks set last_delivered_seq = 0', '42501'),
    ('alice', 'select app.report_delivered(''{}'', ''{}'', ''{}'')', '42501'),
    ('service_role', 'select app.report_delivered(''{}'', ''{}'', ''{}'')', '42501'),
    ('anon', 'select app.report_delivered(''{}'', ''{}'', ''{}'')', '42501'),
    ('postline_accounts', 'select app.report_delivered(''{}'', ''{}'', ''{}'')', '42501'),
    ('postline_feed', 'select app.report_delivered(''{}'', ''{}'', ''{}'')', '1')) w (who, statement, outcome);

-- Merges of guests. In `shared` the guest has received more; in `quiet` the account.
create function pg_temp.talk(room text, members text[]) returns void language plpgsql as $$
begin
    with c as (insert into public.conversations (kind, title) values ('group', room) returning id)
    insert into tests.ids select room, id from c;
    insert into public.conversation_members (conversation_id, user_id)
    select tests.id(room), tests.id(m) from unnest(members) m;
    perform tests.say(room, 'bob', 'hello ' || n) from generate_series(1, 5) n;
    update public.conversation_members set last_read_seq = 0 where conversation_id = tests.id(room);
end $$;
select pg_temp.talk('shared', array['guest', 'bob', 'alice']), pg_temp.talk('quiet', array['guest', 'bob', 'alice']),
       pg_temp.talk('own', array['guest', 'bob']);
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('guest'), tests.id('bob')) returning id)
insert into tests.ids select 'guest bob', id from c;
select tests.say('guest bob', 'guest', 'hello ' || n) from generate_series(1, 6) n;
delete from public.delivered_marks;
create temporary table marked as select (tests.conversation('own')).last_seq as newest,
                                        (tests.conversation('direct')).last_seq as direct;
select pg_temp.report('shared guest 5', 'shared alice 2', 'quiet guest 2', 'quiet alice 4', 'own guest 3',
                      'direct bob 99', 'direct alice 99');
select app.report_delivered(array[tests.id('guest bob'), tests.id('guest bob')],
                            array[tests.id('guest'), tests.id('bob')], array[5, 2]::bigint[]);
select app.merge_users(tests.id('guest'), tests.id('alice'));
select is(pg_temp.members('bob', 'shared') like '%alice 0 5,%', true, 'an account gets a later mark of its guest');
select is(pg_temp.members('bob', 'quiet') like '%alice 0 4,%', true, 'and keeps its own later one');
select is(pg_temp.members('bob', 'own') like '%alice 0 3,%', true, 'also where only the guest was');
select is((select count(*) from public.delivered_marks where user_id = tests.id('guest')), 0::bigint,
    'the guest has none');
select is((select d.last_delivered_seq from public.delivered_marks d
            where d.conversation_id = tests.id('direct') and d.user_id = tests.id('bob')), m.direct + 2,
    'who had received all of a conversation to which others move has received as much of these') from marked m;

-- A restored dump: marks of the future count as old.
update public.delivered_marks set changed_xid = '999999999999';
select app.renew_epoch();
select is((select count(*) from public.delivered_marks where changed_xid <> '3'), 0::bigint,
    'a renewed epoch has no marks of another cluster');

select * from finish();
rollback;
