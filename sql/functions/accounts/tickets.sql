-- Tickets for event streams, for the role postline_accounts only. A browser's EventSource sends no header, and an
-- access token must not be in a URL, which logs contain: a ticket opens a stream once, within 30 seconds. When the
-- browser reconnects it sends the same ticket with the id of the last event: for that a used ticket is valid until the
-- token expires, and the node requires the key in the id.
--
-- Nothing usable is stored: a hash of the ticket, and the access token encrypted with the ticket.

drop function if exists accounts.store_ticket(text, uuid, text);
drop function if exists accounts.redeem_ticket(text);

-- Stores a ticket. A user has at most ten: used ones are removed before unused ones, older before newer.
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

-- Redeems an unused or a used ticket, and returns the sealed token in hexadecimal, or null if there is none.
create or replace function accounts.redeem_ticket(hash text, is_used boolean default false) returns text
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update app.stream_tickets t set is_used = true, expires_at = coalesce(t.resumes_until, t.expires_at)
     where t.hash = decode(redeem_ticket.hash, 'hex') and t.is_used = redeem_ticket.is_used and t.expires_at > app.now()
    returning encode(t.sealed_token, 'hex')
$$;
