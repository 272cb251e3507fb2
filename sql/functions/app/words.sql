-- Its body is in a migration, because an index depends on it.
alter function app.name_words(text, text) set search_path = pg_catalog, pg_temp;

-- app.search_names and app.words follow the names. Who comes to a word in the very moment in which its last user leaves
-- it may find it gone: spelt right the name is found all the same. The last two, where they leave it at once, each find
-- the other still there: it stays, and leads to nobody.
create or replace function app.follow_words() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    words text[] := '{}';
    former text[] := '{}';
    former_word text;
    person public.user_profiles;
begin
    if tg_op = 'UPDATE' and row(new.username, new.full_name, new.is_guest, new.is_deleted)
                            is not distinct from row(old.username, old.full_name, old.is_guest, old.is_deleted) then
        return null;
    end if;
    -- As it is now: another trigger may have changed the row again before this one's turn.
    select * into person from public.user_profiles p where p.id = new.id;
    if not person.is_guest and not person.is_deleted then
        words := app.name_words(person.username, person.full_name);
        insert into app.search_names as s (user_id, username, full_name)
        values (person.id, person.username, person.full_name)
        on conflict (user_id) do update set username = excluded.username, full_name = excluded.full_name;
    else
        delete from app.search_names s where s.user_id = new.id;
    end if;
    if tg_op = 'UPDATE' and not old.is_guest and not old.is_deleted then
        former := app.name_words(old.username, old.full_name);
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
    for each row when (not new.is_guest) execute function app.follow_words();
create or replace trigger follow_words_changed
    after update of username, full_name, is_guest, is_deleted on public.user_profiles
    for each row execute function app.follow_words();

-- Whether somebody's name has that word. By the inverted index: to the planner a walk over all users looks shorter.
create or replace function app.is_name_word(word text) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_indexscan = off as $$
begin
    return exists (
        select from app.search_names s
         where app.name_words(s.username, s.full_name) @> array[is_name_word.word]);
end
$$;

-- The words there are that one slip makes of this one: a letter left out, put in, taken for another, or two in each
-- other's place. Looked up by name, some hundreds at once, which is much cheaper than by likeness, and likeness finds
-- few of them in short words. Beyond twenty letters just those left out or swapped. Itself, where it is a word.
create or replace function app.spellings(word text) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
begin
    return array(
        select w.word from app.words w
         where w.word = any (array(
            select spellings.word
            union all
            select overlay(spellings.word placing '' from i for 1)
              from generate_series(1, pg_catalog.char_length(spellings.word)) as i
            union all
            select overlay(spellings.word placing pg_catalog.reverse(pg_catalog.substr(spellings.word, i, 2))
                                      from i for 2)
              from generate_series(1, pg_catalog.char_length(spellings.word) - 1) as i
            union all
            select overlay(spellings.word placing letter from i for slip)
              from generate_series(1, least(pg_catalog.char_length(spellings.word), 20) + 1) as i,
                   generate_series(0, 1) as slip,
                   pg_catalog.regexp_split_to_table(
                       'abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿßăąćčďđęěğıłńňőřśşšťůűźżž',
                       '') as letter)));
end
$$;

-- The words that may be meant by this one: those of one slip, where there are none the most alike.
--
-- The operators of pg_trgm stand in one of two schemas; what else is named is named in full.
create or replace function app.meant_words(word text) returns text[]
language plpgsql stable set search_path = extensions, public, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
    meant text[] := app.spellings(word);
begin
    if meant = '{}' then
        -- Not by a SET of the function: only a superuser may create one that sets what a library not yet loaded
        -- defines.
        perform set_config('pg_trgm.word_similarity_threshold', '0.4', true);
        meant := array(
            select w.word from app.words w where meant_words.word <% w.word
             order by similarity(meant_words.word, w.word) desc, w.word limit 20);
    end if;
    return meant;
end
$$;
