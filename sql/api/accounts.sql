-- Accounts of Postline's own. These run as the owner, for the role postline_accounts alone: no user's role may call
-- them, and no statement of theirs hashes or compares a password.

create or replace function accounts.register(
    email text, password_hash text, username text, full_name text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
    address text := pg_catalog.lower(pg_catalog.btrim(email));
    name text := app.checked_name('full_name', full_name, 'A name');
    new_id uuid;
begin
    if coalesce(address !~ '^[^@\s\u0001-\u001f\u007f]{1,64}@[^@\s\u0001-\u001f\u007f]+$', true)
       or pg_catalog.char_length(address) > 254 then
        perform app.refuse_param('email', 'That is not an email address.');
    elsif name is null then
        perform app.refuse_param('full_name', 'A name cannot be empty.');
    end if;
    insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                            confirmation_token, recovery_token, email_change, email_change_token_new,
                            last_sign_in_at, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
    values ('00000000-0000-0000-0000-000000000000', pg_catalog.gen_random_uuid(), 'authenticated', 'authenticated',
            address, password_hash, pg_catalog.now(), '', '', '', '', pg_catalog.now(),
            '{"provider":"email","providers":["email"]}',
            pg_catalog.jsonb_build_object('full_name', name), pg_catalog.now(), pg_catalog.now())
    on conflict do nothing
    returning id into new_id;
    if new_id is null then
        raise exception using errcode = 'PL010', message = 'That email address has an account already.',
            detail = '{"field":"email"}';
    end if;
    if register.username is not null then
        begin
            update public.user_profiles p set username = register.username where p.id = new_id;
        exception when unique_violation then
            raise exception using errcode = 'PL009', message = 'That username is taken.',
                detail = '{"field":"username"}';
        end;
    end if;
    return new_id;
end
$$;

create or replace function accounts.credentials(email text) returns table (user_id uuid, password_hash text)
language plpgsql stable security definer set search_path = '' as $$
begin
    return query
        select u.id, u.encrypted_password::text from auth.users u
         where u.email = pg_catalog.lower(pg_catalog.btrim(credentials.email)) and not u.is_sso_user
           and u.deleted_at is null and coalesce(u.encrypted_password, '') <> ''
           and (u.banned_until is null or u.banned_until < pg_catalog.now());
end
$$;

create or replace function accounts.open_session(user_id uuid) returns table (
    session_id uuid, generation integer, email text, phone text, is_anonymous boolean,
    app_metadata json, user_metadata json)
language plpgsql security definer set search_path = '' as $$
begin
    perform accounts.ensure_profile(user_id, null);
    update auth.users u set last_sign_in_at = pg_catalog.now() where u.id = open_session.user_id;
    return query
        with opened as (
            insert into app.sessions as s (user_id) values (open_session.user_id) returning s.id, s.generation)
        select o.id, o.generation, coalesce(u.email::text, ''), coalesce(u.phone::text, ''),
               coalesce(u.is_anonymous, false), coalesce(u.raw_app_meta_data, '{}')::json,
               coalesce(u.raw_user_meta_data, '{}')::json
          from opened o, auth.users u where u.id = open_session.user_id;
end
$$;

create or replace function accounts.use_session(user_id uuid, session_id uuid) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
    if not exists (select from app.sessions s
                    where s.id = session_id and s.user_id = use_session.user_id and s.revoked_at is null) then
        raise exception using errcode = 'PL006', message = 'This session has ended. Sign in again.';
    end if;
    return accounts.ensure_profile(user_id, null);
end
$$;

-- The profile of an account, made at first sight. is_anonymous is what the token says, where the account's own row
-- is kept by another auth server; null asks that row. Answers whether the user is a guest.
create or replace function accounts.ensure_profile(user_id uuid, is_anonymous boolean) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
    account auth.users;
    guest boolean;
begin
    -- A user seen before costs one look at its profile.
    select p.is_guest into guest from public.user_profiles p
      join public.user_private s on s.id = p.id where p.id = ensure_profile.user_id;
    if found and guest = coalesce(ensure_profile.is_anonymous, guest) then
        return guest;
    end if;
    select u.* into account from auth.users u where u.id = ensure_profile.user_id and u.deleted_at is null;
    if not found then
        raise exception using errcode = 'PL004', message = 'This account is not known here.';
    end if;
    perform app.adopt_account(account);
    return coalesce(account.is_anonymous, false);
end
$$;
