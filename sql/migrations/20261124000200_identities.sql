-- What an account is known by beside its password: see sql/functions/accounts/identities.sql.

-- `apple`: the subject of Apple's tokens. `email`: an address that its holder has proven to be theirs.
create table app.identities (
    provider text not null,
    subject text not null,
    user_id uuid not null references public.user_profiles (id) on delete cascade,
    -- What the provider said it was at first sight; it need not be the account's.
    email text,
    created_at timestamptz not null default now(),
    primary key (provider, subject),
    constraint identities_one_a_provider unique (user_id, provider),
    constraint identities_provider check (provider in ('apple', 'email')),
    constraint identities_subject check (octet_length(subject) between 1 and 320),
    constraint identities_email check (octet_length(email) <= 320)
);

-- Tokens of other providers that were used here: each is good once. Of a token its hash, until it expires.
create table app.used_identity_tokens (
    hash bytea primary key,
    expires_at timestamptz not null
);
create index used_identity_tokens_expires_at on app.used_identity_tokens (expires_at);
