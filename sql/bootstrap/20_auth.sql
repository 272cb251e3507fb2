-- A minimal `auth` schema as Supabase's auth server has it, each part made only where it is missing, so that a
-- database can move to Supabase and back, and policies read the same on both.
do $bootstrap$
declare
    role_name text;
    function_name text;
begin
    if to_regnamespace('auth') is null then
        create schema auth;
        revoke all on schema auth from public;
    end if;

    if to_regclass('auth.users') is null then
        create table auth.users (
            instance_id uuid,
            id uuid primary key default gen_random_uuid(),
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
        create index users_instance_id_email_idx on auth.users (instance_id, lower(email));
        create index users_is_anonymous_idx on auth.users (is_anonymous);
        -- No policy: accounts are reached through definer functions alone.
        alter table auth.users enable row level security;
    end if;

    -- A setting that was local to a transaction is '' after it, not null: hence nullif.
    if to_regprocedure('auth.jwt()') is null then
        create function auth.jwt() returns jsonb language sql stable
            as $$ select nullif(current_setting('request.jwt.claims', true), '')::jsonb $$;
        revoke execute on function auth.jwt() from public;
    end if;
    if to_regprocedure('auth.uid()') is null then
        -- As on Supabase the single claim comes first: to read all of them takes ten times as long, and policies ask
        -- for this several times a request.
        create function auth.uid() returns uuid language sql stable
            as $$ select coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
                                  nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $$;
        revoke execute on function auth.uid() from public;
    end if;
    if to_regprocedure('auth.role()') is null then
        create function auth.role() returns text language sql stable
            as $$ select nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role' $$;
        revoke execute on function auth.role() from public;
    end if;

    -- Rights, wherever they are missing: a dump that was restored without privileges has the schema and not these.
    foreach role_name in array array['anon', 'authenticated', 'service_role', 'postline_feed'] loop
        if not has_schema_privilege(role_name, 'auth', 'usage') then
            execute format('grant usage on schema auth to %I', role_name);
        end if;
    end loop;
    foreach role_name in array array['anon', 'authenticated', 'service_role'] loop
        foreach function_name in array array['auth.jwt()', 'auth.uid()', 'auth.role()'] loop
            if not has_function_privilege(role_name, function_name, 'execute') then
                execute format('grant execute on function %s to %I', function_name, role_name);
            end if;
        end loop;
    end loop;
end
$bootstrap$;
