-- Pictures: bytes beside the database, of which it has what they are, whose, and who may see them: see
-- sql/functions/app/media.sql.
create table public.media (
    id uuid primary key default gen_random_uuid(),
    owner_id uuid not null references public.user_profiles (id),
    purpose text not null,
    -- Of a message's picture: where it is shown.
    conversation_id uuid references public.conversations (id) on delete cascade,
    -- What its owner promised. The bytes are held to it.
    mime_type text not null,
    bytes bigint not null,
    width integer,
    height integer,
    created_at timestamptz not null default now(),
    -- When the bytes were there, and were what was promised.
    stored_at timestamptz,
    -- When a profile or a message took it.
    used_at timestamptz,
    message_id uuid,
    -- Of an avatar that is used: its address.
    url text,
    -- When its bytes went, of a message's picture.
    removed_at timestamptz,
    constraint media_purpose_valid check (purpose in ('avatar', 'message')),
    constraint media_place check ((purpose = 'message') = (conversation_id is not null)),
    constraint media_mime_type_valid check (
        mime_type in ('image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/heic')),
    constraint media_bytes_valid check (bytes between 1 and 1073741824),
    constraint media_width_valid check (width between 1 and 65535),
    constraint media_height_valid check (height between 1 and 65535)
);
create index media_owner_id on public.media (owner_id);
create index media_conversation_id on public.media (conversation_id) where conversation_id is not null;
create index media_unused on public.media (created_at) where used_at is null;
-- Before policies.sql is applied: Supabase grants new tables of public to its roles.
alter table public.media enable row level security;

-- Bytes that are to go, and when.
create table app.media_removals (
    id uuid primary key,
    purpose text not null,
    due_at timestamptz not null
);
create index media_removals_due_at on app.media_removals (due_at);

-- An avatar that was uploaded is where its server is, which need not be https on one's own machine. What users set is
-- held to https by app.keep_profile.
alter table public.user_profiles drop constraint user_profiles_avatar_url_valid;
alter table public.user_profiles add constraint user_profiles_avatar_url_valid check (
    char_length(avatar_url) <= 2048
    and avatar_url ~ '^https?://[^\s/?#\u0001-\u0020\u007f]+[^\s\u0001-\u0020\u007f]*$') not valid;
alter table public.user_profiles validate constraint user_profiles_avatar_url_valid;
