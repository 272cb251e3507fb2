-- A database as a Supabase project has it, as far as Postline meets it: roles, schemas, owners, grants, default
-- privileges, accounts. Applied by supabase_admin, the superuser, to the database `postgres`, whose owner `postgres` is
-- none. Written anew from what the images of Supabase's Postgres 15 and 17 show; no text of theirs.

-- The service's own roles.
create role authenticator login noinherit;
create role anon nologin inherit;
create role authenticated nologin inherit;
create role service_role nologin inherit bypassrls;
create role supabase_auth_admin login noinherit createrole;
create role supabase_storage_admin login noinherit createrole;
create role supabase_realtime_admin nologin noinherit;
create role supabase_replication_admin login replication;
create role supabase_read_only_user login bypassrls;
create role dashboard_user nologin createdb createrole replication;
create role pgbouncer login;
grant anon, authenticated, service_role to authenticator;
grant pg_read_all_data to supabase_read_only_user;
alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';
alter role supabase_auth_admin set search_path = auth;
alter role supabase_auth_admin set idle_in_transaction_session_timeout = '60s';
alter role supabase_storage_admin set search_path = storage;

-- What a project's owner gets: nearly all, but no superuser.
create role postgres login createdb createrole replication bypassrls;
alter role postgres set search_path = "$user", public, extensions;
grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres;
do $$
begin
    -- From 16 on, createrole alone grants nobody's role to another.
    if current_setting('server_version_num')::integer >= 160000 then
        grant anon, authenticated, service_role to postgres with admin option;
    else
        grant anon, authenticated, service_role to postgres;
    end if;
end
$$;
alter database postgres owner to postgres;
grant all on database postgres to postgres, dashboard_user;
grant create on database postgres to supabase_storage_admin;

grant usage on schema public to postgres, anon, authenticated, service_role;
alter default privileges for role postgres in schema public
    grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges for role postgres in schema public
    grant all on functions to postgres, anon, authenticated, service_role;
alter default privileges for role postgres in schema public
    grant all on sequences to postgres, anon, authenticated, service_role;
alter default privileges for role supabase_admin in schema public
    grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges for role supabase_admin in schema public
    grant all on functions to postgres, anon, authenticated, service_role;
alter default privileges for role supabase_admin in schema public
    grant all on sequences to postgres, anon, authenticated, service_role;

create schema extensions;
grant usage on schema extensions to anon, authenticated, service_role;
grant all on schema extensions to postgres, dashboard_user;
create extension pgcrypto schema extensions;
-- Not every build of PostgreSQL has it, and nothing of Postline's uses it.
do $$
begin
    if exists (select from pg_available_extensions where name = 'uuid-ossp') then
        create extension "uuid-ossp" schema extensions;
    end if;
end
$$;

-- PostgREST is told of each change of the schema.
create function extensions.pgrst_ddl_watch() returns event_trigger language plpgsql as $$
begin
    notify pgrst, 'reload schema';
end
$$;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();
create publication supabase_realtime;

-- The auth server's: it owns the tables, and the project's owner may read, write, refer to them and put triggers on
-- them, but make nothing beside them.
create schema auth;
grant all on schema auth to supabase_auth_admin, dashboard_user;
grant usage on schema auth to postgres, anon, authenticated, service_role;
create type auth.aal_level as enum ('aal1', 'aal2', 'aal3');
create table auth.users (
    instance_id uuid,
    id uuid not null primary key,
    aud varchar(255),
    role varchar(255),
    email varchar(255),
    encrypted_password varchar(255),
    email_confirmed_at timestamptz,
    invited_at timestamptz,
    confirmation_token varchar(255),
    confirmation_sent_at timestamptz,
    recovery_token varchar(255),
    recovery_sent_at timestamptz,
    email_change_token_new varchar(255),
    email_change varchar(255),
    email_change_sent_at timestamptz,
    last_sign_in_at timestamptz,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    is_super_admin boolean,
    created_at timestamptz,
    updated_at timestamptz,
    phone text unique default null,
    phone_confirmed_at timestamptz,
    phone_change text default '',
    phone_change_token varchar(255) default '',
    phone_change_sent_at timestamptz,
    confirmed_at timestamptz generated always as (least(email_confirmed_at, phone_confirmed_at)) stored,
    email_change_token_current varchar(255) default '',
    email_change_confirm_status smallint default 0,
    banned_until timestamptz,
    reauthentication_token varchar(255) default '',
    reauthentication_sent_at timestamptz,
    is_sso_user boolean not null default false,
    deleted_at timestamptz,
    is_anonymous boolean not null default false
);
create unique index users_email_partial_key on auth.users (email) where is_sso_user = false;
create table auth.identities (
    id uuid primary key default gen_random_uuid(),
    provider_id text not null,
    user_id uuid not null references auth.users (id) on delete cascade,
    identity_data jsonb not null,
    provider text not null
);
create table auth.sessions (
    id uuid primary key,
    user_id uuid not null references auth.users (id) on delete cascade,
    aal auth.aal_level,
    created_at timestamptz
);
create table auth.refresh_tokens (
    id bigint generated by default as identity primary key,
    token varchar(255) unique,
    user_id varchar(255),
    session_id uuid references auth.sessions (id) on delete cascade,
    parent varchar(255),
    revoked boolean
);
create table auth.schema_migrations (version varchar(255) primary key);

create function auth.uid() returns uuid language sql stable as $$
    select coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
                    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid
$$;
create function auth.role() returns text language sql stable as $$
    select coalesce(nullif(current_setting('request.jwt.claim.role', true), ''),
                    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role')
$$;
create function auth.email() returns text language sql stable as $$
    select coalesce(nullif(current_setting('request.jwt.claim.email', true), ''),
                    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email')
$$;
create function auth.jwt() returns jsonb language sql stable as $$
    select coalesce(nullif(current_setting('request.jwt.claim', true), ''),
                    nullif(current_setting('request.jwt.claims', true), ''))::jsonb
$$;
do $$
declare
    name text;
begin
    foreach name in array array['users', 'identities', 'sessions', 'refresh_tokens', 'schema_migrations'] loop
        execute format('alter table auth.%I owner to supabase_auth_admin', name);
        execute format('alter table auth.%I enable row level security', name);
        execute format('grant all on auth.%I to postgres, dashboard_user', name);
    end loop;
    foreach name in array array['uid', 'role', 'email', 'jwt'] loop
        execute format('alter function auth.%I() owner to supabase_auth_admin', name);
        execute format('grant all on function auth.%I() to postgres, dashboard_user', name);
    end loop;
end
$$;
alter type auth.aal_level owner to supabase_auth_admin;
revoke all on auth.schema_migrations from postgres, dashboard_user;

create schema storage;
grant all on schema storage to supabase_storage_admin with grant option;
grant usage on schema storage to postgres, anon, authenticated, service_role;
create table storage.buckets (id text primary key, name text not null unique, public boolean default false);
create table storage.objects (
    id uuid primary key default gen_random_uuid(),
    bucket_id text references storage.buckets (id),
    name text,
    owner_id text
);
alter table storage.buckets owner to supabase_storage_admin;
alter table storage.objects owner to supabase_storage_admin;
alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;
grant all on storage.buckets, storage.objects to postgres, anon, authenticated, service_role;

create schema realtime;
grant usage on schema realtime to postgres, anon, authenticated, service_role;
grant all on schema realtime to supabase_realtime_admin;
create schema graphql_public;
grant usage on schema graphql_public to postgres, anon, authenticated, service_role;
create schema vault;

-- A table of the project's own, as its developer made it.
set role postgres;
create table public.todos (id bigint generated by default as identity primary key, owner uuid references auth.users, text text);
alter table public.todos enable row level security;
create policy own on public.todos to authenticated using (owner = auth.uid());
reset role;

-- Who is there before Postline comes.
insert into auth.users (instance_id, id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, is_anonymous)
values ('00000000-0000-0000-0000-000000000000', 'aaaaaaaa-0000-4000-8000-000000000001', 'authenticated', 'authenticated',
        'ada@example.com', '{"provider":"email","providers":["email"]}', '{"full_name":"Ada Arc"}', now(), false),
       ('00000000-0000-0000-0000-000000000000', 'aaaaaaaa-0000-4000-8000-000000000002', 'authenticated', 'authenticated',
        'ben@example.com', '{"provider":"google","providers":["google"]}', '{"full_name":"Ben Bay"}', now(), false),
       ('00000000-0000-0000-0000-000000000000', 'aaaaaaaa-0000-4000-8000-000000000003', 'authenticated', 'authenticated',
        null, '{}', '{}', now(), true);
