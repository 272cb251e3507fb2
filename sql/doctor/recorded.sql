-- The catalogue and structure that `migrate` recorded. Only the owner can read them.
select name, value from app.settings where name in ('catalogue', 'structure')
