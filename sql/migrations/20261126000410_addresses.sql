-- Addresses in small letters of ASCII: an account that was imported with capitals could not sign in, and its address be
-- registered again. Of several accounts whose addresses differ in case alone the one in small letters keeps it, else
-- the oldest; the others stay as they are, and no sign-in finds them: give them another address.
do $$
begin
    with spelled as (
        select u.id, lower(u.email::text collate "C") as address,
               row_number() over (
                   partition by lower(u.email::text collate "C"), case when u.is_sso_user then u.id end
                   order by u.email::text = lower(u.email::text collate "C") desc, u.created_at, u.id) as place
          from auth.users u where u.email is not null)
    update auth.users u set email = s.address
      from spelled s where s.id = u.id and s.place = 1 and s.address <> u.email::text;
exception when insufficient_privilege then
    -- Where another server keeps the accounts: Supabase's stores them so already.
    null;
end
$$;
