-- Refuses deletions: clients would keep the deleted rows, and message numbers would have a gap.
create or replace function app.refuse_delete() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'restrict_violation',
        message = pg_catalog.format('%s is not allowed on %I.', tg_op, tg_table_name),
        hint = case tg_table_name
            when 'messages' then 'Set deleted_at instead: this removes the content of the message and keeps its number.'
            when 'conversations' then 'Delete its rows in conversation_members instead: then no user sees it.'
            when 'conversation_members' then 'Use DELETE instead: it informs the removed users.'
            else 'Set is_deleted instead: the profile becomes a tombstone, and its messages stay.'
        end;
end
$$;

create or replace trigger refuse_delete before delete on public.conversations
    for each statement execute function app.refuse_delete();
create or replace trigger refuse_delete before delete on public.user_profiles
    for each statement execute function app.refuse_delete();
create or replace trigger refuse_truncate before truncate on public.messages
    for each statement execute function app.refuse_delete();
create or replace trigger refuse_truncate before truncate on public.conversations
    for each statement execute function app.refuse_delete();
create or replace trigger refuse_truncate before truncate on public.user_profiles
    for each statement execute function app.refuse_delete();
create or replace trigger refuse_truncate before truncate on public.conversation_members
    for each statement execute function app.refuse_delete();
