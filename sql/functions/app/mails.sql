-- The mail queue. A mail proves that a user can read the mail of an address.
--
-- A transaction that needs a mail inserts a row (app.queue_mail). Every node claims due mails twice a second
-- (accounts.claim_mails), sends them, and records the mail server's response (accounts.record_mail_results). A claimed
-- mail is due again after four minutes in case the node stops: each is sent at least once, and twice only if a node
-- stops between the response and its record.
--
-- A token is created when its mail is claimed: the node and the mail have the token, the database its hash. So no row
-- contains anything usable, and a request costs the same for an unknown address as for a known one:
-- accounts.claim_mails looks up the account, and no response waits for it.

-- Queues a mail to an address. Raises rate_limited (PL014) beyond `most` mails of that kind in an hour; null means no
-- limit.
create or replace function app.queue_mail(kind text, email text, user_id uuid, most integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- Returns true if the user has proven that the account's address is its own.
create or replace function app.is_proven(account auth.users) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return account.email_confirmed_at is not null and exists (
        select from app.identities i
         where i.provider = 'email' and i.user_id = account.id
           and i.subject = app.lower_ascii(account.email::text));
end
$$;

-- Returns true if a due mail still has a purpose.
create or replace function app.is_still_needed(mail app.mails, account auth.users) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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

-- Deletes some expired tokens, counts older than an hour, and mails that failed 30 days ago.
create or replace function app.prune_mails() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- Deletes the pending mails and tokens of these kinds. The caller has locked the account's row.
create or replace function app.cancel_mails(user_id uuid, kinds text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.mails m where m.user_id = cancel_mails.user_id and m.kind = any (kinds);
    delete from app.mail_tokens t where t.user_id = cancel_mails.user_id and t.kind = any (kinds);
end
$$;
