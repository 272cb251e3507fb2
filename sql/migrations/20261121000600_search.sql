-- Search looks first where an index can stop early: beginnings of usernames and names. For what is spelt otherwise it
-- asks the words of all names, of which there are far fewer than names, and then who has those words.

-- The words of a user's names. An index stands on this function: it is changed by a migration that makes that anew.
-- Blanks, digits and ASCII punctuation part words; in every locale, unlike a class of letters.
create function app.name_words(username text, full_name text) returns text[]
language sql immutable parallel safe set search_path = '' as $$
    select coalesce(array_agg(distinct w), '{}')
      from regexp_split_to_table(
          lower(coalesce(username, '') || ' ' || coalesce(full_name, '')), '[\s\d!-/:-@\[-`{-~]+') as w
     where char_length(w) > 1
$$;

create table app.words (
    word text collate "C" primary key
);
comment on table app.words is 'Every word of the names of those who can be found.';
insert into app.words (word)
select distinct w from public.user_profiles p, unnest(app.name_words(p.username, p.full_name)) as w
 where not p.is_guest and not p.is_deleted;

create index user_profiles_username_start on public.user_profiles (username collate "C")
    where not is_guest and not is_deleted;
create index user_profiles_full_name_start on public.user_profiles (lower(full_name) collate "C")
    where not is_guest and not is_deleted;
-- Without fastupdate: a search would read all of the pending list.
create index user_profiles_words on public.user_profiles using gin (app.name_words(username, full_name))
    with (fastupdate = off) where not is_guest and not is_deleted;
alter index public.user_profiles_search set (fastupdate = off);
do $$
begin
    execute format('create index words_likeness on app.words using gin (word %I.gin_trgm_ops) with (fastupdate = off)',
        (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'));
end
$$;
