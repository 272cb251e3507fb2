-- Names by which nodes of the previous version call these functions.

-- remove after 0.1: accounts.store_ticket
create or replace function accounts.keep_ticket(
    hash text, user_id uuid, sealed_token text, token_expires double precision default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform accounts.store_ticket(hash, user_id, sealed_token, token_expires);
end
$$;

-- remove after 0.1: accounts.redeem_ticket
create or replace function accounts.take_ticket(hash text, is_used boolean default false) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return accounts.redeem_ticket(hash, is_used);
end
$$;

-- remove after 0.1: accounts.claim_mails
create or replace function accounts.take_mails(hashes text[]) returns table (
    id uuid, kind text, email text, user_id uuid, locale text, attempts integer, token_hash text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return query select * from accounts.claim_mails(hashes);
end
$$;

-- remove after 0.1: accounts.record_mail_results
create or replace function accounts.settle_mails(
    ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform accounts.record_mail_results(ids, tries, outcomes, errors, retry_seconds);
end
$$;

-- remove after 0.1: accounts.sign_in_by_identity
create or replace function accounts.enter_by_identity(
    provider text, subject text, email text, full_name text, token_hash text, expires_at double precision,
    guest_session uuid, guest_generation integer, reuse_seconds integer)
returns table (user_id uuid, password_hash text, merged json)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    return query select * from accounts.sign_in_by_identity(
        provider, subject, email, full_name, token_hash, expires_at, guest_session, guest_generation, reuse_seconds);
end
$$;

-- remove after 0.1: accounts.register, without mail
create or replace function accounts.register(
    email text, password_hash text, username text, full_name text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    return accounts.register(email, password_hash, username, full_name, false, null);
end
$$;

-- remove after 0.1: accounts.upgrade, without mail
create or replace function accounts.upgrade(
    user_id uuid, email text, password_hash text, full_name text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform accounts.upgrade(user_id, email, password_hash, full_name, false, null);
end
$$;
