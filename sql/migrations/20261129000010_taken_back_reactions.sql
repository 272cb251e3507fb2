-- The reactions to a message that were taken back: a deletion of the message finds them without reading those to
-- others.
create index message_reactions_taken_back on public.message_reactions (conversation_id, seq) where not is_set;
