-- Bounds of stored values and of responses.

-- Returns the most characters of a message. The domain app.message_content has the same bound.
create or replace function app.max_message_characters() returns integer
language sql immutable parallel safe
begin atomic
    select 8000;
end;

-- Returns the most characters of a message in its conversation's last_message_content.
create or replace function app.preview_characters() returns integer
language sql immutable parallel safe
begin atomic
    select 200;
end;

-- Returns the most bytes of an app's own data of a message or conversation, as JSON without blanks.
create or replace function app.max_data_bytes() returns integer
language sql immutable parallel safe
begin atomic
    select 4096;
end;

-- Returns the length of a JSON value written without blanks. The text of jsonb has a blank after each comma and colon;
-- json_strip_nulls writes it without. To keep the members that are null, each `null` is replaced by `true`, which has
-- the same length, also within strings.
create or replace function app.json_bytes(value jsonb) returns bigint
language sql immutable parallel safe
begin atomic
    select pg_catalog.octet_length(pg_catalog.json_strip_nulls(
        pg_catalog.replace(value::text, 'null', 'true')::json)::text);
end;

-- Returns true if a value contains a number that does not fit in a double. Many JSON parsers refuse such numbers.
create or replace function app.has_huge_number(value jsonb) returns boolean
language sql immutable parallel safe
begin atomic
    select pg_catalog.jsonb_path_exists(
        value, 'strict $.** ? (@.type() == "number" && (@ > 1.7e308 || @ < -1.7e308))');
end;

-- Returns why JSON parsers would refuse a value, as the end of a sentence, or null.
create or replace function app.json_flaw(value jsonb) returns text
language sql immutable parallel safe
begin atomic
    select case when pg_catalog.jsonb_path_exists(
                         value, 'strict $.**{128} ? (@.type() == "array" || @.type() == "object")')
                then 'is nested more than 128 deep'
                when app.has_huge_number(value) then 'has a number that is out of range' end;
end;

-- Returns the most bytes of the objects in one response. A response line has at most 4 MiB, and the id that the client
-- chooses can take as much of it as of a request line.
create or replace function app.answer_bytes() returns integer
language sql immutable parallel safe
begin atomic
    select 4100000;
end;

-- Returns the most bytes of the objects in one page of a list. The next page continues after them.
create or replace function app.page_bytes() returns integer
language sql immutable parallel safe
begin atomic
    select 524288;
end;

-- Returns the time after which a page of `sync` ends, however few bytes it has. A statement timeout would end every
-- attempt at the same place.
create or replace function app.page_time() returns interval
language sql immutable parallel safe
begin atomic
    select interval '1 second';
end;

-- Returns the most members that a page of `sync` reads before it looks at the clock, or more if the user is in more
-- than 2,048 conversations (app.sync_step_end). Smaller steps enter the index for each conversation more often, larger
-- ones read more than a page returns.
create or replace function app.step_members() returns integer
language sql immutable parallel safe
begin atomic
    select 16384;
end;

-- Returns the most bytes of messages and profiles that one poll of the feed reads for users who join conversations.
-- Beyond them these users resync: reading 120 groups of 100 long messages exceeded the feed's statement timeout.
create or replace function app.opening_bytes() returns bigint
language sql immutable parallel safe
begin atomic
    select 2097152::bigint;
end;

-- Returns the most groups of a user whom another user adds to a group. A bound is needed because each read collects all
-- conversations of the user, and each change of its profile or presence is sent to all of them: both cost one or
-- two microseconds per conversation, in the requests of the user and in the feed, which serves everyone. The bounds
-- below are shares of it: otherwise a few guests who add a user to groups could reach it in seconds, and so lock the
-- user out of groups. Direct conversations do not count, since others open them.
create or replace function app.max_conversations() returns integer
language sql immutable parallel safe
begin atomic
    select 2000;
end;

-- Returns the most groups of a user who creates a group. It is twice what others can reach, so that they cannot
-- keep a user from creating groups.
create or replace function app.max_own_conversations() returns integer
language sql immutable parallel safe
begin atomic
    select app.max_conversations() * 2;
end;

-- Returns the most groups of a user whom a stranger adds to a group (app.has_contacted). The other half is for
-- users whom the user knows.
create or replace function app.max_conversations_by_strangers() returns integer
language sql immutable parallel safe
begin atomic
    select app.max_conversations() / 2;
end;

-- Returns the most groups of a user whom a guest adds to a group as a stranger. Guests need no email address, so
-- that one person can be many of them.
create or replace function app.max_conversations_by_guests() returns integer
language sql immutable parallel safe
begin atomic
    select app.max_conversations() / 10;
end;

-- Overload of an earlier version.
drop function if exists app.joined(text[], boolean);

-- Returns the objects separated by commas, as many as fit into `room` bytes and at least one: the first ones, or the
-- last ones if `from_last` is true.
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
