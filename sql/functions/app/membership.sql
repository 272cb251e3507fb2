-- Membership as policies ask for it. plpgsql, because a function of language sql that cannot be inlined is planned
-- anew in every query that calls it. A deleted user, who stays in direct conversations, is no member to them: its token
-- may have time left.

-- For reads of many rows: `conversation_id = any(array(select app.my_conversations()))`, run once a query. It keeps to
-- the index, however small the table was when the session made its plan.
create or replace function app.my_conversations() returns setof uuid
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off rows 50 as $$
declare
    me uuid := auth.uid();
begin
    -- By the profile, which nobody brings back, and asked once: of each row it costs the longest lists a fifth more.
    return query
    select m.conversation_id from public.conversation_members m
     where m.user_id = me and not exists (select from public.user_profiles p where p.id = me and p.is_deleted);
end
$$;

-- The groups in which the caller has one of these roles.
create or replace function app.my_groups(roles text[] default '{owner,admin,member}') returns setof uuid
language plpgsql stable security definer set search_path = pg_catalog, pg_temp rows 50 as $$
begin
    return query
    select m.conversation_id from public.conversation_members m join public.conversations c on c.id = m.conversation_id
     where m.user_id = auth.uid() and m.role = any (roles) and c.kind = 'group';
end
$$;

-- Whether the caller is owner or admin, for the check of a new member. Volatile, so that it sees what was committed
-- while the trigger before it waited for the conversation's lock.
create or replace function app.is_manager(conversation_id uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from public.conversation_members m
         where m.conversation_id = is_manager.conversation_id and m.user_id = auth.uid()
           and m.role in ('owner', 'admin'));
end
$$;

-- For one conversation. Volatile as `manages` is: who waited for the lock may have been added meanwhile.
create or replace function app.is_member(conversation_id uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from public.conversation_members m
         where m.conversation_id = is_member.conversation_id and m.user_id = auth.uid() and not m.is_deleted);
end
$$;
