/** @typedef {import('./message-views.js').MessageView} Message */
/** @typedef {Message['attachments'][number]} Attachment */
/** @typedef {import('./conversation-views.js').ConversationView} Conversation */
/** @typedef {import('../types').Profile} Profile */
/** @typedef {import('../types').Me} Me */
/** @typedef {import('../types').Presence} Presence */
/** @typedef {import('./user-data.js').RefusedChange} RefusedChange */
/** @typedef {import('./sync-engine.js').ConnectionState} ConnectionState */
/** @typedef {import('./client.js').Account} Account */
/** @typedef {import('./client.js').ClientOptions} ClientOptions */
/** @typedef {import('./chat.js').ChatSnapshot} ChatSnapshot */
/** @typedef {import('./chat.js').SendOptions} SendOptions */
/** @typedef {import('./storage.js').Storage} Storage */

export { Chat } from './chat.js'
export { PostlineClient } from './client.js'
export { displayName } from './conversation-views.js'
export { PostlineError } from './errors.js'
export { indexedDBStorage } from './indexeddb-storage.js'
export { memoryStorage } from './memory-storage.js'
export { messageFile } from './file.js'
export { avatarPicture, messagePicture } from './picture.js'
