-- Whom to reach while no app of theirs is open: see sql/functions/app/push.sql.

-- Until when a member does not want to be told of a conversation's messages; null: it wants to again. What a member has
-- muted is nobody else's business, so that it is no column of conversation_members, which all members read.
create table public.conversation_mutes (
    conversation_id uuid not null,
    user_id uuid not null,
    muted_until timestamptz,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, user_id),
    foreign key (conversation_id, user_id) references public.conversation_members (conversation_id, user_id)
        on update cascade on delete cascade,
    constraint conversation_mutes_until_finite check (isfinite(muted_until))
);
create index conversation_mutes_changed_xid on public.conversation_mutes (changed_xid);
create index conversation_mutes_user_id on public.conversation_mutes (user_id);
-- Before policies.sql is applied: Supabase grants new tables of public to its roles.
alter table public.conversation_mutes enable row level security;

-- Where pushes go to. A device belongs to the session that registered it, and goes with it; where another server keeps
-- the accounts there is none to go with. A token that another user registers is a new device.
create table app.devices (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references public.user_profiles (id),
    session_id uuid references app.sessions (id) on delete cascade,
    platform text not null,
    token text not null,
    environment text not null,
    locale text,
    created_at timestamptz not null default now(),
    registered_at timestamptz not null default now(),
    constraint devices_one_token unique (platform, token),
    constraint devices_platform check (platform in ('apns', 'fcm', 'webhook')),
    constraint devices_environment check (environment in ('production', 'sandbox')),
    constraint devices_token check (octet_length(token) between 1 and 2048)
);
create index devices_user_id on app.devices (user_id);
create index devices_session_id on app.devices (session_id) where session_id is not null;

-- What a device was told of a conversation, and what it is still to be told.
create table app.pushes (
    device_id uuid not null references app.devices (id) on delete cascade,
    conversation_id uuid not null,
    -- The newest message to tell of.
    seq bigint not null,
    -- The newest that its provider took; 0 where there is nothing on its screen.
    told_seq bigint not null default 0,
    -- When the newest of it was noted.
    noted_at timestamptz not null,
    -- When to look at it again; null: there is nothing to tell.
    due_at timestamptz,
    attempts integer not null default 0,
    primary key (device_id, conversation_id)
) with (fillfactor = 70);
create index pushes_due_at on app.pushes (due_at) where due_at is not null;

-- How far messages were looked through for pushes: one row, of the epoch that the snapshot is of.
create table app.push_cursor (
    only_one boolean primary key default true,
    epoch text not null,
    snapshot pg_snapshot not null,
    constraint push_cursor_only_one check (only_one)
);
