-- Moderators and reports.

-- Makes a user a moderator, or no moderator any more.
create or replace function admin.set_moderator(operator text, who text, is_moderator boolean) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := admin.locked_user(who);
    was_moderator boolean;
begin
    perform app.upsert_profile(account);
    select s.is_moderator into was_moderator from public.user_private s where s.id = account.id;
    if coalesce(account.is_anonymous, false) and set_moderator.is_moderator then
        raise exception using errcode = 'PA004', message = 'A guest cannot be a moderator.';
    end if;
    update public.user_private s set is_moderator = set_moderator.is_moderator
     where s.id = account.id and s.is_moderator <> set_moderator.is_moderator;
    perform admin.record_action(operator, 'moderator', account.id, pg_catalog.jsonb_build_object(
        'is_moderator', is_moderator));
    return pg_catalog.json_build_object(
        'user', admin.user_object(account.id, false), 'is_moderator', is_moderator, 'was_moderator', was_moderator);
end
$$;

-- Returns a page of reports, and the number of those that are not closed.
create or replace function admin.reports(state text, most integer, after text) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (app.report_page(state, most, after)::jsonb || pg_catalog.jsonb_build_object(
        'pending', (app.report_counts()).pending))::json;
exception when sqlstate 'PL001' then
    raise exception using errcode = 'PA001', message = pg_catalog.replace(sqlerrm, '"', '');
end
$$;

-- Returns a report with its evidence.
create or replace function admin.report(id text) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    stored app.reports;
begin
    select r.* into stored from app.reports r where r.id = admin.checked_id(report.id, 'report');
    if stored.id is null then
        raise exception using errcode = 'PA002', message = 'There is no such report.';
    end if;
    return app.report_with_evidence(stored);
end
$$;
