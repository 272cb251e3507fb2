-- Lengths are counted truly, and in bytes, by the triggers of these tables from now on: of what a statement changes, so
-- that a row which is longer, from before, stays, is read, and may shrink. A check of the table would refuse each
-- update of it.
alter table public.user_private drop constraint user_private_preferences_valid;
alter table public.user_private add constraint user_private_preferences_valid
    check (jsonb_typeof(preferences) = 'object');
alter table public.built_in_avatars add constraint built_in_avatars_name_valid
    check (char_length(name) between 1 and 100) not valid;
