-- Its successor is app.page_position (sql/functions/app/pages.sql).
drop function if exists app.search_position(timestamptz, uuid);
