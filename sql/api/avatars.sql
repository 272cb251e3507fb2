create or replace function api.avatars() returns json
language plpgsql stable set search_path = '' as $$
begin
    return (
        select ('{"avatars":[' || coalesce(pg_catalog.string_agg(pg_catalog.row_to_json(w)::text, ','
                order by a."position", a.id), '') || ']}')::json
          from public.built_in_avatars a
         cross join lateral (select a.id, a.name, a.color) w);
end
$$;
