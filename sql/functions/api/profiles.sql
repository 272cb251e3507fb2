-- Returns profiles, all or an error, since missing ones would seem not to exist. A hundred fit into a response unless
-- some exceed the bounds, which were introduced later.
create or replace function api.profiles(ids uuid[]) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    objects text;
begin
    perform app.caller();
    if not coalesce(pg_catalog.cardinality(ids) between 1 and 100, false) then
        perform app.refuse_param('ids', '"ids" must hold 1 to 100 UUIDs.');
    end if;
    select coalesce(pg_catalog.string_agg(p.object::text, ',' order by wanted.place), '') into objects
      from (select w.id, min(w.place) as place
              from unnest(ids) with ordinality as w (id, place) group by w.id) wanted
      join app.profile_objects p on p.id = wanted.id;
    if pg_catalog.octet_length(objects) > app.answer_bytes() then
        perform app.refuse_param('ids', 'These profiles are too large for one response: request fewer.');
    end if;
    return ('{"profiles":[' || objects || ']}')::json;
end
$$;

-- Returns the profile with that username.
create or replace function api.profile_by_username(username text) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    profile json;
begin
    perform app.caller();
    select p.object into profile from app.profile_objects p
     where p.username = app.lower_ascii(pg_catalog.btrim(profile_by_username.username)) and not p.is_deleted;
    if profile is null then
        perform app.refuse_hidden('There is no user with this username.');
    end if;
    return profile;
end
$$;

-- Returns the profiles that match a query, the best match first: whole name, prefix of a word, part of a name,
-- similarity. The searches run in that order until there are enough results, and each returns a bounded number of
-- candidates; only these are ranked. Names and query are compared folded (app.folded).
--
-- One plan serves every call, since planning would take longer than the search.
create or replace function api.search_profiles(query text, max_results integer default 20) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_indexscan = on set jit = off as $$
declare
    me uuid := app.caller();
    -- At most 50 characters, normalized.
    bounded text := left(app.normalized(query), 51);
    wanted text := app.folded(bounded);
    -- Possible spellings: a `ü` is found as "u" and as "ue".
    forms text[] := array[wanted] || app.spelled_out(bounded);
    form text;
    -- The end of the prefix's range, in the order of code points.
    beyond text;
    literal text;
    -- Similarity ignores punctuation and would find `bob` for `b_b`: these three characters match only themselves.
    fuzzy boolean := wanted !~ '[\\%_]';
    words text[] := app.words_of(wanted);
    first text[];
    second text[];
    third text[];
    candidates uuid[] := '{}';
begin
    if not coalesce(char_length(bounded) <= 50 and char_length(wanted) >= 2, false) then
        perform app.refuse_param('query', '"query" must be 2 to 50 characters long.');
    end if;
    if not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
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
    -- The rest is in an inverted index. For the limit the planner would prefer an index of all users. Ends with the
    -- function, which has a SET for it.
    perform set_config('enable_indexscan', 'off', true);
    -- Words with that prefix, then words that contain it. Two characters inside a word have no trigram.
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
    -- Several words, if they have a trigram; otherwise the whole index would be read.
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
    -- Similar words, unless a name matches exactly. The longest three words suffice.
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
                  from (select distinct c as user_id from unnest(app.without_blocked(candidates)) as c
                         where c <> me) c
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
