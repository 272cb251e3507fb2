-- Sessions of Postline's own accounts, for the role postline_accounts alone.
--
-- A session is a family of refresh tokens, one a generation. The service derives the token from the session and its
-- generation, HMAC-SHA256 with a key that the database never sees, and gives these functions the two numbers only
-- after it has checked the code. So nothing that could be used is stored, and the same child can be given again.
--
-- Tokens carry nothing of a profile: it would grow old in them. `user_metadata` is empty, and there for the nodes of
-- the version before, which ask for it.

-- Opens a session. The id is new, and the service's to choose: it looks out for the session's end from before it
-- begins. `password_hash` is the stored hash that the service has verified the password against, null for an account
-- that has none. Where it is not the stored one any more, the password was changed meanwhile, and that change ended all
-- but one.
--
-- A user has at most 100 sessions: of more, those that were used last go on.
create or replace function accounts.open_session(session_id uuid, user_id uuid, password_hash text) returns table (
    generation integer, email text, phone text, is_anonymous boolean, app_metadata json, user_metadata json)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- Waits for a change of the password, a ban, a deletion or a merge under way. One that comes later waits for this,
    -- and ends the session.
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

-- Why the account is not signed in to: it is not there, or the password that was verified is not its password.
create or replace function app.refuse_sign_in(user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from auth.users u where u.id = refuse_sign_in.user_id and u.deleted_at is null) then
        perform app.refuse_credentials();
    end if;
    raise exception using errcode = 'PL004', message = 'This account is not known here.';
end
$$;

-- Removes some of the sessions that ended long ago: more with each sign-in than that brings.
create or replace function app.prune_sessions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.sessions s
     where s.id in (select e.id from app.sessions e where e.forget_at <= app.now()
                     order by e.forget_at limit 10 for update skip locked);
end
$$;

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

-- Which of these sessions, each of its user, are in use and need nothing but that: the answer of `use_session` to many
-- at once, in their order. Of the others `use_session` says why they are not, or makes them so.
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

-- Whether a refresh token of that generation is taken: the active one, or its parent within the reuse window, for a
-- client that did not get the answer.
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

-- Takes a refresh token. `outcome` is
--   active    the session goes on: give the token of `active_generation`, which many calls at once get alike
--   revoked   it has ended, or ends with this: an older token was used again. A row and not an error, so that the
--             end is committed
--   unknown   no session of this database gave that token
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

-- Ends this session of the user, or all of them. Answers how many ended.
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

-- The sessions that ended since a snapshot, and the snapshot to ask with next; with none, just that. By this every
-- node learns whose connections to end, whoever ended the session.
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

-- An end is told to the nodes, and is for good. A week later the session may be forgotten, but for those of a guest who
-- was merged: by them a merge that is asked for again is found done.
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

-- An account that is deleted or banned, whoever does it, is signed out: a ban that is lifted brings no session back.
create or replace function app.end_sessions() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update app.sessions s set revoked_at = pg_catalog.now() where s.user_id = new.id and s.revoked_at is null;
    -- Nor does it come back by a mail of before, when it is let in again.
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
