-- Updates app.search_names and app.words after a change of names. If a word's last user leaves it at the moment in
-- which another gets it, the word may be missing: the name is still found if it is spelled correctly. If its last two
-- users leave it at once, each finds the other, and the word stays without a user.
create or replace function app.propagate_words() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    words text[] := '{}';
    former text[] := coalesce((select s.words from app.search_names s where s.user_id = new.id), '{}');
    former_word text;
    person public.user_profiles;
    name text;
    spelled text;
begin
    if tg_op = 'UPDATE' and row(new.username, new.full_name, new.is_guest, new.is_deleted)
                            is not distinct from row(old.username, old.full_name, old.is_guest, old.is_deleted) then
        return null;
    end if;
    -- The current row: another trigger may have changed it again.
    select * into person from public.user_profiles p where p.id = new.id;
    if not person.is_guest and not person.is_deleted then
        -- A character may decompose into eighteen, and an index entry has a bound.
        name := left(app.folded(person.full_name), 100);
        spelled := left(app.spelled_out(person.full_name), 100);
        words := app.name_words(person.username, name, spelled);
        insert into app.search_names as s (user_id, username, full_name, spelled_out, words)
        values (person.id, person.username, name, spelled, words)
        on conflict (user_id) do update
           set username = excluded.username, full_name = excluded.full_name, spelled_out = excluded.spelled_out,
               words = excluded.words;
    else
        delete from app.search_names s where s.user_id = new.id;
    end if;
    insert into app.words (word)
    select w from unnest(words) as w where w <> all (former) order by w
    on conflict do nothing;
    foreach former_word in array former loop
        if former_word <> all (words) and not app.is_name_word(former_word) then
            delete from app.words o where o.word = former_word;
        end if;
    end loop;
    return null;
end
$$;
create or replace trigger follow_words after insert on public.user_profiles
    for each row when (not new.is_guest) execute function app.propagate_words();
create or replace trigger follow_words_changed
    after update of username, full_name, is_guest, is_deleted on public.user_profiles
    for each row execute function app.propagate_words();

-- Returns true if a name contains that word. Uses the inverted index, since the planner would prefer to scan all users.
create or replace function app.is_name_word(word text) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_indexscan = off set jit = off as $$
begin
    return exists (select from app.search_names s where s.words @> array[is_name_word.word]);
end
$$;

-- Returns the existing words with at most one typo relative to this folded word: a letter missing, added or replaced,
-- or two swapped. Looks up some hundred candidates by equality, which is much cheaper than by similarity, and
-- similarity finds few of them in short words. Beyond twenty letters it looks for missing or swapped letters only.
create or replace function app.spellings(word text) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
    -- The letters of the word's script, as app.folded leaves them.
    letters text := case
        when word ~ '[Ͱ-Ͽ]' then 'αβγδεζηθικλμνξοπρστυφχψω'
        when word ~ '[Ѐ-ӿ]' then 'абвгдежзиклмнопрстуфхцчшщъыьэюяђєіјљњћџґғқңүұһө'
        when word ~ '[Ա-֏]' then 'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ'
        when word ~ '[\u0590-\u05ff]' then e'\u05d0\u05d1\u05d2\u05d3\u05d4\u05d5\u05d6\u05d7\u05d8\u05d9\u05da\u05db'
            '\u05dc\u05dd\u05de\u05df\u05e0\u05e1\u05e2\u05e3\u05e4\u05e5\u05e6\u05e7\u05e8\u05e9\u05ea'
        when word ~ '[\u0600-\u06ff]' then e'\u0621\u0627\u0628\u062a\u062b\u062c\u062d\u062e\u062f\u0630\u0631\u0632'
            '\u0633\u0634\u0635\u0636\u0637\u0638\u0639\u063a\u0641\u0642\u0643\u0644\u0645\u0646\u0647\u0648\u064a'
            '\u067e\u0686\u0698\u06af'
        when word ~ '[ა-ჿ]' then 'აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ'
        else 'abcdefghijklmnopqrstuvwxyz' end;
begin
    return array(
        select w.word from app.words w
         where w.word = any (array(
            select spellings.word
            union all
            select overlay(spellings.word placing '' from i for 1)
              from generate_series(1, char_length(spellings.word)) as i
            union all
            select overlay(spellings.word placing reverse(substr(spellings.word, i, 2)) from i for 2)
              from generate_series(1, char_length(spellings.word) - 1) as i
            union all
            select overlay(spellings.word placing letter from i for slip)
              from generate_series(1, least(char_length(spellings.word), 20) + 1) as i,
                   generate_series(0, 1) as slip,
                   regexp_split_to_table(letters, '') as letter)));
end
$$;

-- pg_trgm may be in any schema, and may be moved: these bodies bind its functions when created, and are inlined. The
-- collation is that of the index on app.words.
--
-- app.word_similarity(a, b) returns how similar `a` is to the most similar part of `b`, from 0 to 1.
-- app.is_similar_word(a, b) returns true if that is above pg_trgm.word_similarity_threshold. app.similarity(a, b)
-- compares whole texts.
do $functions$
declare
    place text := (select pg_catalog.quote_ident(n.nspname)
                     from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
                    where e.extname = 'pg_trgm');
begin
    execute pg_catalog.format($sql$
        create or replace function app.word_similarity(a text, b text) returns real language sql immutable parallel safe
        begin atomic select %1$s.word_similarity(a, b); end;
        create or replace function app.similarity(a text, b text) returns real language sql immutable parallel safe
        begin atomic select %1$s.similarity(a, b); end;
        create or replace function app.is_similar_word(a text, b text) returns boolean language sql stable parallel safe
        begin atomic select a operator(%1$s.<%%) b collate pg_catalog."C"; end
    $sql$, place);
end
$functions$;

-- Returns the words that a search may mean by this one: those with one typo, or else the most similar.
create or replace function app.meant_words(word text) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
    meant text[] := app.spellings(word);
begin
    if meant = '{}' then
        -- Not by a SET of the function: only a superuser may create one for a setting of a library that is not loaded.
        perform set_config('pg_trgm.word_similarity_threshold', '0.4', true);
        meant := array(
            select w.word from app.words w where app.is_similar_word(meant_words.word, w.word)
             order by app.similarity(meant_words.word, w.word) desc, w.word limit 20);
    end if;
    return meant;
end
$$;
