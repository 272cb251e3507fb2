-- A reaction that was set while its message was deleted could stay (app.remove_reactions).
delete from public.message_reactions r
 using public.messages m
 where m.conversation_id = r.conversation_id and m.seq = r.seq and m.deleted_at is not null;
