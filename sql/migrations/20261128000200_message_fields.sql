-- Replies, mentions and an app's own data of messages; pins and data of conversations; a member's own view of a
-- conversation (sql/functions/app/message_details.sql, mentions.sql, pins.sql, mutes.sql).
--
-- No domains: to add a column of one with constraints rewrites the table. A message without these fields is no longer
-- than before, since the null bitmap has room for them.
alter table public.messages
    add column reply_to_seq bigint,
    add column mentions uuid[],
    add column mentions_everyone boolean,
    add column data jsonb;
comment on column public.messages.reply_to_seq is 'The earlier message of the conversation that this one answers.';
comment on column public.messages.mentions is 'The members that the message mentions.';
comment on column public.messages.mentions_everyone is 'True if the message mentions all members of its group.';
comment on column public.messages.data is 'An object of the app, at most 4 KiB.';

-- The replies to a message. Partial as messages_client_id_key.
create index messages_reply_to on public.messages (conversation_id, reply_to_seq, seq) where reply_to_seq is not null;

alter domain app.message_kind drop constraint messages_kind_valid;
alter domain app.message_kind
    add constraint messages_kind_valid check (value in ('text', 'image', 'custom', 'system')) not valid;

-- The mentions of each user, for the number of unread ones. A mention of everyone has the user id zero.
create table public.message_mentions (
    conversation_id uuid not null references public.conversations (id),
    user_id uuid not null,
    seq bigint not null,
    primary key (conversation_id, user_id, seq)
);
comment on table public.message_mentions is 'Who is mentioned by which message.';

alter table public.conversations
    add column pinned_seqs bigint[],
    add column data jsonb;
comment on column public.conversations.pinned_seqs is 'The pinned messages, the last pinned first.';
comment on column public.conversations.data is 'An object of the app, at most 4 KiB.';

-- A conversation is marked as unread until its member's read mark moves on from this number.
alter table public.conversation_mutes
    add column marked_unread_seq bigint,
    add column archived_at timestamptz,
    add column pinned_at timestamptz;
comment on table public.conversation_mutes is 'What a member has set for itself: mute, archive, pin, marked as unread.';

-- It writes out a row of the table: nodes that run meanwhile send through it before sql/functions/ is applied.
create or replace function app.send_messages(
    senders uuid[], conversations uuid[], contents text[], client_ids uuid[])
    returns table (place bigint, object text)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off rows 16 as $$
begin
    return query
    with numbered as materialized (
        select n.* from app.number_messages(senders, conversations, contents, client_ids) n),
    written as (
        insert into public.messages (id, conversation_id, seq, sender_id, client_id, content, created_at)
        select n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, n.content, n.created_at from numbered n)
    select n.place, app.message_object(
               row(n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, 'text', n.content, null, 1, null, null,
                   n.created_at, null, null, null, null, null, null, null, null)::public.messages,
               s.object, case when n.is_alone then n.seq else 0 end)
      from numbered n
     cross join lateral (select o.object from app.sender_objects o where o.id = n.sender_id offset 0) s;
end
$$;
