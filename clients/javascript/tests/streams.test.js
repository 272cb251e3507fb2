import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ann, ben, direct, firstPage, push, script, signIn } from './support/scripted-client.js'
import { message } from './support/scripted-server.js'

const piece = (seq, start, content) => ({ conversation_id: direct, seq, start, content })

describe('Messages that stream', () => {
  test('grow by what is beyond the text so far, and are as any other at the end', async (t) => {
    const { server, client } = script(t, {}, firstPage(2))
    const chat = await signIn(client)
    const last = () => chat.messages.at(-1)
    const shown = () => [last().content, last().is_streaming, client.conversations[0].last_message_content]
    await push(server, client, { messages: [message(direct, 3, ben, { content: '' })], pieces: [piece(3, 0, '')] }, '2')
    assert.deepEqual(shown(), ['', true, ''])
    const before = chat.messages[0]
    const pieces = [
      [piece(3, 0, 'One 😀'), 'One 😀'], [piece(3, 5, ' two'), 'One 😀 two'],
      // The same again, a part of it with more, and one that begins beyond the text.
      [piece(3, 5, ' two'), 'One 😀 two'], [piece(3, 6, 'two three'), 'One 😀 two three'],
      [piece(3, 99, 'lost'), 'One 😀 two three'],
    ]
    for (const [index, [each, text]] of pieces.entries()) {
      await push(server, client, { pieces: [each] }, `${3 + index}`)
      assert.deepEqual(shown(), [text, true, text])
    }
    assert.equal(chat.messages[0], before)
    const end = message(direct, 3, ben, { version: 2, content: 'One 😀 two three' })
    await push(server, client, { messages: [end], pieces: [piece(3, 16, ' late'), piece(9, 0, 'no')] }, '9')
    assert.deepEqual(shown(), ['One 😀 two three', undefined, 'One 😀 two three'])
  })

  test('come with the first page, and with a page of older messages', async (t) => {
    const page = firstPage(30, { pieces: [piece(30, 0, 'so far')] })
    const { server, client } = script(t, {}, page)
    const chat = await signIn(client)
    assert.deepEqual([chat.messages.at(-1).content, chat.messages.at(-1).is_streaming], ['so far', true])
    server.methods['messages.list'] = ({ before_seq }) => ({
      messages: Array.from({ length: before_seq - 1 }, (_, index) => message(direct, index + 1, ann)),
      reactions: [], pieces: [piece(7, 0, 'older')],
    })
    await chat.loadOlder()
    assert.deepEqual([chat.messages[6].seq, chat.messages[6].content], [7, 'older'])
  })
})
