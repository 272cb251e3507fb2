-- The one direct conversation with another user, made if there was none.
create or replace function api.open_conversation(user_id uuid) returns json
language plpgsql set search_path = '' as $$
declare
    me uuid := app.caller();
    found_id uuid;
begin
    if user_id is null or user_id = me then
        perform app.refuse_param('user_id', 'A direct conversation is with somebody else.');
    end if;
    select c.id into found_id from public.conversations c
     where c.participant1_id = least(me, open_conversation.user_id)
       and c.participant2_id = greatest(me, open_conversation.user_id);
    if found_id is null then
        if not exists (select from public.user_profiles p where p.id = open_conversation.user_id and not p.is_deleted) then
            perform app.refuse_hidden('There is no such user.');
        end if;
        -- Without a conflict target: naming one asks for the right to see the row before its members are added.
        insert into public.conversations (kind, participant1_id, participant2_id)
        values ('direct', least(me, open_conversation.user_id), greatest(me, open_conversation.user_id))
        on conflict do nothing;
        select c.id into found_id from public.conversations c
         where c.participant1_id = least(me, open_conversation.user_id)
           and c.participant2_id = greatest(me, open_conversation.user_id);
    end if;
    return api.conversation(found_id);
end
$$;

create or replace function api.conversation(conversation_id uuid) returns json
language plpgsql stable set search_path = '' as $$
declare
    me uuid := app.caller();
    answer text;
begin
    select c.object into answer from app.conversation_objects c
     where c.id = conversation.conversation_id and c.user_id = me;
    if answer is null then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    return answer::json;
end
$$;

-- Newest message first; one never written in stands where it was made. No index holds this order: it would make
-- every message's update of its conversation a cold one. A user's own few hundred are sorted.
create or replace function api.conversations(max_results integer default 50, before text default null) returns json
language plpgsql stable set search_path = '' as $$
declare
    me uuid := app.caller();
    limit_time timestamptz;
    limit_id uuid;
    ids uuid[];
    times timestamptz[];
    shown text;
    profiles text;
    next text;
begin
    if not coalesce(max_results between 1 and 100, false) then
        perform app.refuse_param('limit', 'A limit is between 1 and 100.');
    end if;
    if before is not null then
        if before !~ '^[0-9]{1,17}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
            perform app.refuse_param('before', 'Give the "next" of the page before.');
        end if;
        limit_time := timestamptz 'epoch'
            + pg_catalog.split_part(before, '.', 1)::bigint * interval '1 microsecond';
        limit_id := pg_catalog.split_part(before, '.', 2)::uuid;
    end if;

    select pg_catalog.array_agg(page.id order by page.place), pg_catalog.array_agg(page.newest order by page.place)
      into ids, times
      from (
        select c.id, k.newest, row_number() over (order by k.newest desc, c.id desc) as place
          from public.conversation_members m
          join public.conversations c on c.id = m.conversation_id
         cross join lateral (select coalesce(c.last_message_time, c.created_at) as newest) k
         where m.user_id = me
           and (limit_time is null or (k.newest, c.id) < (limit_time, limit_id))
         order by place
         limit max_results + 1) page;
    if pg_catalog.cardinality(ids) > max_results then
        ids := ids[1:max_results];
        -- Exact in integers: a double would lose microseconds.
        next := (extract(epoch from times[max_results]) * 1000000)::bigint || '.' || ids[max_results]::text;
    end if;

    select pg_catalog.string_agg(c.object, ',' order by page.place) into shown
      from unnest(ids) with ordinality as page (id, place)
      join app.conversation_objects c on c.id = page.id and c.user_id = me;
    select pg_catalog.string_agg(p.object::text, ',' order by p.id) into profiles
      from app.profile_objects p
     where p.id in (select m.user_id from public.conversation_members m where m.conversation_id = any(ids));
    return ('{"conversations":[' || coalesce(shown, '') || '],"profiles":[' || coalesce(profiles, '')
            || '],"next":' || coalesce(pg_catalog.to_json(next)::text, 'null') || '}')::json;
end
$$;
