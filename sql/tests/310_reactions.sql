-- Reactions: the rows and their numbers, who may write and read them, and how clients get them. '4:4:' is the snapshot
-- that saw the aged world.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('guest', true);
select tests.say('group', (array['alice', 'bob', 'carol'])[1 + n % 3], 'old ' || n) from generate_series(1, 6) n;
select tests.say('direct', 'bob', 'old');
select tests.age();

-- Returns the answer in short: version, counts, own; or the error.
create function pg_temp.react(who text, room text, seq integer, emoji text, is_set boolean default true) returns text
language plpgsql as $$
declare
    answer text := tests.as(who, format('api.react(%L, %s, %L, %L)', tests.id(room), seq, emoji, is_set));
begin
    if answer not like '{%' then return answer; end if;
    return concat_ws(' ', answer::jsonb ->> 'version', answer::jsonb -> 'counts', answer::jsonb -> 'own');
end $$;
create function pg_temp.poll() returns text[] language sql as $$
    select array(select concat_ws(' ', l.kind, l.conversation, l.member, l.seq, l.object::jsonb -> 'counts',
                                  l.object::jsonb -> 'own')
                   from tests.read_changes() l where l.kind like '%reaction%')
$$;
create function pg_temp.page(who text, since text, messages integer default 20, bytes integer default 524288)
returns text[] language sql as $$
    select array(select concat_ws(' ', (select i.name from tests.ids i where i.id = (r ->> 'conversation_id')::uuid),
                                  r ->> 'seq', r -> 'counts', r -> 'own')
                   from tests.pages(who, since, messages, bytes) c, jsonb_array_elements(c -> 'reactions') r)
$$;

select is(pg_temp.react(who, room, seq, emoji, is_set), answer,
    format('%s %s %s: %s %s', who, room, seq, emoji, is_set))
  from (values
    ('alice', 'group', 2, '👍', true, '1 {"👍": 1} ["👍"]'), ('bob', 'group', 2, '👍', true, '2 {"👍": 2} ["👍"]'),
    ('bob', 'group', 2, '❤️', true, '3 {"👍": 2, "❤️": 1} ["👍", "❤️"]'),
    ('bob', 'group', 2, '❤️', true, '3 {"👍": 2, "❤️": 1} ["👍", "❤️"]'),
    ('bob', 'group', 2, '👍', false, '4 {"👍": 1, "❤️": 1} ["❤️"]'),
    ('bob', 'group', 2, '👍', false, '4 {"👍": 1, "❤️": 1} ["❤️"]'),
    ('alice', 'group', 3, '👍', false, '0 {} []'), ('carol', 'group', 2, 'ship_it', true,
        '5 {"👍": 1, "❤️": 1, "ship_it": 1} ["ship_it"]'),
    ('mallory', 'group', 2, '👍', true, 'PL008 There is no such conversation.'),
    ('mallory', 'group', 2, '👍', false, 'PL008 There is no such message.'),
    ('alice', 'group', 99, '👍', true, 'PL008 There is no such message.'),
    ('alice', 'group', 99, '👍', false, 'PL008 There is no such message.'))
    w (who, room, seq, emoji, is_set, answer);
select is(left(pg_temp.react('alice', 'direct', 1, emoji), 5), 'PL001', format('%s is no reaction', to_json(emoji)))
  from unnest(array['', ' ', 'A', 'like!', repeat('a', 33), E'\u202e', 'é', '<b>', '👍 👍', E'👍\n',
                    repeat('👍', 9)]) emoji;
select is(pg_temp.react('alice', 'direct', 1, emoji) like 'PL%', false, format('%L is a reaction', emoji))
  from unnest(array['👍', '👍🏽', '🇩🇪', '1️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '©️', '+1']) emoji;
select is(pg_temp.react('bob', 'direct', 1, '👩‍👩‍👧‍👦') like 'PL%', false, 'a family is a reaction');

-- Keeps the last reaction that a user took back.
select pg_temp.react('alice', 'direct', 1, 'x' || n, is_set)
  from (select n, is_set from generate_series(1, 20) n, unnest(array[true, false]) is_set order by n, is_set desc) w;
select is((select count(*) from public.message_reactions r
            where r.user_id = tests.id('alice') and r.conversation_id = tests.id('direct') and not r.is_set), 1::bigint,
    'of 20 reactions taken back one row is kept');
select pg_temp.react('alice', 'direct', 1, 'x1', false);
select is((select array_agg(r.emoji) from public.message_reactions r
            where r.user_id = tests.id('alice') and r.conversation_id = tests.id('direct') and not r.is_set),
    '{x20}', 'no change removes none');

-- Strangers do not learn that somebody has reacted.
select is(tests.as(who, format('(app.rare_changes_since(''4:4:'', %L)).reacted', array[tests.id('direct')])), answer,
    format('conversations with reactions for %s', who))
  from (values ('bob', '{' || tests.id('direct') || '}'), ('mallory', '{}')) w (who, answer);

-- The bounds.
select pg_temp.react('bob', 'group', 5, 'n' || n) from generate_series(1, 10) n;
select is(pg_temp.react('bob', 'group', 5, 'n11'), 'PL007 A user can set at most 10 reactions to a message.',
    '11 of one');
select pg_temp.react('carol', 'group', 5, 'n' || n) from generate_series(11, 20) n;
select is(pg_temp.react('alice', 'group', 5, 'n21'), 'PL007 A message can have at most 20 different reactions.',
    '21 different ones');
select is(pg_temp.react('alice', 'group', 5, 'n20') like '%"n20": 2%', true, 'one of the 20');

-- The numbers are those of the rows, and a conversation and message are not written.
create function pg_temp.wrong_counts() returns setof text language sql as $$
    select c.seq || ' ' || c.counts from public.reaction_counts c
     where c.counts is distinct from (
        select coalesce(jsonb_object_agg(n.emoji, n.number), '{}')
          from (select r.emoji, count(*) as number from public.message_reactions r
                 where r.conversation_id = c.conversation_id and r.seq = c.seq and r.is_set group by 1) n)
$$;
select is_empty('select pg_temp.wrong_counts()', 'the numbers are those of the rows');
select is((select count(*) from public.messages where changed_xid > '3'), 0::bigint, 'a reaction writes no message');
select is((select count(*) from public.conversations where last_message_xid > '3' or changed_xid > '3'), 0::bigint,
    'a reaction writes no conversation');

-- Lists.
select is((select string_agg(concat_ws(' ', r ->> 'seq', r -> 'own'), ', ' order by (r ->> 'seq')::integer)
             from jsonb_array_elements(
                tests.as('bob', format('api.messages(%L, max_results => %s)', tests.id('group'), most))::jsonb
                -> 'reactions') r), answer, 'a list of ' || most)
  from (values (50, '2 ["❤️"], 5 ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"]'),
               (1, null)) w (most, answer);
create function pg_temp.who(params text, who text default 'alice') returns text language sql as $$
    select coalesce((select string_agg(concat_ws(' ', i.name, r ->> 'emoji'), ', ' order by n)
                       from json_array_elements(a.answer::json -> 'reactions') with ordinality w (r, n)
                       join tests.ids i on i.id = (r ->> 'user_id')::uuid), '')
      from (select tests.as(who, format('api.reactions(%L, %s)', tests.id('group'), params))) a (answer)
$$;
update public.message_reactions r set created_at = timestamptz '2026-01-01' + w.n * interval '1 second'
  from (values ('alice', 1), ('bob', 2), ('carol', 3)) w (who, n)
 where r.user_id = tests.id(w.who) and r.seq = 2;
select is(pg_temp.who('2'), 'alice 👍, bob ❤️, carol ship_it', 'lists who has reacted');
select is(pg_temp.who('2, ''❤️'''), 'bob ❤️', 'lists one reaction');
select is(pg_temp.who(format('2, max_results => 2, after => %L', tests.as('alice',
    format('api.reactions(%L, 2, max_results => 1) ->> ''next''', tests.id('group'))))), 'bob ❤️, carol ship_it',
    'continues after a page');
select is(left(tests.as(who, format('api.reactions(%L, %s)', tests.id('group'), params)), 5), code, label)
  from (values ('mallory', '2', 'PL008', 'a stranger'), ('alice', '99', 'PL008', 'no message'),
               ('alice', '2, after => ''x''', 'PL001', 'a made-up position'),
               ('alice', '2, max_results => 0', 'PL001', 'no limit')) w (who, params, code, label);

-- Pushes and pages.
select tests.age();
select is(pg_temp.poll(), '{}', 'an aged world has no changed reactions');
select is(pg_temp.page('alice', '4:4:'), '{}', 'nor a delta');
select pg_temp.react('carol', 'group', 2, '👍'), pg_temp.react('carol', 'group', 2, 'ship_it', false);
select is(pg_temp.poll(), array['own_reaction group carol 2 {"👍": 2, "❤️": 1} ["👍"]',
                                'reaction group 2 {"👍": 2, "❤️": 1}'],
    'a poll has one row for all members, and one for the user who reacted');
select is(pg_temp.page(who, '4:4:'), array['group 2 {"👍": 2, "❤️": 1} ' || own], 'the delta of ' || who)
  from (values ('alice', '["👍"]'), ('bob', '["❤️"]'), ('carol', '["👍"]')) w (who, own);
select is(pg_temp.page('mallory', '4:4:'), '{}', 'a stranger''s delta has none');
select is(tests.has_no_changes('bob', '4:4:'), false, 'a reconnect finds the reaction');
select is(tests.has_no_changes('mallory', '4:4:'), true, 'a stranger''s does not');
select is(array(select i.name from feed.users_with_changes('4:4:', array(select id from tests.ids)) u
                  join tests.ids i on i.id = u order by 1), '{alice,bob,carol}', 'members have changes');
select is(cardinality(pg_temp.page('bob', null)), 3, 'a reset has the reactions to all messages');
select is(pg_temp.page('bob', null, bytes => 100), pg_temp.page('bob', null), 'in small pages too');
select is(pg_temp.page('bob', null, messages => 2) && array['group 2 {"👍": 2, "❤️": 1} ["❤️"]'], false,
    'a reset has none to messages that it leaves out');

-- A user who leaves after it has reacted.
select tests.age();
select pg_temp.react('carol', 'group', 4, '👍');
savepoint stays;
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('carol');
select is(pg_temp.poll(), array['reaction group 4 {"👍": 1}'], 'who has left is not told the numbers');
rollback to stays;

-- A user who joins, or returns.
select tests.age();
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('mallory'));
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('bob');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('bob'));
select is((select array_agg(l order by place) from unnest(pg_temp.poll()) with ordinality u (l, place)
            where l like '% 2 %'),
    array['own_reaction group bob 2 {"👍": 2, "❤️": 1} ["❤️"]', 'opening_reaction group 2 {"👍": 2, "❤️": 1}'],
    'who joins gets the reactions, and who returns its own, which are pushed as they come first');
select is(array(select distinct kind from feed.read_changes('4:4:') where xid is null order by kind),
    array['opening_message', 'opening_profile', 'opening_reaction'],
    'only rows that a joined user gets have no transaction: sessions whose page has the others do not get them again');
select is(pg_temp.page('mallory', '4:4:') @> array['group 2 {"👍": 2, "❤️": 1} []'], true,
    'a delta with a new conversation');

-- Deletion of the message.
select tests.age();
select tests.as('carol', format('api.delete_message(%L, 2)', tests.id('group')));
select is(pg_temp.poll(), array['reaction group 2 {}'], 'a deleted message has no reactions');
select is((select count(*) from public.message_reactions where seq = 2), 0::bigint, 'nor rows of them');
select is(pg_temp.react('alice', 'group', 2, '👍'), 'PL007 Nobody can react to this message.', 'nor new ones');

-- SQL, as users and trusted backends write it.
select is(tests.attempt(who, format(statement, tests.id('group'), tests.id(who))), outcome, who || ': ' || statement)
  from (values
    ('alice', 'insert into public.message_reactions (conversation_id, user_id, seq, emoji)
                values (%L, %L, 3, ''👍'')', '1'),
    ('alice', 'update public.message_reactions set is_set = false where emoji = ''n20'' -- %L %L', '1'),
    ('alice', 'delete from public.message_reactions -- %L %L', '42501'),
    ('alice', 'update public.reaction_counts set counts = ''{}'' -- %L %L', '42501'),
    ('alice', 'insert into public.reaction_counts (conversation_id, seq, counts)
                values (%L, 1, ''{}'') -- %L', '42501'))
    w (who, statement, outcome);
select is(tests.attempt('bob', format('insert into public.message_reactions (conversation_id, user_id, seq, emoji)
    values (%L, %L, 3, ''👍'')', tests.id('group'), tests.id('alice'))), 'PL008', 'nobody reacts for another');
select is(tests.attempt('bob', 'update public.message_reactions set is_set = true'), '11', 'nor changes theirs');
select is_empty('select pg_temp.wrong_counts()', 'the numbers are those of the rows');

-- A merged guest.
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('guest'));
with c as (insert into public.conversations (participant1_id, participant2_id)
           values (tests.id('guest'), tests.id('bob')) returning id)
insert into tests.ids select 'guest bob', id from c;
select tests.say('guest bob', 'bob', 'hello'), tests.say('guest bob', 'guest', 'hello');
select pg_temp.react('guest', 'guest bob', 1, '👍'), pg_temp.react('bob', 'guest bob', 2, '👍'),
       pg_temp.react('guest', 'group', 3, '🎉'), pg_temp.react('alice', 'group', 3, '🎉'),
       pg_temp.react('guest', 'group', 4, '🎉');
select tests.say('group', 'bob', 'many');
create temporary table many as
select max(m.seq)::integer as seq from public.messages m where m.conversation_id = tests.id('group');
select pg_temp.react('guest', 'group', many.seq, e), pg_temp.react('alice', 'group', many.seq, f)
  from many, unnest(array['🍎', '🍐', '🍊', '🍋', '🍌', '🍉'], array['🐶', '🐱', '🐭', '🐹', '🐰', '🦊']) u (e, f);
select app.merge_users(tests.id('guest'), tests.id('alice'));
select is((select count(*) from public.message_reactions r join many using (seq)
            where r.conversation_id = tests.id('group') and r.user_id = tests.id('alice') and r.is_set), 12::bigint,
    'an account gets all reactions of its guest, also more than 10 together');
select is((select string_agg(concat_ws(' ', c.seq, c.counts), ', ' order by c.seq) from public.reaction_counts c
            where c.conversation_id = tests.id('group') and c.seq in (3, 4)), '3 {"🎉": 1}, 4 {"🎉": 1, "👍": 1}',
    'a reaction of guest and account is one');
select is((select string_agg(concat_ws(' ', r.seq, i.name, r.emoji), ', ' order by r.seq)
             from public.message_reactions r join tests.ids i on i.id = r.user_id
            where r.conversation_id = tests.id('direct') and r.seq > 1 and r.is_set), '2 alice 👍, 3 bob 👍',
    'reactions move with the messages');
select is_empty('select pg_temp.wrong_counts()', 'the numbers are those of the rows');

-- Returns how many rows of the numbers a reaction reads.
create function pg_temp.rows_read(seq bigint) returns bigint language plpgsql as $$
declare
    relations oid[] := array(select 'public.reaction_counts'::regclass::oid
                             union all
                             select i.indexrelid from pg_index i
                              where i.indrelid = 'public.reaction_counts'::regclass);
    before bigint := (select sum(pg_stat_get_xact_tuples_returned(r)) from unnest(relations) r);
begin
    perform tests.as('alice', format('api.react(%L, %s, ''x'')', tests.id('group'), seq));
    return (select sum(pg_stat_get_xact_tuples_returned(r)) from unnest(relations) r) - before;
end $$;
select tests.say('group', 'bob', 'more ' || n) from generate_series(1, 12) n;
create temporary table costs as select pg_temp.rows_read(
    (select max(m.seq) from public.messages m where m.conversation_id = tests.id('group'))) as before;
insert into public.message_reactions (conversation_id, user_id, seq, emoji)
select tests.id('group'), tests.id('carol'), m.seq, 'y' from public.messages m
 where m.conversation_id = tests.id('group') and m.kind <> 'system' and m.deleted_at is null
   and m.seq > (select max(n.seq) - 12 from public.messages n where n.conversation_id = tests.id('group'));
select cmp_ok(pg_temp.rows_read((select max(m.seq) - 1 from public.messages m
                                  where m.conversation_id = tests.id('group'))), '<=', c.before + 2,
    'a reaction does not read the reactions to other messages') from costs c;

-- Nor the reactions of other users, as a list does not either. The statistics are those of a message with many.
set local session_replication_role = replica;
insert into public.message_reactions (conversation_id, user_id, seq, emoji)
select tests.id('group'), gen_random_uuid(), 6, 'z' from generate_series(1, 3000);
insert into public.reaction_counts (conversation_id, seq, counts) values (tests.id('group'), 6, '{"z": 3000}')
    on conflict (conversation_id, seq) do update set counts = '{"z": 3000}';
set local session_replication_role = origin;
analyze public.message_reactions;
create function pg_temp.reactions_read(call text) returns bigint language plpgsql as $$
declare
    relations oid[] := array(select i.indexrelid from pg_index i
                              where i.indrelid = 'public.message_reactions'::regclass);
    before bigint := (select sum(pg_stat_get_xact_tuples_returned(r)) from unnest(relations) r);
begin
    perform tests.as('alice', call);
    return (select sum(pg_stat_get_xact_tuples_returned(r)) from unnest(relations) r) - before;
end $$;
select cmp_ok(pg_temp.reactions_read(format(call, tests.id('group'))), '<=', 50::bigint, call)
  from unnest(array['api.messages(%L)', 'api.react(%L, 6, ''w'')', 'api.react(%L, 6, ''w'', false)']) call;

select * from finish();
rollback;
