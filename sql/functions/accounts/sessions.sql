-- Sessions of Postline's own accounts, for the role postline_accounts only.
--
-- A session is a family of refresh tokens, one per generation. The service derives a token from session and generation
-- by HMAC-SHA256 with a key that the database does not have, and calls these functions with both numbers only after it
-- has checked the code. So nothing usable is stored, and the same token can be issued again.
--
-- Tokens contain no profile data, which could change later. `user_metadata` is empty, and exists for nodes of earlier
-- versions.

-- Opens a session. The service chooses the id, since it watches for the session's end before the session begins.
-- `password_hash` is the hash that the service has verified, or null for an account without a password. If it is no
-- longer stored, a change of the password came first, which ended all sessions but one.
--
-- A user has at most 100 sessions; those used longest ago end.
create or replace function accounts.open_session(session_id uuid, user_id uuid, password_hash text) returns table (
    generation integer, email text, phone text, is_anonymous boolean, app_metadata json, user_metadata json)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- Waits for a concurrent change of the password, ban, deletion or merge. A later one waits for this, and ends the
    -- session.
    update auth.users u set last_sign_in_at = pg_catalog.now()
     where u.id = open_session.user_id and u.deleted_at is null and not app.is_banned(u)
       and nullif(u.encrypted_password::text, '') is not distinct from open_session.password_hash;
    if not found then
        perform app.refuse_sign_in(open_session.user_id);
    end if;
    perform accounts.ensure_profile(user_id, null);
    update app.sessions s set revoked_at = pg_catalog.now()
     where s.id in (select l.id from app.sessions l
                     where l.user_id = open_session.user_id and l.revoked_at is null
                     order by l.refreshed_at desc, l.id offset 99);
    perform app.prune_sessions();
    return query
        with opened as (
            insert into app.sessions as s (id, user_id, refreshed_at)
            values (open_session.session_id, open_session.user_id, app.now())
            returning s.generation)
        select o.generation, coalesce(u.email::text, ''), coalesce(u.phone::text, ''),
               coalesce(u.is_anonymous, false), coalesce(u.raw_app_meta_data, '{}')::json, '{}'::json
          from opened o, auth.users u where u.id = open_session.user_id;
end
$$;

-- Raises account_suspended (PL016) for a banned account. The caller has proven that it owns the account.
create or replace function app.refuse_banned(account auth.users) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    until text := case when account.banned_until < '9999-01-01' then app.utc(account.banned_until) end;
begin
    if app.is_banned(account) then
        raise exception using errcode = 'PL016',
            message = pg_catalog.format('This account is suspended%s.', ' until ' || until),
            detail = pg_catalog.json_strip_nulls(pg_catalog.json_build_object('retry_at', until))::text;
    end if;
end
$$;

-- Raises the reason why an account cannot sign in: it does not exist, it is banned, or the verified password is no
-- longer its password.
create or replace function app.refuse_sign_in(user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_banned(u) from auth.users u where u.id = refuse_sign_in.user_id and u.deleted_at is null;
    if exists (select from auth.users u where u.id = refuse_sign_in.user_id and u.deleted_at is null) then
        perform app.refuse_credentials();
    end if;
    raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
end
$$;

-- Deletes some sessions that ended long ago, more per sign-in than each sign-in adds.
create or replace function app.prune_sessions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.sessions s
     where s.id in (select e.id from app.sessions e where e.forget_at <= app.now()
                     order by e.forget_at limit 10 for update skip locked);
end
$$;

-- Returns whether the user is a guest, or raises session_revoked if the session has ended.
create or replace function accounts.use_session(user_id uuid, session_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (select from app.sessions s
                    where s.id = session_id and s.user_id = use_session.user_id and s.revoked_at is null) then
        raise exception using errcode = 'PL006', message = 'This session has ended. Sign in again.';
    end if;
    return accounts.ensure_profile(user_id, null);
end
$$;

-- Returns for each pair of user and session whether the session is active and its profile exists: `use_session` for
-- many, in their order. For the others `use_session` returns the reason, or creates the profile.
create or replace function accounts.are_in_use(user_ids uuid[], session_ids uuid[]) returns boolean[]
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
begin
    return array(
        select exists (
                select from app.sessions s
                  join public.user_profiles p on p.id = s.user_id
                  join public.user_private v on v.id = p.id
                 where s.id = asked.session_id and s.user_id = asked.user_id and s.revoked_at is null
                   and not p.is_deleted)
          from unnest(user_ids, session_ids) with ordinality as asked (user_id, session_id, place)
         order by asked.place);
end
$$;

-- Returns true if a refresh token of that generation is accepted: the active one, or its parent within the reuse
-- window, for a client that did not get the response.
create or replace function app.accepts_generation(session app.sessions, generation integer, reuse_seconds integer)
returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return session.revoked_at is null and (
        session.generation = accepts_generation.generation
        or session.generation - 1 = accepts_generation.generation
           and app.now() <= session.refreshed_at + reuse_seconds * interval '1 second');
end
$$;

-- Accepts a refresh token. `outcome` is
--
--   active    the session continues: issue the token of `active_generation`, which concurrent calls share
--   revoked   the session has ended, or ends now because an older token was used again. A row and not an error, so that
--             the end is committed
--   unknown   no session of this database has that token
create or replace function accounts.refresh(session_id uuid, generation integer, reuse_seconds integer) returns table (
    outcome text, user_id uuid, active_generation integer, email text, phone text, is_anonymous boolean,
    app_metadata json, user_metadata json)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    session app.sessions;
begin
    select s.* into session from app.sessions s where s.id = refresh.session_id for update;
    if not found or generation is null or generation > session.generation then
        outcome := 'unknown';
        return next;
        return;
    elsif session.revoked_at is null and not app.accepts_generation(session, generation, reuse_seconds) then
        update app.sessions s set revoked_at = pg_catalog.now() where s.id = session.id
        returning s.* into session;
    end if;
    if session.revoked_at is not null or exists (
           select from auth.users u
            where u.id = session.user_id and (u.deleted_at is not null or app.is_banned(u))) then
        outcome := 'revoked';
        return next;
        return;
    end if;
    if generation = session.generation then
        update app.sessions s set generation = s.generation + 1, refreshed_at = app.now() where s.id = session.id
        returning s.* into session;
    end if;
    return query
        select 'active', u.id, session.generation, coalesce(u.email::text, ''), coalesce(u.phone::text, ''),
               coalesce(u.is_anonymous, false), coalesce(u.raw_app_meta_data, '{}')::json, '{}'::json
          from auth.users u where u.id = session.user_id;
end
$$;

-- Ends this session of the user, or all of them, and returns how many.
create or replace function accounts.logout(user_id uuid, session_id uuid, everywhere boolean) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ended integer;
begin
    update app.sessions s set revoked_at = pg_catalog.now()
     where s.user_id = logout.user_id and s.revoked_at is null and (everywhere or s.id = logout.session_id);
    get diagnostics ended = row_count;
    return ended;
end
$$;

-- Returns the sessions that ended since a snapshot, and the snapshot for the next call; if null, only that. So every
-- node learns which connections to end, whoever ended the session.
create or replace function accounts.ended_sessions(since pg_snapshot, out snapshot text, out session_ids text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    snapshot := pg_catalog.pg_current_snapshot()::text;
    session_ids := array(
        select s.id from app.sessions s where s.ended_xid >= pg_catalog.pg_snapshot_xmax(since)
        union all
        select s.id from app.sessions s where s.ended_xid = any(array(select pg_catalog.pg_snapshot_xip(since))))::text;
end
$$;

-- Stamps the end of a session with its transaction, for the nodes, and makes it final. The session can be deleted a
-- week later, except those of a merged guest: by them a repeated merge is recognized.
create or replace function app.end_session() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if old.revoked_at is not null then
        new.revoked_at := old.revoked_at;
    else
        new.ended_xid := pg_catalog.pg_current_xact_id();
        new.forget_at := case when not app.is_merging() then app.now() + interval '7 days' end;
    end if;
    return new;
end
$$;
create or replace trigger end_session before update on app.sessions
    for each row when (new.revoked_at is distinct from old.revoked_at) execute function app.end_session();

-- Ends the sessions of an account that is deleted or banned, by any writer. They stay ended after the ban.
create or replace function app.end_sessions() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update app.sessions s set revoked_at = pg_catalog.now() where s.user_id = new.id and s.revoked_at is null;
    -- An earlier mail must not be a way back in either.
    perform app.cancel_mails(new.id, array['confirm_email', 'change_email', 'reset_password']);
    delete from app.mails m where m.kind = 'reset_password' and m.email = new.email::text;
    return null;
end
$$;
create or replace trigger postline_ended_account after update on auth.users
    for each row when (
        new.deleted_at is not null and old.deleted_at is null
        or new.banned_until > pg_catalog.now() and new.banned_until is distinct from old.banned_until)
    execute function app.end_sessions();
