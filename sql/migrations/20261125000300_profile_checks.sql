-- What these checked, app.keep_profile holds for whoever writes, with an error that names the field. A check is parsed
-- anew by each statement that writes to its table: these were 580 of the 2,010 thousand instructions of a new bio.
alter table public.user_profiles
    drop constraint user_profiles_username_valid,
    drop constraint user_profiles_full_name_valid,
    drop constraint user_profiles_bio_valid,
    drop constraint user_profiles_location_valid,
    drop constraint user_profiles_website_valid,
    drop constraint user_profiles_language_code_valid,
    drop constraint user_profiles_avatar_type_valid,
    drop constraint user_profiles_avatar_url_valid,
    drop constraint user_profiles_attributes_valid,
    drop constraint user_profiles_tombstone_blank;
