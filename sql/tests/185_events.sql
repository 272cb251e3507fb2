-- Events of groups: their receivers, and changes without an event.
begin;
select no_plan();
select tests.make_world();
select tests.make_user(name) from unnest(array['dora', 'erik']) name;
select tests.say('group', 'bob', 'old');
select tests.age();

create function tests.by_name(event jsonb) returns text language sql as $$
    select concat_ws(' ', event ->> 'type',
                     (select string_agg(i.name, ',' order by place)
                        from jsonb_array_elements_text(event -> 'user_ids') with ordinality u (id, place)
                        join tests.ids i on i.id = u.id::uuid),
                     event ->> 'title')
$$;
-- Returns the messages that a user sees from a number on.
create function tests.seen(who text, since bigint default 2) returns text[] language plpgsql as $$
declare
    seen text[];
begin
    perform tests.authenticate_as(who);
    seen := array(
        select concat_ws(' ', m.seq, m.kind, i.name, tests.by_name(m.event), m.content)
          from public.messages m join tests.ids i on i.id = m.sender_id
         where m.conversation_id = tests.id('group') and m.seq >= since order by m.seq);
    perform tests.owner();
    return seen;
exception when others then
    perform tests.owner();
    raise;
end $$;
create function tests.act(who text, call text) returns void language plpgsql as $$
declare
    answer text := tests.as(who, replace(call, '$', quote_literal(tests.id('group'))));
begin
    if answer not like '{%' then raise exception '%', answer; end if;
end $$;
create function tests.ids_of(variadic names text[]) returns text language sql as $$
    select quote_literal(array(select tests.id(n) from unnest(names) n)::text) || '::uuid[]'
$$;
grant execute on all functions in schema tests to public;
grant usage on schema tests to public;
grant select on tests.ids to public;

select tests.act('alice', format('api.add_members($, %s)', tests.ids_of('dora', 'erik')));
select tests.act('alice', format('api.add_members($, %s)', tests.ids_of('dora', 'erik')));
select tests.act('bob', 'api.update_conversation($, ''Neu'')');
select tests.act('bob', 'api.update_conversation($, ''Neu'')');
select tests.act('alice', format('api.set_member_role($, %L, ''admin'')', tests.id('carol')));
select tests.act('bob', format('api.remove_member($, %L)', tests.id('dora')));
select tests.act('erik', format('api.remove_member($, %L)', tests.id('erik')));
select is(tests.seen('carol'), array[
    case when tests.id('dora') < tests.id('erik') then '2 system alice members_added dora,erik Members were added.'
         else '2 system alice members_added erik,dora Members were added.' end,
    '3 system bob renamed Neu The group is called “Neu” now.',
    '4 system bob member_removed dora A member was removed.',
    '5 system erik member_left erik Left the group.'],
    'each change causes one event, and a call without a change none');
select is(tests.seen('dora') || tests.seen('erik'), '{}', 'a removed member sees no events');
select is((select f.wrote from app.former_members f
            where f.conversation_id = tests.id('group') and f.user_id = tests.id('dora')), true,
    'members keep access to the profile of a user in an event');

-- The objects, and the last message of the conversation.
select is((tests.as('carol', 'api.messages(' || quote_literal(tests.id('group')) || ')')::jsonb -> 'messages' -> -1)
          - '{id,sender,created_at,is_read,mentions,mentions_everyone,reply_to,data}'::text[],
    jsonb_build_object('conversation_id', tests.id('group'), 'seq', 5, 'sender_id', tests.id('erik'),
        'client_id', null, 'kind', 'system', 'content', 'Left the group.', 'attachment', null,
        'attachments', array[]::text[],
        'event', jsonb_build_object('type', 'member_left', 'user_ids', jsonb_build_array(tests.id('erik'))),
        'version', 1, 'edited_at', null, 'deleted_at', null), 'a message of an event has the event');
select ok(not (tests.as('carol', 'api.messages(' || quote_literal(tests.id('group')) || ')')::jsonb
               -> 'messages' -> 0 ? 'event'), 'other messages have no event');
select is(row((tests.conversation('group')).last_seq, (tests.conversation('group')).last_message_content)::text,
    '(5,"Left the group.")', 'the event is the conversation''s last message');

-- Users cannot write or change one.
select is(tests.attempt('carol', format($$
    insert into public.messages (conversation_id, sender_id, content, event)
    values (%L, %L, 'x', '{"type":"renamed","title":"Mine"}')$$, tests.id('group'), tests.id('carol'))),
    '42501', 'a user cannot insert an event');
select is(tests.attempt('bob', format('select app.write_event(%L, ''{}'', ''x'')', tests.id('group'))), '42501',
    'a user cannot call write_event');
select matches(tests.as('bob', 'api.edit_message(' || quote_literal(tests.id('group')) || ', 3, ''x'')'), '^PL007 ',
    'a user cannot edit an event');
select alike(tests.as('alice', 'api.delete_message(' || quote_literal(tests.id('group')) || ', 3)'), '{%',
    'an admin can delete an event');
select is((select m.event from public.messages m where m.conversation_id = tests.id('group') and m.seq = 3), null,
    'a deleted event has no content');

-- The user's own SQL.
select is(tests.attempt('alice', format('insert into public.conversation_members (conversation_id, user_id)
    values (%L, %L)', tests.id('group'), tests.id('dora'))), '1', 'a user can insert a member by SQL');
select tests.authenticate_as('alice');
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('dora'));
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('dora');
update public.conversations set title = 'By SQL' where id = tests.id('group');
select tests.owner();
select is(tests.seen('carol', 6), array[
    '6 system alice members_added dora A member was added.',
    '7 system alice member_removed dora A member was removed.',
    '8 system alice renamed By SQL The group is called “By SQL” now.'], 'SQL changes of users cause events too');

-- No events: an operator's changes, a new group, the last member's departure.
insert into public.conversation_members (conversation_id, user_id) values (tests.id('group'), tests.id('dora'));
update public.conversations set title = 'By psql' where id = tests.id('group');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('dora');
select is(tests.seen('carol', 9), '{}', 'changes of an operator cause no events');
insert into tests.ids
select 'made', (tests.as('alice', format('api.create_group(''Made'', %s)', tests.ids_of('bob')))::json ->> 'id')::uuid;
select is((tests.conversation('made')).last_seq, 0::bigint, 'creating a group causes no event');
select tests.as('bob', format('api.remove_member(%L, %L)', tests.id('made'), tests.id('bob')));
select tests.as('alice', format('api.remove_member(%L, %L)', tests.id('made'), tests.id('alice')));
select is((tests.conversation('made')).last_seq, 1::bigint, 'the departure of the last member causes no event');

select * from finish();
rollback;
