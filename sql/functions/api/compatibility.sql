-- Objects of the protocol for compatibility endpoints (docs/http.md), with additional members: `first_name_length` if a
-- name was split elsewhere than at its first blank, and `version_second` of the user's own profile.

-- Returns the caller's own object.
create or replace function api.compatible_me() returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    object json := api.me();
    details app.profile_details;
    version_second text;
begin
    select * into details from app.profile_details d where d.user_id = app.caller();
    version_second := coalesce(
        pg_catalog.to_char(details.version_second at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        pg_catalog.left(object ->> 'updated_at', 19) || 'Z');
    return (pg_catalog.left(object::text, -1) || ',"version_second":"' || version_second || '"'
            || coalesce(',"first_name_length":' || details.first_name_length, '') || '}')::json;
end
$$;

-- Does what api.save_me does. In place of `full_name`, a name may come in two parts, either of which may be empty.
create or replace function api.save_compatible_me(
    patch jsonb, if_version bigint default null, first_name text default null, last_name text default null)
returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    first_part text := app.normalized(coalesce(first_name, ''));
    last_part text := app.normalized(coalesce(last_name, ''));
    has_parts boolean := first_name is not null or last_name is not null;
begin
    if has_parts then
        patch := patch || pg_catalog.jsonb_build_object('full_name',
            pg_catalog.concat_ws(' ', nullif(first_part, ''), nullif(last_part, '')));
    end if;
    perform api.save_me(patch, if_version);
    if has_parts then
        perform app.split_full_name(first_part);
    end if;
    return api.compatible_me();
end
$$;

-- Returns a page of the caller's conversations.
create or replace function api.compatible_conversations(max_results integer default 50, before text default null)
returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    page json := api.conversations(max_results, before);
    people text;
    answer text;
begin
    if not exists (
        select from app.profile_details d
         where d.first_name_length is not null
           and d.user_id in (select (p ->> 'id')::uuid from pg_catalog.json_array_elements(page -> 'profiles') p)) then
        return page;
    end if;
    select pg_catalog.string_agg(
               case when d.first_name_length is null then p.object::text
                    else pg_catalog.left(p.object::text, -1) || ',"first_name_length":' || d.first_name_length || '}'
               end, ',' order by p.place)
      into people
      from pg_catalog.json_array_elements(page -> 'profiles') with ordinality p (object, place)
      left join app.profile_details d on d.user_id = (p.object ->> 'id')::uuid;
    answer := '{"conversations":' || (page ->> 'conversations') || ',"profiles":[' || people || '],"next":'
              || (page -> 'next')::text || '}';
    if pg_catalog.octet_length(answer) > app.answer_bytes() and max_results > 1 then
        return api.compatible_conversations(
            greatest(1, least(max_results, pg_catalog.json_array_length(page -> 'conversations')) / 2), before);
    end if;
    return answer::json;
end
$$;
