-- The actions of moderators: the queues of reports and of held messages, removing messages, and banning users. Each
-- function checks app.moderator() first, and writes a row of admin.audit in the same transaction.

-- Records a moderator's action.
create or replace function app.record_moderation(action text, user_id uuid, detail jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform admin.record_action('moderator ' || auth.uid()::text, action, user_id, detail);
end
$$;

-- Returns the locked report with that id, or raises not_found, also for a report of the caller itself.
create or replace function app.locked_report(id uuid) returns app.reports
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    report app.reports;
begin
    select r.* into report from app.reports r where r.id = locked_report.id for update;
    if report.id is null or report.reported_id = auth.uid() then
        perform app.refuse_hidden('There is no such report.');
    end if;
    return report;
end
$$;

-- Returns a page of reports, for a moderator.
create or replace function app.moderated_reports(state text, max_results integer, after text) returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.moderator();
    return app.report_page(state, max_results, after);
end
$$;

-- Returns a report with its evidence, for a moderator.
create or replace function app.moderated_report(id uuid) returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    report app.reports;
begin
    perform app.moderator();
    select r.* into report from app.reports r where r.id = moderated_report.id;
    if report.id is null or report.reported_id = auth.uid() then
        perform app.refuse_hidden('There is no such report.');
    end if;
    return app.report_with_evidence(report);
end
$$;

-- Gives a report that is not closed to the moderator who calls, and returns it.
create or replace function app.assign_report(id uuid) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.moderator();
    report app.reports := app.locked_report(id);
begin
    if report.state = 'closed' then
        perform app.refuse_forbidden('This report is closed.');
    elsif report.state = 'open' or report.moderator_id is distinct from me then
        update app.reports r set state = 'in_review', moderator_id = me
         where r.id = report.id returning r.* into report;
        perform app.record_moderation('assign-report', report.reported_id, pg_catalog.jsonb_build_object(
            'report', report.id));
    end if;
    return app.report_object(report);
end
$$;

-- Closes a report with an outcome, and returns it. The same call again changes nothing.
create or replace function app.resolve_report(id uuid, outcome text, comment text) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.moderator();
    note text := app.checked_comment(comment);
    report app.reports := app.locked_report(id);
begin
    if not coalesce(outcome in ('dismissed', 'removed', 'warned', 'banned'), false) then
        perform app.refuse_param('outcome', '"outcome" must be dismissed, removed, warned or banned.');
    elsif report.state <> 'closed' then
        update app.reports r
           set state = 'closed', moderator_id = me, outcome = resolve_report.outcome, resolution = note,
               closed_at = pg_catalog.now(), notify_at = null
         where r.id = report.id returning r.* into report;
        perform app.record_moderation('resolve-report', report.reported_id, pg_catalog.jsonb_build_object(
            'report', report.id, 'outcome', outcome));
    elsif row(report.moderator_id, report.outcome) is distinct from row(me, outcome) then
        perform app.refuse_forbidden('This report is closed.');
    end if;
    return app.report_object(report);
end
$$;

-- Returns those of these files that a moderator may see in conversations of others: of held messages, and of a reported
-- message until its reports are closed. None for other users.
create or replace function app.moderated_files(ids uuid[]) returns setof public.media
language plpgsql stable security definer set search_path = pg_catalog, pg_temp rows 1 as $$
declare
    me uuid := auth.uid();
begin
    if not app.is_moderator() then
        return;
    end if;
    return query
    select m.* from public.media m
     where m.id = any (ids) and m.owner_id <> me
       and (m.is_held
            or exists (select from app.reports r
                        where r.message_id = m.message_id and r.state <> 'closed' and r.reported_id <> me)
               -- Members see them by the policy.
               and not exists (select from public.conversation_members o
                                where o.conversation_id = m.conversation_id and o.user_id = me));
end
$$;

-- Deletes the content of any message, also of a held one, as its sender can, and returns its new version.
create or replace function app.remove_message(conversation_id uuid, seq bigint) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    message public.messages;
    held app.held_messages;
begin
    perform app.moderator();
    held := app.locked_held(conversation_id, seq);
    if held.message_id is not null then
        perform app.reject_held(held);
        perform app.record_moderation('remove-message', held.sender_id, pg_catalog.jsonb_build_object(
            'conversation', conversation_id, 'seq', seq));
    end if;
    select m.* into message from public.messages m
     where m.conversation_id = remove_message.conversation_id and m.seq = remove_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif message.deleted_at is null then
        update public.messages m set deleted_at = pg_catalog.clock_timestamp()
         where m.id = message.id returning m.* into message;
        perform app.record_moderation('remove-message', message.sender_id, pg_catalog.jsonb_build_object(
            'conversation', conversation_id, 'seq', seq));
    end if;
    return (
        select pg_catalog.row_to_json(w) from (select
            message.conversation_id, message.seq, message.version, app.utc(message.deleted_at) as deleted_at) w);
end
$$;

-- Returns a page of the held messages, for a moderator, without its own.
create or replace function app.moderated_held(max_results integer, after text) returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return app.held_page(max_results, after, app.moderator());
end
$$;

-- Releases or rejects a held message of another user, and returns its new version.
create or replace function app.decide_held(conversation_id uuid, seq bigint, is_released boolean) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.moderator();
    held app.held_messages := app.locked_held(conversation_id, seq);
begin
    if held.message_id is null or held.sender_id = me then
        perform app.refuse_hidden('There is no such held message.');
    elsif not is_released then
        perform app.reject_held(held);
    elsif not app.release_held(held) then
        perform app.refuse_forbidden('Its sender can no longer write in the conversation: reject the message.');
    end if;
    perform app.record_moderation(
        case when is_released then 'release-message' else 'reject-message' end, held.sender_id,
        pg_catalog.jsonb_build_object('conversation', conversation_id, 'seq', seq));
    return (
        select pg_catalog.row_to_json(w) from (
            select m.conversation_id, m.seq, m.version, app.utc(m.deleted_at) as deleted_at
              from public.messages m
             where m.conversation_id = decide_held.conversation_id and m.seq = decide_held.seq) w);
end
$$;

-- Returns the locked account of a user whom the caller may ban, or raises.
create or replace function app.bannable_account(user_id uuid) returns auth.users
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users;
begin
    perform app.moderator();
    select u.* into account from auth.users u where u.id = bannable_account.user_id and u.deleted_at is null for update;
    if account.id is null or exists (
        select from public.user_profiles p where p.id = account.id and p.is_deleted) then
        perform app.refuse_hidden('There is no such user.');
    elsif exists (select from public.user_private s where s.id = account.id and s.is_moderator) then
        perform app.refuse_forbidden('A moderator cannot be banned by a moderator.');
    -- An operator's word stands above a moderator's.
    elsif app.is_banned(account) and (
        select a.operator !~ '^moderator ' from admin.audit a
         where a.user_id = account.id and a.action in ('disable', 'ban-user', 'unban-user')
         order by a.id desc limit 1) is not false then
        perform app.refuse_forbidden('An operator has disabled this account.');
    end if;
    return account;
end
$$;

-- Bans a user until a time, or for good if that is null, which ends its sessions. For a banned user the time is
-- replaced.
create or replace function app.ban_user(user_id uuid, until timestamptz) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := app.bannable_account(user_id);
    -- Not infinity, which Supabase's auth server cannot read.
    ends_at timestamptz := coalesce(until, '9999-12-31T00:00:00Z');
begin
    if ends_at <= pg_catalog.now() then
        perform app.refuse_param('until', '"until" must be in the future.');
    end if;
    update auth.users u set banned_until = ends_at, updated_at = pg_catalog.now() where u.id = account.id;
    perform app.record_moderation('ban-user', account.id, pg_catalog.jsonb_build_object('until', admin.utc(ends_at)));
    return pg_catalog.json_build_object('user_id', account.id, 'is_banned', true, 'banned_until', app.utc(until));
end
$$;

-- Lifts a moderator's ban. Sessions that it ended stay ended.
create or replace function app.unban_user(user_id uuid) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := app.bannable_account(user_id);
begin
    if app.is_banned(account) then
        update auth.users u set banned_until = null, updated_at = pg_catalog.now() where u.id = account.id;
        perform app.record_moderation('unban-user', account.id, '{}');
    end if;
    return pg_catalog.json_build_object('user_id', account.id, 'is_banned', false, 'banned_until', null);
end
$$;
