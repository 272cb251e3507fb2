/** Returns a random UUID. `crypto.randomUUID` is missing on pages without TLS and in React Native. */
export function uuid() {
  const { crypto } = globalThis
  if (crypto?.randomUUID) return crypto.randomUUID()
  const bytes = new Uint8Array(16)
  if (crypto?.getRandomValues) crypto.getRandomValues(bytes)
  else for (let index = 0; index < 16; index += 1) bytes[index] = Math.floor(Math.random() * 256)
  bytes[6] = bytes[6] & 0x0f | 0x40
  bytes[8] = bytes[8] & 0x3f | 0x80
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return [0, 8, 12, 16, 20].map((start, index, starts) => digits.slice(start, starts[index + 1])).join('-')
}
