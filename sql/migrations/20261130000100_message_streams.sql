-- Messages that grow while they are written (sql/functions/app/streams.sql). Their text stands in pieces until it is
-- finished, and is then written once: an edit for each piece would cost twice the time, eight times the log, and push
-- the whole text each time. There are no foreign keys, which would lock the message.

-- A message that grows. The row is locked by each piece, so that pieces are in the order of their commits.
create table app.message_streams (
    conversation_id uuid not null,
    seq bigint not null,
    sender_id uuid not null,
    length integer not null default 0,
    appended_at timestamptz not null default clock_timestamp(),
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, seq)
) with (fillfactor = 50);
comment on table app.message_streams is 'The messages that grow.';
comment on column app.message_streams.length is 'The number of characters in all pieces.';
comment on column app.message_streams.changed_xid is 'The transaction of the last piece.';
create index message_streams_sender_id on app.message_streams (sender_id);

-- A piece of the text, at its first character.
create table public.message_pieces (
    conversation_id uuid not null,
    seq bigint not null,
    start integer not null,
    content text not null,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, seq, start)
);
comment on table public.message_pieces is 'The text of the messages that grow. A finished message has none.';
create index message_pieces_changed_xid on public.message_pieces (changed_xid);

alter table app.message_streams enable row level security;
alter table public.message_pieces enable row level security;
