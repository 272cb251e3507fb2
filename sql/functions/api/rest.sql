-- Views for apps that read and write tables through Supabase's API (PostgREST): the same rows under the same policies,
-- with the caller's `unread_count`, and an `is_read` that can be set. They have a schema of their own, with the tables'
-- names, and `select *` includes both columns. The service itself does not use them.

create or replace view rest.user_profiles with (security_invoker = true) as
select p.id, p.username, p.full_name, p.bio, p.avatar_type, p.avatar_id, p.avatar_url, p.website, p.location,
       p.language_code, p.is_verified, p.is_guest, p.is_deleted, p.attributes, p.version, p.created_at, p.updated_at
  from public.user_profiles p;

create or replace view rest.conversations with (security_invoker = true) as
select c.id, c.kind, c.participant1_id, c.participant2_id, c.title, c.created_by, c.last_seq, c.last_message_content,
       c.last_message_time, c.last_message_sender_id,
       coalesce((
            select c.last_seq - m.last_read_seq from public.conversation_members m
             where m.conversation_id = c.id and m.user_id = (select auth.uid())), 0) as unread_count,
       c.version, c.created_at, c.updated_at, c.pinned_seqs, c.data, c.first_seq,
       c.message_ttl_seconds
  from public.conversations c;

create or replace view rest.messages with (security_invoker = true) as
select m.id, m.conversation_id, m.seq, m.sender_id, m.client_id, m.kind, m.content, m.attachment,
       not exists (
            select from public.conversation_members r
             where r.conversation_id = m.conversation_id and r.user_id <> m.sender_id
               and r.last_read_seq < m.seq) as is_read,
       m.version, m.created_at, m.edited_at, m.deleted_at, m.event, m.reply_to_seq, m.mentions, m.mentions_everyone,
       m.data
  from public.messages m;

-- Applies a change of a message to the table, with the caller's rights.
create or replace function app.change_message() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if row(new.content, new.deleted_at, new.mentions, new.mentions_everyone, new.data)
       is distinct from row(old.content, old.deleted_at, old.mentions, old.mentions_everyone, old.data) then
        update public.messages m
           set content = new.content, deleted_at = new.deleted_at, mentions = new.mentions,
               mentions_everyone = new.mentions_everyone, data = new.data
         where m.id = old.id
        returning m.content, m.attachment, m.version, m.edited_at, m.deleted_at, m.mentions, m.mentions_everyone, m.data
             into new.content, new.attachment, new.version, new.edited_at, new.deleted_at, new.mentions,
                  new.mentions_everyone, new.data;
        if not found then
            return null;
        end if;
    end if;
    return new;
end
$$;

-- Records the farthest message that an update sets to `is_read = true`; that moves the caller's read mark once, after
-- the last row or before a row of another conversation. It writes no message. Security definer: the rows are visible to
-- the caller and the mark is its own, and row-level security would be evaluated for each row.
create or replace function app.record_read() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := auth.uid();
    noted text[];  -- conversation, farthest message, lowest mark of the other members
begin
    if new.is_read is not distinct from old.is_read then
        return new;
    elsif new.is_read is not true then
        perform app.refuse_param('is_read', '"is_read" can only be set to true: a read message cannot become unread.');
    elsif me is null then
        me := app.caller();
    elsif old.sender_id = me then
        new.is_read := false;
        return new;
    end if;
    noted := pg_catalog.string_to_array(pg_catalog.current_setting('postline.read', true), ' ');
    if noted[1] is distinct from old.conversation_id::text then
        perform app.move_recorded_mark();
        noted := array[old.conversation_id::text, '0', (
            select coalesce(min(m.last_read_seq), 9223372036854775807)::text from public.conversation_members m
             where m.conversation_id = old.conversation_id and m.user_id <> me)];
    end if;
    if noted[2]::bigint < old.seq then
        noted[2] := old.seq;
        perform pg_catalog.set_config('postline.read', pg_catalog.array_to_string(noted, ' '), true);
    end if;
    new.is_read := old.seq <= noted[3]::bigint;
    return new;
end
$$;

-- Moves the caller's read mark to the recorded message.
create or replace function app.move_recorded_mark() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    noted text[] := pg_catalog.string_to_array(
        nullif(pg_catalog.current_setting('postline.read', true), ''), ' ');
begin
    if noted is not null then
        update public.conversation_members m set last_read_seq = noted[2]::bigint
         where m.conversation_id = noted[1]::uuid and m.user_id = auth.uid() and m.last_read_seq < noted[2]::bigint;
        perform pg_catalog.set_config('postline.read', '', true);
    end if;
end
$$;

-- Moves the caller's read mark at the end of an update.
create or replace function app.move_mark() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.move_recorded_mark();
    return null;
end
$$;

create or replace trigger change instead of update on rest.messages
    for each row execute function app.change_message();
create or replace trigger note_read instead of update on rest.messages
    for each row execute function app.record_read();
create or replace trigger move_mark after update on rest.messages
    for each statement execute function app.move_mark();

-- Returns the number of messages that the caller has not read. With is_read a computed field for apps that read the
-- tables of `public`: `select *` leaves it out, `select *, is_read` has it. The views above do not call these
-- functions, since PostgreSQL does not inline a function with a subquery.
create or replace function public.unread_count(conversation public.conversations) returns bigint
language sql stable
begin atomic
    select coalesce((
        select conversation.last_seq - m.last_read_seq from public.conversation_members m
         where m.conversation_id = conversation.id and m.user_id = auth.uid()), 0);
end;

-- Returns true if all other members have read a message.
create or replace function public.is_read(message public.messages) returns boolean
language sql stable
begin atomic
    select not exists (
        select from public.conversation_members m
         where m.conversation_id = message.conversation_id and m.user_id <> message.sender_id
           and m.last_read_seq < message.seq);
end;
