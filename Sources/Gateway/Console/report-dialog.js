// Reporting a message or a user to the moderators.

import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { FieldProblem, field, form } from './form.js'
import { toast } from './notice.js'

/// The reasons of a report, as people read them.
export const reasons = {
  spam: 'Spam', abuse: 'Insults or harassment', sexual: 'Sexual content', violence: 'Violence',
  illegal: 'Something illegal', other: 'Something else',
}

/// Opens the dialog. `target` is a message, or the id of a user.
export function openReport(app, target) {
  const isUser = typeof target === 'string'
  const name = app.directory.name(isUser ? target : target.sender_id)
  const reason = field({
    name: 'reason', label: 'Reason', options: [['', 'Choose a reason'], ...Object.entries(reasons)],
  })
  const comment = field({
    name: 'comment', label: 'What should the moderators know?', optional: true, multiline: true, maxLength: 1000,
  })
  openDialog({
    title: isUser ? `Report ${name}` : `Report a message of ${name}`,
    kind: 'small',
    build: (close) => [
      h('p', {}, isUser ? `The moderators get the profile as it is now. ${name} is not told.`
        : `The moderators get the message and the ten before it. ${name} is not told.`),
      form({
        fields: [reason, comment],
        action: 'Report',
        submit: async () => {
          if (!reason.value) throw new FieldProblem('reason', 'Choose a reason.')
          await app.client.report(target, reason.value, comment.value.trim() || undefined)
          close()
          toast('Reported. The moderators will look at it.')
        },
      }).element,
    ],
  })
  reason.input.focus()
}
