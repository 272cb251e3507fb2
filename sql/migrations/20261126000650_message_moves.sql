-- Messages of merged guests that are still to become their accounts': a row for each conversation and guest, until the
-- last of them has been moved (sql/functions/app/message_moves.sql).
create table app.message_moves (
    -- Where the messages are.
    conversation_id uuid not null references public.conversations (id),
    guest_id uuid not null references app.merged_guests (guest_id),
    -- Where they go, with `base` added to their numbers, and the transaction that reserved those numbers there; null:
    -- they stay where they are, and change their sender alone.
    into_id uuid references public.conversations (id),
    base bigint not null default 0,
    sent_xid xid8,
    -- Messages with lower numbers are still to be moved.
    below bigint not null,
    -- Messages with lower numbers are not counted yet in app.merged_guests.
    uncounted_below bigint not null,
    primary key (conversation_id, guest_id),
    constraint message_moves_place check ((into_id is null) = (sent_xid is null) and into_id <> conversation_id)
);
create index message_moves_into_id on app.message_moves (into_id) where into_id is not null;
alter table app.message_moves enable row level security;
comment on table app.message_moves is 'Messages of merged guests that are still to become their accounts''.';
