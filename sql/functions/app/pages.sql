-- Positions in lists ordered by a time and an id: the `next` of a page, after which the next page begins.

-- Returns the position of a row as text, microseconds since 1970 and the id.
create or replace function app.page_position(created_at timestamptz, id uuid) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    -- Exact in numbers: a double would lose microseconds.
    return (extract(epoch from created_at - timestamptz 'epoch') * 1000000)::bigint || '.' || id;
end
$$;

-- Returns the time and the id of a position, `value`, that a client has sent as `field`. Refuses any other text.
create or replace function app.parsed_position(field text, value text, out created_at timestamptz, out id uuid)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if value !~ '^[0-9]{1,17}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be the "next" of the previous page.', field));
    end if;
    created_at := timestamptz 'epoch' + pg_catalog.split_part(value, '.', 1)::bigint * interval '1 microsecond';
    id := pg_catalog.split_part(value, '.', 2)::uuid;
end
$$;
