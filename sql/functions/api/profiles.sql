-- All of them: fewer would look as if the others were unknown. What a profile may take leaves room for a hundred, save
-- where some are longer, from before that was held.
create or replace function api.profiles(ids uuid[]) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    objects text;
begin
    perform app.caller();
    if not coalesce(pg_catalog.cardinality(ids) between 1 and 100, false) then
        perform app.refuse_param('ids', 'Ask for 1 to 100 profiles.');
    end if;
    select coalesce(pg_catalog.string_agg(p.object::text, ',' order by wanted.place), '') into objects
      from (select w.id, min(w.place) as place
              from unnest(ids) with ordinality as w (id, place) group by w.id) wanted
      join app.profile_objects p on p.id = wanted.id;
    if pg_catalog.octet_length(objects) > app.answer_bytes() then
        perform app.refuse_param('ids', 'These profiles are too long for one answer: ask for fewer.');
    end if;
    return ('{"profiles":[' || objects || ']}')::json;
end
$$;

create or replace function api.profile_by_username(username text) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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

-- Best match first: the whole name, then a beginning of a word, then a part, then likeness. The ways to find are tried
-- in that order until there is enough, and each gives a bounded number of candidates: what they are ranked by is looked
-- at for those alone.
--
-- The operators and functions of pg_trgm stand in one of two schemas; what else is named is named in full. One plan
-- serves every call, as planning would take longer than the search.
create or replace function api.search_profiles(query text, max_results integer default 20) returns json
language plpgsql stable set search_path = extensions, public, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_indexscan = on set jit = off as $$
declare
    me uuid := app.caller();
    wanted text := pg_catalog.lower(app.normalized(query));
    -- After all that begin so, in the order of code points.
    beyond text := wanted || chr(1114111);
    literal text := replace(replace(replace(wanted, '\', '\\'), '%', '\%'), '_', '\_');
    -- Likeness leaves punctuation out, and would find `bob` for `b_b`: those three stand for themselves alone.
    fuzzy boolean := literal = wanted;
    words text[] := app.name_words(null, wanted);
    first text[];
    second text[];
    third text[];
    candidates uuid[];
begin
    if not coalesce(char_length(wanted) between 2 and 50, false) then
        perform app.refuse_param('query', 'Search for 2 to 50 characters.');
    end if;
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', 'A limit is between 1 and 50.');
    end if;

    candidates := array(
        (select s.user_id from app.search_names s
          where s.username collate "C" >= wanted and s.username collate "C" < beyond
          order by s.username collate "C" limit 51)
        union
        (select s.user_id from app.search_names s
          where lower(s.full_name) collate "C" >= wanted and lower(s.full_name) collate "C" < beyond
          order by lower(s.full_name) collate "C" limit 51));
    -- What follows is in an inverted index, or nowhere. The planner, for the sake of the limit, would rather walk an
    -- index of all users until it has met enough of them. Holds until the function ends, as it has a SET for it.
    perform set_config('enable_indexscan', 'off', true);
    if words = array[wanted] then
        -- The words that begin so, then those that hold it. Two characters hold no trigram of a word's middle.
        for attempt in 1 .. case when char_length(wanted) > 2 then 2 else 1 end loop
            exit when cardinality(candidates) > max_results;
            first := case attempt
                when 1 then array(select w.word from app.words w where w.word >= wanted and w.word < beyond
                                   order by w.word limit 20)
                else array(select w.word from app.words w where w.word like '%' || literal || '%' limit 100) end;
            candidates := candidates || array(
                select s.user_id from app.search_names s
                 where app.name_words(s.username, s.full_name) && first
                 limit 100);
        end loop;
    -- Where it holds a trigram, else the index would be read from end to end.
    elsif cardinality(candidates) <= max_results and wanted ~ '\w{3}|\w{2}\W|\W\w' then
        candidates := candidates || array(
            select s.user_id from app.search_names s
             where s.username ilike '%' || literal || '%' or s.full_name ilike '%' || literal || '%'
             limit 100);
    end if;
    -- The words as they may have been meant, unless somebody is called just so. The longest three tell enough.
    if cardinality(candidates) <= max_results and fuzzy and words <> '{}' and not exists (
           select from public.user_profiles u
            where u.id = any (candidates) and wanted in (u.username, lower(u.full_name))) then
        words := array(select w from unnest(words) as w order by char_length(w) desc, w limit 3);
        first := app.meant_words(words[1]);
        second := case when words[2] is null then first else app.meant_words(words[2]) end;
        third := case when words[3] is null then first else app.meant_words(words[3]) end;
        candidates := candidates || array(
            select s.user_id from app.search_names s
             where app.name_words(s.username, s.full_name) && first
               and app.name_words(s.username, s.full_name) && second
               and app.name_words(s.username, s.full_name) && third
             limit 100);
    end if;

    return (
        select ('{"profiles":[' || app.joined(array_agg(p.object::text order by found.place)) || ']}')::json
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
                 where u.id = any (candidates) and u.id <> me and not u.is_guest and not u.is_deleted) f
             order by place
             limit max_results) found
          join app.profile_objects p on p.id = found.id);
end
$$;
