-- Messages that expire (sql/functions/app/retention.sql).
alter table public.conversations
    add column first_seq bigint not null default 1,
    add column message_ttl_seconds integer,
    add constraint conversations_message_ttl_seconds_valid check (message_ttl_seconds between 60 and 31536000);
comment on column public.conversations.first_seq is
    'The number of the oldest message that has not expired. It never falls.';
comment on column public.conversations.message_ttl_seconds is
    'After how many seconds a message expires. Null: never, or after the time of the server.';

-- Conversations whose messages expire after a time of their own.
create table app.message_expiry (
    conversation_id uuid primary key references public.conversations (id) on delete cascade,
    check_at timestamptz not null
);
comment on table app.message_expiry is 'When the next message of a conversation may expire.';
create index message_expiry_check_at on app.message_expiry (check_at);
alter table app.message_expiry enable row level security;

-- The ids of expired messages, for a week: a sender whose response was lost repeats the send.
create table app.expired_sends (
    conversation_id uuid not null,
    client_id uuid not null,
    sender_id uuid not null,
    message_id uuid not null,
    seq bigint not null,
    first_sent bytea not null,
    created_at timestamptz not null,
    expired_at timestamptz not null default now(),
    primary key (conversation_id, client_id, sender_id)
);
comment on table app.expired_sends is 'The ids of expired messages, so that a repeated send makes no second one.';
create index expired_sends_expired_at on app.expired_sends (expired_at);
alter table app.expired_sends enable row level security;

-- How far the walk through all conversations has come that looks for messages older than the time of the server.
create table app.retention_walk (
    only_one boolean primary key default true,
    -- The last conversation; null if the walk has ended.
    position uuid,
    started_at timestamptz not null,
    constraint retention_walk_only_one check (only_one)
);
comment on table app.retention_walk is 'The position of the walk through conversations with old messages.';
alter table app.retention_walk enable row level security;
insert into app.retention_walk (started_at) values ('-infinity');

-- Expired messages may be deleted: a trigger for each row decides.
drop trigger if exists refuse_delete on public.messages;
