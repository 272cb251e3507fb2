-- What could not be noted for a device because another transaction was at it: see app.note_pushes. It refers to the
-- device by nothing that would wait for that transaction.
create table app.push_backlog (
    device_id uuid not null,
    conversation_id uuid not null,
    seq bigint not null,
    primary key (device_id, conversation_id)
);
