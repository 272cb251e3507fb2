-- Accounts of identity providers, for the role postline_accounts only. The service has verified the provider's token,
-- so the params are true.
--
-- A provider's subject leads to the account that it created or was linked to. A new subject is linked to the account
-- with the address that the provider has verified, but only if the account's user has proven the same address (an
-- identity `email`). Otherwise anyone could register another user's address with a password, and wait until that user
-- signs in with Apple. An unproven address stays with its account, and the new account has none.

-- Marks a token as used, by its hash and its expiry in seconds since 1970. Raises invalid_token if it was used before.
create or replace function app.use_identity_token(token_hash text, expires_at double precision) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.used_identity_tokens t
     where t.hash in (select e.hash from app.used_identity_tokens e where e.expires_at <= app.now()
                       order by e.expires_at limit 10 for update skip locked);
    insert into app.used_identity_tokens (hash, expires_at)
    values (pg_catalog.decode(token_hash, 'hex'), pg_catalog.to_timestamp(use_identity_token.expires_at))
    on conflict do nothing;
    if not found then
        raise exception using errcode = 'PL004', message = 'This token has already been used. Get a new one.';
    end if;
end
$$;

-- Returns the account of a provider's subject, or of the address that the provider has verified, or null.
create or replace function accounts.identified_account(provider text, subject text, email text) returns uuid
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return coalesce(
        (select i.user_id from app.identities i
          where i.provider = identified_account.provider and i.subject = identified_account.subject),
        (select u.id from app.identities i
           join auth.users u on u.id = i.user_id and app.lower_ascii(u.email::text) = i.subject
          where i.provider = 'email' and i.subject = app.lower_ascii(identified_account.email)
            and u.deleted_at is null
            and not exists (select from app.identities o
                             where o.user_id = i.user_id and o.provider = identified_account.provider)));
end
$$;

-- Signs in by an identity provider, and returns the account: the identified one, or else the guest's, which keeps its
-- id, or else a new one. `email` is an address that the provider has verified, or null. A guest that signs in to
-- another account is merged into it, and `merged` is the result of accounts.merge_guest. All or nothing.
create or replace function accounts.sign_in_by_identity(
    provider text, subject text, email text, full_name text, token_hash text, expires_at double precision,
    guest_session uuid, guest_generation integer, reuse_seconds integer)
returns table (user_id uuid, password_hash text, merged json)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    address text := case when email is not null then app.checked_email(email) end;
    account auth.users;
    guest auth.users;
    session app.sessions;
    found_id uuid;
begin
    perform app.use_identity_token(token_hash, sign_in_by_identity.expires_at);
    -- Of two concurrent sign-ins by a new identity the second waits for the first, and finds its account. Any role of
    -- the database could take an advisory lock.
    insert into app.identity_attempts (provider, subject) values (provider, subject);
    delete from app.identity_attempts a
     where a.provider = sign_in_by_identity.provider and a.subject = sign_in_by_identity.subject;
    found_id := accounts.identified_account(provider, subject, address);
    if guest_session is not null then
        select u.* into guest from auth.users u
         where u.id = (select s.user_id from app.sessions s where s.id = guest_session) for update;
    end if;

    if found_id is null and guest_session is not null then
        select s.* into session from app.sessions s where s.id = guest_session;
        if not coalesce(guest.is_anonymous and guest.deleted_at is null and not app.is_banned(guest)
                        and app.accepts_generation(session, guest_generation, reuse_seconds), false) then
            raise exception using errcode = 'PL004', message = 'This guest does not exist.';
        end if;
        perform app.upgrade_guest(guest.id, provider, address, full_name);
        found_id := guest.id;
    elsif found_id is null then
        found_id := app.create_account(provider, address, full_name);
    end if;
    insert into app.identities (provider, subject, user_id, email)
    values (provider, subject, found_id, address)
    on conflict do nothing;
    if found then
        perform app.revoke_other_credentials(found_id);
    end if;

    select u.* into account from auth.users u where u.id = found_id;
    if account.deleted_at is not null then
        raise exception using errcode = 'PL003', message = 'This account is deleted.';
    end if;
    perform app.refuse_banned(account);
    user_id := found_id;
    password_hash := nullif(account.encrypted_password::text, '');
    if guest.id = found_id then
        -- The guest has just become the account, or did before and the response was lost.
        merged := '{"conversations":0,"messages":0}';
    elsif guest_session is not null then
        merged := accounts.merge_guest(found_id, password_hash, guest_session, guest_generation, reuse_seconds);
    end if;
    return next;
end
$$;

-- Removes the password and ends all sessions when an identity provider confirms the address, since whoever set the
-- password may not own it: the owner may have clicked a mail that it did not request. A mail can set a new password.
-- New accounts and guests have none.
create or replace function app.revoke_other_credentials(user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update auth.users u set encrypted_password = null, updated_at = pg_catalog.now()
     where u.id = revoke_other_credentials.user_id and nullif(u.encrypted_password::text, '') is not null;
    if found then
        perform app.cancel_mails(user_id, array['change_email', 'reset_password']);
        update app.sessions s set revoked_at = pg_catalog.now()
         where s.user_id = revoke_other_credentials.user_id and s.revoked_at is null;
    end if;
end
$$;

-- Creates an account for a provider's identity, without address if another account has it, and returns its id.
create or replace function app.create_account(provider text, email text, full_name text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    address text := email;
    name text := app.checked_name('full_name', full_name, 'A name');
    new_id uuid;
begin
    loop
        insert into auth.users (instance_id, id, aud, role, email, email_confirmed_at, confirmation_token,
                                recovery_token, email_change, email_change_token_new, last_sign_in_at,
                                raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
        values ('00000000-0000-0000-0000-000000000000', pg_catalog.gen_random_uuid(), 'authenticated',
                'authenticated', address, case when address is not null then pg_catalog.now() end, '', '', '', '',
                pg_catalog.now(), app.provider_metadata(provider),
                pg_catalog.json_strip_nulls(pg_catalog.json_build_object('full_name', name))::jsonb,
                pg_catalog.now(), pg_catalog.now())
        on conflict do nothing
        returning id into new_id;
        exit when new_id is not null;
        address := null;
    end loop;
    perform app.record_email_proof(new_id, address);
    return new_id;
end
$$;

-- Makes a guest a full account with the same id, as accounts.upgrade does, without address if another account has it.
create or replace function app.upgrade_guest(guest uuid, provider text, email text, full_name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    address text := email;
    name text := app.checked_name('full_name', full_name, 'A name');
begin
    update auth.users u
       set is_anonymous = false, updated_at = pg_catalog.now(),
           raw_app_meta_data = coalesce(u.raw_app_meta_data, '{}') || app.provider_metadata(provider)
     where u.id = guest;
    begin
        update auth.users u
           set email = address, email_confirmed_at = case when address is not null then pg_catalog.now() end
         where u.id = guest;
    exception when unique_violation then
        address := null;
    end;
    perform app.record_email_proof(guest, address);
    if name is not null then
        update public.user_profiles p set full_name = name where p.id = guest;
    end if;
end
$$;

-- Returns the raw_app_meta_data of an account of that provider.
create or replace function app.provider_metadata(provider text) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.jsonb_build_object('provider', provider, 'providers', pg_catalog.jsonb_build_array(provider));
end
$$;

-- Records that the user has proven an address; null records that it has proven none.
create or replace function app.record_email_proof(user_id uuid, email text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.identities i
     where i.provider = 'email'
       and (i.user_id = record_email_proof.user_id or i.subject = app.lower_ascii(record_email_proof.email));
    if email is not null then
        -- Must not fail for another auth server, not even for a user without a profile.
        insert into app.identities (provider, subject, user_id, email)
        select 'email', app.lower_ascii(email), p.id, app.lower_ascii(email)
          from public.user_profiles p where p.id = record_email_proof.user_id
        on conflict do nothing;
    end if;
end
$$;

-- Records a proven address when an existing address is confirmed, and removes the record with the address. An address
-- that is confirmed by the statement that sets it is not proven: accounts were created so before there was mail.
create or replace function app.propagate_email_proof() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if new.email = old.email and old.email_confirmed_at is null and new.email_confirmed_at is not null
       and new.deleted_at is null then
        perform app.record_email_proof(new.id, new.email::text);
    elsif new.email is distinct from old.email or new.email_confirmed_at is null then
        perform app.record_email_proof(new.id, null);
    end if;
    return null;
end
$$;
create or replace trigger postline_proven_account after update on auth.users
    for each row when (old.email is distinct from new.email
                       or old.email_confirmed_at is distinct from new.email_confirmed_at)
    execute function app.propagate_email_proof();

-- Deletes an account by a fresh token of its provider instead of a password.
create or replace function accounts.delete_by_identity(
    user_id uuid, provider text, subject text, token_hash text, expires_at double precision) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform 1 from auth.users u where u.id = delete_by_identity.user_id for update;
    if not exists (select from app.identities i
                    where i.user_id = delete_by_identity.user_id and i.provider = delete_by_identity.provider
                      and i.subject = delete_by_identity.subject) then
        raise exception using errcode = 'PL003', message = '"identity_token" belongs to another account.',
            detail = '{"field":"identity_token"}';
    end if;
    perform app.use_identity_token(token_hash, delete_by_identity.expires_at);
    update public.user_profiles p set is_deleted = true where p.id = delete_by_identity.user_id;
    return '{"deleted":true}';
end
$$;

-- Merges a guest into an account if another auth server has both; the service has verified a token of each. A repeated
-- call returns the same; a guest that became that very account has nothing to merge.
create or replace function accounts.merge_external_guest(user_id uuid, guest_id uuid) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    guest auth.users;
    account auth.users;
    merged app.merged_guests;
begin
    if user_id = guest_id then
        return '{"conversations":0,"messages":0}';
    end if;
    -- Locks the guest's account, as accounts.merge_guest does.
    select u.* into guest from auth.users u where u.id = guest_id for update;
    select u.* into account from auth.users u where u.id = merge_external_guest.user_id for share;
    if account.id is null or account.deleted_at is not null or app.is_banned(account) then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    end if;
    select g.* into merged from app.merged_guests g
     where g.guest_id = guest.id and g.account_id = account.id;
    if not found then
        if not coalesce(guest.is_anonymous and guest.deleted_at is null and not app.is_banned(guest), false)
           or coalesce(account.is_anonymous, false) then
            raise exception using errcode = 'PL004', message = 'This guest does not exist.';
        end if;
        perform app.upsert_profile(guest);
        perform app.upsert_profile(account);
        merged := app.merge_users(guest.id, account.id);
    end if;
    return pg_catalog.format('{"conversations":%s,"messages":%s}', merged.conversations, merged.messages);
end
$$;
