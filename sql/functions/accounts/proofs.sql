-- Proofs of addresses by mail, for the role postline_accounts only. The service has the token, these functions its
-- hash. A token that is invented, used, expired or invalidated gets the same response.

-- Queues a mail for a new password. It writes the same row whether the account exists or not, and reads nothing else,
-- so neither response nor time reveals it.
create or replace function accounts.request_password_reset(email text, most integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.queue_mail('reset_password', app.checked_email(email), null, most);
end
$$;

-- Locks and returns the account of a token, or raises invalid_token.
create or replace function app.mail_token_account(token_hash text, kinds text[]) returns auth.users
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users;
    token app.mail_tokens;
begin
    -- The account first: the second of two concurrent tokens sees what the first has invalidated.
    select u.* into account from auth.users u
     where u.id = (select t.user_id from app.mail_tokens t where t.hash = pg_catalog.decode(token_hash, 'hex'))
       for update;
    select t.* into token from app.mail_tokens t
     where t.hash = pg_catalog.decode(token_hash, 'hex') and t.kind = any (kinds) and t.expires_at > app.now();
    if token.hash is null or account.id is distinct from token.user_id or account.deleted_at is not null
       or app.is_banned(account)
       or token.kind <> 'change_email' and account.email is distinct from token.email then
        raise exception using errcode = 'PL004',
            message = 'This token is invalid or has expired. Request a new mail.',
            detail = '{"field":"token"}';
    end if;
    return account;
end
$$;

-- Returns the account whose password a token may set, or raises invalid_token. The token stays valid.
create or replace function accounts.resettable_account(token_hash text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    return (app.mail_token_account(token_hash, array['reset_password'])).id;
end
$$;

-- Sets the password of a token's account, ends all its sessions, and returns its id. The token also proves the address,
-- since its holder reads the mail.
create or replace function accounts.reset_password(token_hash text, password_hash text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := app.mail_token_account(token_hash, array['reset_password']);
begin
    update auth.users u
       set encrypted_password = reset_password.password_hash, updated_at = pg_catalog.now(),
           email_confirmed_at = coalesce(u.email_confirmed_at, pg_catalog.now())
     where u.id = account.id;
    perform app.record_email_proof(account.id, account.email::text);
    perform app.cancel_mails(account.id, array['confirm_email', 'change_email', 'reset_password']);
    update app.sessions s set revoked_at = pg_catalog.now() where s.user_id = account.id and s.revoked_at is null;
    return account.id;
end
$$;

-- Queues a mail to the account's future address, or to its present one if that is unproven. `password_hash` is the hash
-- that the service has verified. Whether another account has the address is checked when the mail is due, and not
-- revealed. The newest of several requests counts.
create or replace function accounts.request_email_change(
    user_id uuid, password_hash text, email text, most integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    address text := app.mailable_email(email);
    account auth.users;
begin
    select u.* into account from auth.users u where u.id = request_email_change.user_id for update;
    if account.id is null or account.deleted_at is not null then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    elsif password_hash is null or account.encrypted_password is distinct from password_hash then
        perform app.refuse_credentials();
    elsif account.email = address and app.is_proven(account) then
        perform app.refuse_param('email', '"email" is already the address of this account.');
    end if;
    perform app.cancel_mails(account.id, array['change_email']);
    if account.email = address then
        perform app.queue_mail('confirm_email', address, account.id, most);
    else
        perform app.queue_mail('change_email', address, account.id, most);
    end if;
end
$$;

-- Confirms the present or future address of an account by a token, and returns it. The replaced address gets a notice.
create or replace function accounts.confirm_email(token_hash text) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users := app.mail_token_account(token_hash, array['confirm_email', 'change_email']);
    address text := (select t.email from app.mail_tokens t where t.hash = pg_catalog.decode(token_hash, 'hex'));
begin
    if address is distinct from account.email::text then
        begin
            update auth.users u
               set email = address, email_confirmed_at = pg_catalog.now(), updated_at = pg_catalog.now()
             where u.id = account.id;
        exception when unique_violation then
            perform app.refuse_email();
        end;
        -- Tokens sent to the replaced address prove nothing about this one.
        perform app.cancel_mails(account.id, array['confirm_email', 'change_email', 'reset_password']);
        if account.email is not null then
            perform app.queue_mail('email_changed', account.email::text, account.id, null);
        end if;
    else
        update auth.users u
           set email_confirmed_at = coalesce(u.email_confirmed_at, pg_catalog.now()), updated_at = pg_catalog.now()
         where u.id = account.id;
        perform app.cancel_mails(account.id, array['confirm_email', 'change_email']);
    end if;
    perform app.record_email_proof(account.id, address);
    return '{"email":' || pg_catalog.to_json(address) || '}';
end
$$;

-- Returns true if the account need not confirm its address, or has none. Otherwise queues a mail, unless one is pending
-- or its token is still valid.
create or replace function accounts.await_confirmation(user_id uuid, most integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    account auth.users;
begin
    select u.* into account from auth.users u where u.id = await_confirmation.user_id;
    if account.email is null or account.email_confirmed_at is not null then
        return true;
    end if;
    select u.* into account from auth.users u where u.id = await_confirmation.user_id for update;
    if not exists (select from app.mails m
                    where m.user_id = account.id and m.kind = 'confirm_email' and m.email = account.email
                      and m.due_at is not null)
       and not exists (select from app.mail_tokens t
                        where t.user_id = account.id and t.kind = 'confirm_email' and t.email = account.email
                          and t.expires_at > app.now()) then
        begin
            perform app.queue_mail('confirm_email', account.email::text, account.id, most);
        exception when sqlstate 'PL014' then
            -- It has had enough of them for now.
            null;
        end;
    end if;
    return false;
end
$$;
