// How users reach the operator: an address of a page or a mailbox.

import { h } from './dom.js'

/// Returns the address as people write it.
export function contactName(address) { return address.replace(/^(mailto:|https:\/\/)/, '') }

/// Returns a link to the address.
export function contactLink(address, kind) {
  return h('a', { class: kind, href: address, target: '_blank', rel: 'noopener noreferrer' }, contactName(address))
}
