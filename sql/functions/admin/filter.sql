-- The filter of words: see sql/functions/app/filter.sql.

-- Adds a word to the filter of messages, names or titles, or of all three if `scope` is null; `hold` is for messages
-- only. An existing rule gets the action. The word `*` holds every message.
create or replace function admin.add_filter_rule(operator text, word text, scope text, action text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    folded text := case word when '*' then word else admin.filter_word(word) end;
    scopes text[] := case when scope is null and action = 'hold' then '{messages}' else admin.filter_scopes(scope) end;
begin
    if not coalesce(action in ('refuse', 'mask', 'hold'), false) then
        raise exception using errcode = 'PA001', message = 'The action must be refuse, mask or hold.';
    elsif action = 'hold' and scopes <> '{messages}' then
        raise exception using errcode = 'PA001', message = 'Only messages can be held: give --scope messages, or none.';
    elsif folded = '*' and action <> 'hold' then
        raise exception using errcode = 'PA001', message = 'The word * is every message, which can only be held.';
    end if;
    insert into app.filter_rules as f (scope, word, action)
    select s, folded, add_filter_rule.action from unnest(scopes) s
    on conflict on constraint filter_rules_pkey do update set action = excluded.action;
    perform admin.record_action(operator, 'add-filter-rule', null, pg_catalog.jsonb_build_object(
        'word', folded, 'scopes', scopes, 'action', action));
    return pg_catalog.json_build_object('word', folded, 'scopes', scopes, 'action', action);
end
$$;

-- Removes a word from the filter of a scope, or of all.
create or replace function admin.remove_filter_rule(operator text, word text, scope text) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    folded text := case word when '*' then word else admin.filter_word(word) end;
    removed integer;
begin
    delete from app.filter_rules f
     where f.word = folded and f.scope = any (admin.filter_scopes(remove_filter_rule.scope));
    get diagnostics removed = row_count;
    if removed = 0 then
        raise exception using errcode = 'PA002', message = 'The filter does not have this word.';
    end if;
    perform admin.record_action(operator, 'remove-filter-rule', null, pg_catalog.jsonb_build_object(
        'word', folded, 'removed', removed));
    return pg_catalog.json_build_object('word', folded, 'removed', removed);
end
$$;

-- Returns the rules by their words, and their total.
create or replace function admin.filter_rules(most integer) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform admin.check_limit(most);
    return pg_catalog.json_build_object('rules', coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
                   'word', r.word, 'scope', r.scope, 'action', r.action, 'created_at', app.utc(r.created_at))
                   order by r.word, r.scope)
          from (select * from app.filter_rules f order by f.word, f.scope limit most) r), '[]'),
        'total', (select count(*) from app.filter_rules));
end
$$;

-- Returns a word as rules store it, or raises PA001 unless it is one word of 2 to 50 characters.
create or replace function admin.filter_word(word text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    words text[] := app.filtered_words(word);
begin
    if pg_catalog.cardinality(words) is distinct from 1 or pg_catalog.char_length(words[1]) > 50 then
        raise exception using errcode = 'PA001',
            message = 'Give one word of 2 to 50 letters, without digits, blanks and punctuation.';
    end if;
    return words[1];
end
$$;

-- Returns the scopes of a rule, or raises PA001.
create or replace function admin.filter_scopes(scope text) returns text[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if scope not in ('messages', 'names', 'titles') then
        raise exception using errcode = 'PA001', message = 'The scope must be messages, names or titles.';
    end if;
    return case when scope is null then '{messages,names,titles}'::text[] else array[scope] end;
end
$$;

-- Returns a page of the held messages, the oldest first, and their number.
create or replace function admin.held_messages(most integer, after text) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return (app.held_page(most, after, null)::jsonb || pg_catalog.jsonb_build_object(
        'pending', (app.held_counts()).pending))::json;
exception when sqlstate 'PL001' then
    raise exception using errcode = 'PA001', message = pg_catalog.replace(sqlerrm, '"', '');
end
$$;

-- Releases or rejects a held message.
create or replace function admin.decide_held(operator text, conversation text, seq bigint, is_released boolean)
returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    conversation_id uuid := admin.checked_id(conversation, 'conversation');
    held app.held_messages := app.locked_held(conversation_id, seq);
begin
    if held.message_id is null then
        raise exception using errcode = 'PA002', message = 'There is no such held message.';
    elsif not is_released then
        perform app.reject_held(held);
    elsif not app.release_held(held) then
        raise exception using errcode = 'PA004',
            message = 'Its sender can no longer write in the conversation: reject the message.';
    end if;
    perform admin.record_action(
        operator, case when is_released then 'release-message' else 'reject-message' end, held.sender_id,
        pg_catalog.jsonb_build_object('conversation', conversation_id, 'seq', seq));
    return pg_catalog.json_build_object(
        'conversation_id', conversation_id, 'seq', seq, 'is_released', is_released,
        'sender', admin.user_object(held.sender_id, false));
end
$$;
