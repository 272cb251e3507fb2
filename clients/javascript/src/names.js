import { PostlineError } from './errors.js'

/** The options of `PostlineClient`. */
export const clientOptions = [
  'url', 'storage', 'WebSocket', 'accessToken', 'onLine', 'eraseOnSessionEnd', 'mediaURL', 'tabs',
]

/** The members of the ways to sign in. */
export const credentialNames = [
  'email', 'password', 'accessToken', 'guestAccessToken', 'identityToken', 'nonce', 'fullName',
]

/**
 * Checks that an object has no unknown members, which may be misspelt ones.
 *
 * @param {string} taker The name of what takes the object.
 * @param {object} object
 * @param {string[]} names
 * @throws {PostlineError} `invalid_params`
 */
export function checkNames(taker, object, names) {
  const known = `Its members are ${names.join(', ')}.`
  if (!object) throw new PostlineError('invalid_params', `${taker} needs an object. ${known}`)
  const field = Object.keys(object).find((name) => !names.includes(name))
  if (field === undefined) return
  throw new PostlineError('invalid_params', `${taker} takes no "${field}". ${known}`, { field })
}

/** The options of a new message with files of this device. */
const fileNames = ['content', 'kind', 'reply_to_seq', 'mentions', 'mentions_everyone', 'data']

/** The options of a new message. */
const sendNames = ['kind', 'attachment', 'attachments', 'reply_to_seq', 'mentions', 'mentions_everyone', 'data']

/** The options of an edit. */
const editNames = ['mentions', 'mentions_everyone', 'data']

/**
 * Checks a new message before it is queued, so that a mistake of the app is an error of its call.
 *
 * @param {string} taker
 * @param {any} content
 * @param {any} options
 * @throws {PostlineError} `invalid_params`
 */
export function checkMessage(taker, content, options) {
  const hasFiles = taker === 'sendPicture' || taker === 'sendFiles'
  checkNames(taker, options, hasFiles ? fileNames : sendNames)
  const { kind, attachment, attachments, reply_to_seq: seq } = options
  checkContent(content, hasFiles || attachment || attachments || (kind ?? 'text') !== 'text')
  if (attachments && !(Array.isArray(attachments) && attachments.length >= 1 && attachments.length <= 10)) {
    throw new PostlineError('invalid_params', '"attachments" must be 1 to 10 attachments.', { field: 'attachments' })
  }
  if (seq !== undefined && !(Number.isSafeInteger(seq) && seq > 0)) {
    throw new PostlineError('invalid_params', '"reply_to_seq" must be the seq of a message.', { field: 'reply_to_seq' })
  }
}

/**
 * @param {any} content
 * @param {any} options
 * @throws {PostlineError} `invalid_params`
 */
export function checkEdit(content, options) {
  checkNames('edit', options, editNames)
  checkContent(content, true)
}

/**
 * @param {any} content
 * @param {boolean} mayBeEmpty
 */
function checkContent(content, mayBeEmpty) {
  if (typeof content === 'string' && (content || mayBeEmpty)) return
  const message = '"content" must be a string of 1 to 8,000 characters.'
  throw new PostlineError('invalid_params', message, { field: 'content' })
}

/**
 * Checks an argument that must be a message of a chat.
 *
 * @param {string} taker
 * @param {any} message
 * @throws {PostlineError} `invalid_params`
 */
export function checkIsMessage(taker, message) {
  if (message && (message.seq === null || Number.isSafeInteger(message.seq))) return
  throw new PostlineError('invalid_params', `${taker} needs a message of the chat.`, { field: 'message' })
}

/**
 * Checks an id.
 *
 * @param {string} field
 * @param {any} id
 * @throws {PostlineError} `invalid_params`
 */
export function checkID(field, id) {
  if (typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return
  throw new PostlineError('invalid_params', `"${field}" must be a UUID in lower case.`, { field })
}
