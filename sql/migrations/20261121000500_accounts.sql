comment on table app.settings is
    'epoch: grows when cursors given so far must not be continued; home: the cluster and database that changed_xid '
    'values belong to; clock_offset: an interval that app.now() is ahead by, for tests.';

-- pgcrypto reads the password hashes that came with a Supabase database. It stands where pg_trgm would.
do $$
begin
    if not exists (select from pg_extension where extname = 'pgcrypto') then
        execute format('create extension pgcrypto schema %I',
            case when to_regnamespace('extensions') is null then 'public' else 'extensions' end);
    end if;
end
$$;

-- The transaction that ended a session: by it the nodes learn whose connections to end.
alter table app.sessions add column ended_xid xid8;
create index sessions_ended_xid on app.sessions (ended_xid) where ended_xid is not null;

-- Guests whose holder signed in to an account that was there already, and what came over with them.
create table app.merged_guests (
    guest_id uuid primary key references public.user_profiles (id),
    account_id uuid not null references public.user_profiles (id),
    merged_at timestamptz not null default now(),
    merged_xid xid8 not null default pg_current_xact_id(),
    conversations integer not null default 0,
    messages integer not null default 0,
    constraint merged_guests_two_users check (guest_id <> account_id)
);
create index merged_guests_merged_xid on app.merged_guests (merged_xid);
create index merged_guests_account_id on app.merged_guests (account_id);

-- A tombstone holds nothing of its user. Those there are give up their names now.
insert into public.username_history (user_id, old_username, held_until)
select p.id, p.username, now() + interval '120 days'
  from public.user_profiles p where p.is_deleted and p.username is not null;
update public.user_profiles
   set username = null, full_name = null, bio = null, avatar_type = null, avatar_id = null, avatar_url = null,
       website = null, location = null, language_code = null, is_verified = false, attributes = '{}'
 where is_deleted;
alter table public.user_profiles add constraint user_profiles_tombstone_blank check (
    not is_deleted
    or num_nonnulls(username, full_name, bio, avatar_type, avatar_id, avatar_url, website, location, language_code) = 0
       and not is_verified and attributes = '{}');
