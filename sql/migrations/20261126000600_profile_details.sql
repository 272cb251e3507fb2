-- What compatibility endpoints need to know of a profile beyond the protocol's object. A profile has no row here until
-- it needs one.
create table app.profile_details (
    user_id uuid primary key references public.user_profiles (id) on delete cascade,
    -- How many characters of the full name are the first name; null: those before its first blank.
    first_name_length smallint check (first_name_length between 0 and 100),
    -- The second that names the profile's version, where that is not the second of its `updated_at`.
    version_second timestamptz
);
comment on table app.profile_details is
    'Where a full name was split, and the second that names a version of a profile.';
