-- Sends in batches of up to 16, as nodes write them: pgbench -n -M prepared -c 2 -f postgresql-sends.sql
-- The table pairs has the columns n, sender and conversation.
select array_agg(sender)::text as senders, array_agg(conversation)::text as conversations,
       array_agg('Shall we meet at the harbour at seven?'::text)::text as texts,
       array_agg(gen_random_uuid())::text as ids
  from pairs where n = any (array(select 1 + floor(20000 * random())::int from generate_series(1, 16))) \gset
begin;
set local role postline_sender;
select place, object from app.send_messages(:senders::uuid[], :conversations::uuid[], :texts::text[], :ids::uuid[]);
commit;
