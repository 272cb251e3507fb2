-- What `migrate` has applied, as only the owner sees it.
select name, hash from app.migrations
