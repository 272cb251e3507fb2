-- The wire's objects: one view each, its members in the protocol's order, for answers, sync and feed alike.
-- All run with the caller's rights: row-level security decides what they show.
drop view if exists app.me_objects;
drop view if exists app.profile_objects;
drop view if exists app.conversation_objects;
drop view if exists app.conversation_parts;
drop view if exists app.message_objects;
drop view if exists app.sender_objects;
drop function if exists app.message_object(public.messages, json, bigint);

-- The wire's timestamps.
create or replace function app.utc(value timestamptz) returns text
language sql stable parallel safe as $$
    select pg_catalog.to_char(value at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

create or replace function app.quoted(value text) returns text
language sql immutable parallel safe as $$
    select case when value is null then 'null' else '"' || value || '"' end
$$;

create view app.profile_objects with (security_invoker = true) as
select p.id, p.username, p.public_changed_xid, p.is_guest, p.is_deleted, row_to_json(w) as object
  from public.user_profiles p
 cross join lateral (select
        p.id,
        case when not p.is_deleted then p.username end as username,
        case when not p.is_deleted then p.full_name end as full_name,
        p.bio, p.avatar_type, p.avatar_id, p.avatar_url, p.website, p.location, p.language_code,
        p.is_verified, p.is_guest, p.is_deleted, p.attributes, p.version,
        app.utc(p.created_at) as created_at,
        app.utc(p.updated_at) as updated_at) w;

create view app.me_objects with (security_invoker = true) as
select p.id, (left(p.object::text, -1) || ',' || substr(row_to_json(w)::text, 2))::json as object
  from app.profile_objects p
  join public.user_private s on s.id = p.id
 cross join lateral (select s.biological_sex, trim_scale(s.height_cm) as height_cm, s.date_of_birth) physical
 cross join lateral (select
        s.email, s.phone_number, s.phone_verified, s.date_of_birth, s.preferred_unit_system, s.preferences,
        row_to_json(physical) as physical,
        app.utc(s.username_changed_at) as username_changed_at,
        s.username_change_count,
        app.utc(s.username_changed_at + interval '90 days') as username_change_allowed_at) w;

-- A conversation without what is each member's own: head ends with `"last_read_seq":`, tail begins with
-- `,"created_at"`. Between stand a mark, `,"unread_count":`, a count, `,"muted_until":` and a timestamp or null.
create view app.conversation_parts with (security_invoker = true) as
select c.id, c.last_seq, c.changed_xid, m.user_ids, m.marks,
       left(row_to_json(h)::text, -1) || ',"last_read_seq":' as head,
       ',' || substr(row_to_json(t)::text, 2) as tail
  from public.conversations c
 cross join lateral (
        select array_agg(m.user_id order by m.joined_at, m.user_id) as user_ids,
               array_agg(m.last_read_seq order by m.joined_at, m.user_id) as marks,
               ('[' || coalesce(string_agg(row_to_json(w)::text, ',' order by m.joined_at, m.user_id), '') || ']')::json
                   as objects
          from public.conversation_members m
         cross join lateral (select m.user_id, m.role, app.utc(m.joined_at) as joined_at, m.last_read_seq) w
         where m.conversation_id = c.id) m
 cross join lateral (select
        c.id, c.kind, c.title, c.created_by, c.participant1_id, c.participant2_id, m.objects as members, c.last_seq,
        c.version, c.last_message_content, app.utc(c.last_message_time) as last_message_time,
        c.last_message_sender_id) h
 cross join lateral (select app.utc(c.created_at) as created_at, app.utc(c.updated_at) as updated_at) t;

-- A conversation as one of its members sees it.
create view app.conversation_objects with (security_invoker = true) as
select c.id, m.user_id,
       c.head || m.last_read_seq || ',"unread_count":' || c.last_seq - m.last_read_seq
           || ',"muted_until":' || app.quoted(app.utc(x.muted_until)) || c.tail as object
  from public.conversation_members m
  join app.conversation_parts c on c.id = m.conversation_id
  left join public.conversation_mutes x on x.conversation_id = m.conversation_id and x.user_id = m.user_id;

-- Who sent a message, as the message shows it.
create view app.sender_objects with (security_invoker = true) as
select p.id, row_to_json(w) as object
  from public.user_profiles p
 cross join lateral (select
        p.id,
        case when not p.is_deleted then p.username end as username,
        case when not p.is_deleted then p.full_name end as full_name,
        p.avatar_type, p.avatar_id, p.avatar_url, p.version) w;

create or replace function app.attachment_object(attachment jsonb) returns json
language sql immutable parallel safe as $$
    select pg_catalog.row_to_json(w) from (select
        attachment -> 'url' as url, attachment -> 'mime_type' as mime_type, attachment -> 'width' as width,
        attachment -> 'height' as height, attachment -> 'bytes' as bytes, attachment -> 'media_id' as media_id,
        attachment -> 'blurhash' as blurhash) w
$$;

-- One row as an object, given its sender's object and the least of the marks in its conversation: every member's mark
-- counts for is_read, the sender's own too, since a message moves it along. Written out, and not row_to_json, which
-- takes twice as long for the most frequent object of all. An expression and no more, so that it is inlined.
create function app.message_object(message public.messages, sender json, mark bigint) returns text
language sql stable parallel safe as $$
    select pg_catalog.concat(
        '{"id":"', message.id,
        '","conversation_id":"', message.conversation_id,
        '","seq":', message.seq,
        ',"sender_id":"', message.sender_id,
        '","sender":', sender,
        case when message.client_id is null then ',"client_id":null' else ',"client_id":"' end, message.client_id,
        case when message.client_id is null then ',"kind":"' else '","kind":"' end, message.kind,
        '","content":', coalesce(pg_catalog.to_json(message.content::text), 'null'),
        ',"attachment":',
        case when message.attachment is null then 'null' else app.attachment_object(message.attachment) end,
        case when message.seq > mark then ',"is_read":false' else ',"is_read":true' end,
        ',"version":', message.version,
        ',"created_at":"', app.utc(message.created_at),
        '","edited_at":', app.quoted(app.utc(message.edited_at)),
        ',"deleted_at":', app.quoted(app.utc(message.deleted_at)), '}')
$$;

-- `offset 0` keeps the sender whole: messages next to each other that have the same one may share it.
create view app.message_objects with (security_invoker = true) as
select m.id, m.conversation_id, m.seq, m.sender_id, m.client_id, m.version, m.sent_xid, m.changed_xid,
       app.message_object(m, s.object, r.mark) as object
  from public.messages m
 cross join lateral (select s.object from app.sender_objects s where s.id = m.sender_id offset 0) s
 cross join lateral (select min(r.last_read_seq) as mark from public.conversation_members r
                      where r.conversation_id = m.conversation_id) r;
