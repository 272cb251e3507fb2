-- Membership as policies ask for it. plpgsql, because a function of language sql that cannot be inlined is planned
-- anew in every query that calls it.

-- For reads of many rows: `conversation_id = any(array(select app.my_conversations()))`, run once a query.
create or replace function app.my_conversations() returns setof uuid
language plpgsql stable security definer set search_path = '' rows 50 as $$
begin
    return query select m.conversation_id from public.conversation_members m where m.user_id = auth.uid();
end
$$;

-- For writes of one row.
create or replace function app.is_member(conversation_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
    return exists (
        select from public.conversation_members m
         where m.conversation_id = is_member.conversation_id and m.user_id = auth.uid());
end
$$;
