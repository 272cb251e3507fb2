-- Device pushes about reactions, for the senders of messages who turned them on (`preferences.notify_reactions`). They
-- go with the pushes of messages (push.sql), by the same node, but wait in a table of their own: a message is not
-- delayed by them, and they leave the device's notification of a message in place.

-- Queues pushes about the reactions of transactions from `beyond` on, or in `open`.
create or replace function app.queue_reaction_pushes(beyond xid8, open xid8[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
begin
    insert into app.reaction_pushes as p (device_id, conversation_id, seq, user_id, emoji, noted_at, due_at)
    select distinct on (d.id, r.conversation_id)
           d.id, r.conversation_id, r.seq, r.user_id, r.emoji, pg_catalog.clock_timestamp(),
           pg_catalog.clock_timestamp() + interval '2 seconds'
      from (select t.* from public.message_reactions t where t.changed_xid >= beyond
            union all
            select t.* from public.message_reactions t where t.changed_xid = any (open)) r
      join public.messages m on m.conversation_id = r.conversation_id and m.seq = r.seq
      join public.user_private s on s.id = m.sender_id and s.preferences -> 'notify_reactions' = 'true'
      join app.devices d on d.user_id = m.sender_id
     where r.is_set and r.user_id <> m.sender_id and r.created_at > pg_catalog.now() - interval '1 day'
     order by d.id, r.conversation_id, r.created_at desc
    on conflict on constraint reaction_pushes_pkey do update
       set seq = excluded.seq, user_id = excluded.user_id, emoji = excluded.emoji, noted_at = excluded.noted_at,
           -- One that the provider has refused for now waits at most a minute.
           due_at = case when p.attempts > 1
                         then least(p.due_at, pg_catalog.clock_timestamp() + interval '1 minute')
                         else excluded.due_at end
     where row(p.seq, p.user_id, p.emoji) is distinct from row(excluded.seq, excluded.user_id, excluded.emoji);
end
$$;

-- Claims at most `most` due pushes about reactions, in the columns of app.claim_pushes, with the kinds `reaction` and
-- `late`. `seq`, `message_kind` and `content` are of the message, and `sender_id` is the user who reacted. `emoji` is
-- null unless `with_text`. Each is due again in a minute.
create or replace function app.claim_reaction_pushes(most integer, with_text boolean) returns table (
    kind text, device_id uuid, conversation_id uuid, seq bigint, user_id uuid, platform text, token text,
    environment text, locale text, sender_id uuid, sender_name text, title text, message_kind text, content text,
    badge bigint, attempts integer, emoji text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
#variable_conflict use_column
begin
    return query
    with due as materialized (
        select p.ctid as place, p.* from app.reaction_pushes p where p.due_at <= pg_catalog.clock_timestamp()
         order by p.due_at limit most for update skip locked),
    judged as materialized (
        select q.*, d.user_id as receiver_id, d.platform, d.token, d.environment, d.locale, t.message_kind, t.content,
               -- As in app.claim_pushes. The notification of a reaction that is taken back stays.
               case when t.message_kind is null then 'forget'
                    when q.noted_at < pg_catalog.now() - interval '1 day' then 'late'
                    when not exists (select from app.node_users o where o.user_id = d.user_id) then 'reaction'
                    when q.noted_at > pg_catalog.clock_timestamp() - interval '8 seconds' then 'wait'
                    else 'forget' end as verdict
          from due q
          left join app.devices d on d.id = q.device_id
          left join lateral (
                select app.pushed_kind(m) as message_kind, app.pushed_text(m) as content
                  from public.messages m
                  join public.message_reactions r
                    on r.conversation_id = m.conversation_id and r.seq = m.seq and r.user_id = q.user_id
                   and r.emoji = q.emoji and r.is_set
                  join public.conversation_members o
                    on o.conversation_id = m.conversation_id and o.user_id = m.sender_id and not o.is_deleted
                  join public.user_private s
                    on s.id = m.sender_id and s.preferences -> 'notify_reactions' = 'true'
                 where m.conversation_id = q.conversation_id and m.seq = q.seq and m.sender_id = d.user_id
                   and m.deleted_at is null and not app.is_blocked(m.sender_id, q.user_id)
                   and not exists (select from public.conversation_mutes x
                                    where x.conversation_id = m.conversation_id and x.user_id = m.sender_id
                                      and x.muted_until > pg_catalog.now())) t on true),
    forgotten as (
        delete from app.reaction_pushes p
         where p.ctid = any (array(select j.place from judged j where j.verdict in ('forget', 'late')))),
    kept as (
        update app.reaction_pushes p
           set due_at = case j.verdict when 'wait' then j.noted_at + interval '8 seconds'
                                       else pg_catalog.clock_timestamp() + interval '1 minute' end,
               attempts = p.attempts + (j.verdict = 'reaction')::integer
          from judged j
         where p.ctid = any (array(select k.place from judged k where k.verdict in ('wait', 'reaction')))
           and j.place = p.ctid)
    select j.verdict, j.device_id, j.conversation_id, j.seq, j.receiver_id, j.platform, j.token, j.environment,
           j.locale, j.user_id, coalesce(s.full_name, s.username)::text, c.title::text, j.message_kind,
           case when with_text then j.content end, b.badge, j.attempts, case when with_text then j.emoji end
      from judged j
      join public.conversations c on c.id = j.conversation_id
     cross join lateral app.push_badge(j.receiver_id) b
      left join public.user_profiles s on s.id = j.user_id and not s.is_deleted
     where j.verdict in ('reaction', 'late');
end
$$;

-- Records the providers' responses to pushes about reactions, by the outcomes of app.record_push_results. A push that
-- is about another reaction by now stays.
create or replace function app.record_reaction_push_results(
    device_ids uuid[], conversation_ids uuid[], seqs bigint[], user_ids uuid[], outcomes text[],
    retry_seconds double precision[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
    with said as materialized (
        select p.ctid as place, p.device_id, p.due_at, u.outcome, u.retry
          from unnest(device_ids, conversation_ids, seqs, user_ids, outcomes, retry_seconds)
               as u (device_id, conversation_id, seq, user_id, outcome, retry)
         cross join lateral (
                select q.ctid, q.* from app.reaction_pushes q
                 where q.device_id = u.device_id and q.conversation_id = u.conversation_id and q.seq = u.seq
                   and q.user_id = u.user_id
                   for update skip locked) p),
    delayed as (
        update app.reaction_pushes p set due_at = pg_catalog.clock_timestamp() + s.retry * interval '1 second'
          from said s where p.ctid = s.place and s.outcome = 'later'),
    settled as (
        delete from app.reaction_pushes p
         where p.ctid = any (array(select s.place from said s where s.outcome <> 'later')))
    delete from app.devices d
     where d.id in (select s.device_id from said s
                     where s.outcome = 'unregistered' and d.registered_at <= s.due_at - interval '1 minute');
end
$$;
