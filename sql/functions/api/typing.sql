-- Whether the others in a conversation may know that the caller, a member, types there: not where it hides whether it
-- is online. Nothing is kept of it.
drop function if exists api.typing(uuid);
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
