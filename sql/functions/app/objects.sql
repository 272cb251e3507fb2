-- The JSON objects of the protocol: one view each, with the members in the protocol's order, for responses, sync and
-- feed. All run with the caller's rights: row-level security decides what they contain.
drop view if exists app.me_objects;
drop view if exists app.profile_objects;
drop view if exists app.conversation_objects;
drop view if exists app.conversation_parts;
drop view if exists app.message_objects;
drop function if exists app.own_members(bigint, bigint, boolean, timestamptz, boolean, boolean);
drop function if exists app.own_members(bigint, bigint, boolean, timestamptz, boolean, boolean, integer, integer);
drop view if exists app.sender_objects;
drop function if exists app.message_object(public.messages, json, bigint);
drop function if exists app.message_object(public.messages, text, text, bigint);
drop function if exists app.message_object(public.messages, json, bigint, text);
drop function if exists app.message_object(public.messages, text, text, bigint, text);
drop function if exists app.sender_members(uuid, json);
drop function if exists app.conversation_member(uuid);

-- Returns a timestamp as the protocol writes it.
create or replace function app.utc(value timestamptz) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.to_char(value at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
end;

-- Returns a timestamp as JSON, or null. to_char takes twice as long as to_json, but to_json drops zeros at the end: so
-- it is used for times without such zeros, in years of four digits.
create or replace function app.quoted_utc(value timestamptz) returns text
language sql stable parallel safe
begin atomic
    select case
        when value >= '0001-01-01T00:00:00Z' and value < '10000-01-01T00:00:00Z' and value <> value::timestamptz(5)
        then pg_catalog.to_json(value at time zone interval '0')::text::varchar(27) || 'Z"'
        else '"' || app.utc(value) || '"' end;
end;

-- Returns a text in double quotes, without escapes, or null.
create or replace function app.quoted(value text) returns text
language sql immutable parallel safe
begin atomic
    select case when value is null then 'null' else '"' || value || '"' end;
end;

create view app.profile_objects with (security_invoker = true) as
select p.id, p.username, p.changed_xid, p.public_changed_xid, p.is_guest, p.is_deleted, row_to_json(w) as object
  from public.user_profiles p
 cross join lateral (select
        p.id,
        case when not p.is_deleted then p.username end as username,
        case when not p.is_deleted then p.full_name end as full_name,
        p.bio, p.avatar_type, p.avatar_id, p.avatar_url, p.website, p.location, p.language_code,
        p.is_verified, p.is_guest, p.is_deleted, p.attributes, p.version,
        app.utc(p.created_at) as created_at,
        app.utc(p.updated_at) as updated_at) w;

-- `offset 0` makes PostgreSQL write the profile once if both objects are read.
create view app.me_objects with (security_invoker = true) as
select p.id, p.changed_xid, p.public_changed_xid, o.profile,
       (left(o.profile::text, -1) || ',' || substr(row_to_json(w)::text, 2))::json as object
  from app.profile_objects p
 cross join lateral (select p.object offset 0) as o (profile)
  join public.user_private s on s.id = p.id
 cross join lateral (select s.biological_sex, trim_scale(s.height_cm) as height_cm, s.date_of_birth) physical
 cross join lateral (select
        s.email, s.phone_number, s.phone_verified, s.date_of_birth, s.preferred_unit_system, s.preferences,
        row_to_json(physical) as physical,
        app.utc(s.username_changed_at) as username_changed_at,
        s.username_change_count,
        app.utc(s.username_changed_at + interval '90 days') as username_change_allowed_at,
        s.is_moderator) w;

-- A conversation without what differs between its members: head ends with `"last_read_seq":`, tail begins with
-- `,"first_seq"`. Between them belong the mark and app.own_members.
create view app.conversation_parts with (security_invoker = true) as
select c.id, c.last_seq, c.changed_xid, m.user_ids, m.marks,
       concat('{"id":"', c.id, '","kind":"', c.kind, '","title":', coalesce(to_json(c.title::text), 'null'),
           ',"created_by":', app.quoted(c.created_by::text),
           ',"participant1_id":', app.quoted(c.participant1_id::text),
           ',"participant2_id":', app.quoted(c.participant2_id::text),
           ',"members":[', m.objects, '],"last_seq":', c.last_seq, ',"version":', c.version,
           ',"last_message_content":', coalesce(to_json(c.last_message_content), 'null'),
           ',"last_message_time":', coalesce(app.quoted_utc(c.last_message_time), 'null'),
           ',"last_message_sender_id":', app.quoted(c.last_message_sender_id::text), ',"last_read_seq":') as head,
       concat(',"first_seq":', c.first_seq, ',"message_ttl_seconds":', coalesce(c.message_ttl_seconds::text, 'null'),
           ',"pinned_seqs":', coalesce(array_to_json(c.pinned_seqs)::text, '[]'),
           ',"data":', coalesce(c.data::text, 'null'),
           ',"created_at":', coalesce(app.quoted_utc(c.created_at), 'null'),
           ',"updated_at":', coalesce(app.quoted_utc(c.updated_at), 'null'), '}') as tail
  from public.conversations c
 -- One walk for all members: there are at most app.max_delivered_members marks of most conversations.
 cross join lateral (
        select array_agg(d.user_id) as users, array_agg(d.last_delivered_seq) as seqs
          from public.delivered_marks d where d.conversation_id = c.id offset 0) d
 cross join lateral (
        select array_agg(m.user_id) as user_ids, array_agg(m.last_read_seq) as marks,
               string_agg(concat('{"user_id":"', m.user_id, '","role":"', m.role,
                   '","joined_at":', coalesce(app.quoted_utc(m.joined_at), 'null'),
                   ',"last_read_seq":', m.last_read_seq, ',"last_delivered_seq":',
                   greatest(m.last_read_seq, d.seqs[array_position(d.users, m.user_id)]), '}'), ',') as objects
          from (select m.user_id, m.role, m.joined_at, m.last_read_seq from public.conversation_members m
                 where m.conversation_id = c.id order by m.joined_at, m.user_id) m) m;

-- Returns the JSON members of a conversation that are a member's own, after its read mark. A mute that has ended is
-- none, and a mark as unread ends when the read mark moves.
create function app.own_members(
    unread_count bigint, unread_mentions bigint, is_marked_unread boolean, muted_until timestamptz,
    is_archived boolean, is_pinned boolean, scheduled_count integer, unsent_count integer) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.concat(
        ',"unread_count":', unread_count, ',"unread_mentions":', unread_mentions,
        ',"is_marked_unread":', coalesce(is_marked_unread, false)::text,
        ',"muted_until":', app.quoted(case when muted_until > now() then app.utc(muted_until) end),
        ',"is_archived":', coalesce(is_archived, false)::text, ',"is_pinned":', coalesce(is_pinned, false)::text,
        ',"scheduled_count":', coalesce(scheduled_count, 0), ',"unsent_count":', coalesce(unsent_count, 0));
end;

-- A conversation as one of its members sees it.
create view app.conversation_objects with (security_invoker = true) as
select c.id, m.user_id, c.changed_xid,
       c.head || m.last_read_seq
           || app.own_members(
                  c.last_seq - m.last_read_seq, n.unread_mentions, x.marked_unread_seq >= m.last_read_seq,
                  x.muted_until, x.archived_at is not null, x.pinned_at is not null, x.scheduled_count,
                  x.unsent_count)
           || c.tail as object
  from public.conversation_members m
  join app.conversation_parts c on c.id = m.conversation_id
 cross join lateral (
        select count(*) as unread_mentions
          from (select from public.message_mentions y
                 where y.conversation_id = m.conversation_id and y.user_id = any (array[m.user_id, app.everyone()])
                   and y.seq > m.last_read_seq
                 limit app.max_unread_mentions()) y) n
  left join public.conversation_mutes x on x.conversation_id = m.conversation_id and x.user_id = m.user_id;

-- The sender of a message, as an object of the message.
create view app.sender_objects with (security_invoker = true) as
select p.id, row_to_json(w) as object
  from public.user_profiles p
 cross join lateral (select
        p.id,
        case when not p.is_deleted then p.username end as username,
        case when not p.is_deleted then p.full_name end as full_name,
        p.avatar_type, p.avatar_id, p.avatar_url, p.version) w;

-- Returns an attachment with its members in the protocol's order.
create or replace function app.attachment_object(attachment jsonb) returns json
language sql immutable parallel safe
begin atomic
    select pg_catalog.row_to_json(w) from (select
        attachment -> 'url' as url, attachment -> 'mime_type' as mime_type, attachment -> 'width' as width,
        attachment -> 'height' as height, attachment -> 'bytes' as bytes, attachment -> 'media_id' as media_id,
        attachment -> 'blurhash' as blurhash, attachment -> 'name' as name, attachment -> 'duration_ms' as duration_ms,
        attachment -> 'waveform' as waveform, attachment -> 'preview_media_id' as preview_media_id) w;
end;

-- Returns the JSON members `attachment` and `attachments` of a message that has some.
create or replace function app.attachment_members(attachment jsonb) returns text
language sql immutable parallel safe
begin atomic
    select pg_catalog.concat(
               ',"attachment":', o.first, ',"attachments":[', o.first,
               case when attachment ? 'more' then (
                   select ',' || pg_catalog.string_agg(app.attachment_object(a.value)::text, ',' order by a.place)
                     from pg_catalog.jsonb_array_elements(attachment -> 'more') with ordinality a (value, place)) end,
               ']')
      from (select app.attachment_object(attachment) as first offset 0) o;
end;

-- Returns the JSON members `sender_id` and `sender` of a message.
create function app.sender_members(id uuid, sender json) returns text
language sql immutable parallel safe
begin atomic
    select ',"sender_id":"' || id::text || '","sender":' || sender::text;
end;

-- Returns the JSON members `sender_id` and `sender` for a user.
create or replace function app.sender_of(id uuid) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (select app.sender_members(s.id, s.object) from app.sender_objects s where s.id = sender_of.id);
end
$$;

-- Returns the JSON between the id and the seq of a message.
create function app.conversation_member(id uuid) returns text
language sql immutable parallel safe
begin atomic
    select '","conversation_id":"' || id::text || '","seq":';
end;

-- Returns a message as JSON. The messages of a page share three values that are computed once: app.conversation_member,
-- app.sender_members, and the lowest read mark of the conversation. All marks count for is_read, also the sender's,
-- since a message moves it. `reply` is the app.reply_object of the message that it answers, if any: a scalar subquery
-- in a `case`, which costs other messages nothing. A join would run for each message.
--
-- Concatenated, since row_to_json takes twice as long for the most frequent object of all, and in few parts, since each
-- costs as much as a comparison or two. One expression, so that it is inlined.
create function app.message_object(
    message public.messages, conversation text, sender text, mark bigint, reply text) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.concat(
        '{"id":"', message.id, conversation, message.seq, sender,
        case when message.client_id is null then ',"client_id":null,"kind":"' else ',"client_id":"' end,
        message.client_id,
        case when message.client_id is null then message.kind || '","content":'
             when message.kind = 'text' then '","kind":"text","content":'
             else '","kind":"' || message.kind || '","content":' end,
        coalesce(pg_catalog.to_json(message.content::text), 'null'),
        case when message.attachment is not null
             then app.attachment_members(message.attachment)
                  || case when message.seq > mark then ',"is_read":false' else ',"is_read":true' end || ',"version":'
             when message.event is not null
             then ',"attachment":null,"attachments":[],"event":' || message.event::text
                  || case when message.seq > mark then ',"is_read":false' else ',"is_read":true' end || ',"version":'
             when message.seq > mark then ',"attachment":null,"attachments":[],"is_read":false,"version":'
             else ',"attachment":null,"attachments":[],"is_read":true,"version":' end,
        message.version,
        case when app.has_details(message) then app.message_details(message, reply)
             else ',"reply_to":null,"mentions":[],"mentions_everyone":false,"data":null' end,
        ',"created_at":', coalesce(app.quoted_utc(message.created_at), '""'),
        case when message.edited_at is null and message.deleted_at is null
             then ',"edited_at":null,"deleted_at":null}'
             else ',"edited_at":' || coalesce(app.quoted_utc(message.edited_at), 'null')
                  || ',"deleted_at":' || coalesce(app.quoted_utc(message.deleted_at), 'null') || '}' end);
end;

-- Returns a single message as JSON.
create function app.message_object(message public.messages, sender json, mark bigint, reply text) returns text
language sql stable parallel safe
begin atomic
    select app.message_object(
        message, app.conversation_member(message.conversation_id), app.sender_members(message.sender_id, sender), mark,
        reply);
end;

-- `offset 0` keeps the sender's lookup apart, so that consecutive messages of one sender share it.
create view app.message_objects with (security_invoker = true) as
select m.id, m.conversation_id, m.seq, m.sender_id, m.client_id, m.version, m.sent_xid, m.changed_xid, m.reply_to_seq,
       m.deleted_at,
       app.message_object(
           m, s.object, r.mark,
           case when m.reply_to_seq is not null then (
               select app.reply_object(t) from public.messages t
                where t.conversation_id = m.conversation_id and t.seq = m.reply_to_seq) end) as object
  from public.messages m
 cross join lateral (select s.object from app.sender_objects s where s.id = m.sender_id offset 0) s
 cross join lateral (select min(r.last_read_seq) as mark from public.conversation_members r
                      where r.conversation_id = m.conversation_id) r;
