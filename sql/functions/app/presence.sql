-- Presence. A user is online while it has a live session on any running node.
--
-- A node reports arrivals and departures of many users in one call, at most once a second, which also renews its lease;
-- without changes the call only renews the lease. A departure is reported after a few seconds, so that a reconnect is
-- not shown. A node that stops without notice does not renew its lease, and the other nodes end it. Only the clock of
-- this database counts.
--
-- If two nodes report the same user at once, each first records where the user is, then locks the user's row in
-- public.presence, and then reads where the user is in a separate statement: the second to get the lock sees both
-- reports. A node does not wait for the lock, since another program's transaction may hold it for long and would delay
-- the presence of everyone: it records the user in app.unsettled_users, and the next call of any node tries again.

-- Returns the presence of a user as JSON.
create or replace function app.presence_object(user_id uuid, is_online boolean, last_seen_at timestamptz) returns text
language sql stable parallel safe
begin atomic
    select pg_catalog.concat(
        '{"user_id":"', user_id, case when is_online then '","is_online":true' else '","is_online":false' end,
        ',"last_seen_at":', app.quoted(app.utc(last_seen_at)), '}');
end;

-- Records a node's report: users in `arrived` have a session there now, users in `gone` have none, and users in both
-- have one. With `is_whole` the node has exactly the users who arrived.
--
-- Returns false without a change if the node is unknown: it is new, or was ended in the meantime. It then reports with
-- `is_whole`. A node whose lease has expired and that was not ended yet continues: its earlier reports still hold.
create or replace function app.report_presence(
    node uuid, lease_seconds integer, arrived uuid[], gone uuid[], is_whole boolean default false) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    lease timestamptz := pg_catalog.clock_timestamp() + lease_seconds * interval '1 second';
    changed uuid[];
begin
    if is_whole then
        insert into app.nodes as n (id, lease_until) values (node, lease)
        on conflict (id) do update set lease_until = excluded.lease_until;
    else
        update app.nodes n set lease_until = lease where n.id = node and n.lease_until > '-infinity';
        if not found then
            return false;
        end if;
    end if;
    if is_whole or arrived <> '{}' or gone <> '{}' then
        with ended as (
            delete from app.node_users u
             where u.node_id = node and (is_whole or u.user_id in (select g.id from unnest(gone) as g (id)))
               and not exists (select from unnest(arrived) as a (id) where a.id = u.user_id)
            returning u.user_id),
        begun as (
            insert into app.node_users as u (node_id, user_id)
            select node, p.id from public.user_profiles p
             where p.id in (select a.id from unnest(arrived) as a (id)) and not p.is_deleted
            on conflict do nothing
            returning u.user_id)
        select pg_catalog.array_agg(c.user_id) into changed
          from (select e.user_id from ended e union all select b.user_id from begun b) c;
    end if;
    perform app.update_presence(coalesce(changed, '{}'));
    return true;
end
$$;

-- Ends the nodes whose lease has expired, and removes their users. Every node calls it every few seconds; concurrent
-- calls end different nodes.
--
-- Returns the number of removed users, at most 5,000, so that one poll can distribute them; the next call continues. A
-- node with the lease -infinity is being ended and cannot continue.
create or replace function app.end_nodes() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    ended uuid[] := array(
        select n.id from app.nodes n where n.lease_until < pg_catalog.clock_timestamp() for update skip locked);
    users uuid[];
    taken integer;
begin
    if ended = '{}' then
        return 0;
    end if;
    with gone as (
        delete from app.node_users u
         where (u.node_id, u.user_id) in (
                select o.node_id, o.user_id from app.node_users o where o.node_id = any (ended) limit 5000)
        returning u.user_id)
    select count(*), pg_catalog.array_agg(distinct g.user_id) into taken, users from gone g;
    perform app.update_presence(coalesce(users, '{}'));
    update app.nodes n set lease_until = '-infinity'
     where n.id = any (ended) and n.lease_until > '-infinity'
       and exists (select from app.node_users u where u.node_id = n.id);
    delete from app.nodes n
     where n.id = any (ended) and not exists (select from app.node_users u where u.node_id = n.id);
    return taken;
end
$$;

-- Inserts presence rows for users without one. Skips a user whose row another transaction is inserting, such as one
-- that hides it: that transaction may last for long, and must not delay the others.
create or replace function app.create_presence_rows(users uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    former_timeout text := pg_catalog.current_setting('lock_timeout');
    one uuid;
begin
    if users = '{}' then
        return;
    end if;
    perform pg_catalog.set_config('lock_timeout', '50ms', true);
    begin
        insert into public.presence (user_id) select u.id from unnest(users) as u (id) on conflict do nothing;
    exception when lock_not_available then
        perform pg_catalog.set_config('lock_timeout', '1ms', true);
        foreach one in array users loop
            begin
                insert into public.presence (user_id) values (one) on conflict do nothing;
            exception when lock_not_available then
                null;
            end;
        end loop;
    end;
    perform pg_catalog.set_config('lock_timeout', former_timeout, true);
end
$$;

-- Updates whether these users are online, and those in app.unsettled_users. Hidden users stay as they are.
create or replace function app.update_presence(users uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    settled uuid[];
begin
    if users = '{}' and not exists (select from app.unsettled_users) then
        return;
    end if;
    with late as (
        delete from app.unsettled_users u
         where u.ctid = any (array(select l.ctid from app.unsettled_users l for update skip locked))
        returning u.user_id)
    select users || coalesce(pg_catalog.array_agg(distinct l.user_id), '{}') into users from late l;
    perform app.create_presence_rows(array(
        select distinct u.id from unnest(users) as u (id)
         where not exists (select from public.presence p where p.user_id = u.id) order by u.id));
    settled := array(
        select p.user_id from public.presence p where p.user_id in (select u.id from unnest(users) as u (id))
           for no key update skip locked);
    insert into app.unsettled_users (user_id)
    select u.id from unnest(users) as u (id)
     where not exists (select from unnest(settled) as s (id) where s.id = u.id);
    update public.presence p
       set is_online = w.is_online, changed_xid = pg_catalog.pg_current_xact_id(),
           last_seen_at = case when w.is_online then p.last_seen_at else pg_catalog.now() end
      from (select s.id, exists (select from app.node_users n where n.user_id = s.id) as is_online
              from unnest(settled) as s (id)) w
     where p.user_id = w.id and p.is_online <> w.is_online and not p.is_hidden;
end
$$;

-- Hides the user's presence: neither its state nor the time it was last seen is visible.
create or replace function app.hide_presence(user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into public.presence as p (user_id, is_hidden, hidden_xid)
    values (hide_presence.user_id, true, pg_catalog.pg_current_xact_id())
    on conflict on constraint presence_pkey do update
       set is_hidden = true, is_online = false, last_seen_at = null, changed_xid = excluded.changed_xid,
           hidden_xid = excluded.hidden_xid
     where not p.is_hidden;
end
$$;

-- Shows the user's presence again. Times at which it was online while hidden stay unknown.
create or replace function app.show_presence(user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform 1 from public.presence p where p.user_id = show_presence.user_id for no key update;
    update public.presence p
       set is_hidden = false, is_online = exists (select from app.node_users n where n.user_id = p.user_id),
           changed_xid = pg_catalog.pg_current_xact_id(), hidden_xid = pg_catalog.pg_current_xact_id()
     where p.user_id = show_presence.user_id and p.is_hidden
       and not exists (select from public.user_profiles u where u.id = p.user_id and u.is_deleted);
end
$$;

-- Hides or shows the presence by `preferences.presence`: `nobody`, or else users who share a conversation.
create or replace function app.propagate_preference() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if new.preferences ->> 'presence' = 'nobody' then
        perform app.hide_presence(new.id);
    else
        perform app.show_presence(new.id);
    end if;
    return null;
end
$$;
create or replace trigger follow_new_preference after insert on public.user_private
    for each row when (new.preferences ->> 'presence' = 'nobody') execute function app.propagate_preference();
create or replace trigger follow_preference after update on public.user_private
    for each row when (old.preferences -> 'presence' is distinct from new.preferences -> 'presence')
    execute function app.propagate_preference();

-- Returns whether the caller sees the presence of others, which it does unless it hides its own, and the transaction
-- that last changed this, or whose presence it sees (app.propagate_block).
create or replace function app.presence_visibility(out sees_others boolean, out changed_xid xid8)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
    me uuid := auth.uid();
begin
    select not p.is_hidden, p.hidden_xid into sees_others, changed_xid from public.presence p where p.user_id = me;
    sees_others := coalesce(sees_others, true);
end
$$;

-- Returns the users whose presence the caller sees: those who share a conversation, unless the caller hides its own, or
-- one of the two blocks the other. Users who hide theirs are included: their rows are empty.
create or replace function app.presence_visible_users() returns setof uuid
language plpgsql stable security definer set search_path = pg_catalog, pg_temp rows 200 as $$
begin
    if (app.presence_visibility()).sees_others then
        return query
            select distinct o.user_id from public.conversation_members o
             where o.conversation_id in (select app.my_conversations())
               and o.user_id not in (select app.blocked_users(auth.uid()));
    end if;
end
$$;
