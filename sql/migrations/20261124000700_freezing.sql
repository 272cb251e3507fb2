-- A message is written once and seldom changed. By default its page is vacuumed when the table has grown by a fifth,
-- and frozen millions of transactions later: by then a checkpoint was there, so the log takes the whole page again, 245
-- bytes a message. Every ten thousand messages it is vacuumed and frozen in one go, while the page is in memory and,
-- where much is sent, no checkpoint was in between: 16 bytes a message.
alter table public.messages set (
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_freeze_min_age = 0);
