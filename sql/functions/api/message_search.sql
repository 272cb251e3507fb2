-- Returns a page of the caller's messages that match a query, the newest first, of one conversation or of one sender if
-- given, and the position of the next page. `is_partial` is true if the page ends before it is full, since a search
-- takes 250 ms at most: 200 until the last span of time, and the objects.
create or replace function api.search_messages(
    query text, conversation_id uuid default null, sender_id uuid default null, max_results integer default 20,
    before text default null) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    me uuid := app.caller();
    before_time timestamptz;
    before_id uuid;
    found record;
    page record;
begin
    if not coalesce(char_length(app.normalized(query)) between 2 and 100, false) then
        perform app.refuse_param('query', '"query" must be 2 to 100 characters long.');
    elsif not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif before is not null then
        if before !~ '^-?[0-9]{1,17}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
            perform app.refuse_param('before', '"before" must be the "next" of the previous page.');
        end if;
        before_time := timestamptz 'epoch' + split_part(before, '.', 1)::bigint * interval '1 microsecond';
        before_id := split_part(before, '.', 2)::uuid;
    end if;
    found := app.find_messages(
        query, search_messages.conversation_id, search_messages.sender_id, before_time, before_id, max_results,
        interval '200 ms');
    select count(*) as length, string_agg(o.object, ',' order by o.place) as objects into page
      from (select p.place, o.object, sum(octet_length(o.object) + 1) over (order by p.place) as bytes
              from unnest(found.conversations, found.seqs) with ordinality as p (conversation_id, seq, place)
             cross join lateral (select o.object from app.message_objects o
                                  where o.conversation_id = p.conversation_id and o.seq = p.seq offset 0) o) o
     where o.bytes <= app.page_bytes() or o.place = 1;
    return format('{"messages":[%s],"next":%s,"is_partial":%s}', page.objects,
        coalesce(to_json(case when page.length < cardinality(found.positions) then found.positions[page.length]
                              else found.next end)::text, 'null'),
        found.is_partial::text)::json;
end
$$;
