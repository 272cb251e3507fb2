-- Mails: what tells that whoever asks reads the mail of an address.
--
-- A transaction that needs one writes a row (app.queue_mail). Every node asks twice a second for what is due
-- (accounts.claim_mails) and gives it to the operator's mail server; accounts.record_mail_results notes what that said. A mail
-- that is being sent is due again four minutes later, for the case that the node ends with it: so each is sent at least
-- once, and twice only where a node ended between the server's answer and the note of it.
--
-- A token is made when its mail is sent: the node has it, the mail has it, and here is its hash. So no row holds what
-- could be used, and a request for an address that nobody has is the same work as for one that somebody has: whose it
-- is, accounts.claim_mails looks, and nobody waits for that.

-- Queues a mail to an address, `most` of that kind an hour; null: as many as there are.
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
            raise exception using errcode = 'PL014', message = 'Too many mails were asked for to this address.',
                detail = pg_catalog.json_build_object('retry_after', greatest(1, pg_catalog.ceil(
                    extract(epoch from counted.since + interval '1 hour' - app.now()))::integer))::text;
        end if;
    end if;
    insert into app.mails (kind, email, user_id) values (queue_mail.kind, queue_mail.email, queue_mail.user_id);
end
$$;

-- Whether the holder of the account's address has proven that it is theirs.
create or replace function app.is_proven(account auth.users) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return account.email_confirmed_at is not null and exists (
        select from app.identities i
         where i.provider = 'email' and i.user_id = account.id
           and i.subject = app.lower_ascii(account.email::text));
end
$$;

-- Whether there is still a reason to send the mail, now that it is due.
create or replace function app.is_still_needed(mail app.mails, account auth.users) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if account.id is null or account.deleted_at is not null or app.is_banned(account) then
        return false;
    end if;
    return case mail.kind
        when 'confirm_email' then account.email = mail.email and not app.is_proven(account)
        -- Whoever has the address by now is told nothing.
        when 'change_email' then not exists (
            select from auth.users u where u.email = mail.email and not u.is_sso_user)
        else true end;
end
$$;

-- Removes some of what is over: tokens that have expired, counts of an hour ago, mails that were given up a month ago.
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

-- Ends what was asked for before, of an account whose row the caller has locked: no mail of these kinds proves anything
-- any more.
create or replace function app.cancel_mails(user_id uuid, kinds text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.mails m where m.user_id = cancel_mails.user_id and m.kind = any (kinds);
    delete from app.mail_tokens t where t.user_id = cancel_mails.user_id and t.kind = any (kinds);
end
$$;
