-- Pushes that wait. Tokens of devices are not returned.

-- Returns one row for each waiting push, about messages or a reaction. It is inlined into the calling statement.
create or replace function admin.waiting_pushes() returns table (
    device_id uuid, conversation_id uuid, seq bigint, attempts integer, noted_at timestamptz, due_at timestamptz)
language sql stable
begin atomic
    select w.device_id, w.conversation_id, w.seq, w.attempts, w.noted_at, w.due_at
      from app.pushes w where w.due_at is not null
    union all
    select r.device_id, r.conversation_id, r.seq, r.attempts, r.noted_at, r.due_at from app.reaction_pushes r;
end;

-- Returns the oldest waiting pushes, and their total.
create or replace function admin.pushes(most integer) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('pushes', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'device_id', l.device_id, 'platform', d.platform, 'user_id', d.user_id, 'username', p.username,
                   'conversation_id', l.conversation_id, 'seq', l.seq, 'attempts', l.attempts,
                   'noted_at', app.utc(l.noted_at), 'due_at', app.utc(l.due_at))
                   order by l.noted_at, l.device_id, l.conversation_id)
          from (select w.* from admin.waiting_pushes() w
                 order by w.noted_at, w.device_id, w.conversation_id limit most) l
          join app.devices d on d.id = l.device_id
          left join public.user_profiles p on p.id = d.user_id), '[]'),
        'total', (select count(*) from admin.waiting_pushes()));
end
$$;

-- Makes the waiting pushes of a device, or of all, due now with no attempts, and returns how many: at most two per
-- device and conversation, about messages and about a reaction. A push that is just being sent may arrive twice.
create or replace function admin.retry_pushes(operator text, device text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    one uuid := case when device is not null then admin.checked_id(device, 'device') end;
    whom uuid := (select d.user_id from app.devices d where d.id = one);
    retried integer;
    reactions integer;
begin
    if one is not null and whom is null then
        raise exception using errcode = 'PA002', message = 'There is no such device.';
    end if;
    update app.pushes p set due_at = pg_catalog.clock_timestamp(), attempts = 0
     where p.due_at is not null and (one is null or p.device_id = one);
    get diagnostics retried = row_count;
    update app.reaction_pushes p set due_at = pg_catalog.clock_timestamp(), attempts = 0
     where one is null or p.device_id = one;
    get diagnostics reactions = row_count;
    retried := retried + reactions;
    perform admin.record_action(operator, 'retry-push', whom, pg_catalog.jsonb_build_object(
        'device', one, 'retried', retried));
    return pg_catalog.json_build_object('retried', retried);
end
$$;
