-- Rules for every object, also for new ones.
begin;
select plan(14);

select is_empty($$
    select c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin') and c.relkind in ('r', 'p')
       and not c.relrowsecurity
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
$$, 'row 38: every table has row-level security');

select is_empty($$
    select c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin') and c.relkind = 'v'
       and not coalesce(c.reloptions @> array['security_invoker=true'], false)
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
$$, 'row 38: every view runs with its caller''s rights');

-- A body in SQL (prosqlbody) needs no search_path: its names were resolved when it was created.
select is_empty($$
    select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin') and p.prosqlbody is null
       and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
       and p.prolang <> (select oid from pg_language where lanname = 'c')
$$, 'row 38: every function resolves names in pg_catalog before pg_temp');

-- A forbidden kind of plan that is used all the same costs 10,000,000,000, so that such a plan would be compiled.
select is_empty($$
    select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin')
       and exists (select from unnest(p.proconfig) c where c ~ '^enable_.*=off$')
       and not coalesce('jit=off' = any (p.proconfig), false)
$$, 'no function that forbids kinds of plans compiles plans');

select is_empty($$
    select d.datname, r from pg_database d,
           unnest(array['anon', 'authenticated', 'service_role', 'postline_feed', 'postline_accounts',
                        'postline_sender', 'tests_login']) as r
     where d.datname = current_database() and has_database_privilege(r, d.oid, 'temporary')
$$, 'no request role may create temporary objects');

select is_empty($$
    select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('app', 'api', 'accounts', 'feed', 'admin')
       and has_function_privilege('public', p.oid, 'execute')
$$, 'PUBLIC may not execute any function');

select is_empty($$
    select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('api', 'feed') and p.prosecdef
$$, 'operations and the feed run with their caller''s rights');

select set_eq($$
    select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('app', 'api', 'accounts', 'feed', 'admin')
       and has_function_privilege('anon', p.oid, 'execute')
$$, array['api.avatars()'], 'anon may call one function');

select is_empty($$
    select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('accounts', 'feed', 'admin') and has_function_privilege('authenticated', p.oid, 'execute')
$$, 'a user may not call functions of accounts, feed or admin');

-- Each takes the user from the request and checks the user's rights. Add a new one after a review of that.
select set_eq($$
    select p.oid::regproc::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('public', 'app', 'api', 'rest', 'accounts', 'feed', 'admin') and p.prosecdef
       and has_function_privilege('authenticated', p.oid, 'execute')
$$, array['app.move_message', 'app.create_media', 'app.epoch', 'app.set_member_role', 'app.is_member',
    'app.lock_conversation', 'app.lock_membership', 'app.create_group', 'app.is_manager', 'app.message_page',
    'app.my_conversations',
    'app.my_groups', 'app.my_message', 'app.presence_visibility', 'app.changes_since', 'app.record_ended_transactions',
    'app.register_device', 'app.ensure_participants', 'app.split_full_name', 'app.standby_snapshot',
    'app.presence_visible_users', 'app.shared_presence', 'app.complete_attachment', 'app.is_first_sent',
    'app.set_conversation_data', 'app.set_message_ttl', 'app.expired_message', 'app.set_pin', 'app.seen_reactions',
    'app.set_reaction', 'app.rare_changes_since',
    'app.start_stream', 'app.append_piece', 'app.finish_own_stream', 'app.has_streams',
    'app.seen_pieces', 'app.streamed_since', 'app.without_blocked', 'app.find_messages',
    'app.create_report', 'app.moderated_reports', 'app.moderated_report', 'app.assign_report', 'app.resolve_report',
    'app.remove_message', 'app.ban_user', 'app.unban_user', 'app.moderated_held', 'app.decide_held', 'app.own_form',
    'app.is_held', 'app.delete_held', 'app.moderated_files'],
    'a user may call only the listed functions that run with their owner''s rights');

select is_empty($$
    select c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'app', 'rest', 'admin') and c.relkind in ('r', 'v', 'S', 'p')
       and (has_table_privilege('tests_login', c.oid, 'select') or has_table_privilege('tests_login', c.oid, 'insert'))
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
$$, 'a login role of the service has no rights on tables');

select is_empty($$
    select 1 from pg_shdepend d join pg_roles r on r.oid = d.refobjid
     where d.deptype = 'o'
       and r.rolname in ('postline', 'tests_login', 'postline_feed', 'postline_accounts', 'postline_sender')
$$, 'row 38: neither the login role nor the service''s own roles own anything');

select is_empty($$
    select 1 from pg_roles
     where rolname in ('anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender', 'postline')
       and (rolsuper or rolbypassrls or rolcreaterole)
$$, 'no request role can bypass the policies');

select is_empty($$
    select polrelid::regclass || '.' || polname from pg_policy p join pg_class c on c.oid = p.polrelid
      join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'app') and 0 = any (polroles)
$$, 'every policy names its role');

select * from finish();
rollback;
