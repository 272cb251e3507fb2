-- What a look finds of presence, in the columns of feed.look and as it finds it:
--
--   behind            `user_id` has begun or ceased to hide its own presence, so that what it is shown of all others is
--                     another now. It is not told here: the user's live sessions fall behind (`sync.lagged`), and the
--                     page by which they come back says whether they are shown it (app.live_page, `sees_presence`)
--   presence          `object` is what is shown of `user_id` now, for all in the conversations of `audience`; not for
--                     the user's own sessions, nor for those of whom the page said that they see no presence
--   opening_presence  what is shown of a member of a conversation that somebody has joined, as opening_profile is; for
--                     the same receivers as that, without those who see no presence
--   many              there is more than a look tells
--
-- Whether a session sees presence holds as long as its subscription: whoever changes it falls behind. So the node need
-- not be told who hides, and no look has to ask for it.
create or replace function feed.look_for_presence(since pg_snapshot) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable strict set search_path = ''
set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_memoize = off as $$
#variable_conflict use_column
declare
    -- As in feed.look.
    beyond xid8 := pg_catalog.pg_snapshot_xmax(since);
    open xid8[] := array(
        select x from pg_catalog.pg_snapshot_xip(since) x
         where pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()));
    bound xid8 := (greatest(pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint,
                            coalesce(pg_catalog.pg_current_xact_id_if_assigned()::text::bigint + 1, 0)))::text::xid8;
    -- All who come back when a node has ended. A conversation of the audience takes 37 bytes.
    most_presence constant integer := 10000;
    most_audience constant integer := 400000;
    most_rows constant integer := 5000;
    most_entered constant integer := 250;
    changes integer;
    audience integer := 0;
    joined integer;
    entered uuid[];
begin
    select count(*) into changes from (
        select from public.presence t where t.changed_xid >= beyond and t.changed_xid < bound
        union all select from public.presence t where t.changed_xid = any(open)
        limit most_presence + 1) n;
    if changes between 1 and most_presence then
        select count(*) into audience from (
            select from public.presence t join public.conversation_members m on m.user_id = t.user_id
             where t.changed_xid >= beyond and t.changed_xid < bound
            union all
            select from public.presence t join public.conversation_members m on m.user_id = t.user_id
             where t.changed_xid = any(open)
            limit most_audience + 1) n;
    end if;
    if changes > most_presence or audience > most_audience then
        return query select 'many', null::text, null::uuid, null::uuid, null::bigint, null::uuid[], null::text,
                            null::text, null::bigint[];
        return;
    end if;

    if changes > 0 then
        return query
        select 'behind', p.hidden_xid::text, null::uuid, p.user_id, null::bigint, null::uuid[], null::text, null::text,
               null::bigint[]
          from public.presence p
         where p.changed_xid >= beyond and p.changed_xid < bound
           and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since)
        union all
        select 'behind', p.hidden_xid::text, null::uuid, p.user_id, null::bigint, null::uuid[], null::text, null::text,
               null::bigint[]
          from public.presence p
         where p.changed_xid = any(open) and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since);
        return query
        select 'presence', p.changed_xid::text, null::uuid, p.user_id, null::bigint,
               array(select m.conversation_id from public.conversation_members m where m.user_id = p.user_id),
               app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
          from public.presence p where p.changed_xid >= beyond and p.changed_xid < bound
        union all
        select 'presence', p.changed_xid::text, null::uuid, p.user_id, null::bigint,
               array(select m.conversation_id from public.conversation_members m where m.user_id = p.user_id),
               app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
          from public.presence p where p.changed_xid = any(open);
    end if;

    -- Of more than these bounds feed.look says `many`.
    select count(*), pg_catalog.array_agg(distinct n.id) into joined, entered
      from (select m.conversation_id as id from public.conversation_members m
             where m.changed_xid >= beyond and m.changed_xid < bound
               and not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
            union all
            select m.conversation_id from public.conversation_members m
             where m.changed_xid = any(open) and not pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
            limit most_rows + 1) n;
    if joined between 1 and most_rows and pg_catalog.cardinality(entered) <= most_entered then
        return query
        select 'opening_presence', null::text, m.conversation_id, p.user_id, null::bigint, null::uuid[],
               app.presence_object(p.user_id, p.is_online, p.last_seen_at), null::text, null::bigint[]
          from public.conversation_members m join public.presence p on p.user_id = m.user_id
         where m.conversation_id = any(entered)
         order by m.conversation_id, m.joined_at, m.user_id;
    end if;
end
$$;
