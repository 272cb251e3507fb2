-- What `migrate` has recorded of the catalogue, as only the owner sees it.
select name, value from app.settings where name in ('catalogue', 'structure')
