-- Messages that wait for a moderator (sql/functions/app/held_messages.sql).
create table app.held_messages (
    -- Deferred: the trigger that numbers a message holds it, before its row is written.
    message_id uuid primary key references public.messages (id) on delete cascade deferrable initially deferred,
    sender_id uuid not null references public.user_profiles (id),
    content text not null,
    attachment jsonb,
    mentions uuid[],
    mentions_everyone boolean,
    data jsonb,
    words text[] not null,
    held_at timestamptz not null default clock_timestamp(),
    changed_xid xid8 not null default pg_current_xact_id(),
    ask_at timestamptz default clock_timestamp()
);
comment on table app.held_messages is
    'What messages have that wait for a moderator. Their rows in public.messages are those of deleted messages.';
comment on column app.held_messages.sender_id is 'As in messages, or the account that a guest was merged into.';
comment on column app.held_messages.words is 'The words of the filter that hold it.';
comment on column app.held_messages.changed_xid is 'The transaction that held it, or moved it.';
comment on column app.held_messages.ask_at is 'The next time to ask the webhook about it; null: asked, or given up.';

-- The queue, and what one sender has in it.
create index held_messages_held_at on app.held_messages (held_at, message_id);
create index held_messages_sender on app.held_messages (sender_id);
create index held_messages_changed_xid on app.held_messages (changed_xid);
create index held_messages_ask_at on app.held_messages (ask_at) where ask_at is not null;
alter table app.held_messages enable row level security;

-- Not false: the column is null for all other files, which no migration writes.
alter table public.media add column is_held boolean;
comment on column public.media.is_held is 'True while its message is held: only its owner and moderators see it.';

alter table app.filter_rules
    drop constraint filter_rules_action_valid,
    add constraint filter_rules_action_valid check (
        action in ('refuse', 'mask') and word <> '*' or action = 'hold' and scope = 'messages');
comment on column app.filter_rules.word is
    'As app.folded writes it, so that case and accents do not matter; *: every message.';
comment on column app.filter_rules.action is
    'refuse: an error; mask: asterisks take its place; hold: the message waits for a moderator.';
