-- The queries of the documents by which apps were built, each as PostgREST runs it for an app: on the tables of
-- `public`, and on the views of `rest`, which have the same names. With the result of each, and the number of rows or
-- the error for each user.
begin;
select no_plan();
select tests.make_world();
select tests.make_user(name) from unnest(array['dave', 'erin', 'gone']) name;
create function tests.meet(one text, other text) returns void language sql as $$
    with c as (insert into public.conversations (participant1_id, participant2_id)
               values (tests.id(one), tests.id(other)) returning id)
    insert into tests.ids select one || '-' || other, id from c
$$;
-- alice talked with bob, dave and carol, with carol last, and has an empty conversation with erin. Two left: carol the
-- group, and dave the conversation with alice, by SQL. gone talked with erin, and is deleted. mallory is in none.
select tests.meet(one, other)
  from (values ('alice', 'dave'), ('alice', 'carol'), ('alice', 'erin'), ('erin', 'gone')) as t (one, other);
select tests.say(room, sender, content)
  from (values (1, 'direct', 'bob', 'hello alice'), (2, 'direct', 'alice', 'hello bob'),
               (3, 'direct', 'bob', 'how are you?'), (4, 'group', 'carol', 'hello all'),
               (5, 'group', 'alice', 'hello carol'), (6, 'alice-dave', 'dave', 'hi'), (7, 'alice-carol', 'carol', 'hi'),
               (8, 'erin-gone', 'erin', 'are you there?')) as t (n, room, sender, content) order by n;
update public.user_profiles
   set bio = 'Maps.', avatar_type = 'custom', avatar_url = 'https://x.example/bob.jpg' where id = tests.id('bob');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('carol');
delete from public.conversation_members where conversation_id = tests.id('alice-dave') and user_id = tests.id('dave');
update public.user_profiles set is_deleted = true where id = tests.id('gone');
select tests.age();

-- {me} and other names in braces are ids. PostgREST qualifies each table with its schema. The changes are undone.
create function tests.document(who text, query text, schema text, me text) returns json language plpgsql as $$
declare
    name text;
    answer json;
begin
    query := replace(query, '{me}', quote_literal(tests.id(me)));
    for name in select i.name from tests.ids i loop
        query := replace(query, '{' || name || '}', quote_literal(tests.id(name)));
    end loop;
    query := regexp_replace(query, '\m(from|into|update) (conversations|conversation_members|messages|user_profiles)\M',
                            '\1 ' || schema || '.\2', 'gi');
    answer := tests.request(who, query, schema);
    raise exception using errcode = 'TT000';
exception
    when sqlstate 'TT000' then return answer;
end $$;
create function tests.outcome(answer json) returns text language sql as $$
    select case json_typeof(answer) when 'array' then json_array_length(answer)::text else answer #>> '{}' end
$$;
create function tests.name_of(answer json, field text) returns text language sql as $$
    select coalesce((select i.name from tests.ids i where i.id::text = answer ->> field), answer ->> field)
$$;
-- Returns the expression `look` for each row r of the response, or the SQLSTATE.
create function tests.shown(answer json, look text) returns text language plpgsql as $$
declare
    line text;
begin
    if json_typeof(answer) <> 'array' then
        return answer #>> '{}';
    end if;
    execute format('select string_agg(%s, '', '' order by n)
                      from json_array_elements($1) with ordinality as e (r, n)', look) into line using answer;
    return line;
end $$;

-- A query, the expression for its rows, the values for alice, and for other users, each with its own id, the number of
-- rows or the SQLSTATE. `posing` is mallory with alice's id.
create temporary table queries (
    name text, schemas text[], query text, look text,
    alice text, bob text, mallory text, carol text, dave text, gone text, posing text);
insert into queries values
-- The messages document, word for word.
('A16: fetchConversations', '{public,rest}', $$
    SELECT * FROM conversations
    WHERE participant1_id = {me}
       OR participant2_id = {me}
    ORDER BY last_message_time DESC$$,
    $$tests.name_of(r, 'id')$$, 'alice-erin, alice-carol, alice-dave, direct', '1', '0', '1', '0', '0', '0'),
-- As supabase-swift orders: conversations without messages are last.
('fetchConversations: previews', '{public,rest}', $$
    select * from conversations where (participant1_id = {me} or participant2_id = {me})
     order by last_message_time desc nulls last limit 50$$,
    $$coalesce(r ->> 'last_message_content', 'nothing')$$, 'hi, hi, how are you?, nothing',
    '1', '0', '1', '0', '0', '0'),
('A9: fetchConversations: unread_count', '{rest}', $$
    select * from conversations where (participant1_id = {me} or participant2_id = {me})
     order by last_message_time desc nulls last$$,
    $$r ->> 'unread_count'$$, '1, 1, 1, 0', '1', '0', '1', '0', '0', '0'),
('fetchConversations: unread_count of the table', '{public}', $$
    select *, conversations.unread_count from conversations where (participant1_id = {me} or participant2_id = {me})
     order by last_message_time desc nulls last$$,
    $$r ->> 'unread_count'$$, '1, 1, 1, 0', '1', '0', '1', '0', '0', '0'),
('fetchConversations: the other user''s profile', '{public,rest}', $$
    select id, full_name, username, avatar_url, bio from user_profiles where id = {bob} limit 1$$,
    $$concat_ws(' ', r ->> 'full_name', r ->> 'username', r ->> 'avatar_url', r ->> 'bio')$$,
    'Tap Bob tap_bob https://x.example/bob.jpg Maps.', '1', '1', '1', '1', '1', '1'),
('fetchConversations: embedded profiles', '{public,rest}', $$
    select conversations.*, row_to_json(participant1.*) as participant1, row_to_json(participant2.*) as participant2
      from conversations
      left join lateral (
           select p.* from user_profiles p where p.id = conversations.participant1_id) participant1 on true
      left join lateral (
           select p.* from user_profiles p where p.id = conversations.participant2_id) participant2 on true
     where (participant1_id = {me} or participant2_id = {me}) order by last_message_time desc nulls last$$,
    $$case tests.name_of(r, 'participant1_id') when 'alice' then r #>> '{participant2,username}'
           else r #>> '{participant1,username}' end$$,
    'tap_carol, tap_dave, tap_bob, tap_erin', '1', '0', '1', '0', '0', '0'),
('fetchMessages', '{public,rest}', $$
    select * from messages where conversation_id = {direct} order by created_at asc$$,
    $$tests.name_of(r, 'sender_id') || ': ' || (r ->> 'content')$$,
    'bob: hello alice, alice: hello bob, bob: how are you?', '3', '0', '0', '0', '0', '0'),
('fetchMessages: is_read', '{rest}', $$
    select * from messages where conversation_id = {direct} order by created_at asc$$,
    $$r ->> 'is_read'$$, 'true, true, false', '3', '0', '0', '0', '0', '0'),
('fetchMessages: is_read of the table', '{public}', $$
    select *, messages.is_read from messages where conversation_id = {direct} order by created_at asc$$,
    $$r ->> 'is_read'$$, 'true, true, false', '3', '0', '0', '0', '0', '0'),
('fetchMessages: of the group that carol left', '{public,rest}', $$
    select * from messages where conversation_id = {group} order by created_at asc$$,
    $$r ->> 'content'$$, 'hello all, hello carol', '2', '0', '0', '0', '0', '0'),
('fetchMessages: where dave was', '{public,rest}', $$
    select * from messages where conversation_id = {alice-dave} order by created_at asc$$,
    $$r ->> 'content'$$, 'hi', '0', '0', '0', '0', '0', '0'),
('fetchMessages: where gone was', '{public,rest}', $$
    select * from messages where conversation_id = {erin-gone} order by created_at asc$$,
    'null', null, '0', '0', '0', '0', '0', '0'),
('sendMessage', '{public,rest}', $$
    INSERT INTO messages
    (conversation_id, sender_id, content)
    VALUES ({direct}, {me}, 'Hello!') returning *$$,
    $$concat_ws(' ', r ->> 'seq', r ->> 'content')$$, '4 Hello!', '1', 'PL008', 'PL008', 'PL008', 'PL008', 'PL008'),
('sendMessage, from a JSON body', '{public,rest}', $$
    insert into messages (content, conversation_id, sender_id)
    select body.content, body.conversation_id, body.sender_id
      from (select json_build_object(
                       'conversation_id', {group}::uuid, 'sender_id', {me}::uuid, 'content', 'Hi') as sent) payload,
           lateral (select * from json_to_record(payload.sent)
                        as _ (content app.message_content, conversation_id uuid, sender_id uuid)) body
    returning 1$$,
    $$'sent'$$, 'sent', '1', 'PL008', 'PL008', 'PL008', 'PL008', 'PL008'),
('sendMessage: where gone was', '{public,rest}', $$
    INSERT INTO messages (conversation_id, sender_id, content) VALUES ({erin-gone}, {me}, 'x') returning *$$,
    'null', 'PL008', 'PL008', 'PL008', 'PL008', 'PL008', 'PL008', 'PL008'),
('A11: markMessagesAsRead', '{rest}', $$
    update messages set is_read = true where conversation_id = {direct} and sender_id <> {me} and is_read = false
    returning *$$,
    $$concat_ws(' ', r ->> 'content', r ->> 'is_read')$$, 'how are you? true', '0', '0', '0', '0', '0', '0'),
('markMessagesAsRead, from a JSON body', '{rest}', $$
    update messages set is_read = body.is_read
      from (select '{"is_read":true}'::json as sent) payload,
           lateral (select * from json_to_record(payload.sent) as _ (is_read boolean)) body
     where messages.conversation_id = {direct} and messages.sender_id <> {me}
    returning messages.*$$,
    $$concat_ws(' ', r ->> 'content', r ->> 'is_read')$$, 'hello alice true, how are you? true',
    '1', '0', '0', '0', '0', '0'),
('markMessagesAsRead: of the table', '{public}', $$
    update conversation_members set last_read_seq = 3 where conversation_id = {direct} and user_id = {me}
    returning last_read_seq$$,
    $$r ->> 'last_read_seq'$$, '3', '1', '0', '0', '0', '0', '0'),
('searchUsers', '{public,rest}', $$
    select * from user_profiles where (username ilike '%tap_bo%' or full_name ilike '%tap_bo%') and id <> {me}
     limit 20$$,
    $$r ->> 'username'$$, 'tap_bob', '0', '1', '1', '1', '1', '1'),
('getOrCreateConversation: get', '{public,rest}', $$
    select * from conversations
     where (participant1_id = {me} and participant2_id = {bob} or participant1_id = {bob} and participant2_id = {me})$$,
    $$tests.name_of(r, 'id')$$, 'direct', '0', '0', '0', '0', '0', '0'),
('getOrCreateConversation: create', '{public,rest}', $$
    insert into conversations (participant1_id, participant2_id) values ({me}, {mallory}) returning *$$,
    $$concat_ws(' ', r ->> 'kind', coalesce(r ->> 'last_message_content', 'nothing'))$$, 'direct nothing',
    '1', 'PL001', '1', '1', 'PL008', '1'),
('getOrCreateConversation: create what is there', '{public,rest}', $$
    insert into conversations (participant1_id, participant2_id) values ({alice}, {bob}) returning *$$,
    'null', '23505', '23505', '42501', '42501', '42501', '42501', '42501'),
-- The profile documents.
('profile: mine', '{public,rest}', $$
    select * from user_profiles where id = {me}$$,
    $$r ->> 'username'$$, 'tap_alice', '1', '1', '1', '1', '1', '1'),
('profile: update', '{public,rest}', $$
    update user_profiles set full_name = 'New Name', bio = 'New.', website = 'https://new.example', language_code = 'da'
     where id = {me} returning *$$,
    $$concat_ws(' ', r ->> 'full_name', r ->> 'bio', r ->> 'website', r ->> 'language_code')$$,
    'New Name New. https://new.example da', '1', '1', '1', '1', '0', '0'),
('profile: is the username taken?', '{public,rest}', $$
    select id from user_profiles where username = 'tap_bob'$$,
    $$tests.name_of(r, 'id')$$, 'bob', '1', '1', '1', '1', '1', '1'),
('profile: change the username', '{public,rest}', $$
    update user_profiles set username = 'tap_new' where id = {me} returning username$$,
    $$r ->> 'username'$$, 'tap_new', '1', '1', '1', '1', '0', '0'),
('profile: take a username that is taken', '{public,rest}', $$
    update user_profiles set username = 'tap_bob' where id = {me} returning username$$,
    'null', '23505', '1', '23505', '23505', '23505', '0', '0'),
('profile: a built-in avatar', '{public,rest}', $$
    update user_profiles set avatar_type = 'built_in', avatar_id = 'fox', avatar_url = null where id = {me}
    returning *$$,
    $$concat_ws(' ', r ->> 'avatar_type', r ->> 'avatar_id')$$, 'built_in fox', '1', '1', '1', '1', '0', '0'),
('profile: a picture', '{public,rest}', $$
    update user_profiles set avatar_type = 'custom', avatar_id = null, avatar_url = 'https://x.example/me.jpg'
     where id = {me} returning *$$,
    $$r ->> 'avatar_url'$$, 'https://x.example/me.jpg', '1', '1', '1', '1', '0', '0'),
('chat: messages with their senders as of now', '{public,rest}', $$
    select messages.*, row_to_json(sender.*) as sender
      from messages
      left join lateral (
           select p.id, p.username, p.full_name, p.avatar_type, p.avatar_id, p.avatar_url
             from user_profiles p where p.id = messages.sender_id) sender on true
     where conversation_id = {direct} order by created_at asc$$,
    $$r #>> '{sender,full_name}'$$, 'Tap Bob, Tap Alice, Tap Bob', '3', '0', '0', '0', '0', '0');

select is(tests.shown(tests.document('alice', query, schema, 'alice'), look), alice, schema || ': ' || name)
  from queries, unnest(schemas) schema;
select is(tests.outcome(tests.document(who, query, schema, me)), to_json(q) ->> outcome,
          format('%s: %s, by %s%s', schema, name, who, case when me <> who then ' as ' || me else '' end))
  from queries q, unnest(schemas) schema,
       (values ('bob', 'bob', 'bob'), ('mallory', 'mallory', 'mallory'), ('carol', 'carol', 'carol'),
               ('dave', 'dave', 'dave'), ('gone', 'gone', 'gone'), ('mallory', 'alice', 'posing'))
           as t (who, me, outcome);
select is(tests.outcome(tests.document('anon', query, schema, 'alice')), '42501',
          format('%s: %s, by anon', schema, name))
  from queries, unnest(schemas) schema;

-- Other effects of a send: the last message's content and time, also for the other user, who has it unread until it
-- reads.
select tests.request('alice', format('INSERT INTO messages (conversation_id, sender_id, content)
    VALUES (%L, %L, ''Hello!'') returning id', tests.id('direct'), tests.id('alice')), 'rest');
select is(tests.shown(tests.request('bob', 'select * from conversations where kind = ''direct''', 'rest'),
        $$concat_ws(' ', r ->> 'last_message_content', (r ->> 'last_message_time')::timestamptz > now(),
                    r ->> 'unread_count')$$),
    'Hello! t 1', 'the other user sees the last message and its time, unread');
select tests.request('bob', format('update messages set is_read = true where conversation_id = %L and sender_id <> %L
    returning id', tests.id('direct'), tests.id('bob')), 'rest');
select is(tests.shown(tests.request('bob', 'select * from conversations order by kind', 'rest'),
        $$r ->> 'unread_count'$$),
    '0, 2', 'the other user has read the direct conversation, not the group');
select is(tests.shown(tests.document('alice', 'select * from messages where conversation_id = {direct}
                                               order by created_at', 'rest', 'alice'), $$r ->> 'is_read'$$),
    'true, true, true, true', 'the sender sees that its messages are read');

select * from finish();
rollback;
