-- Returns the cluster and database to which changed_xid values and cursors belong.
create or replace function app.cluster_identity() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select s.system_identifier::text || ':' || d.oid::text
      from pg_catalog.pg_control_system() s, pg_catalog.pg_database d
     where d.datname = pg_catalog.current_database()
$$;

-- Returns the timeline that a standby follows, as in the names of log files. The log is received before it is replayed,
-- so the timeline is never older than the data that the standby shows.
create or replace function app.standby_timeline() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select pg_catalog.lpad(pg_catalog.upper(pg_catalog.to_hex(greatest(
               (select w.received_tli from pg_catalog.pg_stat_wal_receiver w),
               (select c.timeline_id from pg_catalog.pg_control_checkpoint() c),
               (select r.min_recovery_end_timeline from pg_catalog.pg_control_recovery() r)))), 8, '0')
$$;

-- Returns the epoch, 16 hexadecimal digits. It differs whenever older cursors must not be continued: in another cluster
-- or database, on another timeline (a promoted standby may lack the last commits), with other tables (a dump restored
-- in place), and after a renewal.
--
-- The session stores cluster and database, since reading them opens a file and they cannot change.
create or replace function app.epoch() returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
    home text := pg_catalog.current_setting('postline.home', true);
begin
    if coalesce(home, '') = '' then
        home := app.cluster_identity();
        perform pg_catalog.set_config('postline.home', home, false);
    end if;
    return pg_catalog.left(pg_catalog.md5(
        home
        || ':' || pg_catalog.to_regclass('app.settings')::oid
        || ':' || case when pg_catalog.pg_is_in_recovery() then app.standby_timeline()
                       else pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) end
        || ':' || coalesce((select s.value from app.settings s where s.name = 'epoch'), '0')), 16);
end
$$;

-- Invalidates all cursors, and returns the new epoch. Transaction ids in a restored dump belong to another cluster:
-- those that this cluster has not reached yet would count as new until it does, so they become 3.
create or replace function app.renew_epoch() returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    horizon xid8 := pg_catalog.pg_current_xact_id();
begin
    insert into app.settings as s (name, value) values ('epoch', '1')
    on conflict (name) do update set value = (s.value::bigint + 1)::text;
    insert into app.settings (name, value) values ('home', app.cluster_identity())
    on conflict (name) do update set value = excluded.value;
    update public.user_profiles set changed_xid = least(changed_xid, '3'), public_changed_xid = '3'
     where changed_xid > horizon or public_changed_xid > horizon;
    update public.conversations set changed_xid = '3' where changed_xid > horizon;
    update public.conversations set last_message_xid = '3' where last_message_xid > horizon;
    update public.conversation_members set joined_xid = '3' where joined_xid > horizon;
    update public.conversation_members set changed_xid = '3' where changed_xid > horizon;
    update public.conversation_members set sent_xid = '3' where sent_xid > horizon;
    update app.former_members set changed_xid = '3' where changed_xid > horizon;
    update app.former_members set joined_xid = '3' where joined_xid > horizon;
    update public.messages set sent_xid = least(sent_xid, '3'), changed_xid = '3'
     where sent_xid > horizon or changed_xid > horizon;
    update public.conversation_mutes set changed_xid = '3' where changed_xid > horizon;
    update public.reaction_counts set changed_xid = '3' where changed_xid > horizon;
    update public.message_reactions set changed_xid = '3' where changed_xid > horizon;
    update public.delivered_marks set changed_xid = '3' where changed_xid > horizon;
    update public.message_pieces set changed_xid = '3' where changed_xid > horizon;
    update app.message_streams set changed_xid = '3' where changed_xid > horizon;
    update app.held_messages set changed_xid = '3' where changed_xid > horizon;
    update public.presence set changed_xid = '3' where changed_xid > horizon;
    update public.presence set hidden_xid = '3' where hidden_xid > horizon;
    update app.sessions set ended_xid = '3' where ended_xid > horizon;
    update app.merged_guests set merged_xid = '3' where merged_xid > horizon;
    update app.message_moves set sent_xid = '3' where sent_xid > horizon;
    return app.epoch();
end
$$;

-- Renews the epoch if the database was restored from a dump, and returns whether it was. Called after every migration.
create or replace function app.renew_epoch_after_restore() returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    known text := (select s.value from app.settings s where s.name = 'home');
begin
    if known = app.cluster_identity() then
        return false;
    end if;
    perform app.renew_epoch();
    return known is not null;
end
$$;
