-- Returns the built-in avatars, as many as fit into a response.
create or replace function api.avatars() returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (
        select ('{"avatars":[' || coalesce(pg_catalog.string_agg(pg_catalog.row_to_json(w)::text, ','
                order by a."position", a.id), '') || ']}')::json
          from (select * from public.built_in_avatars a order by a."position", a.id limit 4096) a
         cross join lateral (select a.id, a.name, a.color) w);
end
$$;
