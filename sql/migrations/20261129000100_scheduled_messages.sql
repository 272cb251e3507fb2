-- Messages that are sent at a later time (sql/functions/app/scheduled.sql).
create table public.scheduled_messages (
    id uuid not null default app.message_id(),
    sender_id uuid not null references public.user_profiles (id),
    conversation_id uuid not null references public.conversations (id),
    due_at timestamptz not null,
    kind app.message_kind not null default 'text',
    content app.message_content,
    attachment jsonb,
    reply_to_seq bigint,
    mentions uuid[],
    mentions_everyone boolean,
    data jsonb,
    created_at timestamptz not null default now(),
    tries integer not null default 0,
    next_try_at timestamptz not null,
    refusal jsonb,
    primary key (sender_id, id)
);
comment on table public.scheduled_messages is 'Messages that wait for their time, or were refused when it came.';
comment on column public.scheduled_messages.id is 'The client_id of the message once it is sent.';
comment on column public.scheduled_messages.next_try_at is 'The time of the next attempt to send it, at first due_at.';
comment on column public.scheduled_messages.refusal is 'Why it was not sent: `code` and `message` of the error.';

create index scheduled_messages_next_try_at on public.scheduled_messages (next_try_at) where refusal is null;
create index scheduled_messages_conversation_id on public.scheduled_messages (conversation_id);
alter table public.scheduled_messages enable row level security;

alter table public.conversation_mutes
    add column scheduled_count integer not null default 0,
    add column unsent_count integer not null default 0;
comment on column public.conversation_mutes.scheduled_count is 'The member''s messages that wait for their time.';
comment on column public.conversation_mutes.unsent_count is 'Those that were refused when their time came.';
