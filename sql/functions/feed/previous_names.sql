-- Names by which nodes of the previous version call these functions. `feed.look` also tells them that the database is
-- migrated.

-- remove after 0.1: feed.poll_changes
create or replace function feed.next_look(since pg_snapshot, features text[]) returns table (
    epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint,
    audience uuid[], object text, tail text, marks bigint[])
language sql stable
begin atomic
    select * from feed.poll_changes(next_look.since, next_look.features);
end;

-- remove after 0.1: feed.poll_changes without features
create or replace function feed.next_look(since pg_snapshot) returns table (
    epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint,
    audience uuid[], object text, tail text, marks bigint[])
language sql stable
begin atomic
    select * from feed.poll_changes(next_look.since, '{}');
end;

-- remove after 0.1: feed.read_changes
create or replace function feed.look(since pg_snapshot) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable strict
begin atomic
    select * from feed.read_changes(look.since);
end;

-- remove after 0.1: feed.users_with_changes
create or replace function feed.concerned(since pg_snapshot, users uuid[]) returns setof uuid
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return query select * from feed.users_with_changes(since, users);
end
$$;

-- remove after 0.1: feed.has_no_changes
create or replace function feed.missed_nothing(epochs text[], users uuid[], sinces pg_snapshot[]) returns table (
    place integer, epoch text, snapshot text, conversation_ids text, is_durable boolean, sees_presence boolean)
language sql stable
begin atomic
    select * from feed.has_no_changes(missed_nothing.epochs, missed_nothing.users, missed_nothing.sinces);
end;
