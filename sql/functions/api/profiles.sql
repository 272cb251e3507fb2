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
     where p.username = app.lower_ascii(pg_catalog.btrim(profile_by_username.username)) and not p.is_deleted;
    if profile is null then
        perform app.refuse_hidden('There is no user of that name.');
    end if;
    return profile;
end
$$;

-- Best match first: the whole name, then a beginning of a word, then a part, then likeness. The ways to find are tried
-- in that order until there is enough, and each gives a bounded number of candidates: what they are ranked by is looked
-- at for those alone. Names and query are compared folded (app.folded).
--
-- One plan serves every call, as planning would take longer than the search.
create or replace function api.search_profiles(query text, max_results integer default 20) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_indexscan = on set jit = off as $$
declare
    me uuid := app.caller();
    -- A query has at most 50 characters, normalized.
    bounded text := left(app.normalized(query), 51);
    wanted text := app.folded(bounded);
    -- The ways it may be spelled: a `ü` is found as "u" and as "ue".
    forms text[] := array[wanted] || app.spelled_out(bounded);
    form text;
    -- After all that begin so, in the order of code points.
    beyond text;
    literal text;
    -- Likeness leaves punctuation out, and would find `bob` for `b_b`: those three stand for themselves alone.
    fuzzy boolean := wanted !~ '[\\%_]';
    words text[] := app.words_of(wanted);
    first text[];
    second text[];
    third text[];
    candidates uuid[] := '{}';
begin
    if not coalesce(char_length(bounded) <= 50 and char_length(wanted) >= 2, false) then
        perform app.refuse_param('query', 'Search for 2 to 50 characters.');
    end if;
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', 'A limit is between 1 and 50.');
    end if;

    foreach form in array forms loop
        beyond := form || chr(1114111);
        candidates := candidates || array(
            (select s.user_id from app.search_names s
              where s.username >= form and s.username < beyond order by s.username limit 51)
            union
            (select s.user_id from app.search_names s
              where s.full_name >= form and s.full_name < beyond order by s.full_name limit 51)
            union
            (select s.user_id from app.search_names s
              where s.spelled_out >= form and s.spelled_out < beyond order by s.spelled_out limit 51));
    end loop;
    -- What follows is in an inverted index, or nowhere. The planner, for the sake of the limit, would rather walk an
    -- index of all users until it has met enough of them. Holds until the function ends, as it has a SET for it.
    perform set_config('enable_indexscan', 'off', true);
    -- The words that begin so, then those that hold it. Two characters hold no trigram of a word's middle.
    for attempt in 1 .. case when words <> array[wanted] then 0 when char_length(wanted) > 2 then 2 else 1 end loop
        foreach form in array forms loop
            exit when cardinality(candidates) > max_results;
            beyond := form || chr(1114111);
            first := case attempt
                when 1 then array(select w.word from app.words w where w.word >= form and w.word < beyond
                                   order by w.word limit 20)
                else array(select w.word from app.words w where w.word like '%' || form || '%' limit 100) end;
            candidates := candidates || array(
                select s.user_id from app.search_names s where s.words && first limit 100);
        end loop;
    end loop;
    -- Of several words: where they hold a trigram, else the index would be read from end to end.
    if words <> array[wanted] and wanted ~ '\w{3}|\w{2}\W|\W\w' then
        foreach form in array forms loop
            exit when cardinality(candidates) > max_results;
            literal := regexp_replace(form, '([\\%_])', '\\\1', 'g');
            candidates := candidates || array(
                select s.user_id from app.search_names s
                 where s.username like '%' || literal || '%' or s.full_name like '%' || literal || '%'
                    or s.spelled_out like '%' || literal || '%'
                 limit 100);
        end loop;
    end if;
    -- The words as they may have been meant, unless somebody is called just so. The longest three tell enough.
    if cardinality(candidates) <= max_results and fuzzy and words <> '{}' and not exists (
           select from unnest(candidates) as c join app.search_names s on s.user_id = c
            where s.username = any (forms) or s.full_name = any (forms) or s.spelled_out = any (forms)) then
        words := array(select w from unnest(words) as w order by char_length(w) desc, w limit 3);
        first := app.meant_words(words[1]);
        second := case when words[2] is null then first else app.meant_words(words[2]) end;
        third := case when words[3] is null then first else app.meant_words(words[3]) end;
        candidates := candidates || array(
            select s.user_id from app.search_names s
             where s.words && first and s.words && second and s.words && third
             limit 100);
    end if;

    return (
        select ('{"profiles":[' || app.joined(array_agg(p.object::text order by found.place)) || ']}')::json
          from (
            select f.id, row_number() over (
                    order by f.exact desc, f.starts desc, f.holds desc, f.likeness desc, f.username, f.id) as place
              from (
                select n.user_id as id, n.username,
                       count(*) filter (where k.name = k.form) as exact,
                       bool_or(position(' ' || k.form in ' ' || k.name) > 0) as starts,
                       bool_or(position(k.form in k.name) > 0) as holds,
                       max(app.word_similarity(k.form, k.name)) as likeness
                  from (select distinct c as user_id from unnest(candidates) as c where c <> me) c
                  join app.search_names n on n.user_id = c.user_id
                 cross join lateral (
                        select f as form, name from unnest(forms) as f,
                               unnest(array[n.username, n.full_name, n.spelled_out]) as name
                         where name is not null) k
                 group by n.user_id, n.username) f
             order by place
             limit max_results) found
          join app.profile_objects p on p.id = found.id);
end
$$;
