-- Tickets for event streams, for the role postline_accounts alone. A browser's EventSource sends no header, and a token
-- does not belong into a URL, which logs keep: a ticket opens a stream once, within 30 seconds. The browser's own
-- reconnect sends the same ticket again, with the id of the last event: a used ticket is taken for that until the token
-- expires, and the node requires the key that the id has.
--
-- Nothing that could be used is stored: of the ticket its hash, and of the access token what the ticket alone opens.

drop function if exists accounts.store_ticket(text, uuid, text);
drop function if exists accounts.redeem_ticket(text);

-- Keeps a ticket. A user has at most ten: unused ones go on before used ones, and newer ones before older ones.
create or replace function accounts.store_ticket(
    hash text, user_id uuid, sealed_token text, token_expires double precision default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- Takes a ticket that was used, or one that was not: the sealed token, in hexadecimal digits; null where there is none
-- of that hash, or not any more.
create or replace function accounts.redeem_ticket(hash text, is_used boolean default false) returns text
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update app.stream_tickets t set is_used = true, expires_at = coalesce(t.resumes_until, t.expires_at)
     where t.hash = decode(redeem_ticket.hash, 'hex') and t.is_used = redeem_ticket.is_used and t.expires_at > app.now()
    returning encode(t.sealed_token, 'hex')
$$;
