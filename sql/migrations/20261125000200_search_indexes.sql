-- What app.search_names has instead. A migration of its own, since it keeps everybody from user_profiles for a moment.
drop index public.user_profiles_search, public.user_profiles_words, public.user_profiles_username_start,
    public.user_profiles_full_name_start;
