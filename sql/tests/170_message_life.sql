-- Edits and deletions of messages: who may make them, and their effects.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('gone');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('gone'));
select tests.say('group', 'gone', 'of one who went');                           -- 1
delete from public.conversation_members where user_id = tests.id('gone');
select tests.say('group', who, who) from unnest(array['alice', 'bob', 'carol']) who;  -- 2, 3, 4
insert into public.messages (conversation_id, sender_id, kind, content, attachment) values
    (tests.id('group'), tests.id('carol'), 'image', 'a caption', '{"url":"https://x.example/a"}'),  -- 5
    (tests.id('group'), tests.id('carol'), 'system', 'carol came', null);                             -- 6
insert into public.messages (conversation_id, sender_id, client_id, content)
values (tests.id('group'), tests.id('carol'), '11111111-1111-4111-8111-111111111111', 'first');  -- 7
select tests.say('direct', who, who) from unnest(array['alice', 'bob']) who;  -- 1, 2
insert into public.messages (conversation_id, sender_id, kind, content)
values (tests.id('direct'), tests.id('bob'), 'system', 'called');  -- 3

create function tests.edit(who text, seq integer, content text, room text default 'group')
returns text language sql as $$
    select tests.as(who, format('api.edit_message(%L, %s, %L)', tests.id(room), seq, content))
$$;
create function tests.remove(who text, seq integer, room text default 'group') returns text language sql as $$
    select tests.as(who, format('api.delete_message(%L, %s)', tests.id(room), seq)) $$;
create function tests.message(seq integer, room text default 'group') returns public.messages language sql as $$
    select m from public.messages m where m.conversation_id = tests.id(room) and m.seq = message.seq $$;
create function tests.newest(room text default 'group') returns text language sql as $$
    select last_message_content from public.conversations where id = tests.id(room) $$;
select tests.age();

-- Editing.
create temporary table edited as select tests.edit('carol', 4, ' carol, \n again ')::json as o;
select is((select string_agg(key, ',') from edited, json_object_keys(o) key),
    'id,conversation_id,seq,sender_id,sender,client_id,kind,content,attachment,attachments,is_read,version,'
    'reply_to,mentions,mentions_everyone,data,created_at,edited_at,'
    'deleted_at', 'edit_message returns the complete Message');
select results_eq($$
    select o ->> 'content', o ->> 'version', o ->> 'seq', o ->> 'edited_at' > o ->> 'created_at', o ->> 'deleted_at'
      from edited
$$, $$values (' carol, \n again ', '2', '4', true, null)$$, 'the message has the new content and version');
select is(tests.as('alice', format('api.messages(%L, 5, null, 1)::json -> ''messages'' -> 0',
        tests.id('group')))::jsonb,
    (select o::jsonb from edited), 'other members see the edited message');
select tests.age();
select is(tests.edit('carol', 4, ' carol, \n again ')::jsonb,
    (select o::jsonb from edited), 'an edit with the same content changes nothing');
select is((tests.message(4)).changed_xid::text, '3', 'an edit with the same content is not in the feed');
select is((tests.conversation('group')).last_seq, 7::bigint, 'an edit takes no number');
select matches(tests.edit(who, 4, 'x'), '^PL007 ', who || ' cannot edit another''s message')
  from unnest(array['alice', 'bob']) who;
select matches(tests.edit(who, 4, 'carol, \n again'), '^PL007 ',
    who || ' cannot edit another''s message to the same content')
  from unnest(array['alice', 'bob']) who;
select matches(tests.edit('alice', 1, 'x'), '^PL007 ', 'a former member''s message cannot be edited');
select is(tests.edit('gone', 1, 'x'), 'PL008 There is no such conversation.', 'a former member cannot edit a message');
select is(tests.edit('mallory', 4, 'x'),
    tests.as('mallory', 'api.edit_message(gen_random_uuid(), 4, ''x'')'),
    'a hidden and a missing message give the same error');
select is(tests.edit('carol', n, 'x'), 'PL008 There is no such message.', 'rejects the message number ' || n)
  from unnest(array[0, 8, -1]) n;
select is(tests.as('carol', format('api.edit_message(%L, null, ''x'')', tests.id('group'))),
    'PL008 There is no such message.', 'rejects a null message number');
select is(tests.field_of('carol', format('select api.edit_message(%L, 4, %s)', tests.id('group'), bad)),
    'PL001 content', 'rejects the content ' || bad)
  from unnest(array['''''', 'null', 'repeat(''x'', 8001)']) bad;
select is(char_length(tests.edit('carol', 4, repeat('😀', 8000))::json ->> 'content'), 8000, 'accepts 8000 code points');
select is(tests.edit('alice', 2, '''); drop table messages; --')::json ->> 'content',
    '''); drop table messages; --', 'treats SQL in content as text');
select is(tests.edit('bob', 2, 'bob, again', 'direct')::json ->> 'content',
    'bob, again', 'a member can edit a message in a direct conversation');
select matches(tests.edit('bob', 1, 'x', 'direct'), '^PL007 ',
    'a member cannot edit the other''s message in a direct conversation');

-- The caption of an image can be edited; a system message cannot.
select results_eq($$
    select o ->> 'content', o -> 'attachment' ->> 'url' from (select tests.edit('carol', 5, 'another')::json as o) e
$$, $$values ('another', 'https://x.example/a')$$, 'the sender can edit an image''s caption');
select is(tests.edit('carol', 5, c)::json ->> 'content', '', 'a caption can be empty') from unnest(array['', null]) c;
select is((tests.message(5)).version, 3::bigint, 'two empty captions are one change');
select matches(tests.edit(who, 6, 'x'), '^PL007 ', who || ' cannot edit a system message')
  from unnest(array['carol', 'alice']) who;
select matches(tests.edit('bob', 3, 'x', 'direct'), '^PL007 ',
    'a system message in a direct conversation cannot be edited');

-- A repeated send after an edit.
select tests.edit('carol', 7, 'second');
create function tests.resend(content text) returns text language sql as $$
    select tests.as('carol', format('api.sent_message(%L, %L, %L)',
        tests.id('group'), content, '11111111-1111-4111-8111-111111111111'))
$$;
select is(tests.resend('first')::json ->> 'content', 'second',
    'a repeated send of the original content returns the edited message');
select matches(tests.resend('second'), '^PL012 ', 'a repeated send of the edited content is rejected as other content');
select tests.edit('carol', 7, 'first');
select is(tests.resend('first')::json ->> 'version', '3',
    'after a second edit to the original content, a repeated send returns the message');
select is(tests.newest(), 'first', 'last_message_content follows the edit');
select tests.edit('carol', 7, 'e' || repeat('x', 300));
select is(tests.newest(), 'e' || repeat('x', 199), 'last_message_content has 200 characters');

-- Deleting.
select tests.age();
create temporary table deleted as select tests.remove('carol', 7)::json as o;
select results_eq($$
    select o ->> 'content', o ->> 'attachment', o ->> 'version', o ->> 'seq', o ->> 'client_id',
           o ->> 'deleted_at' is not null
      from deleted
$$, $$values (null, null, '5', '7', '11111111-1111-4111-8111-111111111111', true)$$,
    'a deleted message keeps its number without content');
select is(tests.newest(), null, 'last_message_content is null after the deletion');
select is((tests.conversation('group')).last_seq, 7::bigint, 'a deletion frees no number');
select results_eq($$select changed_xid > '3', first_sent is not null from (select (tests.message(7)).*) m$$,
    $$values (true, true)$$, 'a deletion is in the feed');
select isnt((tests.message(7)).first_sent, sha256(convert_to(e'text\x1f\x1ffirst', 'UTF8')),
    'the stored hash of a deleted message is keyed, so its content cannot be guessed');
select isnt(app.message_hash(gen_random_uuid(), 'text', 'first', null, null),
    app.message_hash(gen_random_uuid(), 'text', 'first', null, null),
    'and differs from that of another message with the same content');
select is(has_function_privilege('authenticated', 'app.message_hash(uuid, text, text, jsonb, jsonb)', 'execute'), false,
    'users cannot compute the hash of a guess');
select tests.age();
select is(tests.remove(who, 7)::jsonb, (select o::jsonb from deleted),
    'a second deletion by ' || who || ' changes nothing')
  from unnest(array['carol', 'alice', 'bob']) who;
select is((tests.message(7)).changed_xid::text, '3', 'a second deletion is not in the feed');
select matches(tests.edit(who, 7, 'x'), '^PL007 ', who || ' cannot edit a deleted message')
  from unnest(array['carol', 'alice']) who;
select is(tests.resend('first')::json ->> 'deleted_at' is not null,
    true, 'a repeated send of the original content returns the deleted message');
select matches(tests.resend('else'), '^PL012 ', 'a repeated send with other content is rejected');
select is((tests.conversation('group')).last_seq, 7::bigint, 'a repeated send takes no number');
select results_eq($$
    select o ->> 'content', o ->> 'attachment', o ->> 'kind' from (select tests.remove('carol', 5)::json as o) d
$$, $$values (null, null, 'image')$$, 'a deleted image has neither caption nor attachment');
select matches(tests.remove('carol', 3), '^PL007 ', 'a member cannot delete another''s message');
select matches(tests.remove('carol', 6), '^PL007 ', 'a member cannot delete a system message in its name');
select is(tests.remove('bob', 2)::json ->> 'content', null, 'an admin can delete the owner''s message');
select is(tests.remove('alice', 1)::json ->> 'content', null, 'the owner can delete a former member''s message');
select is(tests.remove('alice', 6)::json ->> 'content', null, 'the owner can delete a system message');
select is(tests.remove('gone', 1), 'PL008 There is no such conversation.', 'a former member cannot delete a message');
select is(tests.remove('mallory', 4),
    tests.as('mallory', 'api.delete_message(gen_random_uuid(), 4)'),
    'a hidden and a missing message give the same error');
select is(tests.remove('alice', n), 'PL008 There is no such message.', 'rejects the message number ' || n)
  from unnest(array[0, 8]) n;
select matches(tests.remove('alice', 2, 'direct'), '^PL007 ',
    'a member cannot delete the other''s message in a direct conversation');
select is(tests.remove('alice', 1, 'direct')::json ->> 'content', null,
    'a member can delete its own message in a direct conversation');
select is(tests.newest('direct'), 'called', 'deleting an older message keeps last_message_content');
select matches(tests.remove('bob', 3, 'direct'), '^PL007 ',
    'a system message in a direct conversation cannot be deleted');
select results_eq($$
    select m.role::text, m.last_read_seq from public.conversation_members m
     where conversation_id = tests.id('group') and user_id = tests.id('carol')
$$, $$values ('member', 7::bigint)$$, 'deletions do not move read marks');

-- Former admins have a member's rights.
select tests.as('alice', format('api.set_member_role(%L, %L, ''member'')', tests.id('group'), tests.id('bob')));
select matches(tests.remove('bob', 4), '^PL007 ', 'a former admin cannot delete another''s message');
select is(tests.remove('bob', 3)::json ->> 'content', null, 'a former admin can delete its own message');

-- The user's own SQL.
select tests.say('group', who, who) from unnest(array['alice', 'bob', 'carol']) who;  -- 8, 9, 10
insert into public.messages (conversation_id, sender_id, kind, content)
values (tests.id('group'), tests.id('alice'), 'system', 'said');  -- 11
create function tests.try(who text, change text, seq integer, room text default 'group') returns text language sql as $$
    select tests.attempt(who, format('update public.messages set %s where conversation_id = %L and seq = %s',
        change, tests.id(room), seq))
$$;
select is(tests.try(who, change, seq, room), outcome, format('%s, %s %s: %s', who, room, seq, change))
  from (values
        ('carol', 'content = ''x''', 10, 'group', '1'),
        ('carol', 'content = ''x''', 9, 'group', '0'),
        ('alice', 'content = ''x''', 10, 'group', 'PL007'),
        ('alice', 'content = ''x'', deleted_at = null', 10, 'group', 'PL007'),
        ('alice', 'content = content', 10, 'group', '1'),
        ('alice', 'deleted_at = now()', 10, 'group', '1'),
        ('alice', 'content = ''x'', deleted_at = now()', 10, 'group', '1'),
        ('carol', 'deleted_at = now()', 10, 'group', '1'),
        ('carol', 'deleted_at = now()', 9, 'group', '0'),
        ('alice', 'content = ''x''', 11, 'group', 'PL007'),
        ('alice', 'deleted_at = now()', 11, 'group', '1'),
        ('carol', 'content = ''x''', 7, 'group', 'PL007'),
        ('carol', 'deleted_at = null', 7, 'group', 'PL007'),
        ('alice', 'deleted_at = null', 7, 'group', 'PL007'),
        ('alice', 'deleted_at = now()', 7, 'group', 'PL007'),
        ('carol', 'content = ''''', 10, 'group', 'PL001'),
        ('carol', 'content = null', 10, 'group', 'PL001'),
        ('carol', 'content = repeat(''x'', 8001)', 10, 'group', '23514'),
        ('carol', 'edited_at = now()', 10, 'group', '42501'),
        ('carol', 'seq = 99', 10, 'group', '42501'),
        ('carol', 'kind = ''system''', 10, 'group', '42501'),
        ('gone', 'content = ''x''', 1, 'group', '0'),
        ('gone', 'deleted_at = now()', 1, 'group', '0'),
        ('mallory', 'content = ''x''', 10, 'group', '0'),
        ('bob', 'content = ''x''', 2, 'direct', '1'),
        ('bob', 'content = ''x''', 1, 'direct', '0'),
        ('bob', 'deleted_at = now()', 3, 'direct', '0'),
        ('service_role', 'content = ''x''', 10, 'group', '1'),
        ('service_role', 'deleted_at = null', 7, 'group', 'PL007')) as t (who, change, seq, room, outcome);
update public.messages set deleted_at = 'infinity', content = 'left behind'
 where conversation_id = tests.id('group') and seq = 10;
select results_eq($$
    select content::text, deleted_at between now() and clock_timestamp() from (select (tests.message(10)).*) m
$$, $$values (null::text, true)$$, 'the database sets deleted_at, whatever the statement gives');

select * from finish();
rollback;
