-- The schemas, and what the service keeps for itself.
create schema if not exists app;
create schema if not exists api;
create schema if not exists accounts;
create schema if not exists feed;

create table app.settings (
    name text primary key,
    value text not null
);
comment on table app.settings is
    'epoch: grows when cursors given so far must not be continued; home: the cluster and database that changed_xid values belong to.';

-- One row a sign-in. A refresh token is derived from the session and its generation: nothing secret is stored.
create table app.sessions (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references auth.users (id) on delete cascade,
    generation integer not null default 1,
    created_at timestamptz not null default now(),
    refreshed_at timestamptz not null default now(),
    revoked_at timestamptz
);
create index sessions_user_id on app.sessions (user_id);
