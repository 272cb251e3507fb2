-- The whole schema, written by `make schema`. Not to be edited, and applied by nothing.

CREATE SCHEMA accounts;

CREATE SCHEMA admin;

CREATE SCHEMA api;

CREATE SCHEMA app;

CREATE SCHEMA auth;

CREATE SCHEMA feed;

CREATE SCHEMA public;

CREATE DOMAIN app.conversation_kind AS text
	CONSTRAINT conversations_kind_valid CHECK ((VALUE = ANY (ARRAY['direct'::text, 'group'::text])));

CREATE DOMAIN app.member_role AS text
	CONSTRAINT conversation_members_role_valid CHECK ((VALUE = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])));

CREATE DOMAIN app.message_content AS text
	CONSTRAINT messages_content_valid CHECK ((char_length(VALUE) <= 8000));

CREATE DOMAIN app.message_kind AS text;

CREATE DOMAIN app.title AS text
	CONSTRAINT conversations_title_valid CHECK ((((char_length(VALUE) >= 1) AND (char_length(VALUE) <= 100)) AND (VALUE IS NFC NORMALIZED) AND (VALUE !~ '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]'::text)));

CREATE FUNCTION accounts.are_in_use(user_ids uuid[], session_ids uuid[]) RETURNS boolean[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
begin
    return array(
        select exists (
                select from app.sessions s
                  join public.user_profiles p on p.id = s.user_id
                  join public.user_private v on v.id = p.id
                 where s.id = asked.session_id and s.user_id = asked.user_id and s.revoked_at is null
                   and not p.is_deleted)
          from unnest(user_ids, session_ids) with ordinality as asked (user_id, session_id, place)
         order by asked.place);
end
$$;

CREATE FUNCTION accounts.await_confirmation(user_id uuid, most integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.change_password(user_id uuid, session_id uuid, old_hash text, new_hash text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.claim_mails(hashes text[]) RETURNS TABLE(id uuid, kind text, email text, user_id uuid, locale text, attempts integer, token_hash text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
declare
    mail app.mails;
    account auth.users;
    whom uuid;
    place integer := 0;
begin
    perform app.prune_mails();
    for mail in
        select m.* from app.mails m where m.due_at <= pg_catalog.clock_timestamp()
         order by m.due_at limit 500 for update skip locked
    loop
        exit when place = cardinality(hashes);
        whom := case when mail.kind = 'reset_password' then
                    (select u.id from auth.users u where u.email = mail.email and not u.is_sso_user)
                    else mail.user_id end;
        -- A change of password or address invalidates earlier requests: it is visible here, or it sees this token.
        select u.* into account from auth.users u where u.id = whom for share skip locked;
        if account.id is null and exists (select from auth.users u where u.id = whom) then
            update app.mails m set due_at = pg_catalog.clock_timestamp() + interval '1 second' where m.id = mail.id;
            continue;
        elsif not app.is_still_needed(mail, account) then
            delete from app.mails m where m.id = mail.id;
            continue;
        end if;
        place := place + 1;
        token_hash := case when mail.kind <> 'email_changed' then hashes[place] end;
        if token_hash is not null then
            insert into app.mail_tokens (hash, kind, user_id, email, expires_at)
            values (pg_catalog.decode(token_hash, 'hex'), mail.kind, account.id, mail.email,
                    app.now() + interval '1 hour');
        end if;
        update app.mails m set due_at = pg_catalog.clock_timestamp() + interval '4 minutes', attempts = m.attempts + 1
         where m.id = mail.id;
        id := mail.id;
        kind := mail.kind;
        email := mail.email;
        user_id := account.id;
        locale := coalesce(mail.locale,
            (select p.language_code::text from public.user_profiles p where p.id = account.id),
            (select d.locale from app.devices d where d.user_id = account.id and d.locale is not null
              order by d.registered_at desc limit 1));
        attempts := mail.attempts;
        return next;
    end loop;
end
$$;

CREATE FUNCTION accounts.confirm_email(token_hash text) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.credentials(email text) RETURNS TABLE(user_id uuid, password_hash text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query
        select u.id, u.encrypted_password::text from auth.users u
         where u.email = app.lower_ascii(credentials.email) and not u.is_sso_user
           and u.deleted_at is null and coalesce(u.encrypted_password, '') <> '';
end
$$;

CREATE FUNCTION accounts.delete_by_identity(user_id uuid, provider text, subject text, token_hash text, expires_at double precision) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.delete_user(user_id uuid, password_hash text) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.ended_sessions(since pg_snapshot, OUT snapshot text, OUT session_ids text) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    snapshot := pg_catalog.pg_current_snapshot()::text;
    session_ids := array(
        select s.id from app.sessions s where s.ended_xid >= pg_catalog.pg_snapshot_xmax(since)
        union all
        select s.id from app.sessions s where s.ended_xid = any(array(select pg_catalog.pg_snapshot_xip(since))))::text;
end
$$;

CREATE FUNCTION accounts.ensure_profile(user_id uuid, is_anonymous boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.enter_by_identity(provider text, subject text, email text, full_name text, token_hash text, expires_at double precision, guest_session uuid, guest_generation integer, reuse_seconds integer) RETURNS TABLE(user_id uuid, password_hash text, merged json)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query select * from accounts.sign_in_by_identity(
        provider, subject, email, full_name, token_hash, expires_at, guest_session, guest_generation, reuse_seconds);
end
$$;

CREATE FUNCTION accounts.guest(full_name text DEFAULT NULL::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.identified_account(provider text, subject text, email text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.keep_ticket(hash text, user_id uuid, sealed_token text, token_expires double precision DEFAULT NULL::double precision) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform accounts.store_ticket(hash, user_id, sealed_token, token_expires);
end
$$;

CREATE FUNCTION accounts.logout(user_id uuid, session_id uuid, everywhere boolean) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    ended integer;
begin
    update app.sessions s set revoked_at = pg_catalog.now()
     where s.user_id = logout.user_id and s.revoked_at is null and (everywhere or s.id = logout.session_id);
    get diagnostics ended = row_count;
    return ended;
end
$$;

CREATE FUNCTION accounts.merge_external_guest(user_id uuid, guest_id uuid) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.merge_guest(user_id uuid, password_hash text, session_id uuid, generation integer, reuse_seconds integer) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    guest auth.users;
    session app.sessions;
    merged app.merged_guests;
begin
    -- Lock the guest's account: of two merges, or a merge and an upgrade, the second sees the result of the first.
    select u.* into guest from auth.users u
     where u.id = (select s.user_id from app.sessions s where s.id = session_id) for update;
    -- A concurrent change of the account's password waits for the merge, or is seen here.
    perform 1 from auth.users u
     where u.id = merge_guest.user_id and u.deleted_at is null and not app.is_banned(u)
       and nullif(u.encrypted_password::text, '') is not distinct from merge_guest.password_hash for share;
    if not found then
        perform app.refuse_sign_in(merge_guest.user_id);
    end if;
    select g.* into merged from app.merged_guests g
     where g.guest_id = guest.id and g.account_id = merge_guest.user_id;
    if not found then
        select s.* into session from app.sessions s where s.id = session_id;
        if not coalesce(guest.is_anonymous and guest.deleted_at is null
                        and app.accepts_generation(session, generation, reuse_seconds), false)
           or (select u.is_anonymous from auth.users u where u.id = merge_guest.user_id) then
            raise exception using errcode = 'PL004', message = 'This guest does not exist.';
        end if;
        merged := app.merge_users(guest.id, merge_guest.user_id);
    end if;
    return pg_catalog.format('{"conversations":%s,"messages":%s}', merged.conversations, merged.messages);
end
$$;

CREATE FUNCTION accounts.open_session(session_id uuid, user_id uuid, password_hash text) RETURNS TABLE(generation integer, email text, phone text, is_anonymous boolean, app_metadata json, user_metadata json)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    -- Waits for a concurrent change of the password, ban, deletion or merge. A later one waits for this, and ends the
    -- session.
    update auth.users u set last_sign_in_at = pg_catalog.now()
     where u.id = open_session.user_id and u.deleted_at is null and not app.is_banned(u)
       and nullif(u.encrypted_password::text, '') is not distinct from open_session.password_hash;
    if not found then
        perform app.refuse_sign_in(open_session.user_id);
    end if;
    perform accounts.ensure_profile(user_id, null);
    update app.sessions s set revoked_at = pg_catalog.now()
     where s.id in (select l.id from app.sessions l
                     where l.user_id = open_session.user_id and l.revoked_at is null
                     order by l.refreshed_at desc, l.id offset 99);
    perform app.prune_sessions();
    return query
        with opened as (
            insert into app.sessions as s (id, user_id, refreshed_at)
            values (open_session.session_id, open_session.user_id, app.now())
            returning s.generation)
        select o.generation, coalesce(u.email::text, ''), coalesce(u.phone::text, ''),
               coalesce(u.is_anonymous, false), coalesce(u.raw_app_meta_data, '{}')::json, '{}'::json
          from opened o, auth.users u where u.id = open_session.user_id;
end
$$;

CREATE FUNCTION accounts.password_hash(user_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (select nullif(u.encrypted_password::text, '') from auth.users u
             where u.id = password_hash.user_id and u.deleted_at is null);
end
$$;

CREATE FUNCTION accounts.record_mail_results(ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
begin
    with said as materialized (
        select * from unnest(ids, tries, outcomes, errors, retry_seconds) as u (id, tries, outcome, error, retry)),
    -- A row that another transaction has locked becomes due again by itself.
    held as materialized (
        select m.id, s.outcome, s.error, s.retry
          from said s join app.mails m on m.id = s.id
         where s.outcome = 'taken' or m.attempts = s.tries + 1
           for update of m skip locked),
    sent as (
        delete from app.mails m using held h where m.id = h.id and h.outcome = 'taken')
    update app.mails m
       set last_error = pg_catalog.left(h.error, 500),
           due_at = case h.outcome when 'later' then pg_catalog.clock_timestamp() + h.retry * interval '1 second' end
      from held h
     where m.id = h.id and h.outcome <> 'taken';
end
$$;

CREATE FUNCTION accounts.redeem_ticket(hash text, is_used boolean DEFAULT false) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    update app.stream_tickets t set is_used = true, expires_at = coalesce(t.resumes_until, t.expires_at)
     where t.hash = decode(redeem_ticket.hash, 'hex') and t.is_used = redeem_ticket.is_used and t.expires_at > app.now()
    returning encode(t.sealed_token, 'hex')
$$;

CREATE FUNCTION accounts.refresh(session_id uuid, generation integer, reuse_seconds integer) RETURNS TABLE(outcome text, user_id uuid, active_generation integer, email text, phone text, is_anonymous boolean, app_metadata json, user_metadata json)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    session app.sessions;
begin
    select s.* into session from app.sessions s where s.id = refresh.session_id for update;
    if not found or generation is null or generation > session.generation then
        outcome := 'unknown';
        return next;
        return;
    elsif session.revoked_at is null and not app.accepts_generation(session, generation, reuse_seconds) then
        update app.sessions s set revoked_at = pg_catalog.now() where s.id = session.id
        returning s.* into session;
    end if;
    if session.revoked_at is not null or exists (
           select from auth.users u
            where u.id = session.user_id and (u.deleted_at is not null or app.is_banned(u))) then
        outcome := 'revoked';
        return next;
        return;
    end if;
    if generation = session.generation then
        update app.sessions s set generation = s.generation + 1, refreshed_at = app.now() where s.id = session.id
        returning s.* into session;
    end if;
    return query
        select 'active', u.id, session.generation, coalesce(u.email::text, ''), coalesce(u.phone::text, ''),
               coalesce(u.is_anonymous, false), coalesce(u.raw_app_meta_data, '{}')::json, '{}'::json
          from auth.users u where u.id = session.user_id;
end
$$;

CREATE FUNCTION accounts.register(email text, password_hash text, username text, full_name text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return accounts.register(email, password_hash, username, full_name, false, null);
end
$$;

CREATE FUNCTION accounts.register(email text, password_hash text, username text, full_name text, needs_proof boolean, most integer) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.renew_hash(user_id uuid, old_hash text, new_hash text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update auth.users u set encrypted_password = new_hash, updated_at = pg_catalog.now()
     where u.id = renew_hash.user_id and u.encrypted_password = old_hash and u.deleted_at is null;
    return accounts.password_hash(renew_hash.user_id);
end
$$;

CREATE FUNCTION accounts.request_email_change(user_id uuid, password_hash text, email text, most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.request_password_reset(email text, most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.queue_mail('reset_password', app.checked_email(email), null, most);
end
$$;

CREATE FUNCTION accounts.reset_password(token_hash text, password_hash text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.resettable_account(token_hash text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (app.mail_token_account(token_hash, array['reset_password'])).id;
end
$$;

CREATE FUNCTION accounts.settle_mails(ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform accounts.record_mail_results(ids, tries, outcomes, errors, retry_seconds);
end
$$;

CREATE FUNCTION accounts.sign_in_by_identity(provider text, subject text, email text, full_name text, token_hash text, expires_at double precision, guest_session uuid, guest_generation integer, reuse_seconds integer) RETURNS TABLE(user_id uuid, password_hash text, merged json)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.store_ticket(hash text, user_id uuid, sealed_token text, token_expires double precision DEFAULT NULL::double precision) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.stream_tickets t where t.expires_at <= app.now();
    delete from app.stream_tickets t
     where t.hash in (select o.hash from app.stream_tickets o
                       where o.user_id = store_ticket.user_id order by o.is_used, o.expires_at desc offset 9);
    insert into app.stream_tickets (hash, user_id, sealed_token, expires_at, resumes_until)
    values (decode(store_ticket.hash, 'hex'), store_ticket.user_id, decode(store_ticket.sealed_token, 'hex'),
            app.now() + interval '30 seconds',
            least(to_timestamp(store_ticket.token_expires), app.now() + interval '1 day'));
end
$$;

CREATE FUNCTION accounts.take_mails(hashes text[]) RETURNS TABLE(id uuid, kind text, email text, user_id uuid, locale text, attempts integer, token_hash text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query select * from accounts.claim_mails(hashes);
end
$$;

CREATE FUNCTION accounts.take_ticket(hash text, is_used boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return accounts.redeem_ticket(hash, is_used);
end
$$;

CREATE FUNCTION accounts.upgrade(user_id uuid, email text, password_hash text, full_name text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform accounts.upgrade(user_id, email, password_hash, full_name, false, null);
end
$$;

CREATE FUNCTION accounts.upgrade(user_id uuid, email text, password_hash text, full_name text, needs_proof boolean, most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION accounts.use_session(user_id uuid, session_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not exists (select from app.sessions s
                    where s.id = session_id and s.user_id = use_session.user_id and s.revoked_at is null) then
        raise exception using errcode = 'PL006', message = 'This session has ended. Sign in again.';
    end if;
    return accounts.ensure_profile(user_id, null);
end
$$;

CREATE FUNCTION admin.add_filter_rule(operator text, word text, scope text, action text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    folded text := case word when '*' then word else admin.filter_word(word) end;
    scopes text[] := case when scope is null and action = 'hold' then '{messages}' else admin.filter_scopes(scope) end;
begin
    if not coalesce(action in ('refuse', 'mask', 'hold'), false) then
        raise exception using errcode = 'PA001', message = 'The action must be refuse, mask or hold.';
    elsif action = 'hold' and scopes <> '{messages}' then
        raise exception using errcode = 'PA001', message = 'Only messages can be held: give --scope messages, or none.';
    elsif folded = '*' and action <> 'hold' then
        raise exception using errcode = 'PA001', message = 'The word * is every message, which can only be held.';
    end if;
    insert into app.filter_rules as f (scope, word, action)
    select s, folded, add_filter_rule.action from unnest(scopes) s
    on conflict on constraint filter_rules_pkey do update set action = excluded.action;
    perform admin.record_action(operator, 'add-filter-rule', null, pg_catalog.jsonb_build_object(
        'word', folded, 'scopes', scopes, 'action', action));
    return pg_catalog.json_build_object('word', folded, 'scopes', scopes, 'action', action);
end
$$;

CREATE FUNCTION admin.check_limit(most integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not coalesce(most between 1 and 1000, false) then
        raise exception using errcode = 'PA001', message = 'The limit must be 1 to 1000.';
    end if;
end
$$;

CREATE FUNCTION admin.checked_id(value text, what text) RETURNS uuid
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    if not coalesce(value ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', false) then
        raise exception using errcode = 'PA001',
            message = pg_catalog.format('The id of a %s must be a UUID (got "%s").', what, pg_catalog.left(value, 80));
    end if;
    return value::uuid;
end
$_$;

CREATE FUNCTION admin.checked_until(until text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    ends_at timestamptz;
begin
    if until is null then
        return null;
    elsif until ~ '^[1-9][0-9]{0,4}[mhd]$' then
        return pg_catalog.now() + pg_catalog.left(until, -1)::integer
            * case pg_catalog.right(until, 1)
                  when 'm' then interval '1 minute' when 'h' then interval '1 hour' else interval '1 day' end;
    end if;
    begin
        ends_at := app.checked_time('until',
            case when until ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then until || 'T00:00:00Z' else until end);
    exception when sqlstate 'PL001' then
        raise exception using errcode = 'PA001',
            message = 'The end must be a time (2026-12-01T08:00:00Z), a day (2026-12-01) or a duration (30m, 12h, 7d).';
    end;
    if ends_at <= pg_catalog.now() then
        raise exception using errcode = 'PA001', message = 'The end must be in the future.';
    end if;
    return ends_at;
end
$_$;

CREATE FUNCTION admin.decide_held(operator text, conversation text, seq bigint, is_released boolean) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    conversation_id uuid := admin.checked_id(conversation, 'conversation');
    held app.held_messages := app.locked_held(conversation_id, seq);
begin
    if held.message_id is null then
        raise exception using errcode = 'PA002', message = 'There is no such held message.';
    elsif not is_released then
        perform app.reject_held(held);
    elsif not app.release_held(held) then
        raise exception using errcode = 'PA004',
            message = 'Its sender can no longer write in the conversation: reject the message.';
    end if;
    perform admin.record_action(
        operator, case when is_released then 'release-message' else 'reject-message' end, held.sender_id,
        pg_catalog.jsonb_build_object('conversation', conversation_id, 'seq', seq));
    return pg_catalog.json_build_object(
        'conversation_id', conversation_id, 'seq', seq, 'is_released', is_released,
        'sender', admin.user_object(held.sender_id, false));
end
$$;

CREATE FUNCTION admin.delete_user(operator text, who text, reason text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users := admin.locked_user(who);
    living integer := (select count(*) from app.sessions s where s.user_id = account.id and s.revoked_at is null);
begin
    if pg_catalog.octet_length(reason) > 1000 then
        raise exception using errcode = 'PA001', message = 'The reason must be at most 1000 bytes long.';
    end if;
    -- An account that no trigger saw has no profile yet.
    perform app.upsert_profile(account);
    update public.user_profiles p set is_deleted = true where p.id = account.id;
    perform admin.record_action(operator, 'delete', account.id, pg_catalog.jsonb_build_object(
        'reason', reason, 'ended_sessions', living));
    return pg_catalog.json_build_object('user', admin.user_object(account.id, false), 'ended_sessions', living);
end
$$;

CREATE FUNCTION admin.disable(operator text, who text, until text, reason text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users := admin.locked_user(who);
    -- Not infinity, which Supabase's auth server cannot read.
    ends_at timestamptz := coalesce(admin.checked_until(until), '9999-12-31T00:00:00Z');
    living integer := (select count(*) from app.sessions s where s.user_id = account.id and s.revoked_at is null);
begin
    if pg_catalog.octet_length(reason) > 1000 then
        raise exception using errcode = 'PA001', message = 'The reason must be at most 1000 bytes long.';
    end if;
    update auth.users u set banned_until = ends_at, updated_at = pg_catalog.now() where u.id = account.id;
    perform admin.record_action(operator, 'disable', account.id, pg_catalog.jsonb_build_object(
        'until', admin.utc(ends_at), 'reason', reason, 'ended_sessions', living));
    return pg_catalog.json_build_object('user', admin.user_object(account.id, false), 'ended_sessions', living);
end
$$;

CREATE FUNCTION admin.enable(operator text, who text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users := admin.locked_user(who);
    was_disabled boolean := app.is_banned(account);
begin
    update auth.users u set banned_until = null, updated_at = pg_catalog.now()
     where u.id = account.id and u.banned_until is not null;
    perform admin.record_action(operator, 'enable', account.id, pg_catalog.jsonb_build_object(
        'was_disabled', was_disabled));
    return pg_catalog.json_build_object('user', admin.user_object(account.id, false), 'was_disabled', was_disabled);
end
$$;

CREATE FUNCTION admin.end_sessions(operator text, who text, session text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    whom uuid := admin.user_id(who);
    one uuid := case when session is not null then admin.checked_id(session, 'session') end;
    ended integer;
begin
    if one is not null and not exists (select from app.sessions s where s.id = one and s.user_id = whom) then
        raise exception using errcode = 'PA002', message = 'This user has no such session.';
    end if;
    -- Waits for a concurrent sign-in, and ends its session.
    perform 1 from auth.users u where u.id = whom for update;
    update app.sessions s set revoked_at = pg_catalog.now()
     where s.user_id = whom and s.revoked_at is null and (one is null or s.id = one);
    get diagnostics ended = row_count;
    perform admin.record_action(operator, 'end-sessions', whom, pg_catalog.jsonb_build_object(
        'session', one, 'ended_sessions', ended));
    return pg_catalog.json_build_object('user', admin.user_object(whom, false), 'ended_sessions', ended);
end
$$;

CREATE FUNCTION admin.filter_rules(most integer) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('rules', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'word', r.word, 'scope', r.scope, 'action', r.action, 'created_at', app.utc(r.created_at))
                   order by r.word, r.scope)
          from (select * from app.filter_rules f order by f.word, f.scope limit most) r), '[]'),
        'total', (select count(*) from app.filter_rules));
end
$$;

CREATE FUNCTION admin.filter_scopes(scope text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if scope not in ('messages', 'names', 'titles') then
        raise exception using errcode = 'PA001', message = 'The scope must be messages, names or titles.';
    end if;
    return case when scope is null then '{messages,names,titles}'::text[] else array[scope] end;
end
$$;

CREATE FUNCTION admin.filter_word(word text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    words text[] := app.filtered_words(word);
begin
    if pg_catalog.cardinality(words) is distinct from 1 or pg_catalog.char_length(words[1]) > 50 then
        raise exception using errcode = 'PA001',
            message = 'Give one word of 2 to 50 letters, without digits, blanks and punctuation.';
    end if;
    return words[1];
end
$$;

CREATE FUNCTION admin.held_messages(most integer, after text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (app.held_page(most, after, null)::jsonb || pg_catalog.jsonb_build_object(
        'pending', (app.held_counts()).pending))::json;
exception when sqlstate 'PL001' then
    raise exception using errcode = 'PA001', message = pg_catalog.replace(sqlerrm, '"', '');
end
$$;

CREATE TABLE auth.users (
    instance_id uuid,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    aud character varying(255),
    role character varying(255),
    email character varying(255),
    encrypted_password character varying(255),
    email_confirmed_at timestamp with time zone,
    invited_at timestamp with time zone,
    confirmation_token character varying(255),
    confirmation_sent_at timestamp with time zone,
    recovery_token character varying(255),
    recovery_sent_at timestamp with time zone,
    email_change_token_new character varying(255),
    email_change character varying(255),
    email_change_sent_at timestamp with time zone,
    last_sign_in_at timestamp with time zone,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    is_super_admin boolean,
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    phone text,
    phone_confirmed_at timestamp with time zone,
    phone_change text DEFAULT ''::text,
    phone_change_token character varying(255) DEFAULT ''::character varying,
    phone_change_sent_at timestamp with time zone,
    confirmed_at timestamp with time zone GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
    email_change_token_current character varying(255) DEFAULT ''::character varying,
    email_change_confirm_status smallint DEFAULT 0,
    banned_until timestamp with time zone,
    reauthentication_token character varying(255) DEFAULT ''::character varying,
    reauthentication_sent_at timestamp with time zone,
    is_sso_user boolean DEFAULT false NOT NULL,
    deleted_at timestamp with time zone,
    is_anonymous boolean DEFAULT false NOT NULL
);

CREATE FUNCTION admin.locked_user(who text) RETURNS auth.users
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users;
begin
    select u.* into account from auth.users u where u.id = admin.user_id(who) for update;
    if exists (select from public.user_profiles p where p.id = account.id and p.is_deleted) then
        raise exception using errcode = 'PA004', message = 'This account is deleted and cannot be restored.';
    end if;
    return account;
end
$$;

CREATE FUNCTION admin.log(who text, most integer) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    whom uuid := case when who is not null then admin.user_id(who) end;
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('orders', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'id', a.id, 'at', app.utc(a.at), 'operator', a.operator, 'database_role', a.database_role,
                   'action', a.action, 'user_id', a.user_id, 'detail', a.detail) order by a.id desc)
          from (select * from admin.audit l where whom is null or l.user_id = whom
                 order by l.id desc limit most) a), '[]'),
        'total', (select count(*) from admin.audit l where whom is null or l.user_id = whom));
end
$$;

CREATE FUNCTION admin.mails(most integer, in_full boolean) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('mails', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'id', l.id, 'kind', l.kind, 'email', admin.masked_email(l.email, in_full), 'user_id', l.user_id,
                   'state', case when l.due_at is null then 'given_up' else 'waiting' end,
                   'created_at', app.utc(l.created_at), 'attempts', l.attempts, 'due_at', app.utc(l.due_at),
                   -- Mail servers often quote the address.
                   'last_error', case when in_full then l.last_error else pg_catalog.regexp_replace(
                       l.last_error, '[^\s<>"]+@[^\s<>"]+', '…', 'g') end)
                   order by l.created_at, l.id)
          from (select * from app.mails m order by m.created_at, m.id limit most) l), '[]'),
        'total', (select count(*) from app.mails));
end
$$;

CREATE FUNCTION admin.masked_email(email text, in_full boolean) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    return case when in_full then email else pg_catalog.regexp_replace(email, '^(.).*(@[^@]*)$', '\1…\2') end;
end
$_$;

CREATE FUNCTION admin.matching_users(who text) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    wanted text := app.lower_ascii(pg_catalog.btrim(who, E' \t\n\r'));
begin
    if coalesce(wanted, '') = '' then
        raise exception using errcode = 'PA001', message = 'Name the user by id, email address or username.';
    end if;
    return query
        select u.id from auth.users u
         where u.id = case when wanted ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then wanted::uuid end
        union
        select u.id from auth.users u where u.email = wanted
        union
        select p.id from public.user_profiles p where p.username = pg_catalog.ltrim(wanted, '@');
end
$_$;

CREATE FUNCTION admin.pushes(most integer) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('pushes', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'device_id', l.device_id, 'platform', d.platform, 'user_id', d.user_id, 'username', p.username,
                   'conversation_id', l.conversation_id, 'seq', l.seq, 'attempts', l.attempts,
                   'noted_at', app.utc(l.noted_at), 'due_at', app.utc(l.due_at))
                   order by l.noted_at, l.device_id, l.conversation_id)
          from (select w.* from admin.waiting_pushes() w
                 order by w.noted_at, w.device_id, w.conversation_id limit most) l
          join app.devices d on d.id = l.device_id
          left join public.user_profiles p on p.id = d.user_id), '[]'),
        'total', (select count(*) from admin.waiting_pushes()));
end
$$;

CREATE FUNCTION admin.record_action(operator text, action text, user_id uuid, detail jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not coalesce(octet_length(operator) between 1 and 200 and operator !~ '[\u0001-\u001f\u007f]', false) then
        raise exception using errcode = 'PA001',
            message = 'The operator''s name is missing or too long: give --as NAME of at most 200 bytes.';
    end if;
    insert into admin.audit (operator, action, user_id, detail)
    values (record_action.operator, record_action.action, record_action.user_id,
            pg_catalog.jsonb_strip_nulls(record_action.detail));
end
$$;

CREATE FUNCTION admin.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'restrict_violation',
        message = 'Rows of the audit log cannot be changed or deleted.';
end
$$;

CREATE FUNCTION admin.remove_filter_rule(operator text, word text, scope text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    folded text := case word when '*' then word else admin.filter_word(word) end;
    removed integer;
begin
    delete from app.filter_rules f
     where f.word = folded and f.scope = any (admin.filter_scopes(remove_filter_rule.scope));
    get diagnostics removed = row_count;
    if removed = 0 then
        raise exception using errcode = 'PA002', message = 'The filter does not have this word.';
    end if;
    perform admin.record_action(operator, 'remove-filter-rule', null, pg_catalog.jsonb_build_object(
        'word', folded, 'removed', removed));
    return pg_catalog.json_build_object('word', folded, 'removed', removed);
end
$$;

CREATE FUNCTION admin.report(id text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    stored app.reports;
begin
    select r.* into stored from app.reports r where r.id = admin.checked_id(report.id, 'report');
    if stored.id is null then
        raise exception using errcode = 'PA002', message = 'There is no such report.';
    end if;
    return app.report_with_evidence(stored);
end
$$;

CREATE FUNCTION admin.reports(state text, most integer, after text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (app.report_page(state, most, after)::jsonb || pg_catalog.jsonb_build_object(
        'pending', (app.report_counts()).pending))::json;
exception when sqlstate 'PL001' then
    raise exception using errcode = 'PA001', message = pg_catalog.replace(sqlerrm, '"', '');
end
$$;

CREATE FUNCTION admin.retry_mails(operator text, mail text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    one uuid := case when mail is not null then admin.checked_id(mail, 'mail') end;
    whom uuid := (select m.user_id from app.mails m where m.id = one);
    retried integer;
begin
    update app.mails m set due_at = pg_catalog.now(), attempts = 0 where one is null or m.id = one;
    get diagnostics retried = row_count;
    if one is not null and retried = 0 then
        raise exception using errcode = 'PA002', message = 'This mail does not exist, or was already sent.';
    end if;
    perform admin.record_action(operator, 'retry-mail', whom, pg_catalog.jsonb_build_object(
        'mail', one, 'retried', retried));
    return pg_catalog.json_build_object('retried', retried);
end
$$;

CREATE FUNCTION admin.retry_pushes(operator text, device text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    one uuid := case when device is not null then admin.checked_id(device, 'device') end;
    whom uuid := (select d.user_id from app.devices d where d.id = one);
    retried integer;
    reactions integer;
begin
    if one is not null and whom is null then
        raise exception using errcode = 'PA002', message = 'There is no such device.';
    end if;
    update app.pushes p set due_at = pg_catalog.clock_timestamp(), attempts = 0
     where p.due_at is not null and (one is null or p.device_id = one);
    get diagnostics retried = row_count;
    update app.reaction_pushes p set due_at = pg_catalog.clock_timestamp(), attempts = 0
     where one is null or p.device_id = one;
    get diagnostics reactions = row_count;
    retried := retried + reactions;
    perform admin.record_action(operator, 'retry-push', whom, pg_catalog.jsonb_build_object(
        'device', one, 'retried', retried));
    return pg_catalog.json_build_object('retried', retried);
end
$$;

CREATE FUNCTION admin.sessions(who text, ended boolean, most integer) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    whom uuid := admin.user_id(who);
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('user', admin.user_object(whom, false), 'sessions', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'id', l.id, 'created_at', app.utc(l.created_at), 'refreshed_at', app.utc(l.refreshed_at),
                   'ended_at', app.utc(l.revoked_at),
                   'devices', array(select d.platform from app.devices d where d.session_id = l.id order by 1))
                   order by l.refreshed_at desc, l.id)
          from (select * from app.sessions s
                 where s.user_id = whom and (ended or s.revoked_at is null)
                 order by s.refreshed_at desc, s.id limit most) l), '[]'));
end
$$;

CREATE FUNCTION admin.set_moderator(operator text, who text, is_moderator boolean) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users := admin.locked_user(who);
    was_moderator boolean;
begin
    perform app.upsert_profile(account);
    select s.is_moderator into was_moderator from public.user_private s where s.id = account.id;
    if coalesce(account.is_anonymous, false) and set_moderator.is_moderator then
        raise exception using errcode = 'PA004', message = 'A guest cannot be a moderator.';
    end if;
    update public.user_private s set is_moderator = set_moderator.is_moderator
     where s.id = account.id and s.is_moderator <> set_moderator.is_moderator;
    perform admin.record_action(operator, 'moderator', account.id, pg_catalog.jsonb_build_object(
        'is_moderator', is_moderator));
    return pg_catalog.json_build_object(
        'user', admin.user_object(account.id, false), 'is_moderator', is_moderator, 'was_moderator', was_moderator);
end
$$;

CREATE FUNCTION admin.user_id(who text) RETURNS uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    found_ids uuid[] := array(select n from admin.matching_users(who) n order by n limit 11);
begin
    if pg_catalog.cardinality(found_ids) = 1 then
        return found_ids[1];
    elsif pg_catalog.cardinality(found_ids) = 0 then
        raise exception using errcode = 'PA002',
            message = pg_catalog.format(
                'No user has the id, email address or username %s. `postline admin user` also searches in names.',
                pg_catalog.left(who, 320));
    end if;
    raise exception using errcode = 'PA003',
        message = pg_catalog.format('%s matches several users. Give the id of one: %s.', pg_catalog.left(who, 320),
            (select pg_catalog.string_agg(
                        pg_catalog.concat_ws(' ', f.id::text, '(' || p.full_name || ')', '@' || p.username), ', '
                        order by f.place)
               from unnest(found_ids) with ordinality f (id, place)
               left join public.user_profiles p on p.id = f.id));
end
$$;

CREATE FUNCTION admin.user_object(user_id uuid, in_full boolean) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (
        select pg_catalog.json_build_object(
                   'id', u.id, 'username', p.username, 'full_name', p.full_name,
                   'email', admin.masked_email(nullif(u.email::text, ''), in_full),
                   'email_confirmed_at', admin.utc(u.email_confirmed_at),
                   'is_guest', coalesce(u.is_anonymous, false),
                   'is_moderator', coalesce((
                       select s.is_moderator from public.user_private s where s.id = u.id), false),
                   'created_at', admin.utc(coalesce(u.created_at, p.created_at)),
                   'last_sign_in_at', admin.utc(u.last_sign_in_at),
                   'disabled_until', case when app.is_banned(u) then admin.utc(u.banned_until) end,
                   'is_deleted', u.deleted_at is not null or coalesce(p.is_deleted, false),
                   'deleted_at', admin.utc(u.deleted_at),
                   'sessions', (select count(*) from app.sessions s
                                 where s.user_id = u.id and s.revoked_at is null),
                   'devices', (select count(*) from app.devices d where d.user_id = u.id),
                   'conversations', (select count(*) from public.conversation_members m
                                      where m.user_id = u.id and not m.is_deleted))
          from auth.users u left join public.user_profiles p on p.id = u.id
         where u.id = user_object.user_id);
end
$$;

CREATE FUNCTION admin.users(query text, most integer, in_full boolean) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    exact uuid[] := array(select n from admin.matching_users(query) n);
    -- Names are compared folded, as in a search.
    pattern text := '%' || pg_catalog.regexp_replace(
        app.folded(pg_catalog.btrim(query, E' \t\n\r')), '([\\%_])', '\\\1', 'g') || '%';
    ids uuid[];
begin
    perform admin.check_limit(most);
    -- One more shows that there are more.
    ids := array(
        select f.id from (
            select e as id, 0 as rank, null::text as name from unnest(exact) e
            union all
            (select p.id, 1, k.name
               from (select s.user_id as id, s.full_name as name from app.search_names s
                      where s.full_name like pattern or s.spelled_out like pattern or s.username like pattern
                     union all
                     -- A search finds no guests and no deleted users.
                     select p.id, app.folded(p.full_name) collate "C" from public.user_profiles p
                      where (p.is_guest or p.is_deleted) and app.folded(p.full_name) like pattern) k
               join public.user_profiles p on p.id = k.id
              where p.id <> all (exact)
              order by k.name, p.id limit most + 1)) f
         order by f.rank, f.name, f.id limit most + 1);
    if pg_catalog.cardinality(ids) = 0 then
        raise exception using errcode = 'PA002',
            message = pg_catalog.format(
                'No user has the id, email address or username %s, or a name that contains it.',
                pg_catalog.left(query, 320));
    end if;
    return pg_catalog.json_build_object(
        'users', (select pg_catalog.json_agg(admin.user_object(i.id, in_full) order by i.place)
                    from unnest(ids[:most]) with ordinality i (id, place)),
        'has_more', pg_catalog.cardinality(ids) > most);
end
$$;

CREATE FUNCTION admin.utc(value timestamp with time zone) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return case when value is not null then app.utc(least(value, '9999-12-31T23:59:59Z')) end;
end
$$;

CREATE TABLE app.pushes (
    device_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    told_seq bigint DEFAULT 0 NOT NULL,
    noted_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    sender_id uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE app.reaction_pushes (
    device_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    user_id uuid NOT NULL,
    emoji text NOT NULL,
    noted_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL
);

CREATE FUNCTION admin.waiting_pushes() RETURNS TABLE(device_id uuid, conversation_id uuid, seq bigint, attempts integer, noted_at timestamp with time zone, due_at timestamp with time zone)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT w.device_id,
     w.conversation_id,
     w.seq,
     w.attempts,
     w.noted_at,
     w.due_at
    FROM app.pushes w
   WHERE (w.due_at IS NOT NULL)
 UNION ALL
  SELECT r.device_id,
     r.conversation_id,
     r.seq,
     r.attempts,
     r.noted_at,
     r.due_at
    FROM app.reaction_pushes r;
END;

CREATE FUNCTION api.add_members(conversation_id uuid, user_ids uuid[], profiles boolean DEFAULT false) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
begin
    if seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation cannot have more members.');
    elsif seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can add members.');
    end if;
    insert into public.conversation_members (conversation_id, user_id)
    select add_members.conversation_id, u.id
      from unnest(app.distinct_ids('user_ids', user_ids, array(
            select m.user_id from public.conversation_members m
             where m.conversation_id = add_members.conversation_id))) as u (id);
    return api.conversation(conversation_id, profiles);
end
$$;

CREATE FUNCTION api.append_to_message(conversation_id uuid, seq bigint, start bigint, content text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return pg_catalog.json_build_object(
        'conversation_id', conversation_id, 'seq', seq,
        'length', app.append_piece(conversation_id, seq, start, content));
end
$$;

CREATE FUNCTION api.assign_report(id uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.assign_report(id);
end
$$;

CREATE FUNCTION api.avatars() RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (
        select ('{"avatars":[' || coalesce(pg_catalog.string_agg(pg_catalog.row_to_json(w)::text, ','
                order by a."position", a.id), '') || ']}')::json
          from (select * from public.built_in_avatars a order by a."position", a.id limit 4096) a
         cross join lateral (select a.id, a.name, a.color) w);
end
$$;

CREATE FUNCTION api.ban_user(user_id uuid, until text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.ban_user(user_id, app.checked_time('until', until));
end
$$;

CREATE FUNCTION api.block_user(user_id uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
begin
    if user_id is null then
        perform app.refuse_param('user_id', '"user_id" must be another user.');
    elsif not exists (select from public.blocks b
                       where b.blocker_id = me and b.blocked_id = block_user.user_id) then
        insert into public.blocks (blocker_id, blocked_id) values (me, user_id) on conflict do nothing;
    end if;
    return api.blocked_users();
end
$$;

CREATE FUNCTION api.blocked_users() RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return pg_catalog.json_build_object('user_ids', array(
        select b.blocked_id from public.blocks b
         where b.blocker_id = app.caller() order by b.blocked_at, b.blocked_id));
end
$$;

CREATE FUNCTION api.change_username(username text, if_version bigint DEFAULT NULL::bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.locked_caller(if_version);
    perform app.change_username(username);
    return api.me();
end
$$;

CREATE FUNCTION api.compatible_conversations(max_results integer DEFAULT 50, before text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    page json := api.conversations(max_results, before);
    people text;
    answer text;
begin
    if not exists (
        select from app.profile_details d
         where d.first_name_length is not null
           and d.user_id in (select (p ->> 'id')::uuid from pg_catalog.json_array_elements(page -> 'profiles') p)) then
        return page;
    end if;
    select pg_catalog.string_agg(
               case when d.first_name_length is null then p.object::text
                    else pg_catalog.left(p.object::text, -1) || ',"first_name_length":' || d.first_name_length || '}'
               end, ',' order by p.place)
      into people
      from pg_catalog.json_array_elements(page -> 'profiles') with ordinality p (object, place)
      left join app.profile_details d on d.user_id = (p.object ->> 'id')::uuid;
    answer := '{"conversations":' || (page ->> 'conversations') || ',"profiles":[' || people || '],"next":'
              || (page -> 'next')::text || '}';
    if pg_catalog.octet_length(answer) > app.answer_bytes() and max_results > 1 then
        return api.compatible_conversations(
            greatest(1, least(max_results, pg_catalog.json_array_length(page -> 'conversations')) / 2), before);
    end if;
    return answer::json;
end
$$;

CREATE FUNCTION api.compatible_me() RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    object json := api.me();
    details app.profile_details;
    version_second text;
begin
    select * into details from app.profile_details d where d.user_id = app.caller();
    version_second := coalesce(
        pg_catalog.to_char(details.version_second at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        pg_catalog.left(object ->> 'updated_at', 19) || 'Z');
    return (pg_catalog.left(object::text, -1) || ',"version_second":"' || version_second || '"'
            || coalesce(',"first_name_length":' || details.first_name_length, '') || '}')::json;
end
$$;

CREATE FUNCTION api.conversation(conversation_id uuid, profiles boolean DEFAULT false) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    answer text;
    people text[];
begin
    select c.object into answer from app.conversation_objects c
     where c.id = conversation.conversation_id and c.user_id = me;
    if answer is null then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    if profiles then
        select pg_catalog.array_agg(p.object::text order by m.joined_at, m.user_id) into people
          from public.conversation_members m
          join app.profile_objects p on p.id = m.user_id
         where m.conversation_id = conversation.conversation_id;
        answer := pg_catalog.left(answer, -1) || ',"profiles":['
            || app.joined(people, room => app.answer_bytes() - pg_catalog.octet_length(answer)) || ']}';
    end if;
    return answer::json;
end
$$;

CREATE FUNCTION api.conversations(max_results integer DEFAULT 50, before text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    limit_time timestamptz;
    limit_id uuid;
    ids uuid[];
    times timestamptz[];
    objects text[];
    people uuid[];
    places integer[];   -- for each of the people, its first conversation on the page
    person record;
    profiles text[] := '{}';
    room bigint := app.answer_bytes();
    -- The first conversation may fill a response; others are added while the page is not full.
    reserve bigint := app.answer_bytes() - app.page_bytes();
    fitting integer := 0;   -- the number of conversations that fit
    complete integer := 0;  -- the number of profiles before the last of them
    more boolean;
    next text;
begin
    if not coalesce(max_results between 1 and 100, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 100.');
    end if;
    if before is not null then
        select p.created_at, p.id into limit_time, limit_id from app.parsed_position('before', before) p;
    end if;

    select pg_catalog.array_agg(page.id order by page.place), pg_catalog.array_agg(page.newest order by page.place)
      into ids, times
      from (
        select c.id, k.newest, row_number() over (order by k.newest desc, c.id desc) as place
          from public.conversation_members m
          join public.conversations c on c.id = m.conversation_id
         cross join lateral (select coalesce(c.last_message_time, c.created_at) as newest) k
         where m.user_id = me
           and (limit_time is null or (k.newest, c.id) < (limit_time, limit_id))
         order by place
         limit max_results + 1) page;
    more := pg_catalog.cardinality(ids) > max_results;
    ids := ids[:max_results];

    select pg_catalog.array_agg(c.object order by page.place) into objects
      from unnest(ids) with ordinality as page (id, place)
      join app.conversation_objects c on c.id = page.id and c.user_id = me;
    select pg_catalog.array_agg(w.user_id order by w.place, w.user_id),
           pg_catalog.array_agg(w.place order by w.place, w.user_id)
      into people, places
      from (select m.user_id, min(page.place) as place
              from unnest(ids) with ordinality as page (id, place)
              join public.conversation_members m on m.conversation_id = page.id
             group by m.user_id) w;

    -- A conversation comes with the profiles of all its members, or on the next page; the first with as many as fit.
    <<page>>
    begin
        -- In batches: the groups of a page may have 25,600 members.
        for batch in 0 .. coalesce((pg_catalog.cardinality(people) - 1) / 256, -1) loop
            for person in
                select w.place, p.object::text as object
                  from unnest(people[batch * 256 + 1:batch * 256 + 256], places[batch * 256 + 1:batch * 256 + 256])
                       as w (id, place)
                  join app.profile_objects p on p.id = w.id
                 order by w.place, w.id
            loop
                while fitting < person.place loop
                    room := room - 1 - pg_catalog.octet_length(objects[fitting + 1])
                        - case when fitting = 1 then reserve else 0 end;
                    exit page when room < 0 and fitting > 0;
                    fitting := fitting + 1;
                    complete := pg_catalog.cardinality(profiles);
                end loop;
                room := room - 1 - pg_catalog.octet_length(person.object);
                if room < 0 then
                    if fitting > 1 then
                        fitting := fitting - 1;
                        profiles := profiles[:complete];
                    end if;
                    exit page;
                end if;
                profiles := profiles || person.object;
            end loop;
        end loop;
        while fitting < pg_catalog.cardinality(ids) loop
            room := room - 1 - pg_catalog.octet_length(objects[fitting + 1])
                - case when fitting = 1 then reserve else 0 end;
            exit page when room < 0;
            fitting := fitting + 1;
        end loop;
    end;
    if more or fitting < pg_catalog.cardinality(ids) then
        next := app.page_position(times[fitting], ids[fitting]);
    end if;
    return ('{"conversations":[' || coalesce(pg_catalog.array_to_string(objects[:fitting], ','), '') || '],"profiles":['
            || pg_catalog.array_to_string(profiles, ',') || '],"next":'
            || coalesce(pg_catalog.to_json(next)::text, 'null') || '}')::json;
end
$$;

CREATE FUNCTION api.create_group(title text, member_ids uuid[], profiles boolean DEFAULT false, data jsonb DEFAULT NULL::jsonb) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    others uuid[] := app.distinct_ids('member_ids', member_ids, array[me]);
    made uuid;
begin
    if pg_catalog.cardinality(others) not between 1 and 255 then
        perform app.refuse_param('member_ids', '"member_ids" must name 1 to 255 users besides you.');
    end if;
    made := app.create_group(title);
    if data is not null then
        perform app.set_conversation_data(made, data);
    end if;
    insert into public.conversation_members (conversation_id, user_id) select made, u.id from unnest(others) as u (id);
    return api.conversation(made, profiles);
end
$$;

CREATE FUNCTION api.create_media(purpose text, mime_type text, bytes bigint, conversation_id uuid DEFAULT NULL::uuid, width integer DEFAULT NULL::integer, height integer DEFAULT NULL::integer, name text DEFAULT NULL::text, quota bigint DEFAULT NULL::bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    types constant text[] := '{image/jpeg,image/png,image/webp,image/gif,image/heic,video/mp4,video/quicktime,'
        'video/webm,audio/webm,audio/mp4,audio/mpeg,audio/ogg,audio/wav,application/pdf,text/plain,application/zip,'
        'application/octet-stream}';
begin
    perform app.caller();
    if not coalesce(purpose in ('avatar', 'message'), false) then
        perform app.refuse_param('purpose', '"purpose" must be "avatar" or "message".');
    elsif not coalesce(mime_type = any (types), false) then
        perform app.refuse_param('mime_type', pg_catalog.format(
            '"mime_type" must be %s or %s.', pg_catalog.array_to_string(types[:cardinality(types) - 1], ', '),
            types[cardinality(types)]));
    elsif not coalesce(bytes between 1 and 1073741824, false) then
        perform app.refuse_param('bytes', '"bytes" must be 1 or more.');
    elsif not coalesce(width between 1 and 65535, true) then
        perform app.refuse_param('width', '"width" must be 1 to 65535.');
    elsif not coalesce(height between 1 and 65535, true) then
        perform app.refuse_param('height', '"height" must be 1 to 65535.');
    elsif purpose = 'avatar' and not app.is_picture_type(mime_type) then
        perform app.refuse_param('mime_type', '"mime_type" of an avatar must be that of a picture.');
    elsif purpose = 'avatar' and conversation_id is not null then
        perform app.refuse_param('conversation_id', '"conversation_id" must not be given for an avatar.');
    elsif purpose = 'message' and conversation_id is null then
        perform app.refuse_param('conversation_id',
            '"conversation_id" is missing: a file of a message needs it.');
    elsif purpose = 'message' and not app.is_member(conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    elsif mime_type = 'application/octet-stream' and name is null then
        perform app.refuse_param('name', '"name" is missing: a file of type application/octet-stream needs it.');
    end if;
    return pg_catalog.json_build_object(
        'id', app.create_media(purpose, mime_type, bytes, conversation_id, width, height, name, quota));
end
$$;

CREATE FUNCTION api.create_report(conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return pg_catalog.json_build_object('id', app.create_report(conversation_id, seq, user_id, reason, comment));
end
$$;

CREATE FUNCTION api.delete_message(conversation_id uuid, seq bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
begin
    select m.* into message from public.messages m
     where m.conversation_id = delete_message.conversation_id and m.seq = delete_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif seat.role = 'member'
          and (message.sender_id <> me and not app.move_message(conversation_id, seq) or message.kind = 'system') then
        perform app.refuse_forbidden(
            'Only the sender of a message, or the owner or an admin of its group, can delete it.');
    elsif message.deleted_at is null then
        update public.messages m set deleted_at = pg_catalog.clock_timestamp()
         where m.conversation_id = delete_message.conversation_id and m.seq = delete_message.seq;
    else
        perform app.delete_held(conversation_id, seq);
    end if;
    return app.my_message(conversation_id, seq);
end
$$;

CREATE FUNCTION api.devices() RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (
        select ('{"devices":[' || coalesce(pg_catalog.string_agg(
                    pg_catalog.row_to_json(w)::text, ',' order by d.registered_at desc, d.id), '') || ']}')::json
          from app.devices d
         cross join lateral (
                select d.id, d.platform, pg_catalog.right(d.token, 6) as token, d.environment, d.locale,
                       app.utc(d.created_at) as created_at) w
         where d.user_id = app.caller());
end
$$;

CREATE FUNCTION api.edit_message(conversation_id uuid, seq bigint, content text, mentions uuid[] DEFAULT NULL::uuid[], mentions_everyone boolean DEFAULT NULL::boolean, data jsonb DEFAULT NULL::jsonb, keeps_data boolean DEFAULT true) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
begin
    select m.* into message from public.messages m
     where m.conversation_id = edit_message.conversation_id and m.seq = edit_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif message.sender_id <> me and not app.move_message(conversation_id, seq) or message.kind = 'system' then
        perform app.refuse_forbidden('Only the sender of a message can edit it.');
    elsif app.is_held(message.id) then
        perform app.refuse_forbidden('A moderator has to see this message first. It can be deleted, and sent again.');
    elsif message.deleted_at is not null then
        perform app.refuse_forbidden('A deleted message cannot be changed.');
    elsif app.may_be_empty(message.kind) then
        content := coalesce(content, '');
    elsif coalesce(content, '') = '' then
        perform app.refuse_content();
    end if;
    if pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    if keeps_data then
        data := message.data;
    end if;
    mentions_everyone := nullif(coalesce(mentions_everyone, message.mentions_everyone), false);
    mentions := case when mentions is null then message.mentions
                     else app.mentioned_members(conversation_id, mentions) end;
    if row(content, mentions, mentions_everyone, data)
       is distinct from row(message.content, message.mentions, message.mentions_everyone, message.data) then
        update public.messages m
           set content = edit_message.content, mentions = edit_message.mentions,
               mentions_everyone = edit_message.mentions_everyone, data = edit_message.data
         where m.conversation_id = edit_message.conversation_id and m.seq = edit_message.seq;
    end if;
    return app.my_message(conversation_id, seq);
end
$$;

CREATE FUNCTION api.export(after text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
declare
    me uuid := app.caller();
    part text[] := pg_catalog.regexp_match(
        coalesce(after, 'me'),
        '^(me|conversations|profiles|messages)(?::([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?::(\d{1,18}))?)?$');
    last uuid := coalesce(part[2], '00000000-0000-0000-0000-000000000000');
    objects text;
    newest text;
    next text;
begin
    if part is null then
        perform app.refuse_param('after', '"after" must be the "next" of a page.');
    elsif part[1] = 'me' then
        return app.export_page(app.export_own(me), 'conversations');
    elsif part[1] = 'conversations' then
        select pg_catalog.string_agg('{"conversation":' || c.object || '}', ',' order by c.id), max(c.id::text)
          into objects, newest
          from (select m.conversation_id as id from public.conversation_members m
                 where m.user_id = me and m.conversation_id > last
                 order by m.conversation_id limit 10) m
          join app.conversation_objects c on c.id = m.id and c.user_id = me;
        next := case when newest is null then 'profiles' else 'conversations:' || newest end;
    elsif part[1] = 'profiles' then
        select pg_catalog.string_agg('{"profile":' || p.object || '}', ',' order by p.id), max(p.id::text)
          into objects, newest
          from (select u.user_id as id
                  from (select m.user_id from public.conversation_members m
                        union
                        select f.user_id from app.former_members f where f.wrote) u
                 where u.user_id > last and u.user_id <> me order by u.user_id limit 100) u
          join app.profile_objects p on p.id = u.id;
        next := case when newest is null then 'messages' else 'profiles:' || newest end;
    elsif part[3] is null then
        -- The next conversation.
        select m.conversation_id into last from public.conversation_members m
         where m.user_id = me and m.conversation_id > last order by m.conversation_id limit 1;
        next := case when last is not null then 'messages:' || last::text || ':0' end;
    else
        begin
            newest := api.messages(last, after_seq => part[3]::bigint, max_results => 200);
        exception when sqlstate 'PL008' then
            -- Left meanwhile.
            newest := '{"messages":[],"reactions":[],"pieces":[]}';
        end;
        select pg_catalog.string_agg('{"' || o.kind || '":' || o.object || '}', ',' order by o.rank, o.place)
          into objects
          from (select k.kind, k.rank, e.place, e.value::text as object
                  from (values ('message', 'messages', 1), ('reactions', 'reactions', 2), ('piece', 'pieces', 3))
                           as k (kind, name, rank)
                 cross join lateral pg_catalog.json_array_elements(newest::json -> k.name)
                            with ordinality as e (value, place)) o;
        next := 'messages:' || last || coalesce(':' || (newest::json -> 'messages' -> -1 ->> 'seq'), '');
    end if;
    return app.export_page(objects, next);
end
$_$;

CREATE FUNCTION api.finish_message(conversation_id uuid, seq bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.finish_own_stream(conversation_id, seq);
    return app.my_message(conversation_id, seq);
end
$$;

CREATE FUNCTION api.held_messages(max_results integer DEFAULT 50, after text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.moderated_held(max_results, after);
end
$$;

CREATE FUNCTION api.mark_read(conversation_id uuid, seq bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    mark bigint;
    newest bigint;
begin
    if seq is null or seq < 0 then
        perform app.refuse_param('seq', '"seq" must be 0 or more.');
    end if;
    select m.last_read_seq, c.last_seq into mark, newest
      from public.conversation_members m join public.conversations c on c.id = m.conversation_id
     where m.conversation_id = mark_read.conversation_id and m.user_id = me;
    if not found then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    if least(seq, newest) > mark then
        update public.conversation_members m set last_read_seq = mark_read.seq
         where m.conversation_id = mark_read.conversation_id and m.user_id = me
        returning m.last_read_seq into mark;
        if not found then
            perform app.refuse_hidden('There is no such conversation.');
        end if;
        select c.last_seq into newest from public.conversations c where c.id = mark_read.conversation_id;
    end if;
    update public.conversation_mutes x set marked_unread_seq = null
     where x.conversation_id = mark_read.conversation_id and x.user_id = me and x.marked_unread_seq is not null;
    return pg_catalog.row_to_json(w) from (
        select mark_read.conversation_id as conversation_id, me as user_id, mark as last_read_seq,
               greatest(newest - mark, 0) as unread_count,
               app.unread_mentions(mark_read.conversation_id, me, mark) as unread_mentions) w;
end
$$;

CREATE FUNCTION api.me() RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    answer json;
begin
    select m.object into answer from app.me_objects m where m.id = me;
    if answer is null then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    end if;
    return answer;
end
$$;

CREATE FUNCTION api.member_count(conversation_id uuid) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (select count(*) from public.conversation_members m
             where m.conversation_id = member_count.conversation_id);
end
$$;

CREATE FUNCTION api.messages(conversation_id uuid, before_seq bigint DEFAULT NULL::bigint, after_seq bigint DEFAULT NULL::bigint, max_results integer DEFAULT 50) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_sort TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    -- A bound in a variable becomes a condition of the index; with `coalesce`, under row-level security, it would not.
    bound bigint := coalesce(before_seq, 9223372036854775807);
    me uuid := auth.uid();
    conversation text := app.conversation_member(conversation_id);
    page record;
    sender_ids uuid[];
    senders text[];
    objects text;
    found_rows bigint;
    newest bigint;
    reactions text;
    pieces text;
begin
    if not coalesce(max_results between 1 and 200, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 200.');
    elsif before_seq is not null and after_seq is not null then
        perform app.refuse_param('after_seq', '"after_seq" cannot be given together with "before_seq".');
    end if;
    page := app.message_page(conversation_id, before_seq, after_seq, max_results);
    if page.mark is null then
        perform app.caller();
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    select pg_catalog.array_agg(s.id), pg_catalog.array_agg(app.sender_members(s.id, s.object))
      into sender_ids, senders
      from unnest(page.sender_ids) as i (id)
     cross join lateral (select s.id, s.object from app.sender_objects s where s.id = i.id offset 0) s;
    loop
        select pg_catalog.string_agg(
                   case when o.deleted_at is not null and o.sender_id = me then app.own_form(o.id, o.object)
                        else o.object end, ','),
               count(*), max(o.seq)
          into objects, found_rows, newest
          from (select m.id, m.sender_id, m.deleted_at, m.seq, app.message_object(
                           m, conversation,
                           coalesce(senders[pg_catalog.array_position(sender_ids, m.sender_id)],
                                    app.sender_of(m.sender_id)),
                           page.mark,
                           case when m.reply_to_seq is not null then (
                               select app.reply_object(t) from public.messages t
                                where t.conversation_id = messages.conversation_id and t.seq = m.reply_to_seq) end)
                           as object
                  from public.messages m
                 where m.conversation_id = messages.conversation_id and m.seq > page.beyond and m.seq < bound
                 order by m.seq limit messages.max_results) o;
        exit when found_rows = max_results or after_seq is not null or page.beyond <= 0;
        -- Some messages were deleted by SQL: find the beginning.
        page.beyond := coalesce((
            select m.seq - 1 from public.messages m
             where m.conversation_id = messages.conversation_id and m.seq < bound
             order by m.seq desc offset max_results - 1 limit 1), 0);
    end loop;
    if pg_catalog.octet_length(objects) > app.page_bytes() then
        objects := app.joined(array(
            select case when o.deleted_at is not null and o.sender_id = me then app.own_form(o.id, o.object)
                        else o.object end
              from app.message_objects o
             where o.conversation_id = messages.conversation_id and o.seq > page.beyond and o.seq < bound
             order by o.seq limit messages.max_results), from_last => after_seq is null, room => app.page_bytes());
    end if;
    select pg_catalog.string_agg(r.object, ',') into reactions
      from app.seen_reactions(messages.conversation_id, page.beyond, newest) r;
    if app.has_streams(conversation_id) then
        select pg_catalog.string_agg(p.object, ',' order by p.seq) into pieces
          from app.seen_pieces(messages.conversation_id, page.beyond, newest) p;
    end if;
    return pg_catalog.concat('{"messages":[', objects, '],"reactions":[', reactions, '],"pieces":[', pieces, ']}');
end
$$;

CREATE FUNCTION api.mute_conversation(conversation_id uuid, until text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    time timestamptz := app.checked_time('until', until);
begin
    perform app.lock_membership(mute_conversation.conversation_id);
    -- In another time zone it may be a year later.
    if time >= '10000-01-01T00:00:00Z' then
        perform app.refuse_param('until', '"until" must be from 1970 to 9999.');
    end if;
    -- A time in the past is no mute.
    if time <= pg_catalog.now() then
        time := null;
    end if;
    -- A row that says nothing would be told to the caller's devices.
    insert into public.conversation_mutes as x (conversation_id, user_id, muted_until)
    select mute_conversation.conversation_id, me, time
     where time is not null or exists (
        select from public.conversation_mutes m
         where m.conversation_id = mute_conversation.conversation_id and m.user_id = me)
    on conflict on constraint conversation_mutes_pkey do update set muted_until = excluded.muted_until
     where x.muted_until is distinct from excluded.muted_until;
    return api.conversation(mute_conversation.conversation_id);
end
$$;

CREATE FUNCTION api.open_conversation(user_id uuid, profiles boolean DEFAULT false) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    found_id uuid;
begin
    if user_id is null or user_id = me then
        perform app.refuse_param('user_id', '"user_id" must be another user.');
    end if;
    select c.id into found_id from public.conversations c
     where c.participant1_id = least(me, open_conversation.user_id)
       and c.participant2_id = greatest(me, open_conversation.user_id);
    if found_id is null then
        if not app.is_active_user(open_conversation.user_id) then
            perform app.refuse_hidden('There is no such user.');
        end if;
        -- Without a conflict target, which would need the right to see the row before its members are added.
        insert into public.conversations (kind, participant1_id, participant2_id)
        values ('direct', least(me, open_conversation.user_id), greatest(me, open_conversation.user_id))
        on conflict do nothing;
        found_id := app.ensure_participants(open_conversation.user_id);
    elsif (select count(*) from public.conversation_members m where m.conversation_id = found_id) < 2
          and app.is_active_user(open_conversation.user_id) then
        perform app.ensure_participants(open_conversation.user_id);
    end if;
    return api.conversation(found_id, profiles);
end
$$;

CREATE FUNCTION api.pin_message(conversation_id uuid, seq bigint, is_pinned boolean DEFAULT true) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
begin
    perform app.set_pin(conversation_id, seq, is_pinned);
    return api.conversation(conversation_id);
end
$$;

CREATE FUNCTION api.presence(user_ids uuid[]) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.caller();
    if not coalesce(pg_catalog.cardinality(user_ids) between 1 and 100, false) then
        perform app.refuse_param('user_ids', '"user_ids" must hold 1 to 100 UUIDs.');
    end if;
    return (
        select ('{"presence":[' || coalesce(pg_catalog.string_agg(
                    app.presence_object(w.id, p.is_online, p.last_seen_at), ',' order by w.place), '') || ']}')::json
          from (select a.id, min(a.place) as place
                  from unnest(user_ids) with ordinality as a (id, place) where a.id is not null group by a.id) w
          left join public.presence p on p.user_id = w.id);
end
$$;

CREATE FUNCTION api.profile_by_username(username text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    profile json;
begin
    perform app.caller();
    select p.object into profile from app.profile_objects p
     where p.username = app.lower_ascii(pg_catalog.btrim(profile_by_username.username)) and not p.is_deleted;
    if profile is null then
        perform app.refuse_hidden('There is no user with this username.');
    end if;
    return profile;
end
$$;

CREATE FUNCTION api.profiles(ids uuid[]) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    objects text;
begin
    perform app.caller();
    if not coalesce(pg_catalog.cardinality(ids) between 1 and 100, false) then
        perform app.refuse_param('ids', '"ids" must hold 1 to 100 UUIDs.');
    end if;
    select coalesce(pg_catalog.string_agg(p.object::text, ',' order by wanted.place), '') into objects
      from (select w.id, min(w.place) as place
              from unnest(ids) with ordinality as w (id, place) group by w.id) wanted
      join app.profile_objects p on p.id = wanted.id;
    if pg_catalog.octet_length(objects) > app.answer_bytes() then
        perform app.refuse_param('ids', 'These profiles are too large for one response: request fewer.');
    end if;
    return ('{"profiles":[' || objects || ']}')::json;
end
$$;

CREATE FUNCTION app.set_reaction(conversation_id uuid, seq bigint, emoji text, is_set boolean) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    me uuid := app.caller();
    reactions public.reaction_counts;
    is_change boolean;
    own text;
    has_old boolean;
begin
    if is_set then
        -- Most are new. The second statement would also run the triggers of updates.
        insert into public.message_reactions (conversation_id, user_id, seq, emoji)
        values (set_reaction.conversation_id, me, set_reaction.seq, set_reaction.emoji)
        on conflict on constraint message_reactions_pkey do nothing;
        is_change := found;
        if not is_change then
            insert into public.message_reactions as r (conversation_id, user_id, seq, emoji)
            values (set_reaction.conversation_id, me, set_reaction.seq, set_reaction.emoji)
            on conflict on constraint message_reactions_pkey do update set is_set = true where not r.is_set;
            is_change := found;
        end if;
    else
        update public.message_reactions r set is_set = false
         where r.conversation_id = set_reaction.conversation_id and r.user_id = me and r.seq = set_reaction.seq
           and r.emoji = set_reaction.emoji and r.is_set;
        is_change := found;
        if not is_change and not exists (
            select from public.messages m
              join public.conversation_members c
                on c.conversation_id = m.conversation_id and c.user_id = me and not c.is_deleted
             where m.conversation_id = set_reaction.conversation_id and m.seq = set_reaction.seq) then
            perform app.refuse_hidden('There is no such message.');
        end if;
    end if;
    select coalesce(pg_catalog.json_agg(r.emoji order by r.created_at, r.emoji) filter (where r.is_set)::text, '[]'),
           pg_catalog.bool_or(not r.is_set and r.emoji <> set_reaction.emoji)
      into own, has_old
      from public.message_reactions r
     where r.conversation_id = set_reaction.conversation_id and r.user_id = me and r.seq = set_reaction.seq;
    -- The changed row tells the user's devices all of its reactions to the message: those that were taken back before
    -- are needed no longer.
    if is_change and has_old then
        delete from public.message_reactions r
         where r.conversation_id = set_reaction.conversation_id and r.user_id = me and r.seq = set_reaction.seq
           and r.emoji <> set_reaction.emoji and not r.is_set;
    end if;
    select c.* into reactions from public.reaction_counts c
     where c.conversation_id = set_reaction.conversation_id and c.seq = set_reaction.seq;
    if not found then
        reactions := row(set_reaction.conversation_id, set_reaction.seq, '{}', 0, null);
    end if;
    return app.reactions_object(reactions, own);
end
$$;

CREATE FUNCTION api.react(conversation_id uuid, seq bigint, emoji text, is_set boolean DEFAULT true) RETURNS json
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT app.set_reaction(conversation_id, seq, emoji, is_set) AS set_reaction;
END;

CREATE FUNCTION api.reactions(conversation_id uuid, seq bigint, emoji text DEFAULT NULL::text, max_results integer DEFAULT 50, after text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $_$
declare
    me uuid := app.caller();
    after_time timestamptz := '-infinity';
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    after_emoji text := '';
    last record;
begin
    if not coalesce(max_results between 1 and 200, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 200.');
    elsif after is not null then
        if after !~ '^[0-9]{1,17}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\..{1,32}$' then
            perform app.refuse_param('after', '"after" must be the "next" of the previous page.');
        end if;
        after_time := timestamptz 'epoch' + pg_catalog.split_part(after, '.', 1)::bigint * interval '1 microsecond';
        after_id := pg_catalog.split_part(after, '.', 2)::uuid;
        after_emoji := pg_catalog.split_part(after, '.', 3);
    end if;
    if not exists (
        select from public.messages m
         where m.conversation_id = reactions.conversation_id and m.seq = reactions.seq) then
        perform app.refuse_hidden('There is no such message.');
    end if;
    select count(*), pg_catalog.string_agg(
               '{"user_id":"' || w.user_id::text || '","emoji":' || pg_catalog.to_json(w.emoji)::text
               || ',"created_at":' || app.quoted_utc(w.created_at) || '}', ','
               order by w.created_at, w.user_id, w.emoji),
           -- Exact in integers: a double would lose microseconds.
           (pg_catalog.array_agg((extract(epoch from w.created_at) * 1000000)::bigint || '.' || w.user_id::text || '.'
                                 || w.emoji order by w.created_at desc, w.user_id desc, w.emoji desc))[1] as place
      into last
      from (select r.user_id, r.emoji, r.created_at from public.message_reactions r
             where r.conversation_id = reactions.conversation_id and r.seq = reactions.seq and r.is_set
               and (r.created_at, r.user_id, r.emoji) > (after_time, after_id, after_emoji)
               and (reactions.emoji is null or r.emoji = reactions.emoji)
             order by r.created_at, r.user_id, r.emoji limit max_results) w;
    return pg_catalog.format('{"reactions":[%s],"next":%s}', last.string_agg,
        case when last.count = max_results then pg_catalog.to_json(last.place)::text else 'null' end)::json;
end
$_$;

CREATE FUNCTION api.readable_media(ids uuid[]) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.caller();
    return (
        select pg_catalog.json_build_object('media', coalesce(
                   pg_catalog.json_agg(
                       pg_catalog.json_build_object('id', m.id, 'mime_type', m.mime_type, 'name', m.name)
                       order by w.position), '[]'))
          from (select u.id, min(u.position) as position
                  from unnest(ids) with ordinality as u (id, position) group by u.id) w
          join (select f.* from public.media f where f.id = any (ids)
                union all
                select f.* from app.moderated_files(ids) f) m on m.id = w.id
         where m.purpose = 'message' and m.used_at is not null and m.removed_at is null);
end
$$;

CREATE FUNCTION api.register_device(platform text, token text, environment text DEFAULT 'production'::text, locale text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.caller();
    if not coalesce(platform in ('apns', 'fcm', 'webhook'), false) then
        perform app.refuse_param('platform', '"platform" must be "apns", "fcm" or "webhook".');
    elsif not coalesce(pg_catalog.octet_length(token) between 1 and 2048, false) then
        perform app.refuse_param('token', '"token" must be 1 to 2048 bytes long.');
    elsif not coalesce(environment in ('production', 'sandbox'), true) then
        perform app.refuse_param('environment', '"environment" must be "production" or "sandbox".');
    end if;
    return ('{"id":"' || app.register_device(
                platform, token, coalesce(environment, 'production'), locale) || '"}')::json;
end
$$;

CREATE FUNCTION api.reject_message(conversation_id uuid, seq bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.decide_held(conversation_id, seq, false);
end
$$;

CREATE FUNCTION api.release_message(conversation_id uuid, seq bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.decide_held(conversation_id, seq, true);
end
$$;

CREATE FUNCTION api.remove_device(id uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.devices d where d.id = remove_device.id and d.user_id = app.caller();
    if not found then
        perform app.refuse_hidden('There is no such device.');
    end if;
    return '{}'::json;
end
$$;

CREATE FUNCTION api.remove_member(conversation_id uuid, user_id uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
    theirs text;
begin
    if seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation cannot lose a member.');
    elsif user_id is distinct from me then
        if seat.role = 'member' then
            perform app.refuse_forbidden('Only the owner and admins of a group can remove members.');
        end if;
        select m.role into theirs from public.conversation_members m
         where m.conversation_id = remove_member.conversation_id and m.user_id = remove_member.user_id;
        if theirs is null then
            perform app.refuse_hidden('There is no such member.');
        elsif seat.role = 'admin' and theirs <> 'member' then
            perform app.refuse_forbidden('An admin cannot remove the owner or another admin.');
        end if;
    end if;
    delete from public.conversation_members m
     where m.conversation_id = remove_member.conversation_id and m.user_id = remove_member.user_id;
    if user_id <> me then
        return api.conversation(conversation_id);
    end if;
    return pg_catalog.row_to_json(w) from (
        select remove_member.conversation_id as conversation_id, true as "left") w;
end
$$;

CREATE FUNCTION api.remove_message(conversation_id uuid, seq bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.remove_message(conversation_id, seq);
end
$$;

CREATE FUNCTION api.replies(conversation_id uuid, reply_to_seq bigint, before_seq bigint, after_seq bigint, max_results integer) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    upper bigint := coalesce(before_seq, 9223372036854775807);
    lower bigint := coalesce(after_seq, 0);
    seqs bigint[];
    reactions text;
    pieces text;
begin
    if not coalesce(max_results between 1 and 200, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 200.');
    elsif before_seq is not null and after_seq is not null then
        perform app.refuse_param('after_seq', '"after_seq" cannot be given together with "before_seq".');
    elsif not exists (
        select from public.messages m
         where m.conversation_id = replies.conversation_id and m.seq = replies.reply_to_seq) then
        perform app.refuse_hidden('There is no such message.');
    end if;
    seqs := case when after_seq is null
                 then array(select m.seq from public.messages m
                             where m.conversation_id = replies.conversation_id
                               and m.reply_to_seq = replies.reply_to_seq and m.seq < upper
                             order by m.seq desc limit max_results)
                 else array(select m.seq from public.messages m
                             where m.conversation_id = replies.conversation_id
                               and m.reply_to_seq = replies.reply_to_seq and m.seq > lower
                             order by m.seq limit max_results) end;
    select pg_catalog.string_agg(r.object, ',' order by r.seq) into reactions
      from unnest(seqs) as s (seq)
     cross join lateral app.seen_reactions(replies.conversation_id, s.seq - 1, s.seq) r;
    if app.has_streams(conversation_id) then
        select pg_catalog.string_agg(p.object, ',' order by p.seq) into pieces
          from unnest(seqs) as s (seq)
         cross join lateral app.seen_pieces(replies.conversation_id, s.seq - 1, s.seq) p;
    end if;
    return pg_catalog.concat(
        '{"messages":[', app.joined(array(
            select case when o.deleted_at is not null and o.sender_id = auth.uid() then app.own_form(o.id, o.object)
                        else o.object end
              from app.message_objects o
             where o.conversation_id = replies.conversation_id and o.seq = any (seqs)
             order by o.seq), from_last => after_seq is null, room => app.page_bytes()),
        '],"reactions":[', reactions, '],"pieces":[', pieces, ']}');
end
$$;

CREATE FUNCTION api.report(id uuid) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.moderated_report(id);
end
$$;

CREATE FUNCTION api.reports(state text DEFAULT NULL::text, max_results integer DEFAULT 50, after text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.moderated_reports(state, max_results, after);
end
$$;

CREATE FUNCTION api.resolve_report(id uuid, outcome text, comment text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.resolve_report(id, outcome, comment);
end
$$;

CREATE FUNCTION api.save_compatible_me(patch jsonb, if_version bigint DEFAULT NULL::bigint, first_name text DEFAULT NULL::text, last_name text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    first_part text := app.normalized(coalesce(first_name, ''));
    last_part text := app.normalized(coalesce(last_name, ''));
    has_parts boolean := first_name is not null or last_name is not null;
begin
    if has_parts then
        patch := patch || pg_catalog.jsonb_build_object('full_name',
            pg_catalog.concat_ws(' ', nullif(first_part, ''), nullif(last_part, '')));
    end if;
    perform api.save_me(patch, if_version);
    if has_parts then
        perform app.split_full_name(first_part);
    end if;
    return api.compatible_me();
end
$$;

CREATE FUNCTION api.save_me(patch jsonb, if_version bigint DEFAULT NULL::bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_unknown(patch, app.own_fields() || array['username', 'avatar', 'physical']);
    if patch ? 'date_of_birth' and patch -> 'physical' ? 'date_of_birth'
       and patch -> 'date_of_birth' <> patch -> 'physical' -> 'date_of_birth' then
        perform app.refuse_param('physical.date_of_birth',
            'The two dates of birth differ: send only one.');
    end if;
    perform app.locked_caller(if_version);
    perform app.change_fields(patch);
    if patch ? 'physical' then
        perform app.change_physical(patch -> 'physical', 'physical.');
    end if;
    if patch ? 'avatar' then
        perform app.change_avatar(patch -> 'avatar', 'avatar.');
    end if;
    -- Last, since it may wait for other users who claim the name.
    if patch ? 'username' then
        perform app.change_username(app.patched_text(patch, 'username', null));
    end if;
    return api.me();
end
$$;

CREATE FUNCTION api.schedule_message(conversation_id uuid, due_at text, content text, client_id uuid DEFAULT NULL::uuid, kind text DEFAULT 'text'::text, attachment jsonb DEFAULT NULL::jsonb, reply_to_seq bigint DEFAULT NULL::bigint, mentions uuid[] DEFAULT NULL::uuid[], mentions_everyone boolean DEFAULT NULL::boolean, data jsonb DEFAULT NULL::jsonb) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    time timestamptz := app.checked_time('due_at', due_at);
    asked public.scheduled_messages;
    present public.scheduled_messages;
begin
    kind := coalesce(kind, 'text');
    if not app.may_send_kind(kind) then
        perform app.refuse_kind();
    elsif pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    select f.content, f.attachment into content, attachment from app.stored_form(kind, content, attachment) f;
    asked := row(
        coalesce(client_id, app.message_id()), me, conversation_id, time, kind, content,
        attachment, reply_to_seq, mentions, mentions_everyone, data, pg_catalog.now(), 0, time,
        null)::public.scheduled_messages;
    select s.* into present from public.scheduled_messages s where s.sender_id = me and s.id = asked.id;
    if present.id is not null then
        if row(present.conversation_id, present.due_at, present.kind, present.content, present.attachment,
               present.reply_to_seq, present.data)
           is distinct from row(asked.conversation_id, asked.due_at, asked.kind, asked.content, asked.attachment,
                                asked.reply_to_seq, asked.data) then
            perform app.refuse_client_id();
        end if;
        return app.scheduled_object(present);
    elsif client_id is not null and exists (
        select from public.messages m
         where m.conversation_id = schedule_message.conversation_id and m.sender_id = me
           and m.client_id = schedule_message.client_id) then
        if not app.is_first_sent(
            conversation_id, client_id, kind, content, asked.attachment, reply_to_seq, data) then
            perform app.refuse_client_id();
        end if;
        return app.scheduled_object(asked);
    end if;
    insert into public.scheduled_messages (
        id, sender_id, conversation_id, due_at, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
        data)
    values (asked.id, me, conversation_id, time, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
            data);
    select s.* into present from public.scheduled_messages s where s.sender_id = me and s.id = asked.id;
    return app.scheduled_object(present);
exception
    when unique_violation then
        perform app.refuse_client_id();
end
$$;

CREATE FUNCTION api.scheduled_messages(conversation_id uuid DEFAULT NULL::uuid, max_results integer DEFAULT 50, after text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    after_time timestamptz := '-infinity';
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    last record;
begin
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif after is not null then
        select p.created_at, p.id into after_time, after_id from app.parsed_position('after', after) p;
    end if;
    if conversation_id is not null and not app.is_member(conversation_id) and not exists (
        select from public.scheduled_messages s
         where s.sender_id = me and s.conversation_id = scheduled_messages.conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    select count(*), pg_catalog.string_agg(app.scheduled_object(w.s)::text, ',' order by w.due_at, w.id) as objects,
           (pg_catalog.array_agg(app.page_position(w.due_at, w.id) order by w.due_at desc, w.id desc))[1] as place
      into last
      from (select s, s.due_at, s.id from public.scheduled_messages s
             where s.sender_id = me
               and (scheduled_messages.conversation_id is null
                    or s.conversation_id = scheduled_messages.conversation_id)
               and (s.due_at, s.id) > (after_time, after_id)
             order by s.due_at, s.id limit max_results) w;
    return pg_catalog.format('{"scheduled":[%s],"next":%s}', last.objects,
        case when last.count = max_results then pg_catalog.to_json(last.place)::text else 'null' end)::json;
end
$$;

CREATE FUNCTION api.search_messages(query text, conversation_id uuid DEFAULT NULL::uuid, sender_id uuid DEFAULT NULL::uuid, max_results integer DEFAULT 20, before text DEFAULT NULL::text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $_$
declare
    me uuid := app.caller();
    before_time timestamptz;
    before_id uuid;
    found record;
    page record;
begin
    if not coalesce(char_length(app.normalized(query)) between 2 and 100, false) then
        perform app.refuse_param('query', '"query" must be 2 to 100 characters long.');
    elsif not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif before is not null then
        if before !~ '^-?[0-9]{1,17}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
            perform app.refuse_param('before', '"before" must be the "next" of the previous page.');
        end if;
        before_time := timestamptz 'epoch' + split_part(before, '.', 1)::bigint * interval '1 microsecond';
        before_id := split_part(before, '.', 2)::uuid;
    end if;
    found := app.find_messages(
        query, search_messages.conversation_id, search_messages.sender_id, before_time, before_id, max_results,
        interval '200 ms');
    select count(*) as length, string_agg(o.object, ',' order by o.place) as objects into page
      from (select p.place, o.object, sum(octet_length(o.object) + 1) over (order by p.place) as bytes
              from unnest(found.conversations, found.seqs) with ordinality as p (conversation_id, seq, place)
             cross join lateral (select o.object from app.message_objects o
                                  where o.conversation_id = p.conversation_id and o.seq = p.seq offset 0) o) o
     where o.bytes <= app.page_bytes() or o.place = 1;
    return format('{"messages":[%s],"next":%s,"is_partial":%s}', page.objects,
        coalesce(to_json(case when page.length < cardinality(found.positions) then found.positions[page.length]
                              else found.next end)::text, 'null'),
        found.is_partial::text)::json;
end
$_$;

CREATE FUNCTION api.search_profiles(query text, max_results integer DEFAULT 20) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'on'
    SET jit TO 'off'
    AS $$
declare
    me uuid := app.caller();
    -- At most 50 characters, normalized.
    bounded text := left(app.normalized(query), 51);
    wanted text := app.folded(bounded);
    -- Possible spellings: a `ü` is found as "u" and as "ue".
    forms text[] := array[wanted] || app.spelled_out(bounded);
    form text;
    -- The end of the prefix's range, in the order of code points.
    beyond text;
    literal text;
    -- Similarity ignores punctuation and would find `bob` for `b_b`: these three characters match only themselves.
    fuzzy boolean := wanted !~ '[\\%_]';
    words text[] := app.words_of(wanted);
    first text[];
    second text[];
    third text[];
    candidates uuid[] := '{}';
begin
    if not coalesce(char_length(bounded) <= 50 and char_length(wanted) >= 2, false) then
        perform app.refuse_param('query', '"query" must be 2 to 50 characters long.');
    end if;
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    end if;

    foreach form in array forms loop
        beyond := form || chr(1114111);
        candidates := candidates || array(
            (select s.user_id from app.search_names s
              where s.username >= form and s.username < beyond order by s.username limit 51)
            union
            (select s.user_id from app.search_names s
              where s.full_name >= form and s.full_name < beyond order by s.full_name limit 51)
            union
            (select s.user_id from app.search_names s
              where s.spelled_out >= form and s.spelled_out < beyond order by s.spelled_out limit 51));
    end loop;
    -- The rest is in an inverted index. For the limit the planner would prefer an index of all users. Ends with the
    -- function, which has a SET for it.
    perform set_config('enable_indexscan', 'off', true);
    -- Words with that prefix, then words that contain it. Two characters inside a word have no trigram.
    for attempt in 1 .. case when words <> array[wanted] then 0 when char_length(wanted) > 2 then 2 else 1 end loop
        foreach form in array forms loop
            exit when cardinality(candidates) > max_results;
            beyond := form || chr(1114111);
            first := case attempt
                when 1 then array(select w.word from app.words w where w.word >= form and w.word < beyond
                                   order by w.word limit 20)
                else array(select w.word from app.words w where w.word like '%' || form || '%' limit 100) end;
            candidates := candidates || array(
                select s.user_id from app.search_names s where s.words && first limit 100);
        end loop;
    end loop;
    -- Several words, if they have a trigram; otherwise the whole index would be read.
    if words <> array[wanted] and wanted ~ '\w{3}|\w{2}\W|\W\w' then
        foreach form in array forms loop
            exit when cardinality(candidates) > max_results;
            literal := regexp_replace(form, '([\\%_])', '\\\1', 'g');
            candidates := candidates || array(
                select s.user_id from app.search_names s
                 where s.username like '%' || literal || '%' or s.full_name like '%' || literal || '%'
                    or s.spelled_out like '%' || literal || '%'
                 limit 100);
        end loop;
    end if;
    -- Similar words, unless a name matches exactly. The longest three words suffice.
    if cardinality(candidates) <= max_results and fuzzy and words <> '{}' and not exists (
           select from unnest(candidates) as c join app.search_names s on s.user_id = c
            where s.username = any (forms) or s.full_name = any (forms) or s.spelled_out = any (forms)) then
        words := array(select w from unnest(words) as w order by char_length(w) desc, w limit 3);
        first := app.meant_words(words[1]);
        second := case when words[2] is null then first else app.meant_words(words[2]) end;
        third := case when words[3] is null then first else app.meant_words(words[3]) end;
        candidates := candidates || array(
            select s.user_id from app.search_names s
             where s.words && first and s.words && second and s.words && third
             limit 100);
    end if;

    return (
        select ('{"profiles":[' || app.joined(array_agg(p.object::text order by found.place)) || ']}')::json
          from (
            select f.id, row_number() over (
                    order by f.exact desc, f.starts desc, f.holds desc, f.likeness desc, f.username, f.id) as place
              from (
                select n.user_id as id, n.username,
                       count(*) filter (where k.name = k.form) as exact,
                       bool_or(position(' ' || k.form in ' ' || k.name) > 0) as starts,
                       bool_or(position(k.form in k.name) > 0) as holds,
                       max(app.word_similarity(k.form, k.name)) as likeness
                  from (select distinct c as user_id from unnest(app.without_blocked(candidates)) as c
                         where c <> me) c
                  join app.search_names n on n.user_id = c.user_id
                 cross join lateral (
                        select f as form, name from unnest(forms) as f,
                               unnest(array[n.username, n.full_name, n.spelled_out]) as name
                         where name is not null) k
                 group by n.user_id, n.username) f
             order by place
             limit max_results) found
          join app.profile_objects p on p.id = found.id);
end
$$;

CREATE FUNCTION api.seen_media(ids uuid[]) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (
        select pg_catalog.json_build_object('media', coalesce(pg_catalog.json_agg(e.value -> 'id'), '[]'))
          from pg_catalog.json_array_elements(api.readable_media(ids) -> 'media') e);
end
$$;

CREATE FUNCTION api.send_message(conversation_id uuid, content text, client_id uuid DEFAULT NULL::uuid, kind text DEFAULT 'text'::text, attachment jsonb DEFAULT NULL::jsonb, reply_to_seq bigint DEFAULT NULL::bigint, mentions uuid[] DEFAULT NULL::uuid[], mentions_everyone boolean DEFAULT NULL::boolean, data jsonb DEFAULT NULL::jsonb) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    me uuid := auth.uid();
begin
    if me is null then
        me := app.caller();
    end if;
    kind := coalesce(kind, 'text');
    if not app.may_send_kind(kind) then
        perform app.refuse_kind();
    elsif pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    if attachment is not null then
        attachment := app.complete_attachment(attachment);
    end if;
    insert into public.messages (
        conversation_id, sender_id, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
        data)
    values (conversation_id, me, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone, data);
    return app.my_message(conversation_id);
end
$$;

CREATE FUNCTION api.sent_message(conversation_id uuid, content text, client_id uuid, kind text DEFAULT 'text'::text, attachment jsonb DEFAULT NULL::jsonb, reply_to_seq bigint DEFAULT NULL::bigint, mentions uuid[] DEFAULT NULL::uuid[], mentions_everyone boolean DEFAULT NULL::boolean, data jsonb DEFAULT NULL::jsonb) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    sent public.messages;
    expired json;
begin
    kind := coalesce(kind, 'text');
    select f.content, f.attachment into content, attachment from app.stored_form(kind, content, attachment) f;
    select m.* into sent from public.messages m
     where m.conversation_id = sent_message.conversation_id and m.sender_id = me
       and m.client_id = sent_message.client_id;
    if sent.id is null then
        expired := app.expired_message(conversation_id, client_id, kind, content, attachment, data);
        if expired is null then
            perform app.refuse_hidden('There is no such message.');
        end if;
        return expired;
    elsif not app.is_first_sent(conversation_id, client_id, kind, content, attachment, reply_to_seq, data) then
        perform app.refuse_client_id();
    end if;
    return app.my_message(conversation_id, sent.seq);
end
$$;

CREATE FUNCTION api.set_avatar(avatar_type text, avatar_id text DEFAULT NULL::text, avatar_url text DEFAULT NULL::text, if_version bigint DEFAULT NULL::bigint, media_id uuid DEFAULT NULL::uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.locked_caller(if_version);
    perform app.change_avatar(pg_catalog.jsonb_build_object(
        'avatar_type', avatar_type, 'avatar_id', avatar_id, 'avatar_url', avatar_url, 'media_id', media_id));
    return api.me();
end
$$;

CREATE FUNCTION api.set_conversation(conversation_id uuid, is_marked_unread boolean, is_archived boolean, is_pinned boolean) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    mark bigint;
begin
    mark := app.lock_membership(set_conversation.conversation_id);
    insert into public.conversation_mutes as x (conversation_id, user_id, marked_unread_seq, archived_at, pinned_at)
    select set_conversation.conversation_id, me, case when is_marked_unread then mark end,
           case when is_archived then pg_catalog.now() end, case when is_pinned then pg_catalog.now() end
     where is_marked_unread or is_archived or is_pinned or exists (
        select from public.conversation_mutes m
         where m.conversation_id = set_conversation.conversation_id and m.user_id = me)
    on conflict on constraint conversation_mutes_pkey do update
       set marked_unread_seq = case when is_marked_unread is null then x.marked_unread_seq
                                    else excluded.marked_unread_seq end,
           archived_at = case when is_archived is null then x.archived_at
                              when is_archived then coalesce(x.archived_at, excluded.archived_at) end,
           pinned_at = case when is_pinned is null then x.pinned_at
                            when is_pinned then coalesce(x.pinned_at, excluded.pinned_at) end
     where coalesce(is_marked_unread <> coalesce(x.marked_unread_seq >= mark, false), false)
        or coalesce(is_archived <> (x.archived_at is not null), false)
        or coalesce(is_pinned <> (x.pinned_at is not null), false);
    return api.conversation(set_conversation.conversation_id);
end
$$;

CREATE FUNCTION api.set_member_role(conversation_id uuid, user_id uuid, role text, profiles boolean DEFAULT false) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
begin
    if not coalesce(role in ('owner', 'admin', 'member'), false) then
        perform app.refuse_param('role', '"role" must be "owner", "admin" or "member".');
    end if;
    perform app.set_member_role(conversation_id, user_id, role);
    return api.conversation(conversation_id, profiles);
end
$$;

CREATE FUNCTION api.stream_message(conversation_id uuid, content text DEFAULT ''::text, client_id uuid DEFAULT NULL::uuid, reply_to_seq bigint DEFAULT NULL::bigint, mentions uuid[] DEFAULT NULL::uuid[], mentions_everyone boolean DEFAULT NULL::boolean, data jsonb DEFAULT NULL::jsonb) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    content := coalesce(content, '');
    if pg_catalog.char_length(content) > app.max_message_characters() then
        perform app.refuse_content();
    end if;
    perform app.start_stream(conversation_id, content, client_id, reply_to_seq, mentions, mentions_everyone, data);
    return app.my_message(conversation_id);
end
$$;

CREATE FUNCTION api.sync(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer, OUT epoch_now text, OUT snapshot text, OUT reset boolean, OUT next_position text, OUT changes text, OUT conversation_ids text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    me uuid := app.caller();
    is_standby boolean := pg_catalog.pg_is_in_recovery();
    now_seen pg_snapshot := case when is_standby then app.standby_snapshot() else pg_catalog.pg_current_snapshot() end;
    ending timestamptz := pg_catalog.clock_timestamp() + app.page_time();
    per_conversation integer := least(greatest(coalesce(messages_per_conversation, 20), 0), 100);
    section text := 'left';
    after_id uuid;
    after_seq bigint;
    after_user uuid;
    whole boolean;      -- true for a reset: nothing was seen before
    changed record;     -- app.changes_since
    mine uuid[];        -- app.sync_conversation_ids
    entered uuid[];
    given uuid[];
    active uuid[];
    walked uuid[];      -- the conversations whose members are read
    page record;        -- the bytes left in it, the next page's position, and the objects of its last section
    blocked text;       -- app.sync_blocked
    me_object text;     -- the objects of each section
    left_ids text;
    profiles text;
    presence text;
    conversations text;
    messages text;
    limited text;
    pieces text;
    reactions text;
    reads text;
    delivered text;
    rare record;        -- app.rare_changes_since
    streamed uuid[] := '{}';    -- app.streamed_since
begin
    epoch_now := app.epoch();
    if is_standby and epoch = epoch_now and (app.is_behind(now_seen, since) or app.is_behind(now_seen, until)) then
        raise exception using errcode = 'PL015',
            message = 'The standby has not yet replayed the transactions of the cursor.';
    end if;
    if "position" is not null then
        select * into section, after_id, after_seq, after_user from app.sync_position("position");
    end if;
    if since is not null and (epoch is distinct from epoch_now
                              or pg_catalog.pg_snapshot_xmax(since) > pg_catalog.pg_snapshot_xmax(now_seen))
       or section is null then
        since := null;
        until := null;
        "position" := null;
    end if;
    if until is null or "position" is null
       or pg_catalog.pg_snapshot_xmax(until) > pg_catalog.pg_snapshot_xmax(now_seen)
       -- Later pages of a reset have no `since`: the epoch must be valid for the whole view.
       or epoch is distinct from epoch_now then
        until := null;
        "position" := null;
        section := 'left';
        after_id := null;
        after_seq := null;
        after_user := null;
    end if;
    -- Only the first page of a reset has `reset`; `whole` is true for all its pages.
    whole := since is null;
    reset := whole and until is null;
    snapshot := coalesce(until, now_seen)::text;

    if whole then
        select true as has_profiles, true as has_presence, true as has_members, true as has_removals,
               null::uuid[] as touched
          into changed;
        select '{}'::uuid[] as reacted, '{}'::uuid[] as delivered into rare;
    else
        changed := app.changes_since(since, until);
        rare := app.rare_changes_since(since, changed.mine);
        streamed := app.streamed_since(since, changed.mine);
        if "position" is null and not changed.has_any and rare.reacted = '{}' and rare.delivered = '{}'
           and streamed = '{}' then
            changes := '{}';
            conversation_ids := changed.mine::text;
            return;
        end if;
    end if;

    select coalesce(max_bytes, 524288)::bigint as room, null::text as next_position into page;
    select * into mine, entered, given, active from app.sync_conversation_ids(me, since, until);
    walked := mine;
    if changed.touched is not null then
        walked := array(
            select m.id from unnest(mine) as m (id)
             where m.id in (select unnest(changed.touched || entered || active)) order by m.id);
    end if;

    -- Sections in their order. A page begins in `section` after its last key, and ends in the section that fills it.
    <<view>>
    begin
        if "position" is null and changed.has_profiles then
            me_object := app.sync_me(me, since, until);
            page.room := page.room - coalesce(pg_catalog.octet_length(me_object), 0);
        end if;
        if "position" is null then
            blocked := app.sync_blocked(me, since);
            page.room := page.room - coalesce(pg_catalog.octet_length(blocked), 0);
        end if;

        if section = 'left' then
            if not whole and changed.has_removals then
                page := app.sync_left(me, since, until, after_id, ending, page.room);
                left_ids := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'profiles';
            after_id := null;
        end if;

        if section = 'profiles' then
            if walked <> '{}' and (changed.has_profiles or changed.has_members) then
                page := app.sync_profiles(me, since, until, walked, entered, after_id, ending, page.room);
                profiles := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'presence';
            after_id := null;
        end if;

        if section = 'presence' then
            if walked <> '{}' then
                page := app.sync_presence(
                    me, since, until, walked, entered, changed.has_presence or changed.has_members, after_id, ending,
                    page.room);
                presence := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'conversations';
            after_id := null;
        end if;

        if section = 'conversations' then
            if given <> '{}' then
                page := app.sync_conversations(me, until, given, after_id, ending, page.room);
                conversations := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'messages';
            after_id := null;
        end if;

        if section = 'messages' then
            if active <> '{}' then
                page := app.sync_messages(
                    since, until, entered, active, per_conversation, after_id, after_seq, ending, page.room);
                messages := page.objects;
                limited := page.limited_ids;
                exit view when page.next_position is not null;
            end if;
            section := 'pieces';
            after_id := null;
        end if;
        if section = 'pieces' then
            if entered <> '{}' or streamed <> '{}' then
                page := app.sync_details(
                    section, since, until, entered, streamed, per_conversation, after_id, after_seq, ending, page.room);
                pieces := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'reactions';
            after_id := null;
        end if;

        if section = 'reactions' then
            if entered <> '{}' or rare.reacted <> '{}' then
                page := app.sync_details(
                    section, since, until, entered, rare.reacted, per_conversation, after_id, after_seq, ending,
                    page.room);
                reactions := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'reads';
            after_id := null;
        end if;

        -- A mark that was moved by its member's message is in an active conversation.
        if section = 'reads' then
            if not whole and walked <> '{}' and (changed.has_members or active <> '{}') then
                page := app.sync_reads(since, until, walked, given, after_id, after_user, ending, page.room);
                reads := page.objects;
                exit view when page.next_position is not null;
            end if;
            section := 'delivered';
            after_id := null;
            after_user := null;
        end if;

        if rare.delivered <> '{}' then
            page := app.sync_delivered(
                me, since, until, rare.delivered, given, after_id, after_user, ending, page.room);
            delivered := page.objects;
        end if;
    end;
    next_position := page.next_position;

    if next_position is null then
        -- A live session needs the conversations that the user is in now.
        if until is not null then
            mine := array(select app.my_conversations());
        end if;
        conversation_ids := mine::text;
    end if;
    changes := '{' || pg_catalog.concat_ws(',',
        '"me":' || me_object, '"blocked":[' || blocked || ']', '"profiles":[' || profiles || ']',
        '"presence":[' || presence || ']', '"conversations":[' || conversations || ']',
        '"messages":[' || messages || ']',
        '"pieces":[' || pieces || ']', '"reactions":[' || reactions || ']', '"reads":[' || reads || ']',
        '"delivered":[' || delivered || ']', '"left":[' || left_ids || ']', '"limited":[' || limited || ']') || '}';
end
$$;

CREATE FUNCTION api.typing(conversation_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    is_blocked boolean;
begin
    select m.is_blocked into is_blocked from public.conversation_members m
     where m.conversation_id = typing.conversation_id and m.user_id = app.caller();
    if not found then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    return (app.presence_visibility()).sees_others and not is_blocked;
end
$$;

CREATE FUNCTION api.unban_user(user_id uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.unban_user(user_id);
end
$$;

CREATE FUNCTION api.unblock_user(user_id uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from public.blocks b where b.blocker_id = app.caller() and b.blocked_id = unblock_user.user_id;
    return api.blocked_users();
end
$$;

CREATE FUNCTION api.unschedule_message(id uuid) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    removed public.scheduled_messages;
begin
    delete from public.scheduled_messages s
     where s.sender_id = app.caller() and s.id = unschedule_message.id
    returning s.* into removed;
    if removed.id is null then
        perform app.refuse_hidden('There is no such scheduled message. It may be sent.');
    end if;
    return app.scheduled_object(removed);
end
$$;

CREATE FUNCTION api.update_conversation(conversation_id uuid, title text, profiles boolean DEFAULT false, data jsonb DEFAULT NULL::jsonb, keeps_data boolean DEFAULT true, message_ttl_seconds integer DEFAULT NULL::integer, keeps_ttl boolean DEFAULT true) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    seat record := app.lock_conversation(conversation_id);
begin
    if not keeps_data then
        perform app.set_conversation_data(conversation_id, data);
    end if;
    if not keeps_ttl then
        perform app.set_message_ttl(conversation_id, message_ttl_seconds);
    end if;
    if title is null and not (keeps_data and keeps_ttl) then
        return api.conversation(conversation_id, profiles);
    elsif seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation has no title.');
    elsif seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can change its title.');
    end if;
    -- Normalized here, since the column's domain accepts nothing else.
    update public.conversations c set title = app.checked_name('title', update_conversation.title, 'A title')
     where c.id = update_conversation.conversation_id;
    return api.conversation(conversation_id, profiles);
end
$$;

CREATE FUNCTION api.update_me(patch jsonb, if_version bigint DEFAULT NULL::bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_unknown(patch, app.own_fields());
    perform app.locked_caller(if_version);
    perform app.change_fields(patch);
    return api.me();
end
$$;

CREATE FUNCTION api.update_physical(patch jsonb, if_version bigint DEFAULT NULL::bigint) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.locked_caller(if_version);
    perform app.change_physical(patch);
    return api.me();
end
$$;

CREATE FUNCTION api.waiting_media(id uuid) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return coalesce((
        select pg_catalog.json_build_object(
                   'purpose', m.purpose, 'mime_type', m.mime_type, 'bytes', m.bytes,
                   'is_stored', m.stored_at is not null)
          from public.media m
         where m.id = waiting_media.id and m.owner_id = app.caller() and m.used_at is null), '{}');
end
$$;

CREATE TABLE app.sessions (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    user_id uuid NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    refreshed_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    ended_xid xid8,
    forget_at timestamp with time zone
);

CREATE FUNCTION app.accepts_generation(session app.sessions, generation integer, reuse_seconds integer) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return session.revoked_at is null and (
        session.generation = accepts_generation.generation
        or session.generation - 1 = accepts_generation.generation
           and app.now() <= session.refreshed_at + reuse_seconds * interval '1 second');
end
$$;

CREATE FUNCTION app.account_ids(ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if ids is null then
        return null;
    end if;
    return array(
        select w.id
          from (select coalesce(g.account_id, u.id) as id, min(u.place) as place
                  from unnest(ids) with ordinality as u (id, place)
                  left join app.merged_guests g on g.guest_id = u.id
                 group by 1) w
         order by w.place);
end
$$;

CREATE FUNCTION app.acknowledged_messages(users uuid[], cursors pg_snapshot[], devices integer[], conversations uuid[]) RETURNS TABLE(place integer, conversation_id uuid, user_id uuid, seq bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    select r.place::integer, m.conversation_id, r.user_id, n.seq
      from (select users[u.device] as user_id, cursors[u.device] as cursor, u.conversation_id, u.place
              from rows from (unnest(devices), unnest(conversations))
                   with ordinality as u (device, conversation_id, place)) r
     cross join lateral (
            select where not exists (select from public.presence p where p.user_id = r.user_id and p.is_hidden)) visible
     cross join lateral (
            select m.conversation_id, m.last_read_seq from public.conversation_members m
             where m.conversation_id = r.conversation_id and m.user_id = r.user_id and not m.is_deleted
               and not m.is_blocked
            union all
            select m.conversation_id, m.last_read_seq from public.conversation_members m
             where r.conversation_id is null and m.user_id = r.user_id and not m.is_deleted and not m.is_blocked) m
     cross join lateral (
            select from public.conversations c
             where c.id = m.conversation_id and c.last_seq > m.last_read_seq
               and (r.conversation_id is not null or c.kind = 'direct' or not exists (
                    select from public.conversation_members o
                     where o.conversation_id = c.id offset app.max_delivered_members()))) c
      left join lateral (
            select d.last_delivered_seq from public.delivered_marks d
             where d.conversation_id = m.conversation_id and d.user_id = r.user_id) d on true
     cross join lateral (select greatest(m.last_read_seq, d.last_delivered_seq) as seq) mark
     cross join lateral (
            select from (
                    select t.sent_xid from public.messages t
                     where t.conversation_id = m.conversation_id and t.seq > mark.seq order by t.seq limit 1) f
             where pg_catalog.pg_visible_in_snapshot(f.sent_xid, r.cursor)) first_newer
     cross join lateral (
            select coalesce(
                (select s.seq
                   from (select t.seq, t.sent_xid from public.messages t
                          where t.conversation_id = m.conversation_id and t.seq > mark.seq
                          order by t.seq desc limit 100) s
                  where pg_catalog.pg_visible_in_snapshot(s.sent_xid, r.cursor)
                  order by s.seq desc limit 1),
                (select s.seq
                   from (select t.seq, t.sent_xid from public.messages t
                          where t.conversation_id = m.conversation_id and t.seq > mark.seq
                          order by t.seq limit 100) s
                  where pg_catalog.pg_visible_in_snapshot(s.sent_xid, r.cursor)
                  order by s.seq desc limit 1)) as seq) n;
end
$$;

CREATE FUNCTION app.acquire_lease(name text, holder uuid, seconds double precision) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into app.leases as l (name, holder, expires_at)
    values (name, holder, pg_catalog.clock_timestamp() + seconds * interval '1 second')
    on conflict on constraint leases_pkey do update set holder = excluded.holder, expires_at = excluded.expires_at
     where l.holder = excluded.holder or l.expires_at <= pg_catalog.clock_timestamp();
    return found;
end
$$;

CREATE FUNCTION app.message_id() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (((lpad(to_hex(((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision))::bigint), 12, '0'::text) || '7'::text) || substr((gen_random_uuid())::text, 16)))::uuid AS uuid;
END;

CREATE TABLE public.messages (
    id uuid DEFAULT app.message_id() NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    sender_id uuid NOT NULL,
    client_id uuid,
    kind app.message_kind DEFAULT 'text'::text NOT NULL,
    content app.message_content,
    attachment jsonb,
    version bigint DEFAULT 1 NOT NULL,
    sent_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    created_at timestamp with time zone NOT NULL,
    edited_at timestamp with time zone,
    deleted_at timestamp with time zone,
    first_sent bytea,
    event jsonb,
    reply_to_seq bigint,
    mentions uuid[],
    mentions_everyone boolean,
    data jsonb
)
WITH (autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', autovacuum_freeze_min_age='0');

CREATE FUNCTION app.add_details(message public.messages) RETURNS public.messages
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    message.mentions_everyone := nullif(message.mentions_everyone, false);
    if message.deleted_at is not null then
        message.mentions := null;
        message.mentions_everyone := null;
        message.data := null;
    end if;
    -- Numbers have no gaps: this is the whole check.
    if message.reply_to_seq is not null and message.reply_to_seq not between (
        select c.first_seq from public.conversations c where c.id = message.conversation_id) and message.seq - 1 then
        perform app.refuse_reply();
    end if;
    if message.data is not null then
        perform app.check_data(message.data);
    end if;
    if message.mentions_everyone then
        perform app.check_everyone(message.conversation_id, message.sender_id);
    end if;
    message.mentions := app.mentioned_members(message.conversation_id, message.mentions);
    return message;
end
$$;

CREATE FUNCTION app.add_participants() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into public.conversation_members (conversation_id, user_id)
    values (new.id, new.participant1_id), (new.id, new.participant2_id);
    return null;
end
$$;

CREATE FUNCTION app.add_reactions(conversation_id uuid, seq bigint, emoji text, step bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    numbers jsonb;
begin
    insert into public.reaction_counts as c (conversation_id, seq, counts)
    values (add_reactions.conversation_id, add_reactions.seq,
            app.stepped_counts('{}', add_reactions.emoji, add_reactions.step))
    on conflict on constraint reaction_counts_pkey do update
       set counts = app.stepped_counts(c.counts, add_reactions.emoji, add_reactions.step), version = c.version + 1,
           changed_xid = pg_catalog.pg_current_xact_id()
    returning c.counts into numbers;
    -- The numbers of 21 take more than 300 bytes, which is faster to ask.
    if step > 0 and pg_catalog.pg_column_size(numbers) > 300 and (numbers ->> emoji)::bigint = step
       and (select count(*) from pg_catalog.jsonb_object_keys(numbers)) > 20 then
        perform app.refuse_forbidden('A message can have at most 20 different reactions.');
    end if;
end
$$;

CREATE FUNCTION app.add_stream(message public.messages) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into app.message_streams (conversation_id, seq, sender_id, length)
    values (message.conversation_id, message.seq, message.sender_id, pg_catalog.char_length(message.content));
    insert into public.message_pieces (conversation_id, seq, start, content)
    values (message.conversation_id, message.seq, 0, message.content);
end
$$;

CREATE FUNCTION app.added_users_param(conversation_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return case
        when app.is_merging() then 'guest_refresh_token'
        when exists (
            select from public.conversation_members m
             where m.conversation_id = added_users_param.conversation_id and m.user_id = auth.uid()
               and m.joined_xid = pg_catalog.pg_current_xact_id()) then 'member_ids'
        else 'user_ids' end;
end
$$;

CREATE FUNCTION app.answer_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 4100000;
END;

CREATE FUNCTION app.append_conversation(from_id uuid, into_id uuid, guest uuid, account uuid, counted_from bigint, most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    xid xid8 := pg_catalog.pg_current_xact_id();
    reserved bigint;    -- added to the numbers of moved messages
    newest public.messages;
begin
    select c.last_seq into reserved from public.conversations c where c.id = into_id for update;
    perform app.move_scheduled(from_id, into_id, reserved);
    update public.media m set conversation_id = into_id where m.conversation_id = from_id and m.message_id is null;
    select m.* into newest from public.messages m where m.conversation_id = from_id order by m.seq desc limit 1;
    -- Messages that an earlier merge would still move here go directly there.
    delete from app.message_moves v where v.conversation_id = from_id;
    update app.message_moves v
       set into_id = append_conversation.into_id, base = reserved + v.base, sent_xid = xid
     where v.into_id = from_id;
    if newest.id is null then
        return;
    end if;
    update public.conversations c
       set last_seq = reserved + f.last_seq,
           pinned_seqs = (array(select reserved + p from unnest(f.pinned_seqs) p) || c.pinned_seqs)[:50],
           data = coalesce(c.data, f.data),
           -- The shorter one, for what was written with it.
           message_ttl_seconds = least(c.message_ttl_seconds, f.message_ttl_seconds),
           last_message_content = pg_catalog.left(newest.content, app.preview_characters()),
           -- No message of the conversation is later.
           last_message_time = greatest(c.last_message_time, newest.created_at), last_message_xid = xid,
           last_message_sender_id = case when newest.sender_id = guest then account else newest.sender_id end
      from public.conversations f
     where f.id = from_id and c.id = into_id;
    insert into app.message_moves (conversation_id, guest_id, into_id, base, sent_xid, below, uncounted_below)
    values (from_id, guest, into_id, reserved, xid, newest.seq + 1, counted_from);
    update public.conversations c
       set last_seq = 0, last_message_content = null, last_message_time = null, last_message_sender_id = null,
           pinned_seqs = null
     where c.id = from_id;
    perform app.move_delivered_mark(
                into_id, n.user_id,
                reserved + greatest(o.last_read_seq, app.delivered_mark(from_id, o.user_id)))
       from public.conversation_members n
       join public.conversation_members o
         on o.conversation_id = from_id and o.user_id = case when n.user_id = account then guest else n.user_id end
      where n.conversation_id = into_id
        and greatest(n.last_read_seq, app.delivered_mark(into_id, n.user_id)) >= reserved;
    update public.conversation_members m
       set last_read_seq = greatest(w.seq, case when m.last_read_seq = reserved
                                                then reserved + coalesce(o.last_read_seq, 0)
                                                else m.last_read_seq end),
           sent_seq = w.seq, changed_xid = xid
      from public.conversation_members n
      left join public.conversation_members o
        on o.conversation_id = from_id and o.user_id = case when n.user_id = account then guest else n.user_id end
     cross join lateral (
            select greatest(n.sent_seq, reserved + coalesce(nullif(o.sent_seq, 0), (
                        -- A member row may have been deleted by SQL, and restored.
                        select max(s.seq)
                          from (select l.seq, l.sender_id from public.messages l
                                 where l.conversation_id = from_id order by l.seq desc limit 10000) s
                         where s.sender_id = case n.user_id when account then guest else n.user_id end))) as seq
            ) w
     where n.conversation_id = into_id and m.conversation_id = n.conversation_id and m.user_id = n.user_id;
    perform app.move_batch(from_id, guest, most);
end
$$;

CREATE FUNCTION app.append_piece(conversation_id uuid, seq bigint, start bigint, content text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    me uuid := app.caller();
    added integer := pg_catalog.char_length(content);
    present integer;
begin
    if coalesce(content, '') = '' then
        perform app.refuse_param('content', '"content" must be at least 1 character long.');
    end if;
    update app.message_streams s
       set length = s.length + added, appended_at = pg_catalog.clock_timestamp(),
           changed_xid = pg_catalog.pg_current_xact_id()
     where s.conversation_id = append_piece.conversation_id and s.seq = append_piece.seq and s.sender_id = me
       and s.length = append_piece.start and s.length + added <= app.max_message_characters()
       and exists (select from public.conversation_members m
                    where m.conversation_id = append_piece.conversation_id and m.user_id = me and not m.is_deleted
                      and not m.is_blocked)
    returning s.length into present;
    if found then
        if start > 0 then
            insert into public.message_pieces (conversation_id, seq, start, content)
            values (append_piece.conversation_id, append_piece.seq, append_piece.start, append_piece.content);
        else
            -- The first piece is empty if the message began without a text. Not for all pieces, since this runs the
            -- triggers of inserts and updates.
            insert into public.message_pieces as p (conversation_id, seq, start, content)
            values (append_piece.conversation_id, append_piece.seq, append_piece.start, append_piece.content)
            on conflict on constraint message_pieces_pkey do update
               set content = excluded.content, changed_xid = excluded.changed_xid;
        end if;
        return present;
    end if;
    perform app.check_stream(conversation_id, seq);
    if app.has_block(conversation_id) then
        perform app.refuse_blocked();
    end if;
    select s.length into present from app.message_streams s
     where s.conversation_id = append_piece.conversation_id and s.seq = append_piece.seq;
    if start between 0 and present - added
       and pg_catalog.substr(app.stream_text(conversation_id, seq), start::integer + 1, added) = content then
        return present;
    elsif start <> present then
        perform app.refuse_param('start', pg_catalog.format(
            '"start" must be %s, the number of characters that the message has.', present));
    end if;
    perform app.refuse_param('content', pg_catalog.format(
        '"content" is too long: a message has at most %s characters.', app.max_message_characters()));
end
$$;

CREATE FUNCTION app.append_pieces(senders uuid[], conversations uuid[], seqs bigint[], starts bigint[], contents text[]) RETURNS TABLE(place bigint, object json)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 16
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    with pieces as materialized (
        select distinct on (p.conversation_id, p.seq) p.*, pg_catalog.char_length(p.content) as added
          from unnest(senders, conversations, seqs, starts, contents) with ordinality
                   as p (sender_id, conversation_id, seq, start, content, place)
         where p.start > 0 and p.content <> ''
         order by p.conversation_id, p.seq, p.place),
    locked as materialized (
        select p.* from pieces p
          join app.message_streams s on s.conversation_id = p.conversation_id and s.seq = p.seq
           for no key update of s skip locked),
    grown as (
        update app.message_streams s
           set length = s.length + l.added, appended_at = pg_catalog.clock_timestamp(),
               changed_xid = pg_catalog.pg_current_xact_id()
          from locked l
         where s.conversation_id = l.conversation_id and s.seq = l.seq and s.sender_id = l.sender_id
           and s.length = l.start and s.length + l.added <= app.max_message_characters()
           and exists (select from public.conversation_members m
                        where m.conversation_id = l.conversation_id and m.user_id = l.sender_id and not m.is_deleted
                          and not m.is_blocked)
        returning l.*, s.length),
    written as (
        insert into public.message_pieces (conversation_id, seq, start, content)
        select g.conversation_id, g.seq, g.start, g.content from grown g)
    select g.place,
           pg_catalog.json_build_object('conversation_id', g.conversation_id, 'seq', g.seq, 'length', g.length)
      from grown g;
end
$$;

CREATE FUNCTION app.apply_held_decision(message_id uuid, decision text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    held app.held_messages;
begin
    select l.* into held
      from public.messages m cross join lateral app.locked_held(m.conversation_id, m.seq) l
     where m.id = apply_held_decision.message_id;
    if held.message_id is null then
        return;
    elsif decision = 'hold' then
        update app.held_messages h set ask_at = null where h.message_id = held.message_id;
    elsif decision = 'reject' or not app.release_held(held) then
        perform app.reject_held(held);
    end if;
end
$$;

CREATE FUNCTION app.assign_report(id uuid) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.moderator();
    report app.reports := app.locked_report(id);
begin
    if report.state = 'closed' then
        perform app.refuse_forbidden('This report is closed.');
    elsif report.state = 'open' or report.moderator_id is distinct from me then
        update app.reports r set state = 'in_review', moderator_id = me
         where r.id = report.id returning r.* into report;
        perform app.record_moderation('assign-report', report.reported_id, pg_catalog.jsonb_build_object(
            'report', report.id));
    end if;
    return app.report_object(report);
end
$$;

CREATE FUNCTION app.attachment_content(kind text, content text, attachment jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT COALESCE(content,
         CASE
             WHEN (kind <> 'image'::text) THEN (attachment ->> 'name'::text)
             ELSE NULL::text
         END, ''::text) AS "coalesce";
END;

CREATE FUNCTION app.attachment_object(attachment jsonb) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT row_to_json(w.*) AS row_to_json
    FROM ( SELECT (attachment_object.attachment -> 'url'::text) AS url,
             (attachment_object.attachment -> 'mime_type'::text) AS mime_type,
             (attachment_object.attachment -> 'width'::text) AS width,
             (attachment_object.attachment -> 'height'::text) AS height,
             (attachment_object.attachment -> 'bytes'::text) AS bytes,
             (attachment_object.attachment -> 'media_id'::text) AS media_id,
             (attachment_object.attachment -> 'blurhash'::text) AS blurhash,
             (attachment_object.attachment -> 'name'::text) AS name,
             (attachment_object.attachment -> 'duration_ms'::text) AS duration_ms,
             (attachment_object.attachment -> 'waveform'::text) AS waveform,
             (attachment_object.attachment -> 'preview_media_id'::text) AS preview_media_id) w;
END;

CREATE FUNCTION app.attachment_members(attachment jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat(',"attachment":', o.first, ',"attachments":[', o.first,
         CASE
             WHEN (attachment_members.attachment ? 'more'::text) THEN ( SELECT (','::text || string_agg((app.attachment_object(a.value))::text, ','::text ORDER BY a.place))
                FROM jsonb_array_elements((attachment_members.attachment -> 'more'::text)) WITH ORDINALITY a(value, place))
             ELSE NULL::text
         END, ']') AS concat
    FROM ( SELECT app.attachment_object(attachment_members.attachment) AS first
          OFFSET 0) o;
END;

CREATE FUNCTION app.attachments(attachment jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (attachment IS NULL) THEN '[]'::jsonb
             ELSE (jsonb_build_array((attachment - 'more'::text)) || COALESCE((attachment -> 'more'::text), '[]'::jsonb))
         END AS "case";
END;

CREATE FUNCTION app.ban_user(user_id uuid, until timestamp with time zone) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users := app.bannable_account(user_id);
    -- Not infinity, which Supabase's auth server cannot read.
    ends_at timestamptz := coalesce(until, '9999-12-31T00:00:00Z');
begin
    if ends_at <= pg_catalog.now() then
        perform app.refuse_param('until', '"until" must be in the future.');
    end if;
    update auth.users u set banned_until = ends_at, updated_at = pg_catalog.now() where u.id = account.id;
    perform app.record_moderation('ban-user', account.id, pg_catalog.jsonb_build_object('until', admin.utc(ends_at)));
    return pg_catalog.json_build_object('user_id', account.id, 'is_banned', true, 'banned_until', app.utc(until));
end
$$;

CREATE FUNCTION app.bannable_account(user_id uuid) RETURNS auth.users
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users;
begin
    perform app.moderator();
    select u.* into account from auth.users u where u.id = bannable_account.user_id and u.deleted_at is null for update;
    if account.id is null or exists (
        select from public.user_profiles p where p.id = account.id and p.is_deleted) then
        perform app.refuse_hidden('There is no such user.');
    elsif exists (select from public.user_private s where s.id = account.id and s.is_moderator) then
        perform app.refuse_forbidden('A moderator cannot be banned by a moderator.');
    -- An operator's word stands above a moderator's.
    elsif app.is_banned(account) and (
        select a.operator !~ '^moderator ' from admin.audit a
         where a.user_id = account.id and a.action in ('disable', 'ban-user', 'unban-user')
         order by a.id desc limit 1) is not false then
        perform app.refuse_forbidden('An operator has disabled this account.');
    end if;
    return account;
end
$$;

CREATE FUNCTION app.blocked_users(user_id uuid) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query
    select b.blocked_id from public.blocks b where b.blocker_id = blocked_users.user_id
    union all
    select b.blocker_id from public.blocks b where b.blocked_id = blocked_users.user_id;
end
$$;

CREATE FUNCTION app.caller() RETURNS uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := auth.uid();
begin
    if me is null then
        raise exception using errcode = 'PL002', message = 'Sign in first.';
    end if;
    return me;
end
$$;

CREATE FUNCTION app.cancel_mails(user_id uuid, kinds text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.mails m where m.user_id = cancel_mails.user_id and m.kind = any (kinds);
    delete from app.mail_tokens t where t.user_id = cancel_mails.user_id and t.kind = any (kinds);
end
$$;

CREATE FUNCTION app.change_avatar(avatar jsonb, path text DEFAULT ''::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    new_type text := app.patched_text(avatar, 'avatar_type', null, path);
    new_id text := app.patched_text(avatar, 'avatar_id', null, path);
    new_url text := app.patched_text(avatar, 'avatar_url', null, path);
    media_id text := app.patched_text(avatar, 'media_id', null, path);
    picture uuid := app.media_id(pg_catalog.jsonb_build_object('media_id', media_id));
begin
    perform app.refuse_unknown(avatar, array['avatar_type', 'avatar_id', 'avatar_url', 'media_id'], path);
    if not avatar ? 'avatar_type' or new_type not in ('built_in', 'custom') then
        perform app.refuse_param(path || 'avatar_type',
            pg_catalog.format('"%savatar_type" must be "built_in", "custom" or null.', path));
    elsif media_id is not null and new_type is distinct from 'custom' then
        perform app.refuse_param(path || 'media_id',
            pg_catalog.format('"%smedia_id" is only for a custom avatar.', path));
    elsif new_id is not null and new_type is distinct from 'built_in' then
        perform app.refuse_param(path || 'avatar_id',
            pg_catalog.format('"%savatar_id" is only for a built-in avatar.', path));
    elsif new_url is not null and new_type is distinct from 'custom' then
        perform app.refuse_param(path || 'avatar_url',
            pg_catalog.format('"%savatar_url" is only for a custom avatar.', path));
    elsif new_type = 'built_in' and not exists (select from public.built_in_avatars a where a.id = new_id) then
        perform app.refuse_param(path || 'avatar_id', 'There is no such built-in avatar.');
    elsif media_id is not null then
        -- A trigger of the profile marks the picture as used.
        if not coalesce(app.is_media_url(new_url, picture), false) then
            perform app.refuse_param(path || 'avatar_url',
                pg_catalog.format('"%savatar_url" is not the address of the picture.', path));
        elsif not exists (select from public.media m
                           where m.id = picture and m.owner_id = app.caller() and m.purpose = 'avatar'
                             and m.stored_at is not null and m.used_at is null) then
            perform app.refuse_param(path || 'media_id',
                pg_catalog.format('"%smedia_id" must be an unused picture that you have uploaded as an avatar.', path));
        end if;
    elsif new_type = 'custom' then
        perform app.check_avatar_url(path || 'avatar_url', coalesce(new_url, ''));
    end if;
    update public.user_profiles p
       set avatar_type = new_type, avatar_id = new_id, avatar_url = new_url
     where p.id = app.caller();
end
$$;

CREATE FUNCTION app.change_details(before public.messages, message public.messages) RETURNS public.messages
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    message.mentions_everyone := nullif(message.mentions_everyone, false);
    if message.data is distinct from before.data and message.data is not null then
        perform app.check_data(message.data);
    end if;
    if message.mentions_everyone and before.mentions_everyone is null then
        perform app.check_everyone(message.conversation_id, message.sender_id);
    end if;
    if message.mentions is distinct from before.mentions then
        message.mentions := app.mentioned_members(message.conversation_id, message.mentions);
    end if;
    perform app.replace_mentions(before, message);
    return message;
end
$$;

CREATE FUNCTION app.change_fields(patch jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    private public.user_private;
begin
    if patch ? 'full_name' and patch -> 'full_name' = 'null' then
        perform app.refuse_param('full_name', '"full_name" must not be empty.');
    end if;
    -- In a statement of its own, since triggers fire on a change of the name.
    if patch ? 'full_name' then
        update public.user_profiles p
           set full_name = app.patched_text(patch, 'full_name', p.full_name)
         where p.id = me;
    end if;
    if patch ?| array['bio', 'website', 'location', 'language_code'] then
        update public.user_profiles p
           set bio = case when patch ? 'bio' then app.patched_text(patch, 'bio', null) else p.bio end,
               website = case when patch ? 'website' then app.patched_text(patch, 'website', null) else p.website end,
               location = case when patch ? 'location' then app.patched_text(patch, 'location', null)
                               else p.location end,
               language_code = case when patch ? 'language_code' then app.patched_text(patch, 'language_code', null)
                                    else p.language_code end
         where p.id = me;
    end if;

    if patch ?| array['phone_number', 'date_of_birth', 'preferred_unit_system', 'preferences'] then
        select * into private from public.user_private p where p.id = me;
        if patch ? 'preferred_unit_system' then
            private.preferred_unit_system := coalesce(app.patched_text(patch, 'preferred_unit_system', null), 'metric');
            if private.preferred_unit_system not in ('metric', 'imperial') then
                perform app.refuse_param('preferred_unit_system',
                    '"preferred_unit_system" must be "metric" or "imperial".');
            end if;
        end if;
        if patch ? 'preferences' then
            if pg_catalog.jsonb_typeof(patch -> 'preferences') not in ('object', 'null') then
                perform app.refuse_param('preferences', '"preferences" must be an object.');
            -- After a typo the user would not be hidden, without noticing it.
            elsif coalesce(patch -> 'preferences' -> 'presence', 'null') not in ('null', '"nobody"', '"contacts"') then
                perform app.refuse_param('preferences',
                    '"presence" in "preferences" must be "nobody", or "contacts" for users who share a conversation.');
            elsif pg_catalog.jsonb_typeof(patch -> 'preferences' -> 'notify_reactions') not in ('boolean', 'null') then
                perform app.refuse_param('preferences', '"notify_reactions" in "preferences" must be true or false.');
            end if;
            private.preferences := case when patch -> 'preferences' = 'null' then '{}' else (
                select coalesce(pg_catalog.jsonb_object_agg(merged.key, merged.value), '{}')
                  from pg_catalog.jsonb_each(private.preferences || (patch -> 'preferences')) merged
                 where merged.value <> 'null') end;
        end if;
        update public.user_private p
           set phone_number = app.patched_text(patch, 'phone_number', p.phone_number),
               date_of_birth = app.patched_date_of_birth(patch, p.date_of_birth),
               preferred_unit_system = private.preferred_unit_system,
               preferences = private.preferences
         where p.id = me;
    end if;
end
$$;

CREATE FUNCTION app.change_message() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if row(new.content, new.deleted_at, new.mentions, new.mentions_everyone, new.data)
       is distinct from row(old.content, old.deleted_at, old.mentions, old.mentions_everyone, old.data) then
        update public.messages m
           set content = new.content, deleted_at = new.deleted_at, mentions = new.mentions,
               mentions_everyone = new.mentions_everyone, data = new.data
         where m.id = old.id
        returning m.content, m.attachment, m.version, m.edited_at, m.deleted_at, m.mentions, m.mentions_everyone, m.data
             into new.content, new.attachment, new.version, new.edited_at, new.deleted_at, new.mentions,
                  new.mentions_everyone, new.data;
        if not found then
            return null;
        end if;
    end if;
    return new;
end
$$;

CREATE FUNCTION app.change_physical(patch jsonb, path text DEFAULT ''::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_unknown(patch, array['biological_sex', 'height_cm', 'date_of_birth'], path);
    if app.patched_text(patch, 'biological_sex', null, path) not in ('male', 'female', 'other') then
        perform app.refuse_param(path || 'biological_sex',
            pg_catalog.format('"%sbiological_sex" must be "male", "female" or "other".', path));
    elsif pg_catalog.jsonb_typeof(patch -> 'height_cm') not in ('number', 'null') then
        perform app.refuse_param(path || 'height_cm', pg_catalog.format('"%sheight_cm" must be a number.', path));
    elsif (patch ->> 'height_cm')::numeric not between 30 and 300 then
        perform app.refuse_param(path || 'height_cm', pg_catalog.format('"%sheight_cm" must be 30 to 300.', path));
    end if;
    update public.user_private p
       set biological_sex = app.patched_text(patch, 'biological_sex', p.biological_sex, path),
           height_cm = case when patch ? 'height_cm' then (patch ->> 'height_cm')::numeric else p.height_cm end,
           date_of_birth = app.patched_date_of_birth(patch, p.date_of_birth, path)
     where p.id = app.caller();
end
$$;

CREATE FUNCTION app.change_username(username text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if username is null then
        perform app.refuse_param('username', '"username" can be changed but not removed.');
    end if;
    begin
        update public.user_profiles p set username = change_username.username where p.id = app.caller();
    exception when unique_violation then
        perform app.refuse_username();
    end;
end
$$;

CREATE FUNCTION app.changes_since(since pg_snapshot, until pg_snapshot, OUT mine uuid[], OUT touched uuid[], OUT has_any boolean, OUT has_profiles boolean, OUT has_presence boolean, OUT has_members boolean, OUT has_removals boolean) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    most constant integer := 64;
    me uuid := auth.uid();
    oldest xid8 := pg_catalog.pg_snapshot_xmin(since);
    changed uuid[];
    shared uuid[];
    is_flipped boolean;     -- it has changed whose presence the caller sees
    is_checked boolean;     -- all changes were checked singly
begin
    select coalesce(pg_catalog.array_agg(c.id order by c.id), '{}'),
           coalesce(pg_catalog.bool_or(not pg_catalog.pg_visible_in_snapshot(c.changed_xid, since)
                                       or not pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since)
                                       or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)), false)
           or exists (select from public.conversation_mutes x
                       where x.user_id = me and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, since)),
           exists (select from public.presence p
                    where p.user_id = me and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since))
      into mine, has_any, is_flipped
      from public.conversation_members m
      join public.conversations c on c.id = m.conversation_id
     where m.user_id = me and not m.is_deleted
       and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until));

    changed := array(
        select m.conversation_id from public.conversation_members m
         where m.changed_xid >= oldest order by m.changed_xid limit most);
    has_members := pg_catalog.cardinality(changed) = most or changed && mine;
    is_checked := pg_catalog.cardinality(changed) < most and not is_flipped;
    touched := changed;

    select coalesce(pg_catalog.array_agg(f.user_id), '{}'),
           coalesce(pg_catalog.array_agg(f.conversation_id) filter (where f.wrote), '{}')
      into changed, shared
      from (select f.user_id, f.conversation_id, f.wrote from app.former_members f
             where f.changed_xid >= oldest order by f.changed_xid limit most) f;
    has_removals := pg_catalog.cardinality(changed) = most or me = any (changed);
    -- A former member may have joined and written since.
    has_profiles := pg_catalog.cardinality(changed) = most or shared && mine;
    is_checked := is_checked and pg_catalog.cardinality(changed) < most;
    touched := touched || shared;

    changed := array(
        select p.id from public.user_profiles p
         where p.changed_xid >= oldest order by p.changed_xid limit most);
    shared := '{}';
    if changed <> '{}' then
        shared := case when pg_catalog.cardinality(changed) < most
                       then app.shared_conversations(changed, mine, null, true) end;
    end if;
    has_profiles := has_profiles or me = any (changed) or shared is distinct from '{}';
    is_checked := is_checked and shared is not null;
    touched := touched || shared;

    changed := array(
        select p.user_id from public.presence p
         where p.user_id <> me and p.changed_xid >= oldest order by p.changed_xid limit most);
    shared := '{}';
    if changed <> '{}' and mine <> '{}' then
        shared := case when pg_catalog.cardinality(changed) < most
                       then app.shared_conversations(changed, mine, until, false) end;
    end if;
    has_presence := shared is distinct from '{}';
    if not is_checked or shared is null then
        touched := null;
    else
        -- Changes of other users' conversations are walked too, but are none of the caller's.
        touched := array(select pg_catalog.unnest(touched || shared) intersect select pg_catalog.unnest(mine));
    end if;
    has_any := has_any or is_flipped or has_members or has_removals or has_profiles or has_presence;
end
$$;

CREATE FUNCTION app.check_attachment(attachment jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    has_more boolean := pg_catalog.jsonb_typeof(attachment) = 'object' and attachment ? 'more';
    wrong bigint;
begin
    if not has_more then
        if not app.is_attachment(attachment) then
            perform app.refuse_attachment('attachment');
        end if;
        return;
    elsif pg_catalog.jsonb_typeof(attachment -> 'more') <> 'array'
          or pg_catalog.jsonb_array_length(attachment -> 'more') > 9 then
        perform app.refuse_param('attachments', '"attachments" must hold 1 to 10 objects.');
    end if;
    select a.place - 1 into wrong
      from pg_catalog.jsonb_array_elements(app.attachments(attachment)) with ordinality a (value, place)
     where not app.is_attachment(a.value) order by a.place limit 1;
    if wrong is not null then
        perform app.refuse_attachment(pg_catalog.format('attachments[%s]', wrong));
    end if;
end
$$;

CREATE TABLE public.user_profiles (
    id uuid NOT NULL,
    username text,
    full_name text,
    bio text,
    avatar_type text,
    avatar_id text,
    avatar_url text,
    website text,
    location text,
    language_code text,
    is_verified boolean DEFAULT false NOT NULL,
    is_guest boolean DEFAULT false NOT NULL,
    is_deleted boolean DEFAULT false NOT NULL,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    public_changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE FUNCTION app.check_avatar_shape(profile public.user_profiles) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if profile.avatar_type not in ('built_in', 'custom') then
        perform app.refuse_param('avatar_type', '"avatar_type" must be "built_in", "custom" or null.');
    elsif (profile.avatar_type is not distinct from 'built_in') <> (profile.avatar_id is not null) then
        perform app.refuse_param('avatar_id', '"avatar_id" must be set for a built-in avatar, and only for one.');
    elsif (profile.avatar_type is not distinct from 'custom') <> (profile.avatar_url is not null) then
        perform app.refuse_param('avatar_url', '"avatar_url" must be set for a custom avatar, and only for one.');
    end if;
end
$$;

CREATE FUNCTION app.check_avatar_url(field text, url text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not app.is_https(url) then
        perform app.refuse_param(field,
            pg_catalog.format('"%s" must be an https address of at most 2,048 bytes.', field));
    end if;
end
$$;

CREATE FUNCTION app.check_conversation_counts(conversation_id uuid, user_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := auth.uid();
    is_guest boolean;
    added record;
    share integer;
    problem text;
begin
    -- Usually finds no user, in one index-only scan for each.
    for added in
        select a.user_id, g.groups
          from unnest(user_ids) as a (user_id)
         cross join lateral (
            select count(*) as conversations from (
                select from public.conversation_members m
                 where m.user_id = a.user_id limit app.max_own_conversations() + 1) m) n
         cross join lateral (
            select count(*) as groups from (
                select from public.conversation_members m
                  join public.conversations c on c.id = m.conversation_id and c.participant1_id is null
                 where m.user_id = a.user_id limit app.max_own_conversations() + 1) m
             where n.conversations > app.max_conversations_by_guests()) g
         where g.groups > app.max_conversations_by_guests()
    loop
        -- A merge moves memberships that were the user's own already, as a guest.
        if added.user_id = me or app.is_merging() then
            share := app.max_own_conversations();
            problem := 'You can be in at most ' || share || ' groups. Leave one first.';
        elsif me is null or added.groups > app.max_conversations() then
            share := app.max_conversations();
            problem := 'One of the users is in at least ' || share || ' groups, and cannot be added to another. '
                || 'They must leave one first.';
        else
            is_guest := coalesce(is_guest, (select p.is_guest from public.user_profiles p where p.id = me));
            share := case when is_guest then app.max_conversations_by_guests()
                          else app.max_conversations_by_strangers() end;
            continue when added.groups <= share or app.has_contacted(added.user_id, me);
            problem := 'One of the users is in at least ' || share || ' groups. You can add them only after '
                || 'they have written to you: write to them first.';
        end if;
        if added.groups > share then
            perform app.refuse_param(app.added_users_param(conversation_id), problem);
        end if;
    end loop;
end
$$;

CREATE FUNCTION app.check_data(data jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    problem text := app.data_error(data);
begin
    if problem is not null then
        perform app.refuse_param('data', problem);
    end if;
end
$$;

CREATE FUNCTION app.check_date_of_birth(field text, value date) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    -- One day later than UTC: in the east it is already tomorrow.
    if value not between '1900-01-01' and (pg_catalog.now() at time zone 'UTC')::date + 1 then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be a date from 1900 to today.', field));
    end if;
end
$$;

CREATE FUNCTION app.check_everyone(conversation_id uuid, sender_id uuid) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not app.may_mention_everyone(conversation_id, sender_id) then
        perform app.refuse_forbidden('Only the owner and admins of a group can mention everyone.');
    end if;
end
$$;

CREATE FUNCTION app.check_scheduled() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    -- The policy checks it too, but only after this trigger, whose errors would reveal who is a member.
    if new.sender_id <> auth.uid() then
        perform app.refuse_message();
    elsif not coalesce(new.due_at > pg_catalog.now() and new.due_at <= pg_catalog.now() + interval '366 days', false)
    then
        perform app.refuse_param('due_at', '"due_at" must be in the future, at most a year from now.');
    elsif not app.may_send_kind(new.kind) then
        perform app.refuse_kind();
    end if;
    begin
        perform app.send_scheduled(new);
        raise exception using errcode = 'PL099';
    exception when sqlstate 'PL099' then
        -- The message is taken back, and its locks with it.
    end;
    -- Serializes the user's changes, so that all its messages are counted, and refuses deleted and merged users.
    perform 1 from public.user_profiles p where p.id = new.sender_id and not p.is_deleted for no key update;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    elsif (select count(*) from public.scheduled_messages s where s.sender_id = new.sender_id) >= app.max_scheduled()
    then
        perform app.refuse_forbidden(pg_catalog.format(
            'You have %s scheduled messages. Remove one, or wait until one is sent, before you schedule another.',
            app.max_scheduled()));
    elsif exists (
        select from public.scheduled_messages s
         where s.sender_id = new.sender_id
           and app.media_ids(s.attachment) && app.media_ids(new.attachment)) then
        perform app.refuse_param('attachment.media_id',
            '"attachment.media_id" is already used by another scheduled message.');
    end if;
    new.attachment := app.normalized_attachment(new.attachment);
    new.mentions := case when new.mentions is not null then array(
        select u.id from unnest(new.mentions) with ordinality u (id, place)
         where u.id is not null group by u.id order by min(u.place)) end;
    new.tries := 0;
    new.next_try_at := app.free_send_time(new.sender_id, new.due_at);
    new.refusal := null;
    return new;
end
$$;

CREATE FUNCTION app.check_stream(conversation_id uuid, seq bigint) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    sender_id uuid;
begin
    select m.sender_id into sender_id
      from public.messages m
      join public.conversation_members o on o.conversation_id = m.conversation_id and o.user_id = auth.uid()
     where m.conversation_id = check_stream.conversation_id and m.seq = check_stream.seq and not o.is_deleted;
    if sender_id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif sender_id <> auth.uid() then
        perform app.refuse_forbidden('Only the sender of a message can append to it and finish it.');
    elsif not app.is_streaming(conversation_id, seq) then
        perform app.refuse_forbidden('The message is finished.');
    end if;
end
$$;

CREATE FUNCTION app.checked_comment(comment text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if pg_catalog.char_length(comment) > 1000 then
        perform app.refuse_param('comment', '"comment" must be at most 1000 characters long.');
    end if;
    return nullif(pg_catalog.btrim(comment, E' \t\n\r'), '');
end
$$;

CREATE FUNCTION app.checked_email(email text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;

CREATE FUNCTION app.checked_name(field text, value text, label text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    name text := app.normalized(value);
begin
    if name is null then
        return null;
    elsif app.is_blank(name) then
        perform app.refuse_param(field, label || ' cannot be blank.');
    elsif pg_catalog.char_length(name) > 100 then
        perform app.refuse_param(field, label || ' can have at most 100 characters.');
    elsif app.has_control(name) then
        perform app.refuse_param(field,
            label || ' cannot contain control or text-direction characters, line separators or noncharacters.');
    end if;
    return name;
end
$$;

CREATE FUNCTION app.checked_time(field text, value text) RETURNS timestamp with time zone
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    parts text[] := regexp_match(value,
        '^((?:19[7-9][0-9]|[2-9][0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[Tt]'
        '([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)([.][0-9]{1,9})?[0-9]*'
        '(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$');
    minutes integer;
    at timestamp;
begin
    if value is null then
        return null;
    elsif parts is null or value ~ ':[0-9]{2}[0-9]' then
        perform app.refuse_param(field,
            pg_catalog.format('"%s" must be a time such as 2026-11-20T10:00:00Z, from 1970 to 9999.', field));
    end if;
    minutes := coalesce((parts[6] || '1')::integer * (parts[7]::integer * 60 + parts[8]::integer), 0);
    -- First the minute in UTC, then the seconds.
    at := parts[1]::date + make_interval(hours => parts[2]::integer, mins => parts[3]::integer - minutes);
    if parts[4] = '60' and (extract(hour from at) <> 23 or extract(minute from at) <> 59
                            or extract(day from at + interval '1 day') <> 1) then
        perform app.refuse_param(field, pg_catalog.format('"%s" is not a valid time.', field));
    end if;
    at := at + (parts[4] || coalesce(parts[5], ''))::numeric * interval '1 second';
    if at < '1970-01-01' or at >= '10000-01-01' then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be from 1970 to 9999.', field));
    end if;
    return at at time zone 'UTC';
exception
    when datetime_field_overflow then
        perform app.refuse_param(field, pg_catalog.format('"%s" is not a valid time.', field));
end
$_$;

CREATE FUNCTION app.claim_held(most integer) RETURNS TABLE(id uuid, body text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query
        with claimed as (
            update app.held_messages h set ask_at = pg_catalog.clock_timestamp() + interval '1 minute'
             where h.message_id in (
                    select d.message_id
                      from app.held_messages d
                      join public.messages m on m.id = d.message_id and m.sender_id = d.sender_id
                     where d.ask_at <= pg_catalog.clock_timestamp()
                       and d.held_at >= pg_catalog.now() - interval '1 day'
                     order by d.ask_at limit most for update of d skip locked)
            returning h.message_id)
        select h.message_id,
               '{"type":"message",' || app.held_fields(h, m) || '}'
          from claimed c
          join app.held_messages h on h.message_id = c.message_id
          join public.messages m on m.id = h.message_id;
end
$$;

CREATE FUNCTION app.claim_pushes(most integer, with_text boolean) RETURNS TABLE(kind text, device_id uuid, conversation_id uuid, seq bigint, user_id uuid, platform text, token text, environment text, locale text, sender_id uuid, sender_name text, title text, message_kind text, content text, badge bigint, attempts integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    senders uuid[];
begin
    senders := app.push_senders(pg_catalog.gen_random_uuid(), most);
    return query
    with due as materialized (
        select p.* from unnest(senders) s (id)
         cross join lateral (
                select q.ctid as place, q.* from app.pushes q
                 where q.sender_id = s.id and q.due_at <= pg_catalog.clock_timestamp()
                 order by q.due_at limit greatest(1, most / greatest(1, cardinality(senders))) for update skip locked) p
         limit most),
    judged as materialized (
        select q.place, q.device_id, q.conversation_id, q.told_seq, q.attempts, q.noted_at, d.user_id, d.platform,
               d.token, d.environment, d.locale, n.seq as newest, n.sender_id, n.kind as message_kind,
               n.content,
               m.last_read_seq,
               case when m.user_id is null then 'forget'
                    when q.seq <= m.last_read_seq then
                        case when q.told_seq > 0 and q.attempts < 10 then 'read' else 'forget' end
                    when q.noted_at < pg_catalog.now() - interval '1 day' then 'late'
                    when n.seq is null then case
                        -- A message that grows is pushed once it is finished, and delays no other.
                        when exists (select from app.message_streams s
                                      where s.conversation_id = q.conversation_id and s.seq <= q.seq
                                        and s.seq > greatest(m.last_read_seq, q.told_seq)) then 'wait'
                        else 'rest' end
                    when not exists (select from app.node_users o where o.user_id = d.user_id) then 'tell'
                    -- A node reports a departure a few seconds late, so that a reconnect is not shown: users who may
                    -- just be leaving are checked once more.
                    when q.noted_at > pg_catalog.clock_timestamp() - interval '8 seconds' then 'wait'
                    else 'rest' end as verdict
          from due q
          join app.devices d on d.id = q.device_id
          left join public.conversation_members m
            on m.conversation_id = q.conversation_id and m.user_id = d.user_id and not m.is_deleted
          left join public.conversation_mutes x
            on x.conversation_id = q.conversation_id and x.user_id = d.user_id
          left join lateral (
                select t.seq, t.sender_id, app.pushed_kind(t) as kind, app.pushed_text(t) as content
                  -- Among the newest 1,000, since a sender may have deleted any number of messages.
                  from ((select y.seq
                           from (select t.seq, t.sender_id, t.deleted_at from public.messages t
                                  where coalesce(x.muted_until <= pg_catalog.now(), true)
                                    and t.conversation_id = q.conversation_id and t.seq <= q.seq
                                    and t.seq > greatest(m.last_read_seq, q.told_seq)
                                  order by t.seq desc limit 1000) y
                          where y.sender_id <> d.user_id and y.deleted_at is null
                            and not app.is_streaming(q.conversation_id, y.seq)
                            and not app.is_blocked(d.user_id, y.sender_id)
                          order by y.seq desc limit 1)
                        union all
                        -- A mention breaks a mute. Those of the user and of everyone are read apart, in their order.
                        select y.seq
                          from unnest(array[d.user_id, app.everyone()]) u (id)
                         cross join lateral (
                                select y.seq from public.message_mentions y
                                 where x.muted_until > pg_catalog.now()
                                   and y.conversation_id = q.conversation_id and y.user_id = u.id and y.seq <= q.seq
                                   and y.seq > greatest(m.last_read_seq, q.told_seq)
                                   and not app.is_streaming(q.conversation_id, y.seq)
                                 order by y.seq desc limit 1) y) w
                  join public.messages t on t.conversation_id = q.conversation_id and t.seq = w.seq
                 where t.sender_id <> d.user_id and t.deleted_at is null
                   and not app.is_blocked(d.user_id, t.sender_id)
                 order by t.seq desc limit 1) n on true),
    -- Once per user, who may have ten devices and thousands of conversations.
    badges as materialized (
        select u.user_id, b.badge
          from (select distinct k.user_id from judged k where k.verdict in ('tell', 'read', 'late')) u
         cross join lateral app.push_badge(u.user_id) b),
    forgotten as (
        delete from app.pushes p
         where p.ctid = any (array(
                select j.place from judged j
                 where j.verdict = 'forget' or j.verdict in ('rest', 'late') and j.told_seq = 0))),
    kept as (
        update app.pushes p
           set due_at = case j.verdict when 'wait' then case
                                           when j.newest is null then pg_catalog.clock_timestamp() + interval '1 second'
                                           else j.noted_at + interval '8 seconds' end
                                       when 'rest' then null when 'late' then null
                                       else pg_catalog.clock_timestamp() + interval '1 minute' end,
               attempts = p.attempts + (j.verdict in ('tell', 'read'))::integer
          from judged j
         where p.ctid = any (array(
                select k.place from judged k
                 where k.verdict in ('wait', 'tell', 'read') or k.verdict in ('rest', 'late') and k.told_seq > 0))
           and j.place = p.ctid)
    select j.verdict, j.device_id, j.conversation_id,
           case when j.verdict = 'read' then j.last_read_seq else j.newest end,
           j.user_id, j.platform, j.token, j.environment, j.locale, j.sender_id,
           coalesce(s.full_name, s.username)::text, c.title::text, j.message_kind::text,
           case when with_text then j.content::text end, coalesce(b.badge, 0), j.attempts
      from judged j
      join public.conversations c on c.id = j.conversation_id
      left join public.user_profiles s on s.id = j.sender_id and not s.is_deleted
      left join badges b on b.user_id = j.user_id
     where j.verdict in ('tell', 'read', 'late');
end
$$;

CREATE FUNCTION app.claim_reaction_pushes(most integer, with_text boolean) RETURNS TABLE(kind text, device_id uuid, conversation_id uuid, seq bigint, user_id uuid, platform text, token text, environment text, locale text, sender_id uuid, sender_name text, title text, message_kind text, content text, badge bigint, attempts integer, emoji text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    with due as materialized (
        select p.ctid as place, p.* from app.reaction_pushes p where p.due_at <= pg_catalog.clock_timestamp()
         order by p.due_at limit most for update skip locked),
    judged as materialized (
        select q.*, d.user_id as receiver_id, d.platform, d.token, d.environment, d.locale, t.message_kind, t.content,
               -- As in app.claim_pushes. The notification of a reaction that is taken back stays.
               case when t.message_kind is null then 'forget'
                    when q.noted_at < pg_catalog.now() - interval '1 day' then 'late'
                    when not exists (select from app.node_users o where o.user_id = d.user_id) then 'reaction'
                    when q.noted_at > pg_catalog.clock_timestamp() - interval '8 seconds' then 'wait'
                    else 'forget' end as verdict
          from due q
          left join app.devices d on d.id = q.device_id
          left join lateral (
                select app.pushed_kind(m) as message_kind, app.pushed_text(m) as content
                  from public.messages m
                  join public.message_reactions r
                    on r.conversation_id = m.conversation_id and r.seq = m.seq and r.user_id = q.user_id
                   and r.emoji = q.emoji and r.is_set
                  join public.conversation_members o
                    on o.conversation_id = m.conversation_id and o.user_id = m.sender_id and not o.is_deleted
                  join public.user_private s
                    on s.id = m.sender_id and s.preferences -> 'notify_reactions' = 'true'
                 where m.conversation_id = q.conversation_id and m.seq = q.seq and m.sender_id = d.user_id
                   and m.deleted_at is null and not app.is_blocked(m.sender_id, q.user_id)
                   and not exists (select from public.conversation_mutes x
                                    where x.conversation_id = m.conversation_id and x.user_id = m.sender_id
                                      and x.muted_until > pg_catalog.now())) t on true),
    forgotten as (
        delete from app.reaction_pushes p
         where p.ctid = any (array(select j.place from judged j where j.verdict in ('forget', 'late')))),
    kept as (
        update app.reaction_pushes p
           set due_at = case j.verdict when 'wait' then j.noted_at + interval '8 seconds'
                                       else pg_catalog.clock_timestamp() + interval '1 minute' end,
               attempts = p.attempts + (j.verdict = 'reaction')::integer
          from judged j
         where p.ctid = any (array(select k.place from judged k where k.verdict in ('wait', 'reaction')))
           and j.place = p.ctid)
    select j.verdict, j.device_id, j.conversation_id, j.seq, j.receiver_id, j.platform, j.token, j.environment,
           j.locale, j.user_id, coalesce(s.full_name, s.username)::text, c.title::text, j.message_kind,
           case when with_text then j.content end, b.badge, j.attempts, case when with_text then j.emoji end
      from judged j
      join public.conversations c on c.id = j.conversation_id
     cross join lateral app.push_badge(j.receiver_id) b
      left join public.user_profiles s on s.id = j.user_id and not s.is_deleted
     where j.verdict in ('reaction', 'late');
end
$$;

CREATE FUNCTION app.claim_removals(most integer) RETURNS TABLE(id uuid, purpose text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
begin
    delete from public.media m
     where m.id in (select u.id from public.media u
                     where u.used_at is null and u.created_at < pg_catalog.now() - interval '24 hours'
                       and not exists (select from public.scheduled_messages s
                                        where s.sender_id = u.owner_id and u.id = any (app.media_ids(s.attachment)))
                     order by u.created_at limit most for update skip locked);
    return query
        update app.media_removals r set due_at = pg_catalog.clock_timestamp() + interval '1 minute'
         where (r.id, r.purpose) in (
                select d.id, d.purpose from app.media_removals d where d.due_at <= pg_catalog.clock_timestamp()
                 order by d.is_stored desc, d.due_at limit most for update skip locked)
        returning r.id, r.purpose;
end
$$;

CREATE FUNCTION app.claim_reports(node uuid, most integer) RETURNS TABLE(id uuid, reason text, reporter_id uuid, reported_id uuid, conversation_id uuid, seq bigint, created_at text, attempts integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not app.acquire_lease('reports', node, 5) then
        return;
    end if;
    return query
        update app.reports r
           set notify_at = pg_catalog.clock_timestamp() + interval '1 minute', notify_attempts = r.notify_attempts + 1
         where r.id in (
                select d.id from app.reports d
                 where d.notify_at <= pg_catalog.clock_timestamp()
                   and d.created_at >= pg_catalog.now() - interval '1 day'
                 order by d.notify_at limit most for update skip locked)
        returning r.id, r.reason, r.reporter_id, r.reported_id, r.conversation_id, r.seq, app.utc(r.created_at),
                  r.notify_attempts - 1;
end
$$;

CREATE FUNCTION app.cluster_identity() RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select s.system_identifier::text || ':' || d.oid::text
      from pg_catalog.pg_control_system() s, pg_catalog.pg_database d
     where d.datname = pg_catalog.current_database()
$$;

CREATE FUNCTION app.complete_attachment(attachment jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if attachment ? 'media_id' then
        attachment := app.complete_file(attachment);
    end if;
    if pg_catalog.jsonb_typeof(attachment -> 'more') = 'array'
       and pg_catalog.jsonb_array_length(attachment -> 'more') between 1 and 9 then
        attachment := pg_catalog.jsonb_set(attachment, '{more}', (
            select pg_catalog.jsonb_agg(
                       case when pg_catalog.jsonb_typeof(a.value) = 'object' and a.value ? 'media_id'
                            then app.complete_file(a.value) else a.value end order by a.place)
              from pg_catalog.jsonb_array_elements(attachment -> 'more') with ordinality a (value, place)));
    end if;
    return attachment;
end
$$;

CREATE FUNCTION app.complete_file(attachment jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    known jsonb;
begin
    select pg_catalog.jsonb_build_object('mime_type', m.mime_type, 'bytes', m.bytes)
           || pg_catalog.jsonb_strip_nulls(
                  pg_catalog.jsonb_build_object('width', m.width, 'height', m.height, 'name', m.name))
      into known
      from public.media m where m.id = app.media_id(attachment) and m.owner_id = app.caller();
    return coalesce(known, '{}') || attachment;
end
$$;

CREATE FUNCTION app.complete_removals(ids uuid[], purposes text[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    delete from app.media_removals r
     where (r.id, r.purpose) in (select u.id, u.purpose from unnest(ids, purposes) as u (id, purpose))
$$;

CREATE FUNCTION app.control_characters() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U0004fffe-\U0004ffff\U0005fffe-\U0005ffff\U0006fffe-\U0006ffff\U0007fffe-\U0007ffff\U0008fffe-\U0008ffff\U0009fffe-\U0009ffff\U000afffe-\U000affff\U000bfffe-\U000bffff\U000cfffe-\U000cffff\U000dfffe-\U000dffff\U000efffe-\U000effff\U000ffffe-\U000fffff\U0010fffe-\U0010ffff]'::text;
END;

CREATE FUNCTION app.conversation_member(id uuid) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (('","conversation_id":"'::text || (id)::text) || '","seq":'::text);
END;

CREATE FUNCTION app.count_messages(conversation_id uuid, guest uuid, after_seq bigint, last_seq bigint) RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    return (select count(*) from public.messages m
             where m.conversation_id = count_messages.conversation_id and m.seq > after_seq and m.seq <= last_seq
               and m.sender_id = guest);
end
$$;

CREATE FUNCTION app.count_reactions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    added public.message_reactions[] := '{}';
    removed public.message_reactions[] := '{}';
    change record;
begin
    if tg_op <> 'DELETE' then
        added := array(select row(n.*)::public.message_reactions from after n where n.is_set);
    end if;
    if tg_op <> 'INSERT' then
        removed := array(select row(o.*)::public.message_reactions from before o where o.is_set);
    end if;
    -- Most statements set one, or take one back. One with `on conflict` runs this for inserts and for updates.
    if added = '{}' and removed = '{}' then
        return null;
    elsif cardinality(added) = 1 and removed = '{}' then
        perform app.add_reactions(added[1].conversation_id, added[1].seq, added[1].emoji, 1);
    elsif cardinality(removed) = 1 and added = '{}' then
        perform app.add_reactions(removed[1].conversation_id, removed[1].seq, removed[1].emoji, -1);
    else
        for change in
            select r.conversation_id, r.seq, r.emoji, sum(r.step)::bigint as step
              from (select a.conversation_id, a.seq, a.emoji, 1 as step from unnest(added) a
                    union all
                    select o.conversation_id, o.seq, o.emoji, -1 from unnest(removed) o) r
             group by r.conversation_id, r.seq, r.emoji having sum(r.step) <> 0
             order by r.conversation_id, r.seq, sum(r.step), r.emoji
        loop
            perform app.add_reactions(change.conversation_id, change.seq, change.emoji, change.step);
        end loop;
    end if;
    if added = '{}' then
        return null;
    elsif cardinality(added) = 1 and removed = '{}' then
        -- The same for one, in a third of the time.
        if (select m.deleted_at is null
                   and not exists (select from public.message_reactions r
                                    where r.conversation_id = m.conversation_id and r.user_id = added[1].user_id
                                      and r.seq = m.seq and r.is_set is not false offset 10)
              from public.messages m
             where m.conversation_id = added[1].conversation_id and m.seq = added[1].seq) then
            return null;
        end if;
    end if;
    if exists (
        -- Deleted meanwhile: a deletion locks the numbers too (app.remove_reactions). A reaction that moves may come
        -- before its message.
        select from unnest(added) a
          left join public.messages m on m.conversation_id = a.conversation_id and m.seq = a.seq
         where m.deleted_at is not null or m.id is null and removed = '{}') then
        perform app.refuse_forbidden('Nobody can react to this message.');
    elsif exists (
        select from unnest(added) a
         -- A guest that was merged and its account can have set ten each.
         where not exists (select from unnest(removed) o
                             join app.merged_guests g on g.guest_id = o.user_id and g.account_id = a.user_id)
           and (select count(*) from public.message_reactions r
                 where r.conversation_id = a.conversation_id and r.user_id = a.user_id and r.seq = a.seq
                   and r.is_set) > 10) then
        perform app.refuse_forbidden('A user can set at most 10 reactions to a message.');
    end if;
    return null;
end
$$;

CREATE FUNCTION app.count_scheduled(conversation_id uuid, user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.tell_own_conversation(count_scheduled.conversation_id, count_scheduled.user_id);
    -- It has locked the row. A separate statement sees what was committed before.
    update public.conversation_mutes x set scheduled_count = n.scheduled, unsent_count = n.unsent
      from (select count(*) filter (where s.refusal is null) as scheduled,
                   count(*) filter (where s.refusal is not null) as unsent
              from public.scheduled_messages s
             where s.sender_id = count_scheduled.user_id
               and s.conversation_id = count_scheduled.conversation_id) n
     where x.conversation_id = count_scheduled.conversation_id and x.user_id = count_scheduled.user_id;
end
$$;

CREATE FUNCTION app.create_account(provider text, email text, full_name text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION app.create_group(title text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    made uuid;
begin
    insert into public.conversations (kind, title, created_by)
    values ('group', app.checked_name('title', title, 'A title'), auth.uid())
    returning id into made;
    insert into public.conversation_members (conversation_id, user_id, role) values (made, auth.uid(), 'owner');
    return made;
end
$$;

CREATE FUNCTION app.create_login_role(login name, password text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not exists (select from pg_catalog.pg_roles r where r.rolname = login) then
        begin
            execute pg_catalog.format('create role %I login noinherit password %L', login, password);
        exception when duplicate_object or unique_violation then
            -- A migration of another database of the cluster has just created it.
            null;
        end;
    end if;
    perform app.grant_service_roles(login);
end
$$;

CREATE FUNCTION app.create_media(purpose text, mime_type text, bytes bigint, conversation_id uuid, width integer, height integer, name text DEFAULT NULL::text, quota bigint DEFAULT NULL::bigint) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    waiting record;
    kept bigint;
    new_id uuid;
begin
    -- Checked here too, since any role with the right may call this without api.create_media.
    if purpose = 'message' and not app.is_member(create_media.conversation_id) then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    if name is not null and not app.is_file_name(name) then
        perform app.refuse_file_name('name');
    end if;
    -- Serializes the user's uploads so that all are counted, and refuses deleted users. Not `for update`: transactions
    -- that add the user to a conversation would wait.
    perform 1 from public.user_profiles p where p.id = me and not p.is_deleted for no key update;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    select count(*) as number, coalesce(sum(m.bytes), 0) as bytes into waiting
      from public.media m where m.owner_id = me and m.used_at is null;
    if waiting.number >= 100 or waiting.bytes + create_media.bytes > 1073741824 then
        perform app.refuse_forbidden('You have too many unused files: use them, or wait a day until they are '
            'removed.');
    end if;
    if quota is not null then
        select coalesce(sum(m.bytes), 0) into kept from public.media m where m.owner_id = me and m.removed_at is null;
        if kept + create_media.bytes > quota then
            perform app.refuse_forbidden(pg_catalog.format(
                'Your files may have %s bytes and have %s: delete messages with files.', quota, kept));
        end if;
    end if;
    insert into public.media (owner_id, purpose, conversation_id, mime_type, bytes, width, height, name)
    values (me, purpose, create_media.conversation_id, mime_type, create_media.bytes, width, height, name)
    returning id into new_id;
    return new_id;
end
$$;

CREATE FUNCTION app.create_presence_rows(users uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    former_timeout text := pg_catalog.current_setting('lock_timeout');
    one uuid;
begin
    if users = '{}' then
        return;
    end if;
    perform pg_catalog.set_config('lock_timeout', '50ms', true);
    begin
        insert into public.presence (user_id) select u.id from unnest(users) as u (id) on conflict do nothing;
    exception when lock_not_available then
        perform pg_catalog.set_config('lock_timeout', '1ms', true);
        foreach one in array users loop
            begin
                insert into public.presence (user_id) values (one) on conflict do nothing;
            exception when lock_not_available then
                null;
            end;
        end loop;
    end;
    perform pg_catalog.set_config('lock_timeout', former_timeout, true);
end
$$;

CREATE FUNCTION app.create_report(conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    message public.messages;
    reported uuid := user_id;
    pending integer;
    present app.reports;
    made uuid;
begin
    comment := app.checked_comment(comment);
    if not coalesce(reason in ('spam', 'abuse', 'sexual', 'violence', 'illegal', 'other'), false) then
        perform app.refuse_param('reason', '"reason" must be spam, abuse, sexual, violence, illegal or other.');
    elsif (conversation_id is null) = (user_id is null) then
        perform app.refuse_param('user_id', 'Give "conversation_id" and "seq", or "user_id".');
    elsif (conversation_id is null) <> (seq is null) then
        perform app.refuse_param('seq', '"seq" belongs to "conversation_id": give both, or "user_id".');
    elsif conversation_id is not null then
        -- As the policy of messages.
        select m.* into message from public.messages m
         where m.conversation_id = create_report.conversation_id and m.seq = create_report.seq
           and m.conversation_id = any (array(select app.my_conversations()));
        if message.id is null then
            perform app.refuse_hidden('There is no such message.');
        end if;
        reported := message.sender_id;
    elsif not exists (select from public.user_profiles p where p.id = reported and not p.is_deleted) then
        perform app.refuse_hidden('There is no such user.');
    end if;
    if reported = me then
        perform app.refuse_forbidden('You cannot report yourself.');
    end if;
    -- Serializes the reports of one user, so that they are counted, and the second of two equal ones finds the first.
    perform 1 from public.user_profiles p where p.id = me and not p.is_deleted for no key update;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    select r.* into present from app.reports r
     where r.reporter_id = me and r.state <> 'closed' and r.reported_id = reported
       and r.message_id is not distinct from message.id
     order by r.created_at, r.id limit 1;
    if present.id is not null then
        update app.reports r
           set reason = create_report.reason, comment = coalesce(create_report.comment, r.comment)
         where r.id = present.id and r.state = 'open'
           and row(r.reason, r.comment)
               is distinct from row(create_report.reason, coalesce(create_report.comment, r.comment));
        return present.id;
    end if;
    select count(*) into pending from app.reports r where r.reporter_id = me and r.state <> 'closed';
    if pending >= app.max_reports() then
        perform app.refuse_forbidden(pg_catalog.format(
            'You have %s open reports. Wait until a moderator has closed one.', app.max_reports()));
    end if;
    insert into app.reports (reporter_id, reported_id, message_id, conversation_id, seq, reason, comment, evidence)
    values (me, reported, message.id, message.conversation_id, message.seq, reason, comment,
            pg_catalog.jsonb_build_object(
                'message', case when message.id is not null then app.evidence_of_message(message) end,
                'before', coalesce((
                    select pg_catalog.jsonb_agg(app.evidence_of_message(b.m) order by (b.m).seq)
                      from (select m from public.messages m
                             where m.conversation_id = message.conversation_id and m.seq < message.seq
                             order by m.seq desc limit 10) b), '[]'),
                'reporter', (select o.object from app.profile_objects o where o.id = me),
                'reported', (select o.object from app.profile_objects o where o.id = reported)))
    returning id into made;
    return made;
end
$$;

CREATE FUNCTION app.creates_event(conversation_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return auth.uid() is not null and not app.is_merging()
       -- A user who joined in this transaction has just created the conversation.
       and not exists (
            select from public.conversation_members m
             where m.conversation_id = creates_event.conversation_id and m.user_id = auth.uid()
               and m.joined_xid = pg_catalog.pg_current_xact_id());
end
$$;

CREATE FUNCTION app.has_huge_number(value jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT jsonb_path_exists(value, 'strict $.**?(@.type() == "number" && (@ > 170000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 || @ < -170000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000))'::jsonpath) AS jsonb_path_exists;
END;

CREATE FUNCTION app.json_bytes(value jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT octet_length((json_strip_nulls((replace((value)::text, 'null'::text, 'true'::text))::json))::text) AS octet_length;
END;

CREATE FUNCTION app.json_flaw(value jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN jsonb_path_exists(value, 'strict $.**{128}?(@.type() == "array" || @.type() == "object")'::jsonpath) THEN 'is nested more than 128 deep'::text
             WHEN app.has_huge_number(value) THEN 'has a number that is out of range'::text
             ELSE NULL::text
         END AS "case";
END;

CREATE FUNCTION app.max_data_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 4096;
END;

CREATE FUNCTION app.data_error(data jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (jsonb_typeof(data) <> 'object'::text) THEN '"data" must be an object.'::text
             WHEN (app.json_flaw(data) IS NOT NULL) THEN (('"data" '::text || app.json_flaw(data)) || '.'::text)
             WHEN (app.json_bytes(data) > app.max_data_bytes()) THEN '"data" must be at most 4 KiB of JSON.'::text
             ELSE NULL::text
         END AS "case";
END;

CREATE FUNCTION app.decide_held(conversation_id uuid, seq bigint, is_released boolean) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.moderator();
    held app.held_messages := app.locked_held(conversation_id, seq);
begin
    if held.message_id is null or held.sender_id = me then
        perform app.refuse_hidden('There is no such held message.');
    elsif not is_released then
        perform app.reject_held(held);
    elsif not app.release_held(held) then
        perform app.refuse_forbidden('Its sender can no longer write in the conversation: reject the message.');
    end if;
    perform app.record_moderation(
        case when is_released then 'release-message' else 'reject-message' end, held.sender_id,
        pg_catalog.jsonb_build_object('conversation', conversation_id, 'seq', seq));
    return (
        select pg_catalog.row_to_json(w) from (
            select m.conversation_id, m.seq, m.version, app.utc(m.deleted_at) as deleted_at
              from public.messages m
             where m.conversation_id = decide_held.conversation_id and m.seq = decide_held.seq) w);
end
$$;

CREATE FUNCTION app.delete_expired() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    insert into app.expired_sends (conversation_id, client_id, sender_id, message_id, seq, first_sent, created_at)
    select m.conversation_id, m.client_id, m.sender_id, m.id, m.seq,
           coalesce(m.first_sent, app.message_hash(m.id, m.kind, m.content, m.attachment, m.data)), m.created_at
      from public.messages m
     where m.conversation_id = new.id and m.seq < new.first_seq and m.client_id is not null
    on conflict do nothing;
    update public.media f set removed_at = pg_catalog.now()
     where f.removed_at is null and f.id = any (array(
            select i.id
              from public.messages m
              left join app.held_messages h on h.message_id = m.id
             cross join lateral unnest(app.media_ids(coalesce(h.attachment, m.attachment))) i (id)
             where m.conversation_id = new.id and m.seq < new.first_seq));
    perform app.remove_stream(s.conversation_id, s.seq) from app.message_streams s
      where s.conversation_id = new.id and s.seq < new.first_seq;
    perform app.remove_reactions(c.conversation_id, c.seq)
       from (select c.conversation_id, c.seq from public.reaction_counts c
              where c.conversation_id = new.id and c.seq < new.first_seq order by c.seq) c;
    delete from public.reaction_counts c where c.conversation_id = new.id and c.seq < new.first_seq;
    update public.conversation_members m set last_read_seq = new.first_seq - 1
     where m.conversation_id = new.id and m.last_read_seq < new.first_seq - 1;
    delete from public.message_mentions y where y.conversation_id = new.id and y.seq < new.first_seq;
    delete from public.messages m where m.conversation_id = new.id and m.seq < new.first_seq;
    return null;
end
$$;

CREATE FUNCTION app.delete_held(conversation_id uuid, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    held app.held_messages := app.locked_held(conversation_id, seq);
begin
    if held.sender_id = auth.uid() or held.message_id is not null and app.is_manager(conversation_id) then
        perform app.reject_held(held);
    end if;
end
$$;

CREATE FUNCTION app.delete_session_devices() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.devices d where d.session_id = new.id;
    return null;
end
$$;

CREATE TABLE public.delivered_marks (
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    last_delivered_seq bigint NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    CONSTRAINT delivered_marks_last_delivered_seq_check CHECK ((last_delivered_seq >= 0))
)
WITH (fillfactor='70');

CREATE FUNCTION app.delivered_mark(conversation_id uuid, user_id uuid) RETURNS bigint
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT d.last_delivered_seq
    FROM public.delivered_marks d
   WHERE ((d.conversation_id = delivered_mark.conversation_id) AND (d.user_id = delivered_mark.user_id));
END;

CREATE FUNCTION app.distinct_ids(field text, ids uuid[], without uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if coalesce(pg_catalog.cardinality(ids), 0) = 0 or pg_catalog.array_position(ids, null) is not null then
        perform app.refuse_param(field, pg_catalog.format('"%s" must name at least one user.', field));
    end if;
    return array(select u.id from unnest(ids) with ordinality as u (id, place)
                  where u.id <> all (without) group by u.id order by min(u.place));
end
$$;

CREATE FUNCTION app.drop_held(conversation_id uuid, user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.held_messages h using public.messages m
     where h.sender_id = drop_held.user_id and m.id = h.message_id and m.conversation_id = drop_held.conversation_id
       and not (app.is_merging() and exists (
            select from app.message_moves v where v.conversation_id = drop_held.conversation_id));
end
$$;

CREATE FUNCTION app.drop_held_message(id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.held_messages h where h.message_id = drop_held_message.id;
    return found;
end
$$;

CREATE FUNCTION app.drop_unused_avatars(account uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    delete from public.media m
     where m.owner_id = account and m.purpose = 'avatar' and m.used_at is not null
       and not exists (select from public.user_profiles p where p.id = account and p.avatar_url = m.url)
$$;

CREATE FUNCTION app.due_pushes(most integer, with_text boolean) RETURNS TABLE(kind text, device_id uuid, conversation_id uuid, seq bigint, user_id uuid, platform text, token text, environment text, locale text, sender_id uuid, sender_name text, title text, message_kind text, content text, badge bigint, attempts integer)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query select * from app.claim_pushes(most, with_text);
end
$$;

CREATE FUNCTION app.due_removals(most integer) RETURNS TABLE(id uuid, purpose text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query select * from app.claim_removals(most);
end
$$;

CREATE FUNCTION app.end_nodes() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
declare
    ended uuid[] := array(
        select n.id from app.nodes n where n.lease_until < pg_catalog.clock_timestamp() for update skip locked);
    users uuid[];
    taken integer;
begin
    if ended = '{}' then
        return 0;
    end if;
    with gone as (
        delete from app.node_users u
         where (u.node_id, u.user_id) in (
                select o.node_id, o.user_id from app.node_users o where o.node_id = any (ended) limit 5000)
        returning u.user_id)
    select count(*), pg_catalog.array_agg(distinct g.user_id) into taken, users from gone g;
    perform app.update_presence(coalesce(users, '{}'));
    update app.nodes n set lease_until = '-infinity'
     where n.id = any (ended) and n.lease_until > '-infinity'
       and exists (select from app.node_users u where u.node_id = n.id);
    delete from app.nodes n
     where n.id = any (ended) and not exists (select from app.node_users u where u.node_id = n.id);
    return taken;
end
$$;

CREATE FUNCTION app.end_session() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if old.revoked_at is not null then
        new.revoked_at := old.revoked_at;
    else
        new.ended_xid := pg_catalog.pg_current_xact_id();
        new.forget_at := case when not app.is_merging() then app.now() + interval '7 days' end;
    end if;
    return new;
end
$$;

CREATE FUNCTION app.end_sessions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update app.sessions s set revoked_at = pg_catalog.now() where s.user_id = new.id and s.revoked_at is null;
    -- An earlier mail must not be a way back in either.
    perform app.cancel_mails(new.id, array['confirm_email', 'change_email', 'reset_password']);
    delete from app.mails m where m.kind = 'reset_password' and m.email = new.email::text;
    return null;
end
$$;

CREATE FUNCTION app.ensure_owner(conversation_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if exists (select from public.conversation_members m
                where m.conversation_id = ensure_owner.conversation_id and m.role = 'owner')
       or app.is_merging() then
        return;
    end if;
    update public.conversation_members m set role = 'owner'
     where m.conversation_id = ensure_owner.conversation_id
       and m.user_id = (select n.user_id from public.conversation_members n
                         where n.conversation_id = ensure_owner.conversation_id
                         order by n.role = 'admin' desc, n.joined_at, n.user_id limit 1);
end
$$;

CREATE FUNCTION app.ensure_participants(other uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    room uuid;
begin
    select c.id into room from public.conversations c
     where c.participant1_id = least(auth.uid(), other) and c.participant2_id = greatest(auth.uid(), other)
       and not exists (select from public.user_profiles p where p.id = auth.uid() and p.is_deleted)
       for no key update;
    insert into public.conversation_members (conversation_id, user_id)
    select room, u.id from unnest(array[auth.uid(), other]) as u (id)
     where room is not null
       and not exists (select from public.conversation_members m where m.conversation_id = room and m.user_id = u.id);
    return room;
end
$$;

CREATE FUNCTION app.epoch() RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    home text := pg_catalog.current_setting('postline.home', true);
begin
    if coalesce(home, '') = '' then
        home := app.cluster_identity();
        perform pg_catalog.set_config('postline.home', home, false);
    end if;
    return pg_catalog.left(pg_catalog.md5(
        home
        || ':' || pg_catalog.to_regclass('app.settings')::oid
        || ':' || case when pg_catalog.pg_is_in_recovery() then app.standby_timeline()
                       else pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) end
        || ':' || coalesce((select s.value from app.settings s where s.name = 'epoch'), '0')), 16);
end
$$;

CREATE FUNCTION app.erase_reports(user_id uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    update app.reports r set comment = null, evidence = r.evidence - 'reporter'
     where r.reporter_id = erase_reports.user_id and (r.comment is not null or r.evidence ? 'reporter');
    update public.user_private s set is_moderator = false where s.id = erase_reports.user_id and s.is_moderator
$$;

CREATE FUNCTION app.erase_user() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    room uuid;
begin
    if old.is_deleted or not new.is_deleted then
        return null;
    end if;
    update auth.users u
       set email = null, phone = null, encrypted_password = null, raw_user_meta_data = '{}', email_change = '',
           phone_change = '', confirmation_token = '', recovery_token = '', email_change_token_new = '',
           email_change_token_current = '', phone_change_token = '', reauthentication_token = '',
           deleted_at = coalesce(u.deleted_at, pg_catalog.now()), updated_at = pg_catalog.now()
     where u.id = new.id;
    update public.user_private
       set email = null, phone_number = null, phone_verified = false, date_of_birth = null,
           preferred_unit_system = 'metric', preferences = '{}', biological_sex = null, height_cm = null,
           username_changed_at = null, username_change_count = 0
     where id = new.id;
    -- Held usernames stay until they are free.
    delete from public.username_history h
     where h.user_id = new.id and (h.held_until <= app.now() or app.releases_usernames(new));
    update app.sessions s set revoked_at = pg_catalog.now() where s.user_id = new.id and s.revoked_at is null;
    for room in
        select m.conversation_id from public.conversation_members m
          join public.conversations c on c.id = m.conversation_id
         where m.user_id = new.id and c.kind = 'group' order by m.conversation_id
    loop
        perform app.leave_group(room, new.id);
    end loop;
    update public.conversation_members m set is_deleted = true where m.user_id = new.id;
    perform app.hide_presence(new.id);
    delete from app.devices d where d.user_id = new.id;
    delete from public.scheduled_messages s where s.sender_id = new.id;
    delete from app.held_messages h where h.sender_id = new.id;
    delete from public.blocks b where b.blocker_id = new.id;
    delete from public.media m where m.owner_id = new.id and m.used_at is null;
    delete from app.identities i where i.user_id = new.id;
    delete from app.mails m where m.user_id = new.id;
    delete from app.mail_tokens t where t.user_id = new.id;
    perform app.erase_reports(new.id);
    return null;
end
$$;

CREATE FUNCTION app.everyone() RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT '00000000-0000-0000-0000-000000000000'::uuid AS uuid;
END;

CREATE FUNCTION app.evidence_of_message(message public.messages) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    object jsonb := (
        select o.object from app.message_objects o
         where o.conversation_id = message.conversation_id and o.seq = message.seq);
begin
    if app.is_streaming(message.conversation_id, message.seq) then
        object := object || pg_catalog.jsonb_build_object(
            'content', app.stream_text(message.conversation_id, message.seq));
    end if;
    return object;
end
$$;

CREATE FUNCTION app.expire_all(retention_days integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
declare
    page_size constant integer := 500;
    before timestamptz := pg_catalog.now() - pg_catalog.make_interval(days => retention_days);
    walk app.retention_walk;
    next uuid;
    number integer;
begin
    select w.* into walk from app.retention_walk w for update skip locked;
    if not found or walk.position is null and walk.started_at > pg_catalog.now() - interval '1 hour' then
        return false;
    elsif walk.position is null then
        walk.position := '00000000-0000-0000-0000-000000000000';
        walk.started_at := pg_catalog.now();
    end if;
    select c.id into next
      from (select c.id, c.first_seq from public.conversations c
             where c.id > walk.position order by c.id limit page_size) c
     cross join lateral (
            select m.created_at from public.messages m
             where m.conversation_id = c.id and m.seq >= c.first_seq order by m.seq limit 1) m
     where m.created_at < before
     order by c.id limit 1;
    if next is not null then
        number := app.expire_batch(next, before);
        -- The next step continues with the conversation if it has more.
        if number is distinct from app.expiry_batch() then
            walk.position := next;
        end if;
    else
        walk.position := (select c.id from public.conversations c where c.id > walk.position
                           order by c.id offset page_size - 1 limit 1);
    end if;
    update app.retention_walk w set position = walk.position, started_at = walk.started_at;
    return walk.position is not null;
end
$$;

CREATE FUNCTION app.expire_batch(conversation_id uuid, before timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
declare
    first bigint;
    beyond bigint;
    number integer;
begin
    select c.first_seq into first from public.conversations c
     where c.id = expire_batch.conversation_id for no key update skip locked;
    if not found then
        return null;
    elsif exists (select from app.message_moves v
                   where expire_batch.conversation_id in (v.conversation_id, v.into_id)) then
        -- Older messages may still come, in the places that are reserved for them.
        return 0;
    end if;
    -- Times increase with the numbers.
    select coalesce(min(m.seq) filter (where m.created_at >= before), max(m.seq) + 1),
           count(*) filter (where m.created_at < before)
      into beyond, number
      from (select m.seq, m.created_at from public.messages m
             where m.conversation_id = expire_batch.conversation_id and m.seq >= first
             order by m.seq limit app.expiry_batch()) m;
    beyond := least(beyond, (select min(s.seq) from app.message_streams s
                              where s.conversation_id = expire_batch.conversation_id and s.seq >= first));
    if beyond is null or beyond <= first or number = 0 then
        return 0;
    end if;
    update public.conversations c set first_seq = beyond where c.id = expire_batch.conversation_id;
    return number;
end
$$;

CREATE FUNCTION app.expire_held() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    place record;
begin
    select m.conversation_id, m.seq into place
      from app.held_messages h
      join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
      join public.conversations c on c.id = m.conversation_id
     where h.held_at < pg_catalog.now() - app.held_timeout()
     order by h.held_at limit 1 for no key update of c skip locked;
    if not found then
        return false;
    end if;
    perform app.reject_held(h) from app.locked_held(place.conversation_id, place.seq) h where h.message_id is not null;
    return true;
end
$$;

CREATE FUNCTION app.expire_messages(retention_days integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if app.expire_own() then
        return true;
    end if;
    delete from app.expired_sends e
     where e.ctid = any (array(
            select o.ctid from app.expired_sends o where o.expired_at < pg_catalog.now() - interval '7 days'
             order by o.expired_at limit 1000 for update skip locked));
    return found or retention_days > 0 and app.expire_all(retention_days);
end
$$;

CREATE FUNCTION app.expire_own() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
declare
    due record;
    ttl interval;
    number integer;
begin
    select e.conversation_id, c.message_ttl_seconds, c.first_seq into due
      from app.message_expiry e join public.conversations c on c.id = e.conversation_id
     where e.check_at <= pg_catalog.clock_timestamp()
     order by e.check_at limit 1 for update of e skip locked;
    if not found then
        return false;
    elsif due.message_ttl_seconds is null then
        delete from app.message_expiry e where e.conversation_id = due.conversation_id;
        return true;
    end if;
    ttl := pg_catalog.make_interval(secs => due.message_ttl_seconds);
    number := app.expire_batch(due.conversation_id, pg_catalog.clock_timestamp() - ttl);
    if number = app.expiry_batch() then
        return true;
    end if;
    -- A message that is sent from now on expires after the whole time. Those of a busy conversation expire in batches,
    -- at most a tenth of the time or a minute late.
    update app.message_expiry e
       set check_at = case when number is null then pg_catalog.clock_timestamp() + interval '1 second' else greatest(
               coalesce((select m.created_at from public.messages m
                          where m.conversation_id = due.conversation_id and m.seq >= due.first_seq
                          order by m.seq limit 1), pg_catalog.clock_timestamp()) + ttl,
               pg_catalog.clock_timestamp() + least(ttl / 10, interval '1 minute')) end
     where e.conversation_id = due.conversation_id;
    return true;
end
$$;

CREATE FUNCTION app.expired_message(conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, data jsonb) RETURNS json
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := auth.uid();
    expired app.expired_sends;
begin
    if not app.is_member(conversation_id) or not app.is_expired_send(conversation_id, me, client_id) then
        return null;
    end if;
    select e.* into expired from app.expired_sends e
     where e.conversation_id = expired_message.conversation_id and e.client_id = expired_message.client_id
     order by e.sender_id = me desc limit 1;
    if expired.first_sent <> app.message_hash(expired.message_id, kind, content, attachment, data) then
        perform app.refuse_client_id();
    end if;
    return (
        select app.message_object(
                   row(expired.message_id, conversation_id, expired.seq, me, client_id, 'text', null, null, 2, null,
                       null, expired.created_at, null, expired.expired_at, null, null, null, null, null,
                       null)::public.messages,
                   s.object, 0, null)
          from app.sender_objects s where s.id = me);
end
$$;

CREATE FUNCTION app.expiry_batch() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 200;
END;

CREATE FUNCTION app.export_own(user_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (
        select pg_catalog.string_agg(
                   pg_catalog.json_build_object(o.kind, o.object)::text, ',' order by o.rank, o.place)
          from (select 1 as rank, 'me' as kind, api.me() as object, 1::bigint as place
                union all
                select 2, 'blocked', api.blocked_users(), 1
                union all
                select 3, 'device', d.value, d.place
                  from pg_catalog.json_array_elements(api.devices() -> 'devices') with ordinality d (value, place)
                union all
                select 4, 'scheduled', app.scheduled_object(s), row_number() over (order by s.due_at, s.id)
                  from public.scheduled_messages s where s.sender_id = export_own.user_id
                union all
                select 5, 'file', pg_catalog.json_build_object(
                           'id', f.id, 'purpose', f.purpose, 'conversation_id', f.conversation_id,
                           'mime_type', f.mime_type, 'bytes', f.bytes, 'name', f.name,
                           'url', f.url, 'created_at', app.utc(f.created_at)),
                       row_number() over (order by f.created_at, f.id)
                  from public.media f where f.owner_id = export_own.user_id and f.removed_at is null
                union all
                select 6, 'left', pg_catalog.json_build_object('conversation_id', l.conversation_id),
                       row_number() over (order by l.conversation_id)
                  from app.former_members l where l.user_id = export_own.user_id) o);
end
$$;

CREATE FUNCTION app.export_page(objects text, next text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat('{"objects":[', objects, '],"next":', COALESCE((('"'::text || next) || '"'::text), 'null'::text), '}') AS concat;
END;

CREATE FUNCTION app.filter_action(scope text, value text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    words text[];
begin
    if value is null then
        return null;
    end if;
    words := app.filtered_words(value);
    if scope = 'messages' then
        words := words || '*'::text;
    end if;
    return app.words_action(scope, words);
end
$$;

CREATE FUNCTION app.filtered(scope text, field text, value text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    action text := app.filter_action(scope, value);
    masked text;
begin
    if action = 'refuse' and field is not null then
        perform app.refuse_word(field);
    elsif action is null then
        return value;
    end if;
    masked := app.masked(scope, value);
    if action = 'hold' then
        return coalesce(masked, value);
    end if;
    -- The word is not one of the text's as it is written, such as one with a blank that the folding removes.
    return case when masked = value then pg_catalog.regexp_replace(value, '\S', '*', 'g') else masked end;
end
$$;

CREATE FUNCTION app.filtered_profile(former public.user_profiles, profile public.user_profiles) RETURNS public.user_profiles
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    may_refuse boolean := former.id is not null and not app.is_merging();
begin
    if profile.full_name is distinct from former.full_name then
        profile.full_name := app.filtered('names', case when may_refuse then 'full_name' end, profile.full_name);
    end if;
    if profile.bio is distinct from former.bio then
        profile.bio := app.filtered('names', case when may_refuse then 'bio' end, profile.bio);
    end if;
    -- A username has no asterisks.
    if may_refuse and profile.username is distinct from former.username
       and app.filter_action('names', profile.username) is not null then
        perform app.refuse_word('username');
    end if;
    return profile;
end
$$;

CREATE FUNCTION app.filtered_words(value text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if pg_catalog.char_length(value) > 500 then
        value := pg_catalog.regexp_replace(value, '(\S{250})(\S{250})\S+', '\1\2', 'g');
    end if;
    return app.words_of(app.folded(value));
end
$$;

CREATE FUNCTION app.find_messages(query text, only_in uuid, only_by uuid, before_time timestamp with time zone, before_id uuid, max_results integer, duration interval, OUT conversations uuid[], OUT seqs bigint[], OUT positions text[], OUT next text, OUT is_partial boolean) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET work_mem TO '32MB'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    most integer := greatest(200, 10 * max_results);
    origin constant timestamptz := '2000-01-01 00:00:00+00';
    no_id constant uuid := '00000000-0000-0000-0000-000000000000';
    deadline timestamptz := clock_timestamp() + duration;
    folded text := app.search_text(query);
    condition tsquery := app.search_condition(folded);
    -- Characters of which each two may be in a text without following each other all.
    phrases text[] := array(
        select p[1] from regexp_matches(folded,
            '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]{3,}', 'g') as p);
    mine uuid[] := array(select app.my_conversations());
    -- The conversations if they are few.
    few uuid[];
    -- True while messages are looked at without the index of words; how many were, and in how many spans.
    is_without_index boolean := false;
    looked_at integer := 0;
    steps integer := 0;
    -- The number of messages of the conversations.
    total bigint;
    -- The spans that are left, the newest last, by their number and the bits of their seconds: 64 is all time.
    spans bigint[] := '{}';
    bits integer[] := '{}';
    span bigint;
    width integer;
    narrowed tsquery;
    -- The last second that may have more results.
    latest bigint;
    newest bigint;
    oldest bigint;
    has_progress boolean := false;
    -- The number of messages of a span that were looked at, and the most that may be.
    looked integer;
    bound integer;
    -- True if the whole span was looked at.
    is_complete boolean;
    -- The number of matches so far, and of those before the span.
    matches integer;
    complete integer := 0;
    -- True if the 12 days before are next, and not all time.
    has_next boolean;
    ids uuid[] := '{}';
    times timestamptz[] := '{}';
    rooms uuid[] := '{}';
    numbers bigint[] := '{}';
    hit record;
begin
    is_partial := false;
    if only_in is not null then
        if only_in <> all (mine) then
            perform app.refuse_hidden('There is no such conversation.');
        end if;
        mine := array[only_in];
    end if;
    if cardinality(mine) between 1 and 16 then
        few := mine;
        is_without_index := true;
    end if;
    if condition is not null then
        -- The position after a span of time, which has no id, is before all messages of its instant.
        select floor(extract(epoch from
                   least(max(c.last_message_time),
                         case when before_id = no_id then before_time - interval '1 microsecond'
                              else before_time end) - origin)),
               sum(c.last_seq - c.first_seq + 1)
          into latest, total from public.conversations c where c.id = any (mine);
    end if;
    if latest is not null then
        spans := array[0, latest >> 20];
        bits := array[64, 20];
    end if;
    while spans <> '{}' and complete <= max_results loop
        span := spans[cardinality(spans)];
        width := bits[cardinality(bits)];
        if has_progress and clock_timestamp() > deadline then
            is_partial := true;
            exit;
        end if;
        spans := trim_array(spans, 1);
        bits := trim_array(bits, 1);
        narrowed := app.span_condition(few, span, width);
        if not is_without_index then
            narrowed := coalesce(condition && narrowed, condition);
        end if;
        bound := case when is_without_index then case width when 16 then 1024 else 64 end
                      when width > 16 then most else 2147483647 end;
        looked := 0;
        for hit in
            select m.id, m.conversation_id, m.seq, m.created_at,
                   (before_time is null or (m.created_at, m.id) < (before_time, before_id))
                   and m.created_at < origin + (latest + 1) * interval '1 second'
                   and m.conversation_id = any (mine) and (only_by is null or m.sender_id = only_by)
                   and m.kind <> 'system'
                   and (not is_without_index
                        or app.message_words(m.conversation_id, m.created_at, m.content) @@ condition)
                   and (phrases = '{}' or (
                        select bool_and(strpos(m.content, p) > 0 or strpos(app.search_text(m.content), p) > 0)
                          from unnest(phrases) as p))
                   and not exists (select from app.message_streams s
                                    where s.conversation_id = m.conversation_id and s.seq = m.seq) as is_match
              from public.messages m
             where app.message_words(m.conversation_id, m.created_at, m.content) @@ narrowed and m.content <> ''
        loop
            looked := looked + 1;
            if hit.is_match then
                ids := ids || hit.id;
                times := times || hit.created_at;
                rooms := rooms || hit.conversation_id;
                numbers := numbers || hit.seq;
            end if;
            exit when looked > bound;
            if width = 16 and not is_without_index and looked % 64 = 0 and clock_timestamp() > deadline then
                is_partial := true;
                exit;
            end if;
        end loop;
        is_complete := looked <= bound;
        matches := cardinality(ids);
        has_next := is_complete and width = 20 and spans = array[0::bigint] and (matches - complete) * 30 > most;
        if is_complete then
            complete := matches;
            if width < 64 then
                latest := (span << width) - 1;
            end if;
            has_progress := true;
            exit when is_partial;
        else
            ids := ids[:complete];
            times := times[:complete];
            rooms := rooms[:complete];
            numbers := numbers[:complete];
        end if;
        if is_without_index and (is_complete or width = 16) then
            -- The share of those that match says whether all time has too many.
            looked_at := looked_at + looked;
            steps := steps + 1;
            has_next := spans = array[0::bigint];
            if not is_complete or looked_at >= (case complete when 0 then 128 else 512 end) or steps = 8 then
                is_without_index := false;
                spans := array[0];
                bits := array[64];
                has_next := matches * total > most * looked_at;
            end if;
        end if;
        if has_next then
            spans := spans || (latest >> 20);
            bits := bits || 20;
        end if;
        continue when is_complete or width = 16;
        -- Too many: in parts.
        if width = 64 then
            newest := latest >> 20;
            -- Times increase with the numbers, but for the messages of merged guests, which were appended.
            select floor(extract(epoch from least(min(f.created_at), (
                       select min(p.created_at) from public.conversations c
                         join app.merged_guests g on g.account_id in (c.participant1_id, c.participant2_id)
                         join public.user_profiles p on p.id = g.guest_id
                        where c.id = any (mine))) - origin))::bigint >> 20
              into oldest
              from unnest(mine) as i
             cross join lateral (select m.created_at from public.messages m
                                  where m.conversation_id = i order by m.seq limit 1) f;
        else
            newest := least((span << 4) + 15, latest >> 16);
            oldest := span << 4;
        end if;
        spans := spans || array(select n from generate_series(oldest, newest) as n);
        bits := bits || array(select case width when 64 then 20 else 16 end from generate_series(oldest, newest));
    end loop;
    select array_agg(w.room order by w.place), array_agg(w.number order by w.place),
           array_agg(app.page_position(w.time, w.id) order by w.place)
      into conversations, seqs, positions
      from (select f.*, row_number() over (order by f.time desc, f.id desc) as place
              from unnest(ids, times, rooms, numbers) as f (id, time, room, number)
             order by place limit max_results) w;
    if cardinality(ids) > max_results then
        is_partial := false;
        next := positions[max_results];
    elsif is_partial and spans = '{}' then
        is_partial := false;
    elsif is_partial then
        next := app.page_position(origin + (latest + 1) * interval '1 second', no_id);
    end if;
end
$$;

CREATE FUNCTION app.finish_abandoned_stream() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    latest timestamptz := pg_catalog.clock_timestamp() - app.stream_timeout();
    stream record;
begin
    select s.conversation_id, s.seq into stream
      from app.message_streams s join public.conversations c on c.id = s.conversation_id
     where s.appended_at < latest
     limit 1 for no key update of c skip locked;
    if not found then
        return false;
    end if;
    perform app.finish_stream(stream.conversation_id, stream.seq, latest);
    return true;
end
$$;

CREATE FUNCTION app.finish_own_stream(conversation_id uuid, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.lock_conversation(conversation_id);
    if not exists (select from public.messages m
                    where m.conversation_id = finish_own_stream.conversation_id and m.seq = finish_own_stream.seq
                      and m.sender_id = auth.uid())
       or app.is_streaming(conversation_id, seq) then
        perform app.check_stream(conversation_id, seq);
        if app.stream_text(conversation_id, seq) = '' then
            perform app.refuse_forbidden('The message has no text: append to it, or delete it.');
        end if;
        perform app.finish_stream(conversation_id, seq);
    end if;
end
$$;

CREATE FUNCTION app.finish_stream(conversation_id uuid, seq bigint, appended_before timestamp with time zone DEFAULT 'infinity'::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    -- Messages are locked before their streams, as by a deletion.
    perform 1 from public.messages m
     where m.conversation_id = finish_stream.conversation_id and m.seq = finish_stream.seq for no key update;
    perform 1 from app.message_streams s
     where s.conversation_id = finish_stream.conversation_id and s.seq = finish_stream.seq
       and s.appended_at < appended_before for update;
    if found then
        -- A separate statement, which sees everything that was committed before the locks were taken. The triggers know
        -- by the version that the stream ends.
        update public.messages m
           set content = coalesce(nullif(t.content, ''), m.content), version = m.version + 1,
               deleted_at = case when t.content = '' then pg_catalog.clock_timestamp() end,
               changed_xid = pg_catalog.pg_current_xact_id()
          from (select app.stream_text(finish_stream.conversation_id, finish_stream.seq) as content) t
         where m.conversation_id = finish_stream.conversation_id and m.seq = finish_stream.seq;
    end if;
end
$$;

CREATE FUNCTION app.finish_streams(sender_id uuid, conversations uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    stream record;
begin
    for stream in
        select s.conversation_id, s.seq from app.message_streams s
         where s.sender_id = finish_streams.sender_id or s.conversation_id = any (conversations)
         order by s.conversation_id, s.seq
    loop
        perform app.finish_stream(stream.conversation_id, stream.seq);
    end loop;
end
$$;

CREATE FUNCTION app.flush_message_words() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if app.acquire_lease('message_words', gen_random_uuid(), 2) then
        perform gin_clean_pending_list('public.messages_words'::regclass);
    end if;
    return false;
end
$$;

CREATE FUNCTION app.folded(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    folded text := value;
begin
    if octet_length(value) > char_length(value) then
        -- Before it is decomposed: into a blank and an accent.
        folded := normalize(replace(folded, '´', ''''), NFKD);
        folded := regexp_replace(folded,
            '[\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u061c'
            '\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a'
            '\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f'
            '\u08ca-\u08e1\u08e3-\u08ff\u0951-\u0954\u09fe\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f82-\u0f83\u0f86-\u0f87'
            '\u0fc6\u108d\u115f-\u1160\u135d-\u135f\u17b4-\u17b5\u17dd\u180b-\u180f\u18a9\u1939-\u193b\u1a17-\u1a18'
            '\u1a75-\u1a7c\u1a7f\u1ab0-\u1abd\u1abf-\u1ace\u1b6b-\u1b73\u1cd0-\u1cd2\u1cd4-\u1ce0\u1ce2-\u1ce8\u1ced'
            '\u1cf4\u1cf8-\u1cf9\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20dc\u20e1\u20e5-\u20f0'
            '\u2cef-\u2cf1\u2de0-\u2dff\u302a-\u302f\u3164\ua66f\ua674-\ua67d\ua69e-\ua69f\ua6f0-\ua6f1\ua8e0-\ua8f1'
            '\ua92b-\ua92d\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f\ufeff'
            '\uffa0\ufff0-\ufff8\U000101fd\U000102e0\U00010376-\U0001037a\U00010a0d\U00010a0f\U00010a38-\U00010a3a'
            '\U00010ae5-\U00010ae6\U00010d24-\U00010d27\U00010eab-\U00010eac\U00010f46-\U00010f50\U00010f82-\U00010f85'
            '\U00011100-\U00011102\U00011366-\U0001136c\U00011370-\U00011374\U0001145e\U00016af0-\U00016af4'
            '\U00016b30-\U00016b36\U0001bc9e\U0001bca0-\U0001bca3\U0001d165-\U0001d169\U0001d16d-\U0001d182'
            '\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001e000-\U0001e006\U0001e008-\U0001e018'
            '\U0001e01b-\U0001e021\U0001e023-\U0001e024\U0001e026-\U0001e02a\U0001e130-\U0001e136\U0001e2ae'
            '\U0001e2ec-\U0001e2ef\U0001e8d0-\U0001e8d6\U0001e944-\U0001e949\U000e0000-\U000e0fff]+', '', 'g');
        folded := translate(folded,
            e''
            '`·ÆÐØÞðøĐđĦħıĸŁłŊŋŒŦŧƀƁƂƃƄƆƇƈƉƊƋƌƎƏƐƑƒƓƔƖƗƘƙƚƜƝƞƟƢƤƥƦƧƩƫƬƭƮƱƲƳƴƵƶƷƸƼǤǥǶǷȜȠȡȢȤȥȴȵȶȷȺȻȼȽȾȿɀɁɃɄɅɆɇɈɉɊɋɌɍɎɏɓɔɕ'
            'ɖɗəɛɟɠɡɦɨɫɬɭɱɲɳɼɽɾʂʃʄʈʋʐʑʒʝʠʹʻʼʽʾʿͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПР'
            'СТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹ'
            'ԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ֊\u05be\u05f3\u05f4\u0629\u0649\u0671\u06a9\u06be\u06c1\u06ccႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯ'
            'ႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᏸᏹᏺᏻᏼᏽ᐀᠆ᲀᲁᲂᲃᲄᲅᲆᲇᲈᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿᵬᵭᵮᵯᵰᵱᵲᵳᵴᵵᵶᵹᵽᶀᶁᶂᶃᶄᶅ'
            'ᶆᶇᶈᶉᶊᶌᶍᶎᶏᶑᶒᶓᶖᶗᶙẜẝẞỺỼỾỿ‐‒–—―‘’‛“”„‟‧′ℲↃ−ⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱡⱢⱣⱤⱥⱦⱧⱨⱩⱪⱫⱬⱭⱮⱯⱰⱱⱲ'
            'ⱳⱴⱵⱸⱺⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲ⸗⸚⸺⸻⹀⹝〜〰゠・ꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘ'
            'ꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝁꝂꝃꝄꝅꝆꝇꝈꝉꝊꝋꝌꝍꝎꝐꝑꝒꝓꝔꝕꝖꝗꝘꝙꝚꝜꝞꝟꝠꝢꝤꝦꝨꝪꝬꝮꝹꝺꝻꝼꝽꝾꞀꞂꞃꞄꞅꞆꞇꞋꞍꞎꞐꞑꞒꞓꞔꞕꞖꞗꞘꞙꞚꞜꞞꞠꞡꞢꞣꞤꞥꞦꞧꞨꞩꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞹꞺꞼ'
            'ꞾꟀꟂꟄꟅꟆꟇꟈꟉꟊꟐꟖꟘꟵꬴꬶꬷꬸꬹꬺꬻꬿꭉꭋꭌꭎꭒꭖꭗꭘꭙꭚꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹ'
            'ꮺꮻꮼꮽꮾꮿ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈'
            '𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕\U00010c80\U00010c81\U00010c82\U00010c83\U00010c84\U00010c85\U00010c86\U00010c87\U00010c88'
            '\U00010c89\U00010c8a\U00010c8b\U00010c8c\U00010c8d\U00010c8e\U00010c8f\U00010c90\U00010c91\U00010c92'
            '\U00010c93\U00010c94\U00010c95\U00010c96\U00010c97\U00010c98\U00010c99\U00010c9a\U00010c9b\U00010c9c'
            '\U00010c9d\U00010c9e\U00010c9f\U00010ca0\U00010ca1\U00010ca2\U00010ca3\U00010ca4\U00010ca5\U00010ca6'
            '\U00010ca7\U00010ca8\U00010ca9\U00010caa\U00010cab\U00010cac\U00010cad\U00010cae\U00010caf\U00010cb0'
            '\U00010cb1\U00010cb2𐵮\U00010ead𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𝼉𝼑𝼓𝼖𝼚𝼛𝼝𝼞'
            '\U0001e900\U0001e901\U0001e902\U0001e903\U0001e904\U0001e905\U0001e906\U0001e907\U0001e908\U0001e909'
            '\U0001e90a\U0001e90b\U0001e90c\U0001e90d\U0001e90e\U0001e90f\U0001e910\U0001e911\U0001e912\U0001e913'
            '\U0001e914\U0001e915\U0001e916\U0001e917\U0001e918\U0001e919\U0001e91a\U0001e91b\U0001e91c\U0001e91d'
            '\U0001e91e\U0001e91f\U0001e920\U0001e921',
            e''
            ''' ædoþdoddhhiqllnnœttbbbbƅoccddddǝeeffgɣɩikklɯnnɵƣppʀƨsttttʊvyyzzzƹƽggƕƿȝndȣzzlntjaccltszɂbʉʌeejjqqrryybo'
            'cddeejgghilllmnnrrrssjtvzzzjq''''''''''''ͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωσϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼͽђєѕіјљњћџабвгдежзи'
            'клмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբ'
            'գդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ--''"\u0647\u064a\u0627\u0643\u0647\u0647\u064aⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖ'
            'ⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭᏰᏱᏲᏳᏴᏵ--вдосттъѣꙋაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿbdfmnprrstzgpbdfgklmnprsvx'
            'zadeeioussßỻỽyy-----''''''"""" ''ⅎↄ-ⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟlllprathhkkzzɑmɐɒvwwvⱶ'
            'eoszⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳ--------- ꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥ'
            'ꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿkkkkkkllllooooꝏppppppqqqqꝛꝝvvꝡꝣꝥꝧꝩꝫꝭꝯddffgꝿꞁrrssttꞌɥlnnccchbbffꞛꞝꞟggkknnrrsshɜglɪʞʇjꭓꞵꞷuuꞻꞽꞿꟁꟃ'
            'cszddssꟑꟗꟙꟶeglllmnorrruuxxxxyᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬ'
            'ᏭᏮᏯ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳'
            '𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼\U00010cc0\U00010cc1\U00010cc2\U00010cc3\U00010cc4\U00010cc5\U00010cc6\U00010cc7\U00010cc8'
            '\U00010cc9\U00010cca\U00010ccb\U00010ccc\U00010ccd\U00010cce\U00010ccf\U00010cd0\U00010cd1\U00010cd2'
            '\U00010cd3\U00010cd4\U00010cd5\U00010cd6\U00010cd7\U00010cd8\U00010cd9\U00010cda\U00010cdb\U00010cdc'
            '\U00010cdd\U00010cde\U00010cdf\U00010ce0\U00010ce1\U00010ce2\U00010ce3\U00010ce4\U00010ce5\U00010ce6'
            '\U00010ce7\U00010ce8\U00010ce9\U00010cea\U00010ceb\U00010cec\U00010ced\U00010cee\U00010cef\U00010cf0'
            '\U00010cf1\U00010cf2--𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿tllriocs\U0001e922'
            '\U0001e923\U0001e924\U0001e925\U0001e926\U0001e927\U0001e928\U0001e929\U0001e92a\U0001e92b\U0001e92c'
            '\U0001e92d\U0001e92e\U0001e92f\U0001e930\U0001e931\U0001e932\U0001e933\U0001e934\U0001e935\U0001e936'
            '\U0001e937\U0001e938\U0001e939\U0001e93a\U0001e93b\U0001e93c\U0001e93d\U0001e93e\U0001e93f\U0001e940'
            '\U0001e941\U0001e942\U0001e943');
        folded := replace(replace(replace(replace(folded, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        -- Syllables of Hangul and voiced kana become one character again.
        folded := normalize(folded, NFC);
        -- A family name and a given name of East Asia are written with a blank between them, or without.
        folded := regexp_replace(folded,
            '(?<=[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]) +(?=[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff])', '', 'g');
    end if;
    folded := regexp_replace(replace(folded, '`', ''''), '[\u0001-\u0020\u007f-\u00a0]+', ' ', 'g');
    return btrim(lower(folded collate "C"));
end
$$;

CREATE FUNCTION app.free_send_time(sender uuid, due_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    with taken as materialized (
        select s.next_try_at as time from public.scheduled_messages s
         where s.sender_id = free_send_time.sender and s.refusal is null)
    select min(c.time)
      from (select free_send_time.due_at
            union all
            select t.time + interval '0.5 s' from taken t
             where t.time + interval '0.5 s' > free_send_time.due_at) c (time)
     where not exists (
            select from taken t where t.time > c.time - interval '0.5 s' and t.time < c.time + interval '0.5 s')
$$;

CREATE FUNCTION app.grant_service_roles(login name) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET client_min_messages TO 'warning'
    AS $$
declare
    name text;
begin
    foreach name in array array['anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender'] loop
        if pg_catalog.current_setting('server_version_num')::integer >= 160000 then
            execute pg_catalog.format('grant %I to %I with inherit false, set true', name, login);
        else
            execute pg_catalog.format('grant %I to %I', name, login);
        end if;
    end loop;
    if (select r.rolinherit from pg_catalog.pg_roles r where r.rolname = login) then
        execute pg_catalog.format('alter role %I noinherit', login);
    end if;
end
$$;

CREATE FUNCTION app.guest_conversations(guest uuid) RETURNS uuid[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select array(
        select m.conversation_id from public.conversation_members m where m.user_id = guest
        union
        select f.conversation_id from app.former_members f
          join public.conversations g on g.id = f.conversation_id
         where f.user_id = guest and f.wrote and g.kind = 'group')
$$;

CREATE FUNCTION app.has_block(conversation_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from public.conversation_members m
                    where m.conversation_id = has_block.conversation_id and m.is_blocked);
end
$$;

CREATE FUNCTION app.has_contacted(user_id uuid, other uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (
        select from public.conversations c
          join public.conversation_members m on m.conversation_id = c.id and m.user_id = has_contacted.user_id
         where c.participant1_id = least(has_contacted.user_id, other)
           and c.participant2_id = greatest(has_contacted.user_id, other)
           and (m.sent_seq > 0 or c.created_by = has_contacted.user_id));
end
$$;

CREATE FUNCTION app.has_control(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (value ~ app.control_characters());
END;

CREATE FUNCTION app.has_details(message public.messages) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (((message).reply_to_seq IS NOT NULL) OR ((message).mentions IS NOT NULL) OR ((message).mentions_everyone IS NOT NULL) OR ((message).data IS NOT NULL));
END;

CREATE FUNCTION app.has_streams(conversation_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from app.message_streams s where s.conversation_id = has_streams.conversation_id)
           and exists (select from public.conversation_members m
                        where m.conversation_id = has_streams.conversation_id and m.user_id = auth.uid()
                          and not m.is_deleted);
end
$$;

CREATE FUNCTION app.held_counts(OUT pending bigint, OUT oldest_seconds double precision) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select count(*), coalesce(extract(epoch from pg_catalog.now() - min(h.held_at)), 0)
      from (select o.held_at from app.held_messages o order by o.held_at, o.message_id limit 10000) h
$$;

CREATE TABLE app.held_messages (
    message_id uuid NOT NULL,
    sender_id uuid NOT NULL,
    content text NOT NULL,
    attachment jsonb,
    mentions uuid[],
    mentions_everyone boolean,
    data jsonb,
    words text[] NOT NULL,
    held_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    ask_at timestamp with time zone DEFAULT clock_timestamp()
);

CREATE FUNCTION app.held_fields(held app.held_messages, message public.messages) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return '"message":' || app.held_object(held, message) || ',"words":' || pg_catalog.to_json(held.words)::text
        || ',"held_at":"' || app.utc(held.held_at) || '"';
end
$$;

CREATE FUNCTION app.held_object(held app.held_messages, message public.messages) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    object text;
begin
    message.content := held.content;
    message.attachment := held.attachment;
    message.mentions := held.mentions;
    message.mentions_everyone := held.mentions_everyone;
    message.data := held.data;
    message.deleted_at := null;
    message.version := message.version + 1;
    select app.message_object(
               message, s.object, (
                   select min(r.last_read_seq) from public.conversation_members r
                    where r.conversation_id = message.conversation_id),
               case when message.reply_to_seq is not null then (
                   select app.reply_object(t) from public.messages t
                    where t.conversation_id = message.conversation_id and t.seq = message.reply_to_seq) end)
      into object
      from app.sender_objects s where s.id = message.sender_id;
    return pg_catalog.left(object, -1) || ',"is_held":true}';
end
$$;

CREATE FUNCTION app.held_page(max_results integer, after text, viewer uuid) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    after_time timestamptz := '-infinity';
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    objects text[] := '{}';
    room bigint := app.page_bytes();
    next text;
    part record;
begin
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif after is not null then
        select p.created_at, p.id into after_time, after_id from app.parsed_position('after', after) p;
    end if;
    for part in
        select '{' || app.held_fields(h, m) || '}' as object,
               app.page_position(h.held_at, h.message_id) as place
          from app.held_messages h join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
         where (h.held_at, h.message_id) > (after_time, after_id) and h.sender_id is distinct from viewer
         order by h.held_at, h.message_id limit max_results + 1
    loop
        room := room - pg_catalog.octet_length(part.object);
        if pg_catalog.cardinality(objects) = max_results or room < 0 and objects <> '{}' then
            return ('{"held":[' || pg_catalog.array_to_string(objects, ',') || '],"next":"' || next || '"}')::json;
        end if;
        objects := objects || part.object;
        next := part.place;
    end loop;
    return ('{"held":[' || pg_catalog.array_to_string(objects, ',') || '],"next":null}')::json;
end
$$;

CREATE FUNCTION app.held_timeout() RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT '30 days'::interval AS "interval";
END;

CREATE FUNCTION app.hide_presence(user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into public.presence as p (user_id, is_hidden, hidden_xid)
    values (hide_presence.user_id, true, pg_catalog.pg_current_xact_id())
    on conflict on constraint presence_pkey do update
       set is_hidden = true, is_online = false, last_seen_at = null, changed_xid = excluded.changed_xid,
           hidden_xid = excluded.hidden_xid
     where not p.is_hidden;
end
$$;

CREATE FUNCTION app.hold_message(message public.messages, content text) RETURNS public.messages
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    has_room boolean := (
        select count(*) from app.held_messages h where h.sender_id = message.sender_id) < app.max_held();
begin
    if has_room then
        insert into app.held_messages (
            message_id, sender_id, content, attachment, mentions, mentions_everyone, data, words)
        values (message.id, message.sender_id, content, message.attachment, message.mentions,
                message.mentions_everyone, message.data, app.holding_words(content));
        update public.media f set is_held = true
         where f.id = any (app.media_ids(message.attachment)) and f.message_id = message.id;
        -- The feed reads held messages only when it reads changes of a member's own conversations.
        perform app.tell_own_conversation(message.conversation_id, message.sender_id);
    elsif not app.is_streaming(message.conversation_id, message.seq) then
        perform app.refuse_forbidden(pg_catalog.format(
            '%s of your messages wait for a moderator. Wait until one is seen, or delete one.', app.max_held()));
    end if;
    message.deleted_at := pg_catalog.clock_timestamp();
    message.content := null;
    message.attachment := null;
    message.mentions := null;
    message.mentions_everyone := null;
    message.data := null;
    return message;
end
$$;

CREATE FUNCTION app.holding_words(value text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return array(
        select w.word
          from (select w.word, min(w.place) as place
                  from unnest(app.filtered_words(value) || '*'::text) with ordinality w (word, place)
                 group by w.word) w
          join app.filter_rules f on f.scope = 'messages' and f.word = w.word and f.action = 'hold'
         order by w.place);
end
$$;

CREATE FUNCTION app.host_label(label text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    name text := lower(label collate "C");
begin
    if name !~ '^xn--' and name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' then
        return name;
    elsif name ~ '^xn--[a-z0-9-]{1,59}$' then
        -- Encoded labels have no capitals.
        name := app.punycode_decoded(substr(name, 5));
    else
        name := translate(name,
            'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞŸĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĴĶĹĻĽŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŹŻŽƂƄƇƋƑǶƘȠƠƢƤƧƬƯƳƵ'
            'ƸƼǷǍǏǑǓǕǗǙǛƎǞǠǢǤǦǨǪǬǮǴǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȢȤȦȨȪȬȮȰȲƁƆƉƊƏƐƓƔƗƖƜƝƟƦƩƮƱƲƷΆΈΉΊΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫΌΎΏϘϚϜ'
            'ϞϠАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӁӃӅӇӉӋӍӐӒӔӖӘ'
            'ӚӜӞӠӢӤӦӨӪӬӮӰӲӴӸԀԂԄԆԈԊԌԎԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘ'
            'ṚṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈ'
            'ὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾺῈῊῚῸῪῺᾸᾹῘῙῨῩῬ',
            'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżžƃƅƈƌƒƕƙƞơƣƥƨƭưƴƶ'
            'ƹƽƿǎǐǒǔǖǘǚǜǝǟǡǣǥǧǩǫǭǯǵǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟȣȥȧȩȫȭȯȱȳɓɔɖɗəɛɠɣɨɩɯɲɵʀʃʈʊʋʒάέήίαβγδεζηθικλμνξοπρστυφχψωϊϋόύώϙϛϝ'
            'ϟϡабвгдежзийклмнопрстуфхцчшщъыьэюяѐёђѓєѕіїјљњћќѝўџѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӂӄӆӈӊӌӎӑӓӕӗә'
            'ӛӝӟӡӣӥӧөӫӭӯӱӳӵӹԁԃԅԇԉԋԍԏաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙ'
            'ṛṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀ'
            'ὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧὰὲὴὶὸὺὼᾰᾱῐῑῠῡῥ');
    end if;
    if char_length(name) < octet_length(name) and char_length(name) <= 63 and name is nfc normalized
       and name !~ '^-|-$|^..--'
       and name !~
            '^[\u0901-\u0903\u093c\u093e-\u094d\u0962-\u0963\u0981-\u0983\u09bc\u09be-\u09c4\u09c7-\u09c8\u09cb-\u09cd'
            '\u09d7\u09e2-\u09e3\u0a02\u0a3c\u0a3e-\u0a42\u0a47-\u0a48\u0a4b-\u0a4d\u0a70-\u0a71\u0a81-\u0a83\u0abc'
            '\u0abe-\u0ac5\u0ac7-\u0ac9\u0acb-\u0acd\u0b82\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd\u0bd7\u0c01-\u0c03'
            '\u0c3e-\u0c44\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c82-\u0c83\u0cbe-\u0cc4\u0cc6-\u0cc8\u0cca-\u0ccd'
            '\u0cd5-\u0cd6\u0d02-\u0d03\u0d3e-\u0d43\u0d46-\u0d48\u0d4a-\u0d4d\u0d57\u0d82-\u0d83\u0dca\u0dcf-\u0dd4'
            '\u0dd6\u0dd8-\u0ddf\u0df2-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0eb9\u0ebb-\u0ebc'
            '\u0ec8-\u0ecd]'
       and name ~
            '^[-a-z0-9'
            '\u00df-\u00f6\u00f8-\u00ff\u0101\u0103\u0105\u0107\u0109\u010b\u010d\u010f\u0111\u0113\u0115\u0117\u0119'
            '\u011b\u011d\u011f\u0121\u0123\u0125\u0127\u0129\u012b\u012d\u012f\u0131\u0135\u0137-\u0138\u013a\u013c'
            '\u013e\u0142\u0144\u0146\u0148\u014b\u014d\u014f\u0151\u0153\u0155\u0157\u0159\u015b\u015d\u015f\u0161'
            '\u0163\u0165\u0167\u0169\u016b\u016d\u016f\u0171\u0173\u0175\u0177\u017a\u017c\u017e\u0180\u0183\u0185'
            '\u0188\u018c-\u018d\u0192\u0195\u0199-\u019b\u019e\u01a1\u01a3\u01a5\u01a8\u01aa-\u01ab\u01ad\u01b0\u01b4'
            '\u01b6\u01b9-\u01bb\u01bd-\u01c3\u01ce\u01d0\u01d2\u01d4\u01d6\u01d8\u01da\u01dc-\u01dd\u01df\u01e1\u01e3'
            '\u01e5\u01e7\u01e9\u01eb\u01ed\u01ef-\u01f0\u01f5\u01f9\u01fb\u01fd\u01ff\u0201\u0203\u0205\u0207\u0209'
            '\u020b\u020d\u020f\u0211\u0213\u0215\u0217\u0219\u021b\u021d\u021f\u0223\u0225\u0227\u0229\u022b\u022d'
            '\u022f\u0231\u0233\u0250-\u02ad\u0390\u03ac-\u03ce\u03d7\u03d9\u03db\u03dd\u03df\u03e1\u03f3\u0430-\u045f'
            '\u0461\u0463\u0465\u0467\u0469\u046b\u046d\u046f\u0471\u0473\u0475\u0477\u0479\u047b\u047d\u047f\u0481'
            '\u048b\u048d\u048f\u0491\u0493\u0495\u0497\u0499\u049b\u049d\u049f\u04a1\u04a3\u04a5\u04a7\u04a9\u04ab'
            '\u04ad\u04af\u04b1\u04b3\u04b5\u04b7\u04b9\u04bb\u04bd\u04bf\u04c2\u04c4\u04c6\u04c8\u04ca\u04cc\u04ce'
            '\u04d1\u04d3\u04d5\u04d7\u04d9\u04db\u04dd\u04df\u04e1\u04e3\u04e5\u04e7\u04e9\u04eb\u04ed\u04ef\u04f1'
            '\u04f3\u04f5\u04f9\u0501\u0503\u0505\u0507\u0509\u050b\u050d\u050f\u0559\u0561-\u0586\u05d0-\u05ea'
            '\u05f0-\u05f2\u0621-\u063a\u0641-\u064a\u066e-\u066f\u0671-\u0674\u0679-\u06d3\u06d5\u06e5-\u06e6'
            '\u06fa-\u06fc\u0901-\u0903\u0905-\u0939\u093c-\u094d\u0950\u0960-\u0963\u0981-\u0983\u0985-\u098c'
            '\u098f-\u0990\u0993-\u09a8\u09aa-\u09b0\u09b2\u09b6-\u09b9\u09bc\u09be-\u09c4\u09c7-\u09c8\u09cb-\u09cd'
            '\u09d7\u09e0-\u09e3\u09f0-\u09f1\u0a02\u0a05-\u0a0a\u0a0f-\u0a10\u0a13-\u0a28\u0a2a-\u0a30\u0a32\u0a35'
            '\u0a38-\u0a39\u0a3c\u0a3e-\u0a42\u0a47-\u0a48\u0a4b-\u0a4d\u0a5c\u0a70-\u0a74\u0a81-\u0a83\u0a85-\u0a8b'
            '\u0a8d\u0a8f-\u0a91\u0a93-\u0aa8\u0aaa-\u0ab0\u0ab2-\u0ab3\u0ab5-\u0ab9\u0abc-\u0ac5\u0ac7-\u0ac9'
            '\u0acb-\u0acd\u0ad0\u0ae0\u0b82-\u0b83\u0b85-\u0b8a\u0b8e-\u0b90\u0b92-\u0b95\u0b99-\u0b9a\u0b9c'
            '\u0b9e-\u0b9f\u0ba3-\u0ba4\u0ba8-\u0baa\u0bae-\u0bb5\u0bb7-\u0bb9\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd'
            '\u0bd7\u0c01-\u0c03\u0c05-\u0c0c\u0c0e-\u0c10\u0c12-\u0c28\u0c2a-\u0c33\u0c35-\u0c39\u0c3e-\u0c44'
            '\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c60-\u0c61\u0c82-\u0c83\u0c85-\u0c8c\u0c8e-\u0c90\u0c92-\u0ca8'
            '\u0caa-\u0cb3\u0cb5-\u0cb9\u0cbe-\u0cc4\u0cc6-\u0cc8\u0cca-\u0ccd\u0cd5-\u0cd6\u0cde\u0ce0-\u0ce1'
            '\u0d02-\u0d03\u0d05-\u0d0c\u0d0e-\u0d10\u0d12-\u0d28\u0d2a-\u0d39\u0d3e-\u0d43\u0d46-\u0d48\u0d4a-\u0d4d'
            '\u0d57\u0d60-\u0d61\u0d82-\u0d83\u0d85-\u0d96\u0d9a-\u0db1\u0db3-\u0dbb\u0dbd\u0dc0-\u0dc6\u0dca'
            '\u0dcf-\u0dd4\u0dd6\u0dd8-\u0ddf\u0df2-\u0df3\u0e01-\u0e32\u0e34-\u0e3a\u0e40-\u0e4e\u0e81-\u0e82\u0e84'
            '\u0e87-\u0e88\u0e8a\u0e8d\u0e94-\u0e97\u0e99-\u0e9f\u0ea1-\u0ea3\u0ea5\u0ea7\u0eaa-\u0eab\u0ead-\u0eb2'
            '\u0eb4-\u0eb9\u0ebb-\u0ebd\u0ec0-\u0ec4\u0ec6\u0ec8-\u0ecd\u10d0-\u10f8\u1200-\u1206\u1208-\u1246\u1248'
            '\u124a-\u124d\u1250-\u1256\u1258\u125a-\u125d\u1260-\u1286\u1288\u128a-\u128d\u1290-\u12ae\u12b0'
            '\u12b2-\u12b5\u12b8-\u12be\u12c0\u12c2-\u12c5\u12c8-\u12ce\u12d0-\u12d6\u12d8-\u12ee\u12f0-\u130e\u1310'
            '\u1312-\u1315\u1318-\u131e\u1320-\u1346\u1348-\u135a\u1e01\u1e03\u1e05\u1e07\u1e09\u1e0b\u1e0d\u1e0f\u1e11'
            '\u1e13\u1e15\u1e17\u1e19\u1e1b\u1e1d\u1e1f\u1e21\u1e23\u1e25\u1e27\u1e29\u1e2b\u1e2d\u1e2f\u1e31\u1e33'
            '\u1e35\u1e37\u1e39\u1e3b\u1e3d\u1e3f\u1e41\u1e43\u1e45\u1e47\u1e49\u1e4b\u1e4d\u1e4f\u1e51\u1e53\u1e55'
            '\u1e57\u1e59\u1e5b\u1e5d\u1e5f\u1e61\u1e63\u1e65\u1e67\u1e69\u1e6b\u1e6d\u1e6f\u1e71\u1e73\u1e75\u1e77'
            '\u1e79\u1e7b\u1e7d\u1e7f\u1e81\u1e83\u1e85\u1e87\u1e89\u1e8b\u1e8d\u1e8f\u1e91\u1e93\u1e95-\u1e99\u1ea1'
            '\u1ea3\u1ea5\u1ea7\u1ea9\u1eab\u1ead\u1eaf\u1eb1\u1eb3\u1eb5\u1eb7\u1eb9\u1ebb\u1ebd\u1ebf\u1ec1\u1ec3'
            '\u1ec5\u1ec7\u1ec9\u1ecb\u1ecd\u1ecf\u1ed1\u1ed3\u1ed5\u1ed7\u1ed9\u1edb\u1edd\u1edf\u1ee1\u1ee3\u1ee5'
            '\u1ee7\u1ee9\u1eeb\u1eed\u1eef\u1ef1\u1ef3\u1ef5\u1ef7\u1ef9\u1f00-\u1f07\u1f10-\u1f15\u1f20-\u1f27'
            '\u1f30-\u1f37\u1f40-\u1f45\u1f50-\u1f57\u1f60-\u1f67\u1f70\u1f72\u1f74\u1f76\u1f78\u1f7a\u1f7c'
            '\u1fb0-\u1fb1\u1fb6\u1fc6\u1fd0-\u1fd2\u1fd6-\u1fd7\u1fe0-\u1fe2\u1fe4-\u1fe7\u1ff6\u3005\u303b'
            '\u3041-\u3096\u309d-\u309e\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff\u3400-\u4db5\u4e00-\u9fa5\uac00-\ud7a3'
            '\ufa0e-\ufa0f\ufa11\ufa13-\ufa14\ufa1f\ufa21\ufa23-\ufa24\ufa27-\ufa29\ufe73\U00020000-\U0002a6d6]+$' then
        return name;
    end if;
    return null;
end
$_$;

CREATE FUNCTION app.invisible_characters() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT '[\u0080-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\uffff\U000e0000-\U0010ffff]'::text;
END;

CREATE FUNCTION app.is_active_user(user_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from public.user_profiles p where p.id = is_active_user.user_id and not p.is_deleted);
end
$$;

CREATE FUNCTION app.is_attachment(attachment jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    return coalesce(
        pg_catalog.jsonb_typeof(attachment) = 'object'
        and attachment - '{url,media_id,mime_type,width,height,bytes,blurhash,name,duration_ms,waveform,'
            'preview_media_id}'::text[] = '{}'
        and pg_catalog.jsonb_typeof(attachment -> 'url') = 'string'
        and case when attachment ? 'media_id'
                 then coalesce(app.is_media_url(attachment ->> 'url', app.media_id(attachment)), false)
                 else app.is_https(attachment ->> 'url') end
        and app.is_optional_string(attachment -> 'blurhash')
        and coalesce(attachment ->> 'blurhash', '') ~ '^[0-9A-Za-z#$%*+,.:;=?@^_{|}~\[\]-]{0,128}$'
        and app.is_optional_string(attachment -> 'mime_type')
        and pg_catalog.octet_length(coalesce(attachment ->> 'mime_type', '')) <= 255
        and app.is_optional_string(attachment -> 'name')
        and app.is_file_name(coalesce(attachment ->> 'name', 'x'))
        and app.is_optional_string(attachment -> 'waveform')
        and app.is_waveform(coalesce(attachment ->> 'waveform', ''))
        and app.is_optional_string(attachment -> 'preview_media_id')
        and coalesce(attachment ->> 'preview_media_id', '')
            ~ '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$'
        and coalesce(attachment ->> 'preview_media_id', 'null') <> ''
        and app.is_count(attachment -> 'width')
        and app.is_count(attachment -> 'height')
        and app.is_count(attachment -> 'bytes')
        and app.is_count(attachment -> 'duration_ms'), false);
end
$_$;

CREATE FUNCTION app.is_banned(account auth.users) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return coalesce(account.banned_until > pg_catalog.now(), false);
end
$$;

CREATE FUNCTION app.is_behind(seen pg_snapshot, other pg_snapshot) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT ((pg_snapshot_xmax(seen) < pg_snapshot_xmax(other)) OR (EXISTS ( SELECT
            FROM pg_snapshot_xip(is_behind.seen) x(x)
           WHERE pg_visible_in_snapshot(x.x, is_behind.other))));
END;

CREATE FUNCTION app.is_blank(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (value ~ '^[\u0001-\u0020\u007f-\u00a0\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u061c\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff\u0951-\u0954\u09fe\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f82-\u0f83\u0f86-\u0f87\u0fc6\u108d\u115f-\u1160\u135d-\u135f\u1680\u17b4-\u17b5\u17dd\u180b-\u180f\u18a9\u1939-\u193b\u1a17-\u1a18\u1a75-\u1a7c\u1a7f\u1ab0-\u1abd\u1abf-\u1ace\u1b6b-\u1b73\u1cd0-\u1cd2\u1cd4-\u1ce0\u1ce2-\u1ce8\u1ced\u1cf4\u1cf8-\u1cf9\u1dc0-\u1dff\u2000-\u200f\u2028-\u202f\u205f-\u206f\u20d0-\u20dc\u20e1\u20e5-\u20f0\u2800\u2cef-\u2cf1\u2de0-\u2dff\u3000\u302a-\u302f\u3164\ua66f\ua674-\ua67d\ua69e-\ua69f\ua6f0-\ua6f1\ua8e0-\ua8f1\ua92b-\ua92d\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffc\U000101fd\U000102e0\U00010376-\U0001037a\U00010a0d\U00010a0f\U00010a38-\U00010a3a\U00010ae5-\U00010ae6\U00010d24-\U00010d27\U00010eab-\U00010eac\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011100-\U00011102\U00011366-\U0001136c\U00011370-\U00011374\U0001145e\U00013430-\U0001343f\U00013441-\U00013442\U00016af0-\U00016af4\U00016b30-\U00016b36\U0001bc9e\U0001bca0-\U0001bca3\U0001d159\U0001d165-\U0001d169\U0001d16d-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001e000-\U0001e006\U0001e008-\U0001e018\U0001e01b-\U0001e021\U0001e023-\U0001e024\U0001e026-\U0001e02a\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef\U0001e8d0-\U0001e8d6\U0001e944-\U0001e949\U000e0000-\U000e0fff]*$'::text);
END;

CREATE FUNCTION app.is_blocked(one uuid, other uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from public.blocks b where b.blocker_id = one and b.blocked_id = other)
        or exists (select from public.blocks b where b.blocker_id = other and b.blocked_id = one);
end
$$;

CREATE FUNCTION app.is_change(xid xid8, since pg_snapshot, until pg_snapshot) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (((since IS NULL) OR (NOT pg_visible_in_snapshot(xid, since))) AND ((until IS NULL) OR pg_visible_in_snapshot(xid, until)));
END;

CREATE FUNCTION app.is_count(value jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE COALESCE(jsonb_typeof(value), 'null'::text)
             WHEN 'null'::text THEN true
             WHEN 'number'::text THEN (((value)::text ~ '^[0-9]{1,16}(\.0{1,8})?$'::text) AND ((value)::numeric <= ('9007199254740992'::bigint)::numeric))
             ELSE false
         END AS "case";
END;

CREATE FUNCTION app.is_expired_send(conversation_id uuid, sender_id uuid, client_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (
        select from app.expired_sends e
         where e.conversation_id = is_expired_send.conversation_id and e.client_id = is_expired_send.client_id
           and (e.sender_id = is_expired_send.sender_id or exists (
                select from app.merged_guests g
                 where g.guest_id = e.sender_id and g.account_id = is_expired_send.sender_id)));
end
$$;

CREATE FUNCTION app.is_file_name(value text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return pg_catalog.char_length(value) between 1 and 255 and not app.has_control(value)
           and not app.is_blank(value);
end
$$;

CREATE FUNCTION app.is_first_sent(conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, reply_to_seq bigint, data jsonb) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select m.reply_to_seq is not distinct from is_first_sent.reply_to_seq
           and case when m.first_sent is null
                    then row(m.kind, m.content, m.attachment, m.data) is not distinct from row(
                             is_first_sent.kind, is_first_sent.content, is_first_sent.attachment, is_first_sent.data)
                    else m.first_sent = app.message_hash(
                             m.id, is_first_sent.kind, is_first_sent.content, is_first_sent.attachment,
                             is_first_sent.data) end
      from public.messages m
     where m.conversation_id = is_first_sent.conversation_id and m.sender_id = auth.uid()
       and m.client_id = is_first_sent.client_id
$$;

CREATE FUNCTION app.is_held(message_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from app.held_messages h
                    where h.message_id = is_held.message_id and h.sender_id = auth.uid());
end
$$;

CREATE FUNCTION app.is_host(host text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    byte constant text := '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
    ipv4 constant text := byte || '(\.' || byte || '){3}';
    address text;
    labels text[];
begin
    if host ~ '^\[' then
        -- The last 32 bits may be written as an IPv4 address. "::" replaces one group or more.
        address := regexp_replace(substring(host from '^\[([0-9A-Fa-f:.]*)\]$'), '(:)' || ipv4 || '$', '\10:0');
        return coalesce(
            address ~ '^[0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){7}$'
            or address ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?$'
               and regexp_count(address, '[0-9A-Fa-f]+') <= 7, false);
    end if;
    -- A host that ends with a number is an IPv4 address.
    if host ~ '(^|\.)([0-9]+|0[xX][0-9A-Fa-f]*)\.?$' then
        return host ~ ('^' || ipv4 || '$');
    end if;
    labels := array(select app.host_label(l) from regexp_split_to_table(regexp_replace(host, '\.$', ''), '\.') as l);
    return octet_length(host) between 1 and 254 and array_position(labels, null) is null
       -- Next to a right-to-left label (RFC 5893) every label begins with a letter, and none mixes letters of both
       -- directions.
       and (array_to_string(labels, '.') !~ '[\u0590-\u08ff]'
            or not exists (select from unnest(labels) as l
                            where l !~ ('^([\u0590-\u08ff][\u0590-\u08ff0-9-]*|'
                                        '[^\u0590-\u08ff0-9-][^\u0590-\u08ff]*)$')));
end
$_$;

CREATE FUNCTION app.is_https(value text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    parts text[];
begin
    if octet_length(value) > 2048 then
        return false;
    end if;
    parts := regexp_match(value,
        '^[Hh][Tt][Tt][Pp][Ss]://(\[[^][/?#@]*\]|[^][/?#@:%]+)(?::([0-9]{1,5}))?([/?#].*)?$');
    return coalesce(
        app.is_host(parts[1]) and coalesce(parts[2]::integer between 1 and 65535, true)
        and coalesce(
            parts[3] ~ ('^(/([A-Za-z0-9._~!$&''()*+,;=:@/-]|[^\u0001-\u007f]|%[0-9A-Fa-f]{2})*)?'
                        '(\?([A-Za-z0-9._~!$&''()*+,;=:@/?-]|[^\u0001-\u007f]|%[0-9A-Fa-f]{2})*)?'
                        '(#([A-Za-z0-9._~!$&''()*+,;=:@/?-]|[^\u0001-\u007f]|%[0-9A-Fa-f]{2})*)?$')
            and parts[3] !~ app.invisible_characters(), true), false);
end
$_$;

CREATE FUNCTION app.is_manager(conversation_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (
        select from public.conversation_members m
         where m.conversation_id = is_manager.conversation_id and m.user_id = auth.uid()
           and m.role in ('owner', 'admin'));
end
$$;

CREATE FUNCTION app.is_media_url(url text, id uuid) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.is_https(pg_catalog.regexp_replace(url, '^http://', 'https://'))
       and pg_catalog.strpos(url, id::text) > 0;
end
$$;

CREATE FUNCTION app.is_member(conversation_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (
        select from public.conversation_members m
         where m.conversation_id = is_member.conversation_id and m.user_id = auth.uid() and not m.is_deleted);
end
$$;

CREATE FUNCTION app.is_merging() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from app.merged_guests g where g.merged_xid = pg_catalog.pg_current_xact_id());
end
$$;

CREATE FUNCTION app.is_moderator() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (
        select from public.user_private s
          join public.user_profiles p on p.id = s.id and not p.is_deleted
          join auth.users u on u.id = s.id and not app.is_banned(u)
         where s.id = auth.uid() and s.is_moderator);
end
$$;

CREATE FUNCTION app.is_name_word(word text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    return exists (select from app.search_names s where s.words @> array[is_name_word.word]);
end
$$;

CREATE FUNCTION app.is_optional_string(value jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (COALESCE(jsonb_typeof(value), 'null'::text) = ANY ('{string,"null"}'::text[]));
END;

CREATE FUNCTION app.is_picture_type(mime_type text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT starts_with(mime_type, 'image/'::text) AS starts_with;
END;

CREATE FUNCTION app.is_proven(account auth.users) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return account.email_confirmed_at is not null and exists (
        select from app.identities i
         where i.provider = 'email' and i.user_id = account.id
           and i.subject = app.lower_ascii(account.email::text));
end
$$;

CREATE FUNCTION app.is_reaction(emoji text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT ((octet_length(emoji) <= 32) AND ((emoji ~ '^[a-z0-9_+-]+$'::text) OR ((emoji ~ '[©®‼-㊙🀀-🫿⃣]'::text) AND (emoji !~ '[^0-9#*©®‍‼-㊙️🀀-🫿󠀠-󠁿]'::text))));
END;

CREATE TABLE public.message_reactions (
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    seq bigint NOT NULL,
    emoji text NOT NULL,
    is_set boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

CREATE FUNCTION app.is_reaction_move(before public.message_reactions, after public.message_reactions) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return row(after.emoji, after.is_set, after.created_at) = row(before.emoji, before.is_set, before.created_at)
           and (after.user_id = before.user_id or exists (
                select from app.merged_guests g where g.guest_id = before.user_id and g.account_id = after.user_id))
           and (row(after.conversation_id, after.seq) = row(before.conversation_id, before.seq) or exists (
                select from app.message_moves v
                 where v.conversation_id = before.conversation_id and v.into_id = after.conversation_id
                   and v.base + before.seq = after.seq));
end
$$;

CREATE FUNCTION app.is_repeated(message public.messages) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (
               select from public.messages s
                where s.conversation_id = message.conversation_id and s.sender_id = message.sender_id
                  and s.client_id = message.client_id)
           or app.is_expired_send(message.conversation_id, message.sender_id, message.client_id);
end
$$;

CREATE FUNCTION app.is_similar_word(a text, b text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (a OPERATOR(public.<%) (b COLLATE "C"));
END;

CREATE TABLE app.mails (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    kind text NOT NULL,
    email text NOT NULL,
    user_id uuid,
    locale text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now(),
    last_error text,
    CONSTRAINT mails_email CHECK (((octet_length(email) >= 3) AND (octet_length(email) <= 320))),
    CONSTRAINT mails_kind CHECK ((kind = ANY (ARRAY['confirm_email'::text, 'change_email'::text, 'email_changed'::text, 'reset_password'::text])))
);

CREATE FUNCTION app.is_still_needed(mail app.mails, account auth.users) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if account.id is null or account.deleted_at is not null or app.is_banned(account) then
        return false;
    end if;
    return case mail.kind
        when 'confirm_email' then account.email = mail.email and not app.is_proven(account)
        -- Without a mail if another account has the address by now.
        when 'change_email' then not exists (
            select from auth.users u where u.email = mail.email and not u.is_sso_user)
        else true end;
end
$$;

CREATE FUNCTION app.is_streaming(conversation_id uuid, seq bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from app.message_streams s
                    where s.conversation_id = is_streaming.conversation_id and s.seq = is_streaming.seq);
end
$$;

CREATE FUNCTION app.is_waveform(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT ((char_length(value) <= 172) AND (value ~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'::text) AND (char_length(rtrim(value, '='::text)) <= 171));
END;

CREATE FUNCTION app.joined(objects text[], from_last boolean DEFAULT false, room bigint DEFAULT app.answer_bytes()) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    joined text := coalesce(pg_catalog.array_to_string(objects, ','), '');
    fitting integer := 0;
    total integer := pg_catalog.cardinality(objects);
begin
    if pg_catalog.octet_length(joined) <= room then
        return joined;
    end if;
    loop
        room := room - 1
            - pg_catalog.octet_length(objects[case when from_last then total - fitting else fitting + 1 end]);
        exit when room < 0 and fitting > 0 or fitting = total;
        fitting := fitting + 1;
    end loop;
    return pg_catalog.array_to_string(
        case when from_last then objects[total - fitting + 1:] else objects[:fitting] end, ',');
end
$$;

CREATE FUNCTION app.language_tag(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    tag text := substring(replace(btrim(left(value, 1000)), '_', '-')
        from '^((?:[A-Za-z]{2,8}|[xXiI](?=-))(?:-[A-Za-z0-9]{1,8})*)(?![A-Za-z0-9])');
begin
    if app.repeats_subtag(tag) then
        return null;
    end if;
    -- After "x" a single character is a normal subtag (RFC 5646, 2.1).
    while char_length(tag) > 35 or tag ~ '-[A-Za-z0-9]$' and tag !~* '(^|-)x-' loop
        tag := regexp_replace(tag, '-[^-]*$', '');
    end loop;
    return case when char_length(tag) > 1 then tag end;
end
$_$;

CREATE FUNCTION app.last_upload(created_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (created_at + '01:10:00'::interval);
END;

CREATE FUNCTION app.lead(name text, holder uuid, seconds double precision) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.acquire_lease(name, holder, seconds);
end
$$;

CREATE FUNCTION app.leave_group(conversation_id uuid, user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.touch_conversation(leave_group.conversation_id);
    delete from public.conversation_members m
     where m.conversation_id = leave_group.conversation_id and m.user_id = leave_group.user_id;
end
$$;

CREATE FUNCTION app.presence_visibility(OUT sees_others boolean, OUT changed_xid xid8) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    me uuid := auth.uid();
begin
    select not p.is_hidden, p.hidden_xid into sees_others, changed_xid from public.presence p where p.user_id = me;
    sees_others := coalesce(sees_others, true);
end
$$;

CREATE FUNCTION app.sync_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) RETURNS TABLE(epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text, is_durable boolean)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT p.epoch_now,
     p.snapshot,
     p.reset,
     p.next_position,
     p.changes,
     p.conversation_ids,
         CASE
             WHEN pg_is_in_recovery() THEN true
             ELSE (pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn())
         END AS "case"
    FROM api.sync(sync_page.epoch, sync_page.since, sync_page.until, sync_page."position", sync_page.messages_per_conversation, sync_page.max_bytes) p(epoch_now, snapshot, reset, next_position, changes, conversation_ids);
END;

CREATE FUNCTION app.live_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) RETURNS TABLE(epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text, is_durable boolean, sees_presence boolean)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT p.epoch_now,
     p.snapshot,
     p.reset,
     p.next_position,
     p.changes,
     p.conversation_ids,
     p.is_durable,
     s.sees_others
    FROM (app.sync_page(live_page.epoch, live_page.since, live_page.until, live_page."position", live_page.messages_per_conversation, live_page.max_bytes) p(epoch_now, snapshot, reset, next_position, changes, conversation_ids, is_durable)
      CROSS JOIN app.presence_visibility() s(sees_others, changed_xid));
END;

CREATE FUNCTION app.lock_conversation(conversation_id uuid, OUT kind text, OUT role text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if app.is_member(conversation_id) then
        perform 1 from public.conversations c where c.id = lock_conversation.conversation_id for no key update;
        -- A separate statement, which sees the changes of earlier lock holders.
        select c.kind, m.role into kind, role
          from public.conversation_members m join public.conversations c on c.id = m.conversation_id
         where m.conversation_id = lock_conversation.conversation_id and m.user_id = auth.uid();
    end if;
    if role is null then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
end
$$;

CREATE FUNCTION app.lock_membership(conversation_id uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    mark bigint;
begin
    select m.last_read_seq into mark from public.conversation_members m
     where m.conversation_id = lock_membership.conversation_id and m.user_id = auth.uid() for key share;
    if not found then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    return mark;
end
$$;

CREATE FUNCTION app.locked_caller(if_version bigint DEFAULT NULL::bigint) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    current_version bigint;
begin
    select p.version into current_version from public.user_profiles p where p.id = me for no key update;
    if not found then
        raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
    elsif if_version <> current_version then
        raise exception using errcode = 'PL011',
            message = 'Your profile has changed since this version. Read it again before you change it.',
            detail = '{"current":' || api.me()::text || '}';
    end if;
    return me;
end
$$;

CREATE FUNCTION app.locked_held(conversation_id uuid, seq bigint) RETURNS app.held_messages
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    held app.held_messages;
begin
    perform 1 from public.conversations c where c.id = locked_held.conversation_id for no key update;
    select h.* into held
      from public.messages m join app.held_messages h on h.message_id = m.id and h.sender_id = m.sender_id
     where m.conversation_id = locked_held.conversation_id and m.seq = locked_held.seq
       for update of h;
    return held;
end
$$;

CREATE TABLE app.reports (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    reporter_id uuid NOT NULL,
    reported_id uuid NOT NULL,
    message_id uuid,
    conversation_id uuid,
    seq bigint,
    reason text NOT NULL,
    comment text,
    evidence jsonb,
    state text DEFAULT 'open'::text NOT NULL,
    moderator_id uuid,
    outcome text,
    resolution text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    notify_at timestamp with time zone DEFAULT now(),
    notify_attempts integer DEFAULT 0 NOT NULL,
    CONSTRAINT reports_comment_valid CHECK ((char_length(comment) <= 1000)),
    CONSTRAINT reports_outcome_valid CHECK (((outcome = ANY (ARRAY['dismissed'::text, 'removed'::text, 'warned'::text, 'banned'::text])) AND ((state = 'closed'::text) = (outcome IS NOT NULL)) AND ((state = 'closed'::text) = (closed_at IS NOT NULL)))),
    CONSTRAINT reports_reason_valid CHECK ((reason = ANY (ARRAY['spam'::text, 'abuse'::text, 'sexual'::text, 'violence'::text, 'illegal'::text, 'other'::text]))),
    CONSTRAINT reports_state_valid CHECK ((state = ANY (ARRAY['open'::text, 'in_review'::text, 'closed'::text])))
);

CREATE FUNCTION app.locked_report(id uuid) RETURNS app.reports
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    report app.reports;
begin
    select r.* into report from app.reports r where r.id = locked_report.id for update;
    if report.id is null or report.reported_id = auth.uid() then
        perform app.refuse_hidden('There is no such report.');
    end if;
    return report;
end
$$;

CREATE FUNCTION app.log_end(written pg_lsn DEFAULT pg_current_wal_insert_lsn()) RETURNS pg_lsn
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select written - case when p.bytes <= 40 then p.bytes else 0 end
      from (select (written - pg_lsn '0/0') % pg_catalog.current_setting('wal_block_size')::integer as bytes) p
$$;

CREATE FUNCTION app.lower_ascii(value text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT lower((value COLLATE "C")) AS lower;
END;

CREATE TABLE app.message_moves (
    conversation_id uuid NOT NULL,
    guest_id uuid NOT NULL,
    into_id uuid,
    base bigint DEFAULT 0 NOT NULL,
    sent_xid xid8,
    below bigint NOT NULL,
    uncounted_below bigint NOT NULL,
    CONSTRAINT message_moves_place CHECK ((((into_id IS NULL) = (sent_xid IS NULL)) AND (into_id <> conversation_id)))
);

CREATE FUNCTION app.lowest_reactions(move app.message_moves, low bigint, most integer) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
declare
    beyond bigint;
begin
    if move.into_id is null then
        select r.seq into beyond from public.message_reactions r
         where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq >= low
           and r.seq < move.below and r.is_set
         order by r.seq desc offset most limit 1;
    else
        select r.seq into beyond from public.message_reactions r
         where r.conversation_id = move.conversation_id and r.seq >= low and r.seq < move.below and r.is_set
         order by r.seq desc offset most limit 1;
    end if;
    return coalesce(beyond + 1, low);
end
$$;

CREATE FUNCTION app.mail_token_account(token_hash text, kinds text[]) RETURNS auth.users
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION app.mailable_email(email text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;

CREATE FUNCTION app.make_login(login name, password text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.create_login_role(login, password);
end
$$;

CREATE FUNCTION app.mark_blocked(one uuid, other uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    room uuid;
    is_marked boolean;
begin
    select c.id into room from public.conversations c
     where c.participant1_id = least(one, other) and c.participant2_id = greatest(one, other) for no key update;
    is_marked := app.is_blocked(one, other);
    update public.conversation_members m set is_blocked = is_marked
     where m.conversation_id = room and m.is_blocked <> is_marked;
end
$$;

CREATE FUNCTION app.masked(scope text, value text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (
        select pg_catalog.string_agg(
                   case when app.words_action(scope, app.filtered_words(p.part[1])) in ('refuse', 'mask')
                        then pg_catalog.repeat('*', pg_catalog.char_length(p.part[1])) else p.part[1] end,
                   '' order by p.place)
          -- The characters that part words, as for app.words_of. Those beyond ASCII that app.folded turns into one of
          -- them stay in a word, which is masked with them.
          from pg_catalog.regexp_matches(
                   value,
                   '([\u0001-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bb-\u00bf'
                   '\u2000-\u200a\u2010-\u2029\u202f-\u205f\u3000-\u3004\u3008-\u3020]+'
                   '|[^\u0001-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bb-\u00bf'
                   '\u2000-\u200a\u2010-\u2029\u202f-\u205f\u3000-\u3004\u3008-\u3020]+)', 'g')
                   with ordinality p (part, place));
end
$$;

CREATE FUNCTION app.max_blocks() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 1000;
END;

CREATE FUNCTION app.max_conversations() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 2000;
END;

CREATE FUNCTION app.max_conversations_by_guests() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (app.max_conversations() / 10);
END;

CREATE FUNCTION app.max_conversations_by_strangers() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (app.max_conversations() / 2);
END;

CREATE FUNCTION app.max_delivered_members() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 32;
END;

CREATE FUNCTION app.max_held() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 100;
END;

CREATE FUNCTION app.max_message_characters() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 8000;
END;

CREATE FUNCTION app.max_own_conversations() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (app.max_conversations() * 2);
END;

CREATE FUNCTION app.max_reports() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 50;
END;

CREATE FUNCTION app.max_scheduled() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 100;
END;

CREATE FUNCTION app.max_streams() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 20;
END;

CREATE FUNCTION app.max_unread_mentions() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 100;
END;

CREATE FUNCTION app.needs_attachment(kind text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (kind = ANY ('{image,video,audio,file}'::text[]));
END;

CREATE FUNCTION app.may_be_empty(kind text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (app.needs_attachment(kind) OR (kind = 'custom'::text));
END;

CREATE FUNCTION app.may_mention_everyone(conversation_id uuid, sender_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (
        select from public.conversations c
          join public.conversation_members m on m.conversation_id = c.id
         where c.id = may_mention_everyone.conversation_id and c.kind = 'group'
           and m.user_id = may_mention_everyone.sender_id and m.role in ('owner', 'admin'));
end
$$;

CREATE FUNCTION app.may_send_kind(kind text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (app.may_be_empty(kind) OR (kind = 'text'::text));
END;

CREATE FUNCTION app.meant_words(word text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    meant text[] := app.spellings(word);
begin
    if meant = '{}' then
        -- Not by a SET of the function: only a superuser may create one for a setting of a library that is not loaded.
        perform set_config('pg_trgm.word_similarity_threshold', '0.4', true);
        meant := array(
            select w.word from app.words w where app.is_similar_word(meant_words.word, w.word)
             order by app.similarity(meant_words.word, w.word) desc, w.word limit 20);
    end if;
    return meant;
end
$$;

CREATE FUNCTION app.media_id(attachment jsonb) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN ((attachment ->> 'media_id'::text) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text) THEN ((attachment ->> 'media_id'::text))::uuid
             ELSE NULL::uuid
         END AS "case";
END;

CREATE FUNCTION app.media_ids(attachment jsonb) RETURNS uuid[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if attachment is null then
        return null;
    end if;
    return array(
        select i.id
          from pg_catalog.jsonb_array_elements(app.attachments(attachment)) a (value)
         cross join lateral (
                values (app.media_id(a.value)), ((a.value ->> 'preview_media_id')::uuid)) i (id)
         where i.id is not null);
end
$$;

CREATE FUNCTION app.mentioned_members(conversation_id uuid, mentions uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if pg_catalog.cardinality(mentions) > 50 then
        perform app.refuse_param('mentions', '"mentions" must hold at most 50 UUIDs.');
    end if;
    return nullif(array(
        select u.id
          from (select u.id, min(u.place) as place from pg_catalog.unnest(mentions) with ordinality as u (id, place)
                 group by u.id) u
          join public.conversation_members m
            on m.conversation_id = mentioned_members.conversation_id and m.user_id = u.id and not m.is_deleted
         order by u.place), '{}');
end
$$;

CREATE FUNCTION app.merge_blocks(guest uuid, account uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    moved public.blocks[];
begin
    with gone as (
        delete from public.blocks b where guest in (b.blocker_id, b.blocked_id) returning b.*)
    select pg_catalog.array_agg(g) into moved from gone g;
    insert into public.blocks (blocker_id, blocked_id, blocked_at)
    select w.blocker_id, w.blocked_id, min(w.blocked_at)
      from (select case when b.blocker_id = guest then account else b.blocker_id end as blocker_id,
                   case when b.blocked_id = guest then account else b.blocked_id end as blocked_id, b.blocked_at
              from unnest(moved) b) w
     where w.blocker_id <> w.blocked_id
     group by w.blocker_id, w.blocked_id
     order by w.blocker_id, w.blocked_id
    on conflict do nothing;
end
$$;

CREATE FUNCTION app.merge_held(guest uuid, account uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    update app.held_messages h set sender_id = account where h.sender_id = guest
$$;

CREATE FUNCTION app.merge_media(guest uuid, account uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    update public.media m set owner_id = account where m.owner_id = guest and m.message_id is null
$$;

CREATE FUNCTION app.merge_profiles(guest uuid, account uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    profile public.user_profiles;
    private public.user_private;
    together jsonb;
begin
    select p.* into profile from public.user_profiles p where p.id = guest;
    select p.* into private from public.user_private p where p.id = guest;
    update public.user_profiles p set is_deleted = true where p.id = guest;
    -- The guest's former names stay held for the account.
    update public.username_history h set user_id = account where h.user_id = guest;
    -- At most five are held for an account that merges many guests: those with the latest expiry.
    delete from public.username_history h
     where h.user_id = account and h.held_until > app.now()
       and h.id not in (select k.id from public.username_history k where k.user_id = account
                         order by k.held_until desc, k.id desc limit 5);
    update public.user_profiles p
       set username = coalesce(p.username, profile.username),
           full_name = coalesce(p.full_name, profile.full_name),
           bio = coalesce(p.bio, profile.bio),
           avatar_type = coalesce(p.avatar_type, profile.avatar_type),
           avatar_id = case when p.avatar_type is null then profile.avatar_id else p.avatar_id end,
           avatar_url = case when p.avatar_type is null then profile.avatar_url else p.avatar_url end,
           website = coalesce(p.website, profile.website),
           location = coalesce(p.location, profile.location),
           language_code = coalesce(p.language_code, profile.language_code),
           -- If both together exceed the bound, the guest's are dropped; likewise below.
           attributes = case when pg_catalog.octet_length((profile.attributes || p.attributes)::text) <= 32768
                             then profile.attributes || p.attributes else p.attributes end
     where p.id = account;
    select private.preferences || s.preferences into together from public.user_private s where s.id = account;
    update public.user_private s
       set phone_number = coalesce(s.phone_number, private.phone_number),
           phone_verified = case when s.phone_number is null then private.phone_verified else s.phone_verified end,
           date_of_birth = coalesce(s.date_of_birth, private.date_of_birth),
           biological_sex = coalesce(s.biological_sex, private.biological_sex),
           height_cm = coalesce(s.height_cm, private.height_cm),
           preferences = case when app.json_bytes(together) <= 16384 then together else s.preferences end
     where s.id = account;
end
$$;

CREATE FUNCTION app.merge_reports(guest uuid, account uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    delete from app.reports r
     where r.reporter_id in (guest, account) and r.reported_id in (guest, account);
    update app.reports r set reporter_id = account where r.reporter_id = guest;
    update app.reports r set reported_id = account where r.reported_id = guest
$$;

CREATE FUNCTION app.merge_scheduled(guest uuid, account uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from public.scheduled_messages s using public.conversations c
     where s.sender_id in (guest, account) and c.id = s.conversation_id
       and c.participant1_id = least(guest, account) and c.participant2_id = greatest(guest, account);
    -- Those that the device has scheduled again as the account.
    delete from public.scheduled_messages s
     where s.sender_id = guest
       and exists (select from public.scheduled_messages o where o.sender_id = account and o.id = s.id);
    delete from public.scheduled_messages s
     where s.sender_id = guest and s.id in (
            select o.id from public.scheduled_messages o where o.sender_id = guest
             order by o.due_at, o.id offset greatest(0, app.max_scheduled() - (
                select count(*) from public.scheduled_messages a where a.sender_id = account)));
    update public.scheduled_messages s set sender_id = account where s.sender_id = guest;
end
$$;

CREATE TABLE app.merged_guests (
    guest_id uuid NOT NULL,
    account_id uuid NOT NULL,
    merged_at timestamp with time zone DEFAULT now() NOT NULL,
    merged_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    conversations integer DEFAULT 0 NOT NULL,
    messages integer DEFAULT 0 NOT NULL,
    CONSTRAINT merged_guests_two_users CHECK ((guest_id <> account_id))
);

CREATE FUNCTION app.merge_users(guest uuid, account uuid) RETURNS app.merged_guests
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- The most messages, of all senders, that are searched before the response. The rest is counted as it is moved.
    most_counted constant bigint := 200000;
    countable bigint := most_counted;
    -- The newest messages that are moved at once, shared by the conversations: what a screen shows, and what the device
    -- may send again as the account since it lacks the response.
    most_moved constant integer := 1000;
    room record;
    rooms uuid[];
    counted_after bigint[] := '{}';
    counted_to bigint[] := '{}';
    place integer;
    twin uuid;
    room_id uuid;
    merged app.merged_guests;
begin
    insert into app.merged_guests as g (guest_id, account_id) values (guest, account) returning g.* into merged;

    rooms := array(select r from unnest(app.guest_conversations(guest)) r order by r);
    foreach room_id in array rooms loop
        select c.last_seq, greatest(c.last_seq - countable, 0) as after_seq into room
          from public.conversations c where c.id = room_id;
        counted_after := counted_after || room.after_seq;
        counted_to := counted_to || room.last_seq;
        countable := countable - (room.last_seq - room.after_seq);
        -- The direct conversation of guest and account is removed.
        if not exists (select from public.conversations c
                        where c.id = room_id and account in (c.participant1_id, c.participant2_id)) then
            merged.messages := merged.messages + app.count_messages(room_id, guest, room.after_seq, room.last_seq);
        end if;
    end loop;

    perform 1 from public.conversations c
     where c.id in (
            select unnest(app.guest_conversations(guest))
            union
            select t.id from public.conversation_members m
              join public.conversation_members o on o.conversation_id = m.conversation_id and o.user_id <> guest
              join public.conversations t on t.participant1_id = least(account, o.user_id)
                                         and t.participant2_id = greatest(account, o.user_id)
             where m.user_id = guest)
     order by c.id for update;
    perform app.merge_held(guest, account);
    -- Messages that grow cannot move.
    perform app.finish_streams(guest, array(
        select c.id from public.conversations c
         where c.id = any (app.guest_conversations(guest)) and c.kind = 'direct'));
    -- From here on nobody adds the guest to a conversation: app.validate_new_member waits, and finds the tombstone.
    perform 1 from public.user_profiles p where p.id = guest for update;

    for room in
        select c.id, c.last_seq, c.kind = 'direct' as direct, account in (c.participant1_id, c.participant2_id) as own,
               case when c.participant1_id = guest then c.participant2_id else c.participant1_id end as other,
               exists (select from public.conversation_members m
                        where m.conversation_id = c.id and m.user_id = guest) as present,
               greatest(20, most_moved / count(*) over ())::integer as most
          from public.conversations c
         where c.id = any (app.guest_conversations(guest))
         order by c.id
    loop
        merged.conversations := merged.conversations + (room.present and not (room.direct and room.own))::integer;
        if room.direct and room.own then
            perform app.remove_all_members(room.id);
            continue;
        end if;
        -- Messages that were sent between the first count and the lock.
        place := pg_catalog.array_position(rooms, room.id);
        merged.messages := merged.messages
            + app.count_messages(room.id, guest, coalesce(counted_to[place], 0), room.last_seq);
        twin := case when room.direct then app.replace_participant(room.id, account, room.other) end;
        if twin is null then
            perform app.transfer_membership(room.id, guest, account, coalesce(counted_after[place], 0) + 1, room.most);
            if room.direct then
                perform app.mark_blocked(account, room.other);
            end if;
        else
            perform app.append_conversation(
                room.id, twin, guest, account, coalesce(counted_after[place], 0) + 1, room.most);
            perform app.remove_all_members(room.id);
        end if;
    end loop;

    perform app.tell_held(account);
    perform app.merge_scheduled(guest, account);
    perform app.merge_blocks(guest, account);
    perform app.merge_reports(guest, account);
    perform app.merge_media(guest, account);
    perform app.merge_profiles(guest, account);
    perform app.drop_unused_avatars(account);
    update app.merged_guests g set conversations = merged.conversations, messages = g.messages + merged.messages
     where g.guest_id = guest
    returning g.* into merged;
    return merged;
end
$$;

CREATE FUNCTION app.message_details(message public.messages, reply text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat(',"reply_to":',
         CASE
             WHEN ((message).reply_to_seq IS NULL) THEN 'null'::text
             ELSE COALESCE(reply, (('{"seq":'::text || (message).reply_to_seq) || ',"sender_id":null,"kind":null,"content":null,"version":0}'::text))
         END, ',"mentions":', COALESCE((array_to_json((message).mentions))::text, '[]'::text), ',"mentions_everyone":', (COALESCE((message).mentions_everyone, false))::text, ',"data":', COALESCE(((message).data)::text, 'null'::text)) AS concat;
END;

CREATE FUNCTION app.message_hash(id uuid, kind text, content text, attachment jsonb, data jsonb) RETURNS bytea
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select pg_catalog.sha256(pg_catalog.decode(s.value, 'hex') || pg_catalog.sha256(pg_catalog.convert_to(
        id::text || kind || e'\x1f' || coalesce(attachment::text, '') || e'\x1f' || coalesce(content, '')
            || coalesce(e'\x1f' || data::text, ''), 'UTF8')))
      from app.settings s where s.name = 'message_hash_key'
$$;

CREATE FUNCTION app.utc(value timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT to_char((value AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS to_char;
END;

CREATE FUNCTION app.quoted_utc(value timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN ((value >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (value < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (value <> (value)::timestamp(5) with time zone)) THEN ((((to_json((value AT TIME ZONE '00:00:00'::interval)))::text)::character varying(27))::text || 'Z"'::text)
             ELSE (('"'::text || app.utc(value)) || '"'::text)
         END AS "case";
END;

CREATE FUNCTION app.message_object(message public.messages, conversation text, sender text, mark bigint, reply text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat('{"id":"', (message).id, conversation, (message).seq, sender,
         CASE
             WHEN ((message).client_id IS NULL) THEN ',"client_id":null,"kind":"'::text
             ELSE ',"client_id":"'::text
         END, (message).client_id,
         CASE
             WHEN ((message).client_id IS NULL) THEN (((message).kind)::text || '","content":'::text)
             WHEN (((message).kind)::text = 'text'::text) THEN '","kind":"text","content":'::text
             ELSE (('","kind":"'::text || ((message).kind)::text) || '","content":'::text)
         END, COALESCE(to_json(((message).content)::text), 'null'::json),
         CASE
             WHEN ((message).attachment IS NOT NULL) THEN ((app.attachment_members((message).attachment) ||
             CASE
                 WHEN ((message).seq > mark) THEN ',"is_read":false'::text
                 ELSE ',"is_read":true'::text
             END) || ',"version":'::text)
             WHEN ((message).event IS NOT NULL) THEN (((',"attachment":null,"attachments":[],"event":'::text || ((message).event)::text) ||
             CASE
                 WHEN ((message).seq > mark) THEN ',"is_read":false'::text
                 ELSE ',"is_read":true'::text
             END) || ',"version":'::text)
             WHEN ((message).seq > mark) THEN ',"attachment":null,"attachments":[],"is_read":false,"version":'::text
             ELSE ',"attachment":null,"attachments":[],"is_read":true,"version":'::text
         END, (message).version,
         CASE
             WHEN app.has_details(message) THEN app.message_details(message, reply)
             ELSE ',"reply_to":null,"mentions":[],"mentions_everyone":false,"data":null'::text
         END, ',"created_at":', COALESCE(app.quoted_utc((message).created_at), '""'::text),
         CASE
             WHEN (((message).edited_at IS NULL) AND ((message).deleted_at IS NULL)) THEN ',"edited_at":null,"deleted_at":null}'::text
             ELSE ((((',"edited_at":'::text || COALESCE(app.quoted_utc((message).edited_at), 'null'::text)) || ',"deleted_at":'::text) || COALESCE(app.quoted_utc((message).deleted_at), 'null'::text)) || '}'::text)
         END) AS concat;
END;

CREATE FUNCTION app.sender_members(id uuid, sender json) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (((',"sender_id":"'::text || (id)::text) || '","sender":'::text) || (sender)::text);
END;

CREATE FUNCTION app.message_object(message public.messages, sender json, mark bigint, reply text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT app.message_object(message, app.conversation_member((message).conversation_id), app.sender_members((message).sender_id, sender), mark, reply) AS message_object;
END;

CREATE FUNCTION app.message_page(conversation_id uuid, before_seq bigint, after_seq bigint, max_results integer, OUT mark bigint, OUT beyond bigint, OUT sender_ids uuid[]) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_sort TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    me uuid := auth.uid();
    newest bigint;
begin
    select c.last_seq, array[c.participant1_id, c.participant2_id], (
                select min(r.last_read_seq) from public.conversation_members r where r.conversation_id = c.id
                having pg_catalog.bool_or(r.user_id = me and not r.is_deleted))
      into newest, sender_ids, mark
      from public.conversations c where c.id = message_page.conversation_id;
    if mark is null then
        sender_ids := null;
        return;
    end if;
    beyond := coalesce(after_seq, greatest(least(before_seq, newest + 1), 0) - max_results - 1);
    if sender_ids[1] is null then
        sender_ids := array(
            select distinct m.sender_id
              from (select m.sender_id from public.messages m
                     where m.conversation_id = message_page.conversation_id and m.seq > message_page.beyond
                     order by m.seq limit message_page.max_results) m);
    end if;
end
$$;

CREATE FUNCTION app.message_words(conversation_id uuid, created_at timestamp with time zone, content text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- Computed from a difference, since the epoch of a time is not immutable.
    seconds bigint := floor(extract(epoch from least(created_at, timestamptz '9999-01-01 00:00:00+00')
                                               - timestamptz '2000-01-01 00:00:00+00'));
    conversation text := right(conversation_id::text, 12);
begin
    if octet_length(content) = char_length(content) and octet_length(content) <= 500 then
        return array_to_tsvector(string_to_array(ltrim(concat(
            regexp_replace(lower(content collate "C") || '@', '[^a-z0-9]+', ' ', 'g'),
            '@', conversation, ' @l', seconds >> 20, ' @s', seconds >> 16, ' @', conversation, 'l', seconds >> 20)),
            ' '));
    end if;
    return array_to_tsvector(app.search_words(app.search_text(content)) || array[
        '@' || conversation, '@l' || (seconds >> 20), '@s' || (seconds >> 16),
        '@' || conversation || 'l' || (seconds >> 20)]);
end
$$;

CREATE TABLE public.media (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    owner_id uuid NOT NULL,
    purpose text NOT NULL,
    conversation_id uuid,
    mime_type text NOT NULL,
    bytes bigint NOT NULL,
    width integer,
    height integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    stored_at timestamp with time zone,
    used_at timestamp with time zone,
    message_id uuid,
    url text,
    removed_at timestamp with time zone,
    name text,
    is_held boolean,
    CONSTRAINT media_avatar_is_picture CHECK (((purpose <> 'avatar'::text) OR starts_with(mime_type, 'image/'::text))),
    CONSTRAINT media_bytes_valid CHECK (((bytes >= 1) AND (bytes <= 1073741824))),
    CONSTRAINT media_height_valid CHECK (((height >= 1) AND (height <= 65535))),
    CONSTRAINT media_mime_type_valid CHECK ((mime_type = ANY (ARRAY['image/jpeg'::text, 'image/png'::text, 'image/webp'::text, 'image/gif'::text, 'image/heic'::text, 'video/mp4'::text, 'video/quicktime'::text, 'video/webm'::text, 'audio/webm'::text, 'audio/mp4'::text, 'audio/mpeg'::text, 'audio/ogg'::text, 'audio/wav'::text, 'application/pdf'::text, 'text/plain'::text, 'application/zip'::text, 'application/octet-stream'::text]))),
    CONSTRAINT media_name_valid CHECK (((char_length(name) >= 1) AND (char_length(name) <= 255))),
    CONSTRAINT media_place CHECK (((purpose = 'message'::text) = (conversation_id IS NOT NULL))),
    CONSTRAINT media_purpose_valid CHECK ((purpose = ANY (ARRAY['avatar'::text, 'message'::text]))),
    CONSTRAINT media_width_valid CHECK (((width >= 1) AND (width <= 65535)))
);

CREATE FUNCTION app.moderated_files(ids uuid[]) RETURNS SETOF public.media
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := auth.uid();
begin
    if not app.is_moderator() then
        return;
    end if;
    return query
    select m.* from public.media m
     where m.id = any (ids) and m.owner_id <> me
       and (m.is_held
            or exists (select from app.reports r
                        where r.message_id = m.message_id and r.state <> 'closed' and r.reported_id <> me)
               -- Members see them by the policy.
               and not exists (select from public.conversation_members o
                                where o.conversation_id = m.conversation_id and o.user_id = me));
end
$$;

CREATE FUNCTION app.moderated_held(max_results integer, after text) RETURNS json
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.held_page(max_results, after, app.moderator());
end
$$;

CREATE FUNCTION app.moderated_report(id uuid) RETURNS json
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    report app.reports;
begin
    perform app.moderator();
    select r.* into report from app.reports r where r.id = moderated_report.id;
    if report.id is null or report.reported_id = auth.uid() then
        perform app.refuse_hidden('There is no such report.');
    end if;
    return app.report_with_evidence(report);
end
$$;

CREATE FUNCTION app.moderated_reports(state text, max_results integer, after text) RETURNS json
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.moderator();
    return app.report_page(state, max_results, after);
end
$$;

CREATE FUNCTION app.moderator() RETURNS uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
begin
    if not app.is_moderator() then
        perform app.refuse_forbidden('Only moderators can do this.');
    end if;
    return me;
end
$$;

CREATE FUNCTION app.move_batch(conversation_id uuid, guest_id uuid, most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
declare
    most_bytes constant bigint := 1048576;
    most_read constant bigint := 10000;
    move app.message_moves;
    lowest bigint;
    ids uuid[];
    next_below bigint;
    uncounted bigint;
    newest bigint;
begin
    select v.* into move from app.message_moves v
     where v.conversation_id = move_batch.conversation_id and v.guest_id = move_batch.guest_id for update;
    if not found then
        return 0;
    end if;
    lowest := case when move.into_id is null then greatest(move.below - most_read, 1) else 1 end;
    lowest := app.lowest_reactions(move, lowest, most);
    select pg_catalog.array_agg(b.id) filter (where b.bytes_before < most_bytes),
           case when count(*) = most or bool_or(b.bytes_before >= most_bytes)
                then min(b.seq) filter (where b.bytes_before < most_bytes) else lowest end,
           count(*) filter (where b.bytes_before < most_bytes and b.seq < move.uncounted_below
                                  and b.sender_id = move.guest_id),
           max(b.seq)
      into ids, next_below, uncounted, newest
      from (select n.id, n.seq, n.sender_id,
                   coalesce(sum(pg_catalog.octet_length(n.content)) over (
                       order by n.seq desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
              from (select m.id, m.seq, m.sender_id, m.content from public.messages m
                     where m.conversation_id = move.conversation_id and m.seq < move.below and m.seq >= lowest
                       and (move.into_id is not null or m.sender_id = move.guest_id
                            or m.mentions @> array[move.guest_id])
                     order by m.seq desc limit most) n) b;
    if ids <> '{}' then
        perform app.reassign_messages(
            ids, move.conversation_id, coalesce(move.into_id, move.conversation_id), move.base);
        -- The account's mark is never before its own messages, also if the guest had left and the account is a member.
        update public.conversation_members m
           set sent_seq = newest, last_read_seq = greatest(m.last_read_seq, newest),
               changed_xid = pg_catalog.pg_current_xact_id()
          from app.merged_guests g
         where g.guest_id = move.guest_id and m.conversation_id = move.conversation_id and m.user_id = g.account_id
           and m.sent_seq < newest;
    end if;
    perform app.move_reactions(move, next_below);
    if next_below <= 1 then
        delete from app.message_moves v
         where v.conversation_id = move.conversation_id and v.guest_id = move.guest_id;
    else
        update app.message_moves v set below = next_below
         where v.conversation_id = move.conversation_id and v.guest_id = move.guest_id;
    end if;
    if uncounted > 0 then
        update app.merged_guests g set messages = g.messages + uncounted where g.guest_id = move.guest_id;
    end if;
    return coalesce(pg_catalog.cardinality(ids), 0);
end
$$;

CREATE FUNCTION app.move_delivered_mark(conversation_id uuid, user_id uuid, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into public.delivered_marks as d (conversation_id, user_id, last_delivered_seq)
    select m.conversation_id, m.user_id, move_delivered_mark.seq from public.conversation_members m
     where m.conversation_id = move_delivered_mark.conversation_id and m.user_id = move_delivered_mark.user_id
       and m.last_read_seq < move_delivered_mark.seq
    on conflict on constraint delivered_marks_pkey do update set last_delivered_seq = excluded.last_delivered_seq
     where d.last_delivered_seq < excluded.last_delivered_seq;
end
$$;

CREATE FUNCTION app.move_held(message public.messages) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    files jsonb;
begin
    update app.held_messages h
       set sender_id = message.sender_id, mentions = app.account_ids(h.mentions),
           changed_xid = pg_catalog.pg_current_xact_id()
     where h.message_id = message.id
    returning h.attachment into files;
    if found then
        update public.media f set conversation_id = message.conversation_id, owner_id = message.sender_id
         where f.id = any (app.media_ids(files)) and f.message_id = message.id
           and row(f.conversation_id, f.owner_id) is distinct from row(message.conversation_id, message.sender_id);
        perform app.tell_own_conversation(message.conversation_id, message.sender_id);
    end if;
end
$$;

CREATE FUNCTION app.move_mark() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.move_recorded_mark();
    return null;
end
$$;

CREATE FUNCTION app.move_message(conversation_id uuid, seq bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    message_id uuid;
begin
    -- Refuses callers who are not members. A role may call this without the lock.
    perform app.lock_conversation(conversation_id);
    select m.id into message_id
      from public.messages m join app.merged_guests g on g.guest_id = m.sender_id
     where m.conversation_id = move_message.conversation_id and m.seq = move_message.seq
       and g.account_id = auth.uid();
    if message_id is null then
        return false;
    end if;
    perform app.reassign_messages(array[message_id], conversation_id, conversation_id, 0);
    return true;
end
$$;

CREATE FUNCTION app.move_messages(node uuid, waits boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    most constant integer := 500;
    move record;
begin
    if not exists (select from app.message_moves) then
        return 'none';
    -- Read without a lock: the holder locks the row for the duration of its batch.
    elsif exists (select from app.leases l
                   where l.name = 'moves' and l.holder <> node and l.expires_at > pg_catalog.clock_timestamp())
          or not app.acquire_lease('moves', node, 5) then
        return 'led';
    end if;
    -- In random order, so that a conversation with a long lock does not hold up the others.
    if waits then
        select v.conversation_id, v.guest_id, coalesce(v.into_id, v.conversation_id) as target into move
          from app.message_moves v order by pg_catalog.random() limit 1;
        perform 1 from public.conversations c where c.id = move.target for no key update;
        -- A later merge may have redirected the row, or moved the rest.
        if not exists (select from app.message_moves v
                        where v.conversation_id = move.conversation_id and v.guest_id = move.guest_id
                          and coalesce(v.into_id, v.conversation_id) = move.target) then
            return 'moved';
        end if;
    else
        select v.conversation_id, v.guest_id into move
          from app.message_moves v
          join public.conversations c on c.id = coalesce(v.into_id, v.conversation_id)
         order by pg_catalog.random() limit 1 for no key update skip locked;
        if not found then
            return 'locked';
        end if;
    end if;
    perform app.move_batch(move.conversation_id, move.guest_id, most);
    return 'moved';
end
$$;

CREATE FUNCTION app.move_reactions(move app.message_moves, low bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    account uuid := (select g.account_id from app.merged_guests g where g.guest_id = move.guest_id);
    moved bigint[];
begin
    if move.into_id is not null then
        update public.message_reactions r
           set conversation_id = move.into_id, seq = move.base + r.seq,
               user_id = case when r.user_id = move.guest_id then account else r.user_id end
         where r.conversation_id = move.conversation_id and r.seq >= low and r.seq < move.below and r.is_set;
        return;
    end if;
    moved := array(
        select distinct r.seq from public.message_reactions r
         where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq >= low
           and r.seq < move.below and r.is_set);
    if moved = '{}' then
        return;
    end if;
    loop
        begin
            delete from public.message_reactions a
             using public.message_reactions r
             where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq = any (moved)
               and r.is_set and a.conversation_id = r.conversation_id and a.user_id = account and a.seq = r.seq
               and a.emoji = r.emoji;
            update public.message_reactions r set user_id = account
             where r.conversation_id = move.conversation_id and r.user_id = move.guest_id and r.seq = any (moved)
               and r.is_set;
            exit;
        exception when unique_violation then
            -- The account has set one meanwhile, which the next turn finds.
        end;
    end loop;
    -- The account's devices get what it has set now.
    update public.reaction_counts c set version = c.version + 1, changed_xid = pg_catalog.pg_current_xact_id()
     where c.conversation_id = move.conversation_id and c.seq = any (moved);
end
$$;

CREATE FUNCTION app.move_recorded_mark() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    noted text[] := pg_catalog.string_to_array(
        nullif(pg_catalog.current_setting('postline.read', true), ''), ' ');
begin
    if noted is not null then
        update public.conversation_members m set last_read_seq = noted[2]::bigint
         where m.conversation_id = noted[1]::uuid and m.user_id = auth.uid() and m.last_read_seq < noted[2]::bigint;
        perform pg_catalog.set_config('postline.read', '', true);
    end if;
end
$$;

CREATE FUNCTION app.move_scheduled(from_id uuid, into_id uuid, base bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    update public.scheduled_messages s set conversation_id = into_id, reply_to_seq = s.reply_to_seq + base
     where s.conversation_id = from_id
$$;

CREATE FUNCTION app.moved_xid(before public.messages, after public.messages) RETURNS xid8
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if row(after.id, after.kind, after.content, after.attachment, after.edited_at, after.deleted_at,
           after.mentions_everyone, after.data) is distinct from
       row(before.id, before.kind, before.content, before.attachment, before.edited_at, before.deleted_at,
           before.mentions_everyone, before.data)
       or after.mentions is distinct from app.account_ids(before.mentions)
       or after.reply_to_seq - before.reply_to_seq <> after.seq - before.seq
       or after.client_id <> before.client_id or after.client_id is not null and before.client_id is null
       or after.sender_id <> before.sender_id and not exists (
            select from app.merged_guests g where g.guest_id = before.sender_id and g.account_id = after.sender_id) then
        return null;
    elsif after.conversation_id <> before.conversation_id or after.seq <> before.seq then
        return (select v.sent_xid from app.message_moves v
                 where v.conversation_id = before.conversation_id and v.into_id = after.conversation_id
                   and v.base + before.seq = after.seq);
    end if;
    return case when after.sender_id <> before.sender_id or after.mentions <> before.mentions
                then before.sent_xid end;
end
$$;

CREATE FUNCTION app.my_conversations() RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    me uuid := auth.uid();
begin
    -- Checks the profile, since a deletion there is final, and once: a check per row makes the longest lists a fifth
    -- slower.
    return query
    select m.conversation_id from public.conversation_members m
     where m.user_id = me and not exists (select from public.user_profiles p where p.id = me and p.is_deleted);
end
$$;

CREATE FUNCTION app.my_groups(roles text[] DEFAULT '{owner,admin,member}'::text[]) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query
    select m.conversation_id from public.conversation_members m join public.conversations c on c.id = m.conversation_id
     where m.user_id = auth.uid() and m.role = any (roles) and c.kind = 'group';
end
$$;

CREATE FUNCTION app.my_message(conversation_id uuid, seq bigint DEFAULT NULL::bigint) RETURNS json
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := auth.uid();
    message text;
begin
    select case when o.deleted_at is not null and o.sender_id = me then app.own_form(o.id, o.object) else o.object end
      into message
      from public.conversation_members m
     cross join lateral (
            select o.id, o.sender_id, o.deleted_at, o.object from app.message_objects o
             where o.conversation_id = m.conversation_id and o.seq = coalesce(my_message.seq, m.sent_seq) offset 0) o
     where m.conversation_id = my_message.conversation_id and m.user_id = me and not m.is_deleted;
    return message;
end
$$;

CREATE FUNCTION app.name_words(username text, full_name text, spelled_out text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    words text[] := app.words_of(concat_ws(' ', username, full_name, spelled_out));
begin
    if array_to_string(words, '') !~ '[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]' then
        return words;
    end if;
    return array(
        select unnest(words) collate "C" as w
        union
        -- Six characters tell a given name from others, and bound what a long name costs.
        select substr(word, i, 6) collate "C"
          from unnest(words) as word, generate_series(2, char_length(word) - 1) as i
         where substr(word, i, 1) ~ '[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]'
         order by w);
end
$$;

CREATE FUNCTION app.next_version_time(last timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select greatest(now(), date_trunc('milliseconds', last) + interval '1 millisecond')
$$;

CREATE FUNCTION app.normalized(value text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (char_length(t.trimmed) <= 2000) THEN "normalize"(t.trimmed, 'NFC'::text)
             ELSE t.trimmed
         END AS trimmed
    FROM ( SELECT btrim(normalized.value, ' 	
                 　'::text) AS trimmed) t;
END;

CREATE FUNCTION app.normalized_file(attachment jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (attachment || COALESCE(( SELECT jsonb_object_agg(name.name, trunc(((normalized_file.attachment ->> name.name))::numeric)) AS jsonb_object_agg
            FROM unnest('{width,height,bytes,duration_ms}'::text[]) name(name)
           WHERE ((normalized_file.attachment ->> name.name) ~ '^[0-9]{1,16}\.0{1,8}$'::text)), '{}'::jsonb));
END;

CREATE FUNCTION app.normalized_attachment(attachment jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (jsonb_typeof(attachment) <> 'object'::text) THEN attachment
             ELSE (app.normalized_file((attachment - 'more'::text)) ||
             CASE
                 WHEN ((jsonb_typeof((attachment -> 'more'::text)) = 'array'::text) AND ((attachment -> 'more'::text) <> '[]'::jsonb)) THEN jsonb_build_object('more', ( SELECT jsonb_agg(
                         CASE
                             WHEN (jsonb_typeof(a.value) = 'object'::text) THEN app.normalized_file(a.value)
                             ELSE a.value
                         END ORDER BY a.place) AS jsonb_agg
                    FROM jsonb_array_elements((normalized_attachment.attachment -> 'more'::text)) WITH ORDINALITY a(value, place)))
                 ELSE '{}'::jsonb
             END)
         END AS "case";
END;

CREATE FUNCTION app.note_ended(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    select r.started, r.replayed into started, replayed from app.record_ended_transactions(base, started) r;
end
$$;

CREATE FUNCTION app.note_pushes() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.queue_pushes();
end
$$;

CREATE FUNCTION app.note_stored(id uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.record_stored_media(id);
end
$$;

CREATE FUNCTION app.notify_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if pg_catalog.current_setting('postline.quiet', true) is distinct from 'on' then
        perform pg_catalog.pg_notify('postline', '');
    end if;
    return null;
end
$$;

CREATE FUNCTION app.now() RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return pg_catalog.now() + coalesce(
        (select s.value::interval from app.settings s where s.name = 'clock_offset'), interval '0');
end
$$;

CREATE FUNCTION app.number_message() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    xid xid8 := pg_catalog.pg_current_xact_id();
    is_list boolean := new.attachment ? 'more';
    seat public.conversation_members;
    original text;
    first bigint;
    latest timestamptz;
    action text;
    held text;
begin
    -- app.number_messages has numbered it.
    if pg_catalog.current_setting('role') = 'postline_sender' then
        if app.has_details(new) then
            perform app.record_mentions(new);
        end if;
        return new;
    end if;
    -- The policy checks it too, but only after this trigger, whose errors would reveal who is a member and what was
    -- sent.
    if coalesce(new.sender_id <> auth.uid(), new.sender_id is null) then
        perform app.refuse_message();
    end if;
    if new.attachment is not null then
        perform app.check_attachment(new.attachment);
        new.attachment := app.normalized_attachment(new.attachment);
    end if;
    if new.deleted_at is not null then
        new.content := null;
        new.attachment := null;
    elsif app.needs_attachment(new.kind) then
        if new.attachment is null then
            perform app.refuse_without_attachment(new.kind);
        end if;
        new.content := app.attachment_content(new.kind, new.content, new.attachment);
    elsif new.kind = 'custom' then
        if new.data is null then
            perform app.refuse_param('data', '"data" is missing: a message of kind "custom" needs it.');
        end if;
        new.content := coalesce(new.content, '');
    elsif coalesce(new.content, '') = '' and new.version <> 0 then
        perform app.refuse_content();
    end if;
    -- A message that is repeated has been sent, whatever the rules are now.
    if new.content is not null and exists (select from app.filter_rules) and new.event is null
       and not app.is_repeated(new) then
        original := new.content;
        action := app.filter_action('messages', original);
        if action is not null then
            new.content := app.filtered('messages', 'content', original);
        end if;
        -- A message that streams is held at its end.
        if action = 'hold' and new.version <> 0 and new.kind <> 'system' then
            held := new.content;
            new.content := null;
        end if;
    end if;

    update public.conversations c
       set last_seq = c.last_seq + 1,
           last_message_content = pg_catalog.left(new.content, app.preview_characters()),
           -- After the wait for the lock, and later than the previous message even if the clock was set back, so that
           -- times increase with the numbers. A time that is given may be earlier, but no message is later.
           last_message_time = case
               when new.created_at is null
               then greatest(pg_catalog.clock_timestamp(), c.last_message_time + interval '1 microsecond')
               else greatest(new.created_at, c.last_message_time) end,
           last_message_sender_id = new.sender_id,
           last_message_xid = xid
     where c.id = new.conversation_id
    returning c.last_seq, c.last_message_time, c.first_seq into new.seq, latest, first;
    new.created_at := coalesce(new.created_at, latest);
    if first > 1 and new.client_id is not null
       and app.is_expired_send(new.conversation_id, new.sender_id, new.client_id) then
        perform app.refuse_repeated();
    end if;

    -- The repeated client_id is checked under the lock, by a statement that sees all earlier commits: `on conflict do
    -- nothing` would skip the row after it got its number.
    update public.conversation_members m
       set last_read_seq = new.seq, sent_seq = new.seq, sent_xid = xid
     where m.conversation_id = new.conversation_id and m.user_id = new.sender_id and not m.is_deleted
       and not m.is_blocked
       and (new.client_id is null or not exists (
            select from public.messages s
             where s.conversation_id = new.conversation_id and s.sender_id = new.sender_id
               and s.client_id = new.client_id));
    if not found then
        select m.* into seat from public.conversation_members m
         where m.conversation_id = new.conversation_id and m.user_id = new.sender_id and not m.is_deleted;
        if seat.user_id is not null then
            -- A repeated message has been sent, whoever blocks whom now.
            if seat.is_blocked and not app.is_repeated(new) then
                perform app.refuse_blocked();
            end if;
            perform app.refuse_repeated();
        -- A user who left the group is no longer a member when the event is written.
        elsif new.event is null then
            perform app.refuse_message();
        end if;
    end if;
    if new.attachment is not null then
        perform app.use_media(new, null, is_list);
    end if;
    if app.has_details(new) then
        new := app.add_details(new);
        if held is null then
            perform app.record_mentions(new);
        end if;
    end if;

    -- Only app.start_stream can write the version.
    if new.version = 0 then
        perform app.add_stream(new);
    end if;
    new.version := 1;
    new.sent_xid := xid;
    new.changed_xid := xid;
    -- A repeated send of a masked or held message is compared with what was sent.
    new.first_sent := case when original <> new.content or held is not null
                           then app.message_hash(new.id, new.kind, original, new.attachment, new.data) end;
    if held is not null then
        new := app.hold_message(new, held);
    end if;
    return new;
end
$$;

CREATE FUNCTION app.number_messages(senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[], mentions text[], everyone boolean[], data text[]) RETURNS TABLE(place bigint, id uuid, conversation_id uuid, seq bigint, sender_id uuid, client_id uuid, content text, created_at timestamp with time zone, is_alone boolean, reply_to_seq bigint, mentioned uuid[], mentions_everyone boolean, app_data jsonb, reply text)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 16
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    xid xid8 := pg_catalog.pg_current_xact_id();
    locked uuid[] := array(
        select c.id from public.conversations c where c.id = any (conversations)
         order by c.id for no key update skip locked);
    held uuid[];
    caught bigint[];
begin
    if exists (select from app.filter_rules) then
        caught := array(
            select t.place from unnest(contents) with ordinality t (content, place)
             where app.filter_action('messages', t.content) is not null);
    end if;
    if exists (select from app.expired_sends) then
        caught := coalesce(caught, '{}') || array(
            select s.place
              from unnest(senders, conversations, client_ids) with ordinality
                       as s (sender_id, conversation_id, client_id, place)
             where app.is_expired_send(s.conversation_id, s.sender_id, s.client_id));
    end if;
    if (select count(distinct c) from pg_catalog.unnest(conversations) c) > pg_catalog.cardinality(locked) then
        held := array(
            select c.id from public.conversations c where c.id = any (conversations) and c.id <> all (locked));
    end if;
    -- A separate statement, which sees everything that was committed before the locks were taken.
    return query
    with fit as (
        select s.place, s.sender_id, s.conversation_id, s.content, s.client_id, s.reply_to_seq, s.mentions, s.everyone,
               s.data,
               row_number() over (partition by s.conversation_id, s.sender_id, s.client_id order by s.place) as time
          from unnest(senders, conversations, contents, client_ids, replies, mentions, everyone, data) with ordinality
                   as s (sender_id, conversation_id, content, client_id, reply_to_seq, mentions, everyone, data, place)
          join public.conversation_members m
            on m.conversation_id = s.conversation_id and m.user_id = s.sender_id and not m.is_deleted
           and not m.is_blocked
         where s.conversation_id = any (locked)
           and (held is null or not exists (
                select from unnest(senders, conversations) with ordinality as e (sender_id, conversation_id, place)
                 where e.sender_id = s.sender_id and e.place < s.place and e.conversation_id = any (held)))
           and (caught is null or not exists (
                select from unnest(senders) with ordinality as e (sender_id, place)
                 where e.sender_id = s.sender_id and e.place <= s.place and e.place = any (caught)))
           and pg_catalog.char_length(s.content) between 1 and app.max_message_characters()
           and (s.reply_to_seq is null or (
                select s.reply_to_seq between c.first_seq and c.last_seq
                  from public.conversations c where c.id = s.conversation_id))
           and (s.everyone is not true or app.may_mention_everyone(s.conversation_id, s.sender_id))
           and (s.data is null or app.data_error(s.data::jsonb) is null)
           and (s.client_id is null or not exists (
                select from public.messages o
                 where o.conversation_id = s.conversation_id and o.sender_id = s.sender_id
                   and o.client_id = s.client_id))),
    sends as (
        select f.*, row_number() over (partition by f.conversation_id order by f.place) as number
          from fit f where f.time = 1 or f.client_id is null),
    rooms as (
        update public.conversations c
           set last_seq = c.last_seq + n.number,
               last_message_content = pg_catalog.left(n.content, app.preview_characters()),
               -- Leaves room for all these times after the previous message, also if the clock was set back.
               last_message_time = greatest(
                   pg_catalog.clock_timestamp(), c.last_message_time + n.number * interval '1 microsecond'),
               last_message_sender_id = n.sender_id,
               last_message_xid = xid
          from (select distinct on (s.conversation_id) s.conversation_id, s.number, s.content, s.sender_id
                  from sends s order by s.conversation_id, s.number desc) n
         where c.id = n.conversation_id
        returning c.id, c.kind, c.last_seq, n.number, c.last_message_time),
    numbered as materialized (
        select s.place, s.conversation_id, r.kind, r.last_seq - r.number + s.number as seq, s.sender_id, s.client_id,
               s.content,
               -- Times increase with the numbers.
               r.last_message_time - (r.number - s.number) * interval '1 microsecond' as created_at,
               s.reply_to_seq, s.mentions, s.everyone, s.data
          from sends s join rooms r on r.id = s.conversation_id),
    marks as (
        update public.conversation_members m
           set last_read_seq = n.seq, sent_seq = n.seq, sent_xid = xid
          from (select distinct on (w.conversation_id, w.sender_id) w.conversation_id, w.sender_id, w.seq
                  from numbered w order by w.conversation_id, w.sender_id, w.seq desc) n
         where m.conversation_id = n.conversation_id and m.user_id = n.sender_id)
    select w.place, app.message_id(), w.conversation_id, w.seq, w.sender_id, w.client_id, w.content,
           w.created_at,
           w.kind = 'group' and not exists (
                select from public.conversation_members o
                 where o.conversation_id = w.conversation_id and o.user_id <> w.sender_id),
           w.reply_to_seq,
           case when w.mentions is not null then app.mentioned_members(w.conversation_id, w.mentions::uuid[]) end,
           nullif(w.everyone, false), w.data::jsonb,
           case when w.reply_to_seq is not null then app.reply_of(w.conversation_id, w.reply_to_seq) end
      from numbered w;
end
$$;

CREATE FUNCTION app.opening_bytes() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (2097152)::bigint AS int8;
END;

CREATE FUNCTION app.own_fields() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT ARRAY['full_name'::text, 'bio'::text, 'website'::text, 'location'::text, 'language_code'::text, 'phone_number'::text, 'date_of_birth'::text, 'preferred_unit_system'::text, 'preferences'::text] AS "array";
END;

CREATE FUNCTION app.own_form(message_id uuid, object text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return coalesce((
        select app.held_object(h, m)
          from app.held_messages h join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
         where h.message_id = own_form.message_id and h.sender_id = auth.uid()), object);
end
$$;

CREATE FUNCTION app.quoted(value text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (value IS NULL) THEN 'null'::text
             ELSE (('"'::text || value) || '"'::text)
         END AS "case";
END;

CREATE FUNCTION app.own_members(unread_count bigint, unread_mentions bigint, is_marked_unread boolean, muted_until timestamp with time zone, is_archived boolean, is_pinned boolean, scheduled_count integer, unsent_count integer) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat(',"unread_count":', unread_count, ',"unread_mentions":', unread_mentions, ',"is_marked_unread":', (COALESCE(is_marked_unread, false))::text, ',"muted_until":', app.quoted(
         CASE
             WHEN (muted_until > now()) THEN app.utc(muted_until)
             ELSE NULL::text
         END), ',"is_archived":', (COALESCE(is_archived, false))::text, ',"is_pinned":', (COALESCE(is_pinned, false))::text, ',"scheduled_count":', COALESCE(scheduled_count, 0), ',"unsent_count":', COALESCE(unsent_count, 0)) AS concat;
END;

CREATE FUNCTION app.page_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 524288;
END;

CREATE FUNCTION app.page_position(created_at timestamp with time zone, id uuid) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    -- Exact in numbers: a double would lose microseconds.
    return (extract(epoch from created_at - timestamptz 'epoch') * 1000000)::bigint || '.' || id;
end
$$;

CREATE FUNCTION app.page_time() RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT '00:00:01'::interval AS "interval";
END;

CREATE FUNCTION app.parsed_position(field text, value text, OUT created_at timestamp with time zone, OUT id uuid) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    if value !~ '^[0-9]{1,17}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be the "next" of the previous page.', field));
    end if;
    created_at := timestamptz 'epoch' + pg_catalog.split_part(value, '.', 1)::bigint * interval '1 microsecond';
    id := pg_catalog.split_part(value, '.', 2)::uuid;
end
$_$;

CREATE FUNCTION app.patched_date_of_birth(patch jsonb, current date, path text DEFAULT ''::text) RETURNS date
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    field text := path || 'date_of_birth';
    given text := app.patched_text(patch, 'date_of_birth', null, path);
    value date;
begin
    if not patch ? 'date_of_birth' then
        return current;
    elsif given !~ '^\d{4}-\d{2}-\d{2}$' then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be a date of the form YYYY-MM-DD.', field));
    end if;
    begin
        value := given::date;
    exception
        when datetime_field_overflow or invalid_datetime_format then
            perform app.refuse_param(field, pg_catalog.format('"%s" is not a valid date.', field));
    end;
    perform app.check_date_of_birth(field, value);
    return value;
end
$_$;

CREATE FUNCTION app.patched_text(patch jsonb, field text, current text, path text DEFAULT ''::text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not patch ? field then
        return current;
    elsif pg_catalog.jsonb_typeof(patch -> field) not in ('string', 'null') then
        perform app.refuse_param(path || field, pg_catalog.format('"%s" must be a string.', path || field));
    end if;
    return patch ->> field;
end
$$;

CREATE FUNCTION app.piece_object(conversation_id uuid, seq bigint, start integer, content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (((((((('{"conversation_id":"'::text || (conversation_id)::text) || '","seq":'::text) || seq) || ',"start":'::text) || start) || ',"content":'::text) || (to_json(content))::text) || '}'::text);
END;

CREATE FUNCTION app.presence_object(user_id uuid, is_online boolean, last_seen_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat('{"user_id":"', user_id,
         CASE
             WHEN is_online THEN '","is_online":true'::text
             ELSE '","is_online":false'::text
         END, ',"last_seen_at":', app.quoted(app.utc(last_seen_at)), '}') AS concat;
END;

CREATE FUNCTION app.presence_visible_users() RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if (app.presence_visibility()).sees_others then
        return query
            select distinct o.user_id from public.conversation_members o
             where o.conversation_id in (select app.my_conversations())
               and o.user_id not in (select app.blocked_users(auth.uid()));
    end if;
end
$$;

CREATE FUNCTION app.preview_characters() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 200;
END;

CREATE FUNCTION app.propagate_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.upsert_profile(new);
    return null;
end
$$;

CREATE FUNCTION app.propagate_avatar() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if new.avatar_url is distinct from old.avatar_url then
        delete from public.media m where m.owner_id = old.id and m.purpose = 'avatar' and m.url = old.avatar_url;
    end if;
    return null;
end
$$;

CREATE FUNCTION app.propagate_block() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    block public.blocks := coalesce(new, old);
    -- For the other user nothing changes while it blocks the first one itself: it must not learn of the block.
    affected uuid[] := array[block.blocker_id] || case when not exists (
        select from public.blocks b
         where b.blocker_id = block.blocked_id and b.blocked_id = block.blocker_id) then block.blocked_id end;
begin
    perform app.mark_blocked(block.blocker_id, block.blocked_id);
    insert into public.presence as p (user_id, hidden_xid)
    select u.id, pg_catalog.pg_current_xact_id()
      from unnest(affected) u (id) where u.id is not null order by u.id
    on conflict on constraint presence_pkey do update
       set hidden_xid = excluded.hidden_xid, changed_xid = excluded.hidden_xid;
    return null;
end
$$;

CREATE FUNCTION app.propagate_email_proof() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION app.propagate_held() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update public.media f set removed_at = pg_catalog.now()
     where f.id = any (app.media_ids(old.attachment)) and f.message_id = old.message_id and f.removed_at is null
       and not exists (select from public.messages m where m.id = old.message_id and m.deleted_at is null);
    return null;
end
$$;

CREATE FUNCTION app.propagate_media() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    kept uuid[] := coalesce(app.media_ids(new.attachment), '{}');
begin
    update public.media m set removed_at = pg_catalog.now()
     where m.id = any (app.media_ids(old.attachment)) and m.id <> all (kept) and m.message_id = old.id
       and m.removed_at is null;
    update public.media m set conversation_id = new.conversation_id, owner_id = new.sender_id
     where m.id = any (kept) and m.message_id = new.id
       and row(m.conversation_id, m.owner_id) is distinct from row(new.conversation_id, new.sender_id);
    return null;
end
$$;

CREATE FUNCTION app.propagate_message() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.remove_stream(new.conversation_id, new.seq);
    if new.deleted_at is not null then
        perform app.remove_reactions(new.conversation_id, new.seq);
        update public.conversations c set pinned_seqs = pg_catalog.array_remove(c.pinned_seqs, new.seq)
         where c.id = new.conversation_id and new.seq = any (c.pinned_seqs);
    end if;
    update public.conversations c
       set last_message_content = case when c.last_seq = new.seq
                                       then pg_catalog.left(new.content, app.preview_characters())
                                       else c.last_message_content end,
           last_message_xid = pg_catalog.pg_current_xact_id()
     where c.id = new.conversation_id;
    return null;
end
$$;

CREATE FUNCTION app.propagate_preference() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if new.preferences ->> 'presence' = 'nobody' then
        perform app.hide_presence(new.id);
    else
        perform app.show_presence(new.id);
    end if;
    return null;
end
$$;

CREATE FUNCTION app.propagate_profile_details() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    own_second timestamptz := pg_catalog.date_trunc('second', new.updated_at);
    next_second timestamptz := own_second;
begin
    if new.full_name is distinct from old.full_name then
        update app.profile_details d set first_name_length = null
         where d.user_id = new.id and d.first_name_length is not null;
    end if;
    if new.version <> old.version then
        next_second := coalesce(
            (select d.version_second from app.profile_details d where d.user_id = new.id),
            pg_catalog.date_trunc('second', old.updated_at)) + interval '1 second';
        if next_second > own_second then
            insert into app.profile_details (user_id, version_second) values (new.id, next_second)
            on conflict (user_id) do update set version_second = excluded.version_second;
        else
            update app.profile_details d set version_second = null
             where d.user_id = new.id and d.version_second is not null;
        end if;
    end if;
    return null;
end
$$;

CREATE FUNCTION app.propagate_scheduled() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if old.id is not null then
        perform app.count_scheduled(old.conversation_id, old.sender_id);
    end if;
    if new.id is not null
       and row(new.conversation_id, new.sender_id) is distinct from row(old.conversation_id, old.sender_id) then
        perform app.count_scheduled(new.conversation_id, new.sender_id);
    end if;
    return null;
end
$$;

CREATE FUNCTION app.propagate_ttl() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if new.message_ttl_seconds is not null then
        insert into app.message_expiry as e (conversation_id, check_at) values (new.id, pg_catalog.now())
        on conflict on constraint message_expiry_pkey do update set check_at = excluded.check_at;
    end if;
    if app.creates_event(new.id) then
        perform app.write_event(
            new.id,
            pg_catalog.jsonb_build_object('type', 'ttl_changed', 'message_ttl_seconds', new.message_ttl_seconds),
            coalesce('Messages are deleted after ' || app.ttl_text(new.message_ttl_seconds) || '.',
                     'Messages are no longer deleted after a time.'));
    end if;
    return null;
end
$$;

CREATE FUNCTION app.propagate_words() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    words text[] := '{}';
    former text[] := coalesce((select s.words from app.search_names s where s.user_id = new.id), '{}');
    former_word text;
    person public.user_profiles;
    name text;
    spelled text;
begin
    if tg_op = 'UPDATE' and row(new.username, new.full_name, new.is_guest, new.is_deleted)
                            is not distinct from row(old.username, old.full_name, old.is_guest, old.is_deleted) then
        return null;
    end if;
    -- The current row: another trigger may have changed it again.
    select * into person from public.user_profiles p where p.id = new.id;
    if not person.is_guest and not person.is_deleted then
        -- A character may decompose into eighteen, and an index entry has a bound.
        name := left(app.folded(person.full_name), 100);
        spelled := left(app.spelled_out(person.full_name), 100);
        words := app.name_words(person.username, name, spelled);
        insert into app.search_names as s (user_id, username, full_name, spelled_out, words)
        values (person.id, person.username, name, spelled, words)
        on conflict (user_id) do update
           set username = excluded.username, full_name = excluded.full_name, spelled_out = excluded.spelled_out,
               words = excluded.words;
    else
        delete from app.search_names s where s.user_id = new.id;
    end if;
    insert into app.words (word)
    select w from unnest(words) as w where w <> all (former) order by w
    on conflict do nothing;
    foreach former_word in array former loop
        if former_word <> all (words) and not app.is_name_word(former_word) then
            delete from app.words o where o.word = former_word;
        end if;
    end loop;
    return null;
end
$$;

CREATE FUNCTION app.provider_metadata(provider text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return pg_catalog.jsonb_build_object('provider', provider, 'providers', pg_catalog.jsonb_build_array(provider));
end
$$;

CREATE FUNCTION app.prune_mails() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.mail_tokens t
     where t.hash in (select e.hash from app.mail_tokens e where e.expires_at <= app.now()
                       order by e.expires_at limit 100 for update skip locked);
    delete from app.mail_counts c
     where (c.kind, c.address_hash) in (
            select e.kind, e.address_hash from app.mail_counts e where e.since <= app.now() - interval '1 hour'
             order by e.since limit 100 for update skip locked);
    delete from app.mails m
     where m.id in (select g.id from app.mails g
                     where g.due_at is null and g.created_at <= app.now() - interval '30 days'
                     limit 100 for update skip locked);
end
$$;

CREATE FUNCTION app.prune_reports(retention_days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    erased integer;
    abandoned integer;
begin
    update app.reports r set evidence = null, comment = null, resolution = null
     where r.id in (
            select e.id from app.reports e
             where e.evidence is not null and e.state = 'closed'
               and e.closed_at < pg_catalog.now() - retention_days * interval '1 day'
             order by e.closed_at limit 100 for update skip locked);
    get diagnostics erased = row_count;
    update app.reports r set notify_at = null
     where r.id in (
            select e.id from app.reports e
             where e.notify_at is not null and e.created_at < pg_catalog.now() - interval '1 day'
             limit 100 for update skip locked);
    get diagnostics abandoned = row_count;
    return erased + abandoned;
end
$$;

CREATE FUNCTION app.prune_sessions() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.sessions s
     where s.id in (select e.id from app.sessions e where e.forget_at <= app.now()
                     order by e.forget_at limit 10 for update skip locked);
end
$$;

CREATE FUNCTION app.punycode_decoded(encoded text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    digits constant text := 'abcdefghijklmnopqrstuvwxyz0123456789';
    tail text := coalesce(substring(encoded from '([^-]*)$'), '');
    output text := left(encoded, greatest(length(encoded) - length(tail) - 1, 0));
    code bigint := 128;
    place bigint := 0;
    bias integer := 72;
    before bigint;
    weight bigint;
    k integer;
    digit integer;
    threshold integer;
    delta bigint;
begin
    while tail <> '' loop
        before := place;
        weight := 1;
        k := 36;
        loop
            digit := strpos(digits, left(tail, 1)) - 1;
            if tail = '' or digit < 0 then
                return null;
            end if;
            tail := substr(tail, 2);
            place := place + digit * weight;
            threshold := least(greatest(k - bias, 1), 26);
            exit when digit < threshold;
            weight := weight * (36 - threshold);
            k := k + 36;
            -- More than 63 Unicode characters can encode.
            if place > 100000000 or weight > 100000000 then
                return null;
            end if;
        end loop;
        delta := (place - before) / case when before = 0 then 700 else 2 end;
        delta := delta + delta / (length(output) + 1);
        k := 0;
        while delta > 455 loop
            delta := delta / 35;
            k := k + 36;
        end loop;
        bias := k + 36 * delta / (delta + 38);
        code := code + place / (length(output) + 1);
        place := place % (length(output) + 1);
        if code > 1114111 or code between 55296 and 57343 then
            return null;
        end if;
        output := overlay(output placing chr(code::integer) from place::integer + 1 for 0);
        place := place + 1;
    end loop;
    return output;
end
$_$;

CREATE TABLE public.conversation_members (
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role app.member_role DEFAULT 'member'::text NOT NULL,
    joined_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    joined_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    last_read_seq bigint NOT NULL,
    sent_seq bigint DEFAULT 0 NOT NULL,
    sent_xid xid8,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    is_deleted boolean DEFAULT false NOT NULL,
    is_blocked boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.conversations (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    kind app.conversation_kind DEFAULT 'direct'::text NOT NULL,
    participant1_id uuid,
    participant2_id uuid,
    title app.title,
    created_by uuid,
    last_seq bigint DEFAULT 0 NOT NULL,
    last_message_content text,
    last_message_time timestamp with time zone,
    last_message_sender_id uuid,
    last_message_xid xid8,
    version bigint DEFAULT 1 NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    pinned_seqs bigint[],
    data jsonb,
    first_seq bigint DEFAULT 1 NOT NULL,
    message_ttl_seconds integer,
    CONSTRAINT conversations_message_ttl_seconds_valid CHECK (((message_ttl_seconds >= 60) AND (message_ttl_seconds <= 31536000)))
)
WITH (fillfactor='70');

CREATE FUNCTION app.push_badge(user_id uuid) RETURNS TABLE(badge bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT COALESCE((sum(GREATEST((r.last_seq - m.last_read_seq), (0)::bigint)))::bigint, (0)::bigint) AS "coalesce"
    FROM (public.conversation_members m
      JOIN public.conversations r ON ((r.id = m.conversation_id)))
   WHERE (m.user_id = push_badge.user_id);
END;

CREATE FUNCTION app.push_senders(start uuid, most integer) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
declare
    found uuid[] := '{}';
    last uuid := start;
    next uuid;
    is_second_pass boolean := false;
begin
    while cardinality(found) < most loop
        if last is null then
            select p.sender_id into next from app.pushes p where p.due_at is not null order by p.sender_id limit 1;
        else
            select p.sender_id into next from app.pushes p where p.due_at is not null and p.sender_id > last
             order by p.sender_id limit 1;
        end if;
        exit when is_second_pass and (next is null or next > start);
        if next is null then
            is_second_pass := true;
        else
            found := found || next;
        end if;
        last := next;
    end loop;
    return found;
end
$$;

CREATE FUNCTION app.pushed_kind(message public.messages) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (((message).attachment ->> 'waveform'::text) IS NOT NULL) THEN 'voice'::text
             ELSE ((message).kind)::text
         END AS kind;
END;

CREATE FUNCTION app.pushed_text(message public.messages) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN ((((message).content)::text = ((message).attachment ->> 'name'::text)) AND (app.pushed_kind(message) = ANY (ARRAY['video'::text, 'voice'::text]))) THEN ''::text
             ELSE ((message).content)::text
         END AS content;
END;

CREATE FUNCTION app.pushes_per_step() RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN 2000;

CREATE FUNCTION app.queue_mail(kind text, email text, user_id uuid, most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    counted app.mail_counts;
begin
    if most is not null then
        insert into app.mail_counts as c (kind, address_hash, since, asked)
        values (queue_mail.kind, pg_catalog.sha256(pg_catalog.convert_to(queue_mail.email, 'UTF8')), app.now(), 1)
        on conflict on constraint mail_counts_pkey do update
           set since = case when c.since <= app.now() - interval '1 hour' then excluded.since else c.since end,
               asked = case when c.since <= app.now() - interval '1 hour' then 1 else c.asked + 1 end
        returning c.* into counted;
        if counted.asked > most then
            raise exception using errcode = 'PL014',
                message = 'Too many mails were requested for this address. Try again later.',
                detail = pg_catalog.json_build_object('retry_after', greatest(1, pg_catalog.ceil(
                    extract(epoch from counted.since + interval '1 hour' - app.now()))::integer))::text;
        end if;
    end if;
    insert into app.mails (kind, email, user_id) values (queue_mail.kind, queue_mail.email, queue_mail.user_id);
end
$$;

CREATE FUNCTION app.queue_pushes() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
declare
    since pg_snapshot;
    beyond xid8;
    open xid8[];
    seen pg_snapshot;
    noted integer;
begin
    select c.snapshot into since from app.push_cursor c
     where c.epoch = app.epoch()
       and pg_catalog.pg_snapshot_xmax(c.snapshot) <= pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot());
    if since is null then
        -- Messages from before the first call, or from before a restored database was taken into use, are not pushed.
        delete from app.push_cursor;
        insert into app.push_cursor (epoch, snapshot) values (app.epoch(), pg_catalog.pg_current_snapshot());
        return 0;
    end if;
    beyond := pg_catalog.pg_snapshot_xmax(since);
    open := array(
        select x from pg_catalog.pg_snapshot_xip(since) x
         where pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()));
    -- Without changes nothing is written.
    if not exists (select from public.messages t where t.changed_xid >= beyond)
       and not exists (select from public.messages t where t.changed_xid = any (open))
       and not exists (select from public.conversation_members t where t.changed_xid >= beyond)
       and not exists (select from public.conversation_members t where t.changed_xid = any (open))
       and not exists (select from public.message_reactions t where t.changed_xid >= beyond)
       and not exists (select from public.message_reactions t where t.changed_xid = any (open))
       and not exists (select from app.push_queue)
       and not exists (select from app.push_backlog) then
        return 0;
    end if;

    -- One statement, so that the new messages and the next cursor are of one snapshot.
    with now as materialized (select pg_catalog.pg_current_snapshot() as snapshot),
    sent as materialized (
        select t.conversation_id, t.sender_id, t.seq
          from (select m.* from public.messages m where m.changed_xid >= beyond
                union all
                select m.* from public.messages m where m.changed_xid = any (open)) t
         where not pg_catalog.pg_visible_in_snapshot(t.sent_xid, since) and t.deleted_at is null and t.event is null
           and t.created_at > pg_catalog.now() - interval '1 day'),
    newest as (
        select distinct on (s.conversation_id) s.* from sent s order by s.conversation_id, s.seq desc),
    queued as (
        insert into app.push_queue as q (conversation_id, sender_id, seq)
        select n.conversation_id, n.sender_id, n.seq from newest n
        on conflict on constraint push_queue_pkey do update
           set sender_id = excluded.sender_id, seq = greatest(q.seq, excluded.seq))
    select n.snapshot into seen from now n;

    with waiting as (
        -- Senders are chosen at random, since by age one with many conversations would always be first, and then served
        -- in the order of their conversations' devices, so that small conversations do not wait for large ones.
        select q.*, row_number() over (partition by q.sender_id order by q.noted_at, q.conversation_id) as turn,
               random() as lot
          from app.push_queue q),
    next as materialized (
        select w.*, (select count(*) from public.conversation_members m join app.devices d on d.user_id = m.user_id
                      where m.conversation_id = w.conversation_id) as device_count
          from (select w.* from waiting w order by w.turn, w.lot limit 100) w),
    summed as (
        select n.*, sum(n.device_count) over (order by n.turn, n.device_count, n.lot
                                              rows between unbounded preceding and 1 preceding) as devices_before
          from next n),
    taken as (
        delete from app.push_queue q using summed n
         where q.conversation_id = n.conversation_id and coalesce(n.devices_before, 0) < app.pushes_per_step()
        returning q.*),
    held as (
        select b.* from app.push_backlog b limit 2000),
    wanted as materialized (
        select w.device_id, w.conversation_id, max(w.seq) as seq, (array_agg(w.sender_id order by w.seq desc))[1]
                 as sender_id
          from (select d.id as device_id, q.conversation_id, q.seq, q.sender_id
                  from taken q
                  -- A sender has read its own message.
                  join public.conversation_members m
                    on m.conversation_id = q.conversation_id and m.user_id <> q.sender_id and m.last_read_seq < q.seq
                   and not m.is_deleted
                  join app.devices d on d.user_id = m.user_id
                union all
                select h.device_id, h.conversation_id, h.seq, h.sender_id from held h) w
         group by w.device_id, w.conversation_id),
    -- A device that another transaction has locked, such as one that ends its session, goes to the backlog: pushes of
    -- other users do not wait.
    free as materialized (
        select d.id from app.devices d where d.id in (select w.device_id from wanted w) for key share skip locked),
    told as (
        insert into app.pushes as p (device_id, conversation_id, sender_id, seq, noted_at, due_at)
        select w.device_id, w.conversation_id, w.sender_id, w.seq, pg_catalog.clock_timestamp(),
               pg_catalog.clock_timestamp() + interval '2 seconds'
          from wanted w where w.device_id in (select f.id from free f)
         order by w.device_id, w.conversation_id
        -- A push that waits after long refusals, or is being sent, waits at most a minute.
        on conflict on constraint pushes_pkey do update
           set seq = greatest(p.seq, excluded.seq), sender_id = excluded.sender_id,
               due_at = least(coalesce(p.due_at, excluded.due_at),
                              pg_catalog.clock_timestamp() + interval '1 minute'),
               noted_at = excluded.noted_at,
               attempts = case when p.due_at is null then 0 else p.attempts end
        returning 1),
    kept as (
        insert into app.push_backlog as b (device_id, conversation_id, sender_id, seq)
        select w.device_id, w.conversation_id, w.sender_id, w.seq from wanted w
         where w.device_id not in (select f.id from free f)
           and exists (select from app.devices d where d.id = w.device_id)
        on conflict on constraint push_backlog_pkey do update set seq = greatest(b.seq, excluded.seq)),
    done as (
        delete from app.push_backlog b using held h
         where b.device_id = h.device_id and b.conversation_id = h.conversation_id
           and (b.device_id in (select f.id from free f)
                or not exists (select from app.devices d where d.id = b.device_id)))
    select count(*) into noted from told;

    perform app.queue_reaction_pushes(beyond, open);
    -- Pushes of messages that were read elsewhere, or by replying, are taken back. The cursor is the snapshot of the
    -- first statement: changes in between are seen twice, which is harmless.
    update app.pushes p set due_at = pg_catalog.clock_timestamp()
     where p.ctid = any (array(
            select q.ctid
              from (select m.conversation_id, m.user_id, m.last_read_seq
                      from public.conversation_members m where m.changed_xid >= beyond or m.changed_xid = any (open)
                    union
                    select m.conversation_id, m.user_id, m.last_read_seq
                      from public.messages t
                      join public.conversation_members m
                        on m.conversation_id = t.conversation_id and m.user_id = t.sender_id
                     where t.changed_xid >= beyond or t.changed_xid = any (open)) r
              join app.devices d on d.user_id = r.user_id
             cross join lateral (
                    select x.ctid from app.pushes x
                     where x.device_id = d.id and x.conversation_id = r.conversation_id
                       and x.told_seq between 1 and r.last_read_seq and x.due_at is null
                       for update skip locked) q));
    update app.push_cursor c set snapshot = seen;
    return noted;
end
$$;

CREATE FUNCTION app.queue_reaction_pushes(beyond xid8, open xid8[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
begin
    insert into app.reaction_pushes as p (device_id, conversation_id, seq, user_id, emoji, noted_at, due_at)
    select distinct on (d.id, r.conversation_id)
           d.id, r.conversation_id, r.seq, r.user_id, r.emoji, pg_catalog.clock_timestamp(),
           pg_catalog.clock_timestamp() + interval '2 seconds'
      from (select t.* from public.message_reactions t where t.changed_xid >= beyond
            union all
            select t.* from public.message_reactions t where t.changed_xid = any (open)) r
      join public.messages m on m.conversation_id = r.conversation_id and m.seq = r.seq
      join public.user_private s on s.id = m.sender_id and s.preferences -> 'notify_reactions' = 'true'
      join app.devices d on d.user_id = m.sender_id
     where r.is_set and r.user_id <> m.sender_id and r.created_at > pg_catalog.now() - interval '1 day'
     order by d.id, r.conversation_id, r.created_at desc
    on conflict on constraint reaction_pushes_pkey do update
       set seq = excluded.seq, user_id = excluded.user_id, emoji = excluded.emoji, noted_at = excluded.noted_at,
           -- One that the provider has refused for now waits at most a minute.
           due_at = case when p.attempts > 1
                         then least(p.due_at, pg_catalog.clock_timestamp() + interval '1 minute')
                         else excluded.due_at end
     where row(p.seq, p.user_id, p.emoji) is distinct from row(excluded.seq, excluded.user_id, excluded.emoji);
end
$$;

CREATE FUNCTION app.queue_removal() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into app.media_removals (id, purpose, due_at, is_stored)
    values (old.id, old.purpose,
            case when old.stored_at is null then greatest(pg_catalog.now(), app.last_upload(old.created_at))
                 else pg_catalog.now() end,
            old.stored_at is not null)
    on conflict do nothing;
    return null;
end
$$;

CREATE FUNCTION app.rare_changes_since(since pg_snapshot, mine uuid[], OUT reacted uuid[], OUT delivered uuid[]) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    most constant integer := 64;
    me uuid := auth.uid();
    oldest xid8 := pg_catalog.pg_snapshot_xmin(since);
begin
    reacted := array(
        select c.conversation_id from public.reaction_counts c
         where c.changed_xid >= oldest order by c.changed_xid limit most);
    delivered := array(
        select d.conversation_id from public.delivered_marks d
         where d.changed_xid >= oldest and d.user_id <> me order by d.changed_xid limit most);
    -- Only the user's conversations: a change of another's is not revealed.
    if reacted <> '{}' then
        reacted := case when pg_catalog.cardinality(reacted) = most then mine
                        else array(select o.conversation_id from public.conversation_members o
                                    where o.user_id = me and o.conversation_id = any (reacted)
                                      and o.conversation_id = any (mine)) end;
    end if;
    if delivered <> '{}' then
        delivered := case when pg_catalog.cardinality(delivered) = most then mine
                          else array(select o.conversation_id from public.conversation_members o
                                      where o.user_id = me and o.conversation_id = any (delivered)
                                        and o.conversation_id = any (mine)) end;
    end if;
end
$$;

CREATE FUNCTION app.reactions_by(user_id uuid, conversation_id uuid, seq bigint) RETURNS TABLE(emojis text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT COALESCE((json_agg(r.emoji ORDER BY r.created_at, r.emoji))::text, '[]'::text) AS "coalesce"
    FROM public.message_reactions r
   WHERE ((r.conversation_id = reactions_by.conversation_id) AND (r.user_id = reactions_by.user_id) AND (r.seq = reactions_by.seq) AND (r.is_set IS NOT FALSE));
END;

CREATE TABLE public.reaction_counts (
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    counts jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL
)
WITH (fillfactor='70');

CREATE FUNCTION app.reactions_object(reactions public.reaction_counts, own text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat('{"conversation_id":"', (reactions).conversation_id, '","seq":', (reactions).seq, ',"version":', (reactions).version, ',"counts":', (reactions).counts,
         CASE
             WHEN (own IS NOT NULL) THEN ',"own":'::text
             ELSE NULL::text
         END, own, '}') AS concat;
END;

CREATE FUNCTION app.reassign_messages(ids uuid[], from_id uuid, into_id uuid, base bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
begin
    update public.messages m
       set conversation_id = reassign_messages.into_id, seq = reassign_messages.base + m.seq, sender_id = n.sender_id,
           reply_to_seq = reassign_messages.base + m.reply_to_seq,
           mentions = case when m.mentions is not null then app.account_ids(m.mentions) end,
           client_id = case when not exists (
                select from (select n.sender_id as id
                             union all
                             select g.guest_id from app.merged_guests g where g.account_id = n.sender_id) i
                 cross join unnest(array[reassign_messages.from_id, reassign_messages.into_id]) p (id)
                 -- `offset 0` forces a lookup by the whole key, also without statistics.
                 cross join lateral (
                        select w.id, w.sender_id, w.conversation_id from public.messages w
                         where w.conversation_id = p.id and w.sender_id = i.id and w.client_id = m.client_id offset 0) o
                 where o.id <> m.id
                   and (o.sender_id = n.sender_id
                            and (o.conversation_id = reassign_messages.into_id or m.sender_id <> n.sender_id)
                        or o.sender_id <> n.sender_id and m.sender_id <> n.sender_id and o.id < m.id))
                then m.client_id end
      from (select w.id, coalesce(g.account_id, w.sender_id) as sender_id
              from unnest(ids) as i (id)
              join public.messages w on w.id = i.id
              left join app.merged_guests g on g.guest_id = w.sender_id) n
     where m.id = n.id;
    update public.conversations c set last_message_xid = pg_catalog.pg_current_xact_id()
     where c.id = reassign_messages.into_id;
end
$$;

CREATE FUNCTION app.record_arrivals() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    room record;
begin
    for room in
        select c.id, c.kind, array_agg(a.user_id order by a.user_id) as user_ids,
               bool_or(a.role <> 'member' or a.user_id not in (c.participant1_id, c.participant2_id)) as irregular
          from arrived a join public.conversations c on c.id = a.conversation_id
         group by c.id, c.kind
    loop
        if room.kind = 'direct' then
            if room.irregular then
                perform app.refuse_forbidden('A direct conversation cannot have more members, or roles.');
            end if;
        elsif (select count(*) from public.conversation_members m where m.conversation_id = room.id) > 256 then
            perform app.refuse_param('user_ids', 'A group can have at most 256 members.');
        else
            perform app.check_conversation_counts(room.id, room.user_ids);
            perform app.ensure_owner(room.id);
            perform app.write_arrivals(room.id, room.user_ids);
        end if;
    end loop;
    perform app.count_scheduled(s.conversation_id, s.sender_id)
       from arrived a join public.scheduled_messages s
         on s.sender_id = a.user_id and s.conversation_id = a.conversation_id
      group by s.conversation_id, s.sender_id;
    return null;
end
$$;

CREATE FUNCTION app.record_email_proof(user_id uuid, email text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION app.record_ended_transactions(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    now pg_snapshot;
    oldest bigint;
    next bigint;
    open bigint[];
    asked bigint[];
begin
    if not pg_catalog.pg_is_in_recovery() then
        return;
    end if;
    replayed := pg_catalog.pg_last_wal_replay_lsn();
    if base is not null and started = pg_catalog.pg_postmaster_start_time() then
        open := array(select b::text::bigint from pg_catalog.pg_snapshot_xip(base) b);
        next := pg_catalog.pg_snapshot_xmax(base)::text::bigint;
    end if;
    started := pg_catalog.pg_postmaster_start_time();
    for round in 1..2 loop
        now := pg_catalog.pg_current_snapshot();
        oldest := pg_catalog.pg_snapshot_xmin(now)::text::bigint;
        asked := array(
            select o from unnest(open) o where o >= oldest
            union all
            select pg_catalog.generate_series(
                greatest(oldest, next), pg_catalog.pg_snapshot_xmax(now)::text::bigint - 1));
        next := pg_catalog.pg_snapshot_xmax(now)::text::bigint;
        open := array(
            select a from unnest(asked) a
             where pg_catalog.pg_xact_status(a::text::xid8) = 'in progress' order by a);
    end loop;
    perform pg_catalog.set_config('postline.ended', app.snapshot_of(open, next)::text, true);
    perform pg_catalog.set_config('postline.asked', asked::text, true);
end
$$;

CREATE FUNCTION app.record_mentions(message public.messages) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if message.mentions_everyone then
        insert into public.message_mentions (conversation_id, user_id, seq)
        values (message.conversation_id, app.everyone(), message.seq);
    elsif message.mentions is not null then
        insert into public.message_mentions (conversation_id, user_id, seq)
        select message.conversation_id, u.id, message.seq from unnest(message.mentions) as u (id);
    else
        return;
    end if;
    update public.conversation_mutes x set archived_at = null
     where x.conversation_id = message.conversation_id and x.archived_at is not null
       and x.user_id <> message.sender_id
       and (message.mentions_everyone or x.user_id = any (message.mentions));
end
$$;

CREATE FUNCTION app.record_moderation(action text, user_id uuid, detail jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform admin.record_action('moderator ' || auth.uid()::text, action, user_id, detail);
end
$$;

CREATE FUNCTION app.record_mute_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if new.muted_until > '9999-12-31 00:00:00+00' then
        new.muted_until := '9999-12-31 00:00:00+00';
    end if;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;

CREATE FUNCTION app.record_private_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update public.user_profiles set changed_xid = pg_catalog.pg_current_xact_id()
     where id = new.id and changed_xid <> pg_catalog.pg_current_xact_id();
    return null;
end
$$;

CREATE FUNCTION app.record_push_results(device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[], retry_seconds double precision[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
begin
    with said as materialized (
        select * from unnest(device_ids, conversation_ids, seqs, kinds, outcomes, retry_seconds)
               as u (device_id, conversation_id, seq, kind, outcome, retry)),
    -- A row that another transaction has locked becomes due again by itself.
    held as materialized (
        select p.*, s.seq as said_seq, s.kind, s.outcome, s.retry, d.registered_at,
               -- A node that was stalled may report after another has pushed more.
               case when s.outcome <> 'taken' then p.told_seq
                    when s.kind = 'tell' then greatest(p.told_seq, s.seq)
                    when p.told_seq <= s.seq then 0 else p.told_seq end as now_told,
               -- Read while it was on its way to the device.
               s.outcome = 'taken' and s.kind = 'tell' and coalesce(m.last_read_seq >= s.seq, false) as is_read
          from said s
         cross join lateral (
                select q.ctid as place, q.* from app.pushes q
                 where q.device_id = s.device_id and q.conversation_id = s.conversation_id
                   for update skip locked) p
          join app.devices d on d.id = s.device_id
          left join public.conversation_members m on m.conversation_id = s.conversation_id and m.user_id = d.user_id),
    settled as (
        update app.pushes p
           set told_seq = h.now_told,
               attempts = case h.outcome when 'later' then p.attempts else 0 end,
               noted_at = case when h.outcome <> 'later' and h.seq > greatest(h.said_seq, h.now_told)
                               then pg_catalog.clock_timestamp() else p.noted_at end,
               due_at = case when h.outcome = 'later'
                                  then pg_catalog.clock_timestamp() + h.retry * interval '1 second'
                             when h.is_read then pg_catalog.clock_timestamp()
                             when h.seq > greatest(h.said_seq, h.now_told)
                                  then pg_catalog.clock_timestamp() + interval '2 seconds' end
          from held h
         where p.ctid = any (array(
                select k.place from held k
                 where k.outcome <> 'unregistered'
                   and (k.outcome = 'later' or k.outcome = 'taken' and k.kind = 'tell' or k.seq > k.said_seq
                        or k.told_seq > 0 and k.outcome = 'refused' and k.kind = 'tell')))
           and h.place = p.ctid),
    -- The device shows nothing of it, and there is nothing to push.
    done as (
        delete from app.pushes p
         where p.ctid = any (array(
                select h.place from held h
                 where h.seq <= h.said_seq
                   and (h.kind = 'read' and h.outcome in ('taken', 'refused')
                        or h.kind = 'tell' and h.outcome = 'refused' and h.told_seq = 0))))
    -- A device that has registered again after the push, which is a minute before the row is due again, exists.
    delete from app.devices d
     where d.id in (select h.device_id from held h
                     where h.outcome = 'unregistered'
                       and h.registered_at <= coalesce(h.due_at, pg_catalog.clock_timestamp()) - interval '1 minute');
end
$$;

CREATE FUNCTION app.record_reaction_push_results(device_ids uuid[], conversation_ids uuid[], seqs bigint[], user_ids uuid[], outcomes text[], retry_seconds double precision[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
begin
    with said as materialized (
        select p.ctid as place, p.device_id, p.due_at, u.outcome, u.retry
          from unnest(device_ids, conversation_ids, seqs, user_ids, outcomes, retry_seconds)
               as u (device_id, conversation_id, seq, user_id, outcome, retry)
         cross join lateral (
                select q.ctid, q.* from app.reaction_pushes q
                 where q.device_id = u.device_id and q.conversation_id = u.conversation_id and q.seq = u.seq
                   and q.user_id = u.user_id
                   for update skip locked) p),
    delayed as (
        update app.reaction_pushes p set due_at = pg_catalog.clock_timestamp() + s.retry * interval '1 second'
          from said s where p.ctid = s.place and s.outcome = 'later'),
    settled as (
        delete from app.reaction_pushes p
         where p.ctid = any (array(select s.place from said s where s.outcome <> 'later')))
    delete from app.devices d
     where d.id in (select s.device_id from said s
                     where s.outcome = 'unregistered' and d.registered_at <= s.due_at - interval '1 minute');
end
$$;

CREATE FUNCTION app.record_read() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := auth.uid();
    noted text[];  -- conversation, farthest message, lowest mark of the other members
begin
    if new.is_read is not distinct from old.is_read then
        return new;
    elsif new.is_read is not true then
        perform app.refuse_param('is_read', '"is_read" can only be set to true: a read message cannot become unread.');
    elsif me is null then
        me := app.caller();
    elsif old.sender_id = me then
        new.is_read := false;
        return new;
    end if;
    noted := pg_catalog.string_to_array(pg_catalog.current_setting('postline.read', true), ' ');
    if noted[1] is distinct from old.conversation_id::text then
        perform app.move_recorded_mark();
        noted := array[old.conversation_id::text, '0', (
            select coalesce(min(m.last_read_seq), 9223372036854775807)::text from public.conversation_members m
             where m.conversation_id = old.conversation_id and m.user_id <> me)];
    end if;
    if noted[2]::bigint < old.seq then
        noted[2] := old.seq;
        perform pg_catalog.set_config('postline.read', pg_catalog.array_to_string(noted, ' '), true);
    end if;
    new.is_read := old.seq <= noted[3]::bigint;
    return new;
end
$$;

CREATE FUNCTION app.record_removal() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    is_named boolean;
begin
    perform app.touch_conversation(old.conversation_id);
    is_named := app.write_departure(old.conversation_id, old.user_id);
    -- The members still see the profile of a former member whom messages name.
    insert into app.former_members as f (conversation_id, user_id, wrote, changed_xid, joined_xid)
    values (old.conversation_id, old.user_id, old.sent_seq > 0 or is_named, pg_catalog.pg_current_xact_id(),
            old.joined_xid)
    on conflict (conversation_id, user_id) do update
       set wrote = f.wrote or excluded.wrote, changed_xid = excluded.changed_xid,
           -- If the user had messages here before, the members already have its profile.
           joined_xid = case when f.wrote then f.joined_xid else excluded.joined_xid end;
    delete from public.delivered_marks d
     where d.conversation_id = old.conversation_id and d.user_id = old.user_id;
    perform app.drop_held(old.conversation_id, old.user_id);
    if old.role = 'owner' then
        perform app.ensure_owner(old.conversation_id);
    end if;
    return null;
end
$$;

CREATE FUNCTION app.record_report_results(ids uuid[], retries double precision[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    update app.reports r set notify_at = pg_catalog.clock_timestamp() + o.seconds * interval '1 second'
      from unnest(ids, retries) o (id, seconds)
     where r.id = o.id and r.notify_at is not null
$$;

CREATE FUNCTION app.record_schema_version(signature text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    signed text := pg_catalog.obj_description('api'::pg_catalog.regnamespace, 'pg_namespace');
begin
    if pg_catalog.strpos(coalesce(signed, ''), signature) = 0 then
        execute pg_catalog.format('comment on schema api is %L', pg_catalog.concat_ws(' ', signed, signature));
    end if;
end
$$;

CREATE FUNCTION app.record_stored_media(id uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    with stored as (
        update public.media m set stored_at = pg_catalog.now()
         where m.id = record_stored_media.id and m.stored_at is null
        returning m.id, m.created_at)
    insert into app.media_removals (id, purpose, due_at)
    select s.id, 'upload', app.last_upload(s.created_at) from stored s
    on conflict do nothing
$$;

CREATE FUNCTION app.record_username() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if tg_op = 'UPDATE' then
        if old.username is not distinct from new.username then
            return null;
        elsif old.username is not null and not app.releases_usernames(new) then
            insert into public.username_history (user_id, old_username, new_username, changed_at, held_until)
            values (new.id, old.username, new.username, app.now(), app.now() + interval '120 days');
            update public.user_private
               set username_changed_at = app.now(), username_change_count = username_change_count + 1
             where id = new.id and not new.is_deleted;
        end if;
    end if;
    if exists (select from public.username_history h
                where h.old_username = new.username and h.user_id <> new.id and h.held_until > app.now()) then
        perform app.refuse_username();
    end if;
    return null;
end
$$;

CREATE FUNCTION app.refuse_attachment(field text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_param(field, pg_catalog.format(
        '"%s" must be an object with a "media_id" (from media.create) or a "url" (https, at most 2,048 bytes). It may '
        'also have "mime_type" (at most 255 bytes), "width", "height", "bytes" and "duration_ms" (integers from 0 to '
        '2^53), "name" (1 to 255 characters), "blurhash" (at most 128 characters), "waveform" (at most 128 bytes in '
        'base64), and "preview_media_id" (a picture from media.create).', field));
end
$$;

CREATE FUNCTION app.refuse_banned(account auth.users) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    until text := case when account.banned_until < '9999-01-01' then app.utc(account.banned_until) end;
begin
    if app.is_banned(account) then
        raise exception using errcode = 'PL016',
            message = pg_catalog.format('This account is suspended%s.', ' until ' || until),
            detail = pg_catalog.json_strip_nulls(pg_catalog.json_build_object('retry_at', until))::text;
    end if;
end
$$;

CREATE FUNCTION app.refuse_blocked() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_forbidden('You cannot write in this conversation.');
end
$$;

CREATE FUNCTION app.refuse_client_id() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL012', detail = '{"field":"client_id"}',
        message = '"client_id" was already used for another message in this conversation.';
end
$$;

CREATE FUNCTION app.refuse_content() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_param('content', pg_catalog.format(
        '"content" must be 1 to %s characters long.', app.max_message_characters()));
end
$$;

CREATE FUNCTION app.refuse_credentials() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL003', message = 'The email address or the password is wrong.';
end
$$;

CREATE FUNCTION app.refuse_delete() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'restrict_violation',
        message = pg_catalog.format('%s is not allowed on %I.', tg_op, tg_table_name),
        hint = case tg_table_name
            when 'messages' then 'Set deleted_at instead: this removes the content of the message and keeps its number.'
            when 'conversations' then 'Delete its rows in conversation_members instead: then no user sees it.'
            when 'conversation_members' then 'Use DELETE instead: it informs the removed users.'
            else 'Set is_deleted instead: the profile becomes a tombstone, and its messages stay.'
        end;
end
$$;

CREATE FUNCTION app.refuse_email() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL010', message = 'This email address already has an account.',
        detail = '{"field":"email"}';
end
$$;

CREATE FUNCTION app.refuse_file_name(field text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_param(field, pg_catalog.format(
        '"%s" must be 1 to 255 characters long, without control characters.', field));
end
$$;

CREATE FUNCTION app.refuse_forbidden(message text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL007', message = message;
end
$$;

CREATE FUNCTION app.refuse_held_edit() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL017', detail = '{"field":"content"}',
        message = 'A moderator has to see this text first: send it as a new message.';
end
$$;

CREATE FUNCTION app.refuse_hidden(message text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL008', message = message;
end
$$;

CREATE FUNCTION app.refuse_kept_message() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if exists (select from public.conversations c where c.id = old.conversation_id and c.first_seq <= old.seq) then
        raise exception using errcode = 'restrict_violation', message = 'DELETE is not allowed on messages.',
            hint = 'Set deleted_at instead: this removes the content of the message and keeps its number.';
    end if;
    return old;
end
$$;

CREATE FUNCTION app.refuse_kind() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_param('kind', '"kind" must be "text", "image", "video", "audio", "file" or "custom".');
end
$$;

CREATE FUNCTION app.refuse_message() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL008', message = 'There is no such conversation.',
        hint = 'The sender of a message must be a member of its conversation.';
end
$$;

CREATE FUNCTION app.refuse_param(field text, message text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL001', message = message,
        detail = pg_catalog.json_build_object('field', field)::text;
end
$$;

CREATE FUNCTION app.refuse_repeated() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'unique_violation', constraint = 'messages_client_id_key',
        schema = 'public', table = 'messages', message = '"client_id" was already used in this conversation.';
end
$$;

CREATE FUNCTION app.refuse_reply() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL008', detail = '{"field":"reply_to_seq"}',
        message = 'There is no such message.',
        hint = '"reply_to_seq" must be the number of an earlier message of the same conversation.';
end
$$;

CREATE FUNCTION app.refuse_sign_in(user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_banned(u) from auth.users u where u.id = refuse_sign_in.user_id and u.deleted_at is null;
    if exists (select from auth.users u where u.id = refuse_sign_in.user_id and u.deleted_at is null) then
        perform app.refuse_credentials();
    end if;
    raise exception using errcode = 'PL004', message = 'This account does not exist. Sign in again.';
end
$$;

CREATE FUNCTION app.refuse_unknown(patch jsonb, fields text[], path text DEFAULT ''::text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    whole text := coalesce(nullif(pg_catalog.rtrim(path, '.'), ''), 'patch');
    unknown text;
begin
    if pg_catalog.jsonb_typeof(patch) is distinct from 'object' then
        perform app.refuse_param(whole, pg_catalog.format('"%s" must be an object.', whole));
    end if;
    select key into unknown from pg_catalog.jsonb_object_keys(patch) as key where key <> all (fields) limit 1;
    if unknown is not null then
        perform app.refuse_param(path || unknown, pg_catalog.format('"%s" cannot be set.', path || unknown));
    end if;
end
$$;

CREATE FUNCTION app.refuse_username() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL009', message = 'That username is taken.', detail = '{"field":"username"}';
end
$$;

CREATE FUNCTION app.refuse_without_attachment(kind text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.refuse_param('attachment', pg_catalog.format(
        '"attachment" is missing: a message of kind "%s" needs it, or "attachments".', kind));
end
$$;

CREATE FUNCTION app.refuse_word(field text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'PL017',
        message = pg_catalog.format('"%s" has a word that is not allowed here.', field),
        detail = pg_catalog.json_build_object('field', field)::text;
end
$$;

CREATE FUNCTION app.register_device(platform text, token text, environment text, locale text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    session uuid;
    ended timestamptz;
    device uuid;
begin
    -- Locks the session against its end, which deletes its devices: the later of the two sees the other.
    select s.id, s.revoked_at into session, ended from app.sessions s
     where s.id::text = auth.jwt() ->> 'session_id' and s.user_id = me for share;
    if ended is not null then
        raise exception using errcode = 'PL006', message = 'This session has ended. Sign in again.';
    end if;
    perform 1 from public.user_profiles p where p.id = me and not p.is_deleted for key share;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    while device is null loop
        delete from app.devices d
         where d.platform = register_device.platform and d.token = register_device.token and d.user_id <> me;
        insert into app.devices as d (user_id, session_id, platform, token, environment, locale)
        values (me, session, register_device.platform, register_device.token, register_device.environment,
                app.language_tag(register_device.locale))
        on conflict on constraint devices_one_token do update
           set session_id = excluded.session_id, environment = excluded.environment, locale = excluded.locale,
               registered_at = pg_catalog.now()
         where d.user_id = me
        returning d.id into device;
    end loop;
    delete from app.devices d
     where d.id in (select o.id from app.devices o where o.user_id = me and o.id <> device
                     order by o.registered_at desc, o.id
                    offset case when (select p.is_guest from public.user_profiles p where p.id = me) then 1 else 9 end);
    return device;
end
$$;

CREATE FUNCTION app.reject_held(held app.held_messages) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update public.messages m set deleted_at = pg_catalog.clock_timestamp(), version = m.version + 2
     where m.id = held.message_id;
    delete from app.held_messages h where h.message_id = held.message_id;
end
$$;

CREATE FUNCTION app.release_held(held app.held_messages) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    message public.messages;
begin
    if not exists (
        select from public.messages m
          join public.conversation_members o
            on o.conversation_id = m.conversation_id and o.user_id = held.sender_id and not o.is_deleted
           and not o.is_blocked
         where m.id = held.message_id)
       or exists (select from auth.users u where u.id = held.sender_id and app.is_banned(u)) then
        return false;
    end if;
    -- The triggers know by the version, and by the row of app.held_messages, that this is a decision.
    update public.messages m
       set deleted_at = null, content = held.content, attachment = held.attachment,
           mentions = app.mentioned_members(m.conversation_id, app.account_ids(held.mentions)),
           mentions_everyone = held.mentions_everyone, data = held.data, version = m.version + 2
     where m.id = held.message_id
    returning m.* into message;
    delete from app.held_messages h where h.message_id = held.message_id;
    update public.media f set is_held = null
     where f.id = any (app.media_ids(held.attachment)) and f.message_id = held.message_id;
    insert into app.push_queue as q (conversation_id, sender_id, seq)
    values (message.conversation_id, message.sender_id, message.seq)
    on conflict on constraint push_queue_pkey do update
       set sender_id = excluded.sender_id, seq = greatest(q.seq, excluded.seq);
    return true;
end
$$;

CREATE FUNCTION app.release_lease(name text, holder uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    delete from app.leases l where l.name = release_lease.name and l.holder = release_lease.holder
$$;

CREATE FUNCTION app.releases_usernames(profile public.user_profiles) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return profile.is_deleted and profile.is_guest and not app.is_merging();
end
$$;

CREATE FUNCTION app.remove_all_members(conversation_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    member uuid;
begin
    for member in
        select m.user_id from public.conversation_members m
         where m.conversation_id = remove_all_members.conversation_id order by m.user_id
    loop
        delete from public.conversation_members m
         where m.conversation_id = remove_all_members.conversation_id and m.user_id = member;
    end loop;
end
$$;

CREATE FUNCTION app.remove_mentions(message public.messages) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from public.message_mentions x
     where x.conversation_id = message.conversation_id and x.seq = message.seq
       and x.user_id = any (app.everyone() || coalesce(message.mentions, '{}'));
end
$$;

CREATE FUNCTION app.remove_message(conversation_id uuid, seq bigint) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    message public.messages;
    held app.held_messages;
begin
    perform app.moderator();
    held := app.locked_held(conversation_id, seq);
    if held.message_id is not null then
        perform app.reject_held(held);
        perform app.record_moderation('remove-message', held.sender_id, pg_catalog.jsonb_build_object(
            'conversation', conversation_id, 'seq', seq));
    end if;
    select m.* into message from public.messages m
     where m.conversation_id = remove_message.conversation_id and m.seq = remove_message.seq;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif message.deleted_at is null then
        update public.messages m set deleted_at = pg_catalog.clock_timestamp()
         where m.id = message.id returning m.* into message;
        perform app.record_moderation('remove-message', message.sender_id, pg_catalog.jsonb_build_object(
            'conversation', conversation_id, 'seq', seq));
    end if;
    return (
        select pg_catalog.row_to_json(w) from (select
            message.conversation_id, message.seq, message.version, app.utc(message.deleted_at) as deleted_at) w);
end
$$;

CREATE FUNCTION app.remove_reactions(conversation_id uuid, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    insert into public.reaction_counts (conversation_id, seq, counts)
    values (remove_reactions.conversation_id, remove_reactions.seq, '{}')
    on conflict on constraint reaction_counts_pkey do nothing;
    if found then
        delete from public.reaction_counts c
         where c.conversation_id = remove_reactions.conversation_id and c.seq = remove_reactions.seq;
        return;
    end if;
    for pass in 1..2 loop
        -- Each has an index of its own.
        delete from public.message_reactions r
         where r.conversation_id = remove_reactions.conversation_id and r.seq = remove_reactions.seq and r.is_set;
        delete from public.message_reactions r
         where r.conversation_id = remove_reactions.conversation_id and r.seq = remove_reactions.seq
           and not r.is_set;
        if pass = 1 then
            perform 1 from public.reaction_counts c
              where c.conversation_id = remove_reactions.conversation_id and c.seq = remove_reactions.seq for update;
        end if;
    end loop;
end
$$;

CREATE FUNCTION app.remove_stream(conversation_id uuid, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    delete from app.message_streams s
     where s.conversation_id = remove_stream.conversation_id and s.seq = remove_stream.seq;
    if found then
        delete from public.message_pieces p
         where p.conversation_id = remove_stream.conversation_id and p.seq = remove_stream.seq;
    end if;
end
$$;

CREATE FUNCTION app.removed_media(ids uuid[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    delete from app.media_removals r where r.id = any (ids) and r.purpose <> 'upload'
$$;

CREATE FUNCTION app.removed_media(ids uuid[], purposes text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.complete_removals(ids, purposes);
end
$$;

CREATE FUNCTION app.renew_epoch() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    horizon xid8 := pg_catalog.pg_current_xact_id();
begin
    insert into app.settings as s (name, value) values ('epoch', '1')
    on conflict (name) do update set value = (s.value::bigint + 1)::text;
    insert into app.settings (name, value) values ('home', app.cluster_identity())
    on conflict (name) do update set value = excluded.value;
    update public.user_profiles set changed_xid = least(changed_xid, '3'), public_changed_xid = '3'
     where changed_xid > horizon or public_changed_xid > horizon;
    update public.conversations set changed_xid = '3' where changed_xid > horizon;
    update public.conversations set last_message_xid = '3' where last_message_xid > horizon;
    update public.conversation_members set joined_xid = '3' where joined_xid > horizon;
    update public.conversation_members set changed_xid = '3' where changed_xid > horizon;
    update public.conversation_members set sent_xid = '3' where sent_xid > horizon;
    update app.former_members set changed_xid = '3' where changed_xid > horizon;
    update app.former_members set joined_xid = '3' where joined_xid > horizon;
    update public.messages set sent_xid = least(sent_xid, '3'), changed_xid = '3'
     where sent_xid > horizon or changed_xid > horizon;
    update public.conversation_mutes set changed_xid = '3' where changed_xid > horizon;
    update public.reaction_counts set changed_xid = '3' where changed_xid > horizon;
    update public.message_reactions set changed_xid = '3' where changed_xid > horizon;
    update public.delivered_marks set changed_xid = '3' where changed_xid > horizon;
    update public.message_pieces set changed_xid = '3' where changed_xid > horizon;
    update app.message_streams set changed_xid = '3' where changed_xid > horizon;
    update app.held_messages set changed_xid = '3' where changed_xid > horizon;
    update public.presence set changed_xid = '3' where changed_xid > horizon;
    update public.presence set hidden_xid = '3' where hidden_xid > horizon;
    update app.sessions set ended_xid = '3' where ended_xid > horizon;
    update app.merged_guests set merged_xid = '3' where merged_xid > horizon;
    update app.message_moves set sent_xid = '3' where sent_xid > horizon;
    return app.epoch();
end
$$;

CREATE FUNCTION app.renew_epoch_after_restore() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    known text := (select s.value from app.settings s where s.name = 'home');
begin
    if known = app.cluster_identity() then
        return false;
    end if;
    perform app.renew_epoch();
    return known is not null;
end
$$;

CREATE FUNCTION app.repeats_subtag(tag text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    subtags text[] := string_to_array(regexp_replace(lower(tag collate "C"), '(^|-)x-.*$', ''), '-');
    is_extended boolean := false;
    seen text[] := '{}';
begin
    for i in 2 .. cardinality(subtags) loop
        is_extended := is_extended or length(subtags[i]) = 1;
        continue when not (length(subtags[i]) = 1
                           or not is_extended and subtags[i] ~ '^([a-z0-9]{5,8}|[0-9][a-z0-9]{3})$');
        if subtags[i] = any (seen) then
            return true;
        end if;
        seen := seen || subtags[i];
    end loop;
    return false;
end
$_$;

CREATE FUNCTION app.replace_mentions(before public.messages, message public.messages) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if row(message.conversation_id, message.seq, message.mentions, message.mentions_everyone)
       is not distinct from row(before.conversation_id, before.seq, before.mentions, before.mentions_everyone) then
        return;
    end if;
    perform app.remove_mentions(before);
    perform app.record_mentions(message);
    perform app.tell_own_conversation(message.conversation_id, u.id)
       from unnest(case when before.mentions_everyone or message.mentions_everyone
                        then array(select m.user_id from public.conversation_members m
                                    where m.conversation_id = message.conversation_id)
                        else before.mentions || message.mentions end) as u (id)
       -- The numbers of those who have read it do not change, unless the message has moved.
       join public.conversation_members m on m.conversation_id = message.conversation_id and m.user_id = u.id
      where m.last_read_seq < message.seq
            or row(message.conversation_id, message.seq) is distinct from row(before.conversation_id, before.seq)
      group by u.id;
end
$$;

CREATE FUNCTION app.replace_participant(conversation_id uuid, account uuid, other uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update public.conversations c
       set participant1_id = least(account, other), participant2_id = greatest(account, other)
     where c.id = replace_participant.conversation_id;
    return null;
exception when unique_violation then
    return (select c.id from public.conversations c
             where c.participant1_id = least(account, other) and c.participant2_id = greatest(account, other));
end
$$;

CREATE FUNCTION app.reply_object(message public.messages) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT concat('{"seq":', (message).seq, ',"sender_id":"', (message).sender_id, '","kind":"', (message).kind, '","content":', COALESCE(to_json(
         CASE
             WHEN (octet_length(((message).content)::text) <= 100) THEN ((message).content)::text
             ELSE "left"(((message).content)::text, 100)
         END), 'null'::json), ',"version":', (message).version, '}') AS concat;
END;

CREATE FUNCTION app.reply_of(conversation_id uuid, seq bigint) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (select app.reply_object(t) from public.messages t
             where t.conversation_id = reply_of.conversation_id and t.seq = reply_of.seq);
end
$$;

CREATE FUNCTION app.report_acknowledged(users uuid[], epochs text[], cursors pg_snapshot[], devices integer[], conversations uuid[], OUT moved integer, OUT large uuid[], OUT unsettled integer[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    epoch_now text := app.epoch();
    marks record;
begin
    select coalesce(pg_catalog.array_agg(a.place), '{}') as places,
           coalesce(pg_catalog.array_agg(a.conversation_id), '{}') as conversations,
           coalesce(pg_catalog.array_agg(a.user_id), '{}') as users, coalesce(pg_catalog.array_agg(a.seq), '{}') as seqs
      into marks
      from app.acknowledged_messages(
            array(select case when d.epoch = epoch_now then d.user_id end
                    from rows from (unnest(users), unnest(epochs)) with ordinality as d (user_id, epoch, place)
                   order by d.place),
            cursors, devices, conversations) a;
    select r.moved, r.large, array(select distinct marks.places[p] from unnest(r.unsettled) p order by 1)
      into moved, large, unsettled
      from app.report_delivered(marks.conversations, marks.users, marks.seqs) r;
end
$$;

CREATE FUNCTION app.report_counts(OUT pending bigint, OUT oldest_seconds double precision) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select count(*), coalesce(extract(epoch from pg_catalog.now() - min(r.created_at)), 0)
      from (select o.created_at from app.reports o where o.state <> 'closed' order by o.created_at, o.id limit 10000) r
$$;

CREATE FUNCTION app.report_delivered(conversations uuid[], users uuid[], seqs bigint[], OUT moved integer, OUT large uuid[], OUT unsettled integer[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '200ms'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    -- The marks that move, by conversation and user.
    places integer[];
    moving_conversations uuid[];
    moving_users uuid[];
    moving_seqs bigint[];
    is_new boolean[];
    settled integer[] := '{}';
    more integer[];
begin
    large := array(
        select c.id from (select distinct u.id from unnest(conversations) as u (id)) c
         where exists (
            select from public.conversation_members m
             where m.conversation_id = c.id offset app.max_delivered_members())
         order by c.id);
    select coalesce(pg_catalog.array_agg(w.place order by w.conversation_id, w.user_id), '{}'),
           pg_catalog.array_agg(w.conversation_id order by w.conversation_id, w.user_id),
           pg_catalog.array_agg(w.user_id order by w.conversation_id, w.user_id),
           pg_catalog.array_agg(w.seq order by w.conversation_id, w.user_id),
           pg_catalog.array_agg(w.is_new order by w.conversation_id, w.user_id)
      into places, moving_conversations, moving_users, moving_seqs, is_new
      from (select r.place::integer as place, r.conversation_id, r.user_id, least(r.seq, c.last_seq) as seq,
                   d.last_delivered_seq is null as is_new
              from rows from (unnest(conversations), unnest(users), unnest(seqs))
                   with ordinality as r (conversation_id, user_id, seq, place)
             cross join lateral (
                    select m.last_read_seq from public.conversation_members m
                     where m.conversation_id = r.conversation_id and m.user_id = r.user_id and not m.is_deleted) m
             cross join lateral (select c.last_seq from public.conversations c where c.id = r.conversation_id) c
              left join lateral (
                    select d.last_delivered_seq from public.delivered_marks d
                     where d.conversation_id = r.conversation_id and d.user_id = r.user_id) d on true
             where least(r.seq, c.last_seq) > greatest(m.last_read_seq, d.last_delivered_seq)
               and r.conversation_id <> all (large)) w;
    if false = any (is_new) then
        with moving as materialized (
            select w.place, w.seq, d.conversation_id, d.user_id
              from unnest(places, moving_conversations, moving_users, moving_seqs, is_new)
                   as w (place, conversation_id, user_id, seq, is_new)
              join public.delivered_marks d
                on d.conversation_id = w.conversation_id and d.user_id = w.user_id
             where not w.is_new
               for no key update of d skip locked),
        written as (
            update public.delivered_marks d set last_delivered_seq = w.seq
              from moving w
             where d.conversation_id = w.conversation_id and d.user_id = w.user_id
            returning w.place)
        select coalesce(pg_catalog.array_agg(m.place), '{}') into settled from written m;
    end if;
    if true = any (is_new) then
        with moving as materialized (
            select w.place, w.seq, m.conversation_id, m.user_id
              from unnest(places, moving_conversations, moving_users, moving_seqs, is_new)
                   as w (place, conversation_id, user_id, seq, is_new)
              join public.conversation_members m
                on m.conversation_id = w.conversation_id and m.user_id = w.user_id
             where w.is_new
               for key share of m skip locked),
        written as (
            insert into public.delivered_marks as d (conversation_id, user_id, last_delivered_seq)
            select w.conversation_id, w.user_id, w.seq from moving w order by w.conversation_id, w.user_id
            on conflict do nothing
            returning d.conversation_id, d.user_id)
        select coalesce(pg_catalog.array_agg(w.place), '{}') into more
          from moving w join written m on m.conversation_id = w.conversation_id and m.user_id = w.user_id;
        settled := settled || more;
    end if;
    moved := pg_catalog.cardinality(settled);
    unsettled := array(select p from unnest(places) p where p <> all (settled) order by p);
end
$$;

CREATE FUNCTION app.report_object(report app.reports) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    message public.messages;
begin
    if report.message_id is not null then
        select m.* into message from public.messages m where m.id = report.message_id;
    end if;
    return (
        select pg_catalog.row_to_json(w) from (select
            report.id, report.state, report.reason, report.comment,
            report.reporter_id, report.reported_id,
            (select o.object from app.sender_objects o where o.id = report.reporter_id) as reporter,
            (select o.object from app.sender_objects o where o.id = report.reported_id) as reported,
            coalesce(message.conversation_id, report.conversation_id) as conversation_id,
            coalesce(message.seq, report.seq) as seq,
            report.moderator_id, report.outcome, report.resolution,
            greatest(0, pg_catalog.floor(extract(epoch from
                coalesce(report.closed_at, pg_catalog.now()) - report.created_at)))::bigint as age_seconds,
            app.utc(report.created_at) as created_at, app.utc(report.closed_at) as closed_at) w);
end
$$;

CREATE FUNCTION app.report_page(state text, max_results integer, after text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    is_closed boolean := coalesce(state = 'closed', false);
    after_time timestamptz := case when is_closed then 'infinity' else '-infinity' end;
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    ids uuid[];
begin
    if state not in ('open', 'in_review', 'closed') then
        perform app.refuse_param('state', '"state" must be open, in_review or closed.');
    elsif not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif after is not null then
        select p.created_at, p.id into after_time, after_id from app.parsed_position('after', after) p;
    end if;
    if is_closed then
        ids := array(
            select r.id from app.reports r
             where r.state = 'closed' and (r.created_at, r.id) < (after_time, after_id)
               and r.reported_id is distinct from auth.uid()
             order by r.created_at desc, r.id desc limit max_results);
    else
        ids := array(
            select r.id from app.reports r
             where r.state <> 'closed' and r.state = coalesce(report_page.state, r.state)
               and (r.created_at, r.id) > (after_time, after_id) and r.reported_id is distinct from auth.uid()
             order by r.created_at, r.id limit max_results);
    end if;
    return pg_catalog.json_build_object(
        'reports', coalesce((
            select pg_catalog.json_agg(app.report_object(r) order by i.place)
              from unnest(ids) with ordinality i (id, place) join app.reports r on r.id = i.id), '[]'),
        'next', case when pg_catalog.cardinality(ids) = max_results then (
            select app.page_position(r.created_at, r.id)
              from app.reports r where r.id = ids[max_results]) end);
end
$$;

CREATE FUNCTION app.report_presence(node uuid, lease_seconds integer, arrived uuid[], gone uuid[], is_whole boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
declare
    lease timestamptz := pg_catalog.clock_timestamp() + lease_seconds * interval '1 second';
    changed uuid[];
begin
    if is_whole then
        insert into app.nodes as n (id, lease_until) values (node, lease)
        on conflict (id) do update set lease_until = excluded.lease_until;
    else
        update app.nodes n set lease_until = lease where n.id = node and n.lease_until > '-infinity';
        if not found then
            return false;
        end if;
    end if;
    if is_whole or arrived <> '{}' or gone <> '{}' then
        with ended as (
            delete from app.node_users u
             where u.node_id = node and (is_whole or u.user_id in (select g.id from unnest(gone) as g (id)))
               and not exists (select from unnest(arrived) as a (id) where a.id = u.user_id)
            returning u.user_id),
        begun as (
            insert into app.node_users as u (node_id, user_id)
            select node, p.id from public.user_profiles p
             where p.id in (select a.id from unnest(arrived) as a (id)) and not p.is_deleted
            on conflict do nothing
            returning u.user_id)
        select pg_catalog.array_agg(c.user_id) into changed
          from (select e.user_id from ended e union all select b.user_id from begun b) c;
    end if;
    perform app.update_presence(coalesce(changed, '{}'));
    return true;
end
$$;

CREATE FUNCTION app.report_with_evidence(report app.reports) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (pg_catalog.rtrim(app.report_object(report)::text, '}') || ',"evidence":'
        || coalesce(report.evidence::text, 'null') || '}')::json;
end
$$;

CREATE FUNCTION app.resign(name text, holder uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.release_lease(name, holder);
end
$$;

CREATE FUNCTION app.resolve_report(id uuid, outcome text, comment text) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.moderator();
    note text := app.checked_comment(comment);
    report app.reports := app.locked_report(id);
begin
    if not coalesce(outcome in ('dismissed', 'removed', 'warned', 'banned'), false) then
        perform app.refuse_param('outcome', '"outcome" must be dismissed, removed, warned or banned.');
    elsif report.state <> 'closed' then
        update app.reports r
           set state = 'closed', moderator_id = me, outcome = resolve_report.outcome, resolution = note,
               closed_at = pg_catalog.now(), notify_at = null
         where r.id = report.id returning r.* into report;
        perform app.record_moderation('resolve-report', report.reported_id, pg_catalog.jsonb_build_object(
            'report', report.id, 'outcome', outcome));
    elsif row(report.moderator_id, report.outcome) is distinct from row(me, outcome) then
        perform app.refuse_forbidden('This report is closed.');
    end if;
    return app.report_object(report);
end
$$;

CREATE FUNCTION app.revoke_other_credentials(user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION app.salvaged_name(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    name text := app.normalized(regexp_replace(left(btrim(value), 2000), app.control_characters() || '+', ' ', 'g'));
begin
    if char_length(name) > 100 then
        while app.is_blank(left(name, 1)) and name <> '' loop
            name := substr(name, 2);
        end loop;
        name := app.normalized(left(name, 100));
    end if;
    return case when not app.is_blank(name) and char_length(name) <= 100 then name end;
end
$$;

CREATE TABLE public.scheduled_messages (
    id uuid DEFAULT app.message_id() NOT NULL,
    sender_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    due_at timestamp with time zone NOT NULL,
    kind app.message_kind DEFAULT 'text'::text NOT NULL,
    content app.message_content,
    attachment jsonb,
    reply_to_seq bigint,
    mentions uuid[],
    mentions_everyone boolean,
    data jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    refusal jsonb
);

CREATE FUNCTION app.scheduled_object(scheduled public.scheduled_messages) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT row_to_json(w.*) AS row_to_json
    FROM ( SELECT (scheduled_object.scheduled).id AS id,
             (scheduled_object.scheduled).conversation_id AS conversation_id,
             app.utc((scheduled_object.scheduled).due_at) AS due_at,
             (scheduled_object.scheduled).kind AS kind,
             (scheduled_object.scheduled).content AS content,
                 CASE
                     WHEN ((scheduled_object.scheduled).attachment IS NOT NULL) THEN app.attachment_object((scheduled_object.scheduled).attachment)
                     ELSE NULL::json
                 END AS attachment,
             COALESCE(( SELECT json_agg(app.attachment_object(a.value) ORDER BY a.place) AS json_agg
                    FROM jsonb_array_elements(app.attachments((scheduled_object.scheduled).attachment)) WITH ORDINALITY a(value, place)), '[]'::json) AS attachments,
             (scheduled_object.scheduled).reply_to_seq AS reply_to_seq,
             COALESCE((scheduled_object.scheduled).mentions, '{}'::uuid[]) AS mentions,
             COALESCE((scheduled_object.scheduled).mentions_everyone, false) AS mentions_everyone,
             (scheduled_object.scheduled).data AS data,
             app.utc((scheduled_object.scheduled).created_at) AS created_at,
             (scheduled_object.scheduled).refusal AS error) w;
END;

CREATE FUNCTION app.seal() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.wait_for_wal_flush();
end
$$;

CREATE FUNCTION app.search_condition(folded text) RETURNS tsquery
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- Of these scripts a single character begins a word of two.
    joined constant text := '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]';
    part text;
    terms text[] := '{}';
    is_last boolean := true;
begin
    -- From the last part to the first.
    for part in
        select p.part from regexp_split_to_table(regexp_replace(folded, joined || '+', ' \& ', 'g'), ' +')
               with ordinality p (part, place)
         where p.part <> '' order by p.place desc
    loop
        if part ~ joined and char_length(part) > 1 then
            terms := terms || array(
                select quote_literal(substr(part, i, 2)) from generate_series(1, char_length(part) - 1) as i);
        else
            terms := terms || (quote_literal(part)
                || case when part ~ joined or is_last and char_length(part) >= 3 then ':*' else '' end);
        end if;
        is_last := false;
    end loop;
    return nullif(array_to_string(terms, ' & '), '')::tsquery;
end
$$;

CREATE FUNCTION app.search_text(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    marks constant text := '[\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7'
        '\u0610-\u061a\u061c\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u1ab0-\u1ace'
        '\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20f0\u302a-\u302f\ufe00-\ufe0f\ufe20-\ufe2f'
        '\ufeff]+';
    folded text := content;
    letter text;
begin
    if octet_length(content) > char_length(content) then
        -- To decompose a run of marks takes the square of its length.
        if char_length(content) > 1000 then
            folded := regexp_replace(folded, marks, '', 'g');
        end if;
        folded := regexp_replace(normalize(folded, NFKD), marks, '', 'g');
    end if;
    if octet_length(folded) > char_length(folded) then
        if folded ~ '[ÐØðøĐđŁłı\u0391-\u03c2\u0400-\u042f\u0629-\u06cc]' then
            folded := translate(folded,
                e'ÐØðøĐđŁłıΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏ'
                '\u0629\u0649\u06a9\u06be\u06c1\u06cc',
                e'dododdlliαβγδεζηθικλμνξοπρστυφχψωσабвгдежзиклмнопрстуфхцчшщъыьэюяђєѕіјљњћџ'
                '\u0647\u064a\u0643\u0647\u0647\u064a');
        end if;
        if folded ~ '[ÆæŒœÞþßſ]' then
            folded := replace(replace(replace(replace(folded, 'ß', 'ss'), 'Æ', 'ae'), 'æ', 'ae'), 'ſ', 's');
            folded := replace(replace(replace(replace(folded, 'Œ', 'oe'), 'œ', 'oe'), 'Þ', 'th'), 'þ', 'th');
        end if;
        -- Syllables of Hangul and voiced kana become one character again.
        if folded ~ '[\u1100-\u11ff\u3099\u309a]' then
            folded := normalize(folded, NFC);
        end if;
        for letter in
            select distinct l[1] from regexp_matches(folded,
                '[\u0126-\u0127\u0138\u014a-\u014b\u0166-\u0167\u0180-\u02af\u0370-\u0377\u037f\u03cf-\u03ff'
                '\u0460-\u0481\u048a-\u0556\u0671\u10a0-\u10cd\u13f8-\u13fd\u1c80-\u1cbf\u1d6b-\u1d9a\u1e9c-'
                '\u1eff\u2132\u2183'
                '\u2c00-\u2cf3\ua640-\ua69b\ua722-\ua7f6\uab30-\uabbf\U00010400-\U00010595\U00010c80-\U00010ead'
                '\U000118a0-\U000118bf\U00016e40-\U00016e5f\U0001df00-\U0001df2a\U0001e900-\U0001e921]', 'g') as l
        loop
            folded := replace(folded, letter, app.folded(letter));
        end loop;
        return btrim(regexp_replace(lower(folded collate "C"),
            '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u00d7\u00f7\u02b0-\u02ff\u037e\u0387\u055a-\u055f\u0589-\u058f'
            '\u05be\u05c0\u05c3\u05c6\u05f3-\u05f4\u0600-\u060f\u061b-\u061f\u066a-\u066d\u06d4\u0964-\u0965\u0970'
            '\u0e2f\u0e3f\u0e4f\u0e5a-\u0e5b\u104a-\u104f\u10fb\u1360-\u1368\u166d-\u166e\u1680\u17d4-\u17db'
            '\u1800-\u180e\u2000-\u209f\u20a0-\u20cf\u2100-\u214f\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3007-\u3020'
            '\u3030\u303d-\u303f\u309b-\u309c\u30a0\u30fb\uff00-\uff0f\ufff0-\uffff\U0001f000-\U0001fbff]+', ' ', 'g'));
    end if;
    return btrim(regexp_replace(lower(folded collate "C"), '[^a-z0-9]+', ' ', 'g'));
end
$$;

CREATE FUNCTION app.search_words(folded text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    words text[];
    characters text[];
begin
    if folded !~ '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]' then
        words := string_to_array(folded, ' ');
    else
        words := string_to_array(btrim(regexp_replace(folded,
            '[ \u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]+', ' ', 'g')), ' ');
        characters := string_to_array(regexp_replace(folded,
            '[^\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]+', ' ', 'g'), null);
        words := words || array(
            select btrim(c.this || coalesce(c.next, ''))
              from unnest(characters, characters[2:]) as c (this, next)
             where c.this <> ' ');
    end if;
    if char_length(folded) > 500 then
        words := array(select left(w, 100) from unnest(words) as w);
    end if;
    return words;
end
$$;

CREATE FUNCTION app.seen_pieces(conversation_id uuid, low bigint, high bigint, since pg_snapshot DEFAULT NULL::pg_snapshot) RETURNS TABLE(seq bigint, object text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    if not exists (
        select from public.conversation_members m
         where m.conversation_id = seen_pieces.conversation_id and m.user_id = auth.uid() and not m.is_deleted) then
        return;
    end if;
    return query
    select s.seq, app.piece_object(s.conversation_id, s.seq, p.start, p.content)
      from app.message_streams s
     cross join lateral (
            select min(p.start) as start, pg_catalog.string_agg(p.content, '' order by p.start) as content
              from public.message_pieces p
             where p.conversation_id = s.conversation_id and p.seq = s.seq
               and (since is null or not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))) p
     where s.conversation_id = seen_pieces.conversation_id and s.seq > low and s.seq <= high and p.start is not null
     order by s.seq;
end
$$;

CREATE FUNCTION app.seen_reactions(conversation_id uuid, low bigint, high bigint, since pg_snapshot DEFAULT NULL::pg_snapshot, until pg_snapshot DEFAULT NULL::pg_snapshot) RETURNS TABLE(seq bigint, object text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
    me uuid;
    oldest xid8 := pg_catalog.pg_snapshot_xmin(since);
    changed bigint[];
    emojis text[];
begin
    if since is not null then
        changed := array(
            select c.seq from public.reaction_counts c
             where c.conversation_id = seen_reactions.conversation_id and c.changed_xid >= oldest
               and c.seq > low and c.seq <= high and app.is_change(c.changed_xid, since, until) offset 0);
    end if;
    -- Most pages have none.
    if changed = '{}' or since is null and not exists (
        select from public.reaction_counts c
         where c.conversation_id = seen_reactions.conversation_id and c.seq > low and c.seq <= high) then
        return;
    end if;
    me := auth.uid();
    if not exists (
        select from public.conversation_members m
         where m.conversation_id = seen_reactions.conversation_id and m.user_id = me and not m.is_deleted) then
        return;
    end if;
    if since is not null then
        return query
        select c.seq, app.reactions_object(c, o.emojis)
          from public.reaction_counts c
         cross join lateral app.reactions_by(me, c.conversation_id, c.seq) o
         where c.conversation_id = seen_reactions.conversation_id and c.seq = any (changed)
         order by c.seq;
        return;
    end if;
    -- The messages of a page follow each other: one walk costs half of a lookup for each. An emoji
    -- needs no escapes (app.is_reaction).
    select pg_catalog.array_agg(o.seq), pg_catalog.array_agg(o.emojis) into changed, emojis
      from (select r.seq, '[' || pg_catalog.string_agg('"' || r.emoji || '"', ', ') || ']' as emojis
              from (select r.seq, r.emoji from public.message_reactions r
                     where r.conversation_id = seen_reactions.conversation_id and r.user_id = me
                       and r.seq > low and r.seq <= high and r.is_set is not false
                     order by r.seq, r.created_at, r.emoji) r
             group by r.seq order by r.seq) o;
    return query
    select c.seq, app.reactions_object(c, case when changed[o.place] = c.seq then emojis[o.place] else '[]' end)
      from public.reaction_counts c
     cross join lateral (select pg_catalog.width_bucket(c.seq, changed) as place offset 0) o
     where c.conversation_id = seen_reactions.conversation_id and c.seq > low and c.seq <= high
       and c.counts <> '{}' and (until is null or pg_catalog.pg_visible_in_snapshot(c.changed_xid, until))
     order by c.seq;
end
$$;

CREATE FUNCTION app.send_due() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5ms'
    AS $$
declare
    due public.scheduled_messages;
    state text;
    problem text;
    code text;
begin
    select s.* into due from public.scheduled_messages s
     where s.refusal is null and s.next_try_at <= pg_catalog.clock_timestamp()
     order by s.next_try_at limit 1 for update skip locked;
    if not found then
        return false;
    end if;
    begin
        if exists (select from auth.users u where u.id = due.sender_id and app.is_banned(u)) then
            perform app.refuse_forbidden('This account is banned.');
        end if;
        perform app.send_scheduled(due);
        delete from public.scheduled_messages s where s.sender_id = due.sender_id and s.id = due.id;
    exception
        when lock_not_available then
            update public.scheduled_messages s
               set next_try_at = pg_catalog.clock_timestamp() + least(greatest(
                       (pg_catalog.clock_timestamp() - s.due_at) / 4, interval '0.2 s'), interval '10 s')
             where s.sender_id = due.sender_id and s.id = due.id;
        when others then
            get stacked diagnostics state = returned_sqlstate, problem = message_text;
            code := case state when 'PL001' then 'invalid_params' when 'PL007' then 'forbidden'
                               when 'PL008' then 'not_found' when 'PL017' then 'content_refused'
                               when '23505' then 'client_id_reused'
                               else case when due.tries >= 9 then 'unavailable' end end;
            update public.scheduled_messages s
               set tries = s.tries + 1,
                   next_try_at = pg_catalog.clock_timestamp()
                       + least(pg_catalog.power(2, s.tries), 300) * interval '1 second',
                   refusal = case when code is not null then pg_catalog.jsonb_build_object(
                       'code', code, 'message', case when code = 'unavailable'
                           then 'The message could not be sent. Schedule it again.' else problem end) end
             where s.sender_id = due.sender_id and s.id = due.id;
    end;
    return true;
end
$$;

CREATE FUNCTION app.send_messages(senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[] DEFAULT NULL::bigint[], mentions text[] DEFAULT NULL::text[], everyone boolean[] DEFAULT NULL::boolean[], data text[] DEFAULT NULL::text[]) RETURNS TABLE(place bigint, object text)
    LANGUAGE plpgsql ROWS 16
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    return query
    with numbered as materialized (
        select n.*
          from app.number_messages(
                   senders, conversations, contents, client_ids, replies, mentions, everyone, data) n),
    written as (
        insert into public.messages (
            id, conversation_id, seq, sender_id, client_id, content, created_at, reply_to_seq, mentions,
            mentions_everyone, data)
        select n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, n.content, n.created_at, n.reply_to_seq,
               n.mentioned, n.mentions_everyone, n.app_data
          from numbered n)
    select n.place, app.message_object(
               row(n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, 'text', n.content, null, 1, null, null,
                   n.created_at, null, null, null, null, n.reply_to_seq, n.mentioned, n.mentions_everyone,
                   n.app_data)::public.messages,
               s.object, case when n.is_alone then n.seq else 0 end, n.reply)
      from numbered n
     cross join lateral (select o.object from app.sender_objects o where o.id = n.sender_id offset 0) s;
end
$$;

CREATE FUNCTION app.send_scheduled(scheduled public.scheduled_messages) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    insert into public.messages (
        conversation_id, sender_id, client_id, kind, content, attachment, reply_to_seq, mentions, mentions_everyone,
        data)
    values (
        scheduled.conversation_id, scheduled.sender_id, scheduled.id, scheduled.kind, scheduled.content,
        scheduled.attachment, scheduled.reply_to_seq, scheduled.mentions, scheduled.mentions_everyone, scheduled.data)
$$;

CREATE FUNCTION app.sender_of(id uuid) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (select app.sender_members(s.id, s.object) from app.sender_objects s where s.id = sender_of.id);
end
$$;

CREATE FUNCTION app.set_conversation_data(conversation_id uuid, data jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    seat record := app.lock_conversation(conversation_id);
begin
    if seat.kind = 'group' and seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can change its data.');
    elsif app.has_block(conversation_id) then
        perform app.refuse_blocked();
    end if;
    update public.conversations c set data = set_conversation_data.data
     where c.id = set_conversation_data.conversation_id;
end
$$;

CREATE FUNCTION app.set_member_role(conversation_id uuid, user_id uuid, role text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    seat record := app.lock_conversation(conversation_id);
    present text;
begin
    if seat.kind = 'direct' then
        perform app.refuse_forbidden('A direct conversation has no roles.');
    elsif seat.role <> 'owner' then
        perform app.refuse_forbidden('Only the owner of a group can change roles.');
    end if;
    select m.role into present from public.conversation_members m
     where m.conversation_id = set_member_role.conversation_id and m.user_id = set_member_role.user_id;
    if present is null then
        perform app.refuse_hidden('There is no such member.');
    elsif present = 'owner' and role <> 'owner' then
        perform app.refuse_forbidden('The role of the owner cannot be changed: make another member the owner.');
    elsif present <> role then
        update public.conversation_members m set role = set_member_role.role
         where m.conversation_id = set_member_role.conversation_id and m.user_id = set_member_role.user_id;
    end if;
end
$$;

CREATE FUNCTION app.set_message_ttl(conversation_id uuid, seconds integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    seat record := app.lock_conversation(conversation_id);
begin
    if seat.kind = 'group' and seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can change when its messages expire.');
    elsif app.has_block(conversation_id) then
        perform app.refuse_blocked();
    elsif seconds not between 60 and 31536000 then
        perform app.refuse_param('message_ttl_seconds',
            '"message_ttl_seconds" must be 60 to 31536000 (a year), or null.');
    end if;
    update public.conversations c set message_ttl_seconds = seconds where c.id = set_message_ttl.conversation_id;
end
$$;

CREATE FUNCTION app.set_pin(conversation_id uuid, seq bigint, is_pinned boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    seat record := app.lock_conversation(conversation_id);
    message public.messages;
    pinned bigint[];
begin
    is_pinned := coalesce(is_pinned, true);
    select m.* into message from public.messages m
     where m.conversation_id = set_pin.conversation_id and m.seq = set_pin.seq;
    select coalesce(c.pinned_seqs, '{}') into pinned from public.conversations c where c.id = set_pin.conversation_id;
    if message.id is null then
        perform app.refuse_hidden('There is no such message.');
    elsif seat.kind = 'group' and seat.role = 'member' then
        perform app.refuse_forbidden('Only the owner and admins of a group can pin messages.');
    elsif is_pinned = (seq = any (pinned)) then
        return;
    elsif app.has_block(conversation_id) then
        perform app.refuse_blocked();
    elsif not is_pinned then
        pinned := pg_catalog.array_remove(pinned, seq);
    elsif message.deleted_at is not null then
        perform app.refuse_forbidden('A deleted message cannot be pinned.');
    elsif pg_catalog.cardinality(pinned) >= 50 then
        perform app.refuse_forbidden('At most 50 messages can be pinned.');
    else
        pinned := seq || pinned;
    end if;
    update public.conversations c set pinned_seqs = pinned where c.id = set_pin.conversation_id;
end
$$;

CREATE FUNCTION app.settle() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return app.renew_epoch_after_restore();
end
$$;

CREATE FUNCTION app.settle_pushes(device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[], retry_seconds double precision[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.record_push_results(device_ids, conversation_ids, seqs, kinds, outcomes, retry_seconds);
end
$$;

CREATE FUNCTION app.shared_conversations(users uuid[], mine uuid[], until pg_snapshot, with_former boolean) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    most constant integer := 65536 / pg_catalog.cardinality(users);     -- memberships of each user
    shared uuid[];
begin
    -- `or` keeps `in` from becoming a join, in which `mine` would be searched for each membership.
    shared := array(
        select f.conversation_id
          from unnest(users) as u (id)
         cross join lateral (
                select case when w.place < most then w.conversation_id end as conversation_id
                  from (select m.conversation_id, pg_catalog.row_number() over () as place
                          from (select m.conversation_id from public.conversation_members m
                                 where m.user_id = u.id
                                   and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until))
                                union all
                                select f.conversation_id from app.former_members f
                                 where with_former and f.user_id = u.id and f.wrote) m
                         limit most) w
                 where w.place = most or w.conversation_id in (select unnest(mine))
                 limit 1) f);
    return case when pg_catalog.array_position(shared, null) is null then shared end;
end
$$;

CREATE FUNCTION app.shared_presence(conversations uuid[], entered uuid[], since pg_snapshot, until pg_snapshot, after_id uuid, last_id uuid) RETURNS TABLE(user_id uuid, is_new boolean, is_online boolean, last_seen_at timestamp with time zone, changed_xid xid8)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    me uuid := auth.uid();
    sees_others boolean := (app.presence_visibility()).sees_others;
begin
    return query
    select u.id, u.is_new, p.is_online, p.last_seen_at, p.changed_xid
      from (select m.user_id as id, pg_catalog.bool_or(c.entered or app.is_change(m.joined_xid, since, until)) as is_new
              from (select m.id, since is null or m.id in (select unnest(entered)) as entered
                      from unnest(conversations) as m (id)
                     -- `is true` keeps `in` from becoming a join.
                     where (m.id in (select app.my_conversations())) is true offset 0) c
             cross join lateral (
                    select m.user_id, m.joined_xid from public.conversation_members m
                     where m.conversation_id = c.id and m.user_id > after_id and m.user_id <= last_id
                       and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until))) m
             where m.user_id <> me
             group by m.user_id order by m.user_id offset 0) u
      left join lateral (
            select p.is_online, p.last_seen_at, p.changed_xid from public.presence p
             where p.user_id = u.id offset 0) p on sees_others and u.id not in (select app.blocked_users(me))
     order by u.id;
end
$$;

CREATE FUNCTION app.show_presence(user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform 1 from public.presence p where p.user_id = show_presence.user_id for no key update;
    update public.presence p
       set is_hidden = false, is_online = exists (select from app.node_users n where n.user_id = p.user_id),
           changed_xid = pg_catalog.pg_current_xact_id(), hidden_xid = pg_catalog.pg_current_xact_id()
     where p.user_id = show_presence.user_id and p.is_hidden
       and not exists (select from public.user_profiles u where u.id = p.user_id and u.is_deleted);
end
$$;

CREATE FUNCTION app.sign(signature text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.record_schema_version(signature);
end
$$;

CREATE FUNCTION app.similarity(a text, b text) RETURNS real
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT public.similarity(a, b) AS similarity;
END;

CREATE FUNCTION app.snapshot_of(open bigint[], next bigint) RETURNS pg_snapshot
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    open := array(select o from unnest(open) o order by o);
    return pg_catalog.format('%s:%s:%s', coalesce(open[1], next), next, pg_catalog.array_to_string(open, ','));
end
$$;

CREATE FUNCTION app.span_condition(conversations uuid[], span bigint, width integer) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (NULLIF(concat_ws(' & '::text, ( SELECT (('('::text || string_agg(quote_literal(concat('@', "right"((i.i)::text, 12),
                 CASE span_condition.width
                     WHEN 20 THEN ('l'::text || span_condition.span)
                     WHEN 16 THEN ('l'::text || (span_condition.span >> 4))
                     ELSE NULL::text
                 END)), ' | '::text)) || ')'::text)
            FROM unnest(span_condition.conversations) i(i)),
         CASE
             WHEN ((conversations IS NULL) AND (width = 20)) THEN quote_literal(('@l'::text || span))
             ELSE NULL::text
         END,
         CASE
             WHEN (width = 16) THEN quote_literal(('@s'::text || span))
             ELSE NULL::text
         END), ''::text))::tsquery AS "nullif";
END;

CREATE FUNCTION app.spelled_out(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    small text := translate(normalize(value, NFC), 'ÄÖÜØÅ', 'äöüøå');
begin
    if small ~ '[äöüøå]' then
        return app.folded(replace(replace(replace(replace(replace(
            small, 'ä', 'ae'), 'ö', 'oe'), 'ü', 'ue'), 'ø', 'oe'), 'å', 'aa'));
    end if;
    return null;
end
$$;

CREATE FUNCTION app.spellings(word text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    -- The letters of the word's script, as app.folded leaves them.
    letters text := case
        when word ~ '[Ͱ-Ͽ]' then 'αβγδεζηθικλμνξοπρστυφχψω'
        when word ~ '[Ѐ-ӿ]' then 'абвгдежзиклмнопрстуфхцчшщъыьэюяђєіјљњћџґғқңүұһө'
        when word ~ '[Ա-֏]' then 'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ'
        when word ~ '[\u0590-\u05ff]' then e'\u05d0\u05d1\u05d2\u05d3\u05d4\u05d5\u05d6\u05d7\u05d8\u05d9\u05da\u05db'
            '\u05dc\u05dd\u05de\u05df\u05e0\u05e1\u05e2\u05e3\u05e4\u05e5\u05e6\u05e7\u05e8\u05e9\u05ea'
        when word ~ '[\u0600-\u06ff]' then e'\u0621\u0627\u0628\u062a\u062b\u062c\u062d\u062e\u062f\u0630\u0631\u0632'
            '\u0633\u0634\u0635\u0636\u0637\u0638\u0639\u063a\u0641\u0642\u0643\u0644\u0645\u0646\u0647\u0648\u064a'
            '\u067e\u0686\u0698\u06af'
        when word ~ '[ა-ჿ]' then 'აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ'
        else 'abcdefghijklmnopqrstuvwxyz' end;
begin
    return array(
        select w.word from app.words w
         where w.word = any (array(
            select spellings.word
            union all
            select overlay(spellings.word placing '' from i for 1)
              from generate_series(1, char_length(spellings.word)) as i
            union all
            select overlay(spellings.word placing reverse(substr(spellings.word, i, 2)) from i for 2)
              from generate_series(1, char_length(spellings.word) - 1) as i
            union all
            select overlay(spellings.word placing letter from i for slip)
              from generate_series(1, least(char_length(spellings.word), 20) + 1) as i,
                   generate_series(0, 1) as slip,
                   regexp_split_to_table(letters, '') as letter)));
end
$$;

CREATE FUNCTION app.split_full_name(first_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
    full_name text := (select p.full_name from public.user_profiles p where p.id = me);
    new_length integer := pg_catalog.char_length(first_name);
begin
    if not coalesce(first_name in ('', full_name)
                    or pg_catalog.starts_with(full_name, first_name || ' '), false)
       -- The default split.
       or first_name = pg_catalog.split_part(full_name, ' ', 1) then
        new_length := null;
    end if;
    if new_length is distinct from (select d.first_name_length from app.profile_details d where d.user_id = me) then
        insert into app.profile_details (user_id, first_name_length) values (me, new_length)
        on conflict (user_id) do update set first_name_length = excluded.first_name_length;
        update public.user_profiles p set changed_xid = pg_catalog.pg_current_xact_id()
         where p.id = me and p.changed_xid <> pg_catalog.pg_current_xact_id();
    end if;
end
$$;

CREATE FUNCTION app.standby_snapshot() RETURNS pg_snapshot
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    now pg_snapshot := pg_catalog.pg_current_snapshot();
    ended pg_snapshot := nullif(pg_catalog.current_setting('postline.ended', true), '');
    next bigint := pg_catalog.pg_snapshot_xmax(now)::text::bigint;
    asked xid8[] := nullif(pg_catalog.current_setting('postline.asked', true), '');
    open bigint[];
    unsure xid8[];
    seen xid8[];
begin
    select coalesce(pg_catalog.array_agg(t.xid) filter (where t.status = 'in progress'), '{}'),
           coalesce(pg_catalog.array_agg(t.xid::text::xid8) filter (where t.status = 'committed'), '{}')
      into open, unsure
      from (select c.xid, pg_catalog.pg_xact_status(c.xid::text::xid8) as status
              from (select e::text::bigint as xid from pg_catalog.pg_snapshot_xip(ended) e
                    union all
                    select pg_catalog.generate_series(
                        coalesce(pg_catalog.pg_snapshot_xmax(ended), pg_catalog.pg_snapshot_xmin(now))::text::bigint,
                        next - 1)) c) t;
    if unsure <> '{}' then
        asked := asked || unsure;
        seen := array(
            select unnest(array[p.changed_xid, p.public_changed_xid]) from public.user_profiles p
             where p.changed_xid = any(asked) or p.public_changed_xid = any(asked)
            union all
            select c.changed_xid from public.conversations c where c.changed_xid = any(asked)
            union all
            select unnest(array[m.changed_xid, m.joined_xid, m.sent_xid]) from public.conversation_members m
             where m.changed_xid = any(asked)
            union all
            select unnest(array[m.changed_xid, m.sent_xid]) from public.messages m where m.changed_xid = any(asked)
            union all
            select unnest(array[f.changed_xid, f.joined_xid]) from app.former_members f where f.changed_xid = any(asked)
            union all
            select unnest(array[p.changed_xid, p.hidden_xid]) from public.presence p where p.changed_xid = any(asked)
            union all
            select x.changed_xid from public.conversation_mutes x where x.changed_xid = any(asked)
            union all
            select r.changed_xid from public.reaction_counts r where r.changed_xid = any(asked)
            union all
            select r.changed_xid from public.message_reactions r where r.changed_xid = any(asked)
            union all
            select d.changed_xid from public.delivered_marks d where d.changed_xid = any(asked)
            union all
            select p.changed_xid from public.message_pieces p where p.changed_xid = any(asked));
        -- Nulls in `seen` must not make the comparison null.
        open := open || array(
            select u::text::bigint from unnest(unsure) u where not coalesce(u = any(seen), false));
    end if;
    return app.snapshot_of(open, next);
end
$$;

CREATE FUNCTION app.standby_timeline() RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select pg_catalog.lpad(pg_catalog.upper(pg_catalog.to_hex(greatest(
               (select w.received_tli from pg_catalog.pg_stat_wal_receiver w),
               (select c.timeline_id from pg_catalog.pg_control_checkpoint() c),
               (select r.min_recovery_end_timeline from pg_catalog.pg_control_recovery() r)))), 8, '0')
$$;

CREATE FUNCTION app.start_stream(conversation_id uuid, content text, client_id uuid, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    me uuid := app.caller();
begin
    if (select count(*) from app.message_streams s where s.sender_id = me) >= app.max_streams() then
        perform app.refuse_forbidden(pg_catalog.format(
            '%s of your messages are streaming. Finish one before you start another.', app.max_streams()));
    elsif exists (select from app.filter_rules f where f.scope = 'messages' and f.word = '*') then
        -- Its members would see the text before the moderator.
        perform app.refuse_forbidden('Messages cannot stream here: a moderator sees each of them first.');
    end if;
    -- The version tells the triggers, and only this function can write it.
    insert into public.messages (
        conversation_id, sender_id, client_id, content, reply_to_seq, mentions, mentions_everyone, data, version)
    values (start_stream.conversation_id, me, client_id, content, reply_to_seq, mentions, mentions_everyone, data, 0);
end
$$;

CREATE FUNCTION app.step_members() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT 16384;
END;

CREATE FUNCTION app.stepped_counts(counts jsonb, emoji text, step bigint) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN ((COALESCE(((counts ->> emoji))::bigint, (0)::bigint) + step) > 0) THEN (counts || jsonb_build_object(emoji, (COALESCE(((counts ->> emoji))::bigint, (0)::bigint) + step)))
             ELSE (counts - emoji)
         END AS "case";
END;

CREATE FUNCTION app.store_address() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    -- Calls none of our functions, on which the role that writes accounts may have no rights.
    new.email := lower(new.email::text collate "C");
    return new;
end
$$;

CREATE FUNCTION app.stored_form(kind text, INOUT content text, INOUT attachment jsonb) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    attachment := app.normalized_attachment(app.complete_attachment(attachment));
    content := case when app.needs_attachment(kind) then app.attachment_content(kind, content, attachment)
                    when app.may_be_empty(kind) then coalesce(content, '')
                    else content end;
end
$$;

CREATE FUNCTION app.stored_url(value text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT regexp_replace(btrim(value), '^[Hh][Tt][Tt][Pp][Ss]:'::text, 'https:'::text) AS regexp_replace;
END;

CREATE FUNCTION app.stream_text(conversation_id uuid, seq bigint) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (select pg_catalog.string_agg(p.content, '' order by p.start) from public.message_pieces p
             where p.conversation_id = stream_text.conversation_id and p.seq = stream_text.seq);
end
$$;

CREATE FUNCTION app.stream_timeout() RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT '00:01:00'::interval AS "interval";
END;

CREATE FUNCTION app.streamed_since(since pg_snapshot, mine uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    most constant integer := 64;
    streamed uuid[] := array(
        select s.conversation_id from app.message_streams s
         where s.changed_xid >= pg_catalog.pg_snapshot_xmin(since)
           and not pg_catalog.pg_visible_in_snapshot(s.changed_xid, since) limit most);
begin
    if streamed = '{}' then
        return streamed;
    end if;
    -- Only the user's conversations: a change of another's is not revealed.
    return case when pg_catalog.cardinality(streamed) = most then mine
                else array(select o.conversation_id from public.conversation_members o
                            where o.user_id = auth.uid() and o.conversation_id = any (streamed)
                              and o.conversation_id = any (mine)) end;
end
$$;

CREATE FUNCTION app.subscription_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) RETURNS TABLE(epoch_now text, snapshot text, reset boolean, next_position text, changes text, conversation_ids text, is_durable boolean, sees_presence boolean, may_miss_users boolean)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT p.epoch_now,
     p.snapshot,
     p.reset,
     p.next_position,
     p.changes,
     p.conversation_ids,
     p.is_durable,
     s.sees_others,
     (s.changed_xid IS NOT NULL)
    FROM (app.sync_page(subscription_page.epoch, subscription_page.since, subscription_page.until, subscription_page."position", subscription_page.messages_per_conversation, subscription_page.max_bytes) p(epoch_now, snapshot, reset, next_position, changes, conversation_ids, is_durable)
      CROSS JOIN app.presence_visibility() s(sees_others, changed_xid));
END;

CREATE FUNCTION app.sync_blocked(me uuid, since pg_snapshot) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    found_ids text;
begin
    if since is not null and coalesce(
        pg_catalog.pg_visible_in_snapshot((app.presence_visibility()).changed_xid, since), true) then
        return null;
    end if;
    select pg_catalog.string_agg('"' || b.blocked_id::text || '"', ',' order by b.blocked_at, b.blocked_id)
      into found_ids
      from public.blocks b where b.blocker_id = me;
    return coalesce(found_ids, case when since is not null then '' end);
end
$$;

CREATE FUNCTION app.sync_conversation_ids(me uuid, since pg_snapshot, until pg_snapshot, OUT mine uuid[], OUT entered uuid[], OUT given uuid[], OUT active uuid[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    muted uuid[] := array(
        select x.conversation_id from public.conversation_mutes x
         where x.user_id = me and app.is_change(x.changed_xid, since, until));
begin
    -- A membership that began after `until` is in the next delta.
    select coalesce(pg_catalog.array_agg(c.id order by c.id), '{}'),
           coalesce(pg_catalog.array_agg(c.id order by c.id) filter (where w.entered), '{}'),
           coalesce(pg_catalog.array_agg(c.id order by c.id) filter (
               where w.entered or app.is_change(c.changed_xid, since, until) or c.id = any (muted)), '{}'),
           coalesce(pg_catalog.array_agg(c.id order by c.id) filter (
               where w.entered and c.last_seq > 0
                     or not pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since)), '{}')
      into mine, entered, given, active
      from public.conversation_members m
      join public.conversations c on c.id = m.conversation_id
     cross join lateral (
            select since is null or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since) as entered) w
     where m.user_id = me and (until is null or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until));
    -- Clients count the mentions of the messages that they get; a page may not contain all of a conversation.
    if since is not null then
        given := given || array(
            select a.id
              from unnest(active) as a (id)
             cross join lateral (
                    select max(x.seq) as seq from public.message_mentions x
                     where x.conversation_id = a.id and x.user_id = any (array[me, app.everyone()])) x
              join public.messages m on m.conversation_id = a.id and m.seq = x.seq
             where a.id <> all (given) and not pg_catalog.pg_visible_in_snapshot(m.sent_xid, since)
             order by a.id);
    end if;
end
$$;

CREATE FUNCTION app.sync_conversations(me uuid, until pg_snapshot, given uuid[], after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- A cursor is read row by row; a query in a loop would be read 50 objects ahead. The order is that of the ids, so
    -- that nothing is sorted and the rest is not read.
    conversations cursor for
        select g.id, o.object
          from (select g.id from unnest(given) as g (id) where g.id > after_id order by g.id offset 0) g
         cross join lateral (
                select o.object
                  from app.conversation_objects o
                 where o.id = g.id and o.user_id = me
                   and (until is null or pg_catalog.pg_visible_in_snapshot(o.changed_xid, until))
                offset 0) o
         order by g.id;
    found_objects text[] := '{}';
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    for part in conversations loop
        found_objects := found_objects || part.object;
        room := room - pg_catalog.octet_length(part.object);
        if room < 0 or pg_catalog.clock_timestamp() > ending then
            next_position := 'conversations:' || part.id;
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

CREATE FUNCTION app.sync_delivered(me uuid, since pg_snapshot, until pg_snapshot, delivered uuid[], given uuid[], after_id uuid, after_user uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- Read row by row, as in app.sync_conversations. Conversations without marks are rows too, to look at the clock.
    conversations cursor for
        select c.id, r.users, r.objects
          from (select m.id from unnest(delivered) as m (id)
                 where m.id >= after_id and m.id not in (select unnest(given)) order by m.id offset 0) c
         cross join lateral (
                select pg_catalog.array_agg(d.user_id) as users,
                       pg_catalog.array_agg('{"conversation_id":"' || c.id || '","user_id":"' || d.user_id
                           || '","last_delivered_seq":' || d.seq || '}') as objects
                  from (select d.user_id, greatest(d.last_delivered_seq, m.last_read_seq) as seq
                          from public.delivered_marks d
                         cross join lateral (
                                select m.last_read_seq from public.conversation_members m
                                 where m.conversation_id = d.conversation_id and m.user_id = d.user_id offset 0) m
                         where d.conversation_id = c.id and d.user_id <> me
                           and (c.id > after_id or d.user_id > after_user)
                           and app.is_change(d.changed_xid, since, until)
                         order by d.user_id) d) r
         order by c.id;
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    open conversations;
    select m.room, m.objects, m.next_position into room, objects, next_position
      from app.sync_marks('delivered', conversations, after_id, ending, room) m;
    close conversations;
end
$$;

CREATE FUNCTION app.sync_details(section text, since pg_snapshot, until pg_snapshot, entered uuid[], changed uuid[], per_conversation integer, after_id uuid, after_seq bigint, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    most constant bigint := 9223372036854775807;
    found_objects text[] := '{}';
    room_id uuid;
    part record;
begin
    foreach room_id in array array(
        select a.id from unnest(entered || changed) as a (id)
         where (after_id is null or a.id >= after_id) and (section <> 'pieces' or app.has_streams(a.id))
         group by a.id order by a.id)
    loop
        for part in
            select o.seq, o.object
              from public.conversations c
             cross join lateral (
                    select greatest(case when c.id = any (entered) then c.last_seq - per_conversation else 0 end,
                                    case when c.id = after_id then after_seq else 0 end) as low,
                           case when c.id = any (entered) then null else sync_details.since end as since) b
             cross join lateral (
                    -- A condition without columns is checked once, before either is called.
                    select r.seq, r.object from app.seen_reactions(c.id, b.low, most, b.since, until) r
                     where section = 'reactions'
                    union all
                    select p.seq, p.object from app.seen_pieces(c.id, b.low, most, b.since) p
                     where section = 'pieces') o
             where c.id = room_id
             order by o.seq
        loop
            found_objects := found_objects || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                exit;
            end if;
        end loop;
        if room < 0 or pg_catalog.clock_timestamp() > ending then
            next_position := section || ':' || room_id || ':'
                || case when room < 0 then part.seq else 999999999999999999 end;
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

CREATE FUNCTION app.sync_left(me uuid, since pg_snapshot, until pg_snapshot, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    found_objects text[] := '{}';
    part record;
begin
    for part in
        select f.conversation_id as id
          from app.former_members f
         where f.user_id = me and (after_id is null or f.conversation_id > after_id)
           and app.is_change(f.changed_xid, since, until)
         order by f.conversation_id
    loop
        found_objects := found_objects || ('"' || part.id || '"');
        room := room - 39;
        if room < 0 or pg_catalog.clock_timestamp() > ending then
            next_position := 'left:' || part.id;
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

CREATE FUNCTION app.sync_marks(section text, marks refcursor, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    part record;
    found_objects text[] := '{}';
begin
    <<page>>
    loop
        fetch marks into part;
        exit when not found;
        for place in 1 .. coalesce(pg_catalog.cardinality(part.objects), 0) loop
            found_objects := found_objects || part.objects[place];
            room := room - pg_catalog.octet_length(part.objects[place]);
            if room < 0 then
                next_position := section || ':' || part.id || ':' || part.users[place];
                exit page;
            end if;
        end loop;
        -- After all members of the conversation, unless the page before ended there too.
        if part.id > after_id and pg_catalog.clock_timestamp() > ending then
            next_position := section || ':' || part.id || ':ffffffff-ffff-ffff-ffff-ffffffffffff';
            exit;
        end if;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

CREATE FUNCTION app.sync_me(me uuid, since pg_snapshot, until pg_snapshot) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if exists (select from public.user_profiles p where p.id = me and app.is_change(p.changed_xid, since, until)) then
        return (select o.object::text from app.me_objects o where o.id = me);
    end if;
    return null;
end
$$;

CREATE FUNCTION app.sync_messages(since pg_snapshot, until pg_snapshot, entered uuid[], active uuid[], per_conversation integer, after_id uuid, after_seq bigint, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT limited_ids text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    remaining uuid[] := array(
        select a.id from unnest(active) as a (id) where after_id is null or a.id >= after_id order by a.id);
    place integer := 1;
    slice uuid[];
    found_messages text[] := '{}';
    found_limited text[] := '{}';
    part record;
begin
    -- A few conversations at a time, so that a page does not read what the next page returns. For each batch the
    -- policies collect the user's conversations again: 40 ms if there are 8,000.
    <<page>>
    while place <= pg_catalog.cardinality(remaining) loop
        if place > 1 and pg_catalog.clock_timestamp() > ending then
            -- After all messages of the last conversation.
            next_position := 'messages:' || remaining[place - 1] || ':999999999999999999';
            exit page;
        end if;
        slice := remaining[place:place + 15];
        place := place + 16;
        for part in
            with newest as (
                select a.id, a.id = any(entered) as entered,
                       case when a.id = any(entered) then per_conversation else 100 end as most,
                       case when a.id = after_id then after_seq end as after_seq,
                       -- The newest message of the view: the order of seq is that of commits.
                       case when until is null then c.last_seq else coalesce((
                            select n.seq from public.messages n
                             where n.conversation_id = a.id
                               and pg_catalog.pg_visible_in_snapshot(n.sent_xid, until)
                             order by n.seq desc limit 1), 0) end as newest
                  from unnest(slice) as a (id)
                  join public.conversations c on c.id = a.id),
            -- Bounds of messages are columns here: under row-level security an expression with `coalesce` could not be
            -- an index condition. Values that messages share are read once: from statistics, which know the average
            -- length of conversations, the planner could conclude that nothing repeats.
            conversation as materialized (
                select n.*, greatest(n.newest - n.most, coalesce(n.after_seq, 0)) as beyond,
                       (select min(r.last_read_seq) from public.conversation_members r
                         where r.conversation_id = n.id) as mark
                  from newest n),
            message as materialized (
                -- Sent messages: the newest of the conversation, in a delta those of them that are new.
                select c.id, c.mark, m as message
                  from conversation c
                  join public.messages m on m.conversation_id = c.id
                 where m.seq > c.beyond and m.seq <= c.newest
                   and (c.entered or not pg_catalog.pg_visible_in_snapshot(m.sent_xid, since))
                   and (until is null or pg_catalog.pg_visible_in_snapshot(m.changed_xid, until))
                union all
                -- Earlier messages that were edited, moved or deleted: as many as fill the page, at 256 bytes or more
                -- each. `offset 0` finds them by the change, and sorts them then.
                select c.id, c.mark, e.message
                  from conversation c
                 cross join lateral (
                        select w.message
                          from (select m.seq, m as message from public.messages m
                                 where m.conversation_id = c.id
                                   and m.version > 1 and m.changed_xid >= pg_catalog.pg_snapshot_xmin(since)
                                   and (c.after_seq is null or m.seq > c.after_seq)
                                   and app.is_change(m.changed_xid, since, until)
                                   and pg_catalog.pg_visible_in_snapshot(m.sent_xid, since) offset 0) w
                         order by w.seq limit greatest(room, 0) / 256 + 2) e
                 where since is not null and not c.entered),
            senders as materialized (
                select pg_catalog.array_agg(s.id) as ids,
                       pg_catalog.array_agg(app.sender_members(s.id, s.object)) as members
                  from (select distinct (m.message).sender_id as id from message m) i
                 cross join lateral (
                        select s.id, s.object from app.sender_objects s where s.id = i.id offset 0) s)
            select m.id, (m.message).seq,
                   -- A deleted message of the user may be held.
                   case when (m.message).deleted_at is not null and (m.message).sender_id = auth.uid()
                        then (m.message).id end as own_id,
                   app.message_object(
                       m.message, app.conversation_member(m.id),
                       s.members[pg_catalog.array_position(s.ids, (m.message).sender_id)], m.mark,
                       case when (m.message).reply_to_seq is not null then (
                           select app.reply_object(t) from public.messages t
                            where t.conversation_id = m.id and t.seq = (m.message).reply_to_seq) end) as object,
                   null::boolean as limited
              from senders s cross join message m
            union all
            -- Limited conversations: the view contains a message that the page does not. If numbers are reserved for
            -- messages that are still to be moved, it is the next one before them.
            select c.id, 0, null, null, true
              from conversation c
             where c.after_seq is null and c.newest > c.most
               and (c.entered or exists (
                    select from (select n.sent_xid from public.messages n
                                  where n.conversation_id = c.id and n.seq <= c.newest - c.most
                                  order by n.seq desc limit 1) n
                     where not pg_catalog.pg_visible_in_snapshot(n.sent_xid, since)))
             order by 1, 2
        loop
            if part.limited then
                found_limited := found_limited || ('"' || part.id || '"');
                room := room - 39;
                if room < 0 then
                    next_position := 'messages:' || part.id || ':0';
                    exit page;
                end if;
                continue;
            end if;
            if part.own_id is not null then
                part.object := app.own_form(part.own_id, part.object);
            end if;
            found_messages := found_messages || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                next_position := 'messages:' || part.id || ':' || part.seq;
                exit page;
            end if;
        end loop;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_messages, ','), '');
    limited_ids := nullif(pg_catalog.array_to_string(found_limited, ','), '');
end
$$;

CREATE FUNCTION app.sync_position("position" text, OUT section text, OUT after_id uuid, OUT after_seq bigint, OUT after_user uuid) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    if "position" !~ pg_catalog.replace(
           '^((left|profiles|presence|conversations):@|(messages|pieces|reactions):@:[0-9]{1,18}'
               '|(reads|delivered):@:@)$',
           '@', '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}') then
        return;
    end if;
    section := pg_catalog.split_part("position", ':', 1);
    after_id := pg_catalog.split_part("position", ':', 2)::uuid;
    if section in ('messages', 'pieces', 'reactions') then
        after_seq := pg_catalog.split_part("position", ':', 3)::bigint;
    elsif section in ('reads', 'delivered') then
        after_user := pg_catalog.split_part("position", ':', 3)::uuid;
    end if;
end
$_$;

CREATE FUNCTION app.sync_presence(me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], has_changes boolean, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    visibility record := app.presence_visibility();
    -- True if it has changed whose presence the user sees.
    flipped boolean := since is not null and coalesce(app.is_change(visibility.changed_xid, since, until), false);
    last_id uuid;
    found_objects text[] := '{}';
    part record;
begin
    if not (flipped or has_changes and visibility.sees_others) then
        return;
    end if;
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    <<steps>>
    loop
        last_id := app.sync_step_end(mine, after_id);
        for part in
            -- Presence that is known, in a delta also that which no longer is. If it has changed whose presence the
            -- user sees, that of everyone: what the user no longer sees is empty.
            select p.user_id as id, app.presence_object(p.user_id, p.is_online, p.last_seen_at) as object
              from app.shared_presence(mine, entered, since, until, after_id, last_id) p
             where visibility.sees_others
                   and (p.is_new or flipped or app.is_change(p.changed_xid, since, until))
                   and (until is null or coalesce(pg_catalog.pg_visible_in_snapshot(p.changed_xid, until), flipped))
                   and (p.is_online or p.last_seen_at is not null or flipped
                        or p.changed_xid is not null and since is not null)
                or not visibility.sees_others
             order by p.user_id
        loop
            found_objects := found_objects || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                next_position := 'presence:' || part.id;
                exit steps;
            end if;
        end loop;
        exit when last_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
        if pg_catalog.clock_timestamp() > ending then
            next_position := 'presence:' || last_id;
            exit;
        end if;
        after_id := last_id;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

CREATE FUNCTION app.sync_profiles(me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    last_id uuid;
    found_objects text[] := '{}';
    part record;
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    <<steps>>
    loop
        last_id := app.sync_step_end(mine, after_id);
        for part in
            -- Users who share a conversation with the user, or did and wrote in it. In a delta these are changed
            -- profiles, and whole ones of users who are new to the user. `offset 0` finds the users first, so that
            -- profiles beyond the page are not read.
            select u.id, o.object
              from (select w.id, pg_catalog.bool_or(w.is_new) as is_new
                      from (select m.id, since is null or m.id in (select unnest(entered)) as entered
                              from unnest(mine) as m (id) offset 0) c
                     cross join lateral (
                            select m.user_id as id,
                                   (c.entered or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since))
                                   and (until is null
                                        or pg_catalog.pg_visible_in_snapshot(m.joined_xid, until)) as is_new
                              from public.conversation_members m
                             where m.conversation_id = c.id and m.user_id > after_id and m.user_id <= last_id
                            union all
                            select f.user_id, c.entered or app.is_change(f.joined_xid, since, until)
                              from app.former_members f
                             where f.conversation_id = c.id and f.user_id > after_id and f.user_id <= last_id
                               and f.wrote) w
                     where w.id <> me
                     group by w.id order by w.id offset 0) u
             cross join lateral (
                    select o.object::text as object
                      from app.profile_objects o
                     where o.id = u.id and (u.is_new or app.is_change(o.public_changed_xid, since, until))
                       and (until is null or pg_catalog.pg_visible_in_snapshot(o.public_changed_xid, until))
                    offset 0) o
             order by u.id
        loop
            found_objects := found_objects || part.object;
            room := room - pg_catalog.octet_length(part.object);
            if room < 0 then
                next_position := 'profiles:' || part.id;
                exit steps;
            end if;
        end loop;
        exit when last_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
        if pg_catalog.clock_timestamp() > ending then
            next_position := 'profiles:' || last_id;
            exit;
        end if;
        after_id := last_id;
    end loop;
    objects := nullif(pg_catalog.array_to_string(found_objects, ','), '');
end
$$;

CREATE FUNCTION app.sync_reads(since pg_snapshot, until pg_snapshot, mine uuid[], given uuid[], after_id uuid, after_user uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- Read row by row, as in app.sync_conversations. Conversations without marks are rows too, to look at the clock.
    conversations cursor for
        select c.id, r.users, r.objects
          from (select m.id from unnest(mine) as m (id)
                 where m.id >= after_id and m.id not in (select unnest(given)) order by m.id offset 0) c
         cross join lateral (
                select pg_catalog.array_agg(m.user_id) as users,
                       pg_catalog.array_agg('{"conversation_id":"' || c.id || '","user_id":"' || m.user_id
                           || '","last_read_seq":' || m.last_read_seq || '}') as objects
                  from (select m.user_id, m.last_read_seq from public.conversation_members m
                         where m.conversation_id = c.id and (c.id > after_id or m.user_id > after_user)
                           and (app.is_change(m.changed_xid, since, until)
                                or m.sent_xid is not null and app.is_change(m.sent_xid, since, until))
                         order by m.user_id) m) r
         order by c.id;
begin
    after_id := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
    open conversations;
    select m.room, m.objects, m.next_position into room, objects, next_position
      from app.sync_marks('reads', conversations, after_id, ending, room) m;
    close conversations;
end
$$;

CREATE FUNCTION app.sync_step_end(conversations uuid[], after_id uuid) RETURNS uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    most constant integer := greatest(app.step_members() / pg_catalog.cardinality(conversations), 8);
begin
    return coalesce((
        select e.user_id
          from unnest(conversations) as c (id)
         cross join lateral (
                (select m.user_id from public.conversation_members m
                  where m.conversation_id = c.id and m.user_id > after_id
                  order by m.user_id offset most - 1 limit 1)
                union all
                (select f.user_id from app.former_members f
                  where f.conversation_id = c.id and f.user_id > after_id
                  order by f.user_id offset most - 1 limit 1)) e
         order by e.user_id limit 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
end
$$;

CREATE FUNCTION app.tell_held(user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform app.tell_own_conversation(w.conversation_id, tell_held.user_id)
       from (select distinct m.conversation_id
               from app.held_messages h join public.messages m on m.id = h.message_id
              where h.sender_id = tell_held.user_id order by m.conversation_id) w;
end
$$;

CREATE FUNCTION app.tell_own_conversation(conversation_id uuid, user_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into public.conversation_mutes as x (conversation_id, user_id)
    select m.conversation_id, m.user_id from public.conversation_members m
     where m.conversation_id = tell_own_conversation.conversation_id and m.user_id = tell_own_conversation.user_id
       -- A member that is being removed has none.
       for key share
    on conflict on constraint conversation_mutes_pkey do update set muted_until = x.muted_until;
end
$$;

CREATE FUNCTION app.tombstoned(profile public.user_profiles) RETURNS public.user_profiles
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not profile.is_deleted then
        raise exception using errcode = 'restrict_violation', message = 'A deleted user cannot be restored.',
            hint = 'The email address is free: register a new account.';
    end if;
    profile.username := null;
    profile.full_name := null;
    profile.bio := null;
    profile.avatar_type := null;
    profile.avatar_id := null;
    profile.avatar_url := null;
    profile.website := null;
    profile.location := null;
    profile.language_code := null;
    profile.is_verified := false;
    profile.attributes := '{}';
    return profile;
end
$$;

CREATE FUNCTION app.touch_conversation(conversation_id uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    newest bigint;
begin
    update public.conversations c
       set version = c.version + 1, changed_xid = pg_catalog.pg_current_xact_id(), updated_at = pg_catalog.now()
     where c.id = touch_conversation.conversation_id and c.changed_xid <> pg_catalog.pg_current_xact_id()
    returning c.last_seq into newest;
    if not found then
        select c.last_seq into newest from public.conversations c
         where c.id = touch_conversation.conversation_id for no key update;
    end if;
    return newest;
end
$$;

CREATE FUNCTION app.transfer_membership(conversation_id uuid, guest uuid, account uuid, counted_from bigint, most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    seat public.conversation_members;
    delivered bigint := app.delivered_mark(transfer_membership.conversation_id, guest);
begin
    select m.* into seat from public.conversation_members m
     where m.conversation_id = transfer_membership.conversation_id and m.user_id = guest;
    insert into app.message_moves (conversation_id, guest_id, below, uncounted_below)
    select c.id, guest, c.last_seq + 1, counted_from from public.conversations c
     where c.id = transfer_membership.conversation_id;
    perform app.move_batch(transfer_membership.conversation_id, guest, most);
    -- The guest's last message, which is not among the newest if others wrote many since.
    perform app.reassign_messages(array[m.id], m.conversation_id, m.conversation_id, 0) from public.messages m
     where m.conversation_id = transfer_membership.conversation_id and m.seq = seat.sent_seq and m.sender_id = guest;
    update public.conversations c
       set created_by = case when c.created_by = guest then account else c.created_by end,
           last_message_sender_id = case when c.last_message_sender_id = guest then account
                                         else c.last_message_sender_id end
     where c.id = transfer_membership.conversation_id;

    delete from public.conversation_members m
     where m.conversation_id = transfer_membership.conversation_id and m.user_id = guest;
    if seat.user_id is not null then
        insert into public.conversation_members (conversation_id, user_id, joined_at, last_read_seq)
        select seat.conversation_id, account, seat.joined_at, seat.last_read_seq
         where not exists (select from public.conversation_members m
                            where m.conversation_id = transfer_membership.conversation_id and m.user_id = account);
    else
        -- The guest had left: the account is recorded as one that joined and left now, so that the members get its
        -- profile.
        insert into app.former_members as f (conversation_id, user_id, wrote, joined_xid)
        select transfer_membership.conversation_id, account, true, pg_catalog.pg_current_xact_id()
         where not exists (select from public.conversation_members m
                            where m.conversation_id = transfer_membership.conversation_id and m.user_id = account)
        on conflict on constraint former_members_pkey do update
           set wrote = true, changed_xid = excluded.changed_xid, joined_xid = excluded.joined_xid
         where not f.wrote;
    end if;
    update public.conversation_members m
       set role = case when 'owner' in (m.role, seat.role) then 'owner'
                       when 'admin' in (m.role, seat.role) then 'admin' else 'member' end,
           last_read_seq = greatest(m.last_read_seq, seat.last_read_seq),
           sent_seq = greatest(m.sent_seq, seat.sent_seq),
           changed_xid = pg_catalog.pg_current_xact_id()
     where m.conversation_id = transfer_membership.conversation_id and m.user_id = account;
    if delivered is not null then
        perform app.move_delivered_mark(transfer_membership.conversation_id, account, delivered);
    end if;
end
$$;

CREATE FUNCTION app.ttl_text(seconds integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT ((((ttl_text.seconds / u.size) || ' '::text) || u.name) ||
         CASE
             WHEN ((ttl_text.seconds / u.size) = 1) THEN ''::text
             ELSE 's'::text
         END)
    FROM ( VALUES (604800,'week'::text), (86400,'day'::text), (3600,'hour'::text), (60,'minute'::text), (1,'second'::text)) u(size, name)
   WHERE ((ttl_text.seconds % u.size) = 0)
   ORDER BY u.size DESC
  LIMIT 1;
END;

CREATE FUNCTION app.unban_user(user_id uuid) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    account auth.users := app.bannable_account(user_id);
begin
    if app.is_banned(account) then
        update auth.users u set banned_until = null, updated_at = pg_catalog.now() where u.id = account.id;
        perform app.record_moderation('unban-user', account.id, '{}');
    end if;
    return pg_catalog.json_build_object('user_id', account.id, 'is_banned', false, 'banned_until', null);
end
$$;

CREATE TABLE public.message_mentions (
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    seq bigint NOT NULL
);

CREATE FUNCTION app.unread_mentions(conversation_id uuid, user_id uuid, mark bigint) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT count(*) AS count
    FROM ( SELECT
            FROM public.message_mentions x
           WHERE ((x.conversation_id = unread_mentions.conversation_id) AND (x.user_id = ANY (ARRAY[unread_mentions.user_id, app.everyone()])) AND (x.seq > unread_mentions.mark))
          LIMIT app.max_unread_mentions()) w;
END;

CREATE FUNCTION app.update_presence(users uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
declare
    settled uuid[];
begin
    if users = '{}' and not exists (select from app.unsettled_users) then
        return;
    end if;
    with late as (
        delete from app.unsettled_users u
         where u.ctid = any (array(select l.ctid from app.unsettled_users l for update skip locked))
        returning u.user_id)
    select users || coalesce(pg_catalog.array_agg(distinct l.user_id), '{}') into users from late l;
    perform app.create_presence_rows(array(
        select distinct u.id from unnest(users) as u (id)
         where not exists (select from public.presence p where p.user_id = u.id) order by u.id));
    settled := array(
        select p.user_id from public.presence p where p.user_id in (select u.id from unnest(users) as u (id))
           for no key update skip locked);
    insert into app.unsettled_users (user_id)
    select u.id from unnest(users) as u (id)
     where not exists (select from unnest(settled) as s (id) where s.id = u.id);
    update public.presence p
       set is_online = w.is_online, changed_xid = pg_catalog.pg_current_xact_id(),
           last_seen_at = case when w.is_online then p.last_seen_at else pg_catalog.now() end
      from (select s.id, exists (select from app.node_users n where n.user_id = s.id) as is_online
              from unnest(settled) as s (id)) w
     where p.user_id = w.id and p.is_online <> w.is_online and not p.is_hidden;
end
$$;

CREATE FUNCTION app.upgrade_guest(guest uuid, provider text, email text, full_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION app.upsert_profile(account auth.users) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    guest boolean := coalesce(account.is_anonymous, false);
    address text := nullif(app.lower_ascii(account.email::text), '');
begin
    insert into public.user_profiles (id, full_name, is_guest)
    values (account.id, case when pg_catalog.jsonb_typeof(account.raw_user_meta_data -> 'full_name') = 'string'
                             then app.salvaged_name(account.raw_user_meta_data ->> 'full_name') end, guest)
    on conflict (id) do nothing;
    insert into public.user_private (id, email) values (account.id, address)
    on conflict (id) do nothing;
    update public.user_profiles set is_guest = guest where id = account.id and is_guest <> guest;
    update public.user_private set email = address where id = account.id and email is distinct from address;
end
$$;

CREATE FUNCTION app.use_avatar() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update public.media m set used_at = pg_catalog.clock_timestamp(), url = new.avatar_url
     where m.id = app.media_id(pg_catalog.jsonb_build_object('media_id', pg_catalog.right(new.avatar_url, 36)))
       and m.owner_id = new.id and m.purpose = 'avatar' and m.stored_at is not null and m.used_at is null
       and app.is_media_url(new.avatar_url, m.id);
    return new;
end
$$;

CREATE FUNCTION app.use_identity_token(token_hash text, expires_at double precision) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION app.use_media(message public.messages, before jsonb, is_list boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    former uuid[] := coalesce(app.media_ids(before), '{}');
    item record;
    type text;
begin
    for item in
        select a.value, a.place, app.media_id(a.value) as id, (a.value ->> 'preview_media_id')::uuid as preview_id,
               case when is_list
                    then pg_catalog.format('attachments[%s].', a.place - 1) else 'attachment.' end as path
          from pg_catalog.jsonb_array_elements(app.attachments(message.attachment)) with ordinality a (value, place)
         order by a.place
    loop
        if item.id is not null and item.id <> all (former) then
            update public.media m
               set used_at = pg_catalog.clock_timestamp(), message_id = message.id,
                   name = coalesce(item.value ->> 'name', m.name)
             where m.id = item.id and m.owner_id = message.sender_id
               and m.conversation_id = message.conversation_id and m.stored_at is not null and m.used_at is null
               and coalesce(item.value ->> 'mime_type', m.mime_type) = m.mime_type
               and coalesce((item.value ->> 'bytes')::numeric, m.bytes) = m.bytes
            returning m.mime_type into type;
            if not found then
                perform app.refuse_param(item.path || 'media_id', pg_catalog.format(
                    '"%smedia_id" must be an unused file that its sender has uploaded for this conversation.',
                    item.path));
            elsif item.place = 1 and message.kind in ('image', 'video', 'audio')
                  and pg_catalog.split_part(type, '/', 1) <> message.kind then
                perform app.refuse_param('kind', pg_catalog.format(
                    '"kind" must be "file" or that of the first attachment, which is %s.', type));
            end if;
        end if;
        if item.preview_id is not null and item.preview_id <> all (former) then
            update public.media m set used_at = pg_catalog.clock_timestamp(), message_id = message.id
             where m.id = item.preview_id and m.owner_id = message.sender_id
               and m.conversation_id = message.conversation_id and m.stored_at is not null and m.used_at is null
               and app.is_picture_type(m.mime_type);
            if not found then
                perform app.refuse_param(item.path || 'preview_media_id', pg_catalog.format(
                    '"%spreview_media_id" must be an unused picture that its sender has uploaded for this '
                    'conversation.', item.path));
            end if;
        end if;
    end loop;
end
$$;

CREATE FUNCTION app.validate_block() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    -- The policy checks it too, but only after this trigger.
    if new.blocker_id <> auth.uid() then
        perform app.refuse_forbidden('You can block users only for yourself.');
    elsif new.blocker_id = new.blocked_id then
        perform app.refuse_param('user_id', '"user_id" must be another user.');
    end if;
    -- A merge moves blocks that were checked when they began.
    if app.is_merging() then
        return new;
    end if;
    -- In the lock order of a send. The beginning of a conversation waits for the profiles (app.validate_new_member),
    -- and so do the deletion and the merge of a user: the later of the two sees the earlier.
    perform 1 from public.conversations c
     where c.participant1_id = least(new.blocker_id, new.blocked_id)
       and c.participant2_id = greatest(new.blocker_id, new.blocked_id) for no key update;
    perform 1 from public.user_profiles p where p.id in (new.blocker_id, new.blocked_id) order by p.id for update;
    if not app.is_active_user(new.blocker_id) or not app.is_active_user(new.blocked_id) then
        perform app.refuse_hidden('There is no such user.');
    elsif (select count(*) from public.blocks b where b.blocker_id = new.blocker_id) >= app.max_blocks() then
        perform app.refuse_forbidden(pg_catalog.format(
            'You block %s users. Unblock one before you block another.', app.max_blocks()));
    end if;
    return new;
end
$$;

CREATE FUNCTION app.validate_conversation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    first uuid := least(new.participant1_id, new.participant2_id);
begin
    new.title := app.checked_name('title', new.title, 'A title');
    if new.kind = 'group' and (new.title is null or first is not null) then
        perform app.refuse_param('title', 'A group must have a title and must not have participants.');
    elsif new.kind = 'direct' and new.title is not null then
        perform app.refuse_param('title', 'A direct conversation has no title.');
    end if;
    if new.title is not null and (tg_op = 'INSERT' or new.title is distinct from old.title)
       and exists (select from app.filter_rules) then
        new.title := app.filtered('titles', 'title', new.title);
    end if;

    if tg_op = 'INSERT' then
        if new.kind = 'direct' then
            if new.participant1_id is null or new.participant2_id is null
               or new.participant1_id = new.participant2_id then
                perform app.refuse_param('user_id', 'A direct conversation must have two different participants.');
            end if;
            new.participant2_id := greatest(new.participant1_id, new.participant2_id);
            new.participant1_id := first;
        end if;
        new.created_by := coalesce(new.created_by, auth.uid());
        if new.data is not null then
            perform app.check_data(new.data);
        end if;
        new.pinned_seqs := null;
        new.message_ttl_seconds := null;
        new.version := 1;
        new.first_seq := 1;
        new.last_seq := 0;
        new.last_message_content := null;
        new.last_message_time := null;
        new.last_message_sender_id := null;
        new.last_message_xid := null;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        return new;
    end if;

    if row(new.id, new.kind, new.participant1_id, new.participant2_id)
       is distinct from row(old.id, old.kind, old.participant1_id, old.participant2_id)
       and not app.is_merging() then
        raise exception using errcode = 'PL007',
            message = 'The id, kind and participants of a conversation cannot be changed.';
    end if;
    if new.data is not null and new.data is distinct from old.data then
        perform app.check_data(new.data);
    end if;
    if new.first_seq <> old.first_seq then
        new.first_seq := greatest(old.first_seq, least(new.first_seq, new.last_seq + 1));
        new.pinned_seqs := array(select p from unnest(new.pinned_seqs) with ordinality u (p, place)
                                  where p >= new.first_seq order by place);
        if new.first_seq > new.last_seq then
            new.last_message_content := null;
        end if;
    end if;
    new.pinned_seqs := nullif(new.pinned_seqs, '{}');
    if row(new.title, new.created_by, new.pinned_seqs, new.data, new.first_seq, new.message_ttl_seconds)
       is distinct from
       row(old.title, old.created_by, old.pinned_seqs, old.data, old.first_seq, old.message_ttl_seconds)
       and old.changed_xid <> pg_catalog.pg_current_xact_id() then
        new.version := old.version + 1;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        new.updated_at := pg_catalog.now();
    end if;
    return new;
end
$$;

CREATE FUNCTION app.validate_delivered_mark() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if tg_op = 'UPDATE' then
        new.last_delivered_seq := greatest(old.last_delivered_seq, new.last_delivered_seq);
    end if;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;

CREATE FUNCTION app.validate_member() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if new.conversation_id <> old.conversation_id or new.user_id <> old.user_id then
        raise exception using errcode = 'restrict_violation',
            message = 'The user and conversation of a membership cannot be changed.',
            hint = 'Delete this row and insert another.';
    elsif new.role = old.role and new.joined_at = old.joined_at then
        return new;
    end if;
    perform app.touch_conversation(new.conversation_id);
    if new.role = old.role then
        return new;
    elsif exists (select from public.conversations c where c.id = new.conversation_id and c.kind = 'direct') then
        perform app.refuse_forbidden('A direct conversation has no roles.');
    end if;
    -- A group always has exactly one owner: the new owner replaces the present one, who cannot give up the role
    -- otherwise.
    if new.role = 'owner' then
        update public.conversation_members m set role = 'admin'
         where m.conversation_id = new.conversation_id and m.role = 'owner';
    elsif old.role = 'owner' and pg_catalog.pg_trigger_depth() = 1 then
        raise exception using errcode = 'restrict_violation', message = 'A group must have an owner.',
            hint = 'Make another member the owner: this one then becomes an admin.';
    end if;
    return new;
end
$$;

CREATE FUNCTION app.validate_message() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    sent_xid xid8;
    action text;
    has_details boolean := app.has_details(old) or app.has_details(new);
    is_other boolean := row(new.id, new.conversation_id, new.seq, new.sender_id, new.client_id, new.reply_to_seq)
        is distinct from row(old.id, old.conversation_id, old.seq, old.sender_id, old.client_id, old.reply_to_seq);
begin
    -- A merged guest's message moves, or mentions the account in the guest's place.
    if is_other or new.mentions is distinct from old.mentions then
        sent_xid := app.moved_xid(old, new);
        if sent_xid is not null then
            -- A message that moves to another conversation counts as sent by the transaction that reserved its number.
            new.sent_xid := sent_xid;
            new.version := old.version + 1;
            new.changed_xid := pg_catalog.pg_current_xact_id();
            if has_details then
                perform app.replace_mentions(old, new);
            end if;
            if new.deleted_at is not null then
                perform app.move_held(new);
            end if;
            return new;
        end if;
    end if;
    if is_other then
        raise exception using errcode = 'restrict_violation',
            message = 'The ids, conversation, number, sender and reply of a message cannot be changed.';
    end if;
    if old.deleted_at is not null then
        -- A held message is deleted by its sender, or an owner or admin: the policies admit nobody else.
        if new.version = old.version and new.deleted_at <> old.deleted_at and auth.uid() is not null
           and app.drop_held_message(old.id) then
            new := old;
            new.deleted_at := pg_catalog.clock_timestamp();
            new.version := old.version + 2;
            new.changed_xid := pg_catalog.pg_current_xact_id();
            return new;
        end if;
        -- The decision about a held message (app.release_held and app.reject_held).
        if new.version <> old.version
           and exists (select from app.held_messages h where h.message_id = old.id) then
            if has_details then
                perform app.replace_mentions(old, new);
            end if;
            new.changed_xid := pg_catalog.pg_current_xact_id();
            return new;
        end if;
        raise exception using errcode = 'PL007', message = 'A deleted message cannot be changed.';
    end if;
    if new.deleted_at is not null then
        new.deleted_at := pg_catalog.clock_timestamp();
        new.content := null;
        new.attachment := null;
        new.event := null;
        new.mentions := null;
        new.mentions_everyone := null;
        new.data := null;
    elsif new.version <> old.version then
        -- The end of a stream (app.finish_stream) is no edit.
        null;
    -- The policies admit every user who may delete the message. Only its sender may edit it, and nobody an event.
    elsif auth.uid() is not null and (auth.uid() <> old.sender_id or old.kind = 'system') then
        perform app.refuse_forbidden('Only the sender of a message can edit it.');
    elsif app.is_streaming(old.conversation_id, old.seq) then
        perform app.refuse_forbidden('The message is streaming. Append to it, or finish it first.');
    elsif auth.uid() is not null and app.has_block(old.conversation_id) then
        perform app.refuse_blocked();
    elsif new.content is null or new.content = '' and not app.may_be_empty(new.kind) then
        perform app.refuse_content();
    elsif app.needs_attachment(new.kind) and new.attachment is null then
        perform app.refuse_without_attachment(new.kind);
    elsif new.kind = 'custom' and new.data is null then
        perform app.refuse_param('data', '"data" is missing: a message of kind "custom" needs it.');
    elsif row(new.kind, new.content, new.attachment, new.mentions, new.mentions_everyone, new.data)
          is distinct from row(old.kind, old.content, old.attachment, old.mentions, old.mentions_everyone, old.data)
          and new.edited_at is not distinct from old.edited_at then
        new.edited_at := pg_catalog.clock_timestamp();
    end if;
    if new.deleted_at is null and row(new.content, new.data) is distinct from row(old.content, old.data)
       and exists (select from app.filter_rules) then
        -- The end of a stream is not refused but masked: its members have seen the text. A rule about every message is
        -- also about the data that an app may show.
        action := app.filter_action(
            'messages', case when new.content is distinct from old.content then new.content else '' end);
        if action = 'hold' and new.version = old.version then
            perform app.refuse_held_edit();
        elsif action is not null then
            new.content := app.filtered(
                'messages', case when new.version = old.version then 'content' end, new.content);
        end if;
        if action = 'hold' then
            new := app.hold_message(new, new.content);
        end if;
    end if;
    if new.attachment is distinct from old.attachment and new.attachment is not null then
        perform app.check_attachment(new.attachment);
        new.attachment := app.normalized_attachment(new.attachment);
        perform app.use_media(new, old.attachment, new.attachment ? 'more');
    end if;
    if has_details then
        new := app.change_details(old, new);
    end if;
    new.first_sent := coalesce(old.first_sent, app.message_hash(
        old.id, old.kind, old.content, old.attachment, old.data));
    new.version := old.version + 1;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;

CREATE FUNCTION app.validate_new_member() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    newest bigint := app.touch_conversation(new.conversation_id);
    me uuid := auth.uid();
    first uuid;
    second uuid;
begin
    -- Waits for a concurrent deletion, merge or block of the user, and then finds it. Those lock the profile `for
    -- update` (app.validate_profile, app.validate_block), so other changes of the profile do not wait for this
    -- transaction.
    perform 1 from public.user_profiles p where p.id = new.user_id and not p.is_deleted for key share;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    select c.participant1_id, c.participant2_id into first, second from public.conversations c
     where c.id = new.conversation_id;
    if first is not null then
        new.is_blocked := app.is_blocked(first, second);
    end if;
    if not app.is_merging() and (new.is_blocked and me in (first, second)
                                 or first is null and me <> new.user_id and app.is_blocked(me, new.user_id)) then
        perform app.refuse_hidden('There is no such user.');
    end if;
    new.last_read_seq := greatest(0, least(coalesce(new.last_read_seq, newest), newest));
    new.sent_seq := 0;
    new.sent_xid := null;
    new.joined_xid := pg_catalog.pg_current_xact_id();
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;

CREATE FUNCTION app.validate_private() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    if tg_op = 'UPDATE' then
        new.id := old.id;
        if new.phone_number is distinct from old.phone_number and new.phone_verified = old.phone_verified then
            new.phone_verified := false;
        end if;
    end if;
    if new.phone_number !~ '^\+[1-9][0-9]{6,14}$' then
        perform app.refuse_param('phone_number',
            '"phone_number" must be "+", the country code and the number, digits only.');
    end if;
    if tg_op = 'INSERT' or new.date_of_birth is distinct from old.date_of_birth then
        perform app.check_date_of_birth('date_of_birth', new.date_of_birth);
    end if;
    -- Preferences that exceed the bound, which was once counted differently, may shrink.
    if tg_op = 'INSERT' or new.preferences is distinct from old.preferences then
        if app.json_flaw(new.preferences) is not null then
            perform app.refuse_param('preferences', '"preferences" ' || app.json_flaw(new.preferences) || '.');
        elsif app.json_bytes(new.preferences) > greatest(16384, app.json_bytes(old.preferences) - 1) then
            perform app.refuse_param('preferences', '"preferences" must be at most 16 KiB of JSON.');
        end if;
    end if;
    return new;
end
$_$;

CREATE FUNCTION app.validate_profile() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    if tg_op = 'UPDATE' and new.is_deleted and not old.is_deleted then
        -- Waits for transactions that have just made the user a member (app.validate_new_member), so that the
        -- membership is seen.
        perform 1 from public.user_profiles p where p.id = new.id for update;
    end if;
    if new.is_deleted or tg_op = 'UPDATE' and old.is_deleted then
        new := app.tombstoned(new);
    end if;
    if tg_op = 'INSERT' or new.full_name is distinct from old.full_name then
        new.full_name := app.checked_name('full_name', new.full_name, 'A name');
    end if;
    if tg_op = 'INSERT' or new.username is distinct from old.username then
        new.username := app.lower_ascii(pg_catalog.btrim(new.username));
        if new.username !~ '^[a-z][a-z0-9_.]{2,29}$' then
            perform app.refuse_param('username',
                '"username" must be 3 to 30 letters a-z, digits, "_" or ".", and start with a letter.');
        end if;
    end if;
    if tg_op = 'INSERT' or new.location is distinct from old.location then
        new.location := nullif(app.normalized(new.location), '');
        if new.location is not null then
            new.location := app.checked_name('location', new.location, 'A location');
        end if;
    end if;
    if tg_op = 'INSERT' or new.bio is distinct from old.bio then
        new.bio := nullif(app.normalized(new.bio), '');
        if pg_catalog.char_length(new.bio) > 500 then
            perform app.refuse_param('bio', '"bio" must be at most 500 characters long.');
        -- A bio may have line breaks.
        elsif app.has_control(pg_catalog.translate(new.bio, e'\n\r\t\u2028\u2029', '')) then
            perform app.refuse_param('bio',
                '"bio" must not contain control or text-direction characters or noncharacters.');
        end if;
    end if;
    if tg_op = 'INSERT' or new.website is distinct from old.website then
        new.website := nullif(app.stored_url(new.website), '');
        -- A merged guest's website or avatar may exceed the bound, which was introduced later.
        if not app.is_https(new.website) and not app.is_merging() then
            perform app.refuse_param('website', '"website" must be an https address of at most 2,048 bytes.');
        end if;
    end if;
    if not new.is_deleted and exists (select from app.filter_rules) then
        new := app.filtered_profile(old, new);
    end if;
    new.avatar_url := app.stored_url(new.avatar_url);
    if tg_op = 'INSERT' or row(new.avatar_type, new.avatar_id, new.avatar_url)
                           is distinct from row(old.avatar_type, old.avatar_id, old.avatar_url) then
        perform app.check_avatar_shape(new);
        if new.avatar_id is not null
           and not exists (select from public.built_in_avatars a where a.id = new.avatar_id) then
            perform app.refuse_param('avatar_id', 'There is no such built-in avatar.');
        end if;
    end if;
    if (tg_op = 'INSERT' or new.avatar_url is distinct from old.avatar_url) and not app.is_merging()
       and not exists (select from public.media m where m.owner_id = new.id and m.url = new.avatar_url) then
        perform app.check_avatar_url('avatar_url', new.avatar_url);
    end if;
    if tg_op = 'INSERT' or new.language_code is distinct from old.language_code then
        -- As phones write them, also with the encoding or keywords of a locale (`en_US@rg=gbzzzz`).
        if new.language_code !~ ('^([A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*|[xXiI](-[A-Za-z0-9]{1,8})+)'
                                 '([.@][-A-Za-z0-9._=;@]*)?$')
           or new.language_code is not null and app.language_tag(new.language_code) is null then
            perform app.refuse_param('language_code', '"language_code" must be a BCP 47 tag such as "en" or "pt-BR".');
        end if;
        new.language_code := app.language_tag(new.language_code);
    end if;
    -- Counted as in a response. Attributes that exceed the bound, which was introduced later, may shrink.
    if tg_op = 'INSERT' or new.attributes is distinct from old.attributes then
        if pg_catalog.jsonb_typeof(new.attributes) is distinct from 'object' then
            perform app.refuse_param('attributes', '"attributes" must be an object.');
        -- Checked first: a number takes few bytes in storage and many in text.
        elsif app.json_flaw(new.attributes) is not null then
            perform app.refuse_param('attributes', '"attributes" ' || app.json_flaw(new.attributes) || '.');
        elsif pg_catalog.octet_length(new.attributes::text)
           > greatest(32768, pg_catalog.octet_length(old.attributes::text) - 1) then
            perform app.refuse_param('attributes', '"attributes" must be at most 32 KiB of JSON.');
        end if;
    end if;

    if tg_op = 'INSERT' then
        new.version := 1;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        new.public_changed_xid := pg_catalog.pg_current_xact_id();
        return new;
    end if;

    new.id := old.id;
    new.version := old.version;
    new.updated_at := old.updated_at;
    if row(new.username, new.full_name, new.bio, new.avatar_type, new.avatar_id, new.avatar_url, new.website,
           new.location, new.language_code, new.is_verified, new.is_guest, new.is_deleted, new.attributes)
       is distinct from
       row(old.username, old.full_name, old.bio, old.avatar_type, old.avatar_id, old.avatar_url, old.website,
           old.location, old.language_code, old.is_verified, old.is_guest, old.is_deleted, old.attributes) then
        -- One version per transaction: states between its statements are not visible.
        if old.changed_xid <> pg_catalog.pg_current_xact_id() then
            new.version := old.version + 1;
            new.updated_at := app.next_version_time(old.updated_at);
        end if;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        new.public_changed_xid := pg_catalog.pg_current_xact_id();
    elsif new.changed_xid <> old.changed_xid and new.changed_xid = pg_catalog.pg_current_xact_id() then
        -- app.record_private_change set it, since the private part changed. It may decrease: the older of two
        -- transactions may write later.
        new.version := old.version + 1;
        new.updated_at := app.next_version_time(old.updated_at);
    end if;
    return new;
end
$_$;

CREATE FUNCTION app.validate_reaction() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    message record;
    is_member boolean := true;
begin
    if tg_op = 'UPDATE' and row(new.conversation_id, new.user_id, new.seq, new.emoji)
       is distinct from row(old.conversation_id, old.user_id, old.seq, old.emoji) then
        if not app.is_reaction_move(old, new) then
            raise exception using errcode = 'restrict_violation',
                message = 'The message, user and emoji of a reaction cannot be changed.';
        end if;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        return new;
    end if;
    select m.kind, m.deleted_at into message from public.messages m
     where m.conversation_id = new.conversation_id and m.seq = new.seq
       and exists (select from public.conversation_members o
                    where o.conversation_id = new.conversation_id and o.user_id = new.user_id and not o.is_deleted);
    if message.kind is null then
        is_member := exists (
            select from public.conversation_members o
             where o.conversation_id = new.conversation_id and o.user_id = new.user_id and not o.is_deleted);
    end if;
    -- The policy checks it too, but only after this trigger, whose errors would reveal messages.
    if not is_member or coalesce(new.user_id <> auth.uid(), false) then
        perform app.refuse_hidden('There is no such conversation.');
    elsif not coalesce(app.is_reaction(new.emoji), false) then
        perform app.refuse_param('emoji', '"emoji" must be one emoji, or a name of a-z 0-9 _ + - of at most 32 bytes.');
    elsif message.kind is null then
        perform app.refuse_hidden('There is no such message.');
    elsif message.deleted_at is not null or message.kind = 'system' then
        perform app.refuse_forbidden('Nobody can react to this message.');
    elsif new.is_set and app.has_block(new.conversation_id) then
        perform app.refuse_blocked();
    elsif new.is_set and new.emoji ~ '[a-z]' and exists (select from app.filter_rules)
          and app.words_action('messages', app.filtered_words(new.emoji)) is not null then
        perform app.refuse_word('emoji');
    end if;
    if tg_op = 'UPDATE' and new.is_set and not old.is_set then
        new.created_at := pg_catalog.clock_timestamp();
    end if;
    new.changed_xid := pg_catalog.pg_current_xact_id();
    return new;
end
$$;

CREATE FUNCTION app.validate_read_mark() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    newest bigint;
begin
    select c.last_seq into newest from public.conversations c where c.id = old.conversation_id;
    new.last_read_seq := greatest(old.last_read_seq, least(new.last_read_seq, newest));
    if new.last_read_seq <> old.last_read_seq then
        new.changed_xid := pg_catalog.pg_current_xact_id();
        -- Also if nothing is unread now: another message may come first.
        if app.unread_mentions(old.conversation_id, old.user_id, old.last_read_seq) > 0 then
            perform app.tell_own_conversation(old.conversation_id, old.user_id);
        end if;
    end if;
    return new;
end
$$;

CREATE FUNCTION app.validate_username() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    allowed_at timestamptz;
begin
    if new.username is not distinct from old.username or old.username is null or new.is_deleted then
        return new;
    elsif new.username is null then
        perform app.refuse_param('username', '"username" can be changed but not removed.');
    end if;
    -- The profile's row is locked: the second of two changes sees the first.
    select s.username_changed_at + interval '90 days' into allowed_at
      from public.user_private s where s.id = new.id;
    if allowed_at > app.now() then
        raise exception using errcode = 'PL013', message = 'A username can be changed once in 90 days.',
            detail = pg_catalog.json_build_object('retry_at', app.utc(allowed_at))::text;
    end if;
    return new;
end
$$;

CREATE FUNCTION app.wait_for_wal_flush() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if pg_catalog.pg_current_wal_insert_lsn() > pg_catalog.pg_current_wal_flush_lsn() then
        perform pg_catalog.set_config('synchronous_commit', 'on', true);
        -- A commit waits for the flush only if its transaction wrote something.
        perform pg_catalog.pg_logical_emit_message(true, 'postline', '');
    end if;
end
$$;

CREATE FUNCTION app.without_blocked(user_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return array(
        select u.id from unnest(user_ids) with ordinality u (id, place)
         where u.id not in (select app.blocked_users(auth.uid())) order by u.place);
end
$$;

CREATE FUNCTION app.word_similarity(a text, b text) RETURNS real
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT public.word_similarity(a, b) AS word_similarity;
END;

CREATE FUNCTION app.words_action(scope text, words text[]) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    return (array['mask', 'hold', 'refuse'])[(
        select max((select pg_catalog.array_position(array['mask', 'hold', 'refuse'], f.action) from app.filter_rules f
                     where f.scope = words_action.scope and f.word = w.word))
          from unnest(words) w (word))];
end
$$;

CREATE FUNCTION app.words_of(folded text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return array(
        select distinct w collate "C"
          from regexp_split_to_table(
              folded, '[\u0001-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u3020]+') as w
         where char_length(w) > 1
         order by w collate "C");
end
$$;

CREATE FUNCTION app.write_arrivals(conversation_id uuid, user_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if app.creates_event(conversation_id) then
        perform app.write_event(
            conversation_id,
            pg_catalog.jsonb_build_object('type', 'members_added', 'user_ids', pg_catalog.to_jsonb(user_ids)),
            case pg_catalog.cardinality(user_ids) when 1 then 'A member was added.' else 'Members were added.' end);
    end if;
end
$$;

CREATE FUNCTION app.write_departure(conversation_id uuid, user_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    has_left boolean := user_id = auth.uid();
begin
    if not app.creates_event(conversation_id)
       or not exists (select from public.conversation_members m
                       where m.conversation_id = write_departure.conversation_id) then
        return false;
    end if;
    perform app.write_event(
        conversation_id,
        pg_catalog.jsonb_build_object(
            'type', case when has_left then 'member_left' else 'member_removed' end,
            'user_ids', pg_catalog.jsonb_build_array(user_id)),
        case when has_left then 'Left the group.' else 'A member was removed.' end);
    return true;
end
$$;

CREATE FUNCTION app.write_event(conversation_id uuid, event jsonb, content text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into public.messages (conversation_id, sender_id, kind, content, event)
    values (conversation_id, auth.uid(), 'system', content, event);
end
$$;

CREATE FUNCTION app.write_title() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if app.creates_event(new.id) then
        perform app.write_event(
            new.id, pg_catalog.jsonb_build_object('type', 'renamed', 'title', new.title),
            pg_catalog.format('The group is called “%s” now.', new.title));
    end if;
    return null;
end
$$;

CREATE FUNCTION auth.jwt() RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$ select nullif(current_setting('request.jwt.claims', true), '')::jsonb $$;

CREATE FUNCTION auth.role() RETURNS text
    LANGUAGE sql STABLE
    AS $$ select nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role' $$;

CREATE FUNCTION auth.uid() RETURNS uuid
    LANGUAGE sql STABLE
    AS $$ select coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
                                  nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $$;

CREATE FUNCTION feed.change_ranges(since pg_snapshot, bound xid8) RETURNS TABLE(lows xid8[], highs xid8[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT (w.ended || pg_snapshot_xmax(change_ranges.since)),
     (ARRAY( SELECT (((((x.x)::text)::bigint + 1))::text)::xid8 AS xid8
            FROM unnest(w.ended) x(x)) || change_ranges.bound)
    FROM ( SELECT ARRAY( SELECT x.x
                    FROM pg_snapshot_xip(change_ranges.since) x(x)
                   WHERE pg_visible_in_snapshot(x.x, pg_current_snapshot())
                   ORDER BY x.x) AS ended) w;
END;

CREATE FUNCTION feed.changed_conversations(lows xid8[], highs xid8[]) RETURNS TABLE(id uuid)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.id
    FROM (UNNEST(changed_conversations.lows, changed_conversations.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.id
            FROM public.conversations t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.changed_delivered_marks(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, user_id uuid, last_delivered_seq bigint, changed_xid xid8)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.user_id,
     r.last_delivered_seq,
     r.changed_xid
    FROM (UNNEST(changed_delivered_marks.lows, changed_delivered_marks.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.user_id,
             t.last_delivered_seq,
             t.changed_xid
            FROM public.delivered_marks t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE TABLE app.former_members (
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    wrote boolean NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    joined_xid xid8 DEFAULT '3'::xid8 NOT NULL
);

CREATE FUNCTION feed.changed_former_members(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, user_id uuid, wrote boolean, joined_xid xid8, changed_xid xid8)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.user_id,
     r.wrote,
     r.joined_xid,
     r.changed_xid
    FROM (UNNEST(changed_former_members.lows, changed_former_members.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.user_id,
             t.wrote,
             t.joined_xid,
             t.changed_xid
            FROM app.former_members t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.changed_held(lows xid8[], highs xid8[]) RETURNS TABLE(message_id uuid, content_bytes integer)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.message_id,
     octet_length(r.content) AS octet_length
    FROM (UNNEST(changed_held.lows, changed_held.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.message_id,
             t.content
            FROM app.held_messages t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.changed_members(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, user_id uuid, last_read_seq bigint, joined_xid xid8, changed_xid xid8)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.user_id,
     r.last_read_seq,
     r.joined_xid,
     r.changed_xid
    FROM (UNNEST(changed_members.lows, changed_members.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.user_id,
             t.last_read_seq,
             t.joined_xid,
             t.changed_xid
            FROM public.conversation_members t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.changed_messages(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, sender_id uuid, content_bytes integer)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.sender_id,
     octet_length((r.content)::text) AS octet_length
    FROM (UNNEST(changed_messages.lows, changed_messages.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.sender_id,
             t.content
            FROM public.messages t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE TABLE public.conversation_mutes (
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    muted_until timestamp with time zone,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    marked_unread_seq bigint,
    archived_at timestamp with time zone,
    pinned_at timestamp with time zone,
    scheduled_count integer DEFAULT 0 NOT NULL,
    unsent_count integer DEFAULT 0 NOT NULL,
    CONSTRAINT conversation_mutes_until_finite CHECK (isfinite(muted_until))
);

CREATE FUNCTION feed.changed_mutes(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, user_id uuid, changed_xid xid8)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.user_id,
     r.changed_xid
    FROM (UNNEST(changed_mutes.lows, changed_mutes.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.user_id,
             t.changed_xid
            FROM public.conversation_mutes t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.changed_own_reactions(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, user_id uuid, seq bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.user_id,
     r.seq
    FROM (UNNEST(changed_own_reactions.lows, changed_own_reactions.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.user_id,
             t.seq
            FROM public.message_reactions t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE TABLE public.message_pieces (
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    start integer NOT NULL,
    content text NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

CREATE FUNCTION feed.changed_pieces(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, seq bigint, start integer, content text, changed_xid xid8)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.seq,
     r.start,
     r.content,
     r.changed_xid
    FROM (UNNEST(changed_pieces.lows, changed_pieces.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.seq,
             t.start,
             t.content,
             t.changed_xid
            FROM public.message_pieces t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE TABLE public.presence (
    user_id uuid NOT NULL,
    is_online boolean DEFAULT false NOT NULL,
    last_seen_at timestamp with time zone,
    is_hidden boolean DEFAULT false NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    hidden_xid xid8,
    CONSTRAINT presence_hidden_shows_nothing CHECK ((NOT (is_hidden AND (is_online OR (last_seen_at IS NOT NULL)))))
)
WITH (fillfactor='70');

CREATE FUNCTION feed.changed_presence(lows xid8[], highs xid8[]) RETURNS TABLE(user_id uuid, is_online boolean, last_seen_at timestamp with time zone, changed_xid xid8, hidden_xid xid8)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.user_id,
     r.is_online,
     r.last_seen_at,
     r.changed_xid,
     r.hidden_xid
    FROM (UNNEST(changed_presence.lows, changed_presence.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.user_id,
             t.is_online,
             t.last_seen_at,
             t.changed_xid,
             t.hidden_xid
            FROM public.presence t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.changed_profiles(lows xid8[], highs xid8[]) RETURNS TABLE(id uuid, is_deleted boolean, changed_xid xid8)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.id,
     r.is_deleted,
     r.changed_xid
    FROM (UNNEST(changed_profiles.lows, changed_profiles.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.id,
             t.is_deleted,
             t.changed_xid
            FROM public.user_profiles t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.changed_reactions(lows xid8[], highs xid8[]) RETURNS TABLE(conversation_id uuid, seq bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.conversation_id,
     r.seq
    FROM (UNNEST(changed_reactions.lows, changed_reactions.highs) s(low, high)
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.seq
            FROM public.reaction_counts t
           WHERE ((t.changed_xid >= s.low) AND (t.changed_xid < s.high))
          OFFSET 0) r);
END;

CREATE FUNCTION feed.concerned(since pg_snapshot, users uuid[]) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return query select * from feed.users_with_changes(since, users);
end
$$;

CREATE FUNCTION feed.count_changes(since pg_snapshot, lows xid8[], highs xid8[], INOUT members integer, INOUT profiles integer, INOUT conversations integer, INOUT former_members integer, INOUT messages integer, INOUT presence integer, INOUT mutes integer, INOUT reactions integer, INOUT delivered integer, INOUT pieces integer, OUT has_deletions boolean, OUT entered uuid[], OUT is_opened boolean, OUT has_too_many boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- The most rows, and bytes of content, in one poll. For presence it is the number of users who return when a node
    -- has ended; a conversation of an audience takes 37 bytes. Without a bound, the profiles of 220 users in 1,800
    -- groups took a second.
    most_rows constant integer := 5000;
    most_profiles constant integer := 1000;
    most_profile_audience constant integer := 100000;
    most_conversations constant integer := 1000;
    most_mutes constant integer := 1000;
    most_entered constant integer := 250;
    most_bytes constant bigint := 16777216;
    most_presence constant integer := 10000;
    most_audience constant integer := 400000;
    deletions integer := 0;
    bytes bigint := 0;
    profile_audience integer := 0;
    audience integer := 0;
    own_reactions integer := 0;
    piece_bytes bigint := 0;
    held_bytes bigint := 0;
    -- Former members, of conversations in `entered`, who wrote in them.
    writers integer := 0;
begin
    entered := '{}';
    is_opened := true;
    if profiles > 0 then
        select count(*), count(*) filter (where n.is_deleted) into profiles, deletions from (
            select t.is_deleted from feed.changed_profiles(lows, highs) t limit most_profiles + 1) n;
        if profiles <= most_profiles then
            select count(*) into profile_audience from (
                select from feed.changed_profiles(lows, highs) t
                 cross join lateral (
                    select from public.conversation_members m where m.user_id = t.id
                    union all
                    select from app.former_members f where f.user_id = t.id and f.wrote) m
                 limit most_profile_audience + 1) n;
        end if;
    end if;
    has_deletions := deletions > 0 or profiles > most_profiles;
    if members > 0 then
        select count(*) into members from (
            select from feed.changed_members(lows, highs) limit most_rows + 1) n;
        if members <= most_rows then
            entered := array(
                select distinct m.conversation_id from feed.changed_members(lows, highs) m
                 where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since));
        end if;
        if entered <> '{}' then
            select count(*) into writers from (
                select from app.former_members f where f.conversation_id = any(entered) and f.wrote
                 limit most_rows + 1) n;
            -- Reads only sizes, and only of rows that would be returned.
            is_opened := (
                select coalesce(sum(octet_length(m.content) + coalesce(pg_column_size(m.attachment), 0)), 0)
                  from unnest(entered) as e (id)
                  join public.conversations c on c.id = e.id
                  join public.messages m on m.conversation_id = c.id and m.seq > c.last_seq - 100)
              + (select coalesce(sum(pg_column_size(p)), 0)
                   from public.conversation_members m join public.user_profiles p on p.id = m.user_id
                  where m.conversation_id = any(entered)) <= app.opening_bytes();
        end if;
    end if;
    if conversations > 0 then
        select count(*) into conversations from (
            select from feed.changed_conversations(lows, highs) limit most_conversations + 1) n;
    end if;
    if former_members > 0 then
        select count(*) into former_members from (
            select from feed.changed_former_members(lows, highs) limit most_rows + 1) n;
    end if;
    if messages > 0 then
        select count(*), coalesce(sum(n.content_bytes), 0) into messages, bytes from (
            select t.content_bytes from feed.changed_messages(lows, highs) t limit most_rows + 1) n;
    end if;
    if presence > 0 then
        select count(*) into presence from (
            select from feed.changed_presence(lows, highs) limit most_presence + 1) n;
        if presence <= most_presence then
            select count(*) into audience from (
                select from feed.changed_presence(lows, highs) t
                  join public.conversation_members m on m.user_id = t.user_id
                 limit most_audience + 1) n;
        end if;
    end if;
    if mutes > 0 then
        select count(*) into mutes from (
            select from feed.changed_mutes(lows, highs) limit most_mutes + 1) n;
        -- A message that is held changes its sender's own conversation.
        select coalesce(sum(n.content_bytes), 0) into held_bytes from (
            select h.content_bytes from feed.changed_held(lows, highs) h limit most_rows) n;
    end if;
    if reactions > 0 then
        select count(*) into reactions from (
            select from feed.changed_reactions(lows, highs) limit most_rows + 1) n;
        if reactions <= most_rows then
            select count(*) into own_reactions from (
                select from feed.changed_own_reactions(lows, highs) limit most_rows + 1) n;
        end if;
    end if;
    if delivered > 0 then
        select count(*) into delivered from (
            select from feed.changed_delivered_marks(lows, highs) limit most_rows + 1) n;
    end if;
    if pieces > 0 then
        select count(*), coalesce(sum(octet_length(n.content)), 0) into pieces, piece_bytes from (
            select t.content from feed.changed_pieces(lows, highs) t limit most_rows + 1) n;
    end if;
    has_too_many := members > most_rows or profiles > most_profiles or profile_audience > most_profile_audience
        or conversations > most_conversations or messages > most_rows or bytes + piece_bytes + held_bytes > most_bytes
        or former_members > most_rows or pg_catalog.cardinality(entered) > most_entered or writers > most_rows
        or presence > most_presence or audience > most_audience or mutes > most_mutes
        or reactions > most_rows or own_reactions > most_rows or delivered > most_rows
        or pieces > most_rows;
end
$$;

CREATE FUNCTION feed.has_no_changes(epochs text[], users uuid[], sinces pg_snapshot[]) RETURNS TABLE(place integer, epoch text, snapshot text, conversation_ids text, is_durable boolean, sees_presence boolean)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_nestloop TO 'off'
    AS $$
#variable_conflict use_column
declare
    most constant integer := 512;
    most_memberships constant integer := 8192;
    most_conversations constant integer := 256;
    epoch_now text := app.epoch();
    now_seen pg_snapshot := pg_catalog.pg_current_snapshot();
    is_on_disk boolean := pg_catalog.pg_current_wal_insert_lsn() <= pg_catalog.pg_current_wal_flush_lsn();
    oldest xid8 := (select min(pg_catalog.pg_snapshot_xmin(s)) from pg_catalog.unnest(sinces) s);
begin
    return query
    with members as materialized (
        select m.user_id, m.conversation_id, m.changed_xid as xid from public.conversation_members m
         where m.changed_xid >= oldest order by m.changed_xid desc limit most),
    leavers as materialized (
        select f.user_id, f.changed_xid as xid from app.former_members f
         where f.changed_xid >= oldest order by f.changed_xid desc limit most),
    profiles as materialized (
        select p.id as user_id, p.changed_xid as xid from public.user_profiles p
         where p.changed_xid >= oldest order by p.changed_xid desc limit most),
    presences as materialized (
        select p.user_id, p.changed_xid as xid from public.presence p
         where p.changed_xid >= oldest order by p.changed_xid desc limit most),
    reactions as materialized (
        select r.conversation_id, r.changed_xid as xid from public.reaction_counts r
         where r.changed_xid >= oldest order by r.changed_xid desc limit most),
    streams as materialized (
        select s.conversation_id, s.changed_xid as xid from app.message_streams s
         where s.changed_xid >= oldest limit most),
    -- Each message is followed by the marks of its receivers: a walk that did not reach its end leaves out nobody, but
    -- the marks of the conversations are read.
    delivered as materialized (
        select d.conversation_id, d.user_id, d.changed_xid as xid from public.delivered_marks d
         where d.changed_xid >= oldest order by d.changed_xid desc limit most),
    reached_delivered as materialized (
        select min(w.xid) as xid from delivered w having count(*) = most),
    -- The last transaction of the walks that did not reach their end; null if all did.
    reached as materialized (
        select max(e.xid) as xid from (
            select min(w.xid) as xid from members w having count(*) = most
            union all
            select min(w.xid) from leavers w having count(*) = most
            union all
            select min(w.xid) from profiles w having count(*) = most
            union all
            select min(w.xid) from presences w having count(*) = most
            union all
            select min(w.xid) from reactions w having count(*) = most
            union all
            -- They have no order: if there are so many, nobody is found to be without changes.
            select pg_catalog.pg_snapshot_xmax(now_seen) from streams w having count(*) = most) e),
    xids as materialized (
        select m.xid from members m union select p.xid from profiles p union select p.xid from presences p
        union select r.xid from reactions r union select d.xid from delivered d union select s.xid from streams s),
    asked as materialized (
        select a.place, a.id, a.since, s.xmin, (
                select min(x.xid) from xids x
                 where x.xid >= s.xmin and not pg_catalog.pg_visible_in_snapshot(x.xid, a.since)) as first_unseen
          from rows from (pg_catalog.unnest(users), pg_catalog.unnest(sinces), pg_catalog.unnest(epochs))
               with ordinality as a (id, since, epoch, place)
         cross join lateral (select pg_catalog.pg_snapshot_xmin(a.since) as xmin) s
         where a.epoch = epoch_now
           and pg_catalog.pg_snapshot_xmax(a.since) <= pg_catalog.pg_snapshot_xmax(now_seen)
           and coalesce(s.xmin > (select r.xid from reached r), true)),
    -- The conversations of changed users, from the newest change.
    conversations_of_profiles as materialized (
        select m.conversation_id, w.xid
          from (select p.user_id, p.xid from profiles p order by p.xid desc) w
         cross join lateral (
            select m.conversation_id from public.conversation_members m where m.user_id = w.user_id
            union all
            -- Messages of former members show their profiles.
            select f.conversation_id from app.former_members f where f.user_id = w.user_id offset 0) m
         where w.xid >= (select min(a.first_unseen) from asked a)
         order by w.xid desc limit most_memberships),
    conversations_of_presences as materialized (
        select m.conversation_id, w.user_id, w.xid
          from (select p.user_id, p.xid from presences p order by p.xid desc) w
         cross join lateral (
            select m.conversation_id from public.conversation_members m where m.user_id = w.user_id offset 0) m
         where w.xid >= (select min(a.first_unseen) from asked a)
         order by w.xid desc limit most_memberships),
    reached_conversations as materialized (
        select max(e.xid) as xid from (
            select min(w.xid) as xid from conversations_of_profiles w having count(*) = most_memberships
            union all
            select min(w.xid) from conversations_of_presences w having count(*) = most_memberships) e),
    -- The newest change of each conversation, and the two newest of presence and of delivered marks.
    changed as materialized (
        select w.conversation_id, null::uuid as user_id, max(w.xid) as xid
          from (select m.conversation_id, m.xid from members m
                union all
                select r.conversation_id, r.xid from reactions r
                union all
                select s.conversation_id, s.xid from streams s
                union all
                select p.conversation_id, p.xid from conversations_of_profiles p) w
         group by w.conversation_id
        union all
        select w.conversation_id, w.user_id, w.xid
          from (select p.conversation_id, p.user_id, p.xid,
                       row_number() over (partition by p.conversation_id order by p.xid desc) as number
                  from conversations_of_presences p) w
         where w.number <= 2
        union all
        select w.conversation_id, w.user_id, w.xid
          from (select d.conversation_id, d.user_id, d.xid,
                       row_number() over (partition by d.conversation_id order by d.xid desc) as number
                  from delivered d) w
         where w.number <= 2),
    own as materialized (
        select m.user_id, m.xid from members m
        union all
        select l.user_id, l.xid from leavers l
        union all
        select p.user_id, p.xid from profiles p),
    checked as materialized (
        select a.place, a.id, a.since, a.xmin, a.first_unseen
          from asked a
         where coalesce(a.first_unseen > (select r.xid from reached_conversations r), true)
           and not exists (
                select from own o
                 where o.user_id = a.id and not pg_catalog.pg_visible_in_snapshot(o.xid, a.since))
           -- A node must know whom the others do not see (feed.unseen_users).
           and (select count(*) from app.blocked_users(a.id)) = 0
           and coalesce(pg_catalog.pg_visible_in_snapshot(
                   (select p.hidden_xid from public.presence p where p.user_id = a.id), a.since), true)),
    mine as materialized (
        select a.place, a.id as user_id, a.xmin, a.first_unseen, m.conversation_id, m.joined_xid, m.is_deleted
          from checked a
         cross join lateral (
            select m.conversation_id, m.joined_xid, m.is_deleted from public.conversation_members m
             where m.user_id = a.id limit most_conversations + 1) m),
    unsure as materialized (
        select n.place from mine n group by n.place having count(*) > most_conversations
        union all
        select n.place from mine n
          join changed w on w.conversation_id = n.conversation_id
         where w.xid >= n.first_unseen and w.user_id is distinct from n.user_id
        union all
        select n.place
          from (select n.place, n.xmin, n.joined_xid, c.changed_xid, c.last_message_xid
                  from mine n
                 cross join lateral (
                    select c.changed_xid, c.last_message_xid from public.conversations c
                     where c.id = n.conversation_id offset 0) c
                 where n.joined_xid >= n.xmin or c.changed_xid >= n.xmin or c.last_message_xid >= n.xmin) n
          join checked a on a.place = n.place
         where not (pg_catalog.pg_visible_in_snapshot(n.joined_xid, a.since)
                    and pg_catalog.pg_visible_in_snapshot(n.changed_xid, a.since)
                    -- Changes with each message that is sent, edited or deleted.
                    and coalesce(pg_catalog.pg_visible_in_snapshot(n.last_message_xid, a.since), true))
        union all
        select n.place
          from (select a.place, a.since from checked a where a.xmin <= (select r.xid from reached_delivered r)) a
          join mine n on n.place = a.place
         cross join lateral (
            select from public.delivered_marks d
             where d.conversation_id = n.conversation_id and d.user_id <> n.user_id and d.changed_xid >= n.xmin
               and not pg_catalog.pg_visible_in_snapshot(d.changed_xid, a.since)
             limit 1) d
        union all
        select a.place from checked a
         cross join lateral (
            select x.changed_xid from public.conversation_mutes x
             where x.user_id = a.id limit most_conversations) x
         where x.changed_xid >= a.xmin and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, a.since))
    select a.place::integer, epoch_now, now_seen::text, coalesce(n.ids, '{}')::text, is_on_disk,
           not coalesce((select p.is_hidden from public.presence p where p.user_id = a.id), false)
      from checked a
      left join (select n.place,
                        pg_catalog.array_agg(n.conversation_id order by n.conversation_id)
                            filter (where not n.is_deleted) as ids
                   from mine n group by n.place) n on n.place = a.place
     where a.place not in (select u.place from unsure u);
end
$$;

CREATE FUNCTION feed.read_changes(since pg_snapshot) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_memoize TO 'off'
    AS $$
#variable_conflict use_column
declare
    -- The ranges: from a low (inclusive) to its high (exclusive).
    beyond xid8 := pg_catalog.pg_snapshot_xmax(since);
    lows xid8[] := array[beyond];
    bound xid8 := (greatest(pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint,
                            coalesce(pg_catalog.pg_current_xact_id_if_assigned()::text::bigint + 1, 0)))::text::xid8;
    highs xid8[] := array[bound];
    -- 1 if the table may have changed rows, 0 if not.
    members integer := 1;
    profiles integer := 1;
    conversations integer := 1;
    former_members integer := 1;
    messages integer := 1;
    presence integer := 1;
    mutes integer := 1;
    reactions integer := 1;
    delivered integer := 1;
    pieces integer := 1;
    counts record;  -- feed.count_changes
begin
    if pg_catalog.pg_snapshot_xmin(since) = beyond then
        -- No transaction has had an id since then.
        if bound <= beyond then
            return;
        end if;
    else
        select r.lows, r.highs into lows, highs from feed.change_ranges(since, bound) r;
    end if;
    -- Not with several ranges: between them are rows of transactions in progress.
    if cardinality(lows) = 1 then
        select exists (select from public.conversation_members t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.user_profiles t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.conversations t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from app.former_members t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.messages t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.presence t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.conversation_mutes t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.reaction_counts t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.delivered_marks t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer,
               exists (select from public.message_pieces t
                        where t.changed_xid >= beyond and t.changed_xid < bound)::integer
          into members, profiles, conversations, former_members, messages, presence, mutes, reactions, delivered,
               pieces;
    end if;
    if members + profiles + conversations + former_members + messages + presence + mutes + reactions + delivered
       + pieces = 0
    then
        return;
    end if;

    counts := feed.count_changes(
        since, lows, highs, members, profiles, conversations, former_members, messages, presence, mutes, reactions,
        delivered, pieces);
    if counts.has_deletions then
        return query select * from feed.read_deleted(lows, highs);
    end if;
    if counts.has_too_many then
        return query select 'many', null::text, null::uuid, null::uuid, null::bigint, null::uuid[], null::text,
                            null::text, null::bigint[];
        return;
    end if;

    if counts.former_members > 0 then
        return query select * from feed.read_left(lows, highs);
    end if;
    if counts.members > 0 then
        return query select * from feed.read_joined(since, lows, highs);
    end if;
    if not counts.is_opened then
        return query select * from feed.read_joined_behind(since, lows, highs);
    end if;
    if counts.former_members > 0 then
        return query select * from feed.read_leaver_profiles(since, lows, highs);
    end if;
    if counts.profiles > 0 then
        return query select * from feed.read_profiles(since, lows, highs);
    end if;
    if counts.conversations > 0 then
        return query select * from feed.read_conversations(lows, highs);
    end if;
    if counts.mutes > 0 then
        return query select * from feed.read_held(lows, highs);
    end if;
    if counts.messages > 0 then
        -- Not a function: it could not be inlined, and its call would add 4 % to a poll with one message.
        return query
        select 'message', o.changed_xid::text, o.conversation_id, o.sender_id, o.seq, null::uuid[], o.object::text,
               null::text, null::bigint[]
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.message_objects t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) o
         order by o.conversation_id, o.seq;
    end if;
    if counts.members > 0 then
        return query select * from feed.read_marks(since, lows, highs);
    end if;
    if counts.messages > 0 then
        return query select * from feed.read_sender_marks(since, lows, highs);
    end if;
    if counts.delivered > 0 then
        return query select * from feed.read_delivered_marks(since, lows, highs);
    end if;
    if counts.entered <> '{}' then
        return query select * from feed.read_openings(since, counts.entered, counts.is_opened);
    end if;
    if counts.pieces > 0 then
        return query select * from feed.read_pieces(lows, highs);
    end if;
    if counts.reactions > 0 then
        return query select * from feed.read_own_reactions(lows, highs);
        return query select * from feed.read_reactions(lows, highs);
    end if;
    if counts.presence > 0 then
        return query select * from feed.read_presence_behind(since, lows, highs);
        return query select * from feed.read_presence(lows, highs);
    end if;
    if counts.entered <> '{}' then
        return query select * from feed.read_opening_presence(counts.entered);
    end if;
    if counts.mutes > 0 then
        return query select * from feed.read_own_conversations(lows, highs);
    end if;
end
$$;

CREATE FUNCTION feed.look(since pg_snapshot) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE STRICT
    BEGIN ATOMIC
 SELECT read_changes.kind,
     read_changes.xid,
     read_changes.conversation_id,
     read_changes.user_id,
     read_changes.seq,
     read_changes.audience,
     read_changes.object,
     read_changes.tail,
     read_changes.marks
    FROM feed.read_changes(look.since) read_changes(kind, xid, conversation_id, user_id, seq, audience, object, tail, marks);
END;

CREATE FUNCTION feed.missed_nothing(epochs text[], users uuid[], sinces pg_snapshot[]) RETURNS TABLE(place integer, epoch text, snapshot text, conversation_ids text, is_durable boolean, sees_presence boolean)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT has_no_changes.place,
     has_no_changes.epoch,
     has_no_changes.snapshot,
     has_no_changes.conversation_ids,
     has_no_changes.is_durable,
     has_no_changes.sees_presence
    FROM feed.has_no_changes(missed_nothing.epochs, missed_nothing.users, missed_nothing.sinces) has_no_changes(place, epoch, snapshot, conversation_ids, is_durable, sees_presence);
END;

CREATE FUNCTION feed.poll_changes(since pg_snapshot, features text[]) RETURNS TABLE(epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH now AS MATERIALIZED (
          SELECT app.epoch() AS epoch,
             (
                 CASE
                     WHEN pg_is_in_recovery() THEN app.standby_snapshot()
                     ELSE pg_current_snapshot()
                 END)::text AS snapshot,
                 CASE
                     WHEN (NOT pg_is_in_recovery()) THEN GREATEST(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())
                     ELSE NULL::pg_lsn
                 END AS written
         )
  SELECT n.epoch,
     n.snapshot,
         CASE
             WHEN (n.written IS NULL) THEN NULL::pg_lsn
             WHEN (n.written > pg_current_wal_flush_lsn()) THEN n.written
             ELSE NULL::pg_lsn
         END AS "case",
     l.kind,
     l.xid,
     l.conversation_id,
     l.user_id,
     l.seq,
         CASE
             WHEN ((l.tail IS NOT NULL) OR (NOT ('packed'::text = ANY (poll_changes.features)))) THEN l.audience
             ELSE NULL::uuid[]
         END AS "case",
     l.object,
         CASE
             WHEN ((l.tail IS NULL) AND ('packed'::text = ANY (poll_changes.features))) THEN encode(array_send(l.audience), 'hex'::text)
             ELSE l.tail
         END AS tail,
     l.marks
    FROM (now n
      LEFT JOIN ( SELECT k.kind,
             k.xid,
             k.conversation_id,
             k.user_id,
             k.seq,
             k.audience,
             k.object,
             k.tail,
             k.marks
            FROM feed.read_changes(poll_changes.since) k(kind, xid, conversation_id, user_id, seq, audience, object, tail, marks)
           WHERE (poll_changes.since IS NOT NULL)) l ON (
         CASE
             WHEN (l.kind = ANY (ARRAY['behind'::text, 'presence'::text, 'opening_presence'::text])) THEN ('presence'::text = ANY (poll_changes.features))
             WHEN (l.kind = 'own_conversation'::text) THEN ('mutes'::text = ANY (poll_changes.features))
             WHEN (l.kind = ANY (ARRAY['reaction'::text, 'own_reaction'::text, 'opening_reaction'::text])) THEN ('reactions'::text = ANY (poll_changes.features))
             WHEN (l.kind = 'delivered'::text) THEN ('delivered'::text = ANY (poll_changes.features))
             WHEN (l.kind = ANY (ARRAY['piece'::text, 'opening_piece'::text])) THEN ('pieces'::text = ANY (poll_changes.features))
             WHEN (l.kind = 'own_message'::text) THEN ('held'::text = ANY (poll_changes.features))
             ELSE true
         END));
END;

CREATE FUNCTION feed.next_look(since pg_snapshot) RETURNS TABLE(epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT poll_changes.epoch,
     poll_changes.snapshot,
     poll_changes.log_end,
     poll_changes.kind,
     poll_changes.xid,
     poll_changes.conversation_id,
     poll_changes.user_id,
     poll_changes.seq,
     poll_changes.audience,
     poll_changes.object,
     poll_changes.tail,
     poll_changes.marks
    FROM feed.poll_changes(next_look.since, '{}'::text[]) poll_changes(epoch, snapshot, log_end, kind, xid, conversation_id, user_id, seq, audience, object, tail, marks);
END;

CREATE FUNCTION feed.next_look(since pg_snapshot, features text[]) RETURNS TABLE(epoch text, snapshot text, log_end pg_lsn, kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT poll_changes.epoch,
     poll_changes.snapshot,
     poll_changes.log_end,
     poll_changes.kind,
     poll_changes.xid,
     poll_changes.conversation_id,
     poll_changes.user_id,
     poll_changes.seq,
     poll_changes.audience,
     poll_changes.object,
     poll_changes.tail,
     poll_changes.marks
    FROM feed.poll_changes(next_look.since, next_look.features) poll_changes(epoch, snapshot, log_end, kind, xid, conversation_id, user_id, seq, audience, object, tail, marks);
END;

CREATE FUNCTION feed.own_numbers(conversation_id uuid, members uuid[], marks bigint[]) RETURNS bigint[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select array_agg(n.muted_until order by n.place) || array_agg(n.unread_mentions order by n.place)
           || array_agg(n.flags order by n.place)
      from (select m.place,
                   case when x.muted_until > now() then (extract(epoch from least(
                            x.muted_until, timestamptz '9999-12-31 00:00:00+00')) * 1000000)::bigint
                        else 0 end as muted_until,
                   app.unread_mentions(own_numbers.conversation_id, m.id, m.mark) as unread_mentions,
                   (case when x.marked_unread_seq >= m.mark then 1 else 0 end
                    + case when x.archived_at is not null then 2 else 0 end
                    + case when x.pinned_at is not null then 4 else 0 end
                    + coalesce(least(x.scheduled_count, 4095)::bigint * 256 + x.unsent_count::bigint * 1048576, 0)
                   )::bigint as flags
              from unnest(members, marks) with ordinality as m (id, mark, place)
              left join public.conversation_mutes x
                on x.conversation_id = own_numbers.conversation_id and x.user_id = m.id) n
$$;

CREATE FUNCTION feed.read_conversations(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'conversation', c.changed_xid::text, c.id, null::uuid, c.last_seq, c.user_ids, c.head, c.tail,
           c.marks || feed.own_numbers(c.id, c.user_ids, c.marks)
      from unnest(lows, highs) as s (low, high)
      cross join lateral (select * from app.conversation_parts t
                           where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) c;
end
$$;

CREATE FUNCTION feed.read_deleted(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'deleted'::text,
     (p.changed_xid)::text AS changed_xid,
     NULL::uuid AS uuid,
     p.id,
     NULL::bigint AS int8,
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM feed.changed_profiles(read_deleted.lows, read_deleted.highs) p(id, is_deleted, changed_xid)
   WHERE p.is_deleted;
END;

CREATE FUNCTION feed.read_delivered_marks(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'delivered'::text,
     (d.changed_xid)::text AS changed_xid,
     d.conversation_id,
     d.user_id,
     GREATEST(d.last_delivered_seq, m.last_read_seq) AS "greatest",
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM (feed.changed_delivered_marks(read_delivered_marks.lows, read_delivered_marks.highs) d(conversation_id, user_id, last_delivered_seq, changed_xid)
      CROSS JOIN LATERAL ( SELECT t.last_read_seq,
             t.joined_xid
            FROM public.conversation_members t
           WHERE ((t.conversation_id = d.conversation_id) AND (t.user_id = d.user_id))
          OFFSET 0) m)
   WHERE pg_visible_in_snapshot(m.joined_xid, read_delivered_marks.since);
END;

CREATE FUNCTION feed.read_held(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'own_message', h.changed_xid::text, m.conversation_id, m.sender_id, m.seq, null::uuid[],
           app.held_object(h, m), null::text, null::bigint[]
      from feed.changed_held(lows, highs) c
      join app.held_messages h on h.message_id = c.message_id
      join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
      -- Not for users who have left meanwhile.
      join public.conversation_members o on o.conversation_id = m.conversation_id and o.user_id = m.sender_id
     order by m.conversation_id, m.seq;
end
$$;

CREATE FUNCTION feed.read_joined(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'joined'::text,
     (m.joined_xid)::text AS joined_xid,
     m.conversation_id,
     m.user_id,
     NULL::bigint AS int8,
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM feed.changed_members(read_joined.lows, read_joined.highs) m(conversation_id, user_id, last_read_seq, joined_xid, changed_xid)
   WHERE (NOT pg_visible_in_snapshot(m.joined_xid, read_joined.since));
END;

CREATE FUNCTION feed.read_joined_behind(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'behind'::text,
     NULL::text AS text,
     NULL::uuid AS uuid,
     m.user_id,
     NULL::bigint AS int8,
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM feed.changed_members(read_joined_behind.lows, read_joined_behind.highs) m(conversation_id, user_id, last_read_seq, joined_xid, changed_xid)
   WHERE (NOT pg_visible_in_snapshot(m.joined_xid, read_joined_behind.since));
END;

CREATE FUNCTION feed.read_leaver_profiles(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'profile', f.joined_xid::text, null::uuid, f.user_id, null::bigint, array[f.conversation_id],
           o.object::text, null::text, null::bigint[]
      from feed.changed_former_members(lows, highs) f
      join app.profile_objects o on o.id = f.user_id
     where f.wrote and not pg_catalog.pg_visible_in_snapshot(f.joined_xid, since);
end
$$;

CREATE FUNCTION feed.read_left(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'left'::text,
     (f.changed_xid)::text AS changed_xid,
     f.conversation_id,
     f.user_id,
     NULL::bigint AS int8,
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM feed.changed_former_members(read_left.lows, read_left.highs) f(conversation_id, user_id, wrote, joined_xid, changed_xid);
END;

CREATE FUNCTION feed.read_marks(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'read'::text,
     (m.changed_xid)::text AS changed_xid,
     m.conversation_id,
     m.user_id,
     m.last_read_seq,
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM feed.changed_members(read_marks.lows, read_marks.highs) m(conversation_id, user_id, last_read_seq, joined_xid, changed_xid)
   WHERE pg_visible_in_snapshot(m.joined_xid, read_marks.since);
END;

CREATE FUNCTION feed.read_opening_presence(entered uuid[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'opening_presence', null::text, m.conversation_id, p.user_id, null::bigint, null::uuid[],
           app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
      from public.conversation_members m join public.presence p on p.user_id = m.user_id
     where m.conversation_id = any(entered)
     order by m.conversation_id, m.joined_at, m.user_id;
end
$$;

CREATE FUNCTION feed.read_openings(since pg_snapshot, entered uuid[], is_opened boolean) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'opening_profile', null::text, w.conversation_id, w.user_id, null::bigint, null::uuid[], o.object::text,
           null::text, null::bigint[]
      from (select m.conversation_id, m.user_id, m.joined_at from public.conversation_members m
             where m.conversation_id = any(entered)
               -- The other members get the profiles of users who join.
               and (is_opened or not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since))
            union all
            -- Former members with messages here.
            select f.conversation_id, f.user_id, 'infinity' from app.former_members f
             where f.conversation_id = any(entered) and f.wrote and is_opened) w
      join app.profile_objects o on o.id = w.user_id
     order by w.conversation_id, w.joined_at, w.user_id;
    return query
    select 'opening_message', null::text, o.conversation_id, o.sender_id, o.seq, null::uuid[], o.object::text,
           null::text, null::bigint[]
      from unnest(entered) as e (id)
      join public.conversations c on c.id = e.id
      join app.message_objects o on o.conversation_id = c.id and o.seq > c.last_seq - 100
     where is_opened
     order by o.conversation_id, o.seq;
    -- A user who has returned may have set some of the reactions. First, since one object of a message is pushed. It
    -- belongs to the membership: without a transaction it would be pushed to sessions whose page had it.
    return query
    select 'own_reaction', w.joined_xid::text, r.conversation_id, w.user_id, r.seq, null::uuid[],
           app.reactions_object(r, w.own), null::text, null::bigint[]
      from (select m.conversation_id, m.user_id, m.joined_xid, o.seq,
                   json_agg(o.emoji order by o.created_at, o.emoji)::text as own
              from unnest(entered) as e (id)
              join public.conversations c on c.id = e.id
              join public.conversation_members m on m.conversation_id = c.id
              join public.message_reactions o
                on o.conversation_id = c.id and o.user_id = m.user_id and o.seq > c.last_seq - 100 and o.is_set
             where not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
             group by m.conversation_id, m.user_id, m.joined_xid, o.seq) w
      join public.reaction_counts r on r.conversation_id = w.conversation_id and r.seq = w.seq
     where is_opened
     order by r.conversation_id, r.seq, w.user_id;
    return query
    select 'opening_reaction', null::text, r.conversation_id, null::uuid, r.seq, null::uuid[],
           app.reactions_object(r, null), null::text, null::bigint[]
      from unnest(entered) as e (id)
      join public.conversations c on c.id = e.id
      join public.reaction_counts r on r.conversation_id = c.id and r.seq > c.last_seq - 100
     where is_opened and r.counts <> '{}'
     order by r.conversation_id, r.seq;
    return query
    select 'opening_piece', null::text, s.conversation_id, null::uuid, s.seq, null::uuid[],
           app.piece_object(s.conversation_id, s.seq, 0, app.stream_text(s.conversation_id, s.seq)), null::text,
           null::bigint[]
      from unnest(entered) as e (id)
      join public.conversations c on c.id = e.id
      join app.message_streams s on s.conversation_id = c.id and s.seq > c.last_seq - 100
     where is_opened
     order by s.conversation_id, s.seq;
end
$$;

CREATE FUNCTION feed.read_own_conversations(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    with own as materialized (
        select o.changed_xid, o.conversation_id, o.user_id from feed.changed_mutes(lows, highs) o),
    -- Once per conversation, since an edit of a message can tell all members of a large group their numbers.
    parts as materialized (
        select c.id, c.head, c.tail, c.last_seq
          from (select distinct o.conversation_id from own o) r
         cross join lateral (select * from app.conversation_parts t where t.id = r.conversation_id offset 0) c)
    -- The objects are those of app.conversation_objects.
    select 'own_conversation', o.changed_xid::text, c.id, o.user_id, null::bigint, null::uuid[],
           c.head || m.last_read_seq
               || app.own_members(
                      c.last_seq - m.last_read_seq, app.unread_mentions(c.id, m.user_id, m.last_read_seq),
                      x.marked_unread_seq >= m.last_read_seq, x.muted_until, x.archived_at is not null,
                      x.pinned_at is not null, x.scheduled_count, x.unsent_count)
               || c.tail,
           null::text, null::bigint[]
      from own o
      join parts c on c.id = o.conversation_id
      join public.conversation_members m on m.conversation_id = o.conversation_id and m.user_id = o.user_id
      join public.conversation_mutes x on x.conversation_id = o.conversation_id and x.user_id = o.user_id;
end
$$;

CREATE FUNCTION feed.read_own_reactions(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'own_reaction', c.changed_xid::text, c.conversation_id, r.user_id, c.seq, null::uuid[],
           app.reactions_object(c, o.emojis), null::text, null::bigint[]
      from (select distinct o.conversation_id, o.user_id, o.seq from feed.changed_own_reactions(lows, highs) o) r
      -- Not for users who have left meanwhile.
      join public.conversation_members m on m.conversation_id = r.conversation_id and m.user_id = r.user_id
      join public.reaction_counts c on c.conversation_id = r.conversation_id and c.seq = r.seq
     cross join lateral app.reactions_by(r.user_id, r.conversation_id, r.seq) o
     order by c.conversation_id, c.seq, r.user_id;
end
$$;

CREATE FUNCTION feed.read_pieces(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'piece', p.xid, p.conversation_id, null::uuid, p.seq, null::uuid[],
           app.piece_object(p.conversation_id, p.seq, p.start, p.content), null::text, null::bigint[]
      from (select p.conversation_id, p.seq, min(p.start) as start,
                   pg_catalog.string_agg(p.content, '' order by p.start) as content,
                   (pg_catalog.array_agg(p.changed_xid::text order by p.start desc))[1] as xid
              from feed.changed_pieces(lows, highs) p
             group by p.conversation_id, p.seq) p
     order by p.conversation_id, p.seq;
end
$$;

CREATE FUNCTION feed.read_presence(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'presence'::text,
     (p.changed_xid)::text AS changed_xid,
     NULL::uuid AS uuid,
     p.user_id,
     NULL::bigint AS int8,
     ARRAY( SELECT m.conversation_id
            FROM public.conversation_members m
           WHERE (m.user_id = p.user_id)) AS "array",
     app.presence_object(p.user_id, p.is_online, p.last_seen_at) AS presence_object,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM feed.changed_presence(read_presence.lows, read_presence.highs) p(user_id, is_online, last_seen_at, changed_xid, hidden_xid);
END;

CREATE FUNCTION feed.read_presence_behind(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'behind'::text,
     (p.hidden_xid)::text AS hidden_xid,
     NULL::uuid AS uuid,
     p.user_id,
     NULL::bigint AS int8,
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM feed.changed_presence(read_presence_behind.lows, read_presence_behind.highs) p(user_id, is_online, last_seen_at, changed_xid, hidden_xid)
   WHERE (NOT pg_visible_in_snapshot(p.hidden_xid, read_presence_behind.since));
END;

CREATE FUNCTION feed.read_profiles(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    -- One statement, since one of the two objects contains the other, and starting a statement is most of the cost.
    return query
    with changed as materialized (
        select o.*
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.me_objects t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) o)
    select 'me', c.changed_xid::text, null::uuid, c.id, null::bigint, null::uuid[], c.object::text, null::text,
           null::bigint[]
      from changed c
    union all
    select 'profile', c.public_changed_xid::text, null::uuid, c.id, null::bigint, array(
               select m.conversation_id from public.conversation_members m where m.user_id = c.id
               union all
               select f.conversation_id from app.former_members f where f.user_id = c.id and f.wrote),
           c.profile::text, null::text, null::bigint[]
      from changed c
     where not pg_catalog.pg_visible_in_snapshot(c.public_changed_xid, since);
end
$$;

CREATE FUNCTION feed.read_reactions(lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
    return query
    select 'reaction', c.changed_xid::text, c.conversation_id, null::uuid, c.seq, null::uuid[],
           app.reactions_object(c, null), null::text, null::bigint[]
      from feed.changed_reactions(lows, highs) r
      join public.reaction_counts c on c.conversation_id = r.conversation_id and c.seq = r.seq
     order by c.conversation_id, c.seq;
end
$$;

CREATE FUNCTION feed.read_sender_marks(since pg_snapshot, lows xid8[], highs xid8[]) RETURNS TABLE(kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text, marks bigint[])
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'read'::text,
     (m.sent_xid)::text AS sent_xid,
     m.conversation_id,
     m.user_id,
     m.last_read_seq,
     NULL::uuid[] AS uuid,
     NULL::text AS text,
     NULL::text AS text,
     NULL::bigint[] AS int8
    FROM (( SELECT DISTINCT n.conversation_id,
             n.sender_id
            FROM feed.changed_messages(read_sender_marks.lows, read_sender_marks.highs) n(conversation_id, sender_id, content_bytes)) w
      CROSS JOIN LATERAL ( SELECT t.conversation_id,
             t.user_id,
             t.last_read_seq,
             t.sent_xid,
             t.changed_xid
            FROM public.conversation_members t
           WHERE ((t.conversation_id = w.conversation_id) AND (t.user_id = w.sender_id))
          OFFSET 0) m)
   WHERE ((NOT pg_visible_in_snapshot(m.sent_xid, read_sender_marks.since)) AND pg_visible_in_snapshot(m.changed_xid, read_sender_marks.since));
END;

CREATE FUNCTION feed.unseen_users(user_id uuid) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return array(select app.blocked_users(user_id));
end
$$;

CREATE FUNCTION feed.users_with_changes(since pg_snapshot, users uuid[]) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    most_conversations constant integer := 256;
    most_rows constant integer := 512;
begin
    return query
    select u.id
      from unnest(users) as u (id)
     where exists (select from public.conversation_members m where m.user_id = u.id offset most_conversations)
        or exists (select from app.former_members f where f.user_id = u.id offset most_rows)
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select from public.conversation_members o where o.conversation_id = m.conversation_id offset 0) o
             where m.user_id = u.id offset most_rows)
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select from app.former_members f where f.conversation_id = m.conversation_id offset 0) f
             where m.user_id = u.id offset most_rows)
        or exists (
            select from public.user_profiles p
             where p.id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))
        or exists (
            select from app.former_members f
             where f.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(f.changed_xid, since))
        -- last_message_xid changes with each message that is sent, edited or deleted.
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select c.changed_xid, c.last_message_xid from public.conversations c
                 where c.id = m.conversation_id offset 0) c
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
                        and pg_catalog.pg_visible_in_snapshot(c.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since), true)))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select r.changed_xid from public.reaction_counts r
                 where r.conversation_id = m.conversation_id
                   and r.changed_xid >= pg_catalog.pg_snapshot_xmin(since) offset 0) r
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(r.changed_xid, since))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select d.changed_xid from public.delivered_marks d
                 where d.conversation_id = m.conversation_id and d.user_id <> u.id offset 0) d
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(d.changed_xid, since))
        or exists (
            select from public.conversation_members m
              join app.message_streams s on s.conversation_id = m.conversation_id
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(s.changed_xid, since))
        or exists (
            select from public.conversation_mutes x
             where x.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, since))
        or exists (
            select from public.presence p
             where p.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select o.user_id, o.changed_xid, o.sent_xid from public.conversation_members o
                 where o.conversation_id = m.conversation_id offset 0) o
             cross join lateral (
                select p.public_changed_xid from public.user_profiles p where p.id = o.user_id offset 0) p
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(o.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(o.sent_xid, since), true)
                        and pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since)))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select f.user_id from app.former_members f
                 where f.conversation_id = m.conversation_id and f.wrote offset 0) f
             cross join lateral (
                select p.public_changed_xid from public.user_profiles p where p.id = f.user_id offset 0) p
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since))
        or not exists (select from public.presence p where p.user_id = u.id and p.is_hidden) and exists (
            select from public.conversation_members m
             cross join lateral (
                select o.user_id from public.conversation_members o
                 where o.conversation_id = m.conversation_id and o.user_id <> u.id offset 0) o
             cross join lateral (
                select p.changed_xid from public.presence p where p.user_id = o.user_id offset 0) p
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since));
end
$$;

CREATE FUNCTION public.is_read(message public.messages) RETURNS boolean
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT (NOT (EXISTS ( SELECT
            FROM public.conversation_members m
           WHERE ((m.conversation_id = (is_read.message).conversation_id) AND (m.user_id <> (is_read.message).sender_id) AND (m.last_read_seq < (is_read.message).seq)))));
END;

CREATE FUNCTION public.unread_count(conversation public.conversations) RETURNS bigint
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT COALESCE(( SELECT ((unread_count.conversation).last_seq - m.last_read_seq)
            FROM public.conversation_members m
           WHERE ((m.conversation_id = (unread_count.conversation).id) AND (m.user_id = auth.uid()))), (0)::bigint) AS "coalesce";
END;

CREATE TABLE admin.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    operator text NOT NULL,
    database_role text DEFAULT SESSION_USER NOT NULL,
    action text NOT NULL,
    user_id uuid,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT audit_detail CHECK ((octet_length((detail)::text) <= 8192)),
    CONSTRAINT audit_operator CHECK (((octet_length(operator) >= 1) AND (octet_length(operator) <= 200)))
);

ALTER TABLE admin.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME admin.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW app.conversation_parts WITH (security_invoker='true') AS
 SELECT c.id,
    c.last_seq,
    c.changed_xid,
    m.user_ids,
    m.marks,
    concat('{"id":"', c.id, '","kind":"', c.kind, '","title":', COALESCE(to_json((c.title)::text), 'null'::json), ',"created_by":', app.quoted((c.created_by)::text), ',"participant1_id":', app.quoted((c.participant1_id)::text), ',"participant2_id":', app.quoted((c.participant2_id)::text), ',"members":[', m.objects, '],"last_seq":', c.last_seq, ',"version":', c.version, ',"last_message_content":', COALESCE(to_json(c.last_message_content), 'null'::json), ',"last_message_time":', COALESCE(app.quoted_utc(c.last_message_time), 'null'::text), ',"last_message_sender_id":', app.quoted((c.last_message_sender_id)::text), ',"last_read_seq":') AS head,
    concat(',"first_seq":', c.first_seq, ',"message_ttl_seconds":', COALESCE((c.message_ttl_seconds)::text, 'null'::text), ',"pinned_seqs":', COALESCE((array_to_json(c.pinned_seqs))::text, '[]'::text), ',"data":', COALESCE((c.data)::text, 'null'::text), ',"created_at":', COALESCE(app.quoted_utc(c.created_at), 'null'::text), ',"updated_at":', COALESCE(app.quoted_utc(c.updated_at), 'null'::text), '}') AS tail
   FROM ((public.conversations c
     CROSS JOIN LATERAL ( SELECT array_agg(d_1.user_id) AS users,
            array_agg(d_1.last_delivered_seq) AS seqs
           FROM public.delivered_marks d_1
          WHERE (d_1.conversation_id = c.id)
         OFFSET 0) d)
     CROSS JOIN LATERAL ( SELECT array_agg(m_1.user_id) AS user_ids,
            array_agg(m_1.last_read_seq) AS marks,
            string_agg(concat('{"user_id":"', m_1.user_id, '","role":"', m_1.role, '","joined_at":', COALESCE(app.quoted_utc(m_1.joined_at), 'null'::text), ',"last_read_seq":', m_1.last_read_seq, ',"last_delivered_seq":', GREATEST(m_1.last_read_seq, d.seqs[array_position(d.users, m_1.user_id)]), '}'), ','::text) AS objects
           FROM ( SELECT m_2.user_id,
                    m_2.role,
                    m_2.joined_at,
                    m_2.last_read_seq
                   FROM public.conversation_members m_2
                  WHERE (m_2.conversation_id = c.id)
                  ORDER BY m_2.joined_at, m_2.user_id) m_1) m);

CREATE VIEW app.conversation_objects WITH (security_invoker='true') AS
 SELECT c.id,
    m.user_id,
    c.changed_xid,
    (((c.head || m.last_read_seq) || app.own_members((c.last_seq - m.last_read_seq), n.unread_mentions, (x.marked_unread_seq >= m.last_read_seq), x.muted_until, (x.archived_at IS NOT NULL), (x.pinned_at IS NOT NULL), x.scheduled_count, x.unsent_count)) || c.tail) AS object
   FROM (((public.conversation_members m
     JOIN app.conversation_parts c ON ((c.id = m.conversation_id)))
     CROSS JOIN LATERAL ( SELECT count(*) AS unread_mentions
           FROM ( SELECT
                   FROM public.message_mentions y_1
                  WHERE ((y_1.conversation_id = m.conversation_id) AND (y_1.user_id = ANY (ARRAY[m.user_id, app.everyone()])) AND (y_1.seq > m.last_read_seq))
                 LIMIT app.max_unread_mentions()) y) n)
     LEFT JOIN public.conversation_mutes x ON (((x.conversation_id = m.conversation_id) AND (x.user_id = m.user_id))));

CREATE TABLE app.devices (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    user_id uuid NOT NULL,
    session_id uuid,
    platform text NOT NULL,
    token text NOT NULL,
    environment text NOT NULL,
    locale text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT devices_environment CHECK ((environment = ANY (ARRAY['production'::text, 'sandbox'::text]))),
    CONSTRAINT devices_platform CHECK ((platform = ANY (ARRAY['apns'::text, 'fcm'::text, 'webhook'::text]))),
    CONSTRAINT devices_token CHECK (((octet_length(token) >= 1) AND (octet_length(token) <= 2048)))
);

CREATE TABLE app.expired_sends (
    conversation_id uuid NOT NULL,
    client_id uuid NOT NULL,
    sender_id uuid NOT NULL,
    message_id uuid NOT NULL,
    seq bigint NOT NULL,
    first_sent bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expired_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE app.filter_rules (
    scope text NOT NULL,
    word text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT filter_rules_action_valid CHECK ((((action = ANY (ARRAY['refuse'::text, 'mask'::text])) AND (word <> '*'::text)) OR ((action = 'hold'::text) AND (scope = 'messages'::text)))),
    CONSTRAINT filter_rules_scope_valid CHECK ((scope = ANY (ARRAY['messages'::text, 'names'::text, 'titles'::text])))
);

CREATE TABLE app.identities (
    provider text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL,
    email text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT identities_email CHECK ((octet_length(email) <= 320)),
    CONSTRAINT identities_provider CHECK ((provider = ANY (ARRAY['apple'::text, 'email'::text]))),
    CONSTRAINT identities_subject CHECK (((octet_length(subject) >= 1) AND (octet_length(subject) <= 320)))
);

CREATE TABLE app.identity_attempts (
    provider text NOT NULL,
    subject text NOT NULL
);

CREATE TABLE app.leases (
    name text NOT NULL,
    holder uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE app.mail_counts (
    kind text NOT NULL,
    address_hash bytea NOT NULL,
    since timestamp with time zone NOT NULL,
    asked integer NOT NULL
);

CREATE TABLE app.mail_tokens (
    hash bytea NOT NULL,
    kind text NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT mail_tokens_hash CHECK ((octet_length(hash) = 32)),
    CONSTRAINT mail_tokens_kind CHECK ((kind = ANY (ARRAY['confirm_email'::text, 'change_email'::text, 'reset_password'::text])))
);

CREATE VIEW app.profile_objects WITH (security_invoker='true') AS
 SELECT p.id,
    p.username,
    p.changed_xid,
    p.public_changed_xid,
    p.is_guest,
    p.is_deleted,
    row_to_json(w.*) AS object
   FROM (public.user_profiles p
     CROSS JOIN LATERAL ( SELECT p.id,
                CASE
                    WHEN (NOT p.is_deleted) THEN p.username
                    ELSE NULL::text
                END AS username,
                CASE
                    WHEN (NOT p.is_deleted) THEN p.full_name
                    ELSE NULL::text
                END AS full_name,
            p.bio,
            p.avatar_type,
            p.avatar_id,
            p.avatar_url,
            p.website,
            p.location,
            p.language_code,
            p.is_verified,
            p.is_guest,
            p.is_deleted,
            p.attributes,
            p.version,
            app.utc(p.created_at) AS created_at,
            app.utc(p.updated_at) AS updated_at) w);

CREATE TABLE public.user_private (
    id uuid NOT NULL,
    email text,
    phone_number text,
    phone_verified boolean DEFAULT false NOT NULL,
    date_of_birth date,
    preferred_unit_system text DEFAULT 'metric'::text NOT NULL,
    preferences jsonb DEFAULT '{}'::jsonb NOT NULL,
    biological_sex text,
    height_cm numeric(5,2),
    username_changed_at timestamp with time zone,
    username_change_count integer DEFAULT 0 NOT NULL,
    is_moderator boolean DEFAULT false NOT NULL,
    CONSTRAINT user_private_biological_sex_valid CHECK ((biological_sex = ANY (ARRAY['male'::text, 'female'::text, 'other'::text]))),
    CONSTRAINT user_private_date_of_birth_valid CHECK ((date_of_birth >= '1900-01-01'::date)),
    CONSTRAINT user_private_height_cm_valid CHECK (((height_cm >= (30)::numeric) AND (height_cm <= (300)::numeric))),
    CONSTRAINT user_private_phone_number_valid CHECK ((phone_number ~ '^\+[1-9][0-9]{6,14}$'::text)),
    CONSTRAINT user_private_preferences_valid CHECK ((jsonb_typeof(preferences) = 'object'::text)),
    CONSTRAINT user_private_preferred_unit_system_valid CHECK ((preferred_unit_system = ANY (ARRAY['metric'::text, 'imperial'::text])))
);

CREATE VIEW app.me_objects WITH (security_invoker='true') AS
 SELECT p.id,
    p.changed_xid,
    p.public_changed_xid,
    o.profile,
    ((("left"((o.profile)::text, '-1'::integer) || ','::text) || substr((row_to_json(w.*))::text, 2)))::json AS object
   FROM ((((app.profile_objects p
     CROSS JOIN LATERAL ( SELECT p.object
         OFFSET 0) o(profile))
     JOIN public.user_private s ON ((s.id = p.id)))
     CROSS JOIN LATERAL ( SELECT s.biological_sex,
            trim_scale(s.height_cm) AS height_cm,
            s.date_of_birth) physical)
     CROSS JOIN LATERAL ( SELECT s.email,
            s.phone_number,
            s.phone_verified,
            s.date_of_birth,
            s.preferred_unit_system,
            s.preferences,
            row_to_json(physical.*) AS physical,
            app.utc(s.username_changed_at) AS username_changed_at,
            s.username_change_count,
            app.utc((s.username_changed_at + '90 days'::interval)) AS username_change_allowed_at,
            s.is_moderator) w);

CREATE TABLE app.media_removals (
    id uuid NOT NULL,
    purpose text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    is_stored boolean DEFAULT false NOT NULL
);

CREATE TABLE app.message_expiry (
    conversation_id uuid NOT NULL,
    check_at timestamp with time zone NOT NULL
);

CREATE VIEW app.sender_objects WITH (security_invoker='true') AS
 SELECT p.id,
    row_to_json(w.*) AS object
   FROM (public.user_profiles p
     CROSS JOIN LATERAL ( SELECT p.id,
                CASE
                    WHEN (NOT p.is_deleted) THEN p.username
                    ELSE NULL::text
                END AS username,
                CASE
                    WHEN (NOT p.is_deleted) THEN p.full_name
                    ELSE NULL::text
                END AS full_name,
            p.avatar_type,
            p.avatar_id,
            p.avatar_url,
            p.version) w);

CREATE VIEW app.message_objects WITH (security_invoker='true') AS
 SELECT m.id,
    m.conversation_id,
    m.seq,
    m.sender_id,
    m.client_id,
    m.version,
    m.sent_xid,
    m.changed_xid,
    m.reply_to_seq,
    m.deleted_at,
    app.message_object(m.*, s.object, r.mark,
        CASE
            WHEN (m.reply_to_seq IS NOT NULL) THEN ( SELECT app.reply_object(t.*) AS reply_object
               FROM public.messages t
              WHERE ((t.conversation_id = m.conversation_id) AND (t.seq = m.reply_to_seq)))
            ELSE NULL::text
        END) AS object
   FROM ((public.messages m
     CROSS JOIN LATERAL ( SELECT s_1.object
           FROM app.sender_objects s_1
          WHERE (s_1.id = m.sender_id)
         OFFSET 0) s)
     CROSS JOIN LATERAL ( SELECT min(r_1.last_read_seq) AS mark
           FROM public.conversation_members r_1
          WHERE (r_1.conversation_id = m.conversation_id)) r);

CREATE TABLE app.message_streams (
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    sender_id uuid NOT NULL,
    length integer DEFAULT 0 NOT NULL,
    appended_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE app.migrations (
    name text NOT NULL,
    hash text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE app.node_users (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL
);

CREATE TABLE app.nodes (
    id uuid NOT NULL,
    lease_until timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE app.profile_details (
    user_id uuid NOT NULL,
    first_name_length smallint,
    version_second timestamp with time zone,
    CONSTRAINT profile_details_first_name_length_check CHECK (((first_name_length >= 0) AND (first_name_length <= 100)))
);

CREATE TABLE app.push_backlog (
    device_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    sender_id uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL
);

CREATE TABLE app.push_cursor (
    only_one boolean DEFAULT true NOT NULL,
    epoch text NOT NULL,
    snapshot pg_snapshot NOT NULL,
    CONSTRAINT push_cursor_only_one CHECK (only_one)
);

CREATE TABLE app.push_queue (
    conversation_id uuid NOT NULL,
    sender_id uuid NOT NULL,
    seq bigint NOT NULL,
    noted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE app.retention_walk (
    only_one boolean DEFAULT true NOT NULL,
    "position" uuid,
    started_at timestamp with time zone NOT NULL,
    CONSTRAINT retention_walk_only_one CHECK (only_one)
);

CREATE TABLE app.search_names (
    user_id uuid NOT NULL,
    username text COLLATE pg_catalog."C",
    full_name text COLLATE pg_catalog."C",
    spelled_out text COLLATE pg_catalog."C",
    words text[] NOT NULL
);

CREATE TABLE app.settings (
    name text NOT NULL,
    value text NOT NULL
);

CREATE UNLOGGED TABLE app.stream_tickets (
    hash bytea NOT NULL,
    user_id uuid NOT NULL,
    sealed_token bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    is_used boolean DEFAULT false NOT NULL,
    resumes_until timestamp with time zone
);

CREATE TABLE app.unsettled_users (
    user_id uuid NOT NULL
);

CREATE TABLE app.used_identity_tokens (
    hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE app.words (
    word text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.blocks (
    blocker_id uuid NOT NULL,
    blocked_id uuid NOT NULL,
    blocked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT blocks_of_others CHECK ((blocker_id <> blocked_id))
);

CREATE TABLE public.built_in_avatars (
    id text NOT NULL,
    name text NOT NULL,
    color text NOT NULL,
    "position" integer DEFAULT 0 NOT NULL,
    CONSTRAINT built_in_avatars_color_check CHECK ((color ~ '^#[0-9a-f]{6}$'::text)),
    CONSTRAINT built_in_avatars_id_check CHECK ((id ~ '^[a-z0-9_]{1,40}$'::text))
);

CREATE TABLE public.username_history (
    id bigint NOT NULL,
    user_id uuid NOT NULL,
    old_username text NOT NULL,
    new_username text,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    held_until timestamp with time zone NOT NULL
);

ALTER TABLE public.username_history ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.username_history_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY admin.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.devices
    ADD CONSTRAINT devices_one_token UNIQUE (platform, token);

ALTER TABLE ONLY app.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.expired_sends
    ADD CONSTRAINT expired_sends_pkey PRIMARY KEY (conversation_id, client_id, sender_id);

ALTER TABLE ONLY app.filter_rules
    ADD CONSTRAINT filter_rules_pkey PRIMARY KEY (scope, word);

ALTER TABLE ONLY app.former_members
    ADD CONSTRAINT former_members_pkey PRIMARY KEY (conversation_id, user_id);

ALTER TABLE ONLY app.held_messages
    ADD CONSTRAINT held_messages_pkey PRIMARY KEY (message_id);

ALTER TABLE ONLY app.identities
    ADD CONSTRAINT identities_one_a_provider UNIQUE (user_id, provider);

ALTER TABLE ONLY app.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (provider, subject);

ALTER TABLE ONLY app.identity_attempts
    ADD CONSTRAINT identity_attempts_pkey PRIMARY KEY (provider, subject);

ALTER TABLE ONLY app.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY app.mail_counts
    ADD CONSTRAINT mail_counts_pkey PRIMARY KEY (kind, address_hash);

ALTER TABLE ONLY app.mail_tokens
    ADD CONSTRAINT mail_tokens_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY app.mails
    ADD CONSTRAINT mails_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.media_removals
    ADD CONSTRAINT media_removals_pkey PRIMARY KEY (id, purpose);

ALTER TABLE ONLY app.merged_guests
    ADD CONSTRAINT merged_guests_pkey PRIMARY KEY (guest_id);

ALTER TABLE ONLY app.message_expiry
    ADD CONSTRAINT message_expiry_pkey PRIMARY KEY (conversation_id);

ALTER TABLE ONLY app.message_moves
    ADD CONSTRAINT message_moves_pkey PRIMARY KEY (conversation_id, guest_id);

ALTER TABLE ONLY app.message_streams
    ADD CONSTRAINT message_streams_pkey PRIMARY KEY (conversation_id, seq);

ALTER DOMAIN app.message_kind
    ADD CONSTRAINT messages_kind_valid CHECK ((VALUE = ANY (ARRAY['text'::text, 'image'::text, 'video'::text, 'audio'::text, 'file'::text, 'custom'::text, 'system'::text]))) NOT VALID;

ALTER TABLE ONLY app.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);

ALTER TABLE ONLY app.node_users
    ADD CONSTRAINT node_users_pkey PRIMARY KEY (node_id, user_id);

ALTER TABLE ONLY app.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.profile_details
    ADD CONSTRAINT profile_details_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY app.push_backlog
    ADD CONSTRAINT push_backlog_pkey PRIMARY KEY (device_id, conversation_id);

ALTER TABLE ONLY app.push_cursor
    ADD CONSTRAINT push_cursor_pkey PRIMARY KEY (only_one);

ALTER TABLE ONLY app.push_queue
    ADD CONSTRAINT push_queue_pkey PRIMARY KEY (conversation_id);

ALTER TABLE ONLY app.pushes
    ADD CONSTRAINT pushes_pkey PRIMARY KEY (device_id, conversation_id);

ALTER TABLE ONLY app.reaction_pushes
    ADD CONSTRAINT reaction_pushes_pkey PRIMARY KEY (device_id, conversation_id);

ALTER TABLE ONLY app.reports
    ADD CONSTRAINT reports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.retention_walk
    ADD CONSTRAINT retention_walk_pkey PRIMARY KEY (only_one);

ALTER TABLE ONLY app.search_names
    ADD CONSTRAINT search_names_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY app.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);

ALTER TABLE ONLY app.stream_tickets
    ADD CONSTRAINT stream_tickets_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY app.used_identity_tokens
    ADD CONSTRAINT used_identity_tokens_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY app.words
    ADD CONSTRAINT words_pkey PRIMARY KEY (word);

ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_phone_key UNIQUE (phone);

ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.blocks
    ADD CONSTRAINT blocks_pkey PRIMARY KEY (blocker_id, blocked_id);

ALTER TABLE public.built_in_avatars
    ADD CONSTRAINT built_in_avatars_name_valid CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))) NOT VALID;

ALTER TABLE ONLY public.built_in_avatars
    ADD CONSTRAINT built_in_avatars_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.conversation_members
    ADD CONSTRAINT conversation_members_pkey PRIMARY KEY (conversation_id, user_id);

ALTER TABLE ONLY public.conversation_mutes
    ADD CONSTRAINT conversation_mutes_pkey PRIMARY KEY (conversation_id, user_id);

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_participants_key UNIQUE (participant1_id, participant2_id);

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.delivered_marks
    ADD CONSTRAINT delivered_marks_pkey PRIMARY KEY (conversation_id, user_id);

ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.message_mentions
    ADD CONSTRAINT message_mentions_pkey PRIMARY KEY (conversation_id, user_id, seq);

ALTER TABLE ONLY public.message_pieces
    ADD CONSTRAINT message_pieces_pkey PRIMARY KEY (conversation_id, seq, start);

ALTER TABLE ONLY public.message_reactions
    ADD CONSTRAINT message_reactions_pkey PRIMARY KEY (conversation_id, user_id, seq, emoji);

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_seq_key UNIQUE (conversation_id, seq);

ALTER TABLE ONLY public.presence
    ADD CONSTRAINT presence_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.reaction_counts
    ADD CONSTRAINT reaction_counts_pkey PRIMARY KEY (conversation_id, seq);

ALTER TABLE ONLY public.scheduled_messages
    ADD CONSTRAINT scheduled_messages_pkey PRIMARY KEY (sender_id, id);

ALTER TABLE ONLY public.user_private
    ADD CONSTRAINT user_private_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.user_profiles
    ADD CONSTRAINT user_profiles_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.user_profiles
    ADD CONSTRAINT user_profiles_username_key UNIQUE (username);

ALTER TABLE ONLY public.username_history
    ADD CONSTRAINT username_history_pkey PRIMARY KEY (id);

CREATE INDEX audit_user_id ON admin.audit USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX devices_session_id ON app.devices USING btree (session_id) WHERE (session_id IS NOT NULL);

CREATE INDEX devices_user_id ON app.devices USING btree (user_id);

CREATE INDEX expired_sends_expired_at ON app.expired_sends USING btree (expired_at);

CREATE INDEX former_members_changed_xid ON app.former_members USING btree (changed_xid);

CREATE INDEX former_members_user_id ON app.former_members USING btree (user_id);

CREATE INDEX held_messages_ask_at ON app.held_messages USING btree (ask_at) WHERE (ask_at IS NOT NULL);

CREATE INDEX held_messages_changed_xid ON app.held_messages USING btree (changed_xid);

CREATE INDEX held_messages_held_at ON app.held_messages USING btree (held_at, message_id);

CREATE INDEX held_messages_sender ON app.held_messages USING btree (sender_id);

CREATE INDEX mail_counts_since ON app.mail_counts USING btree (since);

CREATE INDEX mail_tokens_expires_at ON app.mail_tokens USING btree (expires_at);

CREATE INDEX mail_tokens_user_id ON app.mail_tokens USING btree (user_id);

CREATE INDEX mails_due_at ON app.mails USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX mails_user_id ON app.mails USING btree (user_id);

CREATE INDEX media_removals_is_stored_due_at ON app.media_removals USING btree (is_stored DESC, due_at);

CREATE INDEX merged_guests_account_id ON app.merged_guests USING btree (account_id);

CREATE INDEX merged_guests_merged_xid ON app.merged_guests USING btree (merged_xid);

CREATE INDEX message_expiry_check_at ON app.message_expiry USING btree (check_at);

CREATE INDEX message_moves_into_id ON app.message_moves USING btree (into_id) WHERE (into_id IS NOT NULL);

CREATE INDEX message_streams_sender_id ON app.message_streams USING btree (sender_id);

CREATE INDEX node_users_user_id ON app.node_users USING btree (user_id);

CREATE INDEX pushes_sender_id_due_at ON app.pushes USING btree (sender_id, due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX reaction_pushes_due_at ON app.reaction_pushes USING btree (due_at);

CREATE INDEX reports_closed ON app.reports USING btree (created_at, id) WHERE (state = 'closed'::text);

CREATE INDEX reports_evidence ON app.reports USING btree (closed_at) WHERE ((evidence IS NOT NULL) AND (state = 'closed'::text));

CREATE INDEX reports_notify_at ON app.reports USING btree (notify_at) WHERE (notify_at IS NOT NULL);

CREATE INDEX reports_pending ON app.reports USING btree (created_at, id) WHERE (state <> 'closed'::text);

CREATE INDEX reports_pending_message ON app.reports USING btree (message_id) WHERE ((state <> 'closed'::text) AND (message_id IS NOT NULL));

CREATE INDEX reports_pending_reporter ON app.reports USING btree (reporter_id) WHERE (state <> 'closed'::text);

CREATE INDEX reports_reported ON app.reports USING btree (reported_id);

CREATE INDEX reports_reporter ON app.reports USING btree (reporter_id);

CREATE INDEX search_names_full_name_start ON app.search_names USING btree (full_name);

CREATE INDEX search_names_likeness ON app.search_names USING gin (username public.gin_trgm_ops, full_name public.gin_trgm_ops, spelled_out public.gin_trgm_ops) WITH (fastupdate=off);

CREATE INDEX search_names_spelled_out_start ON app.search_names USING btree (spelled_out) WHERE (spelled_out IS NOT NULL);

CREATE INDEX search_names_username_start ON app.search_names USING btree (username);

CREATE INDEX search_names_words ON app.search_names USING gin (words) WITH (fastupdate=off);

CREATE INDEX sessions_ended_xid ON app.sessions USING btree (ended_xid) WHERE (ended_xid IS NOT NULL);

CREATE INDEX sessions_forget_at ON app.sessions USING btree (forget_at) WHERE (forget_at IS NOT NULL);

CREATE INDEX sessions_living ON app.sessions USING btree (user_id) WHERE (revoked_at IS NULL);

CREATE INDEX sessions_user_id ON app.sessions USING btree (user_id);

CREATE INDEX stream_tickets_expires_at ON app.stream_tickets USING btree (expires_at);

CREATE INDEX stream_tickets_user_id ON app.stream_tickets USING btree (user_id, expires_at DESC);

CREATE INDEX used_identity_tokens_expires_at ON app.used_identity_tokens USING btree (expires_at);

CREATE INDEX words_likeness ON app.words USING gin (word public.gin_trgm_ops) WITH (fastupdate=off);

CREATE UNIQUE INDEX users_email_partial_key ON auth.users USING btree (email) WHERE (is_sso_user = false);

CREATE INDEX users_instance_id_email_idx ON auth.users USING btree (instance_id, lower((email)::text));

CREATE INDEX users_is_anonymous_idx ON auth.users USING btree (is_anonymous);

CREATE INDEX blocks_blocked_id ON public.blocks USING btree (blocked_id);

CREATE INDEX conversation_members_changed_xid ON public.conversation_members USING btree (changed_xid);

CREATE UNIQUE INDEX conversation_members_one_owner ON public.conversation_members USING btree (conversation_id) WHERE ((role)::text = 'owner'::text);

CREATE INDEX conversation_members_user_id ON public.conversation_members USING btree (user_id);

CREATE INDEX conversation_mutes_changed_xid ON public.conversation_mutes USING btree (changed_xid);

CREATE INDEX conversation_mutes_user_id ON public.conversation_mutes USING btree (user_id);

CREATE INDEX conversations_changed_xid ON public.conversations USING btree (changed_xid);

CREATE INDEX conversations_participant2_id ON public.conversations USING btree (participant2_id);

CREATE INDEX delivered_marks_changed_xid ON public.delivered_marks USING btree (changed_xid);

CREATE INDEX media_conversation_id ON public.media USING btree (conversation_id) WHERE (conversation_id IS NOT NULL);

CREATE INDEX media_owner_id ON public.media USING btree (owner_id) INCLUDE (bytes, removed_at);

CREATE INDEX media_unused ON public.media USING btree (created_at) WHERE (used_at IS NULL);

CREATE INDEX message_pieces_changed_xid ON public.message_pieces USING btree (changed_xid);

CREATE INDEX message_reactions_changed_xid ON public.message_reactions USING btree (changed_xid);

CREATE INDEX message_reactions_message ON public.message_reactions USING btree (conversation_id, seq, created_at, user_id, emoji) WHERE is_set;

CREATE INDEX message_reactions_taken_back ON public.message_reactions USING btree (conversation_id, seq) WHERE (NOT is_set);

CREATE INDEX messages_changed_xid ON public.messages USING btree (changed_xid);

CREATE UNIQUE INDEX messages_client_id_key ON public.messages USING btree (conversation_id, sender_id, client_id) WHERE (client_id IS NOT NULL);

CREATE INDEX messages_edited ON public.messages USING btree (conversation_id, changed_xid) WHERE (version > 1);

CREATE INDEX messages_reply_to ON public.messages USING btree (conversation_id, reply_to_seq, seq) WHERE (reply_to_seq IS NOT NULL);

CREATE INDEX messages_words ON public.messages USING gin (app.message_words(conversation_id, created_at, (content)::text)) WITH (fastupdate='on', gin_pending_list_limit='16384') WHERE ((content)::text <> ''::text);
ALTER INDEX public.messages_words ALTER COLUMN 1 SET STATISTICS 0;

CREATE INDEX presence_changed_xid ON public.presence USING btree (changed_xid);

CREATE INDEX reaction_counts_changed ON public.reaction_counts USING btree (conversation_id, changed_xid);

CREATE INDEX reaction_counts_changed_xid ON public.reaction_counts USING btree (changed_xid);

CREATE INDEX scheduled_messages_conversation_id ON public.scheduled_messages USING btree (conversation_id);

CREATE INDEX scheduled_messages_next_try_at ON public.scheduled_messages USING btree (next_try_at) WHERE (refusal IS NULL);

CREATE INDEX user_profiles_changed_xid ON public.user_profiles USING btree (changed_xid);

CREATE INDEX user_profiles_public_changed_xid ON public.user_profiles USING btree (public_changed_xid);

CREATE INDEX username_history_old_username ON public.username_history USING btree (old_username);

CREATE INDEX username_history_user_id ON public.username_history USING btree (user_id);

CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON admin.audit FOR EACH STATEMENT EXECUTE FUNCTION admin.refuse_change();

CREATE TRIGGER end_session BEFORE UPDATE ON app.sessions FOR EACH ROW WHEN ((new.revoked_at IS DISTINCT FROM old.revoked_at)) EXECUTE FUNCTION app.end_session();

CREATE TRIGGER follow AFTER DELETE ON app.held_messages FOR EACH ROW EXECUTE FUNCTION app.propagate_held();

CREATE TRIGGER forget_devices AFTER UPDATE ON app.sessions FOR EACH ROW WHEN (((new.revoked_at IS NOT NULL) AND (old.revoked_at IS NULL))) EXECUTE FUNCTION app.delete_session_devices();

CREATE TRIGGER postline_address BEFORE INSERT OR UPDATE OF email ON auth.users FOR EACH ROW EXECUTE FUNCTION app.store_address();

CREATE TRIGGER postline_changed_account AFTER UPDATE ON auth.users FOR EACH ROW WHEN ((((old.email)::text IS DISTINCT FROM (new.email)::text) OR (old.is_anonymous IS DISTINCT FROM new.is_anonymous))) EXECUTE FUNCTION app.propagate_account();

CREATE TRIGGER postline_ended_account AFTER UPDATE ON auth.users FOR EACH ROW WHEN ((((new.deleted_at IS NOT NULL) AND (old.deleted_at IS NULL)) OR ((new.banned_until > now()) AND (new.banned_until IS DISTINCT FROM old.banned_until)))) EXECUTE FUNCTION app.end_sessions();

CREATE TRIGGER postline_new_account AFTER INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION app.propagate_account();

CREATE TRIGGER postline_proven_account AFTER UPDATE ON auth.users FOR EACH ROW WHEN ((((old.email)::text IS DISTINCT FROM (new.email)::text) OR (old.email_confirmed_at IS DISTINCT FROM new.email_confirmed_at))) EXECUTE FUNCTION app.propagate_email_proof();

CREATE TRIGGER add_participants AFTER INSERT ON public.conversations FOR EACH ROW WHEN (((new.kind)::text = 'direct'::text)) EXECUTE FUNCTION app.add_participants();

CREATE TRIGGER avatar BEFORE UPDATE OF avatar_url ON public.user_profiles FOR EACH ROW WHEN (((new.avatar_url IS DISTINCT FROM old.avatar_url) AND (new.avatar_url IS NOT NULL))) EXECUTE FUNCTION app.use_avatar();

CREATE TRIGGER check_new BEFORE INSERT ON public.scheduled_messages FOR EACH ROW EXECUTE FUNCTION app.check_scheduled();

CREATE TRIGGER count_changed AFTER UPDATE ON public.message_reactions REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION app.count_reactions();

CREATE TRIGGER count_new AFTER INSERT ON public.message_reactions REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION app.count_reactions();

CREATE TRIGGER count_removed AFTER DELETE ON public.message_reactions REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION app.count_reactions();

CREATE TRIGGER delete_expired AFTER UPDATE OF first_seq ON public.conversations FOR EACH ROW WHEN ((new.first_seq > old.first_seq)) EXECUTE FUNCTION app.delete_expired();

CREATE TRIGGER erase_user AFTER UPDATE ON public.user_profiles FOR EACH ROW EXECUTE FUNCTION app.erase_user();

CREATE TRIGGER follow AFTER INSERT OR DELETE ON public.blocks FOR EACH ROW EXECUTE FUNCTION app.propagate_block();

CREATE TRIGGER follow_avatar AFTER UPDATE OF avatar_url, is_deleted ON public.user_profiles FOR EACH ROW EXECUTE FUNCTION app.propagate_avatar();

CREATE TRIGGER follow_changed AFTER UPDATE ON public.messages FOR EACH ROW WHEN (((old.version <> new.version) AND (old.conversation_id = new.conversation_id) AND (old.sender_id = new.sender_id))) EXECUTE FUNCTION app.propagate_message();

CREATE TRIGGER follow_changed AFTER UPDATE ON public.scheduled_messages FOR EACH ROW WHEN ((((new.sender_id IS DISTINCT FROM old.sender_id) OR (new.conversation_id IS DISTINCT FROM old.conversation_id)) OR ((new.refusal IS NULL) IS DISTINCT FROM (old.refusal IS NULL)))) EXECUTE FUNCTION app.propagate_scheduled();

CREATE TRIGGER follow_new_preference AFTER INSERT ON public.user_private FOR EACH ROW WHEN (((new.preferences ->> 'presence'::text) = 'nobody'::text)) EXECUTE FUNCTION app.propagate_preference();

CREATE TRIGGER follow_picture AFTER UPDATE ON public.messages FOR EACH ROW WHEN (((old.attachment IS NOT NULL) AND (((new.conversation_id IS DISTINCT FROM old.conversation_id) OR (new.sender_id IS DISTINCT FROM old.sender_id)) OR (new.attachment IS DISTINCT FROM old.attachment)))) EXECUTE FUNCTION app.propagate_media();

CREATE TRIGGER follow_preference AFTER UPDATE ON public.user_private FOR EACH ROW WHEN (((old.preferences -> 'presence'::text) IS DISTINCT FROM (new.preferences -> 'presence'::text))) EXECUTE FUNCTION app.propagate_preference();

CREATE TRIGGER follow_rows AFTER INSERT OR DELETE ON public.scheduled_messages FOR EACH ROW EXECUTE FUNCTION app.propagate_scheduled();

CREATE TRIGGER follow_ttl AFTER UPDATE OF message_ttl_seconds ON public.conversations FOR EACH ROW WHEN ((new.message_ttl_seconds IS DISTINCT FROM old.message_ttl_seconds)) EXECUTE FUNCTION app.propagate_ttl();

CREATE TRIGGER follow_words AFTER INSERT ON public.user_profiles FOR EACH ROW WHEN ((NOT new.is_guest)) EXECUTE FUNCTION app.propagate_words();

CREATE TRIGGER follow_words_changed AFTER UPDATE OF username, full_name, is_guest, is_deleted ON public.user_profiles FOR EACH ROW EXECUTE FUNCTION app.propagate_words();

CREATE TRIGGER keep BEFORE INSERT ON public.blocks FOR EACH ROW EXECUTE FUNCTION app.validate_block();

CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON public.conversation_mutes FOR EACH ROW EXECUTE FUNCTION app.record_mute_change();

CREATE TRIGGER keep BEFORE INSERT ON public.conversations FOR EACH ROW EXECUTE FUNCTION app.validate_conversation();

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OF last_delivered_seq ON public.delivered_marks FOR EACH ROW EXECUTE FUNCTION app.validate_delivered_mark();

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OF conversation_id, user_id, seq, emoji, is_set ON public.message_reactions FOR EACH ROW EXECUTE FUNCTION app.validate_reaction();

CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON public.user_private FOR EACH ROW EXECUTE FUNCTION app.validate_private();

CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON public.user_profiles FOR EACH ROW EXECUTE FUNCTION app.validate_profile();

CREATE TRIGGER keep_changed BEFORE UPDATE OF conversation_id, user_id, role, joined_at ON public.conversation_members FOR EACH ROW EXECUTE FUNCTION app.validate_member();

CREATE TRIGGER keep_changed BEFORE UPDATE OF id, kind, participant1_id, participant2_id, title, created_by, pinned_seqs, data, first_seq, message_ttl_seconds ON public.conversations FOR EACH ROW EXECUTE FUNCTION app.validate_conversation();

CREATE TRIGGER keep_changed BEFORE UPDATE ON public.messages FOR EACH ROW WHEN ((((((((((((((((new.id IS DISTINCT FROM old.id) OR (new.conversation_id IS DISTINCT FROM old.conversation_id)) OR (new.seq IS DISTINCT FROM old.seq)) OR (new.sender_id IS DISTINCT FROM old.sender_id)) OR (new.client_id IS DISTINCT FROM old.client_id)) OR ((new.kind)::text IS DISTINCT FROM (old.kind)::text)) OR ((new.content)::text IS DISTINCT FROM (old.content)::text)) OR (new.attachment IS DISTINCT FROM old.attachment)) OR (new.event IS DISTINCT FROM old.event)) OR (new.edited_at IS DISTINCT FROM old.edited_at)) OR (new.deleted_at IS DISTINCT FROM old.deleted_at)) OR (new.reply_to_seq IS DISTINCT FROM old.reply_to_seq)) OR (new.mentions IS DISTINCT FROM old.mentions)) OR (new.mentions_everyone IS DISTINCT FROM old.mentions_everyone)) OR (new.data IS DISTINCT FROM old.data))) EXECUTE FUNCTION app.validate_message();

CREATE TRIGGER keep_mark BEFORE UPDATE OF last_read_seq ON public.conversation_members FOR EACH ROW WHEN ((new.sent_seq = old.sent_seq)) EXECUTE FUNCTION app.validate_read_mark();

CREATE TRIGGER keep_new BEFORE INSERT ON public.conversation_members FOR EACH ROW EXECUTE FUNCTION app.validate_new_member();

CREATE TRIGGER keep_username BEFORE UPDATE OF username ON public.user_profiles FOR EACH ROW EXECUTE FUNCTION app.validate_username();

CREATE TRIGGER note_arrivals AFTER INSERT ON public.conversation_members REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION app.record_arrivals();

CREATE TRIGGER note_change AFTER UPDATE ON public.user_private FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION app.record_private_change();

CREATE TRIGGER note_removal AFTER DELETE ON public.conversation_members FOR EACH ROW EXECUTE FUNCTION app.record_removal();

CREATE TRIGGER note_username AFTER INSERT OR UPDATE OF username, is_deleted ON public.user_profiles FOR EACH ROW EXECUTE FUNCTION app.record_username();

CREATE TRIGGER number BEFORE INSERT ON public.messages FOR EACH ROW EXECUTE FUNCTION app.number_message();

CREATE TRIGGER propagate_details AFTER UPDATE ON public.user_profiles FOR EACH ROW WHEN (((old.version <> new.version) OR (old.full_name IS DISTINCT FROM new.full_name))) EXECUTE FUNCTION app.propagate_profile_details();

CREATE TRIGGER queue_removal AFTER DELETE ON public.media FOR EACH ROW EXECUTE FUNCTION app.queue_removal();

CREATE TRIGGER queue_removed AFTER UPDATE ON public.media FOR EACH ROW WHEN (((new.removed_at IS NOT NULL) AND (old.removed_at IS NULL))) EXECUTE FUNCTION app.queue_removal();

CREATE TRIGGER refuse_delete BEFORE DELETE ON public.conversations FOR EACH STATEMENT EXECUTE FUNCTION app.refuse_delete();

CREATE TRIGGER refuse_delete BEFORE DELETE ON public.messages FOR EACH ROW EXECUTE FUNCTION app.refuse_kept_message();

CREATE TRIGGER refuse_delete BEFORE DELETE ON public.user_profiles FOR EACH STATEMENT EXECUTE FUNCTION app.refuse_delete();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON public.conversation_members FOR EACH STATEMENT EXECUTE FUNCTION app.refuse_delete();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON public.conversations FOR EACH STATEMENT EXECUTE FUNCTION app.refuse_delete();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON public.messages FOR EACH STATEMENT EXECUTE FUNCTION app.refuse_delete();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON public.user_profiles FOR EACH STATEMENT EXECUTE FUNCTION app.refuse_delete();

CREATE TRIGGER ring AFTER INSERT OR DELETE OR UPDATE ON public.conversation_members FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR UPDATE ON public.conversation_mutes FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR DELETE OR UPDATE OF id, kind, participant1_id, participant2_id, title, created_by, pinned_seqs, data, version ON public.conversations FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR UPDATE ON public.delivered_marks FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR DELETE OR UPDATE ON public.message_pieces FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR DELETE OR UPDATE ON public.messages FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR DELETE OR UPDATE ON public.presence FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR DELETE OR UPDATE ON public.reaction_counts FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER ring AFTER INSERT OR DELETE OR UPDATE ON public.user_profiles FOR EACH STATEMENT EXECUTE FUNCTION app.notify_change();

CREATE TRIGGER write_title AFTER UPDATE OF title ON public.conversations FOR EACH ROW WHEN (((new.title)::text IS DISTINCT FROM (old.title)::text)) EXECUTE FUNCTION app.write_title();

ALTER TABLE ONLY app.devices
    ADD CONSTRAINT devices_session_id_fkey FOREIGN KEY (session_id) REFERENCES app.sessions(id) ON DELETE CASCADE;

ALTER TABLE ONLY app.devices
    ADD CONSTRAINT devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.former_members
    ADD CONSTRAINT former_members_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);

ALTER TABLE ONLY app.former_members
    ADD CONSTRAINT former_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.held_messages
    ADD CONSTRAINT held_messages_message_id_fkey FOREIGN KEY (message_id) REFERENCES public.messages(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY app.held_messages
    ADD CONSTRAINT held_messages_sender_id_fkey FOREIGN KEY (sender_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id) ON DELETE CASCADE;

ALTER TABLE ONLY app.mails
    ADD CONSTRAINT mails_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id) ON DELETE CASCADE;

ALTER TABLE ONLY app.merged_guests
    ADD CONSTRAINT merged_guests_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.merged_guests
    ADD CONSTRAINT merged_guests_guest_id_fkey FOREIGN KEY (guest_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.message_expiry
    ADD CONSTRAINT message_expiry_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id) ON DELETE CASCADE;

ALTER TABLE ONLY app.message_moves
    ADD CONSTRAINT message_moves_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);

ALTER TABLE ONLY app.message_moves
    ADD CONSTRAINT message_moves_guest_id_fkey FOREIGN KEY (guest_id) REFERENCES app.merged_guests(guest_id);

ALTER TABLE ONLY app.message_moves
    ADD CONSTRAINT message_moves_into_id_fkey FOREIGN KEY (into_id) REFERENCES public.conversations(id);

ALTER TABLE ONLY app.node_users
    ADD CONSTRAINT node_users_node_id_fkey FOREIGN KEY (node_id) REFERENCES app.nodes(id) ON DELETE CASCADE;

ALTER TABLE ONLY app.profile_details
    ADD CONSTRAINT profile_details_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id) ON DELETE CASCADE;

ALTER TABLE ONLY app.pushes
    ADD CONSTRAINT pushes_device_id_fkey FOREIGN KEY (device_id) REFERENCES app.devices(id) ON DELETE CASCADE;

ALTER TABLE ONLY app.reports
    ADD CONSTRAINT reports_moderator_id_fkey FOREIGN KEY (moderator_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.reports
    ADD CONSTRAINT reports_reported_id_fkey FOREIGN KEY (reported_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.reports
    ADD CONSTRAINT reports_reporter_id_fkey FOREIGN KEY (reporter_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.search_names
    ADD CONSTRAINT search_names_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY app.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.blocks
    ADD CONSTRAINT blocks_blocked_id_fkey FOREIGN KEY (blocked_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.blocks
    ADD CONSTRAINT blocks_blocker_id_fkey FOREIGN KEY (blocker_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.conversation_members
    ADD CONSTRAINT conversation_members_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);

ALTER TABLE ONLY public.conversation_members
    ADD CONSTRAINT conversation_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.conversation_mutes
    ADD CONSTRAINT conversation_mutes_conversation_id_user_id_fkey FOREIGN KEY (conversation_id, user_id) REFERENCES public.conversation_members(conversation_id, user_id) ON UPDATE CASCADE ON DELETE CASCADE;

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_participant1_id_fkey FOREIGN KEY (participant1_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_participant2_id_fkey FOREIGN KEY (participant2_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.message_mentions
    ADD CONSTRAINT message_mentions_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_sender_id_fkey FOREIGN KEY (sender_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.presence
    ADD CONSTRAINT presence_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.scheduled_messages
    ADD CONSTRAINT scheduled_messages_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);

ALTER TABLE ONLY public.scheduled_messages
    ADD CONSTRAINT scheduled_messages_sender_id_fkey FOREIGN KEY (sender_id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.user_private
    ADD CONSTRAINT user_private_id_fkey FOREIGN KEY (id) REFERENCES public.user_profiles(id);

ALTER TABLE ONLY public.user_profiles
    ADD CONSTRAINT user_profiles_avatar_id_fkey FOREIGN KEY (avatar_id) REFERENCES public.built_in_avatars(id);

ALTER TABLE ONLY public.user_profiles
    ADD CONSTRAINT user_profiles_id_fkey FOREIGN KEY (id) REFERENCES auth.users(id);

ALTER TABLE ONLY public.username_history
    ADD CONSTRAINT username_history_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_profiles(id);

ALTER TABLE admin.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.devices ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.expired_sends ENABLE ROW LEVEL SECURITY;

CREATE POLICY feed_select ON app.former_members FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON app.held_messages FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON app.message_streams FOR SELECT TO postline_feed USING (true);

ALTER TABLE app.filter_rules ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.former_members ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.held_messages ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.identities ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.identity_attempts ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.leases ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.mail_counts ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.mail_tokens ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.mails ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.media_removals ENABLE ROW LEVEL SECURITY;

CREATE POLICY member_select ON app.former_members FOR SELECT TO authenticated USING (((user_id = ( SELECT auth.uid() AS uid)) OR (conversation_id IN ( SELECT app.my_conversations() AS my_conversations))));

ALTER TABLE app.merged_guests ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.message_expiry ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.message_moves ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.message_streams ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.migrations ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.node_users ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.nodes ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_delete ON app.devices FOR DELETE TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_select ON app.devices FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

ALTER TABLE app.profile_details ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.push_backlog ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.push_cursor ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.push_queue ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.pushes ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.reaction_pushes ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.reports ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.retention_walk ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.search_names ENABLE ROW LEVEL SECURITY;

CREATE POLICY service_select ON app.former_members FOR SELECT TO service_role USING (true);

ALTER TABLE app.sessions ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.settings ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.stream_tickets ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.unsettled_users ENABLE ROW LEVEL SECURITY;

ALTER TABLE app.used_identity_tokens ENABLE ROW LEVEL SECURITY;

CREATE POLICY user_select ON app.profile_details FOR SELECT TO authenticated USING (true);

CREATE POLICY user_select ON app.search_names FOR SELECT TO authenticated USING (true);

CREATE POLICY user_select ON app.words FOR SELECT TO authenticated USING (true);

ALTER TABLE app.words ENABLE ROW LEVEL SECURITY;

ALTER TABLE auth.users ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.blocks ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.built_in_avatars ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.conversation_members ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.conversation_mutes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.conversations ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.delivered_marks ENABLE ROW LEVEL SECURITY;

CREATE POLICY everybody_select ON public.built_in_avatars FOR SELECT TO anon, authenticated USING (true);

CREATE POLICY feed_select ON public.conversation_members FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.conversation_mutes FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.conversations FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.delivered_marks FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.message_mentions FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.message_pieces FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.message_reactions FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.messages FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.presence FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.reaction_counts FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.user_private FOR SELECT TO postline_feed USING (true);

CREATE POLICY feed_select ON public.user_profiles FOR SELECT TO postline_feed USING (true);

CREATE POLICY group_delete ON public.conversation_members FOR DELETE TO authenticated USING ((((user_id = ( SELECT auth.uid() AS uid)) AND (conversation_id IN ( SELECT app.my_groups() AS my_groups))) OR (((role)::text = 'member'::text) AND (conversation_id IN ( SELECT app.my_groups('{owner,admin}'::text[]) AS my_groups))) OR (conversation_id IN ( SELECT app.my_groups('{owner}'::text[]) AS my_groups))));

CREATE POLICY manager_insert ON public.conversation_members FOR INSERT TO authenticated WITH CHECK (app.is_manager(conversation_id));

CREATE POLICY manager_update ON public.conversations FOR UPDATE TO authenticated USING ((id IN ( SELECT app.my_groups('{owner,admin}'::text[]) AS my_groups)));

ALTER TABLE public.media ENABLE ROW LEVEL SECURITY;

CREATE POLICY member_select ON public.conversation_members FOR SELECT TO authenticated USING ((conversation_id IN ( SELECT app.my_conversations() AS my_conversations)));

CREATE POLICY member_select ON public.conversations FOR SELECT TO authenticated USING (((id IN ( SELECT app.my_conversations() AS my_conversations)) OR ((created_by = ( SELECT auth.uid() AS uid)) AND (version = 1) AND (changed_xid = pg_current_xact_id_if_assigned()))));

CREATE POLICY member_select ON public.delivered_marks FOR SELECT TO authenticated USING ((conversation_id IN ( SELECT app.my_conversations() AS my_conversations)));

CREATE POLICY member_select ON public.message_pieces FOR SELECT TO authenticated USING ((conversation_id = ANY (ARRAY( SELECT app.my_conversations() AS my_conversations))));

CREATE POLICY member_select ON public.message_reactions FOR SELECT TO authenticated USING ((conversation_id = ANY (ARRAY( SELECT app.my_conversations() AS my_conversations))));

CREATE POLICY member_select ON public.messages FOR SELECT TO authenticated USING ((conversation_id = ANY (ARRAY( SELECT app.my_conversations() AS my_conversations))));

CREATE POLICY member_select ON public.reaction_counts FOR SELECT TO authenticated USING ((conversation_id = ANY (ARRAY( SELECT app.my_conversations() AS my_conversations))));

ALTER TABLE public.message_mentions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.message_pieces ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.message_reactions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.messages ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_delete ON public.blocks FOR DELETE TO authenticated USING ((blocker_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_delete ON public.scheduled_messages FOR DELETE TO authenticated USING ((sender_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_insert ON public.blocks FOR INSERT TO authenticated WITH CHECK ((blocker_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_insert ON public.conversation_mutes FOR INSERT TO authenticated WITH CHECK (((user_id = ( SELECT auth.uid() AS uid)) AND (conversation_id IN ( SELECT app.my_conversations() AS my_conversations))));

CREATE POLICY own_insert ON public.conversations FOR INSERT TO authenticated WITH CHECK ((((kind)::text = 'direct'::text) AND ((( SELECT auth.uid() AS uid) = participant1_id) OR (( SELECT auth.uid() AS uid) = participant2_id))));

CREATE POLICY own_insert ON public.message_reactions FOR INSERT TO authenticated WITH CHECK ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_insert ON public.messages FOR INSERT TO authenticated WITH CHECK (((sender_id = ( SELECT auth.uid() AS uid)) AND ((kind)::text <> 'system'::text)));

CREATE POLICY own_insert ON public.scheduled_messages FOR INSERT TO authenticated WITH CHECK ((sender_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_select ON public.blocks FOR SELECT TO authenticated USING ((blocker_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_select ON public.conversation_mutes FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_select ON public.message_mentions FOR SELECT TO authenticated USING (((user_id = ANY (ARRAY[( SELECT auth.uid() AS uid), app.everyone()])) AND (conversation_id = ANY (ARRAY( SELECT app.my_conversations() AS my_conversations)))));

CREATE POLICY own_select ON public.scheduled_messages FOR SELECT TO authenticated USING ((sender_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_select ON public.user_private FOR SELECT TO authenticated USING ((id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_select ON public.username_history FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_update ON public.conversation_members FOR UPDATE TO authenticated USING (((user_id = ( SELECT auth.uid() AS uid)) AND (NOT is_deleted))) WITH CHECK ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_update ON public.conversation_mutes FOR UPDATE TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid))) WITH CHECK ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_update ON public.message_reactions FOR UPDATE TO authenticated USING (((user_id = ( SELECT auth.uid() AS uid)) AND (conversation_id = ANY (ARRAY( SELECT app.my_conversations() AS my_conversations)))));

CREATE POLICY own_update ON public.user_private FOR UPDATE TO authenticated USING (((id = ( SELECT auth.uid() AS uid)) AND (NOT ( SELECT p.is_deleted
   FROM public.user_profiles p
  WHERE (p.id = user_private.id))))) WITH CHECK ((id = ( SELECT auth.uid() AS uid)));

CREATE POLICY own_update ON public.user_profiles FOR UPDATE TO authenticated USING (((id = ( SELECT auth.uid() AS uid)) AND (NOT is_deleted))) WITH CHECK ((id = ( SELECT auth.uid() AS uid)));

ALTER TABLE public.presence ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.reaction_counts ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.scheduled_messages ENABLE ROW LEVEL SECURITY;

CREATE POLICY seen_select ON public.media FOR SELECT TO authenticated USING ((((owner_id = ( SELECT auth.uid() AS uid)) AND ((used_at IS NULL) OR (purpose = 'avatar'::text) OR is_held)) OR ((used_at IS NOT NULL) AND (removed_at IS NULL) AND (is_held IS NULL) AND (conversation_id IN ( SELECT app.my_conversations() AS my_conversations)))));

CREATE POLICY sender_insert ON public.messages FOR INSERT TO postline_sender WITH CHECK ((EXISTS ( SELECT
   FROM public.conversation_members m
  WHERE ((m.conversation_id = messages.conversation_id) AND (m.user_id = messages.sender_id) AND (NOT m.is_deleted) AND (NOT m.is_blocked)))));

CREATE POLICY sender_select ON public.conversation_members FOR SELECT TO postline_sender USING (true);

CREATE POLICY sender_select ON public.user_profiles FOR SELECT TO postline_sender USING (true);

CREATE POLICY sender_update ON public.messages FOR UPDATE TO authenticated USING ((((sender_id = ( SELECT auth.uid() AS uid)) AND ((kind)::text <> 'system'::text) AND (conversation_id = ANY (ARRAY( SELECT app.my_conversations() AS my_conversations)))) OR (conversation_id = ANY (ARRAY( SELECT app.my_groups('{owner,admin}'::text[]) AS my_groups)))));

CREATE POLICY service_all ON public.blocks TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.built_in_avatars TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.conversation_members TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.conversation_mutes TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.conversations TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.media TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.message_reactions TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.messages TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.scheduled_messages TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.user_private TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.user_profiles TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_all ON public.username_history TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_select ON public.delivered_marks FOR SELECT TO service_role USING (true);

CREATE POLICY service_select ON public.message_mentions FOR SELECT TO service_role USING (true);

CREATE POLICY service_select ON public.message_pieces FOR SELECT TO service_role USING (true);

CREATE POLICY service_select ON public.presence FOR SELECT TO service_role USING (true);

CREATE POLICY service_select ON public.reaction_counts FOR SELECT TO service_role USING (true);

ALTER TABLE public.user_private ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.user_profiles ENABLE ROW LEVEL SECURITY;

CREATE POLICY user_select ON public.user_profiles FOR SELECT TO authenticated USING (true);

ALTER TABLE public.username_history ENABLE ROW LEVEL SECURITY;

CREATE POLICY visible_select ON public.presence FOR SELECT TO authenticated USING (((user_id = ( SELECT auth.uid() AS uid)) OR (user_id IN ( SELECT app.presence_visible_users() AS presence_visible_users))));

GRANT USAGE ON SCHEMA accounts TO postline_accounts;

GRANT USAGE ON SCHEMA api TO anon;
GRANT USAGE ON SCHEMA api TO authenticated;
GRANT USAGE ON SCHEMA api TO service_role;

GRANT USAGE ON SCHEMA app TO anon;
GRANT USAGE ON SCHEMA app TO authenticated;
GRANT USAGE ON SCHEMA app TO service_role;
GRANT USAGE ON SCHEMA app TO postline_feed;
GRANT USAGE ON SCHEMA app TO postline_sender;

GRANT USAGE ON SCHEMA auth TO anon;
GRANT USAGE ON SCHEMA auth TO authenticated;
GRANT USAGE ON SCHEMA auth TO service_role;
GRANT USAGE ON SCHEMA auth TO postline_feed;

GRANT USAGE ON SCHEMA feed TO postline_feed;

GRANT USAGE ON SCHEMA public TO anon;
GRANT USAGE ON SCHEMA public TO authenticated;
GRANT USAGE ON SCHEMA public TO service_role;
GRANT USAGE ON SCHEMA public TO postline_feed;
GRANT USAGE ON SCHEMA public TO postline_sender;

REVOKE ALL ON FUNCTION accounts.are_in_use(user_ids uuid[], session_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.are_in_use(user_ids uuid[], session_ids uuid[]) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.await_confirmation(user_id uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.await_confirmation(user_id uuid, most integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.change_password(user_id uuid, session_id uuid, old_hash text, new_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.change_password(user_id uuid, session_id uuid, old_hash text, new_hash text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.claim_mails(hashes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.claim_mails(hashes text[]) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.confirm_email(token_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.confirm_email(token_hash text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.credentials(email text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.credentials(email text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.delete_by_identity(user_id uuid, provider text, subject text, token_hash text, expires_at double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.delete_by_identity(user_id uuid, provider text, subject text, token_hash text, expires_at double precision) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.delete_user(user_id uuid, password_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.delete_user(user_id uuid, password_hash text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.ended_sessions(since pg_snapshot, OUT snapshot text, OUT session_ids text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.ended_sessions(since pg_snapshot, OUT snapshot text, OUT session_ids text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.ensure_profile(user_id uuid, is_anonymous boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.ensure_profile(user_id uuid, is_anonymous boolean) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.enter_by_identity(provider text, subject text, email text, full_name text, token_hash text, expires_at double precision, guest_session uuid, guest_generation integer, reuse_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.enter_by_identity(provider text, subject text, email text, full_name text, token_hash text, expires_at double precision, guest_session uuid, guest_generation integer, reuse_seconds integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.guest(full_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.guest(full_name text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.identified_account(provider text, subject text, email text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.identified_account(provider text, subject text, email text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.keep_ticket(hash text, user_id uuid, sealed_token text, token_expires double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.keep_ticket(hash text, user_id uuid, sealed_token text, token_expires double precision) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.logout(user_id uuid, session_id uuid, everywhere boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.logout(user_id uuid, session_id uuid, everywhere boolean) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.merge_external_guest(user_id uuid, guest_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.merge_external_guest(user_id uuid, guest_id uuid) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.merge_guest(user_id uuid, password_hash text, session_id uuid, generation integer, reuse_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.merge_guest(user_id uuid, password_hash text, session_id uuid, generation integer, reuse_seconds integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.open_session(session_id uuid, user_id uuid, password_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.open_session(session_id uuid, user_id uuid, password_hash text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.password_hash(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.password_hash(user_id uuid) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.record_mail_results(ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.record_mail_results(ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.redeem_ticket(hash text, is_used boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.redeem_ticket(hash text, is_used boolean) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.refresh(session_id uuid, generation integer, reuse_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.refresh(session_id uuid, generation integer, reuse_seconds integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.register(email text, password_hash text, username text, full_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.register(email text, password_hash text, username text, full_name text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.register(email text, password_hash text, username text, full_name text, needs_proof boolean, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.register(email text, password_hash text, username text, full_name text, needs_proof boolean, most integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.renew_hash(user_id uuid, old_hash text, new_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.renew_hash(user_id uuid, old_hash text, new_hash text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.request_email_change(user_id uuid, password_hash text, email text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.request_email_change(user_id uuid, password_hash text, email text, most integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.request_password_reset(email text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.request_password_reset(email text, most integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.reset_password(token_hash text, password_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.reset_password(token_hash text, password_hash text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.resettable_account(token_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.resettable_account(token_hash text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.settle_mails(ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.settle_mails(ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.sign_in_by_identity(provider text, subject text, email text, full_name text, token_hash text, expires_at double precision, guest_session uuid, guest_generation integer, reuse_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.sign_in_by_identity(provider text, subject text, email text, full_name text, token_hash text, expires_at double precision, guest_session uuid, guest_generation integer, reuse_seconds integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.store_ticket(hash text, user_id uuid, sealed_token text, token_expires double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.store_ticket(hash text, user_id uuid, sealed_token text, token_expires double precision) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.take_mails(hashes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.take_mails(hashes text[]) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.take_ticket(hash text, is_used boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.take_ticket(hash text, is_used boolean) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.upgrade(user_id uuid, email text, password_hash text, full_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.upgrade(user_id uuid, email text, password_hash text, full_name text) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.upgrade(user_id uuid, email text, password_hash text, full_name text, needs_proof boolean, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.upgrade(user_id uuid, email text, password_hash text, full_name text, needs_proof boolean, most integer) TO postline_accounts;

REVOKE ALL ON FUNCTION accounts.use_session(user_id uuid, session_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION accounts.use_session(user_id uuid, session_id uuid) TO postline_accounts;

REVOKE ALL ON FUNCTION admin.add_filter_rule(operator text, word text, scope text, action text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.check_limit(most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.checked_id(value text, what text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.checked_until(until text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.decide_held(operator text, conversation text, seq bigint, is_released boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.delete_user(operator text, who text, reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.disable(operator text, who text, until text, reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.enable(operator text, who text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.end_sessions(operator text, who text, session text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.filter_rules(most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.filter_scopes(scope text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.filter_word(word text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.held_messages(most integer, after text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.locked_user(who text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.log(who text, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.mails(most integer, in_full boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.masked_email(email text, in_full boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.matching_users(who text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.pushes(most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.record_action(operator text, action text, user_id uuid, detail jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.refuse_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.remove_filter_rule(operator text, word text, scope text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.report(id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.reports(state text, most integer, after text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.retry_mails(operator text, mail text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.retry_pushes(operator text, device text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.sessions(who text, ended boolean, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.set_moderator(operator text, who text, is_moderator boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.user_id(who text) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.user_object(user_id uuid, in_full boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.users(query text, most integer, in_full boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.utc(value timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION admin.waiting_pushes() FROM PUBLIC;

REVOKE ALL ON FUNCTION api.add_members(conversation_id uuid, user_ids uuid[], profiles boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.add_members(conversation_id uuid, user_ids uuid[], profiles boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.append_to_message(conversation_id uuid, seq bigint, start bigint, content text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.append_to_message(conversation_id uuid, seq bigint, start bigint, content text) TO authenticated;

REVOKE ALL ON FUNCTION api.assign_report(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.assign_report(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.avatars() FROM PUBLIC;
GRANT ALL ON FUNCTION api.avatars() TO authenticated;
GRANT ALL ON FUNCTION api.avatars() TO anon;

REVOKE ALL ON FUNCTION api.ban_user(user_id uuid, until text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.ban_user(user_id uuid, until text) TO authenticated;

REVOKE ALL ON FUNCTION api.block_user(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.block_user(user_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.blocked_users() FROM PUBLIC;
GRANT ALL ON FUNCTION api.blocked_users() TO authenticated;

REVOKE ALL ON FUNCTION api.change_username(username text, if_version bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.change_username(username text, if_version bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.compatible_conversations(max_results integer, before text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.compatible_conversations(max_results integer, before text) TO authenticated;

REVOKE ALL ON FUNCTION api.compatible_me() FROM PUBLIC;
GRANT ALL ON FUNCTION api.compatible_me() TO authenticated;

REVOKE ALL ON FUNCTION api.conversation(conversation_id uuid, profiles boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.conversation(conversation_id uuid, profiles boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.conversations(max_results integer, before text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.conversations(max_results integer, before text) TO authenticated;

REVOKE ALL ON FUNCTION api.create_group(title text, member_ids uuid[], profiles boolean, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION api.create_group(title text, member_ids uuid[], profiles boolean, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION api.create_media(purpose text, mime_type text, bytes bigint, conversation_id uuid, width integer, height integer, name text, quota bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.create_media(purpose text, mime_type text, bytes bigint, conversation_id uuid, width integer, height integer, name text, quota bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.create_report(conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.create_report(conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) TO authenticated;

REVOKE ALL ON FUNCTION api.delete_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.delete_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.devices() FROM PUBLIC;
GRANT ALL ON FUNCTION api.devices() TO authenticated;

REVOKE ALL ON FUNCTION api.edit_message(conversation_id uuid, seq bigint, content text, mentions uuid[], mentions_everyone boolean, data jsonb, keeps_data boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.edit_message(conversation_id uuid, seq bigint, content text, mentions uuid[], mentions_everyone boolean, data jsonb, keeps_data boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.export(after text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.export(after text) TO authenticated;

REVOKE ALL ON FUNCTION api.finish_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.finish_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.held_messages(max_results integer, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.held_messages(max_results integer, after text) TO authenticated;

REVOKE ALL ON FUNCTION api.mark_read(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.mark_read(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.me() FROM PUBLIC;
GRANT ALL ON FUNCTION api.me() TO authenticated;

REVOKE ALL ON FUNCTION api.member_count(conversation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.member_count(conversation_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.messages(conversation_id uuid, before_seq bigint, after_seq bigint, max_results integer) FROM PUBLIC;
GRANT ALL ON FUNCTION api.messages(conversation_id uuid, before_seq bigint, after_seq bigint, max_results integer) TO authenticated;

REVOKE ALL ON FUNCTION api.mute_conversation(conversation_id uuid, until text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.mute_conversation(conversation_id uuid, until text) TO authenticated;

REVOKE ALL ON FUNCTION api.open_conversation(user_id uuid, profiles boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.open_conversation(user_id uuid, profiles boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.pin_message(conversation_id uuid, seq bigint, is_pinned boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.pin_message(conversation_id uuid, seq bigint, is_pinned boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.presence(user_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION api.presence(user_ids uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION api.profile_by_username(username text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.profile_by_username(username text) TO authenticated;

REVOKE ALL ON FUNCTION api.profiles(ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION api.profiles(ids uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.set_reaction(conversation_id uuid, seq bigint, emoji text, is_set boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.set_reaction(conversation_id uuid, seq bigint, emoji text, is_set boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.react(conversation_id uuid, seq bigint, emoji text, is_set boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.react(conversation_id uuid, seq bigint, emoji text, is_set boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.reactions(conversation_id uuid, seq bigint, emoji text, max_results integer, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.reactions(conversation_id uuid, seq bigint, emoji text, max_results integer, after text) TO authenticated;

REVOKE ALL ON FUNCTION api.readable_media(ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION api.readable_media(ids uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION api.register_device(platform text, token text, environment text, locale text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.register_device(platform text, token text, environment text, locale text) TO authenticated;

REVOKE ALL ON FUNCTION api.reject_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.reject_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.release_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.release_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.remove_device(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.remove_device(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.remove_member(conversation_id uuid, user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.remove_member(conversation_id uuid, user_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.remove_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.remove_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.replies(conversation_id uuid, reply_to_seq bigint, before_seq bigint, after_seq bigint, max_results integer) FROM PUBLIC;
GRANT ALL ON FUNCTION api.replies(conversation_id uuid, reply_to_seq bigint, before_seq bigint, after_seq bigint, max_results integer) TO authenticated;

REVOKE ALL ON FUNCTION api.report(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.report(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.reports(state text, max_results integer, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.reports(state text, max_results integer, after text) TO authenticated;

REVOKE ALL ON FUNCTION api.resolve_report(id uuid, outcome text, comment text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.resolve_report(id uuid, outcome text, comment text) TO authenticated;

REVOKE ALL ON FUNCTION api.save_compatible_me(patch jsonb, if_version bigint, first_name text, last_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.save_compatible_me(patch jsonb, if_version bigint, first_name text, last_name text) TO authenticated;

REVOKE ALL ON FUNCTION api.save_me(patch jsonb, if_version bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.save_me(patch jsonb, if_version bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.schedule_message(conversation_id uuid, due_at text, content text, client_id uuid, kind text, attachment jsonb, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION api.schedule_message(conversation_id uuid, due_at text, content text, client_id uuid, kind text, attachment jsonb, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION api.scheduled_messages(conversation_id uuid, max_results integer, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.scheduled_messages(conversation_id uuid, max_results integer, after text) TO authenticated;

REVOKE ALL ON FUNCTION api.search_messages(query text, conversation_id uuid, sender_id uuid, max_results integer, before text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.search_messages(query text, conversation_id uuid, sender_id uuid, max_results integer, before text) TO authenticated;

REVOKE ALL ON FUNCTION api.search_profiles(query text, max_results integer) FROM PUBLIC;
GRANT ALL ON FUNCTION api.search_profiles(query text, max_results integer) TO authenticated;

REVOKE ALL ON FUNCTION api.seen_media(ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION api.seen_media(ids uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION api.send_message(conversation_id uuid, content text, client_id uuid, kind text, attachment jsonb, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION api.send_message(conversation_id uuid, content text, client_id uuid, kind text, attachment jsonb, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION api.sent_message(conversation_id uuid, content text, client_id uuid, kind text, attachment jsonb, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION api.sent_message(conversation_id uuid, content text, client_id uuid, kind text, attachment jsonb, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION api.set_avatar(avatar_type text, avatar_id text, avatar_url text, if_version bigint, media_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.set_avatar(avatar_type text, avatar_id text, avatar_url text, if_version bigint, media_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.set_conversation(conversation_id uuid, is_marked_unread boolean, is_archived boolean, is_pinned boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.set_conversation(conversation_id uuid, is_marked_unread boolean, is_archived boolean, is_pinned boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.set_member_role(conversation_id uuid, user_id uuid, role text, profiles boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.set_member_role(conversation_id uuid, user_id uuid, role text, profiles boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.stream_message(conversation_id uuid, content text, client_id uuid, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION api.stream_message(conversation_id uuid, content text, client_id uuid, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION api.sync(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer, OUT epoch_now text, OUT snapshot text, OUT reset boolean, OUT next_position text, OUT changes text, OUT conversation_ids text) FROM PUBLIC;
GRANT ALL ON FUNCTION api.sync(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer, OUT epoch_now text, OUT snapshot text, OUT reset boolean, OUT next_position text, OUT changes text, OUT conversation_ids text) TO authenticated;

REVOKE ALL ON FUNCTION api.typing(conversation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.typing(conversation_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.unban_user(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.unban_user(user_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.unblock_user(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.unblock_user(user_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.unschedule_message(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.unschedule_message(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION api.update_conversation(conversation_id uuid, title text, profiles boolean, data jsonb, keeps_data boolean, message_ttl_seconds integer, keeps_ttl boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION api.update_conversation(conversation_id uuid, title text, profiles boolean, data jsonb, keeps_data boolean, message_ttl_seconds integer, keeps_ttl boolean) TO authenticated;

REVOKE ALL ON FUNCTION api.update_me(patch jsonb, if_version bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.update_me(patch jsonb, if_version bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.update_physical(patch jsonb, if_version bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION api.update_physical(patch jsonb, if_version bigint) TO authenticated;

REVOKE ALL ON FUNCTION api.waiting_media(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION api.waiting_media(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.accepts_generation(session app.sessions, generation integer, reuse_seconds integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.account_ids(ids uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.acknowledged_messages(users uuid[], cursors pg_snapshot[], devices integer[], conversations uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.acquire_lease(name text, holder uuid, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION app.acquire_lease(name text, holder uuid, seconds double precision) TO postline_feed;

REVOKE ALL ON FUNCTION app.message_id() FROM PUBLIC;
GRANT ALL ON FUNCTION app.message_id() TO authenticated;
GRANT ALL ON FUNCTION app.message_id() TO service_role;

GRANT ALL ON TABLE public.messages TO service_role;
GRANT SELECT ON TABLE public.messages TO authenticated;
GRANT SELECT ON TABLE public.messages TO postline_feed;

GRANT INSERT(id) ON TABLE public.messages TO postline_sender;

GRANT INSERT(conversation_id) ON TABLE public.messages TO authenticated;
GRANT INSERT(conversation_id) ON TABLE public.messages TO postline_sender;

GRANT INSERT(seq) ON TABLE public.messages TO postline_sender;

GRANT INSERT(sender_id) ON TABLE public.messages TO authenticated;
GRANT INSERT(sender_id) ON TABLE public.messages TO postline_sender;

GRANT INSERT(client_id) ON TABLE public.messages TO authenticated;
GRANT INSERT(client_id) ON TABLE public.messages TO postline_sender;

GRANT INSERT(kind) ON TABLE public.messages TO authenticated;

GRANT INSERT(content),UPDATE(content) ON TABLE public.messages TO authenticated;
GRANT INSERT(content) ON TABLE public.messages TO postline_sender;

GRANT INSERT(attachment) ON TABLE public.messages TO authenticated;

GRANT INSERT(created_at) ON TABLE public.messages TO postline_sender;

GRANT UPDATE(deleted_at) ON TABLE public.messages TO authenticated;

GRANT INSERT(reply_to_seq) ON TABLE public.messages TO authenticated;
GRANT INSERT(reply_to_seq) ON TABLE public.messages TO postline_sender;

GRANT INSERT(mentions),UPDATE(mentions) ON TABLE public.messages TO authenticated;
GRANT INSERT(mentions) ON TABLE public.messages TO postline_sender;

GRANT INSERT(mentions_everyone),UPDATE(mentions_everyone) ON TABLE public.messages TO authenticated;
GRANT INSERT(mentions_everyone) ON TABLE public.messages TO postline_sender;

GRANT INSERT(data),UPDATE(data) ON TABLE public.messages TO authenticated;
GRANT INSERT(data) ON TABLE public.messages TO postline_sender;

REVOKE ALL ON FUNCTION app.add_details(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.add_participants() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.add_reactions(conversation_id uuid, seq bigint, emoji text, step bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.add_stream(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.added_users_param(conversation_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.answer_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION app.answer_bytes() TO authenticated;

REVOKE ALL ON FUNCTION app.append_conversation(from_id uuid, into_id uuid, guest uuid, account uuid, counted_from bigint, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.append_piece(conversation_id uuid, seq bigint, start bigint, content text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.append_piece(conversation_id uuid, seq bigint, start bigint, content text) TO authenticated;

REVOKE ALL ON FUNCTION app.append_pieces(senders uuid[], conversations uuid[], seqs bigint[], starts bigint[], contents text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.append_pieces(senders uuid[], conversations uuid[], seqs bigint[], starts bigint[], contents text[]) TO postline_sender;

REVOKE ALL ON FUNCTION app.apply_held_decision(message_id uuid, decision text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.apply_held_decision(message_id uuid, decision text) TO postline_feed;

REVOKE ALL ON FUNCTION app.assign_report(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.assign_report(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.attachment_content(kind text, content text, attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.attachment_content(kind text, content text, attachment jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.attachment_object(attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.attachment_object(attachment jsonb) TO postline_sender;
GRANT ALL ON FUNCTION app.attachment_object(attachment jsonb) TO authenticated;
GRANT ALL ON FUNCTION app.attachment_object(attachment jsonb) TO postline_feed;

REVOKE ALL ON FUNCTION app.attachment_members(attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.attachment_members(attachment jsonb) TO postline_sender;
GRANT ALL ON FUNCTION app.attachment_members(attachment jsonb) TO authenticated;
GRANT ALL ON FUNCTION app.attachment_members(attachment jsonb) TO postline_feed;

REVOKE ALL ON FUNCTION app.attachments(attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.attachments(attachment jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.ban_user(user_id uuid, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION app.ban_user(user_id uuid, until timestamp with time zone) TO authenticated;

REVOKE ALL ON FUNCTION app.bannable_account(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.blocked_users(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.blocked_users(user_id uuid) TO postline_feed;

REVOKE ALL ON FUNCTION app.caller() FROM PUBLIC;
GRANT ALL ON FUNCTION app.caller() TO authenticated;

REVOKE ALL ON FUNCTION app.cancel_mails(user_id uuid, kinds text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.change_avatar(avatar jsonb, path text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.change_avatar(avatar jsonb, path text) TO authenticated;

REVOKE ALL ON FUNCTION app.change_details(before public.messages, message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.change_fields(patch jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.change_fields(patch jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.change_message() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.change_physical(patch jsonb, path text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.change_physical(patch jsonb, path text) TO authenticated;

REVOKE ALL ON FUNCTION app.change_username(username text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.change_username(username text) TO authenticated;

REVOKE ALL ON FUNCTION app.changes_since(since pg_snapshot, until pg_snapshot, OUT mine uuid[], OUT touched uuid[], OUT has_any boolean, OUT has_profiles boolean, OUT has_presence boolean, OUT has_members boolean, OUT has_removals boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.changes_since(since pg_snapshot, until pg_snapshot, OUT mine uuid[], OUT touched uuid[], OUT has_any boolean, OUT has_profiles boolean, OUT has_presence boolean, OUT has_members boolean, OUT has_removals boolean) TO authenticated;

REVOKE ALL ON FUNCTION app.check_attachment(attachment jsonb) FROM PUBLIC;

GRANT ALL ON TABLE public.user_profiles TO service_role;
GRANT SELECT ON TABLE public.user_profiles TO authenticated;
GRANT SELECT ON TABLE public.user_profiles TO postline_feed;

GRANT SELECT(id) ON TABLE public.user_profiles TO postline_sender;

GRANT UPDATE(username) ON TABLE public.user_profiles TO authenticated;
GRANT SELECT(username) ON TABLE public.user_profiles TO postline_sender;

GRANT UPDATE(full_name) ON TABLE public.user_profiles TO authenticated;
GRANT SELECT(full_name) ON TABLE public.user_profiles TO postline_sender;

GRANT UPDATE(bio) ON TABLE public.user_profiles TO authenticated;

GRANT UPDATE(avatar_type) ON TABLE public.user_profiles TO authenticated;
GRANT SELECT(avatar_type) ON TABLE public.user_profiles TO postline_sender;

GRANT UPDATE(avatar_id) ON TABLE public.user_profiles TO authenticated;
GRANT SELECT(avatar_id) ON TABLE public.user_profiles TO postline_sender;

GRANT UPDATE(avatar_url) ON TABLE public.user_profiles TO authenticated;
GRANT SELECT(avatar_url) ON TABLE public.user_profiles TO postline_sender;

GRANT UPDATE(website) ON TABLE public.user_profiles TO authenticated;

GRANT UPDATE(location) ON TABLE public.user_profiles TO authenticated;

GRANT UPDATE(language_code) ON TABLE public.user_profiles TO authenticated;

GRANT SELECT(is_deleted) ON TABLE public.user_profiles TO postline_sender;

GRANT SELECT(version) ON TABLE public.user_profiles TO postline_sender;

REVOKE ALL ON FUNCTION app.check_avatar_shape(profile public.user_profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.check_avatar_url(field text, url text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.check_avatar_url(field text, url text) TO authenticated;

REVOKE ALL ON FUNCTION app.check_conversation_counts(conversation_id uuid, user_ids uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.check_data(data jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.check_date_of_birth(field text, value date) FROM PUBLIC;
GRANT ALL ON FUNCTION app.check_date_of_birth(field text, value date) TO authenticated;

REVOKE ALL ON FUNCTION app.check_everyone(conversation_id uuid, sender_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.check_scheduled() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.check_stream(conversation_id uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.checked_comment(comment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.checked_email(email text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.checked_name(field text, value text, label text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.checked_name(field text, value text, label text) TO authenticated;

REVOKE ALL ON FUNCTION app.checked_time(field text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.checked_time(field text, value text) TO authenticated;

REVOKE ALL ON FUNCTION app.claim_held(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.claim_held(most integer) TO postline_feed;

REVOKE ALL ON FUNCTION app.claim_pushes(most integer, with_text boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.claim_pushes(most integer, with_text boolean) TO postline_feed;

REVOKE ALL ON FUNCTION app.claim_reaction_pushes(most integer, with_text boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.claim_reaction_pushes(most integer, with_text boolean) TO postline_feed;

REVOKE ALL ON FUNCTION app.claim_removals(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.claim_removals(most integer) TO postline_feed;

REVOKE ALL ON FUNCTION app.claim_reports(node uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.claim_reports(node uuid, most integer) TO postline_feed;

REVOKE ALL ON FUNCTION app.cluster_identity() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.complete_attachment(attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.complete_attachment(attachment jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.complete_file(attachment jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.complete_removals(ids uuid[], purposes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.complete_removals(ids uuid[], purposes text[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.control_characters() FROM PUBLIC;
GRANT ALL ON FUNCTION app.control_characters() TO authenticated;

REVOKE ALL ON FUNCTION app.conversation_member(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.conversation_member(id uuid) TO postline_sender;
GRANT ALL ON FUNCTION app.conversation_member(id uuid) TO authenticated;
GRANT ALL ON FUNCTION app.conversation_member(id uuid) TO postline_feed;

REVOKE ALL ON FUNCTION app.count_messages(conversation_id uuid, guest uuid, after_seq bigint, last_seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.count_reactions() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.count_scheduled(conversation_id uuid, user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.create_account(provider text, email text, full_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.create_group(title text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.create_group(title text) TO authenticated;

REVOKE ALL ON FUNCTION app.create_login_role(login name, password text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.create_media(purpose text, mime_type text, bytes bigint, conversation_id uuid, width integer, height integer, name text, quota bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.create_media(purpose text, mime_type text, bytes bigint, conversation_id uuid, width integer, height integer, name text, quota bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.create_presence_rows(users uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.create_report(conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.create_report(conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) TO authenticated;

REVOKE ALL ON FUNCTION app.creates_event(conversation_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.has_huge_number(value jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.json_bytes(value jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.json_flaw(value jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_data_bytes() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.data_error(data jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.decide_held(conversation_id uuid, seq bigint, is_released boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.decide_held(conversation_id uuid, seq bigint, is_released boolean) TO authenticated;

REVOKE ALL ON FUNCTION app.delete_expired() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.delete_held(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.delete_held(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.delete_session_devices() FROM PUBLIC;

GRANT SELECT ON TABLE public.delivered_marks TO service_role;
GRANT SELECT ON TABLE public.delivered_marks TO authenticated;
GRANT SELECT ON TABLE public.delivered_marks TO postline_feed;

REVOKE ALL ON FUNCTION app.delivered_mark(conversation_id uuid, user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.distinct_ids(field text, ids uuid[], without uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.distinct_ids(field text, ids uuid[], without uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.drop_held(conversation_id uuid, user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.drop_held_message(id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.drop_unused_avatars(account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.due_pushes(most integer, with_text boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.due_pushes(most integer, with_text boolean) TO postline_feed;

REVOKE ALL ON FUNCTION app.due_removals(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.due_removals(most integer) TO postline_feed;

REVOKE ALL ON FUNCTION app.end_nodes() FROM PUBLIC;
GRANT ALL ON FUNCTION app.end_nodes() TO postline_feed;

REVOKE ALL ON FUNCTION app.end_session() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.end_sessions() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.ensure_owner(conversation_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.ensure_participants(other uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.ensure_participants(other uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.epoch() FROM PUBLIC;
GRANT ALL ON FUNCTION app.epoch() TO authenticated;
GRANT ALL ON FUNCTION app.epoch() TO postline_feed;

REVOKE ALL ON FUNCTION app.erase_reports(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.erase_user() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.everyone() FROM PUBLIC;
GRANT ALL ON FUNCTION app.everyone() TO authenticated;
GRANT ALL ON FUNCTION app.everyone() TO postline_feed;

REVOKE ALL ON FUNCTION app.evidence_of_message(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.expire_all(retention_days integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.expire_batch(conversation_id uuid, before timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.expire_held() FROM PUBLIC;
GRANT ALL ON FUNCTION app.expire_held() TO postline_feed;

REVOKE ALL ON FUNCTION app.expire_messages(retention_days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.expire_messages(retention_days integer) TO postline_feed;

REVOKE ALL ON FUNCTION app.expire_own() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.expired_message(conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.expired_message(conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.expiry_batch() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.export_own(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.export_own(user_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.export_page(objects text, next text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.export_page(objects text, next text) TO authenticated;

REVOKE ALL ON FUNCTION app.filter_action(scope text, value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.filtered(scope text, field text, value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.filtered_profile(former public.user_profiles, profile public.user_profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.filtered_words(value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.find_messages(query text, only_in uuid, only_by uuid, before_time timestamp with time zone, before_id uuid, max_results integer, duration interval, OUT conversations uuid[], OUT seqs bigint[], OUT positions text[], OUT next text, OUT is_partial boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.find_messages(query text, only_in uuid, only_by uuid, before_time timestamp with time zone, before_id uuid, max_results integer, duration interval, OUT conversations uuid[], OUT seqs bigint[], OUT positions text[], OUT next text, OUT is_partial boolean) TO authenticated;

REVOKE ALL ON FUNCTION app.finish_abandoned_stream() FROM PUBLIC;
GRANT ALL ON FUNCTION app.finish_abandoned_stream() TO postline_feed;

REVOKE ALL ON FUNCTION app.finish_own_stream(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.finish_own_stream(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.finish_stream(conversation_id uuid, seq bigint, appended_before timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.finish_streams(sender_id uuid, conversations uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.flush_message_words() FROM PUBLIC;
GRANT ALL ON FUNCTION app.flush_message_words() TO postline_feed;

REVOKE ALL ON FUNCTION app.folded(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.folded(value text) TO authenticated;
GRANT ALL ON FUNCTION app.folded(value text) TO service_role;
GRANT ALL ON FUNCTION app.folded(value text) TO postline_sender;

REVOKE ALL ON FUNCTION app.free_send_time(sender uuid, due_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.grant_service_roles(login name) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.guest_conversations(guest uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.has_block(conversation_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.has_contacted(user_id uuid, other uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.has_control(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.has_control(value text) TO authenticated;

REVOKE ALL ON FUNCTION app.has_details(message public.messages) FROM PUBLIC;
GRANT ALL ON FUNCTION app.has_details(message public.messages) TO postline_sender;
GRANT ALL ON FUNCTION app.has_details(message public.messages) TO authenticated;
GRANT ALL ON FUNCTION app.has_details(message public.messages) TO postline_feed;

REVOKE ALL ON FUNCTION app.has_streams(conversation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.has_streams(conversation_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.held_counts(OUT pending bigint, OUT oldest_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION app.held_counts(OUT pending bigint, OUT oldest_seconds double precision) TO postline_feed;

GRANT SELECT ON TABLE app.held_messages TO postline_feed;

REVOKE ALL ON FUNCTION app.held_fields(held app.held_messages, message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.held_object(held app.held_messages, message public.messages) FROM PUBLIC;
GRANT ALL ON FUNCTION app.held_object(held app.held_messages, message public.messages) TO postline_feed;

REVOKE ALL ON FUNCTION app.held_page(max_results integer, after text, viewer uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.held_timeout() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.hide_presence(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.hold_message(message public.messages, content text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.holding_words(value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.host_label(label text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.host_label(label text) TO authenticated;

REVOKE ALL ON FUNCTION app.invisible_characters() FROM PUBLIC;
GRANT ALL ON FUNCTION app.invisible_characters() TO authenticated;

REVOKE ALL ON FUNCTION app.is_active_user(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_active_user(user_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.is_attachment(attachment jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_banned(account auth.users) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_behind(seen pg_snapshot, other pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_behind(seen pg_snapshot, other pg_snapshot) TO authenticated;
GRANT ALL ON FUNCTION app.is_behind(seen pg_snapshot, other pg_snapshot) TO postline_feed;

REVOKE ALL ON FUNCTION app.is_blank(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_blank(value text) TO authenticated;

REVOKE ALL ON FUNCTION app.is_blocked(one uuid, other uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_change(xid xid8, since pg_snapshot, until pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_change(xid xid8, since pg_snapshot, until pg_snapshot) TO authenticated;

REVOKE ALL ON FUNCTION app.is_count(value jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_expired_send(conversation_id uuid, sender_id uuid, client_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_file_name(value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_first_sent(conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, reply_to_seq bigint, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_first_sent(conversation_id uuid, client_id uuid, kind text, content text, attachment jsonb, reply_to_seq bigint, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.is_held(message_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_held(message_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.is_host(host text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_host(host text) TO authenticated;

REVOKE ALL ON FUNCTION app.is_https(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_https(value text) TO authenticated;

REVOKE ALL ON FUNCTION app.is_manager(conversation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_manager(conversation_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.is_media_url(url text, id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_media_url(url text, id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.is_member(conversation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_member(conversation_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.is_merging() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_moderator() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_name_word(word text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_optional_string(value jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_picture_type(mime_type text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_picture_type(mime_type text) TO authenticated;

REVOKE ALL ON FUNCTION app.is_proven(account auth.users) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_reaction(emoji text) FROM PUBLIC;

GRANT ALL ON TABLE public.message_reactions TO service_role;
GRANT SELECT ON TABLE public.message_reactions TO authenticated;
GRANT SELECT ON TABLE public.message_reactions TO postline_feed;

GRANT INSERT(conversation_id) ON TABLE public.message_reactions TO authenticated;

GRANT INSERT(user_id) ON TABLE public.message_reactions TO authenticated;

GRANT INSERT(seq) ON TABLE public.message_reactions TO authenticated;

GRANT INSERT(emoji) ON TABLE public.message_reactions TO authenticated;

GRANT UPDATE(is_set) ON TABLE public.message_reactions TO authenticated;

REVOKE ALL ON FUNCTION app.is_reaction_move(before public.message_reactions, after public.message_reactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_repeated(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_similar_word(a text, b text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.is_similar_word(a text, b text) TO authenticated;

REVOKE ALL ON FUNCTION app.is_still_needed(mail app.mails, account auth.users) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_streaming(conversation_id uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.is_waveform(value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.joined(objects text[], from_last boolean, room bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.joined(objects text[], from_last boolean, room bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.language_tag(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.language_tag(value text) TO authenticated;

REVOKE ALL ON FUNCTION app.last_upload(created_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.lead(name text, holder uuid, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION app.lead(name text, holder uuid, seconds double precision) TO postline_feed;

REVOKE ALL ON FUNCTION app.leave_group(conversation_id uuid, user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.presence_visibility(OUT sees_others boolean, OUT changed_xid xid8) FROM PUBLIC;
GRANT ALL ON FUNCTION app.presence_visibility(OUT sees_others boolean, OUT changed_xid xid8) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) TO authenticated;

REVOKE ALL ON FUNCTION app.live_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.live_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) TO authenticated;

REVOKE ALL ON FUNCTION app.lock_conversation(conversation_id uuid, OUT kind text, OUT role text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.lock_conversation(conversation_id uuid, OUT kind text, OUT role text) TO authenticated;

REVOKE ALL ON FUNCTION app.lock_membership(conversation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.lock_membership(conversation_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.locked_caller(if_version bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.locked_caller(if_version bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.locked_held(conversation_id uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.locked_report(id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.log_end(written pg_lsn) FROM PUBLIC;
GRANT ALL ON FUNCTION app.log_end(written pg_lsn) TO postline_feed;

REVOKE ALL ON FUNCTION app.lower_ascii(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.lower_ascii(value text) TO authenticated;

REVOKE ALL ON FUNCTION app.lowest_reactions(move app.message_moves, low bigint, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.mail_token_account(token_hash text, kinds text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.mailable_email(email text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.make_login(login name, password text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.mark_blocked(one uuid, other uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.masked(scope text, value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_blocks() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_conversations() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_conversations_by_guests() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_conversations_by_strangers() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_delivered_members() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_held() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_message_characters() FROM PUBLIC;
GRANT ALL ON FUNCTION app.max_message_characters() TO authenticated;

REVOKE ALL ON FUNCTION app.max_own_conversations() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_reports() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_scheduled() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_streams() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.max_unread_mentions() FROM PUBLIC;
GRANT ALL ON FUNCTION app.max_unread_mentions() TO authenticated;
GRANT ALL ON FUNCTION app.max_unread_mentions() TO postline_feed;

REVOKE ALL ON FUNCTION app.needs_attachment(kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.needs_attachment(kind text) TO authenticated;

REVOKE ALL ON FUNCTION app.may_be_empty(kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.may_be_empty(kind text) TO authenticated;

REVOKE ALL ON FUNCTION app.may_mention_everyone(conversation_id uuid, sender_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.may_send_kind(kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.may_send_kind(kind text) TO authenticated;

REVOKE ALL ON FUNCTION app.meant_words(word text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.meant_words(word text) TO authenticated;

REVOKE ALL ON FUNCTION app.media_id(attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.media_id(attachment jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.media_ids(attachment jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.mentioned_members(conversation_id uuid, mentions uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.mentioned_members(conversation_id uuid, mentions uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.merge_blocks(guest uuid, account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.merge_held(guest uuid, account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.merge_media(guest uuid, account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.merge_profiles(guest uuid, account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.merge_reports(guest uuid, account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.merge_scheduled(guest uuid, account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.merge_users(guest uuid, account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.message_details(message public.messages, reply text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.message_details(message public.messages, reply text) TO postline_sender;
GRANT ALL ON FUNCTION app.message_details(message public.messages, reply text) TO authenticated;
GRANT ALL ON FUNCTION app.message_details(message public.messages, reply text) TO postline_feed;

REVOKE ALL ON FUNCTION app.message_hash(id uuid, kind text, content text, attachment jsonb, data jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.utc(value timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION app.utc(value timestamp with time zone) TO postline_sender;
GRANT ALL ON FUNCTION app.utc(value timestamp with time zone) TO authenticated;
GRANT ALL ON FUNCTION app.utc(value timestamp with time zone) TO postline_feed;

REVOKE ALL ON FUNCTION app.quoted_utc(value timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION app.quoted_utc(value timestamp with time zone) TO postline_sender;
GRANT ALL ON FUNCTION app.quoted_utc(value timestamp with time zone) TO authenticated;
GRANT ALL ON FUNCTION app.quoted_utc(value timestamp with time zone) TO postline_feed;

REVOKE ALL ON FUNCTION app.message_object(message public.messages, conversation text, sender text, mark bigint, reply text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.message_object(message public.messages, conversation text, sender text, mark bigint, reply text) TO postline_sender;
GRANT ALL ON FUNCTION app.message_object(message public.messages, conversation text, sender text, mark bigint, reply text) TO authenticated;
GRANT ALL ON FUNCTION app.message_object(message public.messages, conversation text, sender text, mark bigint, reply text) TO postline_feed;

REVOKE ALL ON FUNCTION app.sender_members(id uuid, sender json) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sender_members(id uuid, sender json) TO postline_sender;
GRANT ALL ON FUNCTION app.sender_members(id uuid, sender json) TO authenticated;
GRANT ALL ON FUNCTION app.sender_members(id uuid, sender json) TO postline_feed;

REVOKE ALL ON FUNCTION app.message_object(message public.messages, sender json, mark bigint, reply text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.message_object(message public.messages, sender json, mark bigint, reply text) TO postline_sender;
GRANT ALL ON FUNCTION app.message_object(message public.messages, sender json, mark bigint, reply text) TO authenticated;
GRANT ALL ON FUNCTION app.message_object(message public.messages, sender json, mark bigint, reply text) TO postline_feed;

REVOKE ALL ON FUNCTION app.message_page(conversation_id uuid, before_seq bigint, after_seq bigint, max_results integer, OUT mark bigint, OUT beyond bigint, OUT sender_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.message_page(conversation_id uuid, before_seq bigint, after_seq bigint, max_results integer, OUT mark bigint, OUT beyond bigint, OUT sender_ids uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.message_words(conversation_id uuid, created_at timestamp with time zone, content text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.message_words(conversation_id uuid, created_at timestamp with time zone, content text) TO authenticated;
GRANT ALL ON FUNCTION app.message_words(conversation_id uuid, created_at timestamp with time zone, content text) TO service_role;
GRANT ALL ON FUNCTION app.message_words(conversation_id uuid, created_at timestamp with time zone, content text) TO postline_sender;

GRANT ALL ON TABLE public.media TO service_role;
GRANT SELECT ON TABLE public.media TO authenticated;

REVOKE ALL ON FUNCTION app.moderated_files(ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.moderated_files(ids uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.moderated_held(max_results integer, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.moderated_held(max_results integer, after text) TO authenticated;

REVOKE ALL ON FUNCTION app.moderated_report(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.moderated_report(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.moderated_reports(state text, max_results integer, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.moderated_reports(state text, max_results integer, after text) TO authenticated;

REVOKE ALL ON FUNCTION app.moderator() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.move_batch(conversation_id uuid, guest_id uuid, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.move_delivered_mark(conversation_id uuid, user_id uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.move_held(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.move_mark() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.move_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.move_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.move_messages(node uuid, waits boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.move_messages(node uuid, waits boolean) TO postline_feed;

REVOKE ALL ON FUNCTION app.move_reactions(move app.message_moves, low bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.move_recorded_mark() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.move_scheduled(from_id uuid, into_id uuid, base bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.moved_xid(before public.messages, after public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.my_conversations() FROM PUBLIC;
GRANT ALL ON FUNCTION app.my_conversations() TO authenticated;

REVOKE ALL ON FUNCTION app.my_groups(roles text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.my_groups(roles text[]) TO authenticated;

REVOKE ALL ON FUNCTION app.my_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.my_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.name_words(username text, full_name text, spelled_out text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.next_version_time(last timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.normalized(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.normalized(value text) TO authenticated;

REVOKE ALL ON FUNCTION app.normalized_file(attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.normalized_file(attachment jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.normalized_attachment(attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.normalized_attachment(attachment jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.note_ended(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) FROM PUBLIC;
GRANT ALL ON FUNCTION app.note_ended(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) TO authenticated;
GRANT ALL ON FUNCTION app.note_ended(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) TO postline_feed;

REVOKE ALL ON FUNCTION app.note_pushes() FROM PUBLIC;
GRANT ALL ON FUNCTION app.note_pushes() TO postline_feed;

REVOKE ALL ON FUNCTION app.note_stored(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.note_stored(id uuid) TO postline_feed;

REVOKE ALL ON FUNCTION app.notify_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.now() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.number_message() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.number_messages(senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[], mentions text[], everyone boolean[], data text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.number_messages(senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[], mentions text[], everyone boolean[], data text[]) TO postline_sender;

REVOKE ALL ON FUNCTION app.opening_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION app.opening_bytes() TO postline_feed;

REVOKE ALL ON FUNCTION app.own_fields() FROM PUBLIC;
GRANT ALL ON FUNCTION app.own_fields() TO authenticated;

REVOKE ALL ON FUNCTION app.own_form(message_id uuid, object text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.own_form(message_id uuid, object text) TO authenticated;

REVOKE ALL ON FUNCTION app.quoted(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.quoted(value text) TO postline_sender;
GRANT ALL ON FUNCTION app.quoted(value text) TO authenticated;
GRANT ALL ON FUNCTION app.quoted(value text) TO postline_feed;

REVOKE ALL ON FUNCTION app.own_members(unread_count bigint, unread_mentions bigint, is_marked_unread boolean, muted_until timestamp with time zone, is_archived boolean, is_pinned boolean, scheduled_count integer, unsent_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.own_members(unread_count bigint, unread_mentions bigint, is_marked_unread boolean, muted_until timestamp with time zone, is_archived boolean, is_pinned boolean, scheduled_count integer, unsent_count integer) TO authenticated;
GRANT ALL ON FUNCTION app.own_members(unread_count bigint, unread_mentions bigint, is_marked_unread boolean, muted_until timestamp with time zone, is_archived boolean, is_pinned boolean, scheduled_count integer, unsent_count integer) TO postline_feed;

REVOKE ALL ON FUNCTION app.page_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION app.page_bytes() TO authenticated;

REVOKE ALL ON FUNCTION app.page_position(created_at timestamp with time zone, id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.page_position(created_at timestamp with time zone, id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.page_time() FROM PUBLIC;
GRANT ALL ON FUNCTION app.page_time() TO authenticated;

REVOKE ALL ON FUNCTION app.parsed_position(field text, value text, OUT created_at timestamp with time zone, OUT id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.parsed_position(field text, value text, OUT created_at timestamp with time zone, OUT id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.patched_date_of_birth(patch jsonb, current date, path text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.patched_date_of_birth(patch jsonb, current date, path text) TO authenticated;

REVOKE ALL ON FUNCTION app.patched_text(patch jsonb, field text, current text, path text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.patched_text(patch jsonb, field text, current text, path text) TO authenticated;

REVOKE ALL ON FUNCTION app.piece_object(conversation_id uuid, seq bigint, start integer, content text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.piece_object(conversation_id uuid, seq bigint, start integer, content text) TO authenticated;
GRANT ALL ON FUNCTION app.piece_object(conversation_id uuid, seq bigint, start integer, content text) TO postline_feed;

REVOKE ALL ON FUNCTION app.presence_object(user_id uuid, is_online boolean, last_seen_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION app.presence_object(user_id uuid, is_online boolean, last_seen_at timestamp with time zone) TO authenticated;
GRANT ALL ON FUNCTION app.presence_object(user_id uuid, is_online boolean, last_seen_at timestamp with time zone) TO postline_feed;

REVOKE ALL ON FUNCTION app.presence_visible_users() FROM PUBLIC;
GRANT ALL ON FUNCTION app.presence_visible_users() TO authenticated;

REVOKE ALL ON FUNCTION app.preview_characters() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_account() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_avatar() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_block() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_email_proof() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_held() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_media() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_message() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_preference() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_profile_details() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_scheduled() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_ttl() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.propagate_words() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.provider_metadata(provider text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.prune_mails() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.prune_reports(retention_days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.prune_reports(retention_days integer) TO postline_feed;

REVOKE ALL ON FUNCTION app.prune_sessions() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.punycode_decoded(encoded text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.punycode_decoded(encoded text) TO authenticated;

GRANT ALL ON TABLE public.conversation_members TO service_role;
GRANT SELECT,DELETE ON TABLE public.conversation_members TO authenticated;
GRANT SELECT ON TABLE public.conversation_members TO postline_feed;

GRANT INSERT(conversation_id) ON TABLE public.conversation_members TO authenticated;
GRANT SELECT(conversation_id) ON TABLE public.conversation_members TO postline_sender;

GRANT INSERT(user_id) ON TABLE public.conversation_members TO authenticated;
GRANT SELECT(user_id) ON TABLE public.conversation_members TO postline_sender;

GRANT UPDATE(last_read_seq) ON TABLE public.conversation_members TO authenticated;

GRANT SELECT(is_deleted) ON TABLE public.conversation_members TO postline_sender;

GRANT SELECT(is_blocked) ON TABLE public.conversation_members TO postline_sender;

GRANT ALL ON TABLE public.conversations TO service_role;
GRANT SELECT ON TABLE public.conversations TO authenticated;
GRANT SELECT ON TABLE public.conversations TO postline_feed;

GRANT INSERT(kind) ON TABLE public.conversations TO authenticated;

GRANT INSERT(participant1_id) ON TABLE public.conversations TO authenticated;

GRANT INSERT(participant2_id) ON TABLE public.conversations TO authenticated;

GRANT UPDATE(title) ON TABLE public.conversations TO authenticated;

REVOKE ALL ON FUNCTION app.push_badge(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.push_senders(start uuid, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.pushed_kind(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.pushed_text(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.pushes_per_step() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.queue_mail(kind text, email text, user_id uuid, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.queue_pushes() FROM PUBLIC;
GRANT ALL ON FUNCTION app.queue_pushes() TO postline_feed;

REVOKE ALL ON FUNCTION app.queue_reaction_pushes(beyond xid8, open xid8[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.queue_removal() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.rare_changes_since(since pg_snapshot, mine uuid[], OUT reacted uuid[], OUT delivered uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.rare_changes_since(since pg_snapshot, mine uuid[], OUT reacted uuid[], OUT delivered uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.reactions_by(user_id uuid, conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.reactions_by(user_id uuid, conversation_id uuid, seq bigint) TO authenticated;
GRANT ALL ON FUNCTION app.reactions_by(user_id uuid, conversation_id uuid, seq bigint) TO postline_feed;

GRANT SELECT ON TABLE public.reaction_counts TO service_role;
GRANT SELECT ON TABLE public.reaction_counts TO authenticated;
GRANT SELECT ON TABLE public.reaction_counts TO postline_feed;

REVOKE ALL ON FUNCTION app.reactions_object(reactions public.reaction_counts, own text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.reactions_object(reactions public.reaction_counts, own text) TO authenticated;
GRANT ALL ON FUNCTION app.reactions_object(reactions public.reaction_counts, own text) TO postline_feed;

REVOKE ALL ON FUNCTION app.reassign_messages(ids uuid[], from_id uuid, into_id uuid, base bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_arrivals() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_email_proof(user_id uuid, email text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_ended_transactions(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) FROM PUBLIC;
GRANT ALL ON FUNCTION app.record_ended_transactions(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) TO authenticated;
GRANT ALL ON FUNCTION app.record_ended_transactions(base pg_snapshot, INOUT started timestamp with time zone, OUT replayed pg_lsn) TO postline_feed;

REVOKE ALL ON FUNCTION app.record_mentions(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_moderation(action text, user_id uuid, detail jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_mute_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_private_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_push_results(device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[], retry_seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.record_push_results(device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[], retry_seconds double precision[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.record_reaction_push_results(device_ids uuid[], conversation_ids uuid[], seqs bigint[], user_ids uuid[], outcomes text[], retry_seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.record_reaction_push_results(device_ids uuid[], conversation_ids uuid[], seqs bigint[], user_ids uuid[], outcomes text[], retry_seconds double precision[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.record_read() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_removal() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_report_results(ids uuid[], retries double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.record_report_results(ids uuid[], retries double precision[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.record_schema_version(signature text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.record_stored_media(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.record_stored_media(id uuid) TO postline_feed;

REVOKE ALL ON FUNCTION app.record_username() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_attachment(field text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_banned(account auth.users) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_blocked() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_client_id() FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_client_id() TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_content() FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_content() TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_credentials() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_delete() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_email() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_file_name(field text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_forbidden(message text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_forbidden(message text) TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_held_edit() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_hidden(message text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_hidden(message text) TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_kept_message() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_kind() FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_kind() TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_message() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_param(field text, message text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_param(field text, message text) TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_repeated() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_reply() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_sign_in(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_unknown(patch jsonb, fields text[], path text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_unknown(patch jsonb, fields text[], path text) TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_username() FROM PUBLIC;
GRANT ALL ON FUNCTION app.refuse_username() TO authenticated;

REVOKE ALL ON FUNCTION app.refuse_without_attachment(kind text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.refuse_word(field text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.register_device(platform text, token text, environment text, locale text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.register_device(platform text, token text, environment text, locale text) TO authenticated;

REVOKE ALL ON FUNCTION app.reject_held(held app.held_messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.release_held(held app.held_messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.release_lease(name text, holder uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.release_lease(name text, holder uuid) TO postline_feed;

REVOKE ALL ON FUNCTION app.releases_usernames(profile public.user_profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.remove_all_members(conversation_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.remove_mentions(message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.remove_message(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.remove_message(conversation_id uuid, seq bigint) TO authenticated;

REVOKE ALL ON FUNCTION app.remove_reactions(conversation_id uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.remove_stream(conversation_id uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.removed_media(ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.removed_media(ids uuid[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.removed_media(ids uuid[], purposes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.removed_media(ids uuid[], purposes text[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.renew_epoch() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.renew_epoch_after_restore() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.repeats_subtag(tag text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.repeats_subtag(tag text) TO authenticated;

REVOKE ALL ON FUNCTION app.replace_mentions(before public.messages, message public.messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.replace_participant(conversation_id uuid, account uuid, other uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.reply_object(message public.messages) FROM PUBLIC;
GRANT ALL ON FUNCTION app.reply_object(message public.messages) TO authenticated;
GRANT ALL ON FUNCTION app.reply_object(message public.messages) TO postline_feed;

REVOKE ALL ON FUNCTION app.reply_of(conversation_id uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.report_acknowledged(users uuid[], epochs text[], cursors pg_snapshot[], devices integer[], conversations uuid[], OUT moved integer, OUT large uuid[], OUT unsettled integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.report_acknowledged(users uuid[], epochs text[], cursors pg_snapshot[], devices integer[], conversations uuid[], OUT moved integer, OUT large uuid[], OUT unsettled integer[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.report_counts(OUT pending bigint, OUT oldest_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION app.report_counts(OUT pending bigint, OUT oldest_seconds double precision) TO postline_feed;

REVOKE ALL ON FUNCTION app.report_delivered(conversations uuid[], users uuid[], seqs bigint[], OUT moved integer, OUT large uuid[], OUT unsettled integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.report_delivered(conversations uuid[], users uuid[], seqs bigint[], OUT moved integer, OUT large uuid[], OUT unsettled integer[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.report_object(report app.reports) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.report_page(state text, max_results integer, after text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.report_presence(node uuid, lease_seconds integer, arrived uuid[], gone uuid[], is_whole boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.report_presence(node uuid, lease_seconds integer, arrived uuid[], gone uuid[], is_whole boolean) TO postline_feed;

REVOKE ALL ON FUNCTION app.report_with_evidence(report app.reports) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.resign(name text, holder uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.resign(name text, holder uuid) TO postline_feed;

REVOKE ALL ON FUNCTION app.resolve_report(id uuid, outcome text, comment text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.resolve_report(id uuid, outcome text, comment text) TO authenticated;

REVOKE ALL ON FUNCTION app.revoke_other_credentials(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.salvaged_name(value text) FROM PUBLIC;

GRANT ALL ON TABLE public.scheduled_messages TO service_role;
GRANT SELECT,DELETE ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(id) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(sender_id) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(conversation_id) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(due_at) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(kind) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(content) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(attachment) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(reply_to_seq) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(mentions) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(mentions_everyone) ON TABLE public.scheduled_messages TO authenticated;

GRANT INSERT(data) ON TABLE public.scheduled_messages TO authenticated;

REVOKE ALL ON FUNCTION app.scheduled_object(scheduled public.scheduled_messages) FROM PUBLIC;
GRANT ALL ON FUNCTION app.scheduled_object(scheduled public.scheduled_messages) TO authenticated;

REVOKE ALL ON FUNCTION app.seal() FROM PUBLIC;
GRANT ALL ON FUNCTION app.seal() TO postline_feed;

REVOKE ALL ON FUNCTION app.search_condition(folded text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.search_text(content text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.search_text(content text) TO authenticated;
GRANT ALL ON FUNCTION app.search_text(content text) TO service_role;
GRANT ALL ON FUNCTION app.search_text(content text) TO postline_sender;

REVOKE ALL ON FUNCTION app.search_words(folded text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.search_words(folded text) TO authenticated;
GRANT ALL ON FUNCTION app.search_words(folded text) TO service_role;
GRANT ALL ON FUNCTION app.search_words(folded text) TO postline_sender;

REVOKE ALL ON FUNCTION app.seen_pieces(conversation_id uuid, low bigint, high bigint, since pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION app.seen_pieces(conversation_id uuid, low bigint, high bigint, since pg_snapshot) TO authenticated;

REVOKE ALL ON FUNCTION app.seen_reactions(conversation_id uuid, low bigint, high bigint, since pg_snapshot, until pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION app.seen_reactions(conversation_id uuid, low bigint, high bigint, since pg_snapshot, until pg_snapshot) TO authenticated;

REVOKE ALL ON FUNCTION app.send_due() FROM PUBLIC;
GRANT ALL ON FUNCTION app.send_due() TO postline_feed;

REVOKE ALL ON FUNCTION app.send_messages(senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[], mentions text[], everyone boolean[], data text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.send_messages(senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[], mentions text[], everyone boolean[], data text[]) TO postline_sender;

REVOKE ALL ON FUNCTION app.send_scheduled(scheduled public.scheduled_messages) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.sender_of(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sender_of(id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.set_conversation_data(conversation_id uuid, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.set_conversation_data(conversation_id uuid, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.set_member_role(conversation_id uuid, user_id uuid, role text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.set_member_role(conversation_id uuid, user_id uuid, role text) TO authenticated;

REVOKE ALL ON FUNCTION app.set_message_ttl(conversation_id uuid, seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.set_message_ttl(conversation_id uuid, seconds integer) TO authenticated;

REVOKE ALL ON FUNCTION app.set_pin(conversation_id uuid, seq bigint, is_pinned boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION app.set_pin(conversation_id uuid, seq bigint, is_pinned boolean) TO authenticated;

REVOKE ALL ON FUNCTION app.settle() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.settle_pushes(device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[], retry_seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.settle_pushes(device_ids uuid[], conversation_ids uuid[], seqs bigint[], kinds text[], outcomes text[], retry_seconds double precision[]) TO postline_feed;

REVOKE ALL ON FUNCTION app.shared_conversations(users uuid[], mine uuid[], until pg_snapshot, with_former boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.shared_presence(conversations uuid[], entered uuid[], since pg_snapshot, until pg_snapshot, after_id uuid, last_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.shared_presence(conversations uuid[], entered uuid[], since pg_snapshot, until pg_snapshot, after_id uuid, last_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.show_presence(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.sign(signature text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.similarity(a text, b text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.similarity(a text, b text) TO authenticated;

REVOKE ALL ON FUNCTION app.snapshot_of(open bigint[], next bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.span_condition(conversations uuid[], span bigint, width integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.spelled_out(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.spelled_out(value text) TO authenticated;

REVOKE ALL ON FUNCTION app.spellings(word text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.spellings(word text) TO authenticated;

REVOKE ALL ON FUNCTION app.split_full_name(first_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.split_full_name(first_name text) TO authenticated;

REVOKE ALL ON FUNCTION app.standby_snapshot() FROM PUBLIC;
GRANT ALL ON FUNCTION app.standby_snapshot() TO authenticated;
GRANT ALL ON FUNCTION app.standby_snapshot() TO postline_feed;

REVOKE ALL ON FUNCTION app.standby_timeline() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.start_stream(conversation_id uuid, content text, client_id uuid, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.start_stream(conversation_id uuid, content text, client_id uuid, reply_to_seq bigint, mentions uuid[], mentions_everyone boolean, data jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.step_members() FROM PUBLIC;
GRANT ALL ON FUNCTION app.step_members() TO authenticated;

REVOKE ALL ON FUNCTION app.stepped_counts(counts jsonb, emoji text, step bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.store_address() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.stored_form(kind text, INOUT content text, INOUT attachment jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION app.stored_form(kind text, INOUT content text, INOUT attachment jsonb) TO authenticated;

REVOKE ALL ON FUNCTION app.stored_url(value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.stream_text(conversation_id uuid, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.stream_text(conversation_id uuid, seq bigint) TO postline_feed;

REVOKE ALL ON FUNCTION app.stream_timeout() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.streamed_since(since pg_snapshot, mine uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.streamed_since(since pg_snapshot, mine uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.subscription_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION app.subscription_page(epoch text, since pg_snapshot, until pg_snapshot, "position" text, messages_per_conversation integer, max_bytes integer) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_blocked(me uuid, since pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_blocked(me uuid, since pg_snapshot) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_conversation_ids(me uuid, since pg_snapshot, until pg_snapshot, OUT mine uuid[], OUT entered uuid[], OUT given uuid[], OUT active uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_conversation_ids(me uuid, since pg_snapshot, until pg_snapshot, OUT mine uuid[], OUT entered uuid[], OUT given uuid[], OUT active uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_conversations(me uuid, until pg_snapshot, given uuid[], after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_conversations(me uuid, until pg_snapshot, given uuid[], after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_delivered(me uuid, since pg_snapshot, until pg_snapshot, delivered uuid[], given uuid[], after_id uuid, after_user uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_delivered(me uuid, since pg_snapshot, until pg_snapshot, delivered uuid[], given uuid[], after_id uuid, after_user uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_details(section text, since pg_snapshot, until pg_snapshot, entered uuid[], changed uuid[], per_conversation integer, after_id uuid, after_seq bigint, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_details(section text, since pg_snapshot, until pg_snapshot, entered uuid[], changed uuid[], per_conversation integer, after_id uuid, after_seq bigint, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_left(me uuid, since pg_snapshot, until pg_snapshot, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_left(me uuid, since pg_snapshot, until pg_snapshot, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_marks(section text, marks refcursor, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_marks(section text, marks refcursor, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_me(me uuid, since pg_snapshot, until pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_me(me uuid, since pg_snapshot, until pg_snapshot) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_messages(since pg_snapshot, until pg_snapshot, entered uuid[], active uuid[], per_conversation integer, after_id uuid, after_seq bigint, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT limited_ids text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_messages(since pg_snapshot, until pg_snapshot, entered uuid[], active uuid[], per_conversation integer, after_id uuid, after_seq bigint, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT limited_ids text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_position("position" text, OUT section text, OUT after_id uuid, OUT after_seq bigint, OUT after_user uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_position("position" text, OUT section text, OUT after_id uuid, OUT after_seq bigint, OUT after_user uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_presence(me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], has_changes boolean, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_presence(me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], has_changes boolean, after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_profiles(me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_profiles(me uuid, since pg_snapshot, until pg_snapshot, mine uuid[], entered uuid[], after_id uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_reads(since pg_snapshot, until pg_snapshot, mine uuid[], given uuid[], after_id uuid, after_user uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_reads(since pg_snapshot, until pg_snapshot, mine uuid[], given uuid[], after_id uuid, after_user uuid, ending timestamp with time zone, INOUT room bigint, OUT objects text, OUT next_position text) TO authenticated;

REVOKE ALL ON FUNCTION app.sync_step_end(conversations uuid[], after_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.sync_step_end(conversations uuid[], after_id uuid) TO authenticated;

REVOKE ALL ON FUNCTION app.tell_held(user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.tell_own_conversation(conversation_id uuid, user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.tombstoned(profile public.user_profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.touch_conversation(conversation_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.transfer_membership(conversation_id uuid, guest uuid, account uuid, counted_from bigint, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.ttl_text(seconds integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.unban_user(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION app.unban_user(user_id uuid) TO authenticated;

GRANT SELECT ON TABLE public.message_mentions TO service_role;
GRANT SELECT ON TABLE public.message_mentions TO authenticated;
GRANT SELECT ON TABLE public.message_mentions TO postline_feed;

REVOKE ALL ON FUNCTION app.unread_mentions(conversation_id uuid, user_id uuid, mark bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION app.unread_mentions(conversation_id uuid, user_id uuid, mark bigint) TO authenticated;
GRANT ALL ON FUNCTION app.unread_mentions(conversation_id uuid, user_id uuid, mark bigint) TO postline_feed;

REVOKE ALL ON FUNCTION app.update_presence(users uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.upgrade_guest(guest uuid, provider text, email text, full_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.upsert_profile(account auth.users) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.use_avatar() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.use_identity_token(token_hash text, expires_at double precision) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.use_media(message public.messages, before jsonb, is_list boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_block() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_conversation() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_delivered_mark() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_member() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_message() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_new_member() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_private() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_profile() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_reaction() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_read_mark() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.validate_username() FROM PUBLIC;

REVOKE ALL ON FUNCTION app.wait_for_wal_flush() FROM PUBLIC;
GRANT ALL ON FUNCTION app.wait_for_wal_flush() TO postline_feed;

REVOKE ALL ON FUNCTION app.without_blocked(user_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION app.without_blocked(user_ids uuid[]) TO authenticated;

REVOKE ALL ON FUNCTION app.word_similarity(a text, b text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.word_similarity(a text, b text) TO authenticated;

REVOKE ALL ON FUNCTION app.words_action(scope text, words text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.words_of(folded text) FROM PUBLIC;
GRANT ALL ON FUNCTION app.words_of(folded text) TO authenticated;

REVOKE ALL ON FUNCTION app.write_arrivals(conversation_id uuid, user_ids uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.write_departure(conversation_id uuid, user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.write_event(conversation_id uuid, event jsonb, content text) FROM PUBLIC;

REVOKE ALL ON FUNCTION app.write_title() FROM PUBLIC;

REVOKE ALL ON FUNCTION auth.jwt() FROM PUBLIC;
GRANT ALL ON FUNCTION auth.jwt() TO anon;
GRANT ALL ON FUNCTION auth.jwt() TO authenticated;
GRANT ALL ON FUNCTION auth.jwt() TO service_role;

REVOKE ALL ON FUNCTION auth.role() FROM PUBLIC;
GRANT ALL ON FUNCTION auth.role() TO anon;
GRANT ALL ON FUNCTION auth.role() TO authenticated;
GRANT ALL ON FUNCTION auth.role() TO service_role;

REVOKE ALL ON FUNCTION auth.uid() FROM PUBLIC;
GRANT ALL ON FUNCTION auth.uid() TO anon;
GRANT ALL ON FUNCTION auth.uid() TO authenticated;
GRANT ALL ON FUNCTION auth.uid() TO service_role;

REVOKE ALL ON FUNCTION feed.change_ranges(since pg_snapshot, bound xid8) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.change_ranges(since pg_snapshot, bound xid8) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_conversations(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_conversations(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_delivered_marks(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_delivered_marks(lows xid8[], highs xid8[]) TO postline_feed;

GRANT SELECT ON TABLE app.former_members TO service_role;
GRANT SELECT ON TABLE app.former_members TO authenticated;
GRANT SELECT ON TABLE app.former_members TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_former_members(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_former_members(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_held(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_held(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_members(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_members(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_messages(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_messages(lows xid8[], highs xid8[]) TO postline_feed;

GRANT ALL ON TABLE public.conversation_mutes TO service_role;
GRANT SELECT ON TABLE public.conversation_mutes TO authenticated;
GRANT SELECT ON TABLE public.conversation_mutes TO postline_feed;

GRANT INSERT(conversation_id) ON TABLE public.conversation_mutes TO authenticated;

GRANT INSERT(user_id) ON TABLE public.conversation_mutes TO authenticated;

GRANT INSERT(muted_until),UPDATE(muted_until) ON TABLE public.conversation_mutes TO authenticated;

GRANT INSERT(marked_unread_seq),UPDATE(marked_unread_seq) ON TABLE public.conversation_mutes TO authenticated;

GRANT INSERT(archived_at),UPDATE(archived_at) ON TABLE public.conversation_mutes TO authenticated;

GRANT INSERT(pinned_at),UPDATE(pinned_at) ON TABLE public.conversation_mutes TO authenticated;

REVOKE ALL ON FUNCTION feed.changed_mutes(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_mutes(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_own_reactions(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_own_reactions(lows xid8[], highs xid8[]) TO postline_feed;

GRANT SELECT ON TABLE public.message_pieces TO service_role;
GRANT SELECT ON TABLE public.message_pieces TO authenticated;
GRANT SELECT ON TABLE public.message_pieces TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_pieces(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_pieces(lows xid8[], highs xid8[]) TO postline_feed;

GRANT SELECT ON TABLE public.presence TO service_role;
GRANT SELECT ON TABLE public.presence TO postline_feed;

GRANT SELECT(user_id) ON TABLE public.presence TO authenticated;

GRANT SELECT(is_online) ON TABLE public.presence TO authenticated;

GRANT SELECT(last_seen_at) ON TABLE public.presence TO authenticated;

GRANT SELECT(changed_xid) ON TABLE public.presence TO authenticated;

REVOKE ALL ON FUNCTION feed.changed_presence(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_presence(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_profiles(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_profiles(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.changed_reactions(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.changed_reactions(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.concerned(since pg_snapshot, users uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.concerned(since pg_snapshot, users uuid[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.count_changes(since pg_snapshot, lows xid8[], highs xid8[], INOUT members integer, INOUT profiles integer, INOUT conversations integer, INOUT former_members integer, INOUT messages integer, INOUT presence integer, INOUT mutes integer, INOUT reactions integer, INOUT delivered integer, INOUT pieces integer, OUT has_deletions boolean, OUT entered uuid[], OUT is_opened boolean, OUT has_too_many boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.count_changes(since pg_snapshot, lows xid8[], highs xid8[], INOUT members integer, INOUT profiles integer, INOUT conversations integer, INOUT former_members integer, INOUT messages integer, INOUT presence integer, INOUT mutes integer, INOUT reactions integer, INOUT delivered integer, INOUT pieces integer, OUT has_deletions boolean, OUT entered uuid[], OUT is_opened boolean, OUT has_too_many boolean) TO postline_feed;

REVOKE ALL ON FUNCTION feed.has_no_changes(epochs text[], users uuid[], sinces pg_snapshot[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.has_no_changes(epochs text[], users uuid[], sinces pg_snapshot[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_changes(since pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_changes(since pg_snapshot) TO postline_feed;

REVOKE ALL ON FUNCTION feed.look(since pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.look(since pg_snapshot) TO postline_feed;

REVOKE ALL ON FUNCTION feed.missed_nothing(epochs text[], users uuid[], sinces pg_snapshot[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.missed_nothing(epochs text[], users uuid[], sinces pg_snapshot[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.poll_changes(since pg_snapshot, features text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.poll_changes(since pg_snapshot, features text[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.next_look(since pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.next_look(since pg_snapshot) TO postline_feed;

REVOKE ALL ON FUNCTION feed.next_look(since pg_snapshot, features text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.next_look(since pg_snapshot, features text[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.own_numbers(conversation_id uuid, members uuid[], marks bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.own_numbers(conversation_id uuid, members uuid[], marks bigint[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_conversations(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_conversations(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_deleted(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_deleted(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_delivered_marks(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_delivered_marks(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_held(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_held(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_joined(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_joined(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_joined_behind(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_joined_behind(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_leaver_profiles(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_leaver_profiles(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_left(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_left(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_marks(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_marks(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_opening_presence(entered uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_opening_presence(entered uuid[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_openings(since pg_snapshot, entered uuid[], is_opened boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_openings(since pg_snapshot, entered uuid[], is_opened boolean) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_own_conversations(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_own_conversations(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_own_reactions(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_own_reactions(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_pieces(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_pieces(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_presence(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_presence(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_presence_behind(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_presence_behind(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_profiles(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_profiles(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_reactions(lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_reactions(lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.read_sender_marks(since pg_snapshot, lows xid8[], highs xid8[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.read_sender_marks(since pg_snapshot, lows xid8[], highs xid8[]) TO postline_feed;

REVOKE ALL ON FUNCTION feed.unseen_users(user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.unseen_users(user_id uuid) TO postline_feed;

REVOKE ALL ON FUNCTION feed.users_with_changes(since pg_snapshot, users uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION feed.users_with_changes(since pg_snapshot, users uuid[]) TO postline_feed;

REVOKE ALL ON FUNCTION public.is_read(message public.messages) FROM PUBLIC;
GRANT ALL ON FUNCTION public.is_read(message public.messages) TO authenticated;
GRANT ALL ON FUNCTION public.is_read(message public.messages) TO service_role;

REVOKE ALL ON FUNCTION public.unread_count(conversation public.conversations) FROM PUBLIC;
GRANT ALL ON FUNCTION public.unread_count(conversation public.conversations) TO authenticated;
GRANT ALL ON FUNCTION public.unread_count(conversation public.conversations) TO service_role;

GRANT SELECT ON TABLE app.conversation_parts TO authenticated;
GRANT SELECT ON TABLE app.conversation_parts TO postline_feed;

GRANT SELECT ON TABLE app.conversation_objects TO authenticated;
GRANT SELECT ON TABLE app.conversation_objects TO postline_feed;

GRANT DELETE ON TABLE app.devices TO authenticated;

GRANT SELECT(id) ON TABLE app.devices TO authenticated;

GRANT SELECT(user_id) ON TABLE app.devices TO authenticated;

GRANT SELECT(platform) ON TABLE app.devices TO authenticated;

GRANT SELECT(token) ON TABLE app.devices TO authenticated;

GRANT SELECT(environment) ON TABLE app.devices TO authenticated;

GRANT SELECT(locale) ON TABLE app.devices TO authenticated;

GRANT SELECT(created_at) ON TABLE app.devices TO authenticated;

GRANT SELECT(registered_at) ON TABLE app.devices TO authenticated;

GRANT SELECT ON TABLE app.profile_objects TO authenticated;
GRANT SELECT ON TABLE app.profile_objects TO postline_feed;

GRANT ALL ON TABLE public.user_private TO service_role;
GRANT SELECT ON TABLE public.user_private TO authenticated;
GRANT SELECT ON TABLE public.user_private TO postline_feed;

GRANT UPDATE(phone_number) ON TABLE public.user_private TO authenticated;

GRANT UPDATE(date_of_birth) ON TABLE public.user_private TO authenticated;

GRANT UPDATE(preferred_unit_system) ON TABLE public.user_private TO authenticated;

GRANT UPDATE(preferences) ON TABLE public.user_private TO authenticated;

GRANT UPDATE(biological_sex) ON TABLE public.user_private TO authenticated;

GRANT UPDATE(height_cm) ON TABLE public.user_private TO authenticated;

GRANT SELECT ON TABLE app.me_objects TO authenticated;
GRANT SELECT ON TABLE app.me_objects TO postline_feed;

GRANT SELECT ON TABLE app.sender_objects TO postline_sender;
GRANT SELECT ON TABLE app.sender_objects TO authenticated;
GRANT SELECT ON TABLE app.sender_objects TO postline_feed;

GRANT SELECT ON TABLE app.message_objects TO authenticated;
GRANT SELECT ON TABLE app.message_objects TO postline_feed;

GRANT SELECT ON TABLE app.message_streams TO postline_feed;

GRANT SELECT ON TABLE app.profile_details TO authenticated;

GRANT SELECT ON TABLE app.search_names TO authenticated;

GRANT SELECT ON TABLE app.words TO authenticated;

GRANT ALL ON TABLE public.blocks TO service_role;
GRANT SELECT,DELETE ON TABLE public.blocks TO authenticated;

GRANT INSERT(blocker_id) ON TABLE public.blocks TO authenticated;

GRANT INSERT(blocked_id) ON TABLE public.blocks TO authenticated;

GRANT ALL ON TABLE public.built_in_avatars TO service_role;
GRANT SELECT ON TABLE public.built_in_avatars TO anon;
GRANT SELECT ON TABLE public.built_in_avatars TO authenticated;

GRANT ALL ON TABLE public.username_history TO service_role;
GRANT SELECT ON TABLE public.username_history TO authenticated;

