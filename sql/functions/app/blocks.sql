-- Blocks. Between two users of whom one blocks the other there is, in both directions, no new direct conversation, no
-- message or other change of content in the one they have, no presence, no typing, no result in the search of profiles,
-- no push, and neither can add the other to a group. Errors do not say who blocks.
--
-- A change of a block counts as a change of what both users see of others' presence (presence.hidden_xid). So their
-- live sessions resync, cursors stay exact, and no poll of the feed looks at this table.

-- Returns the most users whom a user can block.
create or replace function app.max_blocks() returns integer
language sql immutable parallel safe
begin atomic
    select 1000;
end;

-- Returns true if one of two users blocks the other.
create or replace function app.is_blocked(one uuid, other uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from public.blocks b where b.blocker_id = one and b.blocked_id = other)
        or exists (select from public.blocks b where b.blocker_id = other and b.blocked_id = one);
end
$$;

-- Returns the users whom a user blocks, and those who block the user. Users cannot call it: it would list who blocks
-- them.
create or replace function app.blocked_users(user_id uuid) returns setof uuid
language plpgsql stable security definer set search_path = pg_catalog, pg_temp rows 10 as $$
begin
    return query
    select b.blocked_id from public.blocks b where b.blocker_id = blocked_users.user_id
    union all
    select b.blocker_id from public.blocks b where b.blocked_id = blocked_users.user_id;
end
$$;

-- Returns those of these users whom the caller does not block, and who do not block the caller.
create or replace function app.without_blocked(user_ids uuid[]) returns uuid[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return array(
        select u.id from unnest(user_ids) with ordinality u (id, place)
         where u.id not in (select app.blocked_users(auth.uid())) order by u.place);
end
$$;

-- Raises forbidden for a change of a direct conversation of which one member blocks the other.
create or replace function app.refuse_blocked() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.refuse_forbidden('You cannot write in this conversation.');
end
$$;

-- Returns true for a direct conversation of which one member blocks the other.
create or replace function app.has_block(conversation_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from public.conversation_members m
                    where m.conversation_id = has_block.conversation_id and m.is_blocked);
end
$$;

-- Marks the members of the direct conversation of two users if one blocks the other, and removes the mark if not.
create or replace function app.mark_blocked(one uuid, other uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    room uuid;
    is_marked boolean;
begin
    select c.id into room from public.conversations c
     where c.participant1_id = least(one, other) and c.participant2_id = greatest(one, other) for no key update;
    is_marked := app.is_blocked(one, other);
    update public.conversation_members m set is_blocked = is_marked
     where m.conversation_id = room and m.is_blocked <> is_marked;
end
$$;

-- Checks a block before it is written.
create or replace function app.validate_block() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- The policy checks it too, but only after this trigger.
    if new.blocker_id <> auth.uid() then
        perform app.refuse_forbidden('You can block users only for yourself.');
    elsif new.blocker_id = new.blocked_id then
        perform app.refuse_param('user_id', '"user_id" must be another user.');
    end if;
    -- A merge moves blocks that were checked when they began.
    if app.is_merging() then
        return new;
    end if;
    -- In the lock order of a send. The beginning of a conversation waits for the profiles (app.validate_new_member),
    -- and so do the deletion and the merge of a user: the later of the two sees the earlier.
    perform 1 from public.conversations c
     where c.participant1_id = least(new.blocker_id, new.blocked_id)
       and c.participant2_id = greatest(new.blocker_id, new.blocked_id) for no key update;
    perform 1 from public.user_profiles p where p.id in (new.blocker_id, new.blocked_id) order by p.id for update;
    if not app.is_active_user(new.blocker_id) or not app.is_active_user(new.blocked_id) then
        perform app.refuse_hidden('There is no such user.');
    elsif (select count(*) from public.blocks b where b.blocker_id = new.blocker_id) >= app.max_blocks() then
        perform app.refuse_forbidden(pg_catalog.format(
            'You block %s users. Unblock one before you block another.', app.max_blocks()));
    end if;
    return new;
end
$$;
create or replace trigger keep before insert on public.blocks
    for each row execute function app.validate_block();

-- Applies a block that has begun or ended: to the direct conversation, and to what the two see of each other.
create or replace function app.propagate_block() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    block public.blocks := coalesce(new, old);
    -- For the other user nothing changes while it blocks the first one itself: it must not learn of the block.
    affected uuid[] := array[block.blocker_id] || case when not exists (
        select from public.blocks b
         where b.blocker_id = block.blocked_id and b.blocked_id = block.blocker_id) then block.blocked_id end;
begin
    perform app.mark_blocked(block.blocker_id, block.blocked_id);
    insert into public.presence as p (user_id, hidden_xid)
    select u.id, pg_catalog.pg_current_xact_id()
      from unnest(affected) u (id) where u.id is not null order by u.id
    on conflict on constraint presence_pkey do update
       set hidden_xid = excluded.hidden_xid, changed_xid = excluded.hidden_xid;
    return null;
end
$$;
create or replace trigger follow after insert or delete on public.blocks
    for each row execute function app.propagate_block();

-- Makes a guest's blocks, and those of the guest, the account's. Those of the two among each other end.
create or replace function app.merge_blocks(guest uuid, account uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    moved public.blocks[];
begin
    with gone as (
        delete from public.blocks b where guest in (b.blocker_id, b.blocked_id) returning b.*)
    select pg_catalog.array_agg(g) into moved from gone g;
    insert into public.blocks (blocker_id, blocked_id, blocked_at)
    select w.blocker_id, w.blocked_id, min(w.blocked_at)
      from (select case when b.blocker_id = guest then account else b.blocker_id end as blocker_id,
                   case when b.blocked_id = guest then account else b.blocked_id end as blocked_id, b.blocked_at
              from unnest(moved) b) w
     where w.blocker_id <> w.blocked_id
     group by w.blocker_id, w.blocked_id
     order by w.blocker_id, w.blocked_id
    on conflict do nothing;
end
$$;
