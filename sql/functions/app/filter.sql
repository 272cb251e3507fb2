-- The operator's filter of words (`postline admin filter`). It is enforced for all writers: the triggers of messages,
-- profiles and conversations call it. A text is parted into words, folded as names are for a search, and each is looked
-- up by key, so that the length of the list does not matter. Without rules a message pays one `exists` of an empty
-- table.
--
-- A word of Chinese, Japanese or Thai is found only where blanks or punctuation part it, as in those languages nothing
-- parts words.

-- Returns the words of a text. Of a word beyond 500 characters the rest is left out: PostgreSQL needs seconds to
-- normalize thousands of accents in a row.
create or replace function app.filtered_words(value text) returns text[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if pg_catalog.char_length(value) > 500 then
        value := pg_catalog.regexp_replace(value, '(\S{250})(\S{250})\S+', '\1\2', 'g');
    end if;
    return app.words_of(app.folded(value));
end
$$;

-- Returns what is to be done about words: `refuse`, `hold`, `mask`, or null for words that are not in the list. Each is
-- looked up apart, by the whole key: with `= any` the planner read all rules and parted the text for each.
create or replace function app.words_action(scope text, words text[]) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
    return (array['mask', 'hold', 'refuse'])[(
        select max((select pg_catalog.array_position(array['mask', 'hold', 'refuse'], f.action) from app.filter_rules f
                     where f.scope = words_action.scope and f.word = w.word))
          from unnest(words) w (word))];
end
$$;

-- Returns what is to be done about a text. The word `*` is in every message.
create or replace function app.filter_action(scope text, value text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    words text[];
begin
    if value is null then
        return null;
    end if;
    words := app.filtered_words(value);
    if scope = 'messages' then
        words := words || '*'::text;
    end if;
    return app.words_action(scope, words);
end
$$;

-- Returns the words of a message that hold it, in their order.
create or replace function app.holding_words(value text) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return array(
        select w.word
          from (select w.word, min(w.place) as place
                  from unnest(app.filtered_words(value) || '*'::text) with ordinality w (word, place)
                 group by w.word) w
          join app.filter_rules f on f.scope = 'messages' and f.word = w.word and f.action = 'hold'
         order by w.place);
end
$$;

-- Returns a text in which asterisks take the place of each word of the list that is refused or masked, one for each of
-- its characters.
create or replace function app.masked(scope text, value text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (
        select pg_catalog.string_agg(
                   case when app.words_action(scope, app.filtered_words(p.part[1])) in ('refuse', 'mask')
                        then pg_catalog.repeat('*', pg_catalog.char_length(p.part[1])) else p.part[1] end,
                   '' order by p.place)
          -- The characters that part words, as for app.words_of. Those beyond ASCII that app.folded turns into one of
          -- them stay in a word, which is masked with them.
          from pg_catalog.regexp_matches(
                   value,
                   '([\u0001-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bb-\u00bf'
                   '\u2000-\u200a\u2010-\u2029\u202f-\u205f\u3000-\u3004\u3008-\u3020]+'
                   '|[^\u0001-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bb-\u00bf'
                   '\u2000-\u200a\u2010-\u2029\u202f-\u205f\u3000-\u3004\u3008-\u3020]+)', 'g')
                   with ordinality p (part, place));
end
$$;

-- Raises content_refused (PL017) for a field.
create or replace function app.refuse_word(field text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL017',
        message = pg_catalog.format('"%s" has a word that is not allowed here.', field),
        detail = pg_catalog.json_build_object('field', field)::text;
end
$$;

-- Returns a text as it may be stored: masked, or as it is. Raises content_refused (PL017) for one that the filter
-- refuses, with the name of its field; without a field it is masked instead. What is to be held is masked only.
create or replace function app.filtered(scope text, field text, value text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    action text := app.filter_action(scope, value);
    masked text;
begin
    if action = 'refuse' and field is not null then
        perform app.refuse_word(field);
    elsif action is null then
        return value;
    end if;
    masked := app.masked(scope, value);
    if action = 'hold' then
        return coalesce(masked, value);
    end if;
    -- The word is not one of the text's as it is written, such as one with a blank that the folding removes.
    return case when masked = value then pg_catalog.regexp_replace(value, '\S', '*', 'g') else masked end;
end
$$;

-- Raises content_refused (PL017) for an edit that would have to be held.
create or replace function app.refuse_held_edit() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'PL017', detail = '{"field":"content"}',
        message = 'A moderator has to see this text first: send it as a new message.';
end
$$;

-- Returns a profile with its changed texts filtered. A new profile, and that of an account which takes over a guest,
-- are masked only: they come from a sign-up, which must not fail in another server.
create or replace function app.filtered_profile(former public.user_profiles, profile public.user_profiles)
returns public.user_profiles
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    may_refuse boolean := former.id is not null and not app.is_merging();
begin
    if profile.full_name is distinct from former.full_name then
        profile.full_name := app.filtered('names', case when may_refuse then 'full_name' end, profile.full_name);
    end if;
    if profile.bio is distinct from former.bio then
        profile.bio := app.filtered('names', case when may_refuse then 'bio' end, profile.bio);
    end if;
    -- A username has no asterisks.
    if may_refuse and profile.username is distinct from former.username
       and app.filter_action('names', profile.username) is not null then
        perform app.refuse_word('username');
    end if;
    return profile;
end
$$;
