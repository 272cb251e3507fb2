-- Triggers that enforce the rules of conversations and members for all writers. Lock order: conversation, its members,
-- its messages.

-- Checks a conversation before it is written, and sets its version and the columns that clients cannot set.
create or replace function app.validate_conversation() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    first uuid := least(new.participant1_id, new.participant2_id);
begin
    new.title := app.checked_name('title', new.title, 'A title');
    if new.kind = 'group' and (new.title is null or first is not null) then
        perform app.refuse_param('title', 'A group must have a title and must not have participants.');
    elsif new.kind = 'direct' and new.title is not null then
        perform app.refuse_param('title', 'A direct conversation has no title.');
    end if;
    if new.title is not null and (tg_op = 'INSERT' or new.title is distinct from old.title)
       and exists (select from app.filter_rules) then
        new.title := app.filtered('titles', 'title', new.title);
    end if;

    if tg_op = 'INSERT' then
        if new.kind = 'direct' then
            if new.participant1_id is null or new.participant2_id is null
               or new.participant1_id = new.participant2_id then
                perform app.refuse_param('user_id', 'A direct conversation must have two different participants.');
            end if;
            new.participant2_id := greatest(new.participant1_id, new.participant2_id);
            new.participant1_id := first;
        end if;
        new.created_by := coalesce(new.created_by, auth.uid());
        if new.data is not null then
            perform app.check_data(new.data);
        end if;
        new.pinned_seqs := null;
        new.message_ttl_seconds := null;
        new.version := 1;
        new.first_seq := 1;
        new.last_seq := 0;
        new.last_message_content := null;
        new.last_message_time := null;
        new.last_message_sender_id := null;
        new.last_message_xid := null;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        return new;
    end if;

    if row(new.id, new.kind, new.participant1_id, new.participant2_id)
       is distinct from row(old.id, old.kind, old.participant1_id, old.participant2_id)
       and not app.is_merging() then
        raise exception using errcode = 'PL007',
            message = 'The id, kind and participants of a conversation cannot be changed.';
    end if;
    if new.data is not null and new.data is distinct from old.data then
        perform app.check_data(new.data);
    end if;
    if new.first_seq <> old.first_seq then
        new.first_seq := greatest(old.first_seq, least(new.first_seq, new.last_seq + 1));
        new.pinned_seqs := array(select p from unnest(new.pinned_seqs) with ordinality u (p, place)
                                  where p >= new.first_seq order by place);
        if new.first_seq > new.last_seq then
            new.last_message_content := null;
        end if;
    end if;
    new.pinned_seqs := nullif(new.pinned_seqs, '{}');
    if row(new.title, new.created_by, new.pinned_seqs, new.data, new.first_seq, new.message_ttl_seconds)
       is distinct from
       row(old.title, old.created_by, old.pinned_seqs, old.data, old.first_seq, old.message_ttl_seconds)
       and old.changed_xid <> pg_catalog.pg_current_xact_id() then
        new.version := old.version + 1;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        new.updated_at := pg_catalog.now();
    end if;
    return new;
end
$$;
create or replace trigger keep before insert on public.conversations
    for each row execute function app.validate_conversation();
-- The update of last_* by a message does not fire this: it names none of these columns.
create or replace trigger keep_changed
    before update of id, kind, participant1_id, participant2_id, title, created_by, pinned_seqs, data, first_seq,
                     message_ttl_seconds
    on public.conversations
    for each row execute function app.validate_conversation();

-- Adds the two participants of a new direct conversation as members.
create or replace function app.add_participants() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into public.conversation_members (conversation_id, user_id)
    values (new.id, new.participant1_id), (new.id, new.participant2_id);
    return null;
end
$$;
create or replace trigger add_participants after insert on public.conversations
    for each row when (new.kind = 'direct') execute function app.add_participants();

-- Locks the conversation, increments its version once per transaction since its membership changes, and returns
-- last_seq.
create or replace function app.touch_conversation(conversation_id uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    newest bigint;
begin
    update public.conversations c
       set version = c.version + 1, changed_xid = pg_catalog.pg_current_xact_id(), updated_at = pg_catalog.now()
     where c.id = touch_conversation.conversation_id and c.changed_xid <> pg_catalog.pg_current_xact_id()
    returning c.last_seq into newest;
    if not found then
        select c.last_seq into newest from public.conversations c
         where c.id = touch_conversation.conversation_id for no key update;
    end if;
    return newest;
end
$$;

-- Locks the conversation of a new member, checks that the user exists and that there is no block between the two of a
-- direct conversation, or between caller and new member of a group, and sets the read mark and the transaction ids.
create or replace function app.validate_new_member() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    newest bigint := app.touch_conversation(new.conversation_id);
    me uuid := auth.uid();
    first uuid;
    second uuid;
begin
    -- Waits for a concurrent deletion, merge or block of the user, and then finds it. Those lock the profile `for
    -- update` (app.validate_profile, app.validate_block), so other changes of the profile do not wait for this
    -- transaction.
    perform 1 from public.user_profiles p where p.id = new.user_id and not p.is_deleted for key share;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    select c.participant1_id, c.participant2_id into first, second from public.conversations c
     where c.id = new.conversation_id;
    if first is not null then
        new.is_blocked := app.is_blocked(first, second);
    end if;
    if not app.is_merging() and (new.is_blocked and me in (first, second)
                                 or first is null and me <> new.user_id and app.is_blocked(me, new.user_id)) then
        perform app.refuse_hidden('There is no such user.');
    end if;
    new.last_read_seq := greatest(0, least(coalesce(new.last_read_seq, newest), newest));
    new.sent_seq := 0;
    new.sent_xid := null;
    new.joined_xid := pg_catalog.pg_current_xact_id();
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;
create or replace trigger keep_new before insert on public.conversation_members
    for each row execute function app.validate_new_member();

-- Checks the members that a statement has added, ensures that a group has an owner, writes the event, and counts the
-- scheduled messages of those who were members before. It runs after the policies: an earlier error would reveal the
-- conversation's kind to users who cannot see it.
create or replace function app.record_arrivals() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    room record;
begin
    for room in
        select c.id, c.kind, array_agg(a.user_id order by a.user_id) as user_ids,
               bool_or(a.role <> 'member' or a.user_id not in (c.participant1_id, c.participant2_id)) as irregular
          from arrived a join public.conversations c on c.id = a.conversation_id
         group by c.id, c.kind
    loop
        if room.kind = 'direct' then
            if room.irregular then
                perform app.refuse_forbidden('A direct conversation cannot have more members, or roles.');
            end if;
        elsif (select count(*) from public.conversation_members m where m.conversation_id = room.id) > 256 then
            perform app.refuse_param('user_ids', 'A group can have at most 256 members.');
        else
            perform app.check_conversation_counts(room.id, room.user_ids);
            perform app.ensure_owner(room.id);
            perform app.write_arrivals(room.id, room.user_ids);
        end if;
    end loop;
    perform app.count_scheduled(s.conversation_id, s.sender_id)
       from arrived a join public.scheduled_messages s
         on s.sender_id = a.user_id and s.conversation_id = a.conversation_id
      group by s.conversation_id, s.sender_id;
    return null;
end
$$;
create or replace trigger note_arrivals after insert on public.conversation_members
    referencing new table as arrived for each statement execute function app.record_arrivals();

-- Keeps a read mark from moving backwards and beyond the newest message.
create or replace function app.validate_read_mark() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    newest bigint;
begin
    select c.last_seq into newest from public.conversations c where c.id = old.conversation_id;
    new.last_read_seq := greatest(old.last_read_seq, least(new.last_read_seq, newest));
    if new.last_read_seq <> old.last_read_seq then
        new.changed_xid := pg_catalog.pg_current_xact_id();
        -- Also if nothing is unread now: another message may come first.
        if app.unread_mentions(old.conversation_id, old.user_id, old.last_read_seq) > 0 then
            perform app.tell_own_conversation(old.conversation_id, old.user_id);
        end if;
    end if;
    return new;
end
$$;
-- If sent_seq changes too, a message moves the mark. The feed finds the message, so changed_xid and its index stay
-- unchanged.
create or replace trigger keep_mark before update of last_read_seq on public.conversation_members
    for each row when (new.sent_seq = old.sent_seq) execute function app.validate_read_mark();

-- Checks a changed membership, and moves the ownership of a group if the role becomes owner.
create or replace function app.validate_member() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if new.conversation_id <> old.conversation_id or new.user_id <> old.user_id then
        raise exception using errcode = 'restrict_violation',
            message = 'The user and conversation of a membership cannot be changed.',
            hint = 'Delete this row and insert another.';
    elsif new.role = old.role and new.joined_at = old.joined_at then
        return new;
    end if;
    perform app.touch_conversation(new.conversation_id);
    if new.role = old.role then
        return new;
    elsif exists (select from public.conversations c where c.id = new.conversation_id and c.kind = 'direct') then
        perform app.refuse_forbidden('A direct conversation has no roles.');
    end if;
    -- A group always has exactly one owner: the new owner replaces the present one, who cannot give up the role
    -- otherwise.
    if new.role = 'owner' then
        update public.conversation_members m set role = 'admin'
         where m.conversation_id = new.conversation_id and m.role = 'owner';
    elsif old.role = 'owner' and pg_catalog.pg_trigger_depth() = 1 then
        raise exception using errcode = 'restrict_violation', message = 'A group must have an owner.',
            hint = 'Make another member the owner: this one then becomes an admin.';
    end if;
    return new;
end
$$;
create or replace trigger keep_changed
    before update of conversation_id, user_id, role, joined_at on public.conversation_members
    for each row execute function app.validate_member();

-- Records a removed member in app.former_members, writes the event, removes its delivered mark and its held messages,
-- and ensures that the group has an owner.
create or replace function app.record_removal() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    is_named boolean;
begin
    perform app.touch_conversation(old.conversation_id);
    is_named := app.write_departure(old.conversation_id, old.user_id);
    -- The members still see the profile of a former member whom messages name.
    insert into app.former_members as f (conversation_id, user_id, wrote, changed_xid, joined_xid)
    values (old.conversation_id, old.user_id, old.sent_seq > 0 or is_named, pg_catalog.pg_current_xact_id(),
            old.joined_xid)
    on conflict (conversation_id, user_id) do update
       set wrote = f.wrote or excluded.wrote, changed_xid = excluded.changed_xid,
           -- If the user had messages here before, the members already have its profile.
           joined_xid = case when f.wrote then f.joined_xid else excluded.joined_xid end;
    delete from public.delivered_marks d
     where d.conversation_id = old.conversation_id and d.user_id = old.user_id;
    perform app.drop_held(old.conversation_id, old.user_id);
    if old.role = 'owner' then
        perform app.ensure_owner(old.conversation_id);
    end if;
    return null;
end
$$;
create or replace trigger note_removal after delete on public.conversation_members
    for each row execute function app.record_removal();
