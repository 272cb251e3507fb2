import { byteCount } from './connection.js'
import { check, invalidParams } from './errors.js'

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
  if (!object) throw invalidParams(undefined, `${taker} needs an object. ${known}`)
  const field = Object.keys(object).find((name) => !names.includes(name))
  if (field === undefined) return
  throw invalidParams(field, `${taker} takes no "${field}". ${known}`)
}

/** The options of a new message with files of this device. */
const fileNames = ['content', 'kind', 'reply_to_seq', 'mentions', 'mentions_everyone', 'data']

/** The options of a new message. */
const sendNames = ['kind', 'attachment', 'attachments', 'reply_to_seq', 'mentions', 'mentions_everyone', 'data']

/** The options of an edit. */
const editNames = ['mentions', 'mentions_everyone', 'data']

/** The bounds of the protocol. */
const maxCharacters = 8000
const maxMentions = 50
const maxDataBytes = 4096

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
  checkDetails(options)
  check(!attachments || (isList(attachments, 10) && attachments.length), 'attachments', '1 to 10 attachments')
  check(seq === undefined || (Number.isSafeInteger(seq) && seq > 0), 'reply_to_seq', 'the seq of a message')
}

/**
 * Checks an edit before it is queued.
 *
 * @param {any} message
 * @param {any} content
 * @param {any} options
 * @throws {PostlineError} `invalid_params`
 */
export function checkEdit(message, content, options) {
  checkIsMessage('edit', message)
  checkNames('edit', options, editNames)
  checkContent(content, message.kind !== 'text')
  checkDetails(options)
}

/** @param {any} options */
function checkDetails({ mentions, data }) {
  check(!mentions || isList(mentions, maxMentions), 'mentions', 'at most 50 ids of users')
  mentions?.forEach((/** @type {any} */ id, /** @type {number} */ index) => checkID(`mentions[${index}]`, id))
  check(
    !data || (typeof data === 'object' && !Array.isArray(data) && byteCount(JSON.stringify(data)) <= maxDataBytes),
    'data', 'an object of at most 4 KiB of JSON')
}

/**
 * @param {any} value
 * @param {number} most
 */
function isList(value, most) { return Array.isArray(value) && value.length <= most }

/**
 * @param {any} content
 * @param {boolean} mayBeEmpty
 */
function checkContent(content, mayBeEmpty) {
  // A character may have two units, and half a one is none.
  const isRight = typeof content === 'string' && (content || mayBeEmpty)
    && /** @type {any} */ (content).isWellFormed?.() !== false
    && (content.length <= maxCharacters || [...content].length <= maxCharacters)
  check(isRight, 'content', 'a string of 1 to 8,000 whole characters')
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
  throw invalidParams('message', `${taker} needs a message of the chat.`)
}

/**
 * Checks an id.
 *
 * @param {string} field
 * @param {any} id
 * @throws {PostlineError} `invalid_params`
 */
export function checkID(field, id) {
  const isRight = typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
  check(isRight, field, 'a UUID in lower case')
}

/**
 * Checks the key of a change.
 *
 * @param {any} key
 * @throws {PostlineError} `invalid_params`
 */
export function checkKey(key) {
  if (typeof key !== 'string') throw invalidParams('change', 'It takes the "change" of a message or refused change.')
}
