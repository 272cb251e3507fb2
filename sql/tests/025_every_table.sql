-- Every table and view, read and written in every way as every role: the number of rows of all that is not refused. A
-- new table or grant fails this test until the list has it.
begin;
select plan(4);
select tests.make_world();
select tests.say('direct', 'alice', 'hello');
select tests.say('group', 'bob', 'hello all');
select app.report_presence(gen_random_uuid(), 10, array(select id from tests.ids), '{}', true);

insert into app.devices (user_id, platform, token, environment) values (tests.id('alice'), 'apns', 'aa', 'production');
insert into public.delivered_marks values (tests.id('direct'), tests.id('bob'), 1);
insert into public.conversation_mutes values (tests.id('direct'), tests.id('alice'), now());
insert into public.media (owner_id, purpose, mime_type, bytes) values (tests.id('alice'), 'avatar', 'image/png', 1);

create temporary table attempts as
select case when a.nspname = 'public' then '' else a.nspname || '.' end || a.relname as name, verb, who,
       tests.attempt(who, format(case verb
           when 'select' then 'select from %1$I.%2$I'
           when 'insert' then 'insert into %1$I.%2$I default values'
           when 'update' then 'update %1$I.%2$I set %3$I = %3$I'
           when 'delete' then 'delete from %1$I.%2$I' end, a.nspname, a.relname, a.attname)) as outcome
  from (select distinct on (c.oid) n.nspname, c.relname, a.attname
          from pg_class c
          join pg_namespace n on n.oid = c.relnamespace
          join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
               and a.attidentity = '' and a.attgenerated = ''
         where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin', 'auth')
       and c.relkind in ('r', 'p', 'v')
           and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
         order by c.oid, a.attnum) a,
       unnest(array['select', 'insert', 'update', 'delete']) verb,
       unnest(array['alice', 'mallory', 'anon', 'service_role', 'postline_feed', 'postline_accounts', 'postline_sender',
                    'tests_login']) who;

-- 42501 is a missing right, 55000 a view that is not updatable.
select set_eq($$
    select name || ' ' || verb || ': ' || string_agg(who || ' ' || outcome, ', ' order by who)
      from attempts where outcome not in ('42501', '55000') group by name, verb
$$, array[
    'app.conversation_objects select: alice 5, mallory 0, postline_feed 5',
    'app.conversation_parts select: alice 2, mallory 0, postline_feed 2',
    'app.held_messages select: postline_feed 0',
    'app.former_members select: alice 0, mallory 0, postline_feed 0, service_role 0',
    'app.profile_details select: alice 0, mallory 0',
    'app.message_streams select: postline_feed 0',
    'app.me_objects select: alice 1, mallory 1, postline_feed 4',
    'app.message_objects select: alice 2, mallory 0, postline_feed 2',
    'app.profile_objects select: alice 4, mallory 4, postline_feed 4',
    'app.sender_objects select: alice 4, mallory 4, postline_feed 4, postline_sender 4',
    'app.search_names select: alice 4, mallory 4',
    'app.words select: alice 5, mallory 5',
    'app.devices delete: alice 1, mallory 0',
    'app.devices select: alice 1, mallory 0',
    'blocks delete: alice 0, mallory 0, service_role 0',
    'blocks insert: alice PL008, mallory PL008, service_role PL008',
    'blocks select: alice 0, mallory 0, service_role 0',
    'blocks update: service_role 0',
    'built_in_avatars delete: service_role 24',
    'built_in_avatars insert: service_role 23502',
    'built_in_avatars select: alice 24, anon 24, mallory 24, service_role 24',
    'built_in_avatars update: service_role 24',
    'conversation_members delete: alice 3, mallory 0, service_role 5',
    'conversation_members insert: alice PL008, mallory PL008, service_role PL008',
    'conversation_members select: alice 5, mallory 0, postline_feed 5, postline_sender 5, service_role 5',
    'conversation_members update: service_role 5',
    'conversation_mutes delete: service_role 1',
    'conversation_mutes insert: service_role 23502',
    'conversation_mutes select: alice 1, mallory 0, postline_feed 1, service_role 1',
    'conversation_mutes update: service_role 1',
    'conversations delete: service_role 23001',
    'conversations insert: alice PL001, mallory PL001, service_role PL001',
    'conversations select: alice 2, mallory 0, postline_feed 2, service_role 2',
    'conversations update: service_role 2',
    'delivered_marks select: alice 1, mallory 0, postline_feed 1, service_role 1',
    'message_mentions select: alice 0, mallory 0, postline_feed 0, service_role 0',
    'message_pieces select: alice 0, mallory 0, postline_feed 0, service_role 0',
    'message_reactions delete: service_role 0',
    'message_reactions insert: alice PL008, mallory PL008, service_role PL008',
    'message_reactions select: alice 0, mallory 0, postline_feed 0, service_role 0',
    'message_reactions update: service_role 0',
    'messages delete: service_role 23001',
    'messages insert: alice PL008, mallory PL008, service_role PL008',
    'messages select: alice 2, mallory 0, postline_feed 2, service_role 2',
    'messages update: service_role 2',
    'media delete: service_role 1',
    'media insert: service_role 23502',
    'media select: alice 1, mallory 0, service_role 1',
    'media update: service_role 1',
    'presence select: alice 3, mallory 1, postline_feed 4, service_role 4',
    'reaction_counts select: alice 0, mallory 0, postline_feed 0, service_role 0',
    'scheduled_messages delete: alice 0, mallory 0, service_role 0',
    'scheduled_messages insert: alice PL001, mallory PL001, service_role PL001',
    'scheduled_messages select: alice 0, mallory 0, service_role 0',
    'scheduled_messages update: service_role 0',
    'rest.conversations insert: alice PL001, mallory PL001',
    'rest.conversations select: alice 2, mallory 0',
    'rest.messages insert: alice PL008, mallory PL008',
    'rest.messages select: alice 2, mallory 0',
    'rest.user_profiles select: alice 4, mallory 4',
    'user_private delete: service_role 4',
    'user_private insert: service_role 23502',
    'user_private select: alice 1, mallory 1, postline_feed 4, service_role 4',
    'user_private update: service_role 4',
    'user_profiles delete: service_role 23001',
    'user_profiles insert: service_role 23502',
    'user_profiles select: alice 4, mallory 4, postline_feed 4, postline_sender 4, service_role 4',
    'user_profiles update: service_role 4',
    'username_history delete: service_role 0',
    'username_history insert: service_role 23502',
    'username_history select: alice 0, mallory 0, service_role 0',
    'username_history update: service_role 0'
], 'row 39: the listed roles read and write the listed number of rows of each table');

select is((select array_agg(distinct name order by name) from attempts
                                                  where who = 'anon' and outcome not in ('42501', '55000')),
    array['built_in_avatars'], 'row 39: anon reads only the catalogue of avatars');

select is((select count(*) filter (where outcome in ('42501', '55000')) || ' of ' || count(*) from attempts),
    '1819 of 1984', 'row 39: 1819 of 1984 attempts are refused');

-- TRUNCATE ignores policies. MAINTAIN exists from 17 on.
select is_empty($$
    select r.rolname || ' may ' || privilege || ' ' || c.oid::regclass
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      cross join pg_roles r
      cross join unnest(array['truncate', 'references', 'trigger']
          || case when current_setting('server_version_num')::integer >= 170000 then array['maintain'] end) privilege
     where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin', 'auth')
       and c.relkind in ('r', 'p', 'v')
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
       and r.rolname in ('anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender',
                         'tests_login')
       and has_table_privilege(r.oid, c.oid, privilege)
$$, 'row 39: only service_role and the owner have table rights that bypass policies');

select * from finish();
rollback;
