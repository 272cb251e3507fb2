-- Functions of the version before that this one does not call stay, for its nodes, until these are replaced; a later
-- migration drops them: accounts.open_session(uuid, uuid), accounts.merge_guest(uuid, uuid, integer, integer),
-- accounts.is_bcrypt_of, accounts.replace_hash.

-- When a session that has ended may be removed; null for one that lives, or is kept.
alter table app.sessions add column forget_at timestamptz;
create index sessions_forget_at on app.sessions (forget_at) where forget_at is not null;
create index sessions_living on app.sessions (user_id) where revoked_at is null;

-- From now on this is done as it happens: who is deleted or banned is signed out, and sessions that ended are removed.
update app.sessions s set revoked_at = now()
  from auth.users u
 where u.id = s.user_id and s.revoked_at is null and (u.deleted_at is not null or u.banned_until > now());
update app.sessions s set forget_at = s.revoked_at + interval '7 days'
 where s.revoked_at is not null and not exists (select from app.merged_guests g where g.guest_id = s.user_id);

-- The names of guests who were deleted, and not merged, are held for nobody.
delete from public.username_history h
 using public.user_profiles p
 where p.id = h.user_id and p.is_deleted and p.is_guest;
