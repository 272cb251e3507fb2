-- Who is online: see sql/functions/app/presence.sql.

-- The nodes that are up: who reports before `lease_until`, by this database's clock, is one of them.
create table app.nodes (
    id uuid primary key,
    lease_until timestamptz not null
) with (fillfactor = 50);

-- Who has a live session on which node. No foreign key on the user: it would write a lock into each profile with each
-- reconnect.
create table app.node_users (
    node_id uuid not null references app.nodes (id) on delete cascade,
    user_id uuid not null,
    primary key (node_id, user_id)
);
create index node_users_user_id on app.node_users (user_id);

-- Users whose presence somebody else had locked when it was to be made true: the next call does it. There may be a user
-- twice.
create table app.unsettled_users (
    user_id uuid not null
);

-- What others may be shown of a user, and no more: of one who hides it, nothing. changed_xid moves with that, and
-- hidden_xid when a user begins or ceases to hide, which changes what that user is shown of everybody.
create table public.presence (
    user_id uuid primary key references public.user_profiles (id),
    is_online boolean not null default false,
    last_seen_at timestamptz,
    is_hidden boolean not null default false,
    changed_xid xid8 not null default pg_current_xact_id(),
    hidden_xid xid8,
    constraint presence_hidden_shows_nothing check (not (is_hidden and (is_online or last_seen_at is not null)))
) with (fillfactor = 70);
create index presence_changed_xid on public.presence (changed_xid);
-- Before policies.sql is applied: Supabase grants new tables of public to its roles.
alter table public.presence enable row level security;

-- From now on this is done as it happens.
insert into public.presence (user_id, is_hidden)
select s.id, true from public.user_private s join public.user_profiles p on p.id = s.id
 where s.preferences ->> 'presence' = 'nobody' or p.is_deleted;
