-- What opens an event stream once, in place of an access token: see sql/functions/accounts/tickets.sql. They live for
-- half a minute, so that a crash may lose them.
create unlogged table app.stream_tickets (
    hash bytea primary key,
    user_id uuid not null,
    sealed_token bytea not null,
    expires_at timestamptz not null
);
create index stream_tickets_user_id on app.stream_tickets (user_id, expires_at desc);
create index stream_tickets_expires_at on app.stream_tickets (expires_at);
