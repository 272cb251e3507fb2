-- Groups. The policies decide who may do what. These functions lock the conversation before they check, and return the
-- reason of a refusal.

-- Overloads of an earlier version.
drop function if exists api.create_group(text, uuid[]);
drop function if exists api.update_conversation(uuid, text);
drop function if exists api.update_conversation(uuid, text, boolean);
drop function if exists api.create_group(text, uuid[], boolean);
drop function if exists api.update_conversation(uuid, text, boolean, jsonb, boolean);
drop function if exists api.add_members(uuid, uuid[]);
drop function if exists api.set_member_role(uuid, uuid, text);

-- Creates a group of the caller and other users, and returns it.
create or replace function api.create_group(
    title text, member_ids uuid[], profiles boolean default false, data jsonb default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    others uuid[] := app.distinct_ids('member_ids', member_ids, array[me]);
    made uuid;
begin
    if pg_catalog.cardinality(others) not between 1 and 255 then
        perform app.refuse_param('member_ids', '"member_ids" must name 1 to 255 users besides you.');
    end if;
    made := app.create_group(title);
    if data is not null then
        perform app.set_conversation_data(made, data);
    end if;
    insert into public.conversation_members (conversation_id, user_id) select made, u.id from unnest(others) as u (id);
    return api.conversation(made, profiles);
end
$$;

-- Returns distinct ids in the order given, without those of `without`.
create or replace function app.distinct_ids(field text, ids uuid[], without uuid[]) returns uuid[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if coalesce(pg_catalog.cardinality(ids), 0) = 0 or pg_catalog.array_position(ids, null) is not null then
        perform app.refuse_param(field, pg_catalog.format('"%s" must name at least one user.', field));
    end if;
    return array(select u.id from unnest(ids) with ordinality as u (id, place)
                  where u.id <> all (without) group by u.id order by min(u.place));
end
$$;

-- Sets the title of a group; the app's data unless `keeps_data` is true; and after how many seconds messages expire
-- unless `keeps_ttl` is true. The title is kept if it is null. Returns the conversation.
create or replace function api.update_conversation(
    conversation_id uuid, title text, profiles boolean default false, data jsonb default null,
    keeps_data boolean default true, message_ttl_seconds integer default null, keeps_ttl boolean default true)
    returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
begin
    if not keeps_data then
        perform app.set_conversation_data(conversation_id, data);
    end if;
    if not keeps_ttl then
        perform app.set_message_ttl(conversation_id, message_ttl_seconds);
    end if;
    if title is null and not (keeps_data and keeps_ttl) then
        return api.conversation(conversation_id, profiles);
    elsif seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation has no title.');
    elsif seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can change its title.');
    end if;
    -- Normalized here, since the column's domain accepts nothing else.
    update public.conversations c set title = app.checked_name('title', update_conversation.title, 'A title')
     where c.id = update_conversation.conversation_id;
    return api.conversation(conversation_id, profiles);
end
$$;

-- Adds users to a group, and returns the group.
create or replace function api.add_members(
    conversation_id uuid, user_ids uuid[], profiles boolean default false) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
begin
    if seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation cannot have more members.');
    elsif seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can add members.');
    end if;
    insert into public.conversation_members (conversation_id, user_id)
    select add_members.conversation_id, u.id
      from unnest(app.distinct_ids('user_ids', user_ids, array(
            select m.user_id from public.conversation_members m
             where m.conversation_id = add_members.conversation_id))) as u (id);
    return api.conversation(conversation_id, profiles);
end
$$;

-- Removes a member from a group and returns the group. A caller who removes itself leaves.
create or replace function api.remove_member(conversation_id uuid, user_id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    theirs text;
begin
    if seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation cannot lose a member.');
    elsif user_id is distinct from me then
        if seat.role = 'member' then
            perform app.refuse_forbidden('Only the owner and admins of a group can remove members.');
        end if;
        select m.role into theirs from public.conversation_members m
         where m.conversation_id = remove_member.conversation_id and m.user_id = remove_member.user_id;
        if theirs is null then
            perform app.refuse_hidden('There is no such member.');
        elsif seat.role = 'admin' and theirs <> 'member' then
            perform app.refuse_forbidden('An admin cannot remove the owner or another admin.');
        end if;
    end if;
    delete from public.conversation_members m
     where m.conversation_id = remove_member.conversation_id and m.user_id = remove_member.user_id;
    if user_id <> me then
        return api.conversation(conversation_id);
    end if;
    return pg_catalog.row_to_json(w) from (
        select remove_member.conversation_id as conversation_id, true as "left") w;
end
$$;

-- Sets the role of a member, and returns the group.
create or replace function api.set_member_role(
    conversation_id uuid, user_id uuid, role text, profiles boolean default false) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
begin
    if not coalesce(role in ('owner', 'admin', 'member'), false) then
        perform app.refuse_param('role', '"role" must be "owner", "admin" or "member".');
    end if;
    perform app.set_member_role(conversation_id, user_id, role);
    return api.conversation(conversation_id, profiles);
end
$$;
