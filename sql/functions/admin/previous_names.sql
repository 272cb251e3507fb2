-- Drops functions that have been renamed. In the last schema whose files are applied, when triggers, views and
-- functions of all schemas refer to the new names.
do $$
declare
    old regprocedure;
begin
    -- policies.sql creates these policies anew.
    drop policy if exists sight_select on public.presence;
    drop policy if exists manager_insert on public.conversation_members;
    for old in
        select p.oid::regprocedure from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
         where n.nspname || '.' || p.proname = any (array[
            'admin.named', 'admin.note', 'admin.shown_email', 'app.admit', 'app.adopt_account', 'app.buried',
            'app.claim_message', 'app.controls', 'app.counted', 'app.empty_conversation', 'app.follow_account',
            'app.follow_avatar', 'app.follow_message', 'app.follow_picture', 'app.follow_preference',
            'app.follow_proof', 'app.follow_words', 'app.forget_devices', 'app.forget_mails', 'app.forget_sessions',
            'app.give_role', 'app.home', 'app.is_like_word', 'app.is_news', 'app.is_present', 'app.is_taken',
            'app.is_wanted', 'app.keep_conversation', 'app.keep_mark', 'app.keep_member', 'app.keep_message',
            'app.keep_mute', 'app.keep_new_member', 'app.keep_private', 'app.keep_profile', 'app.keep_username',
            'app.leaves_no_name', 'app.likeness', 'app.make_account', 'app.make_group', 'app.make_presence',
            'app.manages', 'app.metadata_of', 'app.move_noted_mark', 'app.my_sight', 'app.name_guest', 'app.news',
            'app.normalized_counts', 'app.note_arrivals', 'app.note_private_change', 'app.note_proof', 'app.note_read',
            'app.note_removal', 'app.note_username', 'app.propagate_picture', 'app.ring', 'app.rooms_of_guest',
            'app.seat_owner', 'app.seat_participant', 'app.seat_participants', 'app.settle_presence',
            'app.shut_out_others', 'app.take_avatar', 'app.take_picture', 'app.take_seat', 'app.tells_events',
            'app.unseen', 'app.use_picture', 'app.users_in_sight', 'app.whole_attachment', 'app.word_likeness'])
    loop
        execute pg_catalog.format('drop function %s', old);
    end loop;
end
$$;
