-- In an earlier version the result had another type.
drop function if exists api.typing(uuid);

-- Returns whether the other members may see that the caller is typing: not if the caller hides its presence, or one of
-- the two members of a direct conversation blocks the other. Raises
-- not_found if the caller is not a member. Nothing is stored.
create function api.typing(conversation_id uuid) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    is_blocked boolean;
begin
    select m.is_blocked into is_blocked from public.conversation_members m
     where m.conversation_id = typing.conversation_id and m.user_id = app.caller();
    if not found then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    return (app.presence_visibility()).sees_others and not is_blocked;
end
$$;
