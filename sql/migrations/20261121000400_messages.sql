create domain app.message_kind as text
    constraint messages_kind_valid check (value in ('text', 'image', 'system'));
create domain app.message_content as text
    constraint messages_content_valid check (char_length(value) <= 8000);
create domain app.attachment as jsonb
    constraint messages_attachment_valid check (
        value is null
        or jsonb_typeof(value) = 'object'
        and value - '{url,mime_type,width,height,bytes}'::text[] = '{}'
        and coalesce(jsonb_typeof(value -> 'url'), '') = 'string'
        and char_length(value ->> 'url') <= 2048
        and value ->> 'url' ~ '^https://[^\s/?#\u0001-\u0020\u007f]+[^\s\u0001-\u0020\u007f]*$'
        and coalesce(jsonb_typeof(value -> 'mime_type'), 'null') in ('string', 'null')
        and char_length(coalesce(value ->> 'mime_type', '')) <= 255
        and coalesce(jsonb_typeof(value -> 'width'), 'null') in ('number', 'null')
        and coalesce(jsonb_typeof(value -> 'height'), 'null') in ('number', 'null')
        and coalesce(jsonb_typeof(value -> 'bytes'), 'null') in ('number', 'null')
        and not value @? '$.* ? (@.type() == "number" && @ < 0)');

-- seq and commit order are one: both are given under the conversation row's lock. sent_xid is the transaction that
-- inserted the row, changed_xid the last that changed it. first_sent is the hash of what was first sent, kept from
-- the first edit on, so that a repeated client_id can be told from a reused one.
create table public.messages (
    id uuid primary key default gen_random_uuid(),
    conversation_id uuid not null references public.conversations (id),
    seq bigint not null,
    sender_id uuid not null references public.user_profiles (id),
    client_id uuid,
    kind app.message_kind not null default 'text',
    content app.message_content,
    attachment app.attachment,
    version bigint not null default 1,
    sent_xid xid8 not null default pg_current_xact_id(),
    changed_xid xid8 not null default pg_current_xact_id(),
    created_at timestamptz not null,
    edited_at timestamptz,
    deleted_at timestamptz,
    first_sent bytea,
    constraint messages_seq_key unique (conversation_id, seq)
);
-- Partial not for its size: a plan made while the table was small would walk it for (conversation_id, seq) too, all
-- messages of the conversation, since it begins with the same column.
create unique index messages_client_id_key on public.messages (conversation_id, sender_id, client_id)
    where client_id is not null;
create index messages_changed_xid on public.messages (changed_xid);
create index messages_edited on public.messages (conversation_id, changed_xid) where version > 1;
