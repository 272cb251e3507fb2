-- Which node does what one node alone does, and until when: see app.lead. In place of an advisory lock, which every
-- role of the database may take.
create table app.leases (
    name text primary key,
    holder uuid not null,
    expires_at timestamptz not null
);
alter table app.leases enable row level security;

-- Sign-ins by an identity that are in progress: a row lives no longer than its transaction, and another sign-in by the
-- same identity waits for that transaction.
create table app.identity_attempts (
    provider text,
    subject text,
    primary key (provider, subject)
);
alter table app.identity_attempts enable row level security;
