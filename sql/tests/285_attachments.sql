-- Attachments of every kind: what a message may have, who sees its files, and when these are removed.
begin;
select no_plan();
select tests.make_world();

-- Creates a stored file for a message in the direct conversation.
create function tests.file(name text, type text, who text default 'alice', room text default 'direct')
    returns void language plpgsql as $$
begin
    insert into tests.ids select name, tests.create(who, format(
        '''message'', %L, 10, tests.id(%L), name => %L', type, room, name));
    perform tests.store(tests.id(name));
end $$;
create function tests.item(file text, more jsonb default '{}') returns jsonb language sql as $$
    select jsonb_build_object(
        'media_id', tests.id(file), 'url', 'http://127.0.0.1:7433/v1/media/' || tests.id(file)) || more
$$;
create function tests.several(variadic items jsonb[]) returns jsonb language sql as $$
    select items[1] || jsonb_build_object('more', to_jsonb(items[2:]))
$$;
create function tests.send_call(kind text, attachment jsonb, content text default null, key uuid default null,
    name text default 'send_message') returns text language sql as $$
    select format('api.%s(%L, %L, %L, %L, %L)', name, tests.id('direct'), content, key, kind, attachment)
$$;
create function tests.sends(kind text, attachment jsonb, who text default 'alice') returns text language sql as $$
    select tests.field_of(who, 'select ' || tests.send_call(kind, attachment))
$$;
create function tests.removals() returns text language sql as $$
    select coalesce(string_agg(i.name, ' ' order by i.name), '')
      from app.media_removals r join tests.ids i on i.id = r.id where r.purpose <> 'upload'
$$;
create function tests.seen(who text) returns text language sql as $$
    select coalesce(string_agg(i.name, ' ' order by i.name), '')
      from json_array_elements(tests.as(who, format('api.readable_media(%L)', (
               select array_agg(i.id) from tests.ids i join public.media m on m.id = i.id)))::json -> 'media') e
      join tests.ids i on i.id = (e.value ->> 'id')::uuid
$$;

-- Descriptions of uploads.
select is(tests.field_of('alice', 'select api.create_media(' || arguments || ')'), outcome, arguments)
  from (values
        ('''avatar'', ''video/mp4'', 10', 'PL001 mime_type'),
        ('''avatar'', ''application/pdf'', 10', 'PL001 mime_type'),
        ('''message'', ''text/html'', 10, tests.id(''direct'')', 'PL001 mime_type'),
        ('''message'', ''image/svg+xml'', 10, tests.id(''direct'')', 'PL001 mime_type'),
        ('''message'', ''application/octet-stream'', 10, tests.id(''direct'')', 'PL001 name'),
        ('''message'', ''application/pdf'', 10, tests.id(''direct''), name => ''''', 'PL001 name'),
        ('''message'', ''application/pdf'', 10, tests.id(''direct''), name => e''a\u202eb''', 'PL001 name'),
        ('''message'', ''application/pdf'', 10, tests.id(''direct''), name => repeat(''x'', 256)', 'PL001 name'),
        ('''message'', ''application/pdf'', 10, tests.id(''direct''), name => repeat(''é'', 255)', 'no error'),
        ('''message'', ''application/octet-stream'', 10, tests.id(''direct''), name => ''a.bin''', 'no error'),
        ('''message'', ''application/pdf'', 10', 'PL001 conversation_id'))
       as t (arguments, outcome);
select is(tests.field_of('alice', format('select api.create_media(''message'', %L, 1, tests.id(''direct''))', type)),
    'no error', 'accepts ' || type)
  from unnest('{video/mp4,video/quicktime,video/webm,audio/webm,audio/mp4,audio/mpeg,audio/ogg,audio/wav,
                application/pdf,text/plain,application/zip}'::text[]) type;
select is(tests.attempt('mallory', 'select api.create_media(''message'', ''video/mp4'', 10, tests.id(''direct''))'),
    'PL008', 'a non-member cannot create a video for a conversation');

-- A video with a preview, and a document: one message of kind video.
select tests.file('clip.mp4', 'video/mp4');
select tests.file('clip.jpg', 'image/jpeg');
select tests.file('doc.pdf', 'application/pdf');
select tests.file('note.txt', 'text/plain');
create temporary table video as select tests.several(
    tests.item('clip.mp4', format('{"duration_ms":1500.0,"preview_media_id":"%s"}', tests.id('clip.jpg'))::jsonb),
    tests.item('doc.pdf')) as attachment;
create temporary table sent as select o from (
    select tests.as('alice', tests.send_call(
               'video', v.attachment, key => '00000000-0000-4000-8000-00000000a001'))::json
      from video v) s (o);
select results_eq($$
    select o ->> 'kind', o ->> 'content', (o -> 'attachment')::text = (o -> 'attachments' -> 0)::text,
           json_array_length(o -> 'attachments'), o -> 'attachments' -> 0 ->> 'duration_ms',
           (o -> 'attachments' -> 0 ->> 'preview_media_id')::uuid,
           o -> 'attachments' -> 1 ->> 'name', o -> 'attachments' -> 1 ->> 'mime_type',
           o -> 'attachments' -> 1 ->> 'bytes' from sent$$,
    $$values ('video', 'clip.mp4', true, 2, '1500', tests.id('clip.jpg'), 'doc.pdf', 'application/pdf', '10')$$,
    'a message lists its attachments, and its content is the name of the first');
select is(
    (select string_agg(key, ',') from sent, json_object_keys(o -> 'attachments' -> 1) key),
    'url,mime_type,width,height,bytes,media_id,blurhash,name,duration_ms,waveform,preview_media_id',
    'an attachment has every member, in the order of the protocol');
select is(
    tests.as('alice', tests.send_call('video', v.attachment, key => '00000000-0000-4000-8000-00000000a001',
        name => 'sent_message'))::jsonb ->> 'id', sent.o ->> 'id', 'a repeated send returns the message')
  from video v, sent;
select is(
    tests.field_of('alice', 'select ' || tests.send_call('video', attachment,
        key => '00000000-0000-4000-8000-00000000a001', name => 'sent_message')), 'PL012 client_id',
    'a repeated send with fewer attachments is refused')
  from (select v.attachment - 'more' as attachment from video v) v;
select is(tests.seen('alice'), 'clip.jpg clip.mp4 doc.pdf', 'the sender sees the files and the preview');
select is(tests.seen('bob'), 'clip.jpg clip.mp4 doc.pdf', 'members see the files and the preview');
select is(tests.seen('carol'), '', 'non-members see none of the files');
select is(tests.as('bob', format('api.readable_media(%L)', array[tests.id('doc.pdf')]))::jsonb,
    jsonb_build_object('media', jsonb_build_array(jsonb_build_object(
        'id', tests.id('doc.pdf'), 'mime_type', 'application/pdf', 'name', 'doc.pdf'))),
    'a file is returned with its type and name');
select is(tests.as('bob', format('api.seen_media(%L)', array[tests.id('doc.pdf')]))::jsonb,
    jsonb_build_object('media', jsonb_build_array(tests.id('doc.pdf'))), 'api.seen_media returns ids');

-- Refusals.
select tests.file('bobs.pdf', 'application/pdf', 'bob');
select tests.file('group.pdf', 'application/pdf', 'alice', 'group');
insert into tests.ids select 'unstored', tests.create('alice', '''message'', ''video/mp4'', 10, tests.id(''direct'')');
select is(tests.sends(kind, attachment), outcome, label)
  from (values
        ('video', null::jsonb, 'PL001 attachment', 'a video without an attachment'),
        ('file', null, 'PL001 attachment', 'a file without an attachment'),
        ('poll', null, 'PL001 kind', 'an unknown kind'),
        ('audio', tests.item('note.txt'), 'PL001 kind', 'audio that is a text'),
        ('image', tests.item('note.txt'), 'PL001 kind', 'an image that is a text'),
        ('file', tests.item('doc.pdf'), 'PL001 attachment.media_id', 'a file that was sent'),
        ('file', tests.item('bobs.pdf'), 'PL001 attachment.media_id', 'another user''s file'),
        ('file', tests.item('group.pdf'), 'PL001 attachment.media_id', 'a file of another conversation'),
        ('video', tests.item('unstored'), 'PL001 attachment.media_id', 'a file before its upload'),
        ('file', tests.several(tests.item('note.txt'), tests.item('bobs.pdf')), 'PL001 attachments[1].media_id',
            'another user''s file as the second'),
        ('file', tests.several(tests.item('note.txt'), tests.item('note.txt')), 'PL001 attachments[1].media_id',
            'a file twice'),
        ('file', tests.several(tests.item('note.txt'), tests.item('note.txt', '{"evil":1}')), 'PL001 attachments[1]',
            'an unknown member of the second'),
        ('file', tests.several(tests.item('note.txt'), tests.several(tests.item('note.txt'))), 'PL001 attachments[1]',
            'attachments in an attachment'),
        ('file', tests.item('note.txt', '{"more":{}}'), 'PL001 attachments', 'attachments that are no list'),
        ('file', tests.item('note.txt', '{"more":null}'), 'PL001 attachments', 'attachments that are null'),
        ('file', tests.item('note.txt', '{"more":[1]}'), 'PL001 attachments[1]', 'an attachment that is a number'),
        ('file', tests.item('note.txt', jsonb_build_object('more', array_fill('{}'::jsonb, array[10]))),
            'PL001 attachments', 'eleven attachments'),
        ('file', tests.item('note.txt', '{"preview_media_id":"x"}'), 'PL001 attachment', 'an invalid preview'),
        ('file', tests.item('note.txt', format('{"preview_media_id":"%s"}', tests.id('bobs.pdf'))::jsonb),
            'PL001 attachment.preview_media_id', 'another user''s file as preview'),
        ('file', tests.item('note.txt', format('{"preview_media_id":"%s"}', tests.id('note.txt'))::jsonb),
            'PL001 attachment.preview_media_id', 'a preview that is the file itself'))
       as t (kind, attachment, outcome, label);
select tests.file('other.pdf', 'application/pdf');
select is(
    tests.sends('file', tests.item('note.txt', format('{"preview_media_id":"%s"}', tests.id('other.pdf'))::jsonb)),
    'PL001 attachment.preview_media_id', 'a preview must be a picture');
select is(tests.sends('file', tests.item('note.txt', member)), outcome, member::text)
  from (values
        ('{"name":""}'::jsonb, 'PL001 attachment'), ('{"name":1}', 'PL001 attachment'),
        ('{"name":"a\nb"}', 'PL001 attachment'),
        (jsonb_build_object('name', repeat('x', 256)), 'PL001 attachment'),
        ('{"duration_ms":-1}', 'PL001 attachment'), ('{"duration_ms":"1"}', 'PL001 attachment'),
        ('{"duration_ms":1.5}', 'PL001 attachment'),
        ('{"waveform":"AAA"}', 'PL001 attachment'), ('{"waveform":"A_=="}', 'PL001 attachment'),
        (jsonb_build_object('waveform', encode(decode(repeat('ff', 129), 'hex'), 'base64')), 'PL001 attachment'))
       as t (member, outcome);
select is(tests.seen('alice'), 'clip.jpg clip.mp4 doc.pdf', 'refused sends use no file');

-- A waveform of 128 bytes, a name of its own, and a picture that is sent as a file.
select tests.file('voice.ogg', 'audio/ogg');
select tests.file('photo.png', 'image/png');
select is(
    tests.as('alice', tests.send_call('audio', tests.item('voice.ogg', jsonb_build_object(
        'waveform', replace(encode(decode(repeat('ff', 128), 'hex'), 'base64'), e'\n', ''), 'name', 'A voice'))))::json
    ->> 'content', 'A voice', 'a voice message has a waveform of 128 bytes');
select is((select m.name from public.media m where m.id = tests.id('voice.ogg')), 'A voice',
    'a download has the name of the attachment');
select is(tests.as('alice', tests.send_call('file', tests.item('photo.png'), ''))::json ->> 'content', '',
    'a picture can be sent as a file, and an empty content stays empty');
select is(
    tests.as('alice', tests.send_call('file', '{"url":"https://x.example/a.zip","name":"a.zip"}'))::json
    ->> 'content', 'a.zip', 'a file can be elsewhere');
select is(
    tests.as('alice', tests.send_call('text', tests.item('note.txt'), 'a text'))::json
    -> 'attachments' -> 0 ->> 'name', 'note.txt', 'a text can have a file');

-- By SQL.
select tests.file('sql.mp4', 'video/mp4');
select is(tests.field_of('alice', format(
    'insert into public.messages (conversation_id, sender_id, kind, attachment) values (%L, %L, ''image'', %L)',
    tests.id('direct'), tests.id('alice'), tests.item('sql.mp4'))), 'PL001 kind', 'SQL obeys the same rules');
select is(tests.field_of('bob', format(
    'insert into public.messages (conversation_id, sender_id, kind, attachment) values (%L, %L, ''video'', %L)',
    tests.id('direct'), tests.id('bob'), tests.item('sql.mp4'))), 'PL001 attachment.media_id',
    'SQL cannot send another user''s file');
select is(tests.attempt('alice', 'select app.complete_file(''{}'')'), '42501', 'a user cannot call app.complete_file');
select is(tests.attempt('alice', 'select app.use_media(m, null, true) from public.messages m'), '42501',
    'a user cannot call app.use_media');

-- Device pushes have the kind, and no name of a file that only the kind describes.
select tests.authenticate_as('bob');
select isnt(api.register_device('apns', 'a11ce0', 'production', 'en') ->> 'id', null, 'bob has a device');
select tests.owner();
create function tests.push_of(sent_id uuid) returns text language plpgsql as $$
declare
    told text;
begin
    delete from app.pushes;
    insert into app.pushes (device_id, conversation_id, sender_id, seq, noted_at, due_at)
    select d.id, m.conversation_id, m.sender_id, m.seq, now() - interval '1 minute', now() - interval '1 minute'
      from public.messages m, app.devices d where m.id = sent_id and d.user_id = tests.id('bob');
    perform tests.authenticate_as('postline_feed');
    select p.message_kind || ': ' || p.content into told from app.claim_pushes(10, true) p;
    perform tests.owner();
    return told;
end $$;
create function tests.push_of_file(file text) returns text language sql as $$
    select tests.push_of(m.message_id) from public.media m where m.id = tests.id(file)
$$;
select is(tests.push_of_file('clip.mp4'), 'video: ', 'a push of a video has no text');
select is(tests.push_of_file('voice.ogg'), 'voice: ', 'a push of a voice message says so');
select is(tests.push_of_file('photo.png'), 'file: ', 'a push of a picture that was sent as a file is one of a file');
select tests.file('named.zip', 'application/zip');
select is(tests.sends('file', tests.item('named.zip')), 'no error', 'sends a file with a name');
select is(tests.push_of_file('named.zip'), 'file: named.zip', 'a push of a file has its name');

-- Editing: the files stay, also without content.
select is(tests.as('alice', format('api.edit_message(%L, %s, '''')', tests.id('direct'), o ->> 'seq'))::json
    -> 'attachments' -> 1 ->> 'name', 'doc.pdf', 'an edit keeps the attachments') from sent;
-- service_role changes attachments: what goes is removed, what stays is not used again.
update public.messages m set attachment = m.attachment - 'more' where m.id = (select (o ->> 'id')::uuid from sent);
select is(tests.removals(), 'doc.pdf', 'an attachment that a message no longer has is removed');
select is(tests.seen('bob'), 'clip.jpg clip.mp4 named.zip note.txt photo.png voice.ogg', 'the others stay');
-- Deleting: all files and previews.
select is(tests.as('alice', format('api.delete_message(%L, %s)', tests.id('direct'), o ->> 'seq'))::json
    ->> 'attachments', '[]', 'a deleted message has no attachments') from sent;
select is(tests.removals(), 'clip.jpg clip.mp4 doc.pdf', 'the files and previews of a deleted message are removed');
select is(tests.attempt(who, 'select from public.media where removed_at is not null'), '0',
    'and their names are not readable by ' || who) from unnest(array['alice', 'bob']) who;
select is(tests.seen('bob'), 'named.zip note.txt photo.png voice.ogg', 'removed files cannot be read');

-- A merged guest's files and previews.
select tests.make_user('dora', true);
insert into public.conversations (participant1_id, participant2_id) values (tests.id('dora'), tests.id('carol'));
insert into tests.ids select 'doras', c.id from public.conversations c
 where tests.id('dora') in (c.participant1_id, c.participant2_id);
select tests.file(name, type, 'dora', 'doras')
  from (values ('d.mp4', 'video/mp4'), ('d.jpg', 'image/jpeg'), ('d.zip', 'application/zip')) t (name, type);
select is(tests.field_of('dora', format('select api.send_message(%L, null, null, ''video'', %L)', tests.id('doras'),
    tests.several(
        tests.item('d.mp4', format('{"preview_media_id":"%s"}', tests.id('d.jpg'))::jsonb), tests.item('d.zip')))),
    'no error', 'a guest sends a video');
select app.merge_users(tests.id('dora'), tests.id('mallory')) is not null;
select is(tests.seen('mallory') || tests.seen('carol'), 'd.jpg d.mp4 d.zipd.jpg d.mp4 d.zip',
    'a merge keeps the guest''s files visible');
select is((select count(*) from public.media m where m.owner_id = tests.id('mallory')), 3::bigint,
    'the account owns the files, and the preview too');

select * from finish();
rollback;
