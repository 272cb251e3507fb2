/**
 * Reports events of the page that concern a connection. Does nothing outside of browsers. Returns a function that ends
 * this.
 *
 * @param {{ onVisible: (isVisible: boolean) => void, onNetwork: () => void, onHide: () => void }} listeners
 */
export function listenToPage({ onVisible, onNetwork, onHide }) {
  const { document, addEventListener, removeEventListener } = /** @type {any} */ (globalThis)
  if (typeof document !== 'object' || typeof addEventListener !== 'function') return () => {}
  const onVisibility = () => onVisible(isPageVisible())
  /** @type {[string, () => void][]} */
  const events = [
    ['online', onNetwork], ['offline', onNetwork], ['pagehide', onHide],
    // The page comes from the cache of pages.
    ['pageshow', onVisibility],
  ]
  document.addEventListener('visibilitychange', onVisibility)
  // The page was frozen.
  document.addEventListener('resume', onNetwork)
  for (const [name, listener] of events) addEventListener(name, listener)
  return () => {
    document.removeEventListener('visibilitychange', onVisibility)
    document.removeEventListener('resume', onNetwork)
    for (const [name, listener] of events) removeEventListener(name, listener)
  }
}

export function isPageVisible() { return globalThis.document?.visibilityState !== 'hidden' }
