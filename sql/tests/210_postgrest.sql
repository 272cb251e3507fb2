-- The tables as PostgREST serves them to an app: the caller's own columns, the read mark that is set as `is_read`, and
-- rows that an insert returns.
begin;
select no_plan();
select tests.make_world();
select tests.say('direct', 'bob', 'one ' || n) from generate_series(1, 3) n;
select tests.say('group', 'bob', 'all ' || n) from generate_series(1, 2) n;
select tests.say('group', 'carol', 'all 3');
select tests.age();

create function tests.rest(who text, statement text, schema text default 'rest') returns text language sql as $$
    select replace(tests.request(who, statement, schema)::text, e', \n ', ', ')
$$;
create function tests.read_as(who text, condition text) returns text language sql as $$
    select tests.rest(who, 'update messages set is_read = true where ' || condition || ' returning content, is_read')
$$;
create function tests.in_room(room text) returns text language sql as $$
    select 'conversation_id = ' || quote_literal(tests.id(room))
$$;
create function tests.not_by(sender text) returns text language sql as $$
    select 'sender_id <> ' || quote_literal(tests.id(sender))
$$;
create function tests.marks() returns text language sql as $$
    select string_agg(i.name || ' ' || m.last_read_seq, ', ' order by r.name, i.name)
      from public.conversation_members m
      join tests.ids i on i.id = m.user_id join tests.ids r on r.id = m.conversation_id
$$;
create function tests.columns(name text) returns text language sql as $$
    select string_agg(k, ',') from json_object_keys(
        tests.request('alice', 'select * from ' || name || ' limit 1', 'rest') -> 0) k
$$;

-- The columns of `select *`.
select is(tests.columns('conversations'),
    'id,kind,participant1_id,participant2_id,title,created_by,last_seq,last_message_content,last_message_time,'
    'last_message_sender_id,unread_count,version,created_at,updated_at,pinned_seqs,data,first_seq,message_ttl_seconds',
    'lists the columns of rest.conversations');
select is(tests.columns('messages'),
    'id,conversation_id,seq,sender_id,client_id,kind,content,attachment,is_read,version,created_at,edited_at,'
    'deleted_at,event,reply_to_seq,mentions,mentions_everyone,data', 'lists the columns of rest.messages');
select is(tests.columns('user_profiles'),
    'id,username,full_name,bio,avatar_type,avatar_id,avatar_url,website,location,language_code,is_verified,is_guest,'
    'is_deleted,attributes,version,created_at,updated_at', 'lists the columns of rest.user_profiles');

-- unread_count: each user's own, as in the protocol.
create temporary table counted as
select who, schema, tests.request(
           who, 'select id, conversations.unread_count from conversations order by kind, id', schema) as counts
  from unnest(array['alice', 'bob', 'carol', 'mallory']) who, unnest(array['public', 'rest']) schema;
select is((select string_agg(concat_ws(' ', who, c ->> 'unread_count'), ', ' order by who, n)
             from counted left join lateral json_array_elements(counts) with ordinality as e (c, n) on true
            where schema = 'rest'),
    'alice 3, alice 3, bob 0, bob 1, carol 0, mallory', 'unread_count is the caller''s own');
select is((select count(*) from counted a join counted b using (who)
            where a.schema = 'rest' and b.schema = 'public' and a.counts::text = b.counts::text),
    4::bigint, 'unread_count equals the computed field of the table');
select is(tests.as('alice', format('api.conversation(%L) ->> ''unread_count''', tests.id('direct'))), '3',
    'unread_count equals that of the protocol');

-- is_read, of a direct conversation and of a group.
select is(tests.rest('alice', 'select content from messages where is_read'), '[]', 'no message is read at first');
select is(tests.rest('alice', 'select count(*) from messages v join public.messages t using (id)
                                where v.is_read is distinct from public.is_read(t)'),
    '[{"count":0}]', 'is_read equals the computed field');

-- The usual statement moves the caller's read mark only; it is distributed as any mark; no message is written.
create temporary table rows_before as select id, ctid as place, xmin::text as writer from public.messages;
select is(tests.read_as('alice', tests.in_room('direct') || ' and ' || tests.not_by('alice')),
    '[{"content":"one 1","is_read":true}, {"content":"one 2","is_read":true}, {"content":"one 3","is_read":true}]',
    'marking a direct conversation read returns the read messages');
select is(tests.marks(), 'alice 3, bob 3, alice 0, bob 2, carol 3', 'only the caller''s read mark moves');
select is(tests.rest('alice', 'select unread_count from conversations where kind = ''direct'''),
    '[{"unread_count":0}]', 'unread_count follows the read mark');
select is(tests.rest('bob', 'select bool_and(is_read) as read from messages where ' || tests.in_room('direct')),
    '[{"read":true}]', 'the sender sees that its messages are read');
select is((select count(*) from rows_before b
             join public.messages m on m.id = b.id and m.ctid = b.place and m.xmin::text = b.writer),
    6::bigint, 'marking as read writes no message');
select is(tests.poll(), array['read direct alice 3'], 'the feed returns only the read mark');
select tests.age();
select isnt(tests.read_as('alice', tests.in_room('direct')), '[]', 'messages can be marked read again');
select is(tests.poll(), '{}', 'marking read messages again is not in the feed');

-- In a group a message is read when all other members have read it: the response says so too.
select is((select jsonb_agg(o order by o ->> 'content') from jsonb_array_elements(
            tests.read_as(
                'alice', tests.in_room('group') || ' and not is_read and ' || tests.not_by('alice'))::jsonb) o),
    '[{"content":"all 1","is_read":true}, {"content":"all 2","is_read":true}, {"content":"all 3","is_read":false}]',
    'in a group a message stays unread until all others have read it');
select is(tests.marks(), 'alice 3, bob 3, alice 3, bob 2, carol 3', 'the read mark is at the newest marked message');
select is(json_array_length(tests.read_as('bob', 'true')::json), 6, 'a user can mark all visible messages read');
select is(tests.marks(), 'alice 3, bob 3, alice 3, bob 3, carol 3', 'the marks of all conversations move');
select is(tests.rest('carol', 'select count(*) from messages where not is_read'), '[{"count":0}]',
    'all messages are read');

-- One message in the middle: the mark covers all before it, and never moves back.
select tests.say('direct', 'bob', 'two ' || n) from generate_series(4, 6) n;
select is(tests.read_as('alice', 'content = ''two 5'''), '[{"content":"two 5","is_read":true}]',
    'a single message can be marked read');
select is(tests.marks(), 'alice 5, bob 6, alice 3, bob 3, carol 3', 'the read mark is at that message');
select is(tests.read_as('alice', 'content = ''two 4'''), '[{"content":"two 4","is_read":true}]',
    'an older message can be marked read');
select is(tests.marks(), 'alice 5, bob 6, alice 3, bob 3, carol 3',
    'an older message does not move the read mark back');
select tests.say('group', 'carol', 'all ' || n) from generate_series(4, 5) n;
select is(tests.rest('alice', 'update messages set is_read = true
                                 from (values (''all 5''), (''two 6''), (''all 4'')) as v (said) where content = said
                               returning 1'),
    '[{"?column?":1}, {"?column?":1}, {"?column?":1}]', 'messages of several conversations can be marked read');
select is(tests.marks(), 'alice 6, bob 6, alice 5, bob 3, carol 5',
    'each conversation''s mark is at its newest marked message');
-- The order of the rows does not matter: an edited row comes after the others, unless it fits into an earlier page.
select tests.say('direct', 'bob', 'two ' || n) from generate_series(7, 8) n;
do $$
begin
    loop
        update public.messages set content = 'two 7, edited' where content in ('two 7', 'two 7, edited');
        exit when (select m.ctid from public.messages m where m.content = 'two 7, edited')
            > (select m.ctid from public.messages m where m.content = 'two 8');
    end loop;
end
$$;
select set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
select is(tests.read_as('alice', 'content in (''two 7, edited'', ''two 8'')'),
    '[{"content":"two 8","is_read":true}, {"content":"two 7, edited","is_read":true}]',
    'the newest message can come first');
select set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
select is(tests.marks(), 'alice 8, bob 8, alice 5, bob 3, carol 5', 'the read mark stays at the newest message');
select is(tests.rest('alice', format('update messages set is_read = %s where content = ''one 1'' returning id', value)),
    '"PL001"', format('rejects is_read = %s', value))
  from unnest(array['false', 'null']) value;
select is(tests.field_of('alice', 'update rest.messages set is_read = false where content = ''one 1'''),
    'PL001 is_read', 'the error names the field is_read');
select tests.say('direct', 'alice', 'mine');
select is(tests.read_as('alice', 'content = ''mine'''), '[{"content":"mine","is_read":false}]',
    'a user''s own message stays unread for itself');
select is(tests.rest('alice', 'update messages set is_read = false where content = ''mine'' returning is_read'),
    '[{"is_read":false}]', 'accepts an unchanged is_read');
select throws_ok('update rest.messages set is_read = true', 'PL002', null, 'marking as read requires a signed-in user');

-- The record of a running statement moves the caller's own mark only.
select set_config('postline.read', tests.id('group') || ' 2 9', true);
select is(tests.read_as('mallory', 'true'), '[]', 'a non-member marks no message read');
select is(tests.marks(), 'alice 9, bob 8, alice 5, bob 3, carol 5', 'a non-member moves no read mark');

-- Edits and deletions go to the table, with its rules.
select tests.say('direct', 'bob', 'last');
select is(tests.rest('bob', 'update messages set content = ''edited'' where content = ''last''
                             returning content, version, edited_at is not null as edited'),
    '[{"content":"edited","version":2,"edited":true}]', 'an edit returns the edited message');
select is(tests.rest('bob', 'update messages set deleted_at = now() where content = ''edited''
                             returning content, version, deleted_at is not null as deleted'),
    '[{"content":null,"version":3,"deleted":true}]', 'a deletion returns the deleted message');
select is(tests.rest('alice', 'update messages set content = ''x'' where ' || tests.in_room('direct')
                              || ' and ' || tests.not_by('alice') || ' returning id'),
    '[]', 'another''s message in a direct conversation cannot be deleted');

-- An insert returns the conversation, from table and view.
create function tests.pair(one uuid, other uuid, clause text default '') returns text language sql as $$
    select format('insert into conversations (participant1_id, participant2_id) values (%L, %L) %s returning *',
                  one, other, clause)
$$;
create function tests.pair(one text, other text, clause text default '') returns text language sql as $$
    select tests.pair(tests.id(one), tests.id(other), clause)
$$;
select is((tests.request('alice', tests.pair('alice', 'mallory'), 'public') -> 0 ->> 'created_by')::uuid,
    tests.id('alice'), 'an insert into the table returns the conversation');
select results_eq($$select (r ->> 'created_by')::uuid, r ->> 'kind', r ->> 'last_seq', r ->> 'unread_count'
                      from json_array_elements(tests.request('carol', tests.pair('mallory', 'carol'), 'rest')) r$$,
    $$values (tests.id('carol'), 'direct', '0', '0')$$, 'an insert into the view returns the conversation');
select is(json_array_length(tests.request('bob', tests.pair('mallory', 'bob', clause), schema)), found, label)
  from (values
        (1, 'public', 'an insert that ignores duplicates returns a new pair', 1),
        (2, 'public', 'such an insert does not return an existing pair', 0),
        (3, 'rest', 'such an insert into the view does not return an existing pair', 0)) as t (n, schema, label, found),
       (values ('on conflict (participant1_id, participant2_id) do nothing')) as c (clause);
select is((select count(*) from public.conversation_members m join public.conversations c on c.id = m.conversation_id
            where tests.id('mallory') in (c.participant1_id, c.participant2_id)),
    6::bigint, 'each conversation has its two members');
select is(tests.rest('mallory', 'select count(*) from conversations'), '[{"count":3}]',
    'both users see the conversation');

-- An existing pair is a unique violation for the two; for others it is refused as every pair without them.
select is(tests.rest('bob', tests.pair('bob', 'alice'), schema), '"23505"',
    'an existing pair is a unique violation: ' || schema)
  from unnest(array['public', 'rest']) schema;
select is(tests.rest('bob', tests.pair('bob', 'alice', 'on conflict (participant1_id, participant2_id)
                                       do update set participant1_id = excluded.participant1_id'), schema),
    '"42501"', 'an upsert that would merge duplicates is refused: ' || schema)
  from unnest(array['public', 'rest']) schema;
select is(tests.rest('carol', tests.pair(one, other, clause), schema), '"42501"',
    format('another user does not learn whether a pair exists: %s %s', schema, clause))
  from (values (tests.id('alice'), tests.id('bob')), (tests.id('mallory'), tests.id('alice')),
               (tests.id('alice'), gen_random_uuid())) as pair (one, other),
       unnest(array['', 'on conflict do nothing', 'on conflict (participant1_id, participant2_id) do nothing']) clause,
       unnest(array['public', 'rest']) schema;
-- The user who began it sees it without being a member in that transaction only.
select tests.age();
delete from public.conversation_members where user_id = tests.id('carol');
select is(tests.rest('carol', 'select count(*) from conversations', schema), '[{"count":0}]',
    'a former member does not see a conversation that it created: ' || schema)
  from unnest(array['public', 'rest']) schema;

-- An insert returns the message, unread.
select is(tests.rest('alice', format('insert into messages (conversation_id, sender_id, content)
        values (%L, %L, ''new'') returning content, is_read', tests.id('direct'), tests.id('alice'))),
    '[{"content":"new","is_read":false}]', 'an insert returns the user''s own message');

-- A deleted user's access token may still be valid.
select tests.say('direct', 'alice', 'are you there?');
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is(tests.rest('bob', statement, schema), '[]', format('a deleted user gets no rows, %s: %s', schema, statement))
  from unnest(array['public', 'rest']) schema,
       unnest(array['select * from conversations', 'select * from messages',
                    'update messages set content = ''x'' returning id',
                    'update messages set deleted_at = now() returning id',
                    'update user_profiles set bio = ''x'' returning id']) statement;
select is(tests.rest('bob', 'select * from conversation_members', 'public'), '[]',
    'a deleted user does not see the members of its conversations');
select is(tests.read_as('bob', 'true'), '[]', 'a deleted user cannot mark messages read');
-- A member row may not say that its user is deleted, if it was inserted while the user was deleted under `repeatable
-- read`.
update public.conversation_members set is_deleted = false where user_id = tests.id('bob');
select is(tests.rest('bob', 'select * from ' || relation, 'public'), '[]',
        format('a member row that is not marked deleted shows a deleted user no rows: %s', relation))
  from unnest(array['conversations', 'conversation_members', 'messages']) relation;
update public.conversation_members set is_deleted = true where user_id = tests.id('bob');
select is(tests.attempt('bob', 'update public.conversation_members set last_read_seq = 99'), '0',
    'a deleted user cannot move its read mark');
select is(tests.rest('bob', statement, schema), '"PL008"', 'a deleted user cannot send a message: ' || schema)
  from unnest(array['public', 'rest']) schema,
       unnest(array[format('insert into messages (conversation_id, sender_id, content) values (%L, %L, ''x'')
                            returning id', tests.id('direct'), tests.id('bob')),
                    tests.pair('bob', 'carol')]) statement;
select matches(tests.as('bob', format('api.messages(%L)', tests.id('direct'))), '^PL008 ',
    'a deleted user cannot read messages through an operation');
select is(tests.rest('alice', 'select count(*) from messages where ' || tests.in_room('direct')),
    '[{"count":12}]', 'the other member keeps all messages');

select * from finish();
rollback;
