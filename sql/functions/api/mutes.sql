-- Mutes a conversation for the caller until a time, or unmutes it with null: its messages cause no pushes. Returns the
-- conversation.
create or replace function api.mute_conversation(conversation_id uuid, until text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    time timestamptz := app.checked_time('until', until);
begin
    perform app.lock_membership(mute_conversation.conversation_id);
    -- In another time zone it may be a year later.
    if time >= '10000-01-01T00:00:00Z' then
        perform app.refuse_param('until', '"until" must be from 1970 to 9999.');
    end if;
    -- A time in the past is no mute.
    if time <= pg_catalog.now() then
        time := null;
    end if;
    -- A row that says nothing would be told to the caller's devices.
    insert into public.conversation_mutes as x (conversation_id, user_id, muted_until)
    select mute_conversation.conversation_id, me, time
     where time is not null or exists (
        select from public.conversation_mutes m
         where m.conversation_id = mute_conversation.conversation_id and m.user_id = me)
    on conflict on constraint conversation_mutes_pkey do update set muted_until = excluded.muted_until
     where x.muted_until is distinct from excluded.muted_until;
    return api.conversation(mute_conversation.conversation_id);
end
$$;

-- Sets what the caller sees of a conversation: marked as unread, archived, pinned. Null leaves it as it is. Returns the
-- conversation.
create or replace function api.set_conversation(
    conversation_id uuid, is_marked_unread boolean, is_archived boolean, is_pinned boolean) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    mark bigint;
begin
    mark := app.lock_membership(set_conversation.conversation_id);
    insert into public.conversation_mutes as x (conversation_id, user_id, marked_unread_seq, archived_at, pinned_at)
    select set_conversation.conversation_id, me, case when is_marked_unread then mark end,
           case when is_archived then pg_catalog.now() end, case when is_pinned then pg_catalog.now() end
     where is_marked_unread or is_archived or is_pinned or exists (
        select from public.conversation_mutes m
         where m.conversation_id = set_conversation.conversation_id and m.user_id = me)
    on conflict on constraint conversation_mutes_pkey do update
       set marked_unread_seq = case when is_marked_unread is null then x.marked_unread_seq
                                    else excluded.marked_unread_seq end,
           archived_at = case when is_archived is null then x.archived_at
                              when is_archived then coalesce(x.archived_at, excluded.archived_at) end,
           pinned_at = case when is_pinned is null then x.pinned_at
                            when is_pinned then coalesce(x.pinned_at, excluded.pinned_at) end
     where coalesce(is_marked_unread <> coalesce(x.marked_unread_seq >= mark, false), false)
        or coalesce(is_archived <> (x.archived_at is not null), false)
        or coalesce(is_pinned <> (x.pinned_at is not null), false);
    return api.conversation(set_conversation.conversation_id);
end
$$;
