-- Users by id, address, username or name.

-- Returns all users with that id, email address or username, the latter two in any case, and the username also with an
-- @ before it. `who` is trimmed. An address can belong to several with an enterprise's sign-in (`is_sso_user`).
create or replace function admin.matching_users(who text) returns setof uuid
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    wanted text := app.lower_ascii(pg_catalog.btrim(who, E' \t\n\r'));
begin
    if coalesce(wanted, '') = '' then
        raise exception using errcode = 'PA001', message = 'Name the user by id, email address or username.';
    end if;
    return query
        select u.id from auth.users u
         where u.id = case when wanted ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then wanted::uuid end
        union
        select u.id from auth.users u where u.email = wanted
        union
        select p.id from public.user_profiles p where p.username = pg_catalog.ltrim(wanted, '@');
end
$$;

-- Returns the one user with that id, address or username, or raises PA002 or PA003.
create or replace function admin.user_id(who text) returns uuid
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    found_ids uuid[] := array(select n from admin.matching_users(who) n order by n limit 11);
begin
    if pg_catalog.cardinality(found_ids) = 1 then
        return found_ids[1];
    elsif pg_catalog.cardinality(found_ids) = 0 then
        raise exception using errcode = 'PA002',
            message = pg_catalog.format(
                'No user has the id, email address or username %s. `postline admin user` also searches in names.',
                pg_catalog.left(who, 320));
    end if;
    raise exception using errcode = 'PA003',
        message = pg_catalog.format('%s matches several users. Give the id of one: %s.', pg_catalog.left(who, 320),
            (select pg_catalog.string_agg(
                        pg_catalog.concat_ws(' ', f.id::text, '(' || p.full_name || ')', '@' || p.username), ', '
                        order by f.place)
               from unnest(found_ids) with ordinality f (id, place)
               left join public.user_profiles p on p.id = f.id));
end
$$;

-- Returns a user as JSON.
create or replace function admin.user_object(user_id uuid, in_full boolean) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (
        select pg_catalog.json_build_object(
                   'id', u.id, 'username', p.username, 'full_name', p.full_name,
                   'email', admin.masked_email(nullif(u.email::text, ''), in_full),
                   'email_confirmed_at', admin.utc(u.email_confirmed_at),
                   'is_guest', coalesce(u.is_anonymous, false),
                   'is_moderator', coalesce((
                       select s.is_moderator from public.user_private s where s.id = u.id), false),
                   'created_at', admin.utc(coalesce(u.created_at, p.created_at)),
                   'last_sign_in_at', admin.utc(u.last_sign_in_at),
                   'disabled_until', case when app.is_banned(u) then admin.utc(u.banned_until) end,
                   'is_deleted', u.deleted_at is not null or coalesce(p.is_deleted, false),
                   'deleted_at', admin.utc(u.deleted_at),
                   'sessions', (select count(*) from app.sessions s
                                 where s.user_id = u.id and s.revoked_at is null),
                   'devices', (select count(*) from app.devices d where d.user_id = u.id),
                   'conversations', (select count(*) from public.conversation_members m
                                      where m.user_id = u.id and not m.is_deleted))
          from auth.users u left join public.user_profiles p on p.id = u.id
         where u.id = user_object.user_id);
end
$$;

-- Returns users with that id, address or username, and then those with it in their name, `most` at most.
create or replace function admin.users(query text, most integer, in_full boolean) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    exact uuid[] := array(select n from admin.matching_users(query) n);
    -- Names are compared folded, as in a search.
    pattern text := '%' || pg_catalog.regexp_replace(
        app.folded(pg_catalog.btrim(query, E' \t\n\r')), '([\\%_])', '\\\1', 'g') || '%';
    ids uuid[];
begin
    perform admin.check_limit(most);
    -- One more shows that there are more.
    ids := array(
        select f.id from (
            select e as id, 0 as rank, null::text as name from unnest(exact) e
            union all
            (select p.id, 1, k.name
               from (select s.user_id as id, s.full_name as name from app.search_names s
                      where s.full_name like pattern or s.spelled_out like pattern or s.username like pattern
                     union all
                     -- A search finds no guests and no deleted users.
                     select p.id, app.folded(p.full_name) collate "C" from public.user_profiles p
                      where (p.is_guest or p.is_deleted) and app.folded(p.full_name) like pattern) k
               join public.user_profiles p on p.id = k.id
              where p.id <> all (exact)
              order by k.name, p.id limit most + 1)) f
         order by f.rank, f.name, f.id limit most + 1);
    if pg_catalog.cardinality(ids) = 0 then
        raise exception using errcode = 'PA002',
            message = pg_catalog.format(
                'No user has the id, email address or username %s, or a name that contains it.',
                pg_catalog.left(query, 320));
    end if;
    return pg_catalog.json_build_object(
        'users', (select pg_catalog.json_agg(admin.user_object(i.id, in_full) order by i.place)
                    from unnest(ids[:most]) with ordinality i (id, place)),
        'has_more', pg_catalog.cardinality(ids) > most);
end
$$;
