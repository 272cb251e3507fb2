-- A world for development. Run it as the owner on a migrated database, any number of times: existing rows stay.
--
--   psql -f sql/seed.sql
--
-- Every password is "postline-dev".
\set ON_ERROR_STOP on
begin;

-- The hash is that of argon2 -id -t 2 -k 19456 -p 1, as the service computes it.
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

-- Direct conversations. A trigger adds the two members.
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

-- Dialogues. A line begins with the number of its speaker among the conversation's members, ordered by id. Dialogues
-- without a conversation are older small talk of two or three.
create temporary table dialogue (conversation_id uuid, number integer, lines text[]) on commit drop;
insert into dialogue values
    -- Alice, Bob
    ('d0000000-0000-4000-8000-000000000001', 1, array[
        '2 Are you still awake?', '1 Barely. What happened?', '2 I booked the hut. Four beds, right under the roof.',
        '1 You are a hero. How much is it?', '2 38 a night, with breakfast.', '1 I will send you mine tomorrow.',
        '2 No hurry. Buy me a coffee on Friday.', '1 Deal. Two coffees.']),
    ('d0000000-0000-4000-8000-000000000001', 2, array[
        '1 Morning! Did you sleep well?', '2 Like a stone. You?', '1 Coffee first, questions later.',
        '2 Do you have the map, the paper one?', '1 Yes, and a spare for Dave.',
        '2 He will say that he knows the way.',
        '1 He said that in Portugal too 😅', '2 And we saw a lot of Portugal.', '1 Train at 8:12, platform 4.',
        '2 I will be there at eight.', '2 With sandwiches.', '2 Two are cheese. One of them is mine.']),
    -- Alice, Carol
    ('d0000000-0000-4000-8000-000000000002', 1, array[
        '2 The photos from the night train are back!', '1 And? Anything sharp?',
        '2 Three of thirty-six. I love them all.',
        '1 Show me on Saturday?', '2 I will bring prints. The one of you asleep is my favourite.',
        '1 Burn it, please.',
        '2 Never. It goes on the fridge.', '2 Next to the one of the goat.']),
    -- Bob, Dave
    ('d0000000-0000-4000-8000-000000000003', 1, array[
        '1 How is my bicycle doing?', '2 Better than you deserve. The chain was dry.', '1 I oiled it!',
        '2 When?', '1 In spring.', '2 Which spring, Bob?', '1 …', '1 Any spring.',
        '2 Pick it up tomorrow after five.', '2 And bring the pump back, please.', '2 The blue one.']),
    -- Carol, Erin
    ('d0000000-0000-4000-8000-000000000004', 1, array[
        '1 What are you rehearsing?', '2 Elgar. The sad one.', '1 Is there a happy one?', '2 Not for cellos.',
        '1 When is the concert?', '2 On the 12th, at eight. I put two tickets aside for you.',
        '1 You are the best. I will bring Alice.', '2 Tell her no cough drops this time.',
        '2 The second row heard every one of them.']),
    -- Alice, Erin
    ('d0000000-0000-4000-8000-000000000005', 1, array[
        '2 Did you finish the book?', '1 Last night, at three. I could not stop.', '2 And the ending?',
        '1 I will say nothing before Thursday.', '2 Cruel. Fair, but cruel.',
        '2 I will bring biscuits, and questions.']),
    -- Weekend in the Alps: Alice, Bob, Carol, Dave
    ('90000000-0000-4000-8000-000000000001', 1, array[
        '1 Hut is booked, thanks to Bob 🏔️', '3 Bravo, Bob!', '4 Do we need a stove?',
        '2 No, they have a kitchen.',
        '4 I bring mine anyway.', '3 Of course you do.', '1 Weather says sun until Sunday noon.',
        '3 It said that last time too.', '2 Rain jackets, then. And cards.']),
    ('90000000-0000-4000-8000-000000000001', 2, array[
        '1 The 9:42 is cancelled, we take the 8:12.', '4 That is the middle of the night.',
        '2 It is after breakfast, Dave.',
        '3 Who has the map?', '1 Me: https://maps.example.com/alps, page 3.', '3 Got it, thanks.',
        '2 Shall we say eight at the station?', '4 Eight is a rumour. Ten past eight is a plan.',
        '1 The train leaves at twelve past!', '4 As I said.', '3 I will call you at seven, Dave.',
        '3 Twice.', '3 And once from the platform.']),
    -- Book club: Alice, Erin, Frank
    ('90000000-0000-4000-8000-000000000002', 1, array[
        '2 Thursday at my place, seven o’clock?', '1 I am in.', '3 Me too. I have read half of it.', '2 Which half?',
        '3 The first. And the last page.', '1 Frank!', '2 Next month something shorter, then.', '3 A cookbook?',
        '1 Read slowly, with dinner.', '2 Agreed.', '2 Thursday the 3rd, then. I will make soup.']),
    -- Of two members
    (null, 2, array['1 Are you at home?', '2 In ten minutes. Why?', '1 I left my umbrella at yours.',
        '2 It is by the door. It has been there since May.', '1 It has not rained since May.']),
    (null, 2, array['2 Lunch tomorrow?', '1 Gladly. Where?', '2 The new place by the river, at half past twelve.',
        '1 I will be the hungry one.', '2 That makes two.']),
    (null, 2, array['1 Could you water my plants next week?', '2 Sure. All of them?',
        '1 All but the cactus. It sulks.',
        '2 I will talk to it.', '1 It likes jazz.']),
    (null, 2, array['2 Did the parcel come?', '1 Yes, this morning. Thank you!', '2 Does it fit?',
        '1 As if made for me.', '2 Good, because it was on sale and cannot go back.']),
    (null, 2, array['1 I heard that song again, the one from the ferry.',
        '2 Now it is in my head. Thank you very much.',
        '1 You are welcome. Until Sunday, I guess.', '2 I am humming it at work already.']),
    (null, 2, array['2 How did the interview go?', '1 Well, I think. They laughed twice.', '2 At the right moments?',
        '1 At one of them.', '2 Fingers crossed. Tell me when you know.', '1 You will be the first.']),
    (null, 2, array['1 Do you still have the long ladder?', '2 In the cellar, behind everything.',
        '1 May I borrow it on Saturday?', '2 If you also put it back behind everything.', '1 Promised.']),
    -- Of three members
    (null, 3, array['1 Who was the man with the accordion?', '2 My uncle. He comes with every party.',
        '3 He knows four songs, and I know them too now.', '1 I liked the third.', '2 Everybody likes the third.']),
    (null, 3, array['3 I am making soup. Does anybody want some?', '1 What kind?', '3 Orange.',
        '2 The fruit or the colour?',
        '3 Come and find out.', '1 I am on my way.', '2 Me too. I bring bread, to be safe.']),
    (null, 3, array['2 Has anybody seen my blue scarf?', '3 Under the piano, last I saw.',
        '2 What was it doing there?',
        '1 Sleeping. There was a cat on it.', '2 Then it belongs to the cat now.']),
    (null, 3, array['1 Can somebody feed the cat next weekend?', '2 My sister can.', '3 I can on Sunday.',
        '1 You are saints, both of you.', '2 Tell that to the cat.']),
    (null, 3, array['3 New headphones. I hear my neighbours no more.', '1 Do they hear you?', '3 I have not asked.',
        '2 I can hear you from here.', '3 Then I will sing more quietly.']),
    (null, 3, array['1 Cinema on Tuesday?', '2 What is on?', '1 The one with the lighthouse, in black and white.',
        '3 Is it long?', '1 Two hours and a half.', '3 I will bring a pillow.', '2 I will wake you when it rains.']);

-- Messages in conversations that have none yet: first small talk, then the conversation's dialogues.
do $$
declare
    room record;
    count integer;
    senders uuid[];
begin
    for room in
        select c.id, row_number() over (order by c.kind, c.id)::integer as place
          from public.conversations c
         where c.last_seq = 0
           and c.id::text ~ '^(d0000000-0000-4000-8000-00000000000[1-5]|90000000-0000-4000-8000-00000000000[12])$'
         order by c.kind, c.id
    loop
        senders := array(select m.user_id from public.conversation_members m
                          where m.conversation_id = room.id order by m.user_id);
        count := (array[90, 45, 30, 60, 20, 120, 55])[room.place];
        insert into public.messages (conversation_id, sender_id, content, created_at)
        -- In older talk the speakers change from dialogue to dialogue.
        select room.id,
               senders[1 + (left(t.line, 1)::integer - 1 + case when t.own then 0 else t.talk end)
                           % cardinality(senders)],
               substr(t.line, 3),
               now() - t.talk * interval '7 hours 40 minutes' - t.left_in_talk * interval '3 minutes'
                     - room.place * interval '11 minutes'
          from (select line, talk, own, left_in_talk,
                       row_number() over (order by talk, left_in_talk) as from_last
                  from (select l.line, d.talk, d.own, cardinality(d.lines) - l.place as left_in_talk
                          from (select o.lines, true as own, row_number() over (order by o.number desc) - 1 as talk
                                  from dialogue o where o.conversation_id = room.id
                                 union all
                                select o.lines, false,
                                       2 + row_number() over (order by again, md5(o.lines[1] || room.place))
                                  from dialogue o, generate_series(1, 5) again
                                 where o.conversation_id is null and o.number = least(cardinality(senders), 3)) d,
                               unnest(d.lines) with ordinality as l (line, place)) every_line) t
         where t.from_last <= count
         order by t.from_last desc;
        -- Some members have read everything, some have not; a sender has read its own messages.
        update public.conversation_members m
           set last_read_seq = greatest(
               count - (array[0, 3, 12, 1, 7])[1 + (room.place + p.place) % 5],
               (select max(n.seq) from public.messages n
                 where n.conversation_id = room.id and n.sender_id = m.user_id))
          from unnest(senders) with ordinality as p (id, place)
         where m.conversation_id = room.id and m.user_id = p.id::uuid;
    end loop;
end
$$;

commit;
