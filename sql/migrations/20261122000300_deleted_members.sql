-- The two members of a direct conversation stay when one of them is deleted. Its row says so, where the trigger that
-- numbers messages looks anyway: a deleted user sends nothing, whatever connection or token it still has.
alter table public.conversation_members add column is_deleted boolean not null default false;
update public.conversation_members m set is_deleted = true
  from public.user_profiles p where p.id = m.user_id and p.is_deleted;
