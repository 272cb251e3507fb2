-- The filter of words.
begin;
select no_plan();
select tests.make_world();
create function tests.last_order() returns text language sql as $$
    select concat_ws(' ', operator, action, detail) from admin.audit order by id desc limit 1
$$;
create function tests.content(room text, seq bigint) returns text language sql as $$
    select m.content from public.messages m where m.conversation_id = tests.id(room) and m.seq = content.seq
$$;
create function tests.send(content text, client_id uuid default null) returns text language sql as $$
    select tests.as('alice', format('(api.send_message(%L, %L, %L)) ->> ''content''', tests.id('direct'), content,
        client_id))
$$;

-- The operator's list.
select is(admin.add_filter_rule('me', 'Idiót', null, 'refuse')::jsonb,
    '{"word":"idiot","scopes":["messages","names","titles"],"action":"refuse"}', 'adds a word, folded, for all scopes');
select is(tests.last_order(),
    'me add-filter-rule {"word": "idiot", "action": "refuse", "scopes": ["messages", "names", "titles"]}',
    'the audit log has it');
select admin.add_filter_rule('me', 'darn', 'messages', 'refuse');
select admin.add_filter_rule('me', 'darn', scope, 'mask') from unnest(array['messages', 'titles', 'names']) scope;
select admin.add_filter_rule('me', 'Müll', 'messages', 'mask');
select is((select array_agg(concat_ws(' ', r ->> 'word', r ->> 'scope', r ->> 'action'))
             from json_array_elements(admin.filter_rules(10) -> 'rules') r),
    array['darn messages mask', 'darn names mask', 'darn titles mask', 'idiot messages refuse', 'idiot names refuse',
          'idiot titles refuse', 'mull messages mask'], 'lists the rules');
select throws_ok(format('select admin.add_filter_rule(''me'', %L, null, ''mask'')', word), 'PA001', null,
    'refuses the word ' || word) from unnest(array['', 'a', 'two words', '12', repeat('x', 51)]) word;
select throws_ok($$select admin.add_filter_rule('me', 'word', 'bodies', 'mask')$$, 'PA001');
select throws_ok($$select admin.add_filter_rule('me', 'word', null, 'eat')$$, 'PA001');
select throws_ok($$select admin.remove_filter_rule('me', 'word', null)$$, 'PA002');
select is(array_agg(distinct tests.attempt(who, statement)), array['42501'], 'no role reads or writes the list')
  from unnest(array['alice', 'anon', 'service_role', 'postline_feed', 'postline_accounts', 'postline_sender',
                    'tests_login']) who,
       unnest(array['select from app.filter_rules', 'delete from app.filter_rules',
                    $$select app.filter_action('messages', 'darn')$$, 'select admin.filter_rules(10)']) statement;

-- Messages.
select is(tests.send('you IDIOT!'), 'PL017 "content" has a word that is not allowed here.', 'refuses a word');
select is(tests.send(text), 'PL017 "content" has a word that is not allowed here.', 'refuses ' || left(text, 20))
  from unnest(array['ídiot', 'an-idiot', 'idiot', e'id\u200biot', 'ｉｄｉｏｔ', 'x ' || repeat('y', 600) || ' idiot']) text;
select is(tests.field_of('alice', format('select api.send_message(%L, ''idiot'')', tests.id('direct'))),
    'PL017 content', 'names the field');
select is((tests.conversation('direct')).last_seq, 0::bigint, 'a refused message takes no number');
select is(tests.send(text), text, 'accepts ' || left(text, 20))
  from unnest(array['idiotic', 'a message', 'dar n', '😀', repeat('x', 8000)]) text;
select is(tests.send('Oh DÀRN, darn it: Müll'), 'Oh ****, **** it: ****', 'masks words, and keeps all else');
select is((tests.conversation('direct')).last_message_content, 'Oh ****, **** it: ****', 'also in the list');
select is(tests.send('darn 1', '00000000-0000-4000-8000-0000000000aa'), '**** 1', 'masks a message with a client_id');
select is(tests.as('alice', format(
    'api.sent_message(%L, ''darn 1'', ''00000000-0000-4000-8000-0000000000aa'') ->> ''content''', tests.id('direct'))),
    '**** 1', 'a masked message that is sent again is the same');
select is(tests.as('alice', format(
    'api.sent_message(%L, ''darn 2'', ''00000000-0000-4000-8000-0000000000aa'') ->> ''content''', tests.id('direct'))),
    'PL012 "client_id" was already used for another message in this conversation.', 'another text is not');
select is(tests.send('a newish text', '00000000-0000-4000-8000-0000000000ab'), 'a newish text');
select admin.add_filter_rule('me', 'newish', 'messages', 'refuse');
select matches(tests.send('a newish text', '00000000-0000-4000-8000-0000000000ab'), '^23505 ',
    'a repeated message counts as sent, also after a new rule');
select is(tests.attempt('alice', format(
    $$insert into public.messages (conversation_id, sender_id, content) values (%L, %L, 'idiot')$$, tests.id('direct'),
    tests.id('alice'))), 'PL017', 'psql does not go round it');
select is(tests.field_of('alice', format('select api.edit_message(%L, 2, ''idiot'')', tests.id('direct'))),
    'PL017 content', 'refuses an edit');
select is(tests.as('alice', format('api.edit_message(%L, 2, ''darn'') ->> ''content''', tests.id('direct'))), '****',
    'masks an edit');
select is(tests.field_of('alice', format(
    'select api.schedule_message(%L, %L, ''idiot'')', tests.id('direct'), app.utc(now() + interval '1 hour'))),
    'PL017 content', 'refuses a scheduled message at once');
create function tests.streamed() returns text language plpgsql as $$
declare
    target bigint := (tests.as('alice', format('api.stream_message(%L, ''so '')', tests.id('direct')))::jsonb
                      ->> 'seq')::bigint;
begin
    perform tests.as('alice', format('api.append_to_message(%L, %s, 3, ''idiot'')', tests.id('direct'), target));
    perform tests.as('alice', format('api.finish_message(%L, %s)', tests.id('direct'), target));
    return tests.content('direct', target);
end $$;
select is(tests.streamed(), 'so *****', 'masks a stream at its end, also a word that is refused elsewhere');

-- Batches: what the filter knows is sent singly, and later texts of its sender after it.
create temporary table batch (place bigint);
grant insert on batch to public;
select tests.authenticate_as('postline_sender');
insert into batch
select place from app.send_messages(
    array[tests.id('bob'), tests.id('alice'), tests.id('alice'), tests.id('alice')],
    array_fill(tests.id('direct'), array[4]), array['one', 'two', 'darn', 'four'], array_fill(null::uuid, array[4]));
select tests.owner();
select is((select array_agg(place order by place) from batch), array[1, 2]::bigint[],
    'a batch leaves out a text with a word of the list, and later ones of its sender');

-- Reactions by a name.
select is(tests.as('bob', format('api.react(%L, 1, %L) ->> ''counts''', tests.id('direct'), emoji)), answer, emoji)
  from (values
    ('what_an_idiot', 'PL017 "emoji" has a word that is not allowed here.'),
    ('darn', 'PL017 "emoji" has a word that is not allowed here.'),
    ('party_parrot', '{"party_parrot": 1}')) w (emoji, answer);

-- Names and titles.
select is(tests.field_of('alice', format('select api.update_me(%L)', json_build_object(field, value))),
    'PL017 ' || field, 'refuses ' || field)
  from (values ('full_name', 'An Idiot'), ('bio', 'No idiot here')) v (field, value);
select is(tests.field_of('alice', 'select api.change_username(''the.idiot'')'), 'PL017 username', 'refuses a username');
select is(tests.field_of('alice', 'select api.change_username(''the.darn'')'), 'PL017 username',
    'a username is never masked');
select is(tests.as('alice', $$api.update_me('{"full_name":"Darn Alice"}') ->> 'full_name'$$), '**** Alice',
    'masks a name');
insert into auth.users (id, email, raw_user_meta_data)
values ('00000000-0000-4000-8000-0000000000ab', 'i@example.org', '{"full_name":"Tap Idiot"}');
select is((select full_name from public.user_profiles where id = '00000000-0000-4000-8000-0000000000ab'), 'Tap *****',
    'masks the name of a new account, which is not refused');
select is(tests.field_of('alice', format('select api.update_conversation(%L, ''Idiot'')', tests.id('group'))),
    'PL017 title', 'refuses a title');
select is(tests.as('alice', format('api.update_conversation(%L, ''Oh darn'') ->> ''title''', tests.id('group'))),
    'Oh ****', 'masks a title');

-- Without rules.
select is(admin.remove_filter_rule('me', 'IDIOT', 'messages') ->> 'removed', '1', 'removes a word from a scope');
select is(tests.send('idiot'), 'idiot', 'the word is accepted then');
select is(admin.remove_filter_rule('me', 'idiot', null) ->> 'removed', '2', 'removes it from all');
select is(tests.last_order(), 'me remove-filter-rule {"word": "idiot", "removed": 2}', 'the audit log has it too');

select * from finish();
rollback;
