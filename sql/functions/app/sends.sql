-- Functions of an earlier version.
drop function if exists app.send_messages(uuid[], uuid[], text[], uuid[]);
drop function if exists app.number_messages(uuid[], uuid[], text[], uuid[]);

-- Numbers messages of several senders as a set, with the lock order and rules of app.number_message. Each is a text
-- without attachment. `mentions` has the text of an array for each; `reply` of the result is the app.reply_object
-- of the message that it answers. An array of details is null if no message has any.
--
-- Returns the messages that can be written now, with their positions from 1. It leaves out, unchanged, those of senders
-- who are not members or may not write, with a repeated client_id, with an invalid text or details, with a
-- word of the filter, or in a conversation that another transaction has locked: these are sent singly, and get their
-- error there. So no message waits for a conversation or fails because of another's. If a text waits for a
-- conversation, or for the filter, later texts of the same sender wait too, so that they take effect in order.
create or replace function app.number_messages(
    senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[], mentions text[],
    everyone boolean[], data text[]) returns table (
    place bigint, id uuid, conversation_id uuid, seq bigint, sender_id uuid, client_id uuid, content text,
    created_at timestamptz, is_alone boolean, reply_to_seq bigint, mentioned uuid[], mentions_everyone boolean,
    app_data jsonb, reply text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan rows 16 as $$
declare
    xid xid8 := pg_catalog.pg_current_xact_id();
    locked uuid[] := array(
        select c.id from public.conversations c where c.id = any (conversations)
         order by c.id for no key update skip locked);
    held uuid[];
    caught bigint[];
begin
    if exists (select from app.filter_rules) then
        caught := array(
            select t.place from unnest(contents) with ordinality t (content, place)
             where app.filter_action('messages', t.content) is not null);
    end if;
    if exists (select from app.expired_sends) then
        caught := coalesce(caught, '{}') || array(
            select s.place
              from unnest(senders, conversations, client_ids) with ordinality
                       as s (sender_id, conversation_id, client_id, place)
             where app.is_expired_send(s.conversation_id, s.sender_id, s.client_id));
    end if;
    if (select count(distinct c) from pg_catalog.unnest(conversations) c) > pg_catalog.cardinality(locked) then
        held := array(
            select c.id from public.conversations c where c.id = any (conversations) and c.id <> all (locked));
    end if;
    -- A separate statement, which sees everything that was committed before the locks were taken.
    return query
    with fit as (
        select s.place, s.sender_id, s.conversation_id, s.content, s.client_id, s.reply_to_seq, s.mentions, s.everyone,
               s.data,
               row_number() over (partition by s.conversation_id, s.sender_id, s.client_id order by s.place) as time
          from unnest(senders, conversations, contents, client_ids, replies, mentions, everyone, data) with ordinality
                   as s (sender_id, conversation_id, content, client_id, reply_to_seq, mentions, everyone, data, place)
          join public.conversation_members m
            on m.conversation_id = s.conversation_id and m.user_id = s.sender_id and not m.is_deleted
           and not m.is_blocked
         where s.conversation_id = any (locked)
           and (held is null or not exists (
                select from unnest(senders, conversations) with ordinality as e (sender_id, conversation_id, place)
                 where e.sender_id = s.sender_id and e.place < s.place and e.conversation_id = any (held)))
           and (caught is null or not exists (
                select from unnest(senders) with ordinality as e (sender_id, place)
                 where e.sender_id = s.sender_id and e.place <= s.place and e.place = any (caught)))
           and pg_catalog.char_length(s.content) between 1 and app.max_message_characters()
           and (s.reply_to_seq is null or (
                select s.reply_to_seq between c.first_seq and c.last_seq
                  from public.conversations c where c.id = s.conversation_id))
           and (s.everyone is not true or app.may_mention_everyone(s.conversation_id, s.sender_id))
           and (s.data is null or app.data_error(s.data::jsonb) is null)
           and (s.client_id is null or not exists (
                select from public.messages o
                 where o.conversation_id = s.conversation_id and o.sender_id = s.sender_id
                   and o.client_id = s.client_id))),
    sends as (
        select f.*, row_number() over (partition by f.conversation_id order by f.place) as number
          from fit f where f.time = 1 or f.client_id is null),
    rooms as (
        update public.conversations c
           set last_seq = c.last_seq + n.number,
               last_message_content = pg_catalog.left(n.content, app.preview_characters()),
               -- Leaves room for all these times after the previous message, also if the clock was set back.
               last_message_time = greatest(
                   pg_catalog.clock_timestamp(), c.last_message_time + n.number * interval '1 microsecond'),
               last_message_sender_id = n.sender_id,
               last_message_xid = xid
          from (select distinct on (s.conversation_id) s.conversation_id, s.number, s.content, s.sender_id
                  from sends s order by s.conversation_id, s.number desc) n
         where c.id = n.conversation_id
        returning c.id, c.kind, c.last_seq, n.number, c.last_message_time),
    numbered as materialized (
        select s.place, s.conversation_id, r.kind, r.last_seq - r.number + s.number as seq, s.sender_id, s.client_id,
               s.content,
               -- Times increase with the numbers.
               r.last_message_time - (r.number - s.number) * interval '1 microsecond' as created_at,
               s.reply_to_seq, s.mentions, s.everyone, s.data
          from sends s join rooms r on r.id = s.conversation_id),
    marks as (
        update public.conversation_members m
           set last_read_seq = n.seq, sent_seq = n.seq, sent_xid = xid
          from (select distinct on (w.conversation_id, w.sender_id) w.conversation_id, w.sender_id, w.seq
                  from numbered w order by w.conversation_id, w.sender_id, w.seq desc) n
         where m.conversation_id = n.conversation_id and m.user_id = n.sender_id)
    select w.place, app.message_id(), w.conversation_id, w.seq, w.sender_id, w.client_id, w.content,
           w.created_at,
           w.kind = 'group' and not exists (
                select from public.conversation_members o
                 where o.conversation_id = w.conversation_id and o.user_id <> w.sender_id),
           w.reply_to_seq,
           case when w.mentions is not null then app.mentioned_members(w.conversation_id, w.mentions::uuid[]) end,
           nullif(w.everyone, false), w.data::jsonb,
           case when w.reply_to_seq is not null then app.reply_of(w.conversation_id, w.reply_to_seq) end
      from numbered w;
end
$$;

-- Returns the app.reply_object of a message, whoever calls.
create or replace function app.reply_of(conversation_id uuid, seq bigint) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return (select app.reply_object(t) from public.messages t
             where t.conversation_id = reply_of.conversation_id and t.seq = reply_of.seq);
end
$$;

-- Sends texts of several users in one transaction, as api.send_message sends one, and returns position and response of
-- each. Texts without a response were not sent, and must be sent singly (app.number_messages).
--
-- Nodes call it and name the senders; the role postline_sender can write only for members.
create or replace function app.send_messages(
    senders uuid[], conversations uuid[], contents text[], client_ids uuid[], replies bigint[] default null,
    mentions text[] default null, everyone boolean[] default null, data text[] default null)
    returns table (place bigint, object text)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off rows 16 as $$
begin
    return query
    with numbered as materialized (
        select n.*
          from app.number_messages(
                   senders, conversations, contents, client_ids, replies, mentions, everyone, data) n),
    written as (
        insert into public.messages (
            id, conversation_id, seq, sender_id, client_id, content, created_at, reply_to_seq, mentions,
            mentions_everyone, data)
        select n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, n.content, n.created_at, n.reply_to_seq,
               n.mentioned, n.mentions_everyone, n.app_data
          from numbered n)
    select n.place, app.message_object(
               row(n.id, n.conversation_id, n.seq, n.sender_id, n.client_id, 'text', n.content, null, 1, null, null,
                   n.created_at, null, null, null, null, n.reply_to_seq, n.mentioned, n.mentions_everyone,
                   n.app_data)::public.messages,
               s.object, case when n.is_alone then n.seq else 0 end, n.reply)
      from numbered n
     cross join lateral (select o.object from app.sender_objects o where o.id = n.sender_id offset 0) s;
end
$$;
