-- What a mail proves, and how many may be asked for: see sql/functions/app/mails.sql.

-- A token that was sent, as its SHA-256: whoever has it reads the mail of that address. It is good once. It refers to
-- its user without a constraint, so that no mail waits for another program's lock on a profile.
create table app.mail_tokens (
    hash bytea primary key,
    kind text not null,
    user_id uuid not null,
    email text not null,
    expires_at timestamptz not null,
    constraint mail_tokens_kind check (kind in ('confirm_email', 'change_email', 'reset_password')),
    constraint mail_tokens_hash check (octet_length(hash) = 32)
);
create index mail_tokens_user_id on app.mail_tokens (user_id);
create index mail_tokens_expires_at on app.mail_tokens (expires_at);

-- How many mails of a kind an address was asked for since then, for an hour: of an address its SHA-256, since it need
-- not be anybody's.
create table app.mail_counts (
    kind text not null,
    address_hash bytea not null,
    since timestamptz not null,
    asked integer not null,
    primary key (kind, address_hash)
);
create index mail_counts_since on app.mail_counts (since);
