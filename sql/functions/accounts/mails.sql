-- Mails in delivery, for the role postline_accounts only: see sql/functions/app/mails.sql.

-- Claims due mails, at most as many as there are hashes; each is due again in four minutes. A mail with a token uses
-- one of the hashes (SHA-256, hexadecimal). Mails without a purpose are deleted and do not count, so that no other mail
-- reveals how many addresses were invented.
create or replace function accounts.claim_mails(hashes text[]) returns table (
    id uuid, kind text, email text, user_id uuid, locale text, attempts integer, token_hash text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
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

-- Records the mail server's responses. `outcomes` are
--
--   taken      accepted for delivery; the row is deleted
--   later      to be tried again after `retry_seconds`
--   refused    will never be accepted
--   given_up   tried for a day
--
-- `tries` is the number of earlier attempts. A late record, after another node has claimed the mail, counts only if the
-- mail was accepted.
create or replace function accounts.record_mail_results(
    ids uuid[], tries integer[], outcomes text[], errors text[], retry_seconds double precision[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
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
