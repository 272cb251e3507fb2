-- Overloads of an earlier version.
drop function if exists api.open_conversation(uuid);
drop function if exists api.conversation(uuid);

-- Returns the direct conversation with another user, and creates it if there is none. Restores member rows that were
-- deleted by SQL.
create or replace function api.open_conversation(user_id uuid, profiles boolean default false) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    found_id uuid;
begin
    if user_id is null or user_id = me then
        perform app.refuse_param('user_id', '"user_id" must be another user.');
    end if;
    select c.id into found_id from public.conversations c
     where c.participant1_id = least(me, open_conversation.user_id)
       and c.participant2_id = greatest(me, open_conversation.user_id);
    if found_id is null then
        if not app.is_active_user(open_conversation.user_id) then
            perform app.refuse_hidden('There is no such user.');
        end if;
        -- Without a conflict target, which would need the right to see the row before its members are added.
        insert into public.conversations (kind, participant1_id, participant2_id)
        values ('direct', least(me, open_conversation.user_id), greatest(me, open_conversation.user_id))
        on conflict do nothing;
        found_id := app.ensure_participants(open_conversation.user_id);
    elsif (select count(*) from public.conversation_members m where m.conversation_id = found_id) < 2
          and app.is_active_user(open_conversation.user_id) then
        perform app.ensure_participants(open_conversation.user_id);
    end if;
    return api.conversation(found_id, profiles);
end
$$;

-- Returns true if the user exists and is not deleted.
create or replace function app.is_active_user(user_id uuid) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from public.user_profiles p where p.id = is_active_user.user_id and not p.is_deleted);
end
$$;

-- Returns a conversation. With `profiles`, the profiles of its members are beside it, in their order, as many as fit.
create or replace function api.conversation(conversation_id uuid, profiles boolean default false) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    answer text;
    people text[];
begin
    select c.object into answer from app.conversation_objects c
     where c.id = conversation.conversation_id and c.user_id = me;
    if answer is null then
        perform app.refuse_hidden('There is no such conversation.');
    end if;
    if profiles then
        select pg_catalog.array_agg(p.object::text order by m.joined_at, m.user_id) into people
          from public.conversation_members m
          join app.profile_objects p on p.id = m.user_id
         where m.conversation_id = conversation.conversation_id;
        answer := pg_catalog.left(answer, -1) || ',"profiles":['
            || app.joined(people, room => app.answer_bytes() - pg_catalog.octet_length(answer)) || ']}';
    end if;
    return answer::json;
end
$$;

-- Returns a page of the caller's conversations, the newest message first; without messages the creation counts. No
-- index has this order, since every message would then have to update it. A user's few hundred are sorted.
create or replace function api.conversations(max_results integer default 50, before text default null) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    limit_time timestamptz;
    limit_id uuid;
    ids uuid[];
    times timestamptz[];
    objects text[];
    people uuid[];
    places integer[];   -- for each of the people, its first conversation on the page
    person record;
    profiles text[] := '{}';
    room bigint := app.answer_bytes();
    -- The first conversation may fill a response; others are added while the page is not full.
    reserve bigint := app.answer_bytes() - app.page_bytes();
    fitting integer := 0;   -- the number of conversations that fit
    complete integer := 0;  -- the number of profiles before the last of them
    more boolean;
    next text;
begin
    if not coalesce(max_results between 1 and 100, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 100.');
    end if;
    if before is not null then
        select p.created_at, p.id into limit_time, limit_id from app.parsed_position('before', before) p;
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
    more := pg_catalog.cardinality(ids) > max_results;
    ids := ids[:max_results];

    select pg_catalog.array_agg(c.object order by page.place) into objects
      from unnest(ids) with ordinality as page (id, place)
      join app.conversation_objects c on c.id = page.id and c.user_id = me;
    select pg_catalog.array_agg(w.user_id order by w.place, w.user_id),
           pg_catalog.array_agg(w.place order by w.place, w.user_id)
      into people, places
      from (select m.user_id, min(page.place) as place
              from unnest(ids) with ordinality as page (id, place)
              join public.conversation_members m on m.conversation_id = page.id
             group by m.user_id) w;

    -- A conversation comes with the profiles of all its members, or on the next page; the first with as many as fit.
    <<page>>
    begin
        -- In batches: the groups of a page may have 25,600 members.
        for batch in 0 .. coalesce((pg_catalog.cardinality(people) - 1) / 256, -1) loop
            for person in
                select w.place, p.object::text as object
                  from unnest(people[batch * 256 + 1:batch * 256 + 256], places[batch * 256 + 1:batch * 256 + 256])
                       as w (id, place)
                  join app.profile_objects p on p.id = w.id
                 order by w.place, w.id
            loop
                while fitting < person.place loop
                    room := room - 1 - pg_catalog.octet_length(objects[fitting + 1])
                        - case when fitting = 1 then reserve else 0 end;
                    exit page when room < 0 and fitting > 0;
                    fitting := fitting + 1;
                    complete := pg_catalog.cardinality(profiles);
                end loop;
                room := room - 1 - pg_catalog.octet_length(person.object);
                if room < 0 then
                    if fitting > 1 then
                        fitting := fitting - 1;
                        profiles := profiles[:complete];
                    end if;
                    exit page;
                end if;
                profiles := profiles || person.object;
            end loop;
        end loop;
        while fitting < pg_catalog.cardinality(ids) loop
            room := room - 1 - pg_catalog.octet_length(objects[fitting + 1])
                - case when fitting = 1 then reserve else 0 end;
            exit page when room < 0;
            fitting := fitting + 1;
        end loop;
    end;
    if more or fitting < pg_catalog.cardinality(ids) then
        next := app.page_position(times[fitting], ids[fitting]);
    end if;
    return ('{"conversations":[' || coalesce(pg_catalog.array_to_string(objects[:fitting], ','), '') || '],"profiles":['
            || pg_catalog.array_to_string(profiles, ',') || '],"next":'
            || coalesce(pg_catalog.to_json(next)::text, 'null') || '}')::json;
end
$$;

-- Returns the number of members of one of the caller's conversations, or 0.
create or replace function api.member_count(conversation_id uuid) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (select count(*) from public.conversation_members m
             where m.conversation_id = member_count.conversation_id);
end
$$;
