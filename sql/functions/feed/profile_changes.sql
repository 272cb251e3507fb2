-- Changed profiles.

-- Returns the deleted users, whose sessions end: kind `deleted`. Inlined into the calling statement.
create or replace function feed.read_deleted(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language sql stable
begin atomic
    select 'deleted', p.changed_xid::text, null::uuid, p.id, null::bigint, null::uuid[], null::text, null::text,
           null::bigint[]
      from feed.changed_profiles(read_deleted.lows, read_deleted.highs) p
     where p.is_deleted;
end;

-- Returns the profiles of users who joined, wrote and left since: kind `profile`. The members get their messages, and
-- no row about the joining.
create or replace function feed.read_leaver_profiles(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'profile', f.joined_xid::text, null::uuid, f.user_id, null::bigint, array[f.conversation_id],
           o.object::text, null::text, null::bigint[]
      from feed.changed_former_members(lows, highs) f
      join app.profile_objects o on o.id = f.user_id
     where f.wrote and not pg_catalog.pg_visible_in_snapshot(f.joined_xid, since);
end
$$;

-- Returns changed profiles: kind `me` for the user, and `profile` for the other members of the user's conversations and
-- of those in which the user wrote and that it left.
create or replace function feed.read_profiles(since pg_snapshot, lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    -- One statement, since one of the two objects contains the other, and starting a statement is most of the cost.
    return query
    with changed as materialized (
        select o.*
          from unnest(lows, highs) as s (low, high)
          cross join lateral (select * from app.me_objects t
                               where t.changed_xid >= s.low and t.changed_xid < s.high offset 0) o)
    select 'me', c.changed_xid::text, null::uuid, c.id, null::bigint, null::uuid[], c.object::text, null::text,
           null::bigint[]
      from changed c
    union all
    select 'profile', c.public_changed_xid::text, null::uuid, c.id, null::bigint, array(
               select m.conversation_id from public.conversation_members m where m.user_id = c.id
               union all
               select f.conversation_id from app.former_members f where f.user_id = c.id and f.wrote),
           c.profile::text, null::text, null::bigint[]
      from changed c
     where not pg_catalog.pg_visible_in_snapshot(c.public_changed_xid, since);
end
$$;
