-- Messages that the filter holds: who sees what of them, and what decides. '4:4:' is the snapshot that saw the aged
-- world. carol is a moderator and a member of the group, mallory a moderator and a member of nothing.
begin;
select no_plan();
select tests.make_world();
select tests.make_user('dora'), tests.make_user('guest', true);
update public.user_private set is_moderator = true where id in (tests.id('carol'), tests.id('mallory'));
create function tests.call_send(room text, content text, more text default '') returns text language sql as $$
    select format('api.send_message(%L, %L%s)', tests.id(room), content, more)
$$;
-- Returns a message in short: number, content, version, and what it is.
create function tests.short(message jsonb) returns text language sql as $$
    select concat_ws(' ', message ->> 'seq', message ->> 'content', message ->> 'version',
                     case when message ->> 'deleted_at' is not null then 'deleted' end,
                     case when message ? 'is_held' then 'held' end)
$$;
create function tests.sends(who text, room text, content text, more text default '') returns text language sql as $$
    select case when a like '{%' then tests.short(a::jsonb) else a end
      from tests.as(who, tests.call_send(room, content, more)) a
$$;
create function tests.listed(who text, room text, more text default '') returns text[] language sql as $$
    select array_agg(tests.short(m) order by n)
      from jsonb_array_elements(tests.as(who, format('api.messages(%L%s)', tests.id(room), more))::jsonb
                                -> 'messages') with ordinality as w (m, n)
$$;
create function tests.synced(who text, since text default null) returns text[] language sql as $$
    select coalesce(array_agg(tests.short(m) order by (m ->> 'seq')::bigint, m::text), '{}')
      from tests.pages(who, since) c cross join lateral jsonb_array_elements(c -> 'messages') m
$$;
create function tests.told() returns text[] language sql as $$
    select array(select concat_ws(' ', l.kind, l.member, l.conversation, tests.short(l.object::jsonb))
                   from tests.read_changes() with ordinality l (kind, conversation, member, seq, object, place)
                  where l.kind in ('message', 'own_message') order by l.place)
$$;
create function tests.decide(who text, what text, room text, seq bigint) returns text language sql as $$
    select case when a like '{%' then concat_ws(' ', a::jsonb ->> 'version',
                                                case when a::jsonb ->> 'deleted_at' is not null then 'deleted' end)
                else a end
      from tests.as(who, format('api.%s_message(%L, %s)', what, tests.id(room), seq)) a
$$;
create function tests.row_of(room text, seq bigint) returns public.messages language sql as $$
    select m from public.messages m where m.conversation_id = tests.id(room) and m.seq = row_of.seq
$$;
create function tests.last_order() returns text language sql as $$
    select concat_ws(' ', coalesce((select i.name from tests.ids i where operator = 'moderator ' || i.id), operator),
                     action, (select i.name from tests.ids i where i.id = user_id), detail ->> 'seq')
      from admin.audit order by id desc limit 1
$$;
select tests.say('direct', 'bob', 'old'), tests.say('group', 'bob', 'old');
select tests.age();

-- The operator's list.
select is(admin.add_filter_rule('me', 'Gamble', null, 'hold')::jsonb,
    '{"word":"gamble","scopes":["messages"],"action":"hold"}', 'a rule that holds is for messages');
select throws_ok($$select admin.add_filter_rule('me', 'bet', 'names', 'hold')$$, 'PA001', null, 'not for names');
select throws_ok($$select admin.add_filter_rule('me', '*', null, 'refuse')$$, 'PA001', null,
    'every message can only be held');
select throws_ok($$insert into app.filter_rules (scope, word, action) values ('titles', 'bet', 'hold')$$, '23514');
select admin.add_filter_rule('me', 'darn', 'messages', 'mask');
select admin.add_filter_rule('me', 'idiot', 'messages', 'refuse');

-- A held message, for its sender and for others.
create temporary table held as
select tests.as('alice', tests.call_send('group', 'Darn, let us GAMBLE', format(
    ', client_id => %L, reply_to_seq => 1, mentions => array[%L]::uuid[], mentions_everyone => true, '
        'data => ''{"a":1}''', '00000000-0000-4000-8000-00000000000a', tests.id('bob'))))::jsonb as answer;
select is(tests.short(answer), '2 ****, let us GAMBLE 2 held', 'the sender gets the message as sent, masked') from held;
select is(answer ->> 'mentions', '["' || tests.id('bob') || '"]', 'with its mentions') from held;
select is(concat_ws(' ', answer -> 'is_held', answer -> 'mentions_everyone', answer -> 'data',
                    answer #> '{reply_to,content}'), 'true true {"a": 1} "old"', 'and all else') from held;
select is(tests.listed(who, 'group'), array['1 old 1', last], who || ' lists')
  from (values ('alice', '2 ****, let us GAMBLE 2 held'), ('bob', '2 1 deleted'), ('carol', '2 1 deleted'))
    as v (who, last);
select is(tests.synced(who, since), pages, format('%s syncs since %s', who, since))
  from (values ('alice', null, array['1 old 1', '1 old 1', '2 ****, let us GAMBLE 2 held']),
               ('alice', '4:4:', array['2 ****, let us GAMBLE 2 held']),
               ('bob', null, array['1 old 1', '1 old 1', '2 1 deleted']), ('bob', '4:4:', array['2 1 deleted']))
    as v (who, since, pages)
 order by who;
select is(tests.told(), array['own_message alice group 2 ****, let us GAMBLE 2 held',
    'message alice group 2 1 deleted'], 'the feed tells the sender''s devices first');
select is(tests.as('alice', format(
    $$app.own_form(%L, '{}')::json ->> 'content'$$, (tests.row_of('group', 2)).id)), '****, let us GAMBLE',
    'a function gives a sender its own text');
select is(tests.as(who, format($$app.own_form(%L, '{}')$$, (tests.row_of('group', 2)).id)), '{}', 'and not ' || who)
  from unnest(array['bob', 'carol', 'mallory']) who;

-- The text is in no table or view that another role reads.
create function tests.readers(word text) returns text[] language plpgsql as $$
declare
    place record;
    found bigint;
    readers text[] := '{}';
    who text;
begin
    for place in
        select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin')
           and c.relkind in ('r', 'p', 'v')
           and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    loop
        foreach who in array array['alice', 'bob', 'carol', 'mallory', 'anon', 'service_role', 'postline_accounts',
                                   'postline_sender', 'postline_feed'] loop
            begin
                perform tests.authenticate_as(who);
                execute format('select count(*) from %I.%I t where t::text ilike %L', place.nspname, place.relname,
                    '%' || word || '%') into found;
                perform tests.owner();
                if found > 0 then
                    readers := readers || format('%s %s.%s', who, place.nspname, place.relname);
                end if;
            exception when insufficient_privilege then
                perform tests.owner();
            end;
        end loop;
    end loop;
    return readers;
end $$;
select is(tests.readers('gamble'), array['postline_feed app.held_messages'],
    'row 65b: only the feed, for the sender, can read the text of a held message');
select is(tests.as(who, call) ~* 'gamble', false, format('row 65b: %s has no text by %s', who, call))
  from unnest(array['bob', 'carol', 'mallory']) who,
       unnest(array[format('api.messages(%L)', tests.id('group')),
                    format('api.replies(%L, 1, null, null, 50)', tests.id('group')),
                    format('api.conversation(%L)', tests.id('group')),
                    'api.conversations()', 'api.search_messages(''let us gamble'')',
                    format('api.create_report(%L, 2, null, ''spam'', null)', tests.id('group')),
                    format('api.react(%L, 2, ''+1'')', tests.id('group')),
                    format('api.pin_message(%L, 2)', tests.id('group')),
                    format('api.edit_message(%L, 2, ''x'')', tests.id('group'))]) call;
select is((tests.conversation('group')).last_message_content, null, 'the list has no preview of it');
select is((select count(*) from public.message_mentions), 0::bigint, 'nobody is mentioned');
select is(tests.as('alice', 'api.search_messages(''let us gamble'') ->> ''messages'''), '[]',
    'nor does the sender find it');
select is(tests.sends('alice', 'group', 'about that', ', reply_to_seq => 2'), '3 about that 1');
select is(tests.as('bob', format('api.messages(%L)', tests.id('group')))::jsonb #>> '{messages,2,reply_to,content}',
    null, 'a reply does not quote it');
select is(tests.as('bob', format('api.react(%L, 2, ''+1'')', tests.id('group'))) ~ '^PL007', true,
    'others cannot react to it');
select is(tests.as('alice', format(
    'api.sent_message(%L, ''Darn, let us GAMBLE'', ''00000000-0000-4000-8000-00000000000a'', reply_to_seq => 1, '
        'data => ''{"a":1}'') ->> ''content''', tests.id('group'))), '****, let us GAMBLE',
    'a repeated send is the same');
select is(tests.as('alice', format(
    'api.sent_message(%L, ''Let us gamble'', ''00000000-0000-4000-8000-00000000000a'', reply_to_seq => 1, '
        'data => ''{"a":1}'')', tests.id('group'))) ~ '^PL012', true, 'another text is not');

-- The queue.
create function tests.queue(who text, arguments text default '') returns text[] language sql as $$
    select coalesce(array_agg(concat_ws(' ', h #>> '{message,content}', h ->> 'words') order by n), '{}')
      from jsonb_array_elements(tests.as(who, 'api.held_messages(' || arguments || ')')::jsonb -> 'held')
           with ordinality as w (h, n)
$$;
select is(array_agg(distinct tests.as(who, call)), array['PL007 Only moderators can do this.'],
    'a user who is no moderator is refused each method')
  from unnest(array['alice', 'bob', 'guest']) who,
       unnest(array['api.held_messages()', format('api.release_message(%L, 2)', tests.id('group')),
                    format('api.reject_message(%L, 2)', tests.id('group'))]) call;
select is(array_agg(distinct tests.attempt(who, statement)), array['42501'], 'no role goes round the methods')
  from unnest(array['alice', 'carol', 'anon', 'service_role', 'postline_accounts', 'postline_sender',
                    'tests_login']) who,
       unnest(array['select from app.held_messages', 'update app.held_messages set content = content',
                    'delete from app.held_messages', 'select app.held_page(50, null, null)',
                    'select app.locked_held(null, 1)', 'select app.release_held(null)',
                    'select app.reject_held(null)', 'select app.apply_held_decision(null, ''release'')',
                    'select app.claim_held(1)', 'select app.hold_message(null, '''')',
                    'select app.drop_held(null, null)', 'select admin.held_messages(1, null)']) statement;
select is(tests.attempt('postline_feed', statement), '42501', 'nor does the feed: ' || statement)
  from unnest(array['update app.held_messages set content = content', 'delete from app.held_messages']) statement;
select is(tests.sends('dora', 'group', 'gamble'), 'PL008 There is no such conversation.',
    'a stranger''s text is not held');
select is(tests.sends('carol', 'group', 'a moderator''s gamble'), '4 a moderator''s gamble 2 held');
select is(tests.queue('carol'), array['****, let us GAMBLE ["gamble"]'], 'a moderator lists the messages of others');
select is(tests.queue('mallory'), array['****, let us GAMBLE ["gamble"]', 'a moderator''s gamble ["gamble"]'],
    'a moderator need not be a member');
select is(tests.queue('mallory', '1'), array['****, let us GAMBLE ["gamble"]'], 'pages have a limit');
select is(tests.queue('mallory', format('1, %L', tests.as('mallory', 'api.held_messages(1) ->> ''next'''))),
    array['a moderator''s gamble ["gamble"]'], 'the second page follows');
select is(tests.field_of('mallory', 'select api.held_messages(' || arguments || ')'), outcome, arguments)
  from (values ('0', 'PL001 limit'), ('51', 'PL001 limit'), ('1, ''x''', 'PL001 after')) v (arguments, outcome);
select is(tests.decide('carol', 'release', 'group', 4), 'PL008 There is no such held message.',
    'a moderator does not decide about its own message');
select is(tests.decide('mallory', decision, 'group', seq), 'PL008 There is no such held message.',
    decision || ' needs a held message')
  from unnest(array['release', 'reject']) decision, unnest(array[1, 3, 99]) seq;

-- Release.
insert into app.devices (user_id, platform, token, environment)
values (tests.id('bob'), 'apns', 'aa', 'production');
select tests.age();
select is(tests.decide('mallory', 'release', 'group', 2), '3', 'a moderator releases a message');
select is(tests.last_order(), 'mallory release-message alice 2', 'the audit log has it');
select is(tests.listed(who, 'group', ', 3'), array['1 old 1', '2 ****, let us GAMBLE 3'], who || ' sees it')
  from unnest(array['alice', 'bob', 'carol']) who;
select is(tests.told(), array['message alice group 2 ****, let us GAMBLE 3'], 'all devices are told');
select is(tests.synced(who, '4:4:'), array['2 ****, let us GAMBLE 3'], who || ' syncs it')
  from unnest(array['alice', 'bob']) who;
select is((tests.row_of('group', 2)).edited_at, null, 'it is not edited');
select is(tests.as('bob', format('api.conversation(%L) ->> ''unread_mentions''', tests.id('group'))), '1',
    'a mention counts now');
select is((select jsonb_agg(c -> 'unread_mentions') from tests.pages('bob', '4:4:') p
            cross join lateral jsonb_array_elements(p -> 'conversations') c), '[1]', 'and is told');
select is((select string_agg(concat_ws(' ', q.seq, q.sender_id = tests.id('alice')), ', ') from app.push_queue q),
    '2 t', 'it is pushed like a new message');
select is((tests.conversation('group')).last_message_content, null, 'the newest message is still the preview');
select is(tests.decide('mallory', 'release', 'group', 2), 'PL008 There is no such held message.', 'once');
select is(tests.as('alice', format('api.edit_message(%L, 2, ''x'') ->> ''version''', tests.id('group'))), '4',
    'it can be edited then');
select is(tests.as('alice', format('api.messages(%L)', tests.id('group')))::jsonb #>> '{messages,2,reply_to,version}',
    '4', 'a quote has the newest version');
select is(tests.decide('mallory', 'release', 'group', 4), '3');
select is((tests.conversation('group')).last_message_content, 'a moderator''s gamble',
    'the newest message is the preview once it is released');

-- Rejection.
select is(tests.sends('alice', 'direct', 'gamble with me'), '2 gamble with me 2 held');
select tests.age();
select is(tests.decide('mallory', 'reject', 'direct', 2), '3 deleted', 'a moderator rejects a message');
select is(tests.last_order(), 'mallory reject-message alice 2', 'the audit log has it');
select is(tests.listed(who, 'direct'), array['1 old 1', '2 3 deleted'], who || ' sees a deleted message')
  from unnest(array['alice', 'bob']) who;
select is(tests.told(), array['message alice direct 2 3 deleted'], 'all devices are told');
select is(tests.synced('alice', '4:4:'), array['2 3 deleted'], 'the sender syncs it');
select is(tests.readers('gamble with'), '{}', 'nothing of the text is left');
select is(tests.as('alice', format('api.edit_message(%L, 2, ''x'')', tests.id('direct'))),
    'PL007 A deleted message cannot be changed.', 'it cannot be changed');

-- The sender deletes it, and cannot edit it.
select is(tests.sends('alice', 'group', 'gamble alone'), '5 gamble alone 2 held');
select is(tests.as('alice', format('api.edit_message(%L, 5, ''x'')', tests.id('group'))),
    'PL007 A moderator has to see this message first. It can be deleted, and sent again.', 'an edit is refused');
select is(tests.attempt('alice', format(
    $$update public.messages set content = 'x', deleted_at = null where conversation_id = %L and seq = 5$$,
    tests.id('group'))), 'PL007', 'psql does not release it');
select is(tests.attempt('alice', format('update public.messages set version = 3 where conversation_id = %L and seq = 5',
    tests.id('group'))), '42501', 'nor can a user write a version');
select tests.age();
select is(tests.short(tests.as('alice', format('api.delete_message(%L, 5)', tests.id('group')))::jsonb),
    '5 3 deleted', 'its sender deletes it');
select is(tests.told(), array['message alice group 5 3 deleted'], 'which is told');
select is(tests.decide('mallory', 'release', 'group', 5), 'PL008 There is no such held message.', 'it is gone');
select is((select count(*) from app.held_messages), 0::bigint);

-- Other paths to a message.
select is(tests.as('alice', format(
    $$(with w as (insert into public.messages (conversation_id, sender_id, content) values (%L, %L, 'psql gamble')
                  returning content, deleted_at) select w.content is null and w.deleted_at is not null from w)$$,
    tests.id('group'), tests.id('alice'))) ~ '^0A000', true, 'a with clause that writes is at the top');
select is(tests.request('alice', format(
    $$insert into public.messages (conversation_id, sender_id, content) values (%L, %L, 'PostgREST gamble')
      returning seq, content$$, tests.id('group'), tests.id('alice')))::jsonb, '[{"seq":6,"content":null}]',
    'PostgREST holds it too');
select is(tests.queue('mallory'), array['PostgREST gamble ["gamble"]']);
select is(tests.decide('mallory', 'reject', 'group', 6), '3 deleted');
select is(tests.sends('alice', 'direct', 'an idiot may gamble'), 'PL017 "content" has a word that is not allowed here.',
    'what is refused is not held');
select is(tests.sends('alice', 'direct', 'fine'), '3 fine 1');
select is(tests.field_of('alice', format('select api.edit_message(%L, 3, ''gamble'')', tests.id('direct'))),
    'PL017 content', 'an edit that would be held is refused');
select is(tests.as('alice', format('api.edit_message(%L, 3, ''darn'') ->> ''content''', tests.id('direct'))), '****',
    'one that is masked is not');
select is(tests.as('alice', format('api.schedule_message(%L, %L, ''gamble'') ->> ''content''', tests.id('direct'),
    app.utc(now() + interval '1 hour'))), 'gamble', 'a message can be scheduled');
select is((select count(*) from app.held_messages), 0::bigint, 'which holds nothing yet');
update public.scheduled_messages set next_try_at = now() - interval '1 second', due_at = now() - interval '1 second';
select is(app.send_due(), true);
select is(tests.listed('alice', 'direct', ', null, 3'), array['4 gamble 2 held'], 'it is held at its time');
select is(tests.decide('mallory', 'release', 'direct', 4), '3');

-- Messages that stream.
create function tests.streamed(text text) returns bigint language plpgsql as $$
declare
    target bigint := (tests.as('alice', format('api.stream_message(%L, ''so '')', tests.id('direct')))::jsonb
                      ->> 'seq')::bigint;
begin
    perform tests.as('alice', format('api.append_to_message(%L, %s, 3, %L)', tests.id('direct'), target, text));
    perform tests.as('alice', format('api.finish_message(%L, %s)', tests.id('direct'), target));
    return target;
end $$;
select is(tests.streamed('gamble, darn'), 5::bigint);
select is(tests.listed('alice', 'direct', ', null, 4'), array['5 so gamble, **** 3 held'],
    'a stream is held at its end');
select is(tests.listed('bob', 'direct', ', null, 4'), array['5 2 deleted'], 'for others it is deleted then');
select is((select count(*) from public.message_pieces), 0::bigint, 'and its pieces are');
select is(tests.decide('mallory', 'release', 'direct', 5), '4');
select is(tests.listed('bob', 'direct', ', null, 4'), array['5 so gamble, **** 4'], 'released, it is there');

-- Files.
create function tests.file(name text, who text) returns void language plpgsql as $$
begin
    insert into tests.ids select name, tests.create(who, format(
        '''message'', ''image/png'', 10, tests.id(''group''), name => %L', name));
    perform tests.store(tests.id(name));
end $$;
create function tests.seen(who text) returns text language sql as $$
    select coalesce(string_agg(i.name, ' ' order by i.name), '')
      from json_array_elements(tests.as(who, format('api.readable_media(%L)', (
               select array_agg(i.id) from tests.ids i join public.media m on m.id = i.id)))::json -> 'media') e
      join tests.ids i on i.id = (e.value ->> 'id')::uuid
$$;
select tests.file(name, 'alice') from unnest(array['a.png', 'b.png', 'c.png']) name;
select is(tests.sends('alice', 'group', 'gamble ' || name, format(
    ', kind => ''image'', attachment => %L', jsonb_build_object('media_id', tests.id(name), 'width', 1, 'height', 1,
        'url', 'http://127.0.0.1:7433/v1/media/' || tests.id(name)))), n || ' gamble ' || name || ' 2 held',
    'holds ' || name)
  from (values (7, 'a.png'), (8, 'b.png'), (9, 'c.png')) v (n, name);
select is(tests.seen('alice'), 'a.png b.png c.png', 'the sender sees the files');
select is(tests.seen(who), '', who || ' does not see the files') from unnest(array['bob', 'dora']) who;
select is(tests.seen(who), 'a.png b.png c.png', 'moderators do: ' || who) from unnest(array['carol', 'mallory']) who;
select is(tests.as('bob', '(select count(*) from public.media)'), '0', 'no row of them is visible');
select is(tests.decide('mallory', 'release', 'group', 7), '3');
select is(tests.decide('mallory', 'reject', 'group', 8), '3 deleted');
select is(tests.as('alice', format('api.delete_message(%L, 9) ->> ''version''', tests.id('group'))), '3');
select is(tests.seen(who), 'a.png', who || ' sees the released file') from unnest(array['alice', 'bob', 'carol']) who;
select is(tests.seen('mallory'), '', 'a moderator who is no member does not');
select is((select string_agg(i.name, ' ' order by i.name) from app.media_removals r join tests.ids i on i.id = r.id
            where r.purpose <> 'upload'), 'b.png c.png', 'the others are removed');

-- Every message.
select admin.add_filter_rule('me', '*', null, 'hold');
select is(tests.sends('alice', 'group', 'hello'), '10 hello 2 held', 'the word * holds every message');
select is(tests.sends('alice', 'group', '', ', kind => ''custom'', data => ''{}'''), '11  2 held',
    'without a text too');
select is(tests.sends('alice', 'group', 'Oh darn'), '12 Oh **** 2 held', 'other rules remain');
select is(tests.sends('alice', 'group', 'idiot'), 'PL017 "content" has a word that is not allowed here.');
select is(tests.queue('mallory'), array['hello ["*"]', ' ["*"]', 'Oh **** ["*"]']);
select is(tests.as('alice', format('api.stream_message(%L, '''')', tests.id('group'))),
    'PL007 Messages cannot stream here: a moderator sees each of them first.', 'nothing streams');
select is(tests.field_of('alice', format('select api.edit_message(%L, 7, ''x'')', tests.id('group'))), 'PL017 content',
    'no text is edited');
select is(tests.field_of('alice', format(
    'select api.edit_message(%L, 7, ''gamble a.png'', data => ''{"a":2}'', keeps_data => false)', tests.id('group'))),
    'PL017 content', 'and no data');
select is(tests.as('alice', format('api.update_conversation(%L, ''New'') ->> ''title''', tests.id('group'))), 'New');
select is((tests.row_of('group', 13)).event ->> 'title', 'New', 'an event is not held');
select admin.remove_filter_rule('me', '*', null);
delete from app.held_messages;

-- Batches leave out what may be held.
create temporary table batch (place bigint);
grant insert on batch to public;
select tests.authenticate_as('postline_sender');
insert into batch
select place from app.send_messages(
    array[tests.id('bob'), tests.id('alice'), tests.id('alice')], array_fill(tests.id('direct'), array[3]),
    array['one', 'gamble', 'three'], array_fill(null::uuid, array[3]));
select tests.owner();
select is((select array_agg(place order by place) from batch), array[1]::bigint[], 'a batch holds nothing');

-- Deletions of held messages, by all who may delete the message.
savepoint deletions;
create function pg_temp.deleted(who text, call text) returns text language plpgsql as $$
declare
    message bigint;
    held boolean;
begin
    message := split_part(tests.sends('bob', 'group', 'gamble away'), ' ', 1);
    if call like 'update%' then
        perform pg_temp.attempt_and_keep(who, format(call, tests.id('group'), message));
    else
        perform tests.as(who, format(call, tests.id('group'), message));
    end if;
    held := exists (select from app.held_messages h join public.messages m on m.id = h.message_id
                     where m.conversation_id = tests.id('group') and m.seq = message);
    return concat_ws(' ', held, (tests.row_of('group', message)).version,
                     split_part((tests.listed('bob', 'group', ', after_seq => ' || message - 1))[1], ' ', 3));
end $$;
create function pg_temp.attempt_and_keep(who text, statement text) returns void language plpgsql as $$
begin
    perform tests.authenticate_as(who);
    execute statement;
    perform tests.owner();
exception
    when others then perform tests.owner();
end $$;
select is(pg_temp.deleted(who, call), answer, who || ': ' || call)
  from (values
    ('bob', 'api.delete_message(%L, %s)', 'f 3 deleted'),
    ('alice', 'api.delete_message(%L, %s)', 'f 3 deleted'),
    ('mallory', 'api.remove_message(%L, %s)', 'f 3 deleted'),
    ('bob', 'update rest.messages set deleted_at = now() where conversation_id = %L and seq = %s', 'f 3 deleted'),
    ('bob', 'update public.messages set deleted_at = now() where conversation_id = %L and seq = %s', 'f 3 deleted'),
    ('alice', 'update public.messages set deleted_at = now() where conversation_id = %L and seq = %s', 'f 3 deleted'),
    ('carol', 'api.delete_message(%L, %s)', 't 1 away'),
    ('carol', 'update public.messages set deleted_at = now() where conversation_id = %L and seq = %s', 't 1 away'),
    ('bob', 'update public.messages set content = ''x'' where conversation_id = %L and seq = %s', 't 1 away'))
    w (who, call, answer);
select is(tests.last_order(), 'mallory remove-message bob ' || max((detail ->> 'seq')::bigint),
    'a moderator''s is logged')
  from admin.audit where action = 'remove-message';
rollback to deletions;

-- The bound.
select tests.sends('bob', 'direct', 'gamble ' || n) from generate_series(1, 100) n;
select is(tests.sends('bob', 'direct', 'gamble 101'),
    'PL007 100 of your messages wait for a moderator. Wait until one is seen, or delete one.',
    'a user has 100 at most');
select is(tests.sends('bob', 'direct', 'free'), '107 free 1', 'and sends what is not held');
delete from app.held_messages;

-- Senders who may no longer write.
select is(tests.sends('bob', 'group', 'gamble 1'), '14 gamble 1 2 held');
select is(tests.sends('bob', 'direct', 'gamble 2'), '108 gamble 2 2 held');
select tests.as('alice', format('api.block_user(%L)', tests.id('bob')));
select is(tests.decide('mallory', 'release', 'direct', 108),
    'PL007 Its sender can no longer write in the conversation: reject the message.', 'not while one blocks the other');
select tests.as('alice', format('api.unblock_user(%L)', tests.id('bob')));
update auth.users set banned_until = 'infinity' where id = tests.id('bob');
select is(tests.decide('mallory', 'release', 'direct', 108),
    'PL007 Its sender can no longer write in the conversation: reject the message.', 'not while the sender is banned');
update auth.users set banned_until = null where id = tests.id('bob');
select is(tests.decide('mallory', 'release', 'direct', 108), '3', 'afterwards it can be');
select tests.as('alice', format('api.remove_member(%L, %L)', tests.id('group'), tests.id('bob')));
select is(tests.decide('mallory', 'release', 'group', 14), 'PL008 There is no such held message.',
    'what a removed member has sent is gone');
select is(tests.sends('bob', 'direct', 'gamble 3'), '109 gamble 3 2 held');
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is((select count(*) from app.held_messages), 0::bigint, 'so is what a deleted user has sent');

-- The webhook.
create function tests.claimed(most integer default 10) returns text[] language plpgsql as $$
declare
    said text[];
begin
    perform tests.authenticate_as('postline_feed');
    select coalesce(array_agg(concat_ws(' ', c.body::jsonb ->> 'type', tests.short(c.body::jsonb -> 'message'),
                                        c.body::jsonb ->> 'words') order by c.body), '{}') into said
      from app.claim_held(most) c;
    perform tests.owner();
    return said;
end $$;
create function tests.apply(seq bigint, decision text) returns void language plpgsql as $$
declare
    id uuid := (tests.row_of('group', seq)).id;
begin
    perform tests.authenticate_as('postline_feed');
    perform app.apply_held_decision(id, decision);
    perform tests.owner();
end $$;
select is(tests.sends('alice', 'group', 'gamble ' || n), n || ' gamble ' || n || ' 2 held')
  from generate_series(16, 18) n;
select is(tests.claimed(), array['message 16 gamble 16 2 held ["gamble"]', 'message 17 gamble 17 2 held ["gamble"]',
    'message 18 gamble 18 2 held ["gamble"]'], 'a node asks about all');
select is(tests.claimed(), '{}', 'once, and no other node');
update app.held_messages set ask_at = now() - interval '1 second';
select is(cardinality(tests.claimed(2)), 2, 'again, if nothing was decided within a minute');
select tests.apply(16, 'release'), tests.apply(17, 'reject'), tests.apply(18, 'hold');
select is(tests.listed('carol', 'group', ', null, 15'), array['16 gamble 16 3', '17 3 deleted', '18 1 deleted'],
    'each decision is applied');
select tests.apply(16, 'reject'), tests.apply(17, 'release');
select is(tests.listed('carol', 'group', ', null, 15'), array['16 gamble 16 3', '17 3 deleted', '18 1 deleted'],
    'a late one changes nothing');
update app.held_messages set ask_at = now() - interval '1 second' where ask_at is not null;
select is(tests.claimed(), '{}', 'what is left to a moderator is not asked about again');
select is(tests.queue('mallory'), array['gamble 18 ["gamble"]'], 'and waits for one');
select is(tests.sends('alice', 'group', 'gamble 19'), '19 gamble 19 2 held');
update auth.users set banned_until = 'infinity' where id = tests.id('alice');
select tests.apply(19, 'release');
update auth.users set banned_until = null where id = tests.id('alice');
select is(tests.listed('alice', 'group', ', null, 18'), array['19 3 deleted'],
    'released by the webhook, a banned sender''s message is rejected');
update app.held_messages set held_at = now() - interval '25 hours', ask_at = now() - interval '1 second';
select is(tests.claimed(), '{}', 'the webhook is asked for a day at most');

-- The operator, the counts and the age.
select is((select concat_ws(' ', pending, round(oldest_seconds)) from app.held_counts()), '1 90000', 'counts');
select is((admin.held_messages(10, null)::jsonb #>> '{held,0,message,content}'), 'gamble 18', 'the operator lists');
select is((admin.held_messages(10, null)::jsonb ->> 'pending'), '1');
select throws_ok(format('select admin.decide_held(''me'', %L, 1, true)', tests.id('group')), 'PA002');
select throws_ok('select admin.decide_held(''me'', ''x'', 1, true)', 'PA001');
select is(admin.decide_held('me', tests.id('group')::text, 18, true)::jsonb ->> 'is_released', 'true', 'and releases');
select is(tests.last_order(), 'me release-message alice 18');
select is(tests.sends('alice', 'group', 'gamble 20'), '20 gamble 20 2 held');
select is(app.expire_held(), false, 'a new message stays');
update app.held_messages set held_at = now() - app.held_timeout() - interval '1 second';
select is(app.expire_held(), true, 'after 30 days it is rejected');
select is(tests.listed('alice', 'group', ', null, 19'), array['20 3 deleted']);
select is(app.expire_held(), false);

-- A guest that becomes an account.
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('guest'));
select is(tests.sends('guest', 'group', 'a guest''s gamble'), '21 a guest''s gamble 2 held');
select is(tests.sends('guest', 'group', 'said', ', reply_to_seq => 21'), '22 said 1');
select tests.age();
select app.merge_users(tests.id('guest'), tests.id('dora'));
select is(tests.listed('dora', 'group', ', null, 20'), array['21 a guest''s gamble 3 held', '22 said 2'],
    'the account sees what the guest has sent');
select is(array(select t from unnest(tests.told()) t where t like '% 21 %'),
    array['own_message dora group 21 a guest''s gamble 3 held', 'message dora group 21 2 deleted'], 'it is told');
select is(tests.decide('mallory', 'release', 'group', 21), '4');
select is(tests.listed('alice', 'group', ', null, 20'), array['21 a guest''s gamble 4', '22 said 2']);

select * from finish();
rollback;
