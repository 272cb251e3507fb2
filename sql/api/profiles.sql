create or replace function api.profiles(ids uuid[]) returns json
language plpgsql stable set search_path = '' as $$
begin
    perform app.caller();
    if not coalesce(pg_catalog.cardinality(ids) between 1 and 100, false) then
        perform app.refuse_param('ids', 'Ask for 1 to 100 profiles.');
    end if;
    return (
        select ('{"profiles":[' || coalesce(pg_catalog.string_agg(p.object::text, ',' order by wanted.place), '')
                || ']}')::json
          from (select w.id, min(w.place) as place
                  from unnest(ids) with ordinality as w (id, place) group by w.id) wanted
          join app.profile_objects p on p.id = wanted.id);
end
$$;

create or replace function api.profile_by_username(username text) returns json
language plpgsql stable set search_path = '' as $$
declare
    profile json;
begin
    perform app.caller();
    select p.object into profile from app.profile_objects p
     where p.username = pg_catalog.lower(pg_catalog.btrim(profile_by_username.username)) and not p.is_deleted;
    if profile is null then
        perform app.refuse_hidden('There is no user of that name.');
    end if;
    return profile;
end
$$;

-- The operators and functions of pg_trgm stand in one of two schemas; what else is named is named in full.
create or replace function api.search_profiles(query text, max_results integer default 20) returns json
language plpgsql stable set search_path = extensions, public, pg_temp as $$
declare
    me uuid := app.caller();
    wanted text := pg_catalog.lower(app.normalized(query));
    literal text := replace(replace(replace(wanted, '\', '\\'), '%', '\%'), '_', '\_');
    -- Likeness leaves punctuation out, and would find `bob` for `b_b`: those three stand for themselves alone.
    fuzzy boolean := literal = wanted;
    anywhere text;
begin
    if not coalesce(char_length(wanted) between 2 and 50, false) then
        perform app.refuse_param('query', 'Search for 2 to 50 characters.');
    end if;
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', 'A limit is between 1 and 50.');
    end if;
    -- Not by a SET of the function: only a superuser may create one that sets what a library not yet loaded defines.
    perform set_config('pg_trgm.word_similarity_threshold', '0.3', true);
    -- Two characters hold no trigram of a word's middle: only beginnings can be looked up in the index.
    anywhere := case when char_length(wanted) > 2 then '%' else '' end || literal || '%';
    return (
        select ('{"profiles":[' || coalesce(string_agg(p.object::text, ','
                order by found.place), '') || ']}')::json
          from (
            select f.id, row_number() over (
                    order by f.exact desc, f.starts desc, f.holds desc, f.likeness desc, f.username, f.id) as place
              from (
                select u.id, u.username,
                       wanted in (k.username, k.full_name) as exact,
                       starts_with(k.username, wanted) or position(' ' || wanted in ' ' || k.full_name) > 0 as starts,
                       position(wanted in k.username) > 0 or position(wanted in k.full_name) > 0 as holds,
                       greatest(word_similarity(wanted, k.username), word_similarity(wanted, k.full_name)) as likeness
                  from public.user_profiles u
                 cross join lateral (select coalesce(u.username, '') as username,
                                            coalesce(lower(u.full_name), '') as full_name) k
                 where (fuzzy and (u.username %> wanted or u.full_name %> wanted)
                        or u.username ilike anywhere or u.full_name ilike anywhere)
                   and not u.is_guest and not u.is_deleted and u.id <> me) f
             order by place
             limit max_results) found
          join app.profile_objects p on p.id = found.id);
end
$$;
