-- Reports of messages and users (sql/functions/app/reports.sql), and moderators.
create table app.reports (
    id uuid primary key default gen_random_uuid(),
    reporter_id uuid not null references public.user_profiles (id),
    reported_id uuid not null references public.user_profiles (id),
    message_id uuid,
    conversation_id uuid,
    seq bigint,
    reason text not null,
    comment text,
    evidence jsonb,
    state text not null default 'open',
    moderator_id uuid references public.user_profiles (id),
    outcome text,
    resolution text,
    created_at timestamptz not null default now(),
    closed_at timestamptz,
    notify_at timestamptz default now(),
    notify_attempts integer not null default 0,
    constraint reports_reason_valid check (reason in ('spam', 'abuse', 'sexual', 'violence', 'illegal', 'other')),
    constraint reports_comment_valid check (char_length(comment) <= 1000),
    constraint reports_state_valid check (state in ('open', 'in_review', 'closed')),
    constraint reports_outcome_valid check (
        outcome in ('dismissed', 'removed', 'warned', 'banned')
        and (state = 'closed') = (outcome is not null) and (state = 'closed') = (closed_at is not null))
);
comment on table app.reports is 'Reports of messages and users, read by moderators and operators only.';
comment on column app.reports.message_id is 'The reported message; null: the user is reported.';
comment on column app.reports.conversation_id is
    'Where the message was when it was reported. Merging a guest can move it.';
comment on column app.reports.evidence is 'What was reported, as it was then. Null once the retention time is over.';
comment on column app.reports.resolution is 'What the moderator who closed it noted.';
comment on column app.reports.notify_at is 'The next attempt to tell the webhook of it; null: told, or given up.';

-- The queue, and what one reporter has in it.
create index reports_pending on app.reports (created_at, id) where state <> 'closed';
create index reports_pending_reporter on app.reports (reporter_id) where state <> 'closed';
create index reports_closed on app.reports (created_at, id) where state = 'closed';
-- The closed reports that the cleanup looks for.
create index reports_evidence on app.reports (closed_at) where evidence is not null and state = 'closed';
create index reports_notify_at on app.reports (notify_at) where notify_at is not null;
-- Merging and deletion of users.
create index reports_reporter on app.reports (reporter_id);
create index reports_reported on app.reports (reported_id);
alter table app.reports enable row level security;

alter table public.user_private add column is_moderator boolean not null default false;
comment on column public.user_private.is_moderator is 'May read and close reports. Set by `postline admin moderator`.';
