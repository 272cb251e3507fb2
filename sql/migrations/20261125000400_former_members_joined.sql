-- Who joins, writes and leaves before anybody looks is known to nobody: by this it is told of. Who left before this is.
alter table app.former_members add column joined_xid xid8 not null default '3';
