-- What a cursor has seen must stay seen. The end of a transaction can be visible before it is on disk: where it
-- aborted, wrote nothing but its end, or asked not to wait for the disk. A crash undoes such an end, and PostgreSQL
-- gives the number to another transaction, whose changes an older snapshot takes for seen. So a snapshot becomes a
-- cursor only after this: the log is on disk as far as it was written when the snapshot was taken.
create or replace function app.wait_for_wal_flush() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if pg_catalog.pg_current_wal_insert_lsn() > pg_catalog.pg_current_wal_flush_lsn() then
        perform pg_catalog.set_config('synchronous_commit', 'on', true);
        -- A commit waits for the disk only where its transaction wrote something.
        perform pg_catalog.pg_logical_emit_message(true, 'postline', '');
    end if;
end
$$;
