-- Events: messages of kind 'system' for members added or removed, members who left, a new title, and a new time after
-- which messages expire. A trigger writes them in the transaction of the change, with the acting user as the sender. A
-- change without an acting user (by an operator, a merge, a deleted account) and the creation of a conversation write
-- no event.
--
--   {"type":"members_added","user_ids":[…]}   {"type":"member_removed","user_ids":[…]}
--   {"type":"member_left","user_ids":[…]}     {"type":"renamed","title":"…"}
--   {"type":"ttl_changed","message_ttl_seconds":…}
--
-- The content says the same in English, without names, which could change later.

-- Returns true if a change of the conversation by this transaction writes an event.
create or replace function app.creates_event(conversation_id uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    return auth.uid() is not null and not app.is_merging()
       -- A user who joined in this transaction has just created the conversation.
       and not exists (
            select from public.conversation_members m
             where m.conversation_id = creates_event.conversation_id and m.user_id = auth.uid()
               and m.joined_xid = pg_catalog.pg_current_xact_id());
end
$$;

-- Inserts an event message that is sent by the caller.
create or replace function app.write_event(conversation_id uuid, event jsonb, content text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into public.messages (conversation_id, sender_id, kind, content, event)
    values (conversation_id, auth.uid(), 'system', content, event);
end
$$;

-- Writes one event for all users who were added in one statement.
create or replace function app.write_arrivals(conversation_id uuid, user_ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if app.creates_event(conversation_id) then
        perform app.write_event(
            conversation_id,
            pg_catalog.jsonb_build_object('type', 'members_added', 'user_ids', pg_catalog.to_jsonb(user_ids)),
            case pg_catalog.cardinality(user_ids) when 1 then 'A member was added.' else 'Members were added.' end);
    end if;
end
$$;

-- Writes the event of a user who left or was removed. Returns false if it wrote none, such as without members to read
-- it.
create or replace function app.write_departure(conversation_id uuid, user_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    has_left boolean := user_id = auth.uid();
begin
    if not app.creates_event(conversation_id)
       or not exists (select from public.conversation_members m
                       where m.conversation_id = write_departure.conversation_id) then
        return false;
    end if;
    perform app.write_event(
        conversation_id,
        pg_catalog.jsonb_build_object(
            'type', case when has_left then 'member_left' else 'member_removed' end,
            'user_ids', pg_catalog.jsonb_build_array(user_id)),
        case when has_left then 'Left the group.' else 'A member was removed.' end);
    return true;
end
$$;

-- Writes the event of a new title.
create or replace function app.write_title() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if app.creates_event(new.id) then
        perform app.write_event(
            new.id, pg_catalog.jsonb_build_object('type', 'renamed', 'title', new.title),
            pg_catalog.format('The group is called “%s” now.', new.title));
    end if;
    return null;
end
$$;
create or replace trigger write_title after update of title on public.conversations
    for each row when (new.title is distinct from old.title) execute function app.write_title();
