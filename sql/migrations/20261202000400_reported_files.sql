-- The open reports of a message: moderators see its files meanwhile (sql/functions/app/moderation.sql).
create index reports_pending_message on app.reports (message_id) where state <> 'closed' and message_id is not null;
