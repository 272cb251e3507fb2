-- A ticket opens its stream again, for requests that know what only the stream's client has seen: see
-- sql/functions/accounts/tickets.sql.
alter table app.stream_tickets
    add column is_used boolean not null default false,
    -- Until when the stream may be resumed; null for a ticket of an earlier version's node.
    add column resumes_until timestamptz;
