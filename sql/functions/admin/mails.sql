-- Mails that wait or have failed.

-- Returns the oldest mails in the queue, and their total.
create or replace function admin.mails(most integer, in_full boolean) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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

-- Makes a mail, or all without an id, due now with no attempts, and returns how many.
create or replace function admin.retry_mails(operator text, mail text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
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
