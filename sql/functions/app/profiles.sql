-- Triggers that enforce the rules of profiles for all writers.

-- Raises invalid_params unless the URL of a custom avatar is valid.
create or replace function app.check_avatar_url(field text, url text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if not app.is_https(url) then
        perform app.refuse_param(field,
            pg_catalog.format('"%s" must be an https address of at most 2,048 bytes.', field));
    end if;
end
$$;

-- Raises invalid_params unless an avatar has exactly the columns that its type needs.
create or replace function app.check_avatar_shape(profile public.user_profiles) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if profile.avatar_type not in ('built_in', 'custom') then
        perform app.refuse_param('avatar_type', '"avatar_type" must be "built_in", "custom" or null.');
    elsif (profile.avatar_type is not distinct from 'built_in') <> (profile.avatar_id is not null) then
        perform app.refuse_param('avatar_id', '"avatar_id" must be set for a built-in avatar, and only for one.');
    elsif (profile.avatar_type is not distinct from 'custom') <> (profile.avatar_url is not null) then
        perform app.refuse_param('avatar_url', '"avatar_url" must be set for a custom avatar, and only for one.');
    end if;
end
$$;

-- Raises invalid_params unless a date of birth is plausible.
create or replace function app.check_date_of_birth(field text, value date) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    -- One day later than UTC: in the east it is already tomorrow.
    if value not between '1900-01-01' and (pg_catalog.now() at time zone 'UTC')::date + 1 then
        perform app.refuse_param(field, pg_catalog.format('"%s" must be a date from 1900 to today.', field));
    end if;
end
$$;

-- Returns the time of the next version: now, but in a later millisecond than the last, so that clients whose times have
-- three digits can name the version that they have read.
create or replace function app.next_version_time(last timestamptz) returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp as $$
    select greatest(now(), date_trunc('milliseconds', last) + interval '1 millisecond')
$$;

-- Checks and normalizes a profile before it is written, and sets its version, time and transaction ids.
create or replace function app.validate_profile() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'UPDATE' and new.is_deleted and not old.is_deleted then
        -- Waits for transactions that have just made the user a member (app.validate_new_member), so that the
        -- membership is seen.
        perform 1 from public.user_profiles p where p.id = new.id for update;
    end if;
    if new.is_deleted or tg_op = 'UPDATE' and old.is_deleted then
        new := app.tombstoned(new);
    end if;
    if tg_op = 'INSERT' or new.full_name is distinct from old.full_name then
        new.full_name := app.checked_name('full_name', new.full_name, 'A name');
    end if;
    if tg_op = 'INSERT' or new.username is distinct from old.username then
        new.username := app.lower_ascii(pg_catalog.btrim(new.username));
        if new.username !~ '^[a-z][a-z0-9_.]{2,29}$' then
            perform app.refuse_param('username',
                '"username" must be 3 to 30 letters a-z, digits, "_" or ".", and start with a letter.');
        end if;
    end if;
    if tg_op = 'INSERT' or new.location is distinct from old.location then
        new.location := nullif(app.normalized(new.location), '');
        if new.location is not null then
            new.location := app.checked_name('location', new.location, 'A location');
        end if;
    end if;
    if tg_op = 'INSERT' or new.bio is distinct from old.bio then
        new.bio := nullif(app.normalized(new.bio), '');
        if pg_catalog.char_length(new.bio) > 500 then
            perform app.refuse_param('bio', '"bio" must be at most 500 characters long.');
        -- A bio may have line breaks.
        elsif app.has_control(pg_catalog.translate(new.bio, e'\n\r\t\u2028\u2029', '')) then
            perform app.refuse_param('bio',
                '"bio" must not contain control or text-direction characters or noncharacters.');
        end if;
    end if;
    if tg_op = 'INSERT' or new.website is distinct from old.website then
        new.website := nullif(app.stored_url(new.website), '');
        -- A merged guest's website or avatar may exceed the bound, which was introduced later.
        if not app.is_https(new.website) and not app.is_merging() then
            perform app.refuse_param('website', '"website" must be an https address of at most 2,048 bytes.');
        end if;
    end if;
    if not new.is_deleted and exists (select from app.filter_rules) then
        new := app.filtered_profile(old, new);
    end if;
    new.avatar_url := app.stored_url(new.avatar_url);
    if tg_op = 'INSERT' or row(new.avatar_type, new.avatar_id, new.avatar_url)
                           is distinct from row(old.avatar_type, old.avatar_id, old.avatar_url) then
        perform app.check_avatar_shape(new);
        if new.avatar_id is not null
           and not exists (select from public.built_in_avatars a where a.id = new.avatar_id) then
            perform app.refuse_param('avatar_id', 'There is no such built-in avatar.');
        end if;
    end if;
    if (tg_op = 'INSERT' or new.avatar_url is distinct from old.avatar_url) and not app.is_merging()
       and not exists (select from public.media m where m.owner_id = new.id and m.url = new.avatar_url) then
        perform app.check_avatar_url('avatar_url', new.avatar_url);
    end if;
    if tg_op = 'INSERT' or new.language_code is distinct from old.language_code then
        -- As phones write them, also with the encoding or keywords of a locale (`en_US@rg=gbzzzz`).
        if new.language_code !~ ('^([A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*|[xXiI](-[A-Za-z0-9]{1,8})+)'
                                 '([.@][-A-Za-z0-9._=;@]*)?$')
           or new.language_code is not null and app.language_tag(new.language_code) is null then
            perform app.refuse_param('language_code', '"language_code" must be a BCP 47 tag such as "en" or "pt-BR".');
        end if;
        new.language_code := app.language_tag(new.language_code);
    end if;
    -- Counted as in a response. Attributes that exceed the bound, which was introduced later, may shrink.
    if tg_op = 'INSERT' or new.attributes is distinct from old.attributes then
        if pg_catalog.jsonb_typeof(new.attributes) is distinct from 'object' then
            perform app.refuse_param('attributes', '"attributes" must be an object.');
        -- Checked first: a number takes few bytes in storage and many in text.
        elsif app.json_flaw(new.attributes) is not null then
            perform app.refuse_param('attributes', '"attributes" ' || app.json_flaw(new.attributes) || '.');
        elsif pg_catalog.octet_length(new.attributes::text)
           > greatest(32768, pg_catalog.octet_length(old.attributes::text) - 1) then
            perform app.refuse_param('attributes', '"attributes" must be at most 32 KiB of JSON.');
        end if;
    end if;

    if tg_op = 'INSERT' then
        new.version := 1;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        new.public_changed_xid := pg_catalog.pg_current_xact_id();
        return new;
    end if;

    new.id := old.id;
    new.version := old.version;
    new.updated_at := old.updated_at;
    if row(new.username, new.full_name, new.bio, new.avatar_type, new.avatar_id, new.avatar_url, new.website,
           new.location, new.language_code, new.is_verified, new.is_guest, new.is_deleted, new.attributes)
       is distinct from
       row(old.username, old.full_name, old.bio, old.avatar_type, old.avatar_id, old.avatar_url, old.website,
           old.location, old.language_code, old.is_verified, old.is_guest, old.is_deleted, old.attributes) then
        -- One version per transaction: states between its statements are not visible.
        if old.changed_xid <> pg_catalog.pg_current_xact_id() then
            new.version := old.version + 1;
            new.updated_at := app.next_version_time(old.updated_at);
        end if;
        new.changed_xid := pg_catalog.pg_current_xact_id();
        new.public_changed_xid := pg_catalog.pg_current_xact_id();
    elsif new.changed_xid <> old.changed_xid and new.changed_xid = pg_catalog.pg_current_xact_id() then
        -- app.record_private_change set it, since the private part changed. It may decrease: the older of two
        -- transactions may write later.
        new.version := old.version + 1;
        new.updated_at := app.next_version_time(old.updated_at);
    end if;
    return new;
end
$$;
create or replace trigger keep before insert or update on public.user_profiles
    for each row execute function app.validate_profile();

-- Checks a user's private data before they are written.
create or replace function app.validate_private() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'UPDATE' then
        new.id := old.id;
        if new.phone_number is distinct from old.phone_number and new.phone_verified = old.phone_verified then
            new.phone_verified := false;
        end if;
    end if;
    if new.phone_number !~ '^\+[1-9][0-9]{6,14}$' then
        perform app.refuse_param('phone_number',
            '"phone_number" must be "+", the country code and the number, digits only.');
    end if;
    if tg_op = 'INSERT' or new.date_of_birth is distinct from old.date_of_birth then
        perform app.check_date_of_birth('date_of_birth', new.date_of_birth);
    end if;
    -- Preferences that exceed the bound, which was once counted differently, may shrink.
    if tg_op = 'INSERT' or new.preferences is distinct from old.preferences then
        if app.json_flaw(new.preferences) is not null then
            perform app.refuse_param('preferences', '"preferences" ' || app.json_flaw(new.preferences) || '.');
        elsif app.json_bytes(new.preferences) > greatest(16384, app.json_bytes(old.preferences) - 1) then
            perform app.refuse_param('preferences', '"preferences" must be at most 16 KiB of JSON.');
        end if;
    end if;
    return new;
end
$$;
create or replace trigger keep before insert or update on public.user_private
    for each row execute function app.validate_private();

-- Stamps the profile of changed private data with the transaction.
create or replace function app.record_private_change() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update public.user_profiles set changed_xid = pg_catalog.pg_current_xact_id()
     where id = new.id and changed_xid <> pg_catalog.pg_current_xact_id();
    return null;
end
$$;
create or replace trigger note_change after update on public.user_private
    for each row when (old.* is distinct from new.*) execute function app.record_private_change();

-- Creates the profile of an account if it is missing, and copies email and guest state from the account.
create or replace function app.upsert_profile(account auth.users) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    guest boolean := coalesce(account.is_anonymous, false);
    address text := nullif(app.lower_ascii(account.email::text), '');
begin
    insert into public.user_profiles (id, full_name, is_guest)
    values (account.id, case when pg_catalog.jsonb_typeof(account.raw_user_meta_data -> 'full_name') = 'string'
                             then app.salvaged_name(account.raw_user_meta_data ->> 'full_name') end, guest)
    on conflict (id) do nothing;
    insert into public.user_private (id, email) values (account.id, address)
    on conflict (id) do nothing;
    update public.user_profiles set is_guest = guest where id = account.id and is_guest <> guest;
    update public.user_private set email = address where id = account.id and email is distinct from address;
end
$$;

-- Stores addresses in lower case (ASCII), as Supabase's auth server does, also of imported accounts. So the unique
-- index prevents two accounts with one address in two spellings.
create or replace function app.store_address() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    -- Calls none of our functions, on which the role that writes accounts may have no rights.
    new.email := lower(new.email::text collate "C");
    return new;
end
$$;
create or replace trigger postline_address before insert or update of email on auth.users
    for each row execute function app.store_address();

-- Creates or updates the profile of a new or changed account.
create or replace function app.propagate_account() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform app.upsert_profile(new);
    return null;
end
$$;
create or replace trigger postline_new_account after insert on auth.users
    for each row execute function app.propagate_account();
create or replace trigger postline_changed_account after update on auth.users
    for each row when (old.email is distinct from new.email or old.is_anonymous is distinct from new.is_anonymous)
    execute function app.propagate_account();
