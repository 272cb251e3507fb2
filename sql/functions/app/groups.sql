-- What holds of groups, and what their operations need more rights for than a user has.

-- Gives a group that has members and no owner one: the oldest admin, else the oldest member. A merge seats the account
-- in the guest's place by itself.
create or replace function app.ensure_owner(conversation_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from public.conversation_members m
                where m.conversation_id = ensure_owner.conversation_id and m.role = 'owner')
       or app.is_merging() then
        return;
    end if;
    update public.conversation_members m set role = 'owner'
     where m.conversation_id = ensure_owner.conversation_id
       and m.user_id = (select n.user_id from public.conversation_members n
                         where n.conversation_id = ensure_owner.conversation_id
                         order by n.role = 'admin' desc, n.joined_at, n.user_id limit 1);
end
$$;

-- The conversation's kind and the caller's role in it, with the conversation's lock, so that both hold until the end of
-- the transaction; a refusal, and no lock, for who is no member. Definer: only who may rename a group may lock its row,
-- and those who leave it or edit a message of theirs must lock it too.
create or replace function app.lock_conversation(conversation_id uuid, out kind text, out role text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if app.is_member(conversation_id) then
        perform 1 from public.conversations c where c.id = lock_conversation.conversation_id for no key update;
        -- A statement of its own: it sees what those did who had the lock before.
        select c.kind, m.role into kind, role
          from public.conversation_members m join public.conversations c on c.id = m.conversation_id
         where m.conversation_id = lock_conversation.conversation_id and m.user_id = auth.uid();
    end if;
    if role is null then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
end
$$;

-- A group of the caller alone, its owner. Definer: before its first member nobody may see a group, nor add to it.
create or replace function app.create_group(title text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    made uuid;
begin
    insert into public.conversations (kind, title, created_by)
    values ('group', app.checked_name('title', title, 'A title'), auth.uid())
    returning id into made;
    insert into public.conversation_members (conversation_id, user_id, role) values (made, auth.uid(), 'owner');
    return made;
end
$$;

-- The direct conversation of the caller and another, with both in it: the rows that were deleted by SQL come back.
-- Definer: of a conversation that one is no member of one sees nothing and adds nobody to it.
create or replace function app.ensure_participants(other uuid) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    room uuid;
begin
    select c.id into room from public.conversations c
     where c.participant1_id = least(auth.uid(), other) and c.participant2_id = greatest(auth.uid(), other)
       and not exists (select from public.user_profiles p where p.id = auth.uid() and p.is_deleted)
       for no key update;
    insert into public.conversation_members (conversation_id, user_id)
    select room, u.id from unnest(array[auth.uid(), other]) as u (id)
     where room is not null
       and not exists (select from public.conversation_members m where m.conversation_id = room and m.user_id = u.id);
    return room;
end
$$;

-- Definer: a policy tells rows apart and no columns, so who might write the role of a row might write its mark too, and
-- everybody may write the mark of their own.
create or replace function app.set_member_role(conversation_id uuid, user_id uuid, role text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    seat record := app.lock_conversation(conversation_id);
    present text;
begin
    if seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation has its two members, and no roles.');
    elsif seat.role <> 'owner' then
        perform app.refuse_forbidden('Only the owner of a group gives roles.');
    end if;
    select m.role into present from public.conversation_members m
     where m.conversation_id = set_member_role.conversation_id and m.user_id = set_member_role.user_id;
    if present is null then
        perform app.refuse_hidden('There is no such member.');
    elsif present = 'owner' and role <> 'owner' then
        perform app.refuse_forbidden('The owner stays the owner until another is made it.');
    elsif present <> role then
        update public.conversation_members m set role = set_member_role.role
         where m.conversation_id = set_member_role.conversation_id and m.user_id = set_member_role.user_id;
    end if;
end
$$;
