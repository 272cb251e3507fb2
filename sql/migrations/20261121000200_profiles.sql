create table public.built_in_avatars (
    id text primary key check (id ~ '^[a-z0-9_]{1,40}$'),
    name text not null,
    color text not null check (color ~ '^#[0-9a-f]{6}$'),
    "position" integer not null default 0
);
insert into public.built_in_avatars (id, name, color, "position") values
    ('fox', 'Fox', '#e4572e', 1),
    ('otter', 'Otter', '#8d6a4f', 2),
    ('owl', 'Owl', '#6b5ca5', 3),
    ('panda', 'Panda', '#3a3a3a', 4),
    ('whale', 'Whale', '#2e86ab', 5),
    ('turtle', 'Turtle', '#3c9d5d', 6),
    ('bee', 'Bee', '#f2b134', 7),
    ('flamingo', 'Flamingo', '#ef6f9f', 8),
    ('hedgehog', 'Hedgehog', '#a47551', 9),
    ('penguin', 'Penguin', '#4a6fa5', 10),
    ('koala', 'Koala', '#7d8597', 11),
    ('dragon', 'Dragon', '#2a9d8f', 12);

-- What every authenticated user may see of another. changed_xid moves with every change of the user's data,
-- public_changed_xid with those that others may see.
create table public.user_profiles (
    id uuid primary key references auth.users (id),
    username text,
    full_name text,
    bio text,
    avatar_type text,
    avatar_id text references public.built_in_avatars (id),
    avatar_url text,
    website text,
    location text,
    language_code text,
    is_verified boolean not null default false,
    is_guest boolean not null default false,
    is_deleted boolean not null default false,
    attributes jsonb not null default '{}',
    version bigint not null default 1,
    changed_xid xid8 not null default pg_current_xact_id(),
    public_changed_xid xid8 not null default pg_current_xact_id(),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint user_profiles_username_key unique (username),
    constraint user_profiles_username_valid check (username ~ '^[a-z][a-z0-9_.]{2,29}$'),
    constraint user_profiles_full_name_valid check (
        char_length(full_name) between 1 and 100 and full_name is nfc normalized
        and full_name !~ '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]'),
    constraint user_profiles_bio_valid check (char_length(bio) between 1 and 500),
    constraint user_profiles_location_valid check (
        char_length(location) between 1 and 100
        and location !~ '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]'),
    constraint user_profiles_website_valid check (
        char_length(website) <= 2048 and website ~ '^https://[^\s/?#\u0001-\u0020\u007f]+[^\s\u0001-\u0020\u007f]*$'),
    constraint user_profiles_language_code_valid check (
        char_length(language_code) <= 35
        and language_code ~ '^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*|[xXiI](-[A-Za-z0-9]{1,8})+)$'),
    constraint user_profiles_avatar_type_valid check (
        avatar_type is null and avatar_id is null and avatar_url is null
        or avatar_type is not null and avatar_type = 'built_in' and avatar_id is not null and avatar_url is null
        or avatar_type is not null and avatar_type = 'custom' and avatar_id is null and avatar_url is not null),
    constraint user_profiles_avatar_url_valid check (
        char_length(avatar_url) <= 2048
        and avatar_url ~ '^https://[^\s/?#\u0001-\u0020\u007f]+[^\s\u0001-\u0020\u007f]*$'),
    constraint user_profiles_attributes_valid check (jsonb_typeof(attributes) = 'object')
);
create index user_profiles_changed_xid on public.user_profiles (changed_xid);
create index user_profiles_public_changed_xid on public.user_profiles (public_changed_xid);

-- What a user alone sees of itself. `email` follows auth.users by trigger, so that a change of it streams too.
create table public.user_private (
    id uuid primary key references public.user_profiles (id),
    email text,
    phone_number text,
    phone_verified boolean not null default false,
    date_of_birth date,
    preferred_unit_system text not null default 'metric',
    preferences jsonb not null default '{}',
    biological_sex text,
    height_cm numeric(5, 2),
    username_changed_at timestamptz,
    username_change_count integer not null default 0,
    constraint user_private_phone_number_valid check (phone_number ~ '^\+[1-9][0-9]{6,14}$'),
    constraint user_private_date_of_birth_valid check (date_of_birth >= '1900-01-01'),
    constraint user_private_preferred_unit_system_valid check (preferred_unit_system in ('metric', 'imperial')),
    -- 16 KiB without the blanks that jsonb's text form puts after each comma and colon.
    constraint user_private_preferences_valid check (
        jsonb_typeof(preferences) = 'object'
        and octet_length(json_strip_nulls(preferences::text::json)::text) <= 16384),
    constraint user_private_biological_sex_valid check (biological_sex in ('male', 'female', 'other')),
    constraint user_private_height_cm_valid check (height_cm between 30 and 300)
);

-- Names given up, held for their owner until held_until.
create table public.username_history (
    id bigint generated always as identity primary key,
    user_id uuid not null references public.user_profiles (id),
    old_username text not null,
    new_username text,
    changed_at timestamptz not null default now(),
    held_until timestamptz not null
);
create index username_history_user_id on public.username_history (user_id);
create index username_history_old_username on public.username_history (old_username);

-- pg_trgm stands where the database has it; else in `extensions` where that exists, as on Supabase, else in public.
do $$
declare
    home text;
begin
    if not exists (select from pg_extension where extname = 'pg_trgm') then
        execute format('create extension pg_trgm schema %I',
            case when to_regnamespace('extensions') is null then 'public' else 'extensions' end);
    end if;
    select n.nspname into home
      from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm';
    execute format('create index user_profiles_search on public.user_profiles
                    using gin (username %1$I.gin_trgm_ops, full_name %1$I.gin_trgm_ops)', home);
end
$$;
