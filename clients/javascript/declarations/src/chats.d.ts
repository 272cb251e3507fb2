/** The chats of a client. One without a listener lasts as long as the app holds it. */
export class Chats {
    /** @param {Omit<import('./chat.js').ChatClient, 'keep'>} client */
    constructor(client: Omit<import('./chat.js').ChatClient, 'keep'>);
    /** @type {import('./chat.js').ChatClient} */
    client: import('./chat.js').ChatClient;
    /**
     * Returns the chat of a conversation. The same conversation has the same object while it lasts.
     *
     * @param {string} id
     * @param {import('./user-data.js').UserData | null} user
     */
    get(id: string, user: import('./user-data.js').UserData | null): Chat;
    /**
     * @param {string} id
     */
    update(id: string): void;
    /** @param {(chat: Chat) => void} action */
    each(action: (chat: Chat) => void): void;
    #private;
}
import { Chat } from "./chat.js";
