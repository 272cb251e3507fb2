-- Changes of groups and edits that clients get: from the feed while they are live, in a delta when they return. '4:4:'
-- is the snapshot that saw the aged world and nothing since.
begin;
select no_plan();
select tests.make_world(), tests.without_events();
select tests.say('group', 'bob', 'old ' || n) from generate_series(1, 3) n;

-- Returns a change of the poll as an object, without values that differ between members.
create function tests.object(wanted text) returns jsonb language plpgsql as $$
declare
    found jsonb;
begin
    perform set_config('role', 'postline_feed', true);
    select (l.object || case when l.kind = 'conversation'
                             then '0' || app.own_members(0, 0, false, null, false, false, 0, 0) || l.tail
                             else '' end)::jsonb
           || coalesce(jsonb_build_object('audience', (select jsonb_agg(i.name order by place)
                from unnest(l.audience) with ordinality a (id, place) join tests.ids i using (id))), '{}')
      into found from feed.read_changes('4:4:') l where l.kind = wanted;
    perform tests.owner();
    return found;
end $$;
create function tests.delta(who text, since text default '4:4:') returns jsonb language plpgsql as $$
declare
    answer record;
begin
    perform tests.authenticate_as(who);
    select * into answer from api.sync(app.epoch(), since::pg_snapshot, null, null, 20, 524288);
    perform tests.owner();
    perform tests.has_no_changes(who, since, answer.changes, answer.conversation_ids);
    return answer.changes::jsonb;
end $$;
-- Returns a delta as short words.
create function tests.news(who text) returns text[] language sql as $$
    select coalesce(array_agg(word order by kind, seq, word), '{}') from (select tests.delta(who) as d) d, lateral (
        select 1 as kind, 0 as seq, 'me' as word where d ? 'me'
        union all select 2, 0, 'profile ' || i.name
          from jsonb_array_elements(d -> 'profiles') o join tests.ids i on i.id = (o ->> 'id')::uuid
        union all select 3, 0, 'left ' || i.name
          from jsonb_array_elements_text(d -> 'left') o join tests.ids i on i.id = o::uuid
        union all select 4, 0, concat_ws(' ', 'conversation', i.name, o ->> 'version')
          from jsonb_array_elements(d -> 'conversations') o left join tests.ids i on i.id = (o ->> 'id')::uuid
        union all select 5, (o ->> 'seq')::integer,
               concat_ws(' ', i.name, o ->> 'seq', 'v' || (o ->> 'version'), o ->> 'content')
          from jsonb_array_elements(d -> 'messages') o join tests.ids i on i.id = (o ->> 'conversation_id')::uuid
        union all select 6, 0, concat_ws(' ', 'read', i.name, u.name, o ->> 'last_read_seq')
          from jsonb_array_elements(d -> 'reads') o join tests.ids i on i.id = (o ->> 'conversation_id')::uuid
          join tests.ids u on u.id = (o ->> 'user_id')::uuid
        union all select 7, 0, 'limited ' || i.name
          from jsonb_array_elements_text(d -> 'limited') o join tests.ids i on i.id = o::uuid) w
$$;
create function tests.users(variadic names text[]) returns text language sql as $$
    select quote_literal(array(select tests.id(n) from unnest(names) n)::text) || '::uuid[]'
$$;
create function tests.act(who text, call text) returns void language plpgsql as $$
declare
    answer text := tests.as(who, replace(call, '$', quote_literal(tests.id('group'))));
begin
    if answer not like '{%' then raise exception '%', answer; end if;
end $$;
update public.conversations set version = 5 where id = tests.id('group');
select tests.age();

-- A title, a role.
select tests.act('alice', 'api.update_conversation($, ''Neu'')');
select is(tests.poll(), array['conversation group 3'], 'a poll returns a changed title');
select is(tests.object('conversation') - '{last_read_seq,unread_count,audience}'::text[],
    tests.as('bob', format('api.conversation(%L)', tests.id('group')))::jsonb - '{last_read_seq,unread_count}'::text[],
    'the poll returns the complete conversation');
select is(tests.object('conversation') ->> 'version', '6', 'the conversation has the new version');
select is(tests.news('carol'), array['conversation group 6'], 'a delta has the conversation with the new version');
select tests.age();
select tests.act('alice', format('api.set_member_role($, %L, ''owner'')', tests.id('carol')));
select is(tests.poll(), array['conversation group 3'], 'a poll returns a transfer of ownership');
select is(jsonb_path_query_array(tests.object('conversation'), '$.members[*].role'),
    '["admin", "admin", "owner"]', 'the conversation has the new roles');
select is(tests.object('conversation') ->> 'version', '7', 'the version increases by one');
select tests.act('carol', format('api.set_member_role($, %L, ''owner'')', tests.id('alice')));
select tests.act('alice', format('api.set_member_role($, %L, ''member'')', tests.id('carol')));

-- A call that changes nothing causes no change.
select tests.age();
select tests.act('alice', 'api.update_conversation($, ''Neu'')'),
       tests.act('alice', format('api.add_members($, %s)', tests.users('bob', 'carol'))),
       tests.act('alice', format('api.set_member_role($, %L, ''member'')', tests.id('carol'))),
       tests.act('bob', 'api.edit_message($, 1, ''old 1'')');
select is(tests.poll(), '{}', 'calls without a change return nothing');

-- Creating a group.
select tests.age();
insert into tests.ids
select 'made', (tests.as('alice', format('api.create_group(''Made'', %s)',
    tests.users('bob', 'mallory')))::json ->> 'id')::uuid;
select set_eq('select unnest(tests.poll())',
    array['joined made alice', 'joined made bob', 'joined made mallory', 'conversation made 0',
        'opening_profile made alice', 'opening_profile made bob', 'opening_profile made mallory'],
    'all members join a new group');
select is(tests.news('mallory'), array['profile alice', 'profile bob', 'conversation made 1'],
    'a member''s delta has the new group');
select is(tests.news('carol'), '{}', 'another user''s delta does not have the new group');

-- A user who joins, leaves, and joins again.
select tests.age();
select tests.act('bob', format('api.add_members($, %s)', tests.users('mallory')));
select is(tests.poll(),
    array['joined group mallory', 'conversation group 3', 'opening_profile group alice', 'opening_profile group bob',
        'opening_profile group carol', 'opening_profile group mallory', 'opening_message group bob 1',
        'opening_message group bob 2', 'opening_message group bob 3'], 'a new member gets the whole conversation');
savepoint bounded;
create or replace function app.opening_bytes() returns bigint language sql immutable as $$ select 100::bigint $$;
select is(tests.poll(),
    array['joined group mallory', 'behind mallory', 'conversation group 3', 'opening_profile group mallory'],
    'a new member of a large group must resync; the others get its profile');
rollback to bounded;
select is(tests.object('conversation') -> 'audience', '["alice", "bob", "carol", "mallory"]',
    'all members are in the audience');
select is(tests.news('mallory'),
    array['profile alice', 'profile bob', 'profile carol', 'conversation group 8', 'group 1 v1 old 1',
        'group 2 v1 old 2', 'group 3 v1 old 3'], 'the new member''s delta has the whole conversation');
select is(tests.news('carol'), array['profile mallory', 'conversation group 8'],
    'the other members'' delta has the new member');
select tests.age();
select tests.act('mallory', 'api.send_message($, ''hi'')'),
       tests.act('alice', format('api.remove_member($, %L)', tests.id('mallory')));
select is((tests.poll())[1:2], array['left group mallory', 'conversation group 4'],
    'a poll returns "left" for a removed member');
select is(tests.object('conversation') -> 'audience',
    '["alice", "bob", "carol"]', 'the removed member is not in the audience');
select is(tests.news('mallory'), array['left group'],
    'a removed member''s delta has only "left", not its own last message');
select tests.act('alice', 'api.send_message($, ''behind its back'')'), tests.act('alice', 'api.delete_message($, 4)'),
       tests.act('bob', 'api.edit_message($, 1, ''edited'')'),
       tests.act('alice', 'api.update_conversation($, ''Ours'')');
select is(tests.news('mallory'), array['left group'], 'later changes do not appear in a removed member''s delta');
select is(tests.news('carol'),
    array['conversation group 9', 'group 1 v2 edited', 'group 4 v2', 'group 5 v1 behind its back'],
    'the other members'' delta has each change once');
select tests.act('alice', format('api.add_members($, %s)', tests.users('mallory')));
select is(tests.news('mallory'),
    array['profile alice', 'profile bob', 'profile carol', 'left group', 'conversation group 9', 'group 1 v2 edited',
        'group 2 v1 old 2', 'group 3 v1 old 3', 'group 4 v2', 'group 5 v1 behind its back'],
    'a member who returns gets "left" and the whole conversation');
select is((tests.poll())[1:2], array['left group mallory', 'joined group mallory'], '"left" comes before "joined"');
select tests.age();
select is(tests.poll(), '{}');
select is(tests.news('mallory'), '{}', 'the next delta is empty');
select tests.act('bob', 'api.mark_read($, 5)');
select is(tests.news('mallory'), array['read group bob 5'], 'later changes are in the delta of a member who returned');

-- Leaving, also by the owner.
select tests.age();
select tests.act('mallory', format('api.remove_member($, %L)', tests.id('mallory')));
select is(tests.poll(), array['left group mallory', 'conversation group 5'],
    'a poll returns "left" for a member who leaves');
select tests.age();
select tests.act('alice', format('api.remove_member($, %L)', tests.id('alice')));
select is(tests.poll(), array['left group alice', 'conversation group 5'],
    'a poll returns "left" for an owner who leaves');
select is(jsonb_path_query_array(tests.object('conversation'), '$.members[*].role'),
    '["owner", "member"]', 'the same change has the new owner');
select is(tests.object('conversation') ->> 'version', '11', 'leaving increases the version');
select is(tests.news('alice'), array['left group'], 'the former member''s delta has "left"');
-- The two still share the direct conversation.
select is(tests.news('bob'), array['conversation group 11'], 'the remaining member''s delta has the conversation');
select is(tests.delta('alice', '3:3:')::text like '%' || tests.id('group') || '%',
    true, 'a delta from before the first snapshot also has "left"');
select is(tests.delta('alice', '3:3:') -> 'left', to_jsonb(array[tests.id('group')]),
    'that delta has only the group in "left"');
select unalike((tests.delta('alice', '3:3:') - 'left')::text, '%' || tests.id('group') || '%',
    'that delta has no other data of the group');

-- Messages.
select tests.age();
select tests.act('bob', 'api.edit_message($, 2, ''two'')');
select is(tests.poll(), array['message group bob 2'], 'a poll returns an edit');
select results_eq($$
    select o ->> 'version', o ->> 'content', o ->> 'edited_at' is not null from tests.object('message') o
$$, $$values ('2', 'two', true)$$, 'the edit is the complete message with a new version');
select tests.act('bob', 'api.delete_message($, 2)');
select is(tests.poll(), array['message group bob 2'], 'a poll returns a message once that was edited and deleted');
select results_eq($$
    select o ->> 'version', o ->> 'content', o ->> 'deleted_at' is not null from tests.object('message') o
$$, $$values ('3', null, true)$$, 'the message is in its latest state');
select is(tests.news('carol'), array['group 2 v3'], 'a delta has the message once');
select is(tests.news('alice'), '{}', 'a former member who was there when it was sent does not get it');
select is(tests.news('mallory'), '{}', 'a former member who left before does not get it');

select * from finish();
rollback;
