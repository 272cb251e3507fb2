import GRDB

/// The migrations of a user's store. A released migration is never changed.
enum StoreSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    -- The sync's cursor, the generation of the last reset, and the user's own data.
                    create table setting (name text primary key, value text not null) without rowid;

                    create table profile (
                        id text primary key, version integer not null, json text not null
                    ) without rowid;

                    create table conversation (
                        id text primary key,
                        kind text not null,
                        title text,
                        created_by text,
                        version integer not null,
                        -- The messages from this number up to the newest are stored without a gap.
                        first_seq integer not null,
                        last_seq integer not null,
                        last_message_content text,
                        last_message_time real,
                        last_message_sender_id text,
                        last_read_seq integer not null,
                        created_at real not null,
                        updated_at real not null,
                        -- A generation below the setting's has not come again since the last reset.
                        generation integer not null
                    ) without rowid;

                    create table member (
                        conversation_id text not null,
                        user_id text not null,
                        position integer not null,
                        role text not null,
                        joined_at real not null,
                        last_read_seq integer not null,
                        primary key (conversation_id, user_id)
                    ) without rowid;

                    create table message (
                        conversation_id text not null,
                        seq integer not null,
                        id text not null,
                        sender_id text not null,
                        client_id text,
                        kind text not null,
                        content text,
                        attachment text,
                        version integer not null,
                        created_at real not null,
                        edited_at real,
                        deleted_at real,
                        primary key (conversation_id, seq)
                    ) without rowid;

                    -- The outbox: changes that the server has not acknowledged, and those that it refused.
                    create table change (
                        id integer primary key autoincrement,
                        -- The queue: a conversation's id, or 'me'. The changes of a queue are sent in order.
                        lane text not null,
                        method text not null,
                        params text not null,
                        client_id text,
                        refusal text,
                        created_at real not null
                    );
                    create index change_lane on change (lane, id);
                    create unique index change_client_id on change (client_id) where client_id is not null;

                    -- The app's own values for this user on this device.
                    create table device_data (name text primary key, value text not null) without rowid;

                    create table draft (conversation_id text primary key, content text not null) without rowid;
                    """)
        }
        migrator.registerMigration("2") { database in
            try database.execute(
                sql: """
                    alter table conversation add column muted_until real;

                    -- The presence of users who share a conversation with this user.
                    create table presence (
                        user_id text primary key,
                        is_online integer not null,
                        last_seen_at real,
                        generation integer not null
                    ) without rowid;
                    """)
        }
        migrator.registerMigration("3") { database in
            try database.execute(
                sql: """
                    alter table profile add column generation integer not null default 0;

                    -- The stored objects may be of two generations. Without a cursor, the next sync is a reset.
                    delete from setting where name = 'cursor';
                    """)
        }
        migrator.registerMigration("4") { database in
            try database.execute(sql: "alter table message add column event text")
        }
        migrator.registerMigration("5") { database in
            try database.execute(
                sql: """
                    -- The last messages that processes of the app have received, for the events of the others.
                    create table arrival (
                        id integer primary key autoincrement,
                        -- The opened store of the process.
                        store text not null,
                        conversation_id text not null,
                        seq integer not null
                    );
                    """)
        }
        migrator.registerMigration("6") { database in
            try database.execute(
                sql: """
                    -- JSON: an array of numbers, and the app's object.
                    alter table conversation add column pinned_seqs text not null default '[]';
                    alter table conversation add column data text;
                    alter table conversation add column unread_mentions integer not null default 0;
                    alter table conversation add column is_marked_unread integer not null default 0;
                    alter table conversation add column is_archived integer not null default 0;
                    alter table conversation add column is_pinned integer not null default 0;

                    -- JSON: the quote as it came, an array of users' ids, and the app's object.
                    alter table message add column reply_to text;
                    alter table message add column mentions text not null default '[]';
                    alter table message add column mentions_everyone integer not null default 0;
                    alter table message add column data text;

                    create table reaction (
                        conversation_id text not null,
                        seq integer not null,
                        version integer not null,
                        -- JSON: the numbers of users by emoji, and this user's own emoji, or null if they are unknown.
                        counts text not null,
                        own text,
                        primary key (conversation_id, seq)
                    ) without rowid;

                    -- The stored objects lack the new members. Without a cursor, the next sync is a reset.
                    delete from setting where name = 'cursor';
                    """)
        }
        migrator.registerMigration("7") { database in
            try database.execute(
                sql: """
                    alter table conversation add column scheduled_count integer not null default 0;
                    alter table conversation add column unsent_count integer not null default 0;
                    alter table member add column last_delivered_seq integer not null default 0;
                    -- The stored objects lack the new members. Without a cursor, the next sync is a reset.
                    delete from setting where name = 'cursor';
                    """)
        }
        migrator.registerMigration("8") { database in
            try database.execute(
                sql: """
                    -- JSON: the attachments after the first, or null if there are none.
                    alter table message add column more_attachments text;

                    -- A picture in the outbox is the first file of its message.
                    update change
                       set method = 'messages.send_files',
                           params = json_remove(
                               json_set(params, '$.files', json_array(json_object(
                                   'attachment', json_extract(params, '$.attachment'),
                                   'upload', json_extract(params, '$.upload')))),
                               '$.attachment', '$.upload')
                     where method = 'messages.send_picture';

                    -- The stored objects lack the new members. Without a cursor, the next sync is a reset.
                    delete from setting where name = 'cursor';
                    """)
        }
        migrator.registerMigration("9") { database in
            try database.execute(
                sql: """
                    -- The number of the newest message that came by a sync or a push. The user's own messages, and
                    -- pages of older ones, may be stored before those that precede them.
                    alter table conversation add column received_seq integer not null default 0;
                    update conversation set received_seq = last_seq;
                    """)
        }
        migrator.registerMigration("10") { database in
            // The text so far of a message that is streaming, and null of others.
            try database.execute(sql: "alter table message add column streamed text")
        }
        migrator.registerMigration("11") { database in
            try database.execute(
                sql: """
                    -- The words of each message (SearchWords), and their index, which follows by triggers.
                    create table message_text (
                        id integer primary key,
                        conversation_id text not null,
                        seq integer not null,
                        words text not null,
                        unique (conversation_id, seq)
                    );
                    create virtual table message_search using fts5 (
                        words, content = 'message_text', content_rowid = 'id',
                        tokenize = "unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
                    );
                    create trigger message_text_added after insert on message_text begin
                        insert into message_search (rowid, words) values (new.id, new.words);
                    end;
                    create trigger message_text_removed after delete on message_text begin
                        insert into message_search (message_search, rowid, words)
                        values ('delete', old.id, old.words);
                    end;
                    create trigger message_text_changed after update on message_text begin
                        insert into message_search (message_search, rowid, words)
                        values ('delete', old.id, old.words);
                        insert into message_search (rowid, words) values (new.id, new.words);
                    end;
                    create trigger message_removed after delete on message begin
                        delete from message_text where conversation_id = old.conversation_id and seq = old.seq;
                    end;
                    """)
            let stored = try Row.fetchCursor(
                database,
                sql: "select conversation_id, seq, content from message where content <> '' and kind <> 'system'")
            let add = try database.makeStatement(
                sql: "insert into message_text (conversation_id, seq, words) values (?, ?, ?)")
            while let row = try stored.next() {
                try add.execute(
                    arguments: [
                        row["conversation_id"] as String, row["seq"] as Int, SearchWords.words(of: row["content"]),
                    ])
            }
        }
        migrator.registerMigration("12") { database in
            try database.execute(
                sql: """
                    -- The users whom this user blocks, the first one first.
                    create table blocked (position integer primary key, user_id text not null unique);

                    -- A sync since the cursor lacks those who are blocked already. Without it, the next sync is a reset.
                    delete from setting where name = 'cursor';
                    """)
        }
        migrator.registerMigration("13") { database in
            try database.execute(
                sql: """
                    -- The number of the oldest message that has not expired, and after how many seconds messages do.
                    alter table conversation add column oldest_seq integer not null default 1;
                    alter table conversation add column message_ttl_seconds integer;

                    -- The stored objects lack the new members. Without a cursor, the next sync is a reset.
                    delete from setting where name = 'cursor';
                    """)
        }
        migrator.registerMigration("14") { database in
            try database.execute(sql: "alter table message add column is_held integer not null default 0")
        }
        return migrator
    }
}
