-- Which of these users are concerned by anything that changed since a snapshot: what sync.open would bring them.
--
-- Asked of those who are live, where there is too much to tell. It looks from each user at what is theirs, and stops at
-- the first that is news, so that its cost is theirs and not that of what changed.
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
        -- last_message_xid moves with each message that is sent, edited or deleted.
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
