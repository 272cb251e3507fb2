-- Until when each of these members has muted the conversation, in microseconds since 1970; 0: not at all.
create or replace function feed.mutes(conversation_id uuid, members uuid[]) returns bigint[]
language sql stable set search_path = '' as $$
    select array(
        select coalesce((extract(epoch from x.muted_until) * 1000000)::bigint, 0)
          from unnest(members) with ordinality as m (id, place)
          left join public.conversation_mutes x on x.conversation_id = mutes.conversation_id and x.user_id = m.id
         order by m.place)
$$;

-- What a look finds of mutes, in the columns of feed.look and as it finds it:
--
--   own_conversation  `object` is the conversation as `user_id` sees it, for that user alone
--   many              there is more than a look tells
create or replace function feed.look_for_mutes(since pg_snapshot) returns table (
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
    most_mutes constant integer := 1000;
    changes integer;
begin
    select count(*) into changes from (
        select from public.conversation_mutes t where t.changed_xid >= beyond and t.changed_xid < bound
        union all select from public.conversation_mutes t where t.changed_xid = any(open)
        limit most_mutes + 1) n;
    if changes > most_mutes then
        return query select 'many', null::text, null::uuid, null::uuid, null::bigint, null::uuid[], null::text,
                            null::text, null::bigint[];
    elsif changes > 0 then
        return query
        select 'own_conversation', x.changed_xid::text, o.id, o.user_id, null::bigint, null::uuid[], o.object,
               null::text, null::bigint[]
          from public.conversation_mutes x
          join app.conversation_objects o on o.id = x.conversation_id and o.user_id = x.user_id
         where x.changed_xid >= beyond and x.changed_xid < bound
        union all
        select 'own_conversation', x.changed_xid::text, o.id, o.user_id, null::bigint, null::uuid[], o.object,
               null::text, null::bigint[]
          from public.conversation_mutes x
          join app.conversation_objects o on o.id = x.conversation_id and o.user_id = x.user_id
         where x.changed_xid = any(open);
    end if;
end
$$;
