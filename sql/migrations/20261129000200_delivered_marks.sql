-- Delivered marks (sql/functions/app/delivered.sql): up to which message a member's devices have received a
-- conversation. They are apart from conversation_members, whose row and indexes each mark would rewrite: messages and
-- read marks need them. A member without a row has received what it has read.
create table public.delivered_marks (
    conversation_id uuid not null,
    user_id uuid not null,
    last_delivered_seq bigint not null check (last_delivered_seq >= 0),
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, user_id)
) with (fillfactor = 70);
create index delivered_marks_changed_xid on public.delivered_marks (changed_xid);

alter table public.delivered_marks enable row level security;
