-- Conversations with messages that app.queue_pushes has not yet turned into pushes of devices.
create table app.push_queue (
    conversation_id uuid primary key,
    -- The sender of the newest message.
    sender_id uuid not null,
    seq bigint not null,
    noted_at timestamptz not null default clock_timestamp()
);

-- The sender of the newest message of a push: senders take turns.
alter table app.pushes add column sender_id uuid not null default '00000000-0000-0000-0000-000000000000';
create index pushes_sender_id_due_at on app.pushes (sender_id, due_at) where due_at is not null;
drop index app.pushes_due_at;
alter table app.push_backlog add column sender_id uuid not null default '00000000-0000-0000-0000-000000000000';
