-- Refuses deletions: clients would keep the deleted rows, and message numbers would have a gap.
create or replace function app.refuse_delete() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'restrict_violation',
        message = pg_catalog.format('Rows of %I are never deleted.', tg_table_name),
        hint = case tg_table_name
            when 'messages' then 'Set deleted_at: the message keeps its place and its content goes.'
            when 'conversations' then 'Delete the rows of conversation_members: it then stands in nobody''s list.'
            when 'conversation_members' then 'Delete row by row: each removal is told to its user.'
            else 'Set is_deleted: the profile becomes a tombstone, and messages stay under it.'
        end;
end
$$;

create or replace trigger refuse_delete before delete on public.messages
    for each statement execute function app.refuse_delete();
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
