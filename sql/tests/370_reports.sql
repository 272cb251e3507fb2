-- Reports and moderation.
begin;
select no_plan();
select tests.make_world();
create function tests.report(who text, arguments text) returns text language sql as $$
    select tests.as(who, 'app.create_report(' || arguments || ')')
$$;
create function tests.stored(id text) returns app.reports language sql as $$
    select r from app.reports r where r.id = stored.id::uuid
$$;
create function tests.last_order() returns text language sql as $$
    select concat_ws(' ', (select 'moderator ' || i.name from tests.ids i where operator = 'moderator ' || i.id),
                     action, (select name from tests.ids i where i.id = user_id), detail)
      from admin.audit order by id desc limit 1
$$;
update public.user_private set is_moderator = true where id = tests.id('carol');

select tests.say('group', 'alice', 'message ' || n) from generate_series(1, 12) n;
select tests.say('group', 'bob', 'an insult');
select tests.say('direct', 'bob', 'a threat');
select tests.age();

-- Permitted and refused reports.
create temporary table r (name text primary key, id text);
grant select on r to public;
create temporary table before_report as
select (select jsonb_agg(to_jsonb(p) order by id) from public.user_profiles p) as profiles,
       (select jsonb_agg(to_jsonb(m) order by id) from public.messages m) as messages,
       (select jsonb_agg(to_jsonb(c) order by id) from public.conversations c) as conversations,
       (select jsonb_agg(to_jsonb(m) order by conversation_id, user_id) from public.conversation_members m) as members;
insert into r values ('insult', tests.report('alice', format(
    '%L, 13, null, ''abuse'', ''  See the last line. ''', tests.id('group'))));
select matches((select id from r where name = 'insult'), '^[0-9a-f-]{36}$', 'a member reports a message');
select is((select jsonb_agg(to_jsonb(p) order by id) from public.user_profiles p), profiles,
    'a report changes no profile') from before_report;
select is((select jsonb_agg(to_jsonb(m) order by id) from public.messages m), messages,
    'a report changes no message') from before_report;
select is((select jsonb_agg(to_jsonb(c) order by id) from public.conversations c), conversations,
    'a report changes no conversation') from before_report;
select is((select jsonb_agg(to_jsonb(m) order by conversation_id, user_id) from public.conversation_members m), members,
    'a report changes no member') from before_report;
select is((select concat_ws(' ', s.reporter_id = tests.id('alice'), s.reported_id = tests.id('bob'), s.reason,
                            s.comment,
                            s.state, s.seq) from r, tests.stored(id) s where name = 'insult'),
    't t abuse See the last line. open 13', 'a report has its params, and the comment trimmed');
select is(tests.report('mallory', format('%L, 13, null, ''abuse'', null', tests.id('group'))),
    'PL008 There is no such message.', 'a user who is no member cannot report a message');
select is(tests.report('alice', format('%L, 99, null, ''abuse'', null', tests.id('group'))),
    'PL008 There is no such message.', 'a message that does not exist cannot be reported');
select matches(tests.report('mallory', format('null, null, %L, ''spam'', null', tests.id('bob'))), '^[0-9a-f-]{36}$',
    'any user reports a user');
select is(tests.report('mallory', 'null, null, gen_random_uuid(), ''spam'', null'),
    'PL008 There is no such user.', 'a user who does not exist cannot be reported');
select is(tests.report('alice', format('null, null, %L, ''spam'', null', tests.id('alice'))),
    'PL007 You cannot report yourself.', 'a user cannot report itself');
select is(tests.report('bob', format('%L, 13, null, ''abuse'', null', tests.id('group'))),
    'PL007 You cannot report yourself.', 'a user cannot report its own message');
select matches(tests.report('alice', 'null, null, null, ''spam'', null'), '^PL001 Give', 'something must be reported');
select matches(tests.report('alice', format('%L, 1, %L, ''spam'', null', tests.id('group'), tests.id('bob'))),
    '^PL001 Give', 'a message and a user cannot be reported together');
select matches(tests.report('alice', format('%L, null, null, ''spam'', null', tests.id('group'))), '^PL001 "seq"',
    'a message needs its number');
select is(tests.field_of('alice', format('select api.create_report(null, null, %L, %s)', tests.id('bob'), wrong)),
    'PL001 ' || field, 'refuses ' || wrong)
  from (values ('''rude'', null', 'reason'), ('null, null', 'reason'), ('''spam'', repeat(''x'', 1001)', 'comment'))
       as w (wrong, field);
select tests.make_user('ghost', true);
select matches(tests.report('ghost', format('null, null, %L, ''spam'', null', tests.id('bob'))), '^[0-9a-f-]{36}$',
    'a guest reports');
select is(tests.as('anon', format('app.create_report(null, null, %L, ''spam'', null)', tests.id('bob'))) like '42501 %',
    true, 'anon cannot report');

-- Evidence.
select is((select jsonb_path_query_array(evidence, '$.before[*].content')
             from r, tests.stored(id) where name = 'insult'),
    (select jsonb_agg('message ' || n) from generate_series(3, 12) n), 'the evidence has the ten messages before');
select is((select concat_ws(' ', evidence #>> '{message,content}', evidence #>> '{reporter,username}',
                            evidence #>> '{reported,username}') from r, tests.stored(id) where name = 'insult'),
    'an insult tap_alice tap_bob', 'the evidence has the message and both profiles');
update public.messages set content = 'a compliment' where conversation_id = tests.id('group') and seq = 13;
select is((select evidence #>> '{message,content}' from r, tests.stored(id) where name = 'insult'), 'an insult',
    'the evidence survives an edit');
update public.messages set deleted_at = now() where conversation_id = tests.id('group') and seq = 13;
select is((select evidence #>> '{message,content}' from r, tests.stored(id) where name = 'insult'), 'an insult',
    'the evidence survives a deletion');

-- One open report of an object.
select is(tests.report('alice', format('%L, 13, null, ''violence'', null', tests.id('group'))),
    (select id from r where name = 'insult'), 'a repeated report returns the open one');
select is((select concat_ws(' ', s.reason, s.comment, s.evidence #>> '{message,content}')
             from r, tests.stored(id) s where name = 'insult'),
    'violence See the last line. an insult', 'a repeated report replaces the reason, and keeps comment and evidence');
insert into r values ('bob', tests.report('alice', format('null, null, %L, ''abuse'', null', tests.id('bob'))));
select isnt((select id from r where name = 'bob'), (select id from r where name = 'insult'),
    'a report of the user is another one');
insert into r values ('threat', tests.report('alice', format('%L, 1, null, ''violence'', null', tests.id('direct'))));

-- Tables: nobody reads or writes them.
select is(array_agg(distinct tests.attempt(who, statement)), array['42501'], 'no role reads or writes reports')
  from unnest(array['alice', 'carol', 'bob', 'anon', 'service_role', 'postline_feed', 'postline_accounts',
                    'postline_sender', 'tests_login']) who,
       unnest(array['select from app.reports', 'update app.reports set reason = reason', 'delete from app.reports',
                    'insert into app.reports default values', 'select app.report_page(null, 10, null)',
                    'select app.erase_reports(gen_random_uuid())', 'select app.merge_reports(null, null)']) statement;
select is(tests.attempt('alice', 'update public.user_private set is_moderator = true'), '42501',
    'a user cannot make itself a moderator');

-- The moderator's queue.
select is(array_agg(distinct tests.as(who, call)), array['PL007 Only moderators can do this.'],
    'who is no moderator is refused each method')
  from unnest(array['alice', 'mallory', 'ghost']) who,
       unnest(array['api.reports()', format('api.report(%L)', (select id from r where name = 'bob')),
                    format('api.assign_report(%L)', (select id from r where name = 'bob')),
                    format('api.resolve_report(%L, ''dismissed'')', (select id from r where name = 'bob')),
                    format('api.remove_message(%L, 1)', tests.id('direct')),
                    format('api.ban_user(%L)', tests.id('bob')), format('api.unban_user(%L)', tests.id('bob'))]) call;
select is((select jsonb_path_query_array(tests.as('carol', 'api.reports()')::jsonb, '$.reports[*].state')),
    '["open","open","open","open","open"]', 'a moderator lists open reports');
select unalike(tests.as('carol', 'api.reports()'), '%an insult%', 'the list has no evidence');
select is((select array_agg(id order by place) from (
    with recursive pages as (
        select tests.as('carol', 'api.reports(null, 2)')::jsonb as page
        union all
        select tests.as('carol', format('api.reports(null, 2, %L)', page ->> 'next'))::jsonb from pages
         where page ->> 'next' is not null)
    select jsonb_path_query(page, '$.reports[*].id') #>> '{}' as id, row_number() over () as place from pages) p),
    (select array_agg(o.id::text order by o.created_at, o.id) from app.reports o), 'pages continue');
select is(tests.field_of('carol', 'select api.reports(' || wrong || ')'), 'PL001 ' || field, 'refuses ' || wrong)
  from (values ('''shut''', 'state'), ('null, 51', 'limit'), ('null, 0', 'limit'), ('null, 10, ''x''', 'after'))
       as w (wrong, field);
select is((tests.as('carol', format('api.report(%L)', id))::jsonb #>> '{evidence,message,content}'), 'an insult',
    'a moderator reads the evidence of a conversation in which it is or is not')
  from r where name = 'insult';
select is((tests.as('carol', format('api.report(%L)', id))::jsonb #>> '{evidence,message,content}'), 'a threat',
    'also of a direct conversation of others')
  from r where name = 'threat';
select is(tests.attempt('carol', format('select from public.messages where conversation_id = %L', tests.id('direct'))),
    '0', 'and no policy is wider for a moderator');
select is(tests.as('carol', 'api.report(gen_random_uuid())'), 'PL008 There is no such report.',
    'refuses an unknown id');

select is(tests.as('carol', format('api.assign_report(%L)', id))::jsonb - array['age_seconds', 'reporter', 'reported',
                                                                               'reporter_id', 'reported_id',
                                                                               'created_at', 'id'],
    jsonb_build_object('state', 'in_review', 'reason', 'violence', 'comment', 'See the last line.', 'outcome', null,
        'resolution', null, 'closed_at', null, 'conversation_id', tests.id('group'), 'seq', 13,
        'moderator_id', tests.id('carol')),
    'a moderator takes a report into review')
  from r where name = 'insult';
select is(tests.last_order(), format('moderator carol assign-report bob {"report": "%s"}', id),
    'the audit log has the review') from r where name = 'insult';
select is((select count(*) from (select tests.as('carol', format('api.assign_report(%L)', id))
                                   from r where name = 'insult') x, admin.audit a where a.action = 'assign-report'),
    1::bigint,
    'taking it again records nothing');
select is(tests.report('alice', format('%L, 13, null, ''spam'', ''again''', tests.id('group'))), id,
    'a repeated report in review returns it')
  from r where name = 'insult';
select is((select reason || comment from tests.stored(id)), 'violenceSee the last line.', 'and changes nothing')
  from r where name = 'insult';
select is(tests.field_of('carol', format('select api.resolve_report(%L, ''guilty'')', id)), 'PL001 outcome',
    'refuses an unknown outcome') from r where name = 'insult';
select is(tests.as('carol', format('api.resolve_report(%L, ''warned'', ''First time'')', id))::jsonb
              @> jsonb_build_object('state', 'closed', 'outcome', 'warned', 'resolution', 'First time'), true,
    'a moderator closes a report') from r where name = 'insult';
select is(tests.last_order(), format('moderator carol resolve-report bob {"report": "%s", "outcome": "warned"}', id),
    'the audit log has the outcome') from r where name = 'insult';
select is(tests.as('carol', format('api.resolve_report(%L, ''warned'')', id))::jsonb ->> 'resolution', 'First time',
    'closing it again changes nothing') from r where name = 'insult';

-- A report of a moderator is for the others.
insert into r values ('of carol', tests.report('bob', format('null, null, %L, ''abuse'', null', tests.id('carol'))));
select is(tests.as('carol', format(call, id)), 'PL008 There is no such report.', 'a moderator does not see ' || call)
  from r, unnest(array['api.report(%L)', 'api.assign_report(%L)', 'api.resolve_report(%L, ''dismissed'')']) call
 where name = 'of carol';
select is(tests.as('carol', 'api.reports()') like '%' || id || '%', false, 'nor in the queue')
  from r where name = 'of carol';
select is(tests.as('carol', format('api.resolve_report(%L, ''banned'')', id)), 'PL007 This report is closed.',
    'a closed report keeps its outcome') from r where name = 'insult';
select is(tests.as('carol', format('api.assign_report(%L)', id)), 'PL007 This report is closed.',
    'a closed report cannot be reviewed') from r where name = 'insult';
select is(jsonb_array_length(tests.as('carol', 'api.reports(''closed'')')::jsonb -> 'reports'), 1, 'lists closed ones');
select isnt(tests.report('alice', format('%L, 13, null, ''spam'', null', tests.id('group'))), id,
    'the same object can be reported again') from r where name = 'insult';

-- Messages and users.
select is(tests.as('carol', format('api.remove_message(%L, 1)', tests.id('direct')))::jsonb - 'deleted_at',
    jsonb_build_object('conversation_id', tests.id('direct'), 'seq', 1, 'version', 2), 'a moderator removes a message');
select is((select concat_ws(' ', content, version, deleted_at is not null)
             from public.messages where conversation_id = tests.id('direct') and seq = 1), '2 t',
    'the content is gone, and the version is up');
select is(tests.last_order(), format('moderator carol remove-message bob {"seq": 1, "conversation": "%s"}',
    tests.id('direct')), 'the audit log has the removal');
select is(tests.as('carol', format('api.remove_message(%L, 1)', tests.id('direct')))::jsonb ->> 'version', '2',
    'removing it again changes nothing');
select is(tests.as('carol', format('api.remove_message(%L, 9)', tests.id('direct'))), 'PL008 There is no such message.',
    'refuses a message that does not exist');

insert into app.sessions (id, user_id, refreshed_at) values (gen_random_uuid(), tests.id('bob'), now());
select is(tests.as('carol', format('api.ban_user(%L, ''2999-01-02T00:00:00Z'')', tests.id('bob')))::jsonb,
    jsonb_build_object('user_id', tests.id('bob'), 'is_banned', true, 'banned_until', '2999-01-02T00:00:00.000000Z'),
    'a moderator bans a user');
select is((select count(*) from app.sessions where user_id = tests.id('bob') and revoked_at is null), 0::bigint,
    'a ban ends the sessions');
select is(tests.last_order(), 'moderator carol ban-user bob {"until": "2999-01-02T00:00:00.000000Z"}',
    'the audit log has the ban');
select is(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, %L))',
    tests.id('bob'), (select encrypted_password from auth.users where id = tests.id('bob')))),
    'PL016 This account is suspended until 2999-01-02T00:00:00.000000Z.', 'sign-in says so, with the time');
select is(tests.as('carol', format('api.ban_user(%L)', tests.id('bob')))::jsonb ->> 'banned_until', null,
    'a ban without an end replaces it');
select is(tests.account(format('(select generation from accounts.open_session(gen_random_uuid(), %L, %L))',
    tests.id('bob'), (select encrypted_password from auth.users where id = tests.id('bob')))),
    'PL016 This account is suspended.', 'sign-in says so without a time');
select is(tests.field_of('carol', format('select api.ban_user(%L, %L)', tests.id('bob'), until)), 'PL001 until',
    'refuses the end ' || until) from unnest(array['soon', '2001-01-01T00:00:00Z']) until;
select is(tests.as('carol', format('api.unban_user(%L)', tests.id('bob')))::jsonb ->> 'is_banned', 'false',
    'a moderator lifts a ban');
select is((select banned_until from auth.users where id = tests.id('bob')), null, 'the user can sign in again');
select is(tests.as('carol', format('api.ban_user(%L)', tests.id('carol'))),
    'PL007 A moderator cannot be banned by a moderator.', 'a moderator cannot be banned by a moderator');
select is(tests.as('carol', 'api.ban_user(gen_random_uuid())'), 'PL008 There is no such user.',
    'refuses a user who does not exist');
select admin.disable('me', 'tap_bob', null, null);
select is(tests.as('carol', format('api.%s(%L)', call, tests.id('bob'))),
    'PL007 An operator has disabled this account.', 'a moderator does not overrule an operator: ' || call)
  from unnest(array['ban_user', 'unban_user']) call;
select admin.enable('me', 'tap_bob');
update auth.users set banned_until = now() + interval '1 day' where id = tests.id('carol');
select is(tests.as('carol', 'api.reports()'), 'PL007 Only moderators can do this.', 'a banned moderator is none');
update auth.users set banned_until = null where id = tests.id('carol');

-- Me.
select is(tests.as('carol', 'api.me()')::jsonb -> 'is_moderator', 'true', 'a moderator is told by Me');
select is(tests.as('alice', 'api.me()')::jsonb -> 'is_moderator', 'false', 'and other users too');
select is(tests.as('alice', format('(select object from app.profile_objects where id = %L)', tests.id('carol')))::jsonb
              ? 'is_moderator', false, 'a profile does not tell who is a moderator');

-- The operator.
select is(admin.set_moderator('me', 'tap_alice', true) ->> 'was_moderator', 'false', 'an operator makes a moderator');
select is((select concat_ws(' ', operator, action, detail) from admin.audit order by id desc limit 1),
    'me moderator {"is_moderator": true}', 'the audit log has it');
select is(admin.user_object(tests.id('alice'), false) ->> 'is_moderator', 'true', 'a user object says so');
select is(admin.set_moderator('me', 'tap_alice', false) ->> 'was_moderator', 'true', 'and ends it');
select throws_ok(format($$select admin.set_moderator('me', %L, true)$$, tests.id('ghost')), 'PA004',
    'A guest cannot be a moderator.');
select is(admin.reports(null, 2, null) ->> 'pending', (select count(*)::text from app.reports where state <> 'closed'),
    'an operator lists reports');
select is(admin.report(id)::jsonb #>> '{evidence,message,content}', 'an insult', 'and reads one')
  from r where name = 'insult';
select throws_ok($$select admin.reports('shut', 2, null)$$, 'PA001');
select throws_ok($$select admin.report(gen_random_uuid()::text)$$, 'PA002');

-- The webhook.
create temporary table node as select gen_random_uuid() as leads, gen_random_uuid() as follows;
grant select on node to public;
create function tests.claimed(node uuid) returns integer language plpgsql as $$
declare
    claimed integer;
begin
    perform tests.authenticate_as('postline_feed');
    claimed := (select count(*) from app.claim_reports(node, 100));
    perform tests.owner();
    return claimed;
end $$;
select is(tests.claimed(leads), (select count(*)::integer from app.reports where state <> 'closed'),
    'the leader claims the reports that are not closed') from node;
select is(tests.claimed(leads), 0, 'each once') from node;
update app.reports set notify_at = now() where id = (select id::uuid from r where name = 'bob');
select is(tests.claimed(follows), 0, 'another node claims none') from node;
select is(tests.claimed(leads), 1, 'one that was not recorded is due again') from node;
select is(tests.as('postline_feed', format('app.record_report_results(array[%L::uuid], array[%s])', id, retry)), null,
    'records a result')
  from r, unnest(array['60', 'null::double precision']) retry where name = 'bob';
select is((select notify_at from tests.stored(id)), null, 'one that was told is not due') from r where name = 'bob';

-- Retention.
create function tests.prune() returns text language sql as $$
    select tests.as('postline_feed', 'app.prune_reports(90)')
$$;
select is(tests.as('postline_feed', '(select pending from app.report_counts())'),
    (select count(*)::text from app.reports where state <> 'closed'), 'counts what is not closed');
select is(tests.prune(), '0', 'nothing is old');
update app.reports set closed_at = now() - interval '91 days' where state = 'closed';
update app.reports set created_at = now() - interval '25 hours'
 where id = (select id::uuid from r where name = 'threat');
update app.reports set notify_at = now() where id = (select id::uuid from r where name = 'threat');
select is(tests.claimed(leads), 0, 'a report of yesterday is not told any more') from node;
select is(tests.prune(), '2', 'the evidence of a report that was closed long ago goes, and a notice of yesterday');
select is((select concat_ws(' ', state, outcome, evidence, comment, resolution) from tests.stored(id)), 'closed warned',
    'the report stays without what people wrote') from r where name = 'insult';
select is((select evidence is not null from tests.stored(id)), true, 'others keep their evidence')
  from r where name = 'bob';

-- Bounds.
delete from app.reports where reporter_id = tests.id('alice');
insert into app.reports (reporter_id, reported_id, reason)
select tests.id('alice'), tests.id('bob'), 'other' from generate_series(1, 50);
update app.reports set message_id = gen_random_uuid() where reporter_id = tests.id('alice');
select matches(tests.report('alice', format('null, null, %L, ''spam'', null', tests.id('bob'))),
    '^PL007 You have 50 open reports', 'a user has at most 50 open reports');
delete from app.reports;

-- A moderator sees the files of a reported message until its reports are closed.
insert into public.media (owner_id, purpose, conversation_id, mime_type, bytes, stored_at)
values (tests.id('bob'), 'message', tests.id('direct'), 'image/png', 5, now());
select tests.as('bob', format('api.send_message(%L, '''', kind => ''image'', attachment => %L)', tests.id('direct'),
    json_build_object('url', 'https://x.test/' || m.id, 'media_id', m.id))) from public.media m;
create function pg_temp.files(who text) returns integer language sql as $$
    select json_array_length(tests.as(who, format('api.readable_media(%L)', (select array_agg(id) from public.media)))
        ::json -> 'media')
$$;
select is(pg_temp.files(who), files, who || ' sees a file of the two, or not')
  from (values ('alice', 1), ('carol', 0), ('mallory', 0)) w (who, files);
insert into r values ('picture', tests.report('alice', format('%L, %s, null, ''sexual'', null', tests.id('direct'),
    (tests.conversation('direct')).last_seq)));
select is(pg_temp.files(who), files, who || ' sees the file of a reported message, or not')
  from (values ('alice', 1), ('carol', 1), ('mallory', 0)) w (who, files);
select is(tests.as('mallory', format('(select count(*) from app.moderated_files(%L))',
    (select array_agg(id) from public.media))), '0', 'nor by SQL');
select tests.as('carol', format('app.resolve_report(%L, ''dismissed'', null)', id)) from r where name = 'picture';
select is(pg_temp.files('carol'), 0, 'a moderator sees it no longer once the report is closed');
delete from app.reports;
delete from public.media;

-- Merging a guest, and deleting users.
insert into r values ('guest', tests.report('ghost', format('null, null, %L, ''spam'', ''mine''', tests.id('bob')))),
    ('of guest', tests.report('bob', format('null, null, %L, ''spam'', null', tests.id('ghost')))),
    ('each other', tests.report('ghost', format('null, null, %L, ''spam'', null', tests.id('alice'))));
select app.merge_users(tests.id('ghost'), tests.id('alice'));
select is((select reporter_id from tests.stored(id)), tests.id('alice'), 'a guest''s reports become the account''s')
  from r where name = 'guest';
select is((select reported_id from tests.stored(id)), tests.id('alice'), 'and reports of the guest are of the account')
  from r where name = 'of guest';
select is((select count(*) from app.reports where reporter_id = reported_id), 0::bigint,
    'no report is of the reporter');
select is(tests.report('alice', format('null, null, %L, ''spam'', null', tests.id('bob'))), id,
    'the account finds the guest''s open report') from r where name = 'guest';
update public.user_profiles set is_deleted = true where id = tests.id('alice');
select is((select concat_ws(' ', s.comment, s.evidence ? 'reporter', s.evidence #>> '{reported,username}')
             from tests.stored(id) s), 'f tap_bob',
    'a deleted reporter leaves the report without its comment and profile')
  from r where name = 'guest';
select is((select evidence ? 'reported' from tests.stored(id)), true,
    'evidence against a deleted user stays') from r where name = 'of guest';
update public.user_profiles set is_deleted = true where id = tests.id('carol');
select is((select is_moderator from public.user_private where id = tests.id('carol')), false,
    'a deleted moderator is none');

select * from finish();
rollback;
