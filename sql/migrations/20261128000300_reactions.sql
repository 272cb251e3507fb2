-- Reactions to messages (sql/functions/app/reactions.sql): a row for each, and a row for each message with the numbers
-- that all members see. A message's own row is not written, and no send waits for a reaction. There are no foreign
-- keys, which would lock the conversation: the triggers check what a reaction refers to, and nothing of that is ever
-- removed.

-- A reaction that was taken back stays, without is_set: its user's other devices must be told.
create table public.message_reactions (
    conversation_id uuid not null,
    user_id uuid not null,
    seq bigint not null,
    emoji text not null,
    is_set boolean not null default true,
    created_at timestamptz not null default clock_timestamp(),
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, user_id, seq, emoji)
);
-- The reactions to a message, the first ones first.
create index message_reactions_message on public.message_reactions (conversation_id, seq, created_at, user_id, emoji)
    where is_set;
create index message_reactions_changed_xid on public.message_reactions (changed_xid);

-- `counts` has at most 20 members. A message without reactions has none, or '{}' if it had some.
create table public.reaction_counts (
    conversation_id uuid not null,
    seq bigint not null,
    counts jsonb not null,
    version bigint not null default 1,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, seq)
) with (fillfactor = 70);
create index reaction_counts_changed_xid on public.reaction_counts (changed_xid);
create index reaction_counts_changed on public.reaction_counts (conversation_id, changed_xid);

alter table public.message_reactions enable row level security;
alter table public.reaction_counts enable row level security;
