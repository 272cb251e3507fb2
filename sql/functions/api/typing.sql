-- Whether the caller may be told to type in a conversation: it is a member. Nothing is kept of it.
create or replace function api.typing(conversation_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
    if not exists (
        select from public.conversation_members m
         where m.conversation_id = typing.conversation_id and m.user_id = app.caller()) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
end
$$;
