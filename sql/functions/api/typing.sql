-- In an earlier version the result had another type.
drop function if exists api.typing(uuid);

-- Returns whether the other members may see that the caller is typing: not if the caller hides its presence. Raises
-- not_found if the caller is not a member. Nothing is stored.
create function api.typing(conversation_id uuid) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (
        select from public.conversation_members m
         where m.conversation_id = typing.conversation_id and m.user_id = app.caller()) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    return (app.presence_visibility()).sees_others;
end
$$;
