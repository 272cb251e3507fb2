-- Returns the new pieces of messages that grow, those of a message as one: kind `piece`, for all members. Its
-- transaction is that of the last piece.
create or replace function feed.read_pieces(lows xid8[], highs xid8[]) returns table (
    kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text, tail text,
    marks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select 'piece', p.xid, p.conversation_id, null::uuid, p.seq, null::uuid[],
           app.piece_object(p.conversation_id, p.seq, p.start, p.content), null::text, null::bigint[]
      from (select p.conversation_id, p.seq, min(p.start) as start,
                   pg_catalog.string_agg(p.content, '' order by p.start) as content,
                   (pg_catalog.array_agg(p.changed_xid::text order by p.start desc))[1] as xid
              from feed.changed_pieces(lows, highs) p
             group by p.conversation_id, p.seq) p
     order by p.conversation_id, p.seq;
end
$$;
