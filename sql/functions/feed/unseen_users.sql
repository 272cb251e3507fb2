-- Returns the users whose presence and typing a user does not see because of a block. A node reads it after the page of
-- a session, and keeps it for the session. If a block begins or ends after the page, the session must resync.
create or replace function feed.unseen_users(user_id uuid) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return array(select app.blocked_users(user_id));
end
$$;
