-- Mentions: who is mentioned by which message, and how many of these messages a member has not read.

-- Returns the user id under which a mention of everyone is recorded.
create or replace function app.everyone() returns uuid
language sql immutable parallel safe
begin atomic
    select '00000000-0000-0000-0000-000000000000'::uuid;
end;

-- Returns the most unread mentions that are counted. A change of a group counts those of each of its members.
create or replace function app.max_unread_mentions() returns integer
language sql immutable parallel safe
begin atomic
    select 100;
end;

-- Returns the number of messages beyond a read mark that mention a member, at most app.max_unread_mentions().
create or replace function app.unread_mentions(conversation_id uuid, user_id uuid, mark bigint) returns bigint
language sql stable parallel safe
begin atomic
    select count(*)
      from (select from public.message_mentions x
             where x.conversation_id = unread_mentions.conversation_id
               and x.user_id = any (array[unread_mentions.user_id, app.everyone()]) and x.seq > unread_mentions.mark
             limit app.max_unread_mentions()) w;
end;

-- Records the mentions of a message. Takes its conversation out of the archive of those who are mentioned.
create or replace function app.record_mentions(message public.messages) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if message.mentions_everyone then
        insert into public.message_mentions (conversation_id, user_id, seq)
        values (message.conversation_id, app.everyone(), message.seq);
    elsif message.mentions is not null then
        insert into public.message_mentions (conversation_id, user_id, seq)
        select message.conversation_id, u.id, message.seq from unnest(message.mentions) as u (id);
    else
        return;
    end if;
    update public.conversation_mutes x set archived_at = null
     where x.conversation_id = message.conversation_id and x.archived_at is not null
       and x.user_id <> message.sender_id
       and (message.mentions_everyone or x.user_id = any (message.mentions));
end
$$;

-- Removes the recorded mentions of a message.
create or replace function app.remove_mentions(message public.messages) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from public.message_mentions x
     where x.conversation_id = message.conversation_id and x.seq = message.seq
       and x.user_id = any (app.everyone() || coalesce(message.mentions, '{}'));
end
$$;

-- Tells a member's own devices its conversation, as after a change of its mute.
create or replace function app.tell_own_conversation(conversation_id uuid, user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into public.conversation_mutes as x (conversation_id, user_id)
    select m.conversation_id, m.user_id from public.conversation_members m
     where m.conversation_id = tell_own_conversation.conversation_id and m.user_id = tell_own_conversation.user_id
       -- A member that is being removed has none.
       for key share
    on conflict on constraint conversation_mutes_pkey do update set muted_until = x.muted_until;
end
$$;

-- Records the mentions of a changed or moved message instead of the previous ones, and tells the users concerned the
-- new number: their clients count the mentions of new messages only.
create or replace function app.replace_mentions(before public.messages, message public.messages) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if row(message.conversation_id, message.seq, message.mentions, message.mentions_everyone)
       is not distinct from row(before.conversation_id, before.seq, before.mentions, before.mentions_everyone) then
        return;
    end if;
    perform app.remove_mentions(before);
    perform app.record_mentions(message);
    perform app.tell_own_conversation(message.conversation_id, u.id)
       from unnest(case when before.mentions_everyone or message.mentions_everyone
                        then array(select m.user_id from public.conversation_members m
                                    where m.conversation_id = message.conversation_id)
                        else before.mentions || message.mentions end) as u (id)
       -- The numbers of those who have read it do not change, unless the message has moved.
       join public.conversation_members m on m.conversation_id = message.conversation_id and m.user_id = u.id
      where m.last_read_seq < message.seq
            or row(message.conversation_id, message.seq) is distinct from row(before.conversation_id, before.seq)
      group by u.id;
end
$$;
