-- Returns those of these users for whom anything has changed since a snapshot, so that sync.open would return changes.
--
-- The feed calls it for live users after a poll that exceeded its bounds. It reads each user's data up to the first
-- change, so that the cost depends on the users and not on the number of changes.
create or replace function feed.users_with_changes(since pg_snapshot, users uuid[]) returns setof uuid
language sql stable set search_path = pg_catalog, pg_temp set jit = off as $$
    select u.id
      from unnest(users) as u (id)
     where exists (
            select from public.user_profiles p
             where p.id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))
        or exists (
            select from app.former_members f
             where f.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(f.changed_xid, since))
        -- last_message_xid changes with each message that is sent, edited or deleted.
        or exists (
            select from public.conversation_members m join public.conversations c on c.id = m.conversation_id
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
                        and pg_catalog.pg_visible_in_snapshot(c.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since), true)))
        or exists (
            select from public.conversation_members m
              join public.conversation_members o on o.conversation_id = m.conversation_id
              join public.user_profiles p on p.id = o.user_id
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(o.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(o.sent_xid, since), true)
                        and pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since)))
        or exists (
            select from public.conversation_members m
              join app.former_members f on f.conversation_id = m.conversation_id and f.wrote
              join public.user_profiles p on p.id = f.user_id
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since))
        or exists (
            select from public.conversation_mutes x
             where x.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, since))
        or exists (
            select from public.presence p
             where p.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since))
        or not exists (select from public.presence p where p.user_id = u.id and p.is_hidden) and exists (
            select from public.conversation_members m
              join public.conversation_members o
                on o.conversation_id = m.conversation_id and o.user_id <> m.user_id
              join public.presence p on p.user_id = o.user_id
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))
$$;
