-- From now on a group has one owner whatever is done to it, and a direct conversation's members have no other role than
-- `member`. Those there are come to that: the oldest admin, else the oldest member, owns a group that nobody owns.
update public.conversation_members m set role = 'member'
  from public.conversations c
 where c.id = m.conversation_id and c.kind = 'direct' and m.role <> 'member';
update public.conversation_members m set role = 'owner'
  from (select distinct on (n.conversation_id) n.conversation_id, n.user_id
          from public.conversation_members n join public.conversations c on c.id = n.conversation_id
         where c.kind = 'group'
           and not exists (select from public.conversation_members o
                            where o.conversation_id = n.conversation_id and o.role = 'owner')
         order by n.conversation_id, n.role = 'admin' desc, n.joined_at, n.user_id) heir
 where m.conversation_id = heir.conversation_id and m.user_id = heir.user_id;

-- Who is the oldest is told apart among those who were added together too.
alter table public.conversation_members alter column joined_at set default clock_timestamp();
