-- Files: who may see and use them, and the removal of their bytes.
begin;
select no_plan();
select tests.make_world();

create function tests.removals() returns text language sql as $$
    select coalesce(string_agg(r.purpose || case when r.due_at > now() then ' later' else '' end, ', '
                               order by r.purpose, r.due_at), 'none')
      from app.media_removals r where r.purpose <> 'upload'
$$;
create function tests.upload_removal(picture uuid) returns text language sql as $$
    select string_agg(case when r.due_at = m.created_at + interval '70 minutes' then 'later' else 'other' end, ', ')
      from app.media_removals r left join public.media m on m.id = r.id where r.id = picture and r.purpose = 'upload'
$$;

-- Descriptions of uploads.
select is(tests.field_of('alice', 'select api.create_media(' || arguments || ')'), 'PL001 ' || field, arguments)
  from (values
        ('''wall'', ''image/png'', 10', 'purpose'), ('null, ''image/png'', 10', 'purpose'),
        ('''avatar'', ''image/svg+xml'', 10', 'mime_type'), ('''avatar'', ''text/html'', 10', 'mime_type'),
        ('''avatar'', null, 10', 'mime_type'), ('''avatar'', ''image/png'', 0', 'bytes'),
        ('''avatar'', ''image/png'', null', 'bytes'), ('''avatar'', ''image/png'', 10, null, 0', 'width'),
        ('''avatar'', ''image/png'', 10, null, 10, 70000', 'height'),
        ('''message'', ''image/png'', 10', 'conversation_id'),
        ('''avatar'', ''image/png'', 10, tests.id(''direct'')', 'conversation_id')) as t (arguments, field);
select is(tests.attempt('mallory', 'select api.create_media(''message'', ''image/png'', 10, tests.id(''direct''))'),
    'PL008', 'a non-member cannot create a picture for a conversation');
-- A10
select is(tests.attempt('mallory',
    'select app.create_media(''message'', ''image/png'', 10, tests.id(''direct''), null, null)'), 'PL008',
    'a non-member cannot call app.create_media');
select is(tests.attempt('mallory',
    'select app.create_media(''message'', ''image/png'', 10, gen_random_uuid(), null, null)'), 'PL008',
    'a missing conversation gives the same error');
select is(tests.attempt('anon', 'select api.create_media(''avatar'', ''image/png'', 10)'), '42501',
    'anon cannot create a picture');
select is(tests.attempt('alice', 'insert into public.media (owner_id, purpose, mime_type, bytes)
    values (tests.id(''alice''), ''avatar'', ''image/png'', 1)'), '42501', 'a user cannot insert a picture by SQL');
select is(tests.attempt('alice', 'select app.record_stored_media(gen_random_uuid())'), '42501',
    'a user cannot record a picture as stored');
select is(tests.attempt('alice', 'select * from app.claim_removals(1)'), '42501', 'a user cannot claim removals');

-- A message's picture.
insert into tests.ids select 'cat', tests.create('alice', '''message'',
    ''image/png'', 10, tests.id(''direct''), 4, 3');
create function tests.send(who text, picture text, room text default 'direct', more jsonb default '{}',
    key uuid default null)
returns text language sql as $$
    select tests.field_of(who, format('select api.send_message(%L, null, %L, ''image'', %L)', tests.id(room), key,
        jsonb_build_object('media_id', tests.id(picture), 'url',
    'http://127.0.0.1:7433/v1/media/' || tests.id(picture))
        || more))
$$;
select is(tests.send('alice', 'cat'), 'PL001 attachment.media_id', 'rejects a picture before its upload');
select tests.store(tests.id('cat'));
-- A6
select is(tests.upload_removal(tests.id('cat')), 'later',
    'a later upload to the same address is removed after the address expires');
select tests.store(tests.id('cat'));
select is(tests.upload_removal(tests.id('cat')), 'later', 'recording a stored picture again changes nothing');
select is(tests.send('bob', 'cat'), 'PL001 attachment.media_id', 'rejects another user''s picture');
select is(tests.send('alice', 'cat', 'group'), 'PL001 attachment.media_id',
    'rejects the picture in another conversation');
select is(tests.send('alice', 'cat', 'direct', '{"mime_type":"image/gif"}'), 'PL001 attachment.media_id',
    'rejects another MIME type');
select is(tests.send('alice', 'cat', 'direct', '{"bytes":11}'), 'PL001 attachment.media_id', 'rejects another size');
select is(tests.send('alice', 'cat', 'direct', '{"url":"https://evil.example/x"}'), 'PL001 attachment',
    'rejects another address');
select is(tests.send('alice', 'cat', 'direct', '{"media_id":"x"}'), 'PL001 attachment', 'rejects an invalid media_id');
select is(tests.send('alice', 'cat', 'direct', '{"blurhash":"a b"}'), 'PL001 attachment',
    'rejects an invalid blurhash');
select is(tests.as('bob', format('api.seen_media(array[%L]::uuid[])', tests.id('cat'))), '{"media" : []}',
    'an unsent picture is not visible to others');
select is(tests.send('alice', 'cat', 'direct', '{"blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj"}',
        '00000000-0000-4000-8000-00000000c1d1'), 'no error', 'sends the picture');
select is(tests.send('alice', 'cat'), 'PL001 attachment.media_id', 'rejects a picture that was already sent');
select is(tests.as('alice', format('api.sent_message(%L, null, %L,
    ''image'', %L) -> ''attachment''', tests.id('direct'),
        '00000000-0000-4000-8000-00000000c1d1',
        jsonb_build_object('media_id', tests.id('cat'), 'url', 'http://127.0.0.1:7433/v1/media/' || tests.id('cat'),
            'blurhash', 'LEHV6nWB2yk8pyo0adR*.7kCMdnj')))::jsonb - '{url,media_id}'::text[],
    '{"mime_type":"image/png","width":4,"height":3,"bytes":10,"blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj","name":null,
      "duration_ms":null,"waveform":null,"preview_media_id":null}'::jsonb,
    'the attachment has the stored values, and a repeated send returns it');
create function tests.seen(who text, picture text) returns boolean language sql as $$
    select tests.as(who, format('api.seen_media(array[%L]::uuid[])', tests.id(picture)))::jsonb -> 'media' <> '[]'
$$;
select ok(tests.seen('alice', 'cat') and tests.seen('bob', 'cat'), 'members see the picture');
select ok(not tests.seen('carol', 'cat') and not tests.seen('mallory', 'cat'), 'non-members do not see the picture');
select is(tests.as('mallory', '(select count(*) from public.media)'), '0',
    'C38: a non-member does not see the picture by SQL');

-- Also after they have left, and their own too.
insert into tests.ids select 'dog', tests.create('carol', '''message'', ''image/gif'', 10, tests.id(''group'')');
select tests.store(tests.id('dog'));
select is(tests.send('carol', 'dog', 'group'), 'no error', 'sends a picture in a group');
select ok(tests.seen('bob', 'dog') and tests.seen('carol', 'dog'), 'members of the group see the picture');
delete from public.conversation_members where conversation_id = tests.id('group') and user_id = tests.id('carol');
select ok(tests.seen('bob', 'dog') and not tests.seen('carol', 'dog'), 'a former member does not see its own picture');
select is(tests.as('carol', '(select count(*) from public.media)'), '0',
    'a former member does not see its own picture by SQL');

-- The picture of a deleted message is removed at once.
select is(tests.removals(), 'none', 'no picture is queued for removal');
update public.messages set deleted_at = now() where sender_id = tests.id('carol');
select is(tests.removals(), 'message', 'a picture is removed with its message');
select ok(not tests.seen('bob', 'dog'), 'a removed picture is not visible');
delete from app.media_removals;

-- Avatars.
insert into tests.ids select 'face', tests.create('bob', '''avatar'', ''image/jpeg'', 10');
create function tests.wear(who text, picture text, url text default null) returns text language sql as $$
    select tests.field_of(who, format('select api.set_avatar(''custom'', null, %L, null, %L)',
        coalesce(url, 'http://127.0.0.1:7433/v1/media/' || tests.id(picture)), tests.id(picture)))
$$;
select is(tests.wear('bob', 'face'), 'PL001 media_id', 'rejects an avatar before its upload');
select tests.store(tests.id('face'));
select is(tests.wear('alice', 'face'), 'PL001 media_id', 'rejects another user''s picture as avatar');
select is(tests.wear('alice', 'cat'), 'PL001 media_id', 'rejects a message''s picture as avatar');
select is(tests.wear('bob', 'face', 'https://evil.example/'), 'PL001 avatar_url',
    'rejects another address for an avatar');
select is(tests.field_of('bob', format('select api.set_avatar(''built_in'',
    ''owl'', null, null, %L)', tests.id('face'))),
    'PL001 media_id', 'rejects a picture for a built-in avatar');
select is(tests.wear('bob', 'face'), 'no error', 'sets the picture as avatar');
select is(tests.wear('bob', 'face'), 'PL001 media_id', 'rejects a picture that is already used');
select is(tests.field_of('alice', format('select api.set_avatar(''custom'', null, %L)',
        'http://127.0.0.1:7433/v1/media/' || tests.id('face'))), 'PL001 avatar_url',
    'rejects an http address that is not an upload''s');
-- A10
select is(tests.attempt('bob', 'select app.use_avatar()'), '42501', 'a user cannot call the trigger function');
select is(tests.attempt('bob', 'select app.use_avatar(tests.id(''face'')::text, ''https://a.example'', ''x'')'),
    '42883', 'no function marks an avatar as used without a profile');
insert into tests.ids select p, tests.create('bob', '''avatar'', ''image/jpeg'', 10')
  from unnest(array['cap', 'wig', 'bow']) p;
select tests.store(tests.id(p)) from unnest(array['cap', 'wig']) p;
create function tests.wear_by_sql(who text, url text) returns text language sql as $$
    select tests.field_of(who, format('update public.user_profiles set avatar_type = ''custom'', avatar_id = null,
        avatar_url = %L where id = tests.id(%L)', url, who))
$$;
create function tests.used() returns text language sql as $$
    select coalesce(string_agg(i.name, ' ' order by i.name), '') from tests.ids i join public.media m on m.id = i.id
     where i.name in ('face', 'cap', 'wig', 'bow') and m.used_at is not null
$$;
select is(tests.wear_by_sql('bob', 'http://127.0.0.1/v1/media/' || tests.id('bow')), 'PL001 avatar_url',
    'plain SQL cannot set an avatar before its upload');
select is(tests.wear_by_sql('alice', 'http://127.0.0.1/v1/media/' || tests.id('cap')), 'PL001 avatar_url',
    'plain SQL cannot set another user''s picture');
select is(tests.wear_by_sql('bob', 'https://a.example/' || tests.id('cap') || '/' || tests.id('wig')) || tests.used(),
    'no errorwig', 'an address uses the picture that it ends with and removes the previous one');
select is(tests.wear_by_sql('bob', 'https://a.example/' || tests.id('cap')) || tests.used(), 'no errorcap',
    'another address uses another picture');
select is(tests.wear_by_sql('bob', 'https://a.example/?' || tests.id('bow')) || tests.used(), 'no error',
    'an address without a picture''s id uses no picture');
delete from public.media where id = tests.id('bow');
delete from app.media_removals;
insert into tests.ids select 'mask', tests.create('bob', '''avatar'', ''image/jpeg'', 10');
select tests.store(tests.id('mask'));
select is(tests.wear('bob', 'mask'), 'no error', 'set_avatar uses a picture');
insert into tests.ids select 'hat', tests.create('bob', '''avatar'', ''image/jpeg'', 10');
select tests.store(tests.id('hat'));
select is(tests.field_of('bob', format('select api.save_me(%L)', jsonb_build_object('avatar', jsonb_build_object(
        'avatar_type', 'custom', 'media_id', tests.id('hat'),
        'avatar_url', 'https://media.example/' || tests.id('hat'))))), 'no error', 'save_me uses a picture');
select is(tests.removals(), 'avatar', 'a replaced avatar is removed');
insert into tests.ids select 'spare hat', tests.create('bob', '''avatar'', ''image/jpeg'', 10');
select tests.store(tests.id('spare hat'));
update public.user_profiles set is_deleted = true where id = tests.id('bob');
select is(tests.removals(), 'avatar, avatar, avatar', 'a deleted user''s avatar and unused pictures are removed');
select is((select count(*) from public.media m where m.owner_id = tests.id('bob') and m.used_at is null), 0::bigint,
    'a deleted user has no unused pictures');
delete from app.media_removals;

-- An unused picture is removed after a day; if its bytes may still arrive, after the upload's end.
select tests.create('alice', '''avatar'', ''image/webp'', 10');
create function tests.due() returns bigint language plpgsql as $$
declare
    due bigint;
begin
    perform tests.authenticate_as('postline_feed');
    select count(*) into due from app.claim_removals(100);
    perform tests.owner();
    return due;
end $$;
select is(tests.due(), 0::bigint, 'an unused picture is not removed at once');
update public.media set created_at = now() - interval '25 hours' where used_at is null;
select is(tests.due(), 1::bigint, 'an unused picture is removed after a day');
select is(tests.due(), 0::bigint, 'a removal is claimed by one node');
update app.media_removals set due_at = now();
select is(tests.due(), 1::bigint, 'a removal is due again until it is completed');
-- A6: the removals of a picture are done one by one.
delete from app.media_removals where purpose = 'upload';
insert into app.media_removals select r.id, 'upload', now() from app.media_removals r limit 1;
update app.media_removals set due_at = now();
select is(tests.due(), 2::bigint, 'the picture and uploads to its address are removed');
create function tests.removed(arguments text) returns text language plpgsql as $$
begin
    perform tests.authenticate_as('postline_feed');
    execute 'select app.complete_removals(' || replace(arguments, 'ID', quote_literal(
        current_setting('tests.removed'))) || ')';
    perform tests.owner();
    return (select coalesce(string_agg(r.purpose, ', ' order by r.purpose), 'none') from app.media_removals r);
end $$;
select set_config('tests.removed', (select r.id::text from app.media_removals r limit 1), true);
select is(tests.removed('array[ID]::uuid[], ''{avatar}'''), 'upload', 'completes one removal');
select is(tests.removed('array[ID]::uuid[], ''{upload}'''), 'none', 'completes the other removal');
delete from app.media_removals;
insert into tests.ids select 'late', tests.create('alice', '''avatar'', ''image/webp'', 10');
delete from public.media where id = tests.id('late');
select is(tests.removals(), 'avatar later', 'a picture cannot be uploaded again after its removal');

-- Removals of stored files do not wait for those of addresses that were never used.
delete from app.media_removals;
insert into app.media_removals (id, purpose, due_at)
select gen_random_uuid(), 'avatar', now() - interval '1 hour' from generate_series(1, 5);
insert into app.media_removals (id, purpose, due_at, is_stored)
values (tests.id('alice'), 'avatar', now() - interval '1 second', true);
select tests.authenticate_as('postline_feed');
select is((select array_agg(c.id) from app.claim_removals(1) c), array[tests.id('alice')],
    'claims a stored file before older removals');
select tests.owner();
delete from app.media_removals;

-- Bounds.
select tests.create('alice', '''avatar'', ''image/png'', 1');
select is(tests.attempt('alice', 'select api.create_media(''avatar'', ''image/png'', 1073741824)'), 'PL007',
    'rejects unused files above 1 GiB in total');
select count(tests.create('alice', '''avatar'', ''image/png'', 1')) from generate_series(1, 99);
select is(tests.attempt('alice', 'select api.create_media(''avatar'', ''image/png'', 1)'), 'PL007',
    'rejects more than 100 unused files');

-- A quota of all files of a user, but for removed ones.
delete from public.media where owner_id = tests.id('alice') and used_at is null;
select set_config('tests.kept', (select coalesce(sum(bytes), 0)::text from public.media
    where owner_id = tests.id('alice') and removed_at is null), true);
select is(tests.attempt('alice', format(
        'select api.create_media(''avatar'', ''image/png'', %s, quota => %s)', bytes,
        current_setting('tests.kept')::bigint + 10)), outcome, format('a file of %s bytes where 10 are left', bytes))
  from (values (11, 'PL007'), (10, '1')) c (bytes, outcome);
update public.media set removed_at = now() where owner_id = tests.id('alice');
select is(tests.attempt('alice', 'select api.create_media(''avatar'', ''image/png'', 5, quota => 5)'), '1',
    'removed files do not count');

-- A merged guest's pictures.
select tests.make_user('dora', true);
insert into public.conversations (participant1_id, participant2_id) values (tests.id('dora'), tests.id('carol'));
insert into tests.ids select 'doras', c.id from public.conversations c
 where tests.id('dora') in (c.participant1_id, c.participant2_id);
insert into tests.ids select 'sea', tests.create('dora', '''message'', ''image/png'', 10, tests.id(''doras'')');
insert into tests.ids select 'self', tests.create('dora', '''avatar'', ''image/png'', 10');
select tests.store(tests.id(p)) from unnest(array['sea', 'self']) p;
select is(tests.send('dora', 'sea', 'doras') || tests.wear('dora', 'self'), 'no errorno error',
    'a guest sends a picture and sets an avatar');
select app.merge_users(tests.id('dora'), tests.id('mallory')) is not null;
select ok(tests.seen('mallory', 'sea') and tests.seen('carol', 'sea'), 'a merge keeps the guest''s pictures visible');
select is((select p.avatar_url like '%' || tests.id('self') from public.user_profiles p
            where p.id = tests.id('mallory'))
          and not exists (select from app.media_removals r where r.id = tests.id('self')
                            and r.purpose <> 'upload'), true, 'a merge keeps the guest''s avatar');

select * from finish();
rollback;
