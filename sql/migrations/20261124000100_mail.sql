-- Mails that are to be sent, written in the transaction that needs them: see sql/functions/app/mails.sql. One that was
-- sent is gone. What a mail proves is made when it is sent, so that no row holds a secret that could be used.
create table app.mails (
    id uuid primary key default gen_random_uuid(),
    -- What it is for.
    kind text not null,
    -- Where it goes, which need not be anybody's address yet, or any more.
    email text not null,
    -- Whose it is; null where that is found out when it is sent: a request of a reset tells nobody whether it is known.
    user_id uuid references public.user_profiles (id) on delete cascade,
    locale text,
    created_at timestamptz not null default now(),
    attempts integer not null default 0,
    -- When it is tried next; null: it was given up.
    due_at timestamptz default now(),
    last_error text,
    constraint mails_kind check (kind in ('confirm_email', 'change_email', 'email_changed', 'reset_password')),
    constraint mails_email check (octet_length(email) between 3 and 320)
);
create index mails_due_at on app.mails (due_at) where due_at is not null;
create index mails_user_id on app.mails (user_id);
