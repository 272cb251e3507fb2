-- Tickets for event streams, for the role postline_accounts alone. A browser's EventSource sends no header, and a token
-- does not belong into a URL, which logs keep: a ticket is good once and for 30 seconds.
--
-- Nothing that could be used is stored: of the ticket its hash, and of the access token what the ticket alone opens.

-- Keeps a ticket. A user has at most ten: of more, the newest go on.
create or replace function accounts.keep_ticket(hash text, user_id uuid, sealed_token text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from app.stream_tickets t where t.expires_at <= app.now();
    delete from app.stream_tickets t
     where t.hash in (select o.hash from app.stream_tickets o
                       where o.user_id = keep_ticket.user_id order by o.expires_at desc offset 9);
    insert into app.stream_tickets (hash, user_id, sealed_token, expires_at)
    values (decode(keep_ticket.hash, 'hex'), keep_ticket.user_id, decode(keep_ticket.sealed_token, 'hex'),
            app.now() + interval '30 seconds');
end
$$;

-- Takes a ticket: the sealed token, in hexadecimal digits; null where there is none of that hash, or not any more.
create or replace function accounts.take_ticket(hash text) returns text
language sql security definer set search_path = pg_catalog, pg_temp as $$
    with taken as (
        delete from app.stream_tickets t where t.hash = decode(take_ticket.hash, 'hex')
        returning t.sealed_token, t.expires_at)
    select encode(taken.sealed_token, 'hex') from taken where taken.expires_at > app.now()
$$;
