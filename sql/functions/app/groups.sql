-- Rules of groups, and the parts of group operations that need more rights than a user has.

-- Makes a member the owner of a group that has none: the oldest admin, or else the oldest member. During a merge it
-- does nothing, since the account gets the guest's role.
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

-- Locks a conversation and returns its kind and the caller's role, which then stay until the end of the transaction.
-- Raises not_found, without a lock, if the caller is not a member. Security definer: only a manager of a group has the
-- right to lock its row, but members who leave or edit a message must lock it too.
create or replace function app.lock_conversation(conversation_id uuid, out kind text, out role text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if app.is_member(conversation_id) then
        perform 1 from public.conversations c where c.id = lock_conversation.conversation_id for no key update;
        -- A separate statement, which sees the changes of earlier lock holders.
        select c.kind, m.role into kind, role
          from public.conversation_members m join public.conversations c on c.id = m.conversation_id
         where m.conversation_id = lock_conversation.conversation_id and m.user_id = auth.uid();
    end if;
    if role is null then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
end
$$;

-- Creates a group with the caller as its owner and only member, and returns its id. Security definer: before its first
-- member nobody can see a group or add members to it.
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

-- Returns true if a user has written to another, or has opened the direct conversation of the two: then the other is no
-- stranger. It reads one conversation and one member by their unique indexes, and no messages: sent_seq stays if a
-- message is deleted, and a merge keeps it. A user cannot set created_by or sent_seq.
create or replace function app.has_contacted(user_id uuid, other uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from public.conversations c
          join public.conversation_members m on m.conversation_id = c.id and m.user_id = has_contacted.user_id
         where c.participant1_id = least(has_contacted.user_id, other)
           and c.participant2_id = greatest(has_contacted.user_id, other)
           and (m.sent_seq > 0 or c.created_by = has_contacted.user_id));
end
$$;

-- Raises invalid_params if one of the users whom a statement has added to a group is in too many groups (bounds.sql).
-- Direct conversations do not count: others open them, and nobody can leave them. The caller's own membership is of a
-- group that it creates. Without a caller only the whole bound applies. Concurrent transactions may exceed a bound by
-- one group each, since nothing locks the user.
create or replace function app.check_conversation_counts(conversation_id uuid, user_ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := auth.uid();
    is_guest boolean;
    added record;
    share integer;
    problem text;
begin
    -- Usually finds no user, in one index-only scan for each.
    for added in
        select a.user_id, g.groups
          from unnest(user_ids) as a (user_id)
         cross join lateral (
            select count(*) as conversations from (
                select from public.conversation_members m
                 where m.user_id = a.user_id limit app.max_own_conversations() + 1) m) n
         cross join lateral (
            select count(*) as groups from (
                select from public.conversation_members m
                  join public.conversations c on c.id = m.conversation_id and c.participant1_id is null
                 where m.user_id = a.user_id limit app.max_own_conversations() + 1) m
             where n.conversations > app.max_conversations_by_guests()) g
         where g.groups > app.max_conversations_by_guests()
    loop
        -- A merge moves memberships that were the user's own already, as a guest.
        if added.user_id = me or app.is_merging() then
            share := app.max_own_conversations();
            problem := 'You can be in at most ' || share || ' groups. Leave one first.';
        elsif me is null or added.groups > app.max_conversations() then
            share := app.max_conversations();
            problem := 'One of the users is in at least ' || share || ' groups, and cannot be added to another. '
                || 'They must leave one first.';
        else
            is_guest := coalesce(is_guest, (select p.is_guest from public.user_profiles p where p.id = me));
            share := case when is_guest then app.max_conversations_by_guests()
                          else app.max_conversations_by_strangers() end;
            continue when added.groups <= share or app.has_contacted(added.user_id, me);
            problem := 'One of the users is in at least ' || share || ' groups. You can add them only after '
                || 'they have written to you: write to them first.';
        end if;
        if added.groups > share then
            perform app.refuse_param(app.added_users_param(conversation_id), problem);
        end if;
    end loop;
end
$$;

-- Returns the param that an error about new members names: of a sign-in that merges a guest, of api.create_group or of
-- api.add_members. A caller who joined in this transaction has just created the group.
create or replace function app.added_users_param(conversation_id uuid) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return case
        when app.is_merging() then 'guest_refresh_token'
        when exists (
            select from public.conversation_members m
             where m.conversation_id = added_users_param.conversation_id and m.user_id = auth.uid()
               and m.joined_xid = pg_catalog.pg_current_xact_id()) then 'member_ids'
        else 'user_ids' end;
end
$$;

-- Returns the direct conversation of the caller and another user, and restores member rows that were deleted by SQL.
-- Security definer: a user neither sees a conversation nor adds members to it without being a member.
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

-- Sets the role of a member. Only the owner may. Security definer: policies distinguish rows but not columns, so a user
-- with the right to update another member's role could update its read mark too.
create or replace function app.set_member_role(conversation_id uuid, user_id uuid, role text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    seat record := app.lock_conversation(conversation_id);
    present text;
begin
    if seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation has no roles.');
    elsif seat.role <> 'owner' then
        perform app.refuse_forbidden('Only the owner of a group can change roles.');
    end if;
    select m.role into present from public.conversation_members m
     where m.conversation_id = set_member_role.conversation_id and m.user_id = set_member_role.user_id;
    if present is null then
        perform app.refuse_hidden('There is no such member.');
    elsif present = 'owner' and role <> 'owner' then
        perform app.refuse_forbidden('The role of the owner cannot be changed: make another member the owner.');
    elsif present <> role then
        update public.conversation_members m set role = set_member_role.role
         where m.conversation_id = set_member_role.conversation_id and m.user_id = set_member_role.user_id;
    end if;
end
$$;
