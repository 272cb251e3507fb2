-- Membership checks for policies. In plpgsql, since an SQL function that is not inlined is planned anew in every query
-- that calls it. Deleted users stay in direct conversations but do not count as members: their access tokens may still
-- be valid.

-- Returns the caller's conversations, for reads of many rows: `conversation_id = any(array(select
-- app.my_conversations()))` runs it once per query. It uses the index even if the table was small when the plan was
-- made.
create or replace function app.my_conversations() returns setof uuid
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set jit = off rows 50 as $$
declare
    me uuid := auth.uid();
begin
    -- Checks the profile, since a deletion there is final, and once: a check per row makes the longest lists a fifth
    -- slower.
    return query
    select m.conversation_id from public.conversation_members m
     where m.user_id = me and not exists (select from public.user_profiles p where p.id = me and p.is_deleted);
end
$$;

-- Returns the groups in which the caller has one of these roles.
create or replace function app.my_groups(roles text[] default '{owner,admin,member}') returns setof uuid
language plpgsql stable security definer set search_path = pg_catalog, pg_temp rows 50 as $$
begin
    return query
    select m.conversation_id from public.conversation_members m join public.conversations c on c.id = m.conversation_id
     where m.user_id = auth.uid() and m.role = any (roles) and c.kind = 'group';
end
$$;

-- Returns true if the caller is owner or admin, for the check of a new member. Volatile, so that it sees commits while
-- the trigger before it waited for the conversation's lock.
create or replace function app.is_manager(conversation_id uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from public.conversation_members m
         where m.conversation_id = is_manager.conversation_id and m.user_id = auth.uid()
           and m.role in ('owner', 'admin'));
end
$$;

-- Returns true if the caller is a member of one conversation. Volatile as app.is_manager: the caller may have been
-- added while it waited for the lock.
create or replace function app.is_member(conversation_id uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from public.conversation_members m
         where m.conversation_id = is_member.conversation_id and m.user_id = auth.uid() and not m.is_deleted);
end
$$;
