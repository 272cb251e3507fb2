-- Waits until the log (WAL) is flushed as far as it was written when this was called. A snapshot may become a cursor
-- only after that. The end of a transaction can be visible before it is on disk: if it aborted, wrote nothing else, or
-- had synchronous_commit off. A crash loses such an end, and PostgreSQL gives the transaction id to another
-- transaction, whose changes an older snapshot would count as seen.
create or replace function app.wait_for_wal_flush() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if pg_catalog.pg_current_wal_insert_lsn() > pg_catalog.pg_current_wal_flush_lsn() then
        perform pg_catalog.set_config('synchronous_commit', 'on', true);
        -- A commit waits for the flush only if its transaction wrote something.
        perform pg_catalog.pg_logical_emit_message(true, 'postline', '');
    end if;
end
$$;
