-- How many bytes there may be of what is stored and of what is answered.

-- How long a JSON value is when written without blanks. jsonb's text has one after each comma and colon;
-- json_strip_nulls writes it anew without, and is kept from stripping by `true`, which is as long, in the place of each
-- `null`, also in strings (and `\true` is as long as `\null` there).
create or replace function app.json_bytes(value jsonb) returns bigint
language sql immutable parallel safe
begin atomic
    select pg_catalog.octet_length(pg_catalog.json_strip_nulls(
        pg_catalog.replace(value::text, 'null', 'true')::json)::text);
end;

-- Whether a number stands in a value that no double holds, which many clients' readers of JSON refuse.
create or replace function app.has_huge_number(value jsonb) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.jsonb_path_exists(
        value, 'strict $.** ? (@.type() == "number" && (@ > 1.7e308 || @ < -1.7e308))');
end;

-- What the objects of one answer may take: an answer line has at most 4 MiB, of which the id, that the client chooses,
-- may take as much as a request line has.
create or replace function app.answer_bytes() returns integer
language sql immutable parallel safe
begin atomic
    select 4100000;
end;

-- The bytes that the objects of one page of a list may take; the next page goes on from there.
create or replace function app.page_bytes() returns integer
language sql immutable parallel safe
begin atomic
    select 524288;
end;

-- The time after which a page of a user's view ends, whatever is in it. A timeout of its statement would end it at the
-- same place again.
create or replace function app.page_time() returns interval
language sql immutable parallel safe
begin atomic
    select interval '2 seconds';
end;

-- The bytes of messages and profiles that one poll of the feed reads for users who enter conversations. Beyond them
-- these users resync: 120 groups of 100 long messages took the feed longer than its statement timeout.
create or replace function app.opening_bytes() returns bigint
language sql immutable parallel safe
begin atomic
    select 2097152::bigint;
end;

-- The most conversations that a user can be in and still be added to a group. Each read asks for all of the user's
-- conversations, and others add it to groups.
create or replace function app.max_conversations() returns integer
language sql immutable parallel safe
begin atomic
    select 10000;
end;

-- That of the version before, which took fewer params.
drop function if exists app.joined(text[], boolean);

-- The objects with commas between them, as many as there is room for: from the first on, or from the last back. One at
-- least.
create or replace function app.joined(
    objects text[], from_last boolean default false, room bigint default app.answer_bytes()) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    joined text := coalesce(pg_catalog.array_to_string(objects, ','), '');
    fitting integer := 0;
    total integer := pg_catalog.cardinality(objects);
begin
    if pg_catalog.octet_length(joined) <= room then
        return joined;
    end if;
    loop
        room := room - 1
            - pg_catalog.octet_length(objects[case when from_last then total - fitting else fitting + 1 end]);
        exit when room < 0 and fitting > 0 or fitting = total;
        fitting := fitting + 1;
    end loop;
    return pg_catalog.array_to_string(
        case when from_last then objects[total - fitting + 1:] else objects[:fitting] end, ',');
end
$$;
