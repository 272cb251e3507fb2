-- On the tables that every message writes, what one column may hold is a domain and what several may is a trigger's:
-- a table's check constraint is parsed anew by each statement that writes a row, also one that leaves its columns
-- alone, and took a tenth of a send.
create domain app.conversation_kind as text
    constraint conversations_kind_valid check (value in ('direct', 'group'));
create domain app.title as text
    constraint conversations_title_valid check (
        char_length(value) between 1 and 100 and value is nfc normalized
        and value !~ '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]');
create domain app.member_role as text
    constraint conversation_members_role_valid check (value in ('owner', 'admin', 'member'));

-- A message updates its conversation's last_* and its sender's mark. No index stands on what that changes, and the
-- pages keep room, so that both updates stay HOT. last_message_xid is for the same reason not indexed: it tells a
-- delta in which of a user's conversations to look for messages.
create table public.conversations (
    id uuid primary key default gen_random_uuid(),
    kind app.conversation_kind not null default 'direct',
    participant1_id uuid references public.user_profiles (id),
    participant2_id uuid references public.user_profiles (id),
    title app.title,
    created_by uuid references public.user_profiles (id),
    last_seq bigint not null default 0,
    last_message_content text,
    last_message_time timestamptz,
    last_message_sender_id uuid,
    last_message_xid xid8,
    version bigint not null default 1,
    changed_xid xid8 not null default pg_current_xact_id(),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint conversations_participants_key unique (participant1_id, participant2_id)
) with (fillfactor = 70);
create index conversations_participant2_id on public.conversations (participant2_id);
create index conversations_changed_xid on public.conversations (changed_xid);

-- changed_xid moves when the row comes and when a mark moves by itself; sent_seq and sent_xid tell the mark that a
-- message moved, where the message is the news.
create table public.conversation_members (
    conversation_id uuid not null references public.conversations (id),
    user_id uuid not null references public.user_profiles (id),
    role app.member_role not null default 'member',
    joined_at timestamptz not null default now(),
    joined_xid xid8 not null default pg_current_xact_id(),
    last_read_seq bigint not null,
    sent_seq bigint not null default 0,
    sent_xid xid8,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, user_id)
) with (fillfactor = 70);
create index conversation_members_user_id on public.conversation_members (user_id);
create index conversation_members_changed_xid on public.conversation_members (changed_xid);
create unique index conversation_members_one_owner
    on public.conversation_members (conversation_id) where role = 'owner';

-- Who was a member and went, kept when they come back. `wrote`: their messages stand in the conversation.
create table app.former_members (
    conversation_id uuid not null references public.conversations (id),
    user_id uuid not null references public.user_profiles (id),
    wrote boolean not null,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (conversation_id, user_id)
);
create index former_members_user_id on app.former_members (user_id);
create index former_members_changed_xid on app.former_members (changed_xid);
