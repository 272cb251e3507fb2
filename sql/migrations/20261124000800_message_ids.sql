-- An id that begins with its time in milliseconds (UUIDv7, RFC 9562, section 5.7), so that new ones stand side by side
-- in their index. A random one stands anywhere: in a grown index each message changes another page, and the first
-- change of a page after a checkpoint takes the whole page to the log.
create function app.message_id() returns uuid
language sql volatile parallel safe as $$
    select (pg_catalog.lpad(pg_catalog.to_hex(
                (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint), 12, '0')
            || '7' || pg_catalog.substr(pg_catalog.gen_random_uuid()::text, 16))::uuid
$$;
alter table public.messages alter column id set default app.message_id();
