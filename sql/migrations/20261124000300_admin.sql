-- What operators did, by `postline admin`: see sql/functions/admin.
create schema admin;
revoke all on schema admin from public;

-- One row an order, written in the transaction that carries it out; it stays. It outlives what it speaks of, and so
-- refers to nothing.
create table admin.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    -- Who, by their own word, and the role that the database knew them by.
    operator text not null,
    database_role text not null default session_user,
    action text not null,
    -- Whom it was about; null where it was about nobody alone.
    user_id uuid,
    detail jsonb not null default '{}',
    constraint audit_operator check (octet_length(operator) between 1 and 200),
    constraint audit_detail check (octet_length(detail::text) <= 8192)
);
create index audit_user_id on admin.audit (user_id) where user_id is not null;
alter table admin.audit enable row level security;
