import GRDB

/// The migrations of a user's store. A released migration is never changed.
enum StoreSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    -- The sync's cursor, the generation of the world that is here, and the user's own data.
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
                        -- From here on, up to the newest, no message is missing.
                        first_seq integer not null,
                        last_seq integer not null,
                        last_message_content text,
                        last_message_time real,
                        last_message_sender_id text,
                        last_read_seq integer not null,
                        created_at real not null,
                        updated_at real not null,
                        -- What is older than the setting's has not come again in a reset.
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

                    -- The outbox: calls that the server has not answered, and those that it refused.
                    create table change (
                        id integer primary key autoincrement,
                        -- Those of one lane are done in their order: a conversation's, the user's own.
                        lane text not null,
                        method text not null,
                        params text not null,
                        client_id text,
                        refusal text,
                        created_at real not null
                    );
                    create index change_lane on change (lane, id);
                    create unique index change_client_id on change (client_id) where client_id is not null;

                    -- What the app keeps of the user on this device alone.
                    create table device_data (name text primary key, value text not null) without rowid;

                    create table draft (conversation_id text primary key, content text not null) without rowid;
                    """)
        }
        migrator.registerMigration("2") { database in
            try database.execute(
                sql: """
                    alter table conversation add column muted_until real;

                    -- Of whom it was told of those who share a conversation.
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

                    -- What is here may be of two worlds: the next sync brings the whole of the one that there is.
                    delete from setting where name = 'cursor';
                    """)
        }
        migrator.registerMigration("4") { database in
            try database.execute(sql: "alter table message add column event text")
        }
        return migrator
    }
}
