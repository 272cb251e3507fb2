-- Bounds of stored data, for all writers, and of responses.
begin;
select no_plan();
select tests.make_world();

-- A JSON value is counted as written without blanks, whatever it contains.
select is(app.json_bytes(value::jsonb), octet_length(value)::bigint, 'counts the bytes of ' || left(value, 40))
  from unnest(array[
        '{}', '{"a":null}', '{"k":{"a":null,"b":[null,{"c":null}]}}', '{"null":"null","a":[1,true,1.50]}',
        '{"a":"x: y, z","b: ,":" null, null: "}', e'{"a":"\\null","b":"\\\\null","c":"\\u0001 \\"null\\" é"}',
        '{"k":{' || (select string_agg('"k' || n || '":null', ',') from generate_series(100000, 109999) n)
            || '}}']) value;

-- Preferences.
create function tests.nulls(name text, members integer) returns text language sql as $$
    select format('{"%s":{%s}}', name, string_agg(format('"k%s":null', 100000 + n), ','))
      from generate_series(1, members) n
$$;
select is(tests.field_of('alice', format('select api.update_me(%L)',
        '{"preferences":' || tests.nulls('a', 1300) || '}')),
    'PL001 preferences', 'row 58a: rejects nested nulls beyond the bound');
select is(tests.field_of('alice', format('select api.update_me(%L)',
        '{"preferences":' || tests.nulls('a', 1000) || '}')),
    'no error', 'accepts nested nulls within the bound');
select is(tests.field_of('alice', format('select api.update_me(%L)',
        '{"preferences":' || tests.nulls('b', 1000) || '}')),
    'PL001 preferences', 'row 58a: several changes cannot exceed the bound');
select is(tests.attempt('alice', format('update public.user_private set preferences = %L', tests.nulls('a', 1300))),
    'PL001', 'plain SQL cannot exceed the bound');
select is(tests.attempt('alice', format('update public.user_private set preferences = %L', tests.nulls('a', 1050))),
    '1', 'plain SQL can store what the method can store');

-- Values that exceed the bound, which was once counted differently.
set local session_replication_role = replica;
update public.user_private set preferences = tests.nulls('a', 5000)::jsonb where id = tests.id('bob');
update public.user_profiles set attributes = jsonb_build_object('a', repeat('x', 50000)),
    website = 'https://x.example/' || repeat('é', 2000)
 where id = tests.id('bob');
set local session_replication_role = origin;
select is(tests.as('bob', $$length((api.me() -> 'preferences')::text) > 60000$$), 'true',
    'reads preferences that exceed the bound');
select is(tests.field_of('bob', $$select api.update_me('{"bio":"x","phone_number":"+4512345678"}')$$),
    'no error', 'accepts other changes if stored preferences exceed the bound');
select is(tests.field_of('bob', $$select api.update_me('{"preferences":{"b":1}}')$$),
    'PL001 preferences', 'oversized preferences cannot grow');
select is(tests.attempt('bob',
        'update public.user_private set preferences = ''' || replace(tests.nulls('a', 5000), '"a"', '"b"') || ''''),
    'PL001', 'oversized preferences cannot change at the same size');
select is(tests.attempt('bob', 'update public.user_private set preferences = ''' || tests.nulls('a', 4999) || ''''),
    '1', 'oversized preferences can shrink');
select is(tests.field_of('bob', $$select api.update_me('{"preferences":{"a":null,"b":2}}')$$),
    'no error', 'oversized preferences can shrink below the bound');
select is((select preferences from public.user_private where id = tests.id('bob')), '{"b": 2}',
    'the smaller preferences are stored');
select is((select length(website) from public.user_profiles where id = tests.id('bob')),
    2018, 'a change of other fields keeps an oversized website');
select is(tests.attempt('service_role',
        format('update public.user_profiles set attributes = %L where id = tests.id(''bob'')',
            jsonb_build_object('a', repeat('x', 50000 - shorter), 'b', ''))),
    outcome, 'attributes that are ' || shorter || ' bytes shorter')
  from (values (0, 'PL001'), (9, 'PL001'), (10, '1'), (20000, '1')) t (shorter, outcome);
select is(tests.attempt('service_role',
        format('update public.user_profiles set attributes = %L where id = tests.id(''carol'')',
            jsonb_build_object('a', repeat('é', most / 2)))),
    outcome, 'attributes of ' || most + 9 || ' bytes')
  from (values (32768 - 10, '1'), (32768 - 8, 'PL001')) t (most, outcome);

-- Numbers that do not fit in a double: JSON parsers refuse the whole line.
select is(tests.attempt('service_role',
        format('update public.user_profiles set attributes = %L where id = tests.id(''carol'')', value)),
    outcome, 'attributes ' || value)
  from (values
        ('{"a": 1e308, "b": -1e308, "c": 1e-400, "d": "1e400"}', '1'),
        ('{"a": 1e309}', 'PL001'),
        ('{"a": [{"b": -1e16000}]}', 'PL001')) t (value, outcome);
select is(tests.attempt('carol', format('update public.user_private set preferences = %L', value)),
    outcome, 'preferences ' || value)
  from (values ('{"a": 1e308}', '1'), ('{"a": [1e309]}', 'PL001')) t (value, outcome);

-- Every column with text or JSON that a user may write by plain SQL is bounded, also new ones.
create temporary table columns as
select a.attrelid::regclass as relation, a.attname as name,
       coalesce(nullif(t.typbasetype, 0), t.oid)::regtype::text as type
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
 where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
   and has_column_privilege('authenticated', a.attrelid, a.attnum, 'update')
   and coalesce(nullif(t.typbasetype, 0), t.oid)::regtype::text
       in ('text', 'jsonb', 'bytea', 'json', 'character varying', 'numeric');
select cmp_ok((select count(*)::integer from columns),
    '>=', 14, 'a user can write at least 14 columns of text, JSON and numbers');
select tests.say('group', 'alice', 'x');
select is_empty($$
    select c.relation, c.name, left(long, 20) from columns c, unnest(array[
        repeat('a', 40000), 'https://x.example/' || repeat('a', 2040), 'https://x.example/' || repeat('é', 1020),
        '+' || repeat('1', 40000), 'en-' || repeat('a', 40000), '{"a":"' || repeat('x', 40000) || '"}',
        '{"a":{"b":' || repeat('[', 2000) || repeat(']', 2000) || repeat(' ', 9) || ',"c":"'
            || repeat('y', 16000) || '"}}',
        '1e40000', '{"a":1e40000}']) long
     where (c.type in ('jsonb', 'json', 'numeric')
            or octet_length(long) > case c.name when 'content' then 32000 else 2048 end)
       and tests.attempt('alice', format('update %s set %I = %L', c.relation, c.name, long)) !~ '^(PL001|23514|22...)$'
$$, 'row 58a: one SQL statement cannot exceed the bound of any column');
select is(tests.attempt('alice', format($$
        insert into public.messages (conversation_id, sender_id, kind, content, attachment) values (%L, %L, %s)$$,
        tests.id('group'), tests.id('alice'), vals)),
    outcome, left(vals, 60))
  from (values
        ($$'image', '', '{"url":"https://x.example/a","width":1e40000}'$$, 'PL001'),
        ($$'image', '', '{"url":"https://x.example/a","width":1.$$ || repeat('0', 16000) || $$}'$$, 'PL001'),
        ($$'image', '', '{"url":"https://x.example/$$ || repeat('é', 1020) || $$"}'$$, 'PL001'),
        ($$'image', '', '{"url":"https://x.example/$$ || repeat('é', 1010) || $$"}'$$, '1'),
        ($$'image', '', '{"url":"https://x.example/a","mime_type":"$$ || repeat('é', 128) || $$"}'$$, 'PL001'),
        ($$'image', '', '{"url":"https://x.example/a","mime_type":"$$ || repeat('é', 127) || $$"}'$$, '1'),
        ($$'image', repeat('x', 8001), '{"url":"https://x.example/a"}'$$, '23514'),
        ($$'text', repeat('x', 8000), null$$, '1')) t (vals, outcome);
select is(tests.attempt('alice', format('update public.user_profiles set website = %L', website)),
    outcome, 'a website of ' || octet_length(website) || ' bytes')
  from (values
        ('https://x.example/' || repeat('a', 2030), '1'),
        ('https://x.example/' || repeat('a', 2031), 'PL001'),
        ('https://x.example/' || repeat('😀', 507), '1'),
        ('https://x.example/' || repeat('😀', 508), 'PL001'),
        ('https://x.example/"a', 'PL001'),
        ('https://x.example/\a', 'PL001')) t (website, outcome);

-- The numbers of an attachment.
select is(tests.attempt('alice',
        format($$
            insert into public.messages (conversation_id, sender_id, kind, content, attachment)
            values (%L, %L, 'image', '', %L)
        $$, tests.id('group'), tests.id('alice'), format('{"url":"https://x.example/a","%s":%s}', name, number))),
    outcome, format('row 58: an attachment''s %s of %s', name, number))
  from (values
        ('0', '1'), ('-0', '1'), ('20.0', '1'), ('2e1', '1'), ('9007199254740992', '1'), ('null', '1'),
        ('9007199254740993', 'PL001'), ('9223372036854775808', 'PL001'), ('1.5', 'PL001'), ('0.5', 'PL001'),
        ('-1', 'PL001'), ('1e-1', 'PL001'), ('1e400', 'PL001'), ('"3"', 'PL001'), ('true', 'PL001'), ('[1]', 'PL001'))
       t (number, outcome), unnest(array['width', 'height', 'bytes']) name;

-- The objects of a response.
select is(length(app.joined(array_fill(repeat('x', 1000000), array[n]), last)),
    length, format('joins %s objects of a megabyte; from the last: %s', n, last))
  from (values (4, 4000003), (5, 4000003), (1, 1000000)) t (n, length), unnest(array[true, false]) last;
select is(app.joined('{}'), '', 'joins no objects to an empty text');
select is(app.joined(null), '', 'joins null to an empty text');
select is(length(app.joined(array[repeat('x', 5000000), 'y'])), 5000000, 'returns at least one object, however long');
select is(app.joined(array[repeat('x', 5000000), 'y'], true), 'y', 'starts at the last object if requested');

-- A hundred profiles of the longest kind fit into a response.
create function tests.make_long(number integer) returns uuid language plpgsql as $$
declare
    made uuid := ('00000000-0000-4000-8000-' || lpad(number::text, 12, '0'))::uuid;
begin
    insert into auth.users (id, is_anonymous) values (made, false);
    update public.user_profiles
       set username = rpad('tap_long_' || number, 30, 'x'), full_name = repeat('😀', 100), bio = repeat('😀', 500),
           location = repeat('😀', 100), website = 'https://x.example/' || repeat('a', 2030), avatar_type = 'custom',
           avatar_url = 'https://x.example/' || repeat('b', 2030),
           language_code = 'x-aaaaaaaa-aaaaaaaa-aaaaaaaa-aaaaaa',
           attributes = jsonb_build_object('a', repeat('x', 32768 - 9))
     where id = made;
    return made;
end $$;
create temporary table long as select n, tests.make_long(n) as id from generate_series(1, 300) n;
create temporary table answer as
select tests.as('alice', format('api.profiles(%L)', (select array_agg(id) from long where n <= 100))) as text;
select is(json_array_length(text::json -> 'profiles'),
    100, 'row 58a: returns a hundred profiles of the longest kind')
  from answer;
select cmp_ok(octet_length(text), '>', 3900000, 'the response is larger than 3.9 MB') from answer;
select cmp_ok(octet_length(text), '<', 4 * 1024 * 1024 - 65536, 'the response fits into 4 MiB with any id') from answer;
set local session_replication_role = replica;
update public.user_profiles set attributes = jsonb_build_object('a', repeat('x', 50000))
 where id in (select id from long where n <= 100);
set local session_replication_role = origin;
select is(tests.field_of('alice', format('select api.profiles(%L)', (select array_agg(id) from long where n <= 100))),
    'PL001 ids', 'row 58a: rejects profiles that exceed a response');
select is(tests.field_of('alice', format('select api.profiles(%L)', (select array_agg(id) from long where n <= 70))),
    'no error', 'returns the same profiles in smaller requests');

-- Conversations come with all their members, or on the next page.
create function tests.make_room(name text, first integer, last integer, age interval) returns void
language plpgsql as $$
begin
    with c as (
        insert into public.conversations (kind, title, created_at)
        values ('group', name, now() - age) returning id)
    insert into tests.ids select name, id from c;
    insert into public.conversation_members (conversation_id, user_id)
    select tests.id(name), tests.id('mallory')
    union all select tests.id(name), id from long where n between first and last;
end $$;
select tests.make_room('first', 101, 160, '1 day'), tests.make_room('second', 141, 190, '2 days'),
       tests.make_room('third', 191, 230, '3 days'), tests.make_room('fourth', 101, 120, '4 days'),
       tests.make_room('huge', 45, 299, '5 days'), tests.make_room('last', 300, 300, '6 days');
create temporary table pages (place serial, page json, bytes integer);
do $$
declare
    next text;
    page text;
begin
    loop
        page := tests.as('mallory', format('api.conversations(100, %L)', next));
        insert into pages (page, bytes) values (page::json, octet_length(page));
        next := page::json ->> 'next';
        exit when next is null or (select count(*) from pages) > 20;
    end loop;
end $$;
create temporary table on_page as
select place, c ->> 'title' as title, n, tests.id(c ->> 'title') as id
  from pages, json_array_elements(page -> 'conversations') with ordinality w (c, n);
select is((select string_agg(title, ',' order by place, n) from on_page),
    'first,second,third,fourth,huge,last', 'row 58a: pages that end early list each conversation once, in order');
select cmp_ok((select max(bytes) from pages),
    '<', 4 * 1024 * 1024 - 65536, 'no page exceeds the size of a response');
select is_empty($$
    select place, bytes from pages p
     where bytes > app.page_bytes() + 1024 and (select count(*) from on_page o where o.place = p.place) > 1
$$, 'a page of several conversations has at most 512 KiB');
select results_eq($$
    select place, json_array_length(page -> 'profiles')::bigint from pages
     where place not in (select place from on_page where title = 'huge') order by place
$$, $$
    select o.place, count(distinct m.user_id) from on_page o
      join public.conversation_members m on m.conversation_id = o.id
     where o.place not in (select place from on_page where title = 'huge') group by o.place order by o.place
$$, 'each page has the profiles of all members of its conversations');
select is((select count(*) from on_page where place = (select place from on_page where title = 'huge')), 1::bigint,
    'a group that exceeds a response has its own page');
select cmp_ok((select json_array_length(page -> 'profiles') from pages p join on_page o using (place)
                where o.title = 'huge'),
    '>', 60, 'that page has as many profiles as fit');
select is((select count(distinct p ->> 'id') from pages join on_page o using (place),
                  json_array_elements(page -> 'profiles') p where o.title = 'huge'),
    (select json_array_length(page -> 'profiles')::bigint from pages join on_page o using (place)
      where o.title = 'huge'), 'that page has each profile once');

-- Messages: a page ends where the next continues.
select tests.say('direct', 'alice', repeat(e'\u0001', 8000)) from generate_series(1, 200);
create function tests.seqs(bounds text) returns int8range language plpgsql as $$
declare
    answer text := tests.as('alice', format('api.messages(%L, %s, 200)', tests.id('direct'), bounds));
begin
    if octet_length(answer) > app.page_bytes() + 65536 then raise exception 'too long: %', octet_length(answer); end if;
    return (select case when count(*) = max(seq) - min(seq) + 1 then int8range(min(seq), max(seq), '[]') end
              from (select (m ->> 'seq')::bigint as seq from json_array_elements(answer::json -> 'messages') m) s);
end $$;
create temporary table ranges as select tests.seqs('null, null') as newest, tests.seqs('null, 0') as oldest;
select is(upper(newest), 201::bigint, 'row 58a: a long newest page ends at the newest message') from ranges;
select is(lower(oldest), 1::bigint, 'row 58a: a long page after a message begins right after it') from ranges;
select cmp_ok(upper(newest) - lower(newest), '>=', 10::bigint, 'a page has as many messages as fit') from ranges;
select is(upper(tests.seqs(lower(newest) || ', null')), lower(newest),
    'the page before continues without a gap') from ranges;
select is(lower(tests.seqs('null, ' || upper(oldest) - 1)), upper(oldest),
    'the page after continues without a gap') from ranges;

-- Errors do not reveal who is a member, or which client_ids were used.
create function tests.refusal(who text, statement text) returns text language plpgsql as $$
declare
    state text; message text; detail text; hint text; name text;
begin
    perform tests.authenticate_as(who);
    execute statement;
    raise exception using errcode = 'TT000';
exception when others then
    get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail,
        hint = pg_exception_hint, name = constraint_name;
    return concat_ws('|', state, message, detail, hint, name);
end $$;
insert into public.messages (conversation_id, sender_id, client_id, content)
values (tests.id('direct'), tests.id('alice'), '11111111-1111-4111-8111-111111111111', 'x');
create temporary table asked as
select tests.refusal(who, format($$
           insert into public.messages (conversation_id, sender_id, client_id, kind, content, attachment)
           values (%L, %s, %L, %s)%s$$, room, sender, client_id, content, ending)) as said, who, room, sender
  from unnest(array['mallory', 'carol']) who,
       unnest(array[tests.id('direct'), tests.id('group'), gen_random_uuid()]) room,
       unnest(array[format('%L', tests.id('alice')), format('%L', tests.id('bob')),
                    format('%L', gen_random_uuid()), 'null']) sender,
       unnest(array['11111111-1111-4111-8111-111111111111', gen_random_uuid()::text]) client_id,
       unnest(array[$$'text', 'x', null$$, $$'text', '', null$$,
                    $$'image', '', '{}'$$, $$'system', 'x', null$$]) content,
       unnest(array['', ' on conflict do nothing', ' returning id']) ending;
select is((select count(*) from asked), 576::bigint, 'the test asks 576 questions');
select is((select array_agg(distinct said) from asked),
    array['PL008|There is no such conversation.||The sender of a message must be a member of its conversation.|'],
    'row 58a: a send in another''s name always gives the same error');
select is(tests.refusal('mallory', format(
        'insert into public.messages (conversation_id, sender_id, content) values (%L, %L, ''x'')',
        room, tests.id('mallory'))),
    (select said from asked limit 1), 'the error equals that of a non-member''s send in its own name')
  from unnest(array[tests.id('direct'), gen_random_uuid()]) room;
select is(tests.attempt('carol',
        format('insert into public.messages (conversation_id, sender_id, content) values (%L, %L, ''x'')',
            tests.id('group'), tests.id('carol'))),
    '1', 'a member can send in its own name');
select is(tests.attempt('service_role',
        format('insert into public.messages (conversation_id, sender_id, content) values (%L, %L, ''x'')',
            tests.id('group'), tests.id('carol'))),
    '1', 'service_role can send in any user''s name');

-- A page of a list has half a mebibyte; the next continues after it (A9).
select tests.make_user('wide' || n) from generate_series(1, 60) n;
update public.user_profiles p set attributes = jsonb_build_object('a', repeat('x', 30000))
  from tests.ids i where i.id = p.id and i.name like 'wide%';
create temporary table walked (page integer, bytes bigint, conversation uuid);
grant all on walked to public;
insert into public.conversations (kind, title, created_by)
select 'group', 'wide ' || n, tests.id('wide60') from generate_series(1, 10) n;
insert into public.conversation_members (conversation_id, user_id)
select c.id, i.id from public.conversations c join tests.ids i on i.name in (
        'wide60', 'wide' || 5 * (pg_catalog.split_part(c.title, ' ', 2)::integer - 1) + 1,
        'wide' || 5 * (pg_catalog.split_part(c.title, ' ', 2)::integer - 1) + 2,
        'wide' || 5 * (pg_catalog.split_part(c.title, ' ', 2)::integer - 1) + 3,
        'wide' || 5 * (pg_catalog.split_part(c.title, ' ', 2)::integer - 1) + 4,
        'wide' || 5 * (pg_catalog.split_part(c.title, ' ', 2)::integer - 1) + 5)
 where c.title like 'wide %';
do $$
declare
    next text;
    answer text;
begin
    for page in 1..20 loop
        answer := tests.as('wide60', format('api.conversations(100, %L)', next));
        insert into walked select page, octet_length(answer), (c ->> 'id')::uuid
          from json_array_elements(answer::json -> 'conversations') c;
        next := answer::json ->> 'next';
        exit when next is null;
    end loop;
end $$;
select cmp_ok(max(bytes), '<=', 540000::bigint, 'a page of conversations is bounded') from walked;
select cmp_ok(max(page), '>', 2, 'the list has several pages') from walked;
select is(count(*), 10::bigint, 'the pages list all conversations') from walked;
select is(count(distinct conversation), 10::bigint, 'the pages list each conversation once') from walked;

select * from finish();
rollback;
