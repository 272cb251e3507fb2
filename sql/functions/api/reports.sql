-- Reports, and the methods of moderators: see sql/functions/app/reports.sql and moderation.sql.

-- Reports a message or a user.
create or replace function api.create_report(
    conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.json_build_object('id', app.create_report(conversation_id, seq, user_id, reason, comment));
end
$$;

-- Returns a page of reports, without their evidence.
create or replace function api.reports(
    state text default null, max_results integer default 50, after text default null) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return app.moderated_reports(state, max_results, after);
end
$$;

-- Returns a report with its evidence.
create or replace function api.report(id uuid) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return app.moderated_report(id);
end
$$;

-- Takes a report into review, and returns it.
create or replace function api.assign_report(id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.assign_report(id);
end
$$;

-- Closes a report, and returns it.
create or replace function api.resolve_report(id uuid, outcome text, comment text default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.resolve_report(id, outcome, comment);
end
$$;

-- Deletes the content of a message of any conversation.
create or replace function api.remove_message(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.remove_message(conversation_id, seq);
end
$$;

-- Returns a page of the messages that wait for a moderator, the oldest first.
create or replace function api.held_messages(max_results integer default 50, after text default null) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return app.moderated_held(max_results, after);
end
$$;

-- Releases a held message, which all members see then.
create or replace function api.release_message(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.decide_held(conversation_id, seq, true);
end
$$;

-- Rejects a held message, which is deleted then.
create or replace function api.reject_message(conversation_id uuid, seq bigint) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.decide_held(conversation_id, seq, false);
end
$$;

-- Bans a user until a time, or for good.
create or replace function api.ban_user(user_id uuid, until text default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.ban_user(user_id, app.checked_time('until', until));
end
$$;

-- Lifts a ban.
create or replace function api.unban_user(user_id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.unban_user(user_id);
end
$$;
