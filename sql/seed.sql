-- A world to develop in. Run it as the owner on a migrated database, as often as you like: what is there stays.
--     psql -f sql/seed.sql
-- Everybody's password is "postline-dev".
\set ON_ERROR_STOP on
begin;

-- The hash is of argon2 -id -t 2 -k 19456 -p 1, as the service makes them.
insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                        confirmation_token, recovery_token, email_change, email_change_token_new,
                        raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
select '00000000-0000-0000-0000-000000000000', person.id::uuid, 'authenticated', 'authenticated', person.email,
       '$argon2id$v=19$m=19456,t=2,p=1$cG9zdGxpbmUtZGV2LXNhbHQ$64KET1YzDfmkP9hyhSF7Trthx/XVHjz3rJXP7DZ/tbs',
       now(), '', '', '', '', '{"provider":"email","providers":["email"]}',
       jsonb_build_object('full_name', person.full_name), now() - interval '60 days', now()
  from (values
        ('a11ce000-0000-4000-8000-000000000001', 'alice@example.com', 'Alice Moreau'),
        ('b0b00000-0000-4000-8000-000000000002', 'bob@example.com', 'Bob Okafor'),
        ('ca401000-0000-4000-8000-000000000003', 'carol@example.com', 'Carol Jensen'),
        ('da7e0000-0000-4000-8000-000000000004', 'dave@example.com', 'Dave Nakamura'),
        ('e4130000-0000-4000-8000-000000000005', 'erin@example.com', 'Erin Gallagher'),
        ('f4a00000-0000-4000-8000-000000000006', 'frank@example.com', 'Frank Öztürk'))
       as person (id, email, full_name)
on conflict do nothing;

update public.user_profiles p
   set username = person.username, bio = person.bio, location = person.location, language_code = person.language_code,
       avatar_type = person.avatar_type, avatar_id = person.avatar_id, avatar_url = person.avatar_url,
       website = person.website, is_verified = person.is_verified
  from (values
        ('alice', 'Maps, mountains and too much coffee.', 'Lyon', 'fr', 'built_in', 'fox', null,
         'https://alice.example.com', true),
        ('bob', e'Cooks on Sundays.\nArgues about fonts the rest of the week.', 'Lagos', 'en', 'built_in', 'otter',
         null, null, false),
        ('carol', 'Night trains, film cameras.', 'Aarhus', 'da', 'custom', null,
         'https://images.example.com/carol.jpg', 'https://carol.example.com/photos', false),
        ('dave', 'I fix bicycles.', 'Osaka', 'ja', 'built_in', 'turtle', null, null, false),
        ('erin', 'Cellist. Slow replies during rehearsals.', 'Galway', 'en-IE', 'built_in', 'owl', null, null, true),
        ('frank', null, 'Berlin', 'de', null, null, null, null, false))
       as person (username, bio, location, language_code, avatar_type, avatar_id, avatar_url, website, is_verified),
       auth.users u
 where u.email = person.username || '@example.com' and p.id = u.id and p.username is null;

update public.user_private s
   set preferences = '{"theme":"dark","notifications":{"sound":true}}', date_of_birth = '1991-04-17',
       phone_number = '+33612345678'
  from auth.users u
 where u.email = 'alice@example.com' and s.id = u.id and s.preferences = '{}';

create temporary table person on commit drop as
select p.username as name, p.id from public.user_profiles p
 where p.id in (select u.id from auth.users u where u.email ~ '^(alice|bob|carol|dave|erin|frank)@example\.com$');

-- Direct conversations. The trigger adds the two members.
insert into public.conversations (id, kind, participant1_id, participant2_id, created_by, created_at)
select pair.id::uuid, 'direct', a.id, b.id, a.id, now() - interval '30 days'
  from (values
        ('d0000000-0000-4000-8000-000000000001', 'alice', 'bob'),
        ('d0000000-0000-4000-8000-000000000002', 'alice', 'carol'),
        ('d0000000-0000-4000-8000-000000000003', 'bob', 'dave'),
        ('d0000000-0000-4000-8000-000000000004', 'carol', 'erin'),
        ('d0000000-0000-4000-8000-000000000005', 'alice', 'erin'))
       as pair (id, one, other)
  join person a on a.name = pair.one join person b on b.name = pair.other
on conflict do nothing;

-- Groups.
create temporary table new_group on commit drop as
with made as (
    insert into public.conversations (id, kind, title, created_by, created_at)
    select g.id::uuid, 'group', g.title, p.id, now() - interval '20 days'
      from (values
            ('90000000-0000-4000-8000-000000000001', 'Weekend in the Alps', 'alice'),
            ('90000000-0000-4000-8000-000000000002', 'Book club', 'erin'))
           as g (id, title, owner)
      join person p on p.name = g.owner
    on conflict do nothing
    returning id)
select id from made;

insert into public.conversation_members (conversation_id, user_id, role, joined_at)
select g.id, p.id, m.role, now() - interval '20 days'
  from (values
        ('90000000-0000-4000-8000-000000000001', 'alice', 'owner'),
        ('90000000-0000-4000-8000-000000000001', 'bob', 'admin'),
        ('90000000-0000-4000-8000-000000000001', 'carol', 'member'),
        ('90000000-0000-4000-8000-000000000001', 'dave', 'member'),
        ('90000000-0000-4000-8000-000000000002', 'erin', 'owner'),
        ('90000000-0000-4000-8000-000000000002', 'alice', 'member'),
        ('90000000-0000-4000-8000-000000000002', 'frank', 'member'))
       as m (conversation_id, name, role)
  join new_group g on g.id = m.conversation_id::uuid
  join person p on p.name = m.name;

-- Messages, in conversations that have none yet.
do $$
declare
    lines text[] := array[
        'Morning! Did you sleep well?', 'Like a stone. You?', 'Coffee first, questions later.',
        'The 9:42 is cancelled again.', 'Of course it is.', 'I can bring the tent, the big one.',
        'Do we have a stove?', 'Two, if Dave finds the other half of his.', 'I found half of a half.',
        'That will boil half an egg.', 'Weather says sun until Sunday noon.', 'It said that last time too 😅',
        'Who has the map?', 'https://maps.example.com/alps — page 3', 'Got it, thanks.',
        'Shall we say seven at the station?', 'Seven is a rumour. Eight is a plan.', 'Eight it is.',
        'Can somebody feed the cat?', 'My sister can.', 'You are saints, all of you.',
        'I finished the book, by the way.', 'No spoilers!', 'The butler is innocent.', '…', 'Sorry.',
        'Next month something short, please.', 'A cookbook?', 'Read slowly, with dinner.', 'Agreed.'];
    room record;
    senders uuid[];
    count integer;
begin
    for room in
        select c.id, c.kind, row_number() over (order by c.kind, c.id)::integer as place
          from public.conversations c
         where c.last_seq = 0
           and c.id::text ~ '^(d0000000-0000-4000-8000-00000000000[1-5]|90000000-0000-4000-8000-00000000000[12])$'
         order by c.kind, c.id
    loop
        senders := array(select m.user_id from public.conversation_members m
                          where m.conversation_id = room.id order by m.joined_at, m.user_id);
        count := (array[90, 45, 30, 60, 20, 120, 55])[1 + (room.place - 1) % 7];
        insert into public.messages (conversation_id, sender_id, content, created_at)
        -- The last few are one person's, so that there is something unread for the others.
        select room.id, senders[1 + (case when i > count - 15 then room.place else i * 7 + i / 3 end)
                                    % cardinality(senders)],
               lines[1 + (i + room.place * 4) % cardinality(lines)],
               now() - (count - i) * interval '37 minutes' - room.place * interval '11 minutes'
          from generate_series(1, count) i order by i;
        -- Some have read up to here, some not; a sender has read its own.
        update public.conversation_members m
           set last_read_seq = count - (array[0, 3, 12, 1, 7])[1 + (room.place + p.place) % 5]
          from unnest(senders) with ordinality as p (id, place)
         where m.conversation_id = room.id and m.user_id = p.id::uuid;
    end loop;
end
$$;

commit;
