-- Reports of messages and users, and what moderators do about them.
--
-- No role reads app.reports but through these functions, which run as the owner and check the caller: a reporter gets
-- an id, a moderator the queue. A report changes no row that a client is told of, so that the reported user learns
-- nothing. A moderator's actions check app.is_moderator themselves; no policy is wider for moderators.

-- Returns true if the caller is a moderator.
create or replace function app.is_moderator() returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (
        select from public.user_private s
          join public.user_profiles p on p.id = s.id and not p.is_deleted
          join auth.users u on u.id = s.id and not app.is_banned(u)
         where s.id = auth.uid() and s.is_moderator);
end
$$;

-- Returns the caller's id, or raises forbidden if it is no moderator.
create or replace function app.moderator() returns uuid
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
begin
    if not app.is_moderator() then
        perform app.refuse_forbidden('Only moderators can do this.');
    end if;
    return me;
end
$$;

-- Returns the most reports of one reporter that are not closed.
create or replace function app.max_reports() returns integer
language sql immutable parallel safe
begin atomic
    select 50;
end;

-- Returns a message as evidence: as its members see it, with the text so far if it streams.
create or replace function app.evidence_of_message(message public.messages) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    object jsonb := (
        select o.object from app.message_objects o
         where o.conversation_id = message.conversation_id and o.seq = message.seq);
begin
    if app.is_streaming(message.conversation_id, message.seq) then
        object := object || pg_catalog.jsonb_build_object(
            'content', app.stream_text(message.conversation_id, message.seq));
    end if;
    return object;
end
$$;

-- Returns a text that a person wrote as a remark, trimmed; null if it is blank. Raises invalid_params.
create or replace function app.checked_comment(comment text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if pg_catalog.char_length(comment) > 1000 then
        perform app.refuse_param('comment', '"comment" must be at most 1000 characters long.');
    end if;
    return nullif(pg_catalog.btrim(comment, E' \t\n\r'), '');
end
$$;

-- Reports a message that the caller sees, or else a user, and returns the report's id. If the caller has reported the
-- same before and the report is not closed, returns that one's id: its evidence stays as it is, and while no moderator
-- has it in review, its reason and comment are replaced.
create or replace function app.create_report(
    conversation_id uuid, seq bigint, user_id uuid, reason text, comment text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    me uuid := app.caller();
    message public.messages;
    reported uuid := user_id;
    pending integer;
    present app.reports;
    made uuid;
begin
    comment := app.checked_comment(comment);
    if not coalesce(reason in ('spam', 'abuse', 'sexual', 'violence', 'illegal', 'other'), false) then
        perform app.refuse_param('reason', '"reason" must be spam, abuse, sexual, violence, illegal or other.');
    elsif (conversation_id is null) = (user_id is null) then
        perform app.refuse_param('user_id', 'Give "conversation_id" and "seq", or "user_id".');
    elsif (conversation_id is null) <> (seq is null) then
        perform app.refuse_param('seq', '"seq" belongs to "conversation_id": give both, or "user_id".');
    elsif conversation_id is not null then
        -- As the policy of messages.
        select m.* into message from public.messages m
         where m.conversation_id = create_report.conversation_id and m.seq = create_report.seq
           and m.conversation_id = any (array(select app.my_conversations()));
        if message.id is null then
            perform app.refuse_hidden('There is no such message.');
        end if;
        reported := message.sender_id;
    elsif not exists (select from public.user_profiles p where p.id = reported and not p.is_deleted) then
        perform app.refuse_hidden('There is no such user.');
    end if;
    if reported = me then
        perform app.refuse_forbidden('You cannot report yourself.');
    end if;
    -- Serializes the reports of one user, so that they are counted, and the second of two equal ones finds the first.
    perform 1 from public.user_profiles p where p.id = me and not p.is_deleted for no key update;
    if not found then
        perform app.refuse_hidden('There is no such user.');
    end if;
    select r.* into present from app.reports r
     where r.reporter_id = me and r.state <> 'closed' and r.reported_id = reported
       and r.message_id is not distinct from message.id
     order by r.created_at, r.id limit 1;
    if present.id is not null then
        update app.reports r
           set reason = create_report.reason, comment = coalesce(create_report.comment, r.comment)
         where r.id = present.id and r.state = 'open'
           and row(r.reason, r.comment)
               is distinct from row(create_report.reason, coalesce(create_report.comment, r.comment));
        return present.id;
    end if;
    select count(*) into pending from app.reports r where r.reporter_id = me and r.state <> 'closed';
    if pending >= app.max_reports() then
        perform app.refuse_forbidden(pg_catalog.format(
            'You have %s open reports. Wait until a moderator has closed one.', app.max_reports()));
    end if;
    insert into app.reports (reporter_id, reported_id, message_id, conversation_id, seq, reason, comment, evidence)
    values (me, reported, message.id, message.conversation_id, message.seq, reason, comment,
            pg_catalog.jsonb_build_object(
                'message', case when message.id is not null then app.evidence_of_message(message) end,
                'before', coalesce((
                    select pg_catalog.jsonb_agg(app.evidence_of_message(b.m) order by (b.m).seq)
                      from (select m from public.messages m
                             where m.conversation_id = message.conversation_id and m.seq < message.seq
                             order by m.seq desc limit 10) b), '[]'),
                'reporter', (select o.object from app.profile_objects o where o.id = me),
                'reported', (select o.object from app.profile_objects o where o.id = reported)))
    returning id into made;
    return made;
end
$$;

-- Returns a report as an object, without its evidence. The message is where it is now.
create or replace function app.report_object(report app.reports) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    message public.messages;
begin
    if report.message_id is not null then
        select m.* into message from public.messages m where m.id = report.message_id;
    end if;
    return (
        select pg_catalog.row_to_json(w) from (select
            report.id, report.state, report.reason, report.comment,
            report.reporter_id, report.reported_id,
            (select o.object from app.sender_objects o where o.id = report.reporter_id) as reporter,
            (select o.object from app.sender_objects o where o.id = report.reported_id) as reported,
            coalesce(message.conversation_id, report.conversation_id) as conversation_id,
            coalesce(message.seq, report.seq) as seq,
            report.moderator_id, report.outcome, report.resolution,
            greatest(0, pg_catalog.floor(extract(epoch from
                coalesce(report.closed_at, pg_catalog.now()) - report.created_at)))::bigint as age_seconds,
            app.utc(report.created_at) as created_at, app.utc(report.closed_at) as closed_at) w);
end
$$;

-- Returns a report with its evidence, which is null once it is deleted.
create or replace function app.report_with_evidence(report app.reports) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (pg_catalog.rtrim(app.report_object(report)::text, '}') || ',"evidence":'
        || coalesce(report.evidence::text, 'null') || '}')::json;
end
$$;

-- Returns a page of the reports that are not closed, or of those of one state: the oldest first, closed ones the newest
-- first. Without those of the caller itself.
create or replace function app.report_page(state text, max_results integer, after text) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    is_closed boolean := coalesce(state = 'closed', false);
    after_time timestamptz := case when is_closed then 'infinity' else '-infinity' end;
    after_id uuid := '00000000-0000-0000-0000-000000000000';
    ids uuid[];
begin
    if state not in ('open', 'in_review', 'closed') then
        perform app.refuse_param('state', '"state" must be open, in_review or closed.');
    elsif not coalesce(max_results between 1 and 50, false) then
        perform app.refuse_param('limit', '"limit" must be 1 to 50.');
    elsif after is not null then
        select p.created_at, p.id into after_time, after_id from app.parsed_position('after', after) p;
    end if;
    if is_closed then
        ids := array(
            select r.id from app.reports r
             where r.state = 'closed' and (r.created_at, r.id) < (after_time, after_id)
               and r.reported_id is distinct from auth.uid()
             order by r.created_at desc, r.id desc limit max_results);
    else
        ids := array(
            select r.id from app.reports r
             where r.state <> 'closed' and r.state = coalesce(report_page.state, r.state)
               and (r.created_at, r.id) > (after_time, after_id) and r.reported_id is distinct from auth.uid()
             order by r.created_at, r.id limit max_results);
    end if;
    return pg_catalog.json_build_object(
        'reports', coalesce((
            select pg_catalog.json_agg(app.report_object(r) order by i.place)
              from unnest(ids) with ordinality i (id, place) join app.reports r on r.id = i.id), '[]'),
        'next', case when pg_catalog.cardinality(ids) = max_results then (
            select app.page_position(r.created_at, r.id)
              from app.reports r where r.id = ids[max_results]) end);
end
$$;

-- Deletes the evidence and the remarks of some reports that were closed before the retention time, and gives up telling
-- the webhook of those that are a day old. Returns the number of rows, which is 0 once nothing is left to do.
create or replace function app.prune_reports(retention_days integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    erased integer;
    abandoned integer;
begin
    update app.reports r set evidence = null, comment = null, resolution = null
     where r.id in (
            select e.id from app.reports e
             where e.evidence is not null and e.state = 'closed'
               and e.closed_at < pg_catalog.now() - retention_days * interval '1 day'
             order by e.closed_at limit 100 for update skip locked);
    get diagnostics erased = row_count;
    update app.reports r set notify_at = null
     where r.id in (
            select e.id from app.reports e
             where e.notify_at is not null and e.created_at < pg_catalog.now() - interval '1 day'
             limit 100 for update skip locked);
    get diagnostics abandoned = row_count;
    return erased + abandoned;
end
$$;

-- Returns the number of reports that are not closed, at most 10,000, and the age of the oldest in seconds.
create or replace function app.report_counts(out pending bigint, out oldest_seconds double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select count(*), coalesce(extract(epoch from pg_catalog.now() - min(r.created_at)), 0)
      from (select o.created_at from app.reports o where o.state <> 'closed' order by o.created_at, o.id limit 10000) r
$$;

-- Returns new reports that the webhook has to be told of, at most `most`, if `node` leads. Each is due again after a
-- minute, in case the node stops: it is told at least once. The message's and the users' ids are told, and no content.
create or replace function app.claim_reports(node uuid, most integer)
returns table (
    id uuid, reason text, reporter_id uuid, reported_id uuid, conversation_id uuid, seq bigint, created_at text,
    attempts integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not app.acquire_lease('reports', node, 5) then
        return;
    end if;
    return query
        update app.reports r
           set notify_at = pg_catalog.clock_timestamp() + interval '1 minute', notify_attempts = r.notify_attempts + 1
         where r.id in (
                select d.id from app.reports d
                 where d.notify_at <= pg_catalog.clock_timestamp()
                   and d.created_at >= pg_catalog.now() - interval '1 day'
                 order by d.notify_at limit most for update skip locked)
        returning r.id, r.reason, r.reporter_id, r.reported_id, r.conversation_id, r.seq, app.utc(r.created_at),
                  r.notify_attempts - 1;
end
$$;

-- Records that the webhook was told of reports, or refused them (a null), or is to be told after that many seconds.
create or replace function app.record_report_results(ids uuid[], retries double precision[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update app.reports r set notify_at = pg_catalog.clock_timestamp() + o.seconds * interval '1 second'
      from unnest(ids, retries) o (id, seconds)
     where r.id = o.id and r.notify_at is not null
$$;

-- Removes what a deleted user wrote and was in its reports. Evidence against a deleted user stays until its time.
create or replace function app.erase_reports(user_id uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update app.reports r set comment = null, evidence = r.evidence - 'reporter'
     where r.reporter_id = erase_reports.user_id and (r.comment is not null or r.evidence ? 'reporter');
    update public.user_private s set is_moderator = false where s.id = erase_reports.user_id and s.is_moderator
$$;

-- Makes the reports by and about a guest the account's. Those of the two about each other are deleted with it.
create or replace function app.merge_reports(guest uuid, account uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from app.reports r
     where r.reporter_id in (guest, account) and r.reported_id in (guest, account);
    update app.reports r set reporter_id = account where r.reporter_id = guest;
    update app.reports r set reported_id = account where r.reported_id = guest
$$;
