-- Names by which nodes of the previous version call these functions.

-- remove after 0.1: app.wait_for_wal_flush
create or replace function app.seal() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.wait_for_wal_flush();
end
$$;

-- remove after 0.1: app.record_ended_transactions
create or replace function app.note_ended(base pg_snapshot, inout started timestamptz, out replayed pg_lsn)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    select r.started, r.replayed into started, replayed from app.record_ended_transactions(base, started) r;
end
$$;

-- remove after 0.1: app.queue_pushes
create or replace function app.note_pushes() returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.queue_pushes();
end
$$;

-- remove after 0.1: app.claim_pushes
create or replace function app.due_pushes(most integer, with_text boolean) returns table (
    kind text, device_id uuid, conversation_id uuid, seq bigint, user_id uuid, platform text, token text,
    environment text, locale text, sender_id uuid, sender_name text, title text, message_kind text, content text,
    badge bigint, attempts integer)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return query select * from app.claim_pushes(most, with_text);
end
$$;

-- remove after 0.1: app.record_push_results
create or replace function app.settle_pushes(
    device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[],
    retry_seconds double precision[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.record_push_results(device_ids, conversation_ids, seqs, kinds, outcomes, retry_seconds);
end
$$;

-- remove after 0.1: app.record_stored_media
create or replace function app.note_stored(id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.record_stored_media(id);
end
$$;

-- remove after 0.1: app.claim_removals
create or replace function app.due_removals(most integer) returns table (id uuid, purpose text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return query select * from app.claim_removals(most);
end
$$;

-- remove after 0.1: app.complete_removals
create or replace function app.removed_media(ids uuid[], purposes text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.complete_removals(ids, purposes);
end
$$;

-- remove after 0.1: app.complete_removals, of a version without uploads
create or replace function app.removed_media(ids uuid[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from app.media_removals r where r.id = any (ids) and r.purpose <> 'upload'
$$;

-- remove after 0.1: app.acquire_lease
create or replace function app.lead(name text, holder uuid, seconds double precision) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.acquire_lease(name, holder, seconds);
end
$$;

-- remove after 0.1: app.release_lease
create or replace function app.resign(name text, holder uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.release_lease(name, holder);
end
$$;

-- remove after 0.1: app.renew_epoch_after_restore
create or replace function app.settle() returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return app.renew_epoch_after_restore();
end
$$;

-- remove after 0.1: app.record_schema_version
create or replace function app.sign(signature text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.record_schema_version(signature);
end
$$;

-- remove after 0.1: app.create_login_role
create or replace function app.make_login(login name, password text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform app.create_login_role(login, password);
end
$$;
