import { applyOlderMessages } from './apply-messages.js'
import { objectsOf } from './outbox.js'
import { sessionOf } from './tokens.js'

const pageSize = 50

/**
 * What the tab that leads does for all: the methods of the protocol, whose objects it stores, and these of its own.
 *
 * - `.access-token` returns an access token that is valid for a while.
 * - `.refresh` fetches the changes that the server has now.
 * - `.upgrade` turns the guest into an account.
 * - `.edit` edits a message that is not sent yet.
 * - `.older` fetches the page of messages before those that are stored.
 *
 * @param {{
 *   engine: import('./sync-engine.js').SyncEngine, user: import('./user-data.js').UserData,
 *   tokens: import('./tokens.js').TokenKeeper
 * }} leader
 * @param {string} method
 * @param {any} [params]
 * @returns {Promise<any>}
 */
export async function perform({ engine, user, tokens }, method, params) {
  const { store } = user
  switch (method) {
    case '.edit': return user.editUnsent(params.key, params.params)
    case '.access-token': return engine.accessToken()
    case '.refresh': return engine.refresh()
    case '.upgrade':
      await tokens.update(sessionOf(await engine.call('auth.upgrade', params)))
      return store.applyResponse({ me: await engine.call('me.get') })
    case '.older': {
      const { conversation_id } = params
      const before_seq = store.mirror.conversation.get(conversation_id)?.first_seq ?? 1
      if (before_seq <= 1) return
      // Again, if a message changed that may be of the page.
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const changes = store.olderChanges(conversation_id)
        const page = await engine.call('messages.list', { conversation_id, before_seq, limit: pageSize })
        if (changes !== store.olderChanges(conversation_id)) continue
        return store.transact((draft) => applyOlderMessages(draft, conversation_id, before_seq, page))
      }
      return
    }
    default: {
      const result = await engine.call(method, params)
      await store.applyResponse(objectsOf(method, result))
      return result
    }
  }
}
