/** Returns a random UUID. `crypto.randomUUID` is missing on pages without TLS and in React Native. */
export function uuid() {
  const { crypto } = globalThis
  if (crypto?.randomUUID) return crypto.randomUUID()
  const random = () => crypto?.getRandomValues?.(new Uint8Array(1))[0] ?? Math.random() * 256
  // The digit after the second hyphen is the version, and that after the third has two bits of the variant.
  return '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (digit) => {
    return (Number(digit) ^ random() & 15 >> Number(digit) / 4).toString(16)
  })
}
