/**
 * Reports events of the page that concern a connection. Does nothing outside of browsers. Returns a function that ends
 * this.
 *
 * @param {{ onVisible: (isVisible: boolean) => void, onNetwork: () => void, onHide: () => void }} listeners
 */
export function listenToPage({ onVisible, onNetwork, onHide }) {
  const { document, addEventListener } = /** @type {any} */ (globalThis)
  if (typeof document !== 'object' || typeof addEventListener !== 'function') return () => {}
  const onVisibility = () => onVisible(isPageVisible())
  /** @type {[EventTarget, string, () => void][]} */
  const events = [
    [globalThis, 'online', onNetwork], [globalThis, 'offline', onNetwork], [globalThis, 'pagehide', onHide],
    // The page comes from the cache of pages.
    [globalThis, 'pageshow', onVisibility],
    [document, 'visibilitychange', onVisibility],
    // The page was frozen.
    [document, 'resume', onNetwork],
  ]
  for (const [target, name, listener] of events) target.addEventListener(name, listener)
  return () => {
    for (const [target, name, listener] of events) target.removeEventListener(name, listener)
  }
}

export function isPageVisible() { return globalThis.document?.visibilityState !== 'hidden' }
