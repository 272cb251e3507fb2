-- The steps that `migrate` has applied. Only the owner can read them.
select name, hash from app.migrations
