-- Returns the users whom the caller blocks, the first one first.
create or replace function api.blocked_users() returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.json_build_object('user_ids', array(
        select b.blocked_id from public.blocks b
         where b.blocker_id = app.caller() order by b.blocked_at, b.blocked_id));
end
$$;

-- Blocks a user for the caller, and returns the users whom the caller blocks.
create or replace function api.block_user(user_id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
begin
    if user_id is null then
        perform app.refuse_param('user_id', '"user_id" must be another user.');
    elsif not exists (select from public.blocks b
                       where b.blocker_id = me and b.blocked_id = block_user.user_id) then
        insert into public.blocks (blocker_id, blocked_id) values (me, user_id) on conflict do nothing;
    end if;
    return api.blocked_users();
end
$$;

-- Ends a block of the caller, and returns the users whom the caller still blocks.
create or replace function api.unblock_user(user_id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    delete from public.blocks b where b.blocker_id = app.caller() and b.blocked_id = unblock_user.user_id;
    return api.blocked_users();
end
$$;
