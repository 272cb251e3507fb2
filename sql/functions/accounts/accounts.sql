-- Postline's own accounts. These functions run as the owner, for the role postline_accounts only: no user's role may
-- call them. None of their statements hashes or compares a password.

-- Creates an account and returns its id. With `needs_proof`, used if mail is configured, the address is confirmed only
-- by a mail, of which at most `most` are sent in an hour.
create or replace function accounts.register(
    email text, password_hash text, username text, full_name text, needs_proof boolean, most integer) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    address text := case when needs_proof then app.mailable_email(email) else app.checked_email(email) end;
    name text := app.checked_name('full_name', full_name, 'A name');
    new_id uuid;
begin
    if name is null then
        perform app.refuse_param('full_name', '"full_name" must not be empty.');
    end if;
    insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                            confirmation_token, recovery_token, email_change, email_change_token_new,
                            last_sign_in_at, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
    values ('00000000-0000-0000-0000-000000000000', pg_catalog.gen_random_uuid(), 'authenticated', 'authenticated',
            address, password_hash, case when not needs_proof then pg_catalog.now() end, '', '', '', '',
            pg_catalog.now(), '{"provider":"email","providers":["email"]}',
            pg_catalog.jsonb_build_object('full_name', name), pg_catalog.now(), pg_catalog.now())
    on conflict do nothing
    returning id into new_id;
    if new_id is null then
        perform app.refuse_email();
    end if;
    if register.username is not null then
        begin
            update public.user_profiles p set username = register.username where p.id = new_id;
        exception when unique_violation then
            perform app.refuse_username();
        end;
    end if;
    if needs_proof then
        perform app.queue_mail('confirm_email', address, new_id, most);
    end if;
    return new_id;
end
$$;

-- Returns id and password hash of the account with that address, or no row. Also of a banned one: its owner, who knows
-- the password, is told so by accounts.open_session.
create or replace function accounts.credentials(email text) returns table (user_id uuid, password_hash text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return query
        select u.id, u.encrypted_password::text from auth.users u
         where u.email = app.lower_ascii(credentials.email) and not u.is_sso_user
           and u.deleted_at is null and coalesce(u.encrypted_password, '') <> '';
end
$$;

-- Returns true if an operator, a moderator or another auth server has disabled the account for now.
create or replace function app.is_banned(account auth.users) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return coalesce(account.banned_until > pg_catalog.now(), false);
end
$$;

-- Returns the stored password hash of a signed-in user, or null if it has none.
create or replace function accounts.password_hash(user_id uuid) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return (select nullif(u.encrypted_password::text, '') from auth.users u
             where u.id = password_hash.user_id and u.deleted_at is null);
end
$$;

-- Replaces the hash of a password, after the service has verified it, by a new hash of the same password. Returns the
-- stored hash: another one if it was changed in the meantime, null if the account is gone.
create or replace function accounts.renew_hash(user_id uuid, old_hash text, new_hash text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update auth.users u set encrypted_password = new_hash, updated_at = pg_catalog.now()
     where u.id = renew_hash.user_id and u.encrypted_password = old_hash and u.deleted_at is null;
    return accounts.password_hash(renew_hash.user_id);
end
$$;

-- Creates a guest, an account without address and password that only a session leads to, and returns its id.
create or replace function accounts.guest(full_name text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    name text := app.checked_name('full_name', full_name, 'A name');
    new_id uuid;
begin
    insert into auth.users (instance_id, id, aud, role, confirmation_token, recovery_token, email_change,
                            email_change_token_new, last_sign_in_at, raw_app_meta_data, raw_user_meta_data,
                            created_at, updated_at, is_anonymous)
    values ('00000000-0000-0000-0000-000000000000', pg_catalog.gen_random_uuid(), 'authenticated', 'authenticated',
            '', '', '', '', pg_catalog.now(), '{}',
            pg_catalog.json_strip_nulls(pg_catalog.json_build_object('full_name', name))::jsonb,
            pg_catalog.now(), pg_catalog.now(), true)
    returning id into new_id;
    return new_id;
end
$$;

-- Makes a guest a full account with address and password; the user stays the same. Of concurrent calls one succeeds.
-- `needs_proof` as for accounts.register.
create or replace function accounts.upgrade(
    user_id uuid, email text, password_hash text, full_name text, needs_proof boolean, most integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    address text := case when needs_proof then app.mailable_email(email) else app.checked_email(email) end;
    name text := app.checked_name('full_name', full_name, 'A name');
begin
    if not coalesce((select u.is_anonymous and u.deleted_at is null from auth.users u
                      where u.id = upgrade.user_id for update), false) then
        raise exception using errcode = 'PL007',
            message = 'Only a guest can be upgraded, and this account is not a guest.';
    end if;
    begin
        update auth.users u
           set email = address, encrypted_password = upgrade.password_hash,
               email_confirmed_at = case when not needs_proof then pg_catalog.now() end,
               is_anonymous = false, updated_at = pg_catalog.now(),
               raw_app_meta_data = coalesce(u.raw_app_meta_data, '{}')
                   || '{"provider":"email","providers":["email"]}',
               raw_user_meta_data = coalesce(u.raw_user_meta_data, '{}')
                   || pg_catalog.json_strip_nulls(pg_catalog.json_build_object('full_name', name))::jsonb
         where u.id = upgrade.user_id;
    exception when unique_violation then
        perform app.refuse_email();
    end;
    if name is not null then
        update public.user_profiles p set full_name = name where p.id = upgrade.user_id;
    end if;
    if needs_proof then
        perform app.queue_mail('confirm_email', address, user_id, most);
    end if;
end
$$;

-- Changes a password, ends all other sessions of the user, and returns how many. `old_hash` is the hash that the
-- service has verified; if it is no longer stored, another change came first.
create or replace function accounts.change_password(
    user_id uuid, session_id uuid, old_hash text, new_hash text) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ended integer;
begin
    update auth.users u set encrypted_password = new_hash, updated_at = pg_catalog.now()
     where u.id = change_password.user_id and u.encrypted_password = old_hash and u.deleted_at is null;
    if not found then
        perform app.refuse_credentials();
    end if;
    -- Pending mails would be another way in for anyone who knew the old password.
    perform app.cancel_mails(change_password.user_id, array['change_email', 'reset_password']);
    update app.sessions s set revoked_at = pg_catalog.now()
     where s.user_id = change_password.user_id and s.revoked_at is null
       and s.id is distinct from change_password.session_id;
    get diagnostics ended = row_count;
    return ended;
end
$$;

-- Deletes a user. `password_hash` is the hash that the service has verified, or null if accounts.password_hash returned
-- none: then a guest's access token suffices.
create or replace function accounts.delete_user(user_id uuid, password_hash text) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users;
begin
    select u.* into account from auth.users u where u.id = delete_user.user_id for update;
    if account.id is null or account.deleted_at is not null then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    elsif nullif(account.encrypted_password::text, '') is distinct from password_hash then
        perform app.refuse_credentials();
    elsif password_hash is null and exists (
            select from app.identities i where i.user_id = delete_user.user_id and i.provider <> 'email') then
        perform app.refuse_param('identity_token', '"identity_token" is missing: send a new token of the provider.');
    end if;
    update public.user_profiles p set is_deleted = true where p.id = delete_user.user_id;
    return '{"deleted":true}';
end
$$;

-- Ensures that an account has a profile, and returns whether the user is a guest. `is_anonymous` is the claim of a
-- token of another auth server; null reads the account's row.
create or replace function accounts.ensure_profile(user_id uuid, is_anonymous boolean) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users;
    guest boolean;
begin
    -- A known user costs one query.
    select p.is_guest into guest from public.user_profiles p
      join public.user_private s on s.id = p.id
      join auth.users u on u.id = p.id and u.deleted_at is null and not app.is_banned(u)
     where p.id = ensure_profile.user_id and not p.is_deleted;
    if found and guest = coalesce(ensure_profile.is_anonymous, guest) then
        return guest;
    end if;
    select u.* into account from auth.users u
     where u.id = ensure_profile.user_id and u.deleted_at is null and not app.is_banned(u);
    if not found then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    end if;
    perform app.upsert_profile(account);
    return coalesce(account.is_anonymous, false);
end
$$;

-- Returns an address in the form in which it is stored and compared, or raises invalid_params. After the "@" is the
-- name of a host (RFC 5321, 2.3.5), not its address.
create or replace function app.checked_email(email text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    address text := pg_catalog.btrim(email);
    parts text[] := pg_catalog.regexp_match(address, '^([^@\s\u0001-\u001f\u007f]{1,64})@([^@[]*[^@.])$');
begin
    if coalesce(parts[1] ~ app.invisible_characters() or not app.is_host(parts[2]) or parts[2] ~ '(^|\.)[0-9]+$', true)
       or pg_catalog.octet_length(address) > 254 then
        perform app.refuse_param('email', '"email" must be an email address.');
    end if;
    -- Lower case of ASCII only: a Kelvin sign is not a "k", and another mailbox.
    return app.lower_ascii(address);
end
$$;

-- Returns an address to which mails can be sent, as app.checked_email does: letters, digits and signs of ASCII (RFC
-- 5321, 4.1.2, a dot-string at a host).
create or replace function app.mailable_email(email text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    address text := app.checked_email(email);
begin
    if address !~ '^[a-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&''*+/=?^_`{|}~-]+)*@'
                  '[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*$' then
        perform app.refuse_param('email',
            '"email" must contain only ASCII letters, digits and punctuation.');
    end if;
    return address;
end
$$;

-- Raises email_taken.
create or replace function app.refuse_email() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL010', message = 'This email address already has an account.',
        detail = '{"field":"email"}';
end
$$;

-- Raises invalid_credentials.
create or replace function app.refuse_credentials() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL003', message = 'The email address or the password is wrong.';
end
$$;
