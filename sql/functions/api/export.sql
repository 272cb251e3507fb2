-- Everything that the caller may select, in pages: the caller's own data, then its conversations, their members'
-- profiles, and the messages of each conversation from the first on.

-- Returns a page of the caller's export: `objects`, each with one member that names its kind, and `next`, the position
-- of the next page or null. A position is a kind with the last id, and of messages with the last number. What changes
-- between two pages is in the export as it is when its page is read.
create or replace function api.export(after text default null) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set jit = off as $$
declare
    me uuid := app.caller();
    part text[] := pg_catalog.regexp_match(
        coalesce(after, 'me'),
        '^(me|conversations|profiles|messages)(?::([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?::(\d{1,18}))?)?$');
    last uuid := coalesce(part[2], '00000000-0000-0000-0000-000000000000');
    objects text;
    newest text;
    next text;
begin
    if part is null then
        perform app.refuse_param('after', '"after" must be the "next" of a page.');
    elsif part[1] = 'me' then
        return app.export_page(app.export_own(me), 'conversations');
    elsif part[1] = 'conversations' then
        select pg_catalog.string_agg('{"conversation":' || c.object || '}', ',' order by c.id), max(c.id::text)
          into objects, newest
          from (select m.conversation_id as id from public.conversation_members m
                 where m.user_id = me and m.conversation_id > last
                 order by m.conversation_id limit 10) m
          join app.conversation_objects c on c.id = m.id and c.user_id = me;
        next := case when newest is null then 'profiles' else 'conversations:' || newest end;
    elsif part[1] = 'profiles' then
        select pg_catalog.string_agg('{"profile":' || p.object || '}', ',' order by p.id), max(p.id::text)
          into objects, newest
          from (select u.user_id as id
                  from (select m.user_id from public.conversation_members m
                        union
                        select f.user_id from app.former_members f where f.wrote) u
                 where u.user_id > last and u.user_id <> me order by u.user_id limit 100) u
          join app.profile_objects p on p.id = u.id;
        next := case when newest is null then 'messages' else 'profiles:' || newest end;
    elsif part[3] is null then
        -- The next conversation.
        select m.conversation_id into last from public.conversation_members m
         where m.user_id = me and m.conversation_id > last order by m.conversation_id limit 1;
        next := case when last is not null then 'messages:' || last::text || ':0' end;
    else
        begin
            newest := api.messages(last, after_seq => part[3]::bigint, max_results => 200);
        exception when sqlstate 'PL008' then
            -- Left meanwhile.
            newest := '{"messages":[],"reactions":[],"pieces":[]}';
        end;
        select pg_catalog.string_agg('{"' || o.kind || '":' || o.object || '}', ',' order by o.rank, o.place)
          into objects
          from (select k.kind, k.rank, e.place, e.value::text as object
                  from (values ('message', 'messages', 1), ('reactions', 'reactions', 2), ('piece', 'pieces', 3))
                           as k (kind, name, rank)
                 cross join lateral pg_catalog.json_array_elements(newest::json -> k.name)
                            with ordinality as e (value, place)) o;
        next := 'messages:' || last || coalesce(':' || (newest::json -> 'messages' -> -1 ->> 'seq'), '');
    end if;
    return app.export_page(objects, next);
end
$$;

-- Returns a page of objects, which are JSON texts with commas between them.
create or replace function app.export_page(objects text, next text) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.concat('{"objects":[', objects, '],"next":', coalesce('"' || next || '"', 'null'), '}');
end;

-- Returns the caller's own data, besides conversations, as objects with commas between them.
create or replace function app.export_own(user_id uuid) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (
        select pg_catalog.string_agg(
                   pg_catalog.json_build_object(o.kind, o.object)::text, ',' order by o.rank, o.place)
          from (select 1 as rank, 'me' as kind, api.me() as object, 1::bigint as place
                union all
                select 2, 'blocked', api.blocked_users(), 1
                union all
                select 3, 'device', d.value, d.place
                  from pg_catalog.json_array_elements(api.devices() -> 'devices') with ordinality d (value, place)
                union all
                select 4, 'scheduled', app.scheduled_object(s), row_number() over (order by s.due_at, s.id)
                  from public.scheduled_messages s where s.sender_id = export_own.user_id
                union all
                select 5, 'file', pg_catalog.json_build_object(
                           'id', f.id, 'purpose', f.purpose, 'conversation_id', f.conversation_id,
                           'mime_type', f.mime_type, 'bytes', f.bytes, 'name', f.name,
                           'url', f.url, 'created_at', app.utc(f.created_at)),
                       row_number() over (order by f.created_at, f.id)
                  from public.media f where f.owner_id = export_own.user_id and f.removed_at is null
                union all
                select 6, 'left', pg_catalog.json_build_object('conversation_id', l.conversation_id),
                       row_number() over (order by l.conversation_id)
                  from app.former_members l where l.user_id = export_own.user_id) o);
end
$$;
