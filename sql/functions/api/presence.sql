-- Returns the presence of users in the order of their ids in the request. Hidden, unknown and missing users have the
-- same presence.
create or replace function api.presence(user_ids uuid[]) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform app.caller();
    if not coalesce(pg_catalog.cardinality(user_ids) between 1 and 100, false) then
        perform app.refuse_param('user_ids', '"user_ids" must hold 1 to 100 UUIDs.');
    end if;
    return (
        select ('{"presence":[' || coalesce(pg_catalog.string_agg(
                    app.presence_object(w.id, p.is_online, p.last_seen_at), ',' order by w.place), '') || ']}')::json
          from (select a.id, min(a.place) as place
                  from unnest(user_ids) with ordinality as a (id, place) where a.id is not null group by a.id) w
          left join public.presence p on p.user_id = w.id);
end
$$;
