-- The names by which people are found stand in a table of their own: an index on names of user_profiles is written by
-- every change of a profile, whatever it changes, since changed_xid is indexed too. Two inverted indexes on names took
-- a third of what a new bio costs.
create table app.search_names (
    user_id uuid primary key references public.user_profiles (id),
    username text,
    full_name text
);
comment on table app.search_names is 'The names of those who can be found: all but guests and the deleted.';

-- Nobody changes a name between what is copied and what follows it from then on.
lock table public.user_profiles in share row exclusive mode;
insert into app.search_names (user_id, username, full_name)
select p.id, p.username, p.full_name from public.user_profiles p where not p.is_guest and not p.is_deleted;

create index search_names_username_start on app.search_names (username collate "C");
create index search_names_full_name_start on app.search_names (lower(full_name) collate "C");
-- Without fastupdate: a search would read all of the pending list.
create index search_names_words on app.search_names using gin (app.name_words(username, full_name))
    with (fastupdate = off);
do $$
begin
    execute format('create index search_names_likeness on app.search_names
                    using gin (username %1$I.gin_trgm_ops, full_name %1$I.gin_trgm_ops) with (fastupdate = off)',
        (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
          where e.extname = 'pg_trgm'));
end
$$;

-- As it stands in functions/app/words.sql from here on: names are followed before anybody can change one again.
create or replace function app.follow_words() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
    words text[] := '{}';
    former text[] := '{}';
    former_word text;
    person public.user_profiles;
begin
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
