-- Leases for work that one node at a time does. A lease is a row that only these functions write, for the service's
-- role. An advisory lock could be taken by every role of the database.

-- Acquires or renews a lease for that many seconds, and returns whether `holder` has it.
create or replace function app.acquire_lease(name text, holder uuid, seconds double precision) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into app.leases as l (name, holder, expires_at)
    values (name, holder, pg_catalog.clock_timestamp() + seconds * interval '1 second')
    on conflict on constraint leases_pkey do update set holder = excluded.holder, expires_at = excluded.expires_at
     where l.holder = excluded.holder or l.expires_at <= pg_catalog.clock_timestamp();
    return found;
end
$$;

-- Releases a lease that `holder` has.
create or replace function app.release_lease(name text, holder uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from app.leases l where l.name = release_lease.name and l.holder = release_lease.holder
$$;
