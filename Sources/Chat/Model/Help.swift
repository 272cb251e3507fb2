/// The commands and keys in the order and the groups of `/help`.
enum Help {
    /// One row: a command or a key, and what it does.
    struct Row: Sendable {
        let usage: String
        let meaning: String

        /// The command with its slash, followed by a blank if it takes an argument; nil for rows that are no command.
        var command: String? {
            guard usage.hasPrefix("/"), !usage.hasPrefix("//") else { return nil }
            guard let blank = usage.firstIndex(of: " ") else { return usage }
            return String(usage[...blank])
        }
    }

    struct Group: Sendable {
        let title: String
        let rows: [Row]

        fileprivate init(_ title: String, _ rows: KeyValuePairs<String, String>) {
            self.title = title
            self.rows = rows.map { Row(usage: $0.key, meaning: $0.value) }
        }
    }

    /// The width in cells of the column of commands and keys.
    static let usageWidth = 24

    /// The groups of commands.
    static let commands = [
        Group(
            "Conversations",
            [
                "/open NAME": "open a conversation by number or name, or a person's",
                "/list": "show the conversations",
                "/search WORDS": "look for people and messages",
                "/members": "show who is in the open conversation",
                "/group TITLE with NAMES": "make a group; names are separated by commas",
                "/add NAMES": "add people to the open group",
                "/remove NAME": "remove a member from it",
                "/role NAME ROLE": "make somebody member, admin or owner of it",
                "/rename TITLE": "change its title",
                "/leave": "leave it",
                "/mute [8h]": "turn off pushes of the open conversation",
                "/unmute": "turn them on again",
                "/expire 7d": "delete messages after that; or /expire never",
                "/archive": "put the open conversation at the end of the list",
                "/unarchive": "take it back; so does a message that mentions you",
            ]),
        Group(
            "Messages",
            [
                "/edit TEXT": "change your last message; /edit #12 TEXT another",
                "/delete": "delete your last message; /delete #12 another",
                "/reply TEXT": "answer the last message of others; /reply #12 TEXT",
                "/react EMOJI": "react to it, or take yours back; /react #12 EMOJI",
                "/thread": "show the replies to the last answered; /thread #12",
                "/pin": "pin the last message for all; /pin #12 another",
                "/unpin": "unpin the last pinned message; /unpin #12 another",
                "/pins": "show the pinned messages",
                "/report [#12] REASON": "spam, abuse, sexual, violence, illegal or other",
                "/block [NAME]": "block a person, or the other one of this conversation",
                "/unblock [NAME]": "end that",
                "/blocked": "show whom you block",
                "/image FILE": "send a picture",
                "/file PATH [TEXT]": "send any file; a path with blanks is in quotes",
                "/save PATH": "save the last files there; /save #12 PATH others",
                "/later TIME TEXT": "send at 18:30, or after 20m, 3h or 2d",
                "/scheduled": "show the messages that wait for their time",
                "/unschedule NUMBER": "remove one of them",
                "/mine": "show your messages with their numbers",
                "/numbers": "show the last messages with their numbers",
                "/older": "show older messages",
                "/refused": "show the messages that the server refused",
                "/retry [NUMBER]": "send a refused message again, or all of them",
                "/discard NUMBER": "drop a refused message; /discard all drops all",
                "//text": "send a text that begins with a slash",
                "@NAME": "in a text: mention a member, or @everyone as admin",
            ]),
        Group(
            "Profile",
            [
                "/me": "show all of your data",
                "/name NEW": "change your name",
                "/username [NEW]": "change your username, or show when you can",
                "/avatar [NEW]": "one that /avatar lists, a picture's file, or none",
                "/bio TEXT": "change your bio; none removes it",
                "/hide": "hide your presence; you then see nobody else's",
                "/show": "show it again",
            ]),
        Group(
            "Account",
            [
                "/upgrade EMAIL": "as a guest: keep this account; asks for a password",
                "/login EMAIL": "as a guest: move everything into your account",
                "/password": "change your password",
                "/logout [all]": "sign out here, or everywhere; erases what is kept",
                "/delete-account": "delete your account for good; asks first",
                "/help": "show this list",
                "/quit": "leave the chat; you stay signed in",
            ]),
    ]

    /// The keys of the screen.
    static let keys = Group(
        "Keys",
        [
            "Enter": "send; in the list, open",
            "Alt-Enter, Ctrl-J": "begin a new line",
            "Tab, Shift-Tab": "complete a command or name; else list and back",
            "↑ ↓ PgUp PgDn": "choose in the list, scroll the messages",
            "↑ in an empty line": "edit your last message, then the ones before",
            "Ctrl-N, Ctrl-P": "open the next, the previous conversation",
            "Alt-1 to Alt-9": "open that conversation of the list",
            "Ctrl-W, Ctrl-U, Ctrl-K": "delete the word, all before, all behind",
            "Esc": "cancel an edit, a completion or a question",
            "Ctrl-C": "leave the chat",
        ])
}
