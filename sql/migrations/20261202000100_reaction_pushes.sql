-- Pushes about reactions, at most one per device and conversation at a time (sql/functions/app/reaction_pushes.sql).
create table app.reaction_pushes (
    device_id uuid not null,
    conversation_id uuid not null,
    -- The message, the user who reacted, and the reaction: the newest in the conversation.
    seq bigint not null,
    user_id uuid not null,
    emoji text not null,
    noted_at timestamptz not null,
    due_at timestamptz not null,
    attempts integer not null default 0,
    primary key (device_id, conversation_id)
);
comment on table app.reaction_pushes is 'Device pushes about reactions that wait, or are being sent.';
create index reaction_pushes_due_at on app.reaction_pushes (due_at);
alter table app.reaction_pushes enable row level security;
