/** @typedef {{ conversation_id: string, user_id: string, is_typing: boolean, expires_in?: number }} TypingNotice */
/** The users who are typing: each until its notice expires, it stops, or its message arrives. */
export class Typists {
    /** @param {(conversationID: string) => void} onChange */
    constructor(onChange: (conversationID: string) => void);
    onChange: (conversationID: string) => void;
    /** The ids of the users who type, by conversation, in the order in which they began. */
    get snapshot(): Readonly<Record<string, string[]>>;
    /** @param {TypingNotice} notice */
    receive({ conversation_id, user_id, is_typing, expires_in }: TypingNotice): void;
    /**
     * @param {string} conversationID
     * @param {string} userID
     */
    end(conversationID: string, userID: string): void;
    /** Without a connection no user is shown as typing. */
    clear(): void;
    #private;
}
export type TypingNotice = {
    conversation_id: string;
    user_id: string;
    is_typing: boolean;
    expires_in?: number;
};
