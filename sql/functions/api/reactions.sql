-- Sets a reaction of the caller to a message, or takes it back, and returns the reactions to the message.
create or replace function api.react(conversation_id uuid, seq bigint, emoji text, is_set boolean default true)
returns json
language sql
begin atomic
    select app.set_reaction(react.conversation_id, react.seq, react.emoji, react.is_set);
end;

-- Returns a page of the users who have reacted to a message, the first ones first, and the position of the next page.
create or replace function api.reactions(
    conversation_id uuid, seq bigint, emoji text default null, max_results integer default 50, after text default null)
    returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    me uuid := app.caller();
    after_time timestamptz := '-infinity';
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    after_emoji text := '';
    last record;
begin
    if not coalesce(max_results between 1 and 200, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 200.');
    elsif after is not null then
        if after !~ '^[0-9]{1,17}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\..{1,32}$' then
            perform app.refuse_param('after', '"after" must be the "next" of the previous page.');
        end if;
        after_time := timestamptz 'epoch' + pg_catalog.split_part(after, '.', 1)::bigint * interval '1 microsecond';
        after_id := pg_catalog.split_part(after, '.', 2)::uuid;
        after_emoji := pg_catalog.split_part(after, '.', 3);
    end if;
    if not exists (
        select from public.messages m
         where m.conversation_id = reactions.conversation_id and m.seq = reactions.seq) then
        perform app.refuse_hidden('There is no such message.');
    end if;
    select count(*), pg_catalog.string_agg(
               '{"user_id":"' || w.user_id::text || '","emoji":' || pg_catalog.to_json(w.emoji)::text
               || ',"created_at":' || app.quoted_utc(w.created_at) || '}', ','
               order by w.created_at, w.user_id, w.emoji),
           -- Exact in integers: a double would lose microseconds.
           (pg_catalog.array_agg((extract(epoch from w.created_at) * 1000000)::bigint || '.' || w.user_id::text || '.'
                                 || w.emoji order by w.created_at desc, w.user_id desc, w.emoji desc))[1] as place
      into last
      from (select r.user_id, r.emoji, r.created_at from public.message_reactions r
             where r.conversation_id = reactions.conversation_id and r.seq = reactions.seq and r.is_set
               and (r.created_at, r.user_id, r.emoji) > (after_time, after_id, after_emoji)
               and (reactions.emoji is null or r.emoji = reactions.emoji)
             order by r.created_at, r.user_id, r.emoji limit max_results) w;
    return pg_catalog.format('{"reactions":[%s],"next":%s}', last.string_agg,
        case when last.count = max_results then pg_catalog.to_json(last.place)::text else 'null' end)::json;
end
$$;
