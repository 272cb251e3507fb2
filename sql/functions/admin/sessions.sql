-- Sessions of users.

-- Returns the sessions of a user, the last used first. With `ended` also those that ended and are still stored.
create or replace function admin.sessions(who text, ended boolean, most integer) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    whom uuid := admin.user_id(who);
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('user', admin.user_object(whom, false), 'sessions', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'id', l.id, 'created_at', app.utc(l.created_at), 'refreshed_at', app.utc(l.refreshed_at),
                   'ended_at', app.utc(l.revoked_at),
                   'devices', array(select d.platform from app.devices d where d.session_id = l.id order by 1))
                   order by l.refreshed_at desc, l.id)
          from (select * from app.sessions s
                 where s.user_id = whom and (ended or s.revoked_at is null)
                 order by s.refreshed_at desc, s.id limit most) l), '[]'));
end
$$;

-- Ends one session of a user, or all; each node ends the connections within a second.
create or replace function admin.end_sessions(operator text, who text, session text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    whom uuid := admin.user_id(who);
    one uuid := case when session is not null then admin.checked_id(session, 'session') end;
    ended integer;
begin
    if one is not null and not exists (select from app.sessions s where s.id = one and s.user_id = whom) then
        raise exception using errcode = 'PA002', message = 'This user has no such session.';
    end if;
    -- Waits for a concurrent sign-in, and ends its session.
    perform 1 from auth.users u where u.id = whom for update;
    update app.sessions s set revoked_at = pg_catalog.now()
     where s.user_id = whom and s.revoked_at is null and (one is null or s.id = one);
    get diagnostics ended = row_count;
    perform admin.record_action(operator, 'end-sessions', whom, pg_catalog.jsonb_build_object(
        'session', one, 'ended_sessions', ended));
    return pg_catalog.json_build_object('user', admin.user_object(whom, false), 'ended_sessions', ended);
end
$$;
