import { check } from './errors.js'

/**
 * Returns the URL of the WebSocket: the server's address with `/v1/line`, unless it has a path.
 *
 * @param {string | URL} address Such as `https://chat.example.com`, or `/` on a page of the server itself.
 * @throws {PostlineError} `invalid_params` if it is no such URL.
 */
export function lineURL(address) {
  let url = String(address)
  const page = globalThis.location?.href
  // React Native's URL cannot resolve or change addresses, so absolute ones do without it.
  if (!/^[a-z]+:/i.test(url) && page) url = new URL(url, page).href
  check(/^(https?|wss?):\/\/[^/]/i.test(url), 'url', `an address such as https://chat.example.com, not ${url}`)
  return url.replace(/^http/i, 'ws').replace(/^(wss?:\/\/[^/]+)\/?$/i, '$1/v1/line')
}
