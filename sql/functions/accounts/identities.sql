-- Accounts that another provider's word leads to, for the role postline_accounts alone. The service has verified the
-- provider's token before it calls any of these; what they are told of it is true.
--
-- A provider's subject leads to the account that it made, or was linked to. One that is new is linked to the account
-- with the address that the provider has verified, but only where that account's holder has proven the same address
-- (an identity `email`). Else anybody could register somebody's address with a password of their own, and wait for its
-- owner to come by Apple. An address that is taken, unproven, stays with whoever has it, and the new account has none.

-- Takes a token, of which the service gives the hash and when it expires, in seconds since 1970, for good.
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
        raise exception using errcode = 'PL004', message = 'This token was used already: get a fresh one.';
    end if;
end
$$;

-- The account that a provider's subject leads to, or the address that the provider has verified; null where none does.
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

-- Whose account it is, by a provider's word: the one that is identified, else that of the guest who comes along, which
-- keeps its id, else a new one. `email` is an address that the provider has verified, or null. A guest who comes along
-- to another account is merged into it: `merged` is what accounts.merge_guest answers. All of it or nothing.
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
    -- Of two sign-ins at once by a new identity, the second waits for the first, and finds what it made. An advisory
    -- lock would be one that every role of the database may take.
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
            raise exception using errcode = 'PL004', message = 'That guest is not known here.';
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
    if account.deleted_at is not null or app.is_banned(account) then
        raise exception using errcode = 'PL003', message = 'This account cannot be signed in to.';
    end if;
    user_id := found_id;
    password_hash := nullif(account.encrypted_password::text, '');
    if guest.id = found_id then
        -- It has just become the account, or did before, and the answer was lost.
        merged := '{"conversations":0,"messages":0}';
    elsif guest_session is not null then
        merged := accounts.merge_guest(found_id, password_hash, guest_session, guest_generation, reuse_seconds);
    end if;
    return next;
end
$$;

-- Of an account to which a provider's word has just led by its address: whoever set its password need not be who owns
-- the address, and had only to wait for a click in a mail that its owner did not ask for. So the password goes, which a
-- mail sets anew, and every session of before ends. A new account and a guest have no password.
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

-- A new account that a provider's word leads to. Where the address is taken it has none.
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

-- Makes a guest a full account of the same id, as accounts.upgrade does. Where the address is taken it has none.
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

create or replace function app.provider_metadata(provider text) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return pg_catalog.jsonb_build_object('provider', provider, 'providers', pg_catalog.jsonb_build_array(provider));
end
$$;

-- Notes that the user has proven that address; null: none.
create or replace function app.record_email_proof(user_id uuid, email text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.identities i
     where i.provider = 'email'
       and (i.user_id = record_email_proof.user_id or i.subject = app.lower_ascii(record_email_proof.email));
    if email is not null then
        -- Nothing here keeps another auth server from what it does: not even a user who was never seen.
        insert into app.identities (provider, subject, user_id, email)
        select 'email', app.lower_ascii(email), p.id, app.lower_ascii(email)
          from public.user_profiles p where p.id = record_email_proof.user_id
        on conflict do nothing;
    end if;
end
$$;

-- An address that was there before it was confirmed, was proven by that. One that is confirmed in the statement that
-- sets it was not: so accounts were made before there was mail. A proof goes with its address.
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

-- Deletes an account by a fresh token of the provider that leads to it, in place of a password.
create or replace function accounts.delete_by_identity(
    user_id uuid, provider text, subject text, token_hash text, expires_at double precision) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform 1 from auth.users u where u.id = delete_by_identity.user_id for update;
    if not exists (select from app.identities i
                    where i.user_id = delete_by_identity.user_id and i.provider = delete_by_identity.provider
                      and i.subject = delete_by_identity.subject) then
        raise exception using errcode = 'PL003', message = 'This token is not of the account''s holder.',
            detail = '{"field":"identity_token"}';
    end if;
    perform app.use_identity_token(token_hash, delete_by_identity.expires_at);
    update public.user_profiles p set is_deleted = true where p.id = delete_by_identity.user_id;
    return '{"deleted":true}';
end
$$;

-- Brings a guest into an account where another server keeps both. The service has verified a token of each. A repeated
-- call finds it done and answers the same; a guest who became that very account has nothing to bring.
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
    -- The guest's account is the lock, as in accounts.merge_guest.
    select u.* into guest from auth.users u where u.id = guest_id for update;
    select u.* into account from auth.users u where u.id = merge_external_guest.user_id for share;
    if account.id is null or account.deleted_at is not null or app.is_banned(account) then
        raise exception using errcode = 'PL004', message = 'This account is not known here.';
    end if;
    select g.* into merged from app.merged_guests g
     where g.guest_id = guest.id and g.account_id = account.id;
    if not found then
        if not coalesce(guest.is_anonymous and guest.deleted_at is null and not app.is_banned(guest), false)
           or coalesce(account.is_anonymous, false) then
            raise exception using errcode = 'PL004', message = 'That guest is not known here.';
        end if;
        perform app.upsert_profile(guest);
        perform app.upsert_profile(account);
        merged := app.merge_users(guest.id, account.id);
    end if;
    return pg_catalog.format('{"conversations":%s,"messages":%s}', merged.conversations, merged.messages);
end
$$;
