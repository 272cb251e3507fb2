-- Returns those of these users for whom anything may have changed since a snapshot, so that sync.open would return
-- changes. For the others nothing has changed.
--
-- The feed calls it for live users after a poll that exceeded its bounds. It reads each user's data up to the first
-- change, so that the cost depends on the users and not on the number of changes. Users in more than
-- `most_conversations` are returned without a look, and those whose conversations have more than `most_rows` members or
-- former members, or who have left as many: they resync, which costs no more than the look. Without these bounds the
-- look at a user in 900 groups of 256 members took a second.
--
-- `offset 0` makes it read from the user's memberships to their conversations and members, never the other way.
create or replace function feed.users_with_changes(since pg_snapshot, users uuid[]) returns setof uuid
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    most_conversations constant integer := 256;
    most_rows constant integer := 512;
begin
    return query
    select u.id
      from unnest(users) as u (id)
     where exists (select from public.conversation_members m where m.user_id = u.id offset most_conversations)
        or exists (select from app.former_members f where f.user_id = u.id offset most_rows)
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select from public.conversation_members o where o.conversation_id = m.conversation_id offset 0) o
             where m.user_id = u.id offset most_rows)
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select from app.former_members f where f.conversation_id = m.conversation_id offset 0) f
             where m.user_id = u.id offset most_rows)
        or exists (
            select from public.user_profiles p
             where p.id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since))
        or exists (
            select from app.former_members f
             where f.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(f.changed_xid, since))
        -- last_message_xid changes with each message that is sent, edited or deleted.
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select c.changed_xid, c.last_message_xid from public.conversations c
                 where c.id = m.conversation_id offset 0) c
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(m.joined_xid, since)
                        and pg_catalog.pg_visible_in_snapshot(c.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(c.last_message_xid, since), true)))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select r.changed_xid from public.reaction_counts r
                 where r.conversation_id = m.conversation_id
                   and r.changed_xid >= pg_catalog.pg_snapshot_xmin(since) offset 0) r
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(r.changed_xid, since))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select d.changed_xid from public.delivered_marks d
                 where d.conversation_id = m.conversation_id and d.user_id <> u.id offset 0) d
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(d.changed_xid, since))
        or exists (
            select from public.conversation_members m
              join app.message_streams s on s.conversation_id = m.conversation_id
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(s.changed_xid, since))
        or exists (
            select from public.conversation_mutes x
             where x.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(x.changed_xid, since))
        or exists (
            select from public.presence p
             where p.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.hidden_xid, since))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select o.user_id, o.changed_xid, o.sent_xid from public.conversation_members o
                 where o.conversation_id = m.conversation_id offset 0) o
             cross join lateral (
                select p.public_changed_xid from public.user_profiles p where p.id = o.user_id offset 0) p
             where m.user_id = u.id
               and not (pg_catalog.pg_visible_in_snapshot(o.changed_xid, since)
                        and coalesce(pg_catalog.pg_visible_in_snapshot(o.sent_xid, since), true)
                        and pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since)))
        or exists (
            select from public.conversation_members m
             cross join lateral (
                select f.user_id from app.former_members f
                 where f.conversation_id = m.conversation_id and f.wrote offset 0) f
             cross join lateral (
                select p.public_changed_xid from public.user_profiles p where p.id = f.user_id offset 0) p
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.public_changed_xid, since))
        or not exists (select from public.presence p where p.user_id = u.id and p.is_hidden) and exists (
            select from public.conversation_members m
             cross join lateral (
                select o.user_id from public.conversation_members o
                 where o.conversation_id = m.conversation_id and o.user_id <> u.id offset 0) o
             cross join lateral (
                select p.changed_xid from public.presence p where p.user_id = o.user_id offset 0) p
             where m.user_id = u.id and not pg_catalog.pg_visible_in_snapshot(p.changed_xid, since));
end
$$;
