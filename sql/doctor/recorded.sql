-- The records of the catalogue and the structure that `migrate` left, which only the owner may read.
select name, value from app.settings where name in ('catalogue', 'structure')
