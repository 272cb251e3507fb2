/**
 * Returns the URL of the WebSocket: the server's address with `/v1/line`, unless it has a path.
 *
 * @param {string | URL} address Such as `https://chat.example.com`, or `/` on a page of the server itself.
 */
export function lineURL(address) {
  let url = String(address)
  // React Native's URL cannot resolve or change addresses, so absolute ones do without it.
  if (!/^[a-z]+:/i.test(url)) url = new URL(url, globalThis.location?.href).href
  return url.replace(/^http/i, 'ws').replace(/^(wss?:\/\/[^/]+)\/?$/i, '$1/v1/line')
}
