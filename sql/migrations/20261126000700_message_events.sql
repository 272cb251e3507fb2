-- What happened in a group, in a message of kind 'system' (sql/functions/app/events.sql). No domain: to add a column of
-- one with constraints rewrites the table.
alter table public.messages add column event jsonb;
comment on column public.messages.event is 'What happened in the group: an object with its "type".';

-- It writes out a row of the table: nodes that run meanwhile send through it before sql/functions/ is applied.
create or replace function app.send_messages(
    senders uuid[], conversations uuid[], contents text[], client_ids uuid[])
    returns table (place bigint, object text)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off rows 16 as $$
begin
    return query
    with numbered as materialized (
        select n.* from app.number_messages(senders, conversations, contents, client_ids) n),
    written as (
        insert into public.messages (id, conversation_id, seq, sender_id, client_id, content, created_at)
        select n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, n.content, n.created_at from numbered n)
    select n.place, app.message_object(
               row(n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, 'text', n.content, null, 1, null, null,
                   n.created_at, null, null, null, null)::public.messages,
               s.object, case when n.is_alone then n.seq else 0 end)
      from numbered n
     cross join lateral (select o.object from app.sender_objects o where o.id = n.sender_id offset 0) s;
end
$$;
