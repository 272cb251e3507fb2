-- Operations on accounts. Each first locks the account, as a sign-in, a change of the password and a deletion do, and
-- is recorded even if it changes nothing.

-- Locks and returns the account of a user, or raises PA004 if it is deleted.
create or replace function admin.locked_user(who text) returns auth.users
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users;
begin
    select u.* into account from auth.users u where u.id = admin.user_id(who) for update;
    if exists (select from public.user_profiles p where p.id = account.id and p.is_deleted) then
        raise exception using errcode = 'PA004', message = 'This account is deleted and cannot be restored.';
    end if;
    return account;
end
$$;

-- Disables a user until a time, or for good if `until` is null. The trigger on auth.users ends the sessions, which each
-- node notices within a second. For a disabled account the time is replaced.
create or replace function admin.disable(operator text, who text, until text, reason text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := admin.locked_user(who);
    -- Not infinity, which Supabase's auth server cannot read.
    ends_at timestamptz := coalesce(admin.checked_until(until), '9999-12-31T00:00:00Z');
    living integer := (select count(*) from app.sessions s where s.user_id = account.id and s.revoked_at is null);
begin
    if pg_catalog.octet_length(reason) > 1000 then
        raise exception using errcode = 'PA001', message = 'The reason must be at most 1000 bytes long.';
    end if;
    update auth.users u set banned_until = ends_at, updated_at = pg_catalog.now() where u.id = account.id;
    perform admin.record_action(operator, 'disable', account.id, pg_catalog.jsonb_build_object(
        'until', admin.utc(ends_at), 'reason', reason, 'ended_sessions', living));
    return pg_catalog.json_build_object('user', admin.user_object(account.id, false), 'ended_sessions', living);
end
$$;

-- Returns a future time, given as RFC 3339, as a day, which begins in UTC, or as a duration from now (30m, 12h, 7d).
create or replace function admin.checked_until(until text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    ends_at timestamptz;
begin
    if until is null then
        return null;
    elsif until ~ '^[1-9][0-9]{0,4}[mhd]$' then
        return pg_catalog.now() + pg_catalog.left(until, -1)::integer
            * case pg_catalog.right(until, 1)
                  when 'm' then interval '1 minute' when 'h' then interval '1 hour' else interval '1 day' end;
    end if;
    begin
        ends_at := app.checked_time('until',
            case when until ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then until || 'T00:00:00Z' else until end);
    exception when sqlstate 'PL001' then
        raise exception using errcode = 'PA001',
            message = 'The end must be a time (2026-12-01T08:00:00Z), a day (2026-12-01) or a duration (30m, 12h, 7d).';
    end;
    if ends_at <= pg_catalog.now() then
        raise exception using errcode = 'PA001', message = 'The end must be in the future.';
    end if;
    return ends_at;
end
$$;

-- Enables a user. Its ended sessions stay ended.
create or replace function admin.enable(operator text, who text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := admin.locked_user(who);
    was_disabled boolean := app.is_banned(account);
begin
    update auth.users u set banned_until = null, updated_at = pg_catalog.now()
     where u.id = account.id and u.banned_until is not null;
    perform admin.record_action(operator, 'enable', account.id, pg_catalog.jsonb_build_object(
        'was_disabled', was_disabled));
    return pg_catalog.json_build_object('user', admin.user_object(account.id, false), 'was_disabled', was_disabled);
end
$$;

-- Deletes a user, as me.delete does: see sql/functions/app/tombstones.sql.
create or replace function admin.delete_user(operator text, who text, reason text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := admin.locked_user(who);
    living integer := (select count(*) from app.sessions s where s.user_id = account.id and s.revoked_at is null);
begin
    if pg_catalog.octet_length(reason) > 1000 then
        raise exception using errcode = 'PA001', message = 'The reason must be at most 1000 bytes long.';
    end if;
    -- An account that no trigger saw has no profile yet.
    perform app.upsert_profile(account);
    update public.user_profiles p set is_deleted = true where p.id = account.id;
    perform admin.record_action(operator, 'delete', account.id, pg_catalog.jsonb_build_object(
        'reason', reason, 'ended_sessions', living));
    return pg_catalog.json_build_object('user', admin.user_object(account.id, false), 'ended_sessions', living);
end
$$;
