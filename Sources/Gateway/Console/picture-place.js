// From where this page may show pictures, which is what its policy (CSP) lets it fetch: anything else would only be an
// error in the browser's log.

const own = /^\/v1\/media\/[0-9a-f-]{36}$/i
let origins = new Set([location.origin])

/// Resolves once it is known: the policy that this page came with names the store's origins.
export const learned = learn()

async function learn() {
  try {
    const policy = (await fetch('/console/icon.svg')).headers.get('Content-Security-Policy') ?? ''
    const images = policy.split(';').find((part) => part.trim().startsWith('img-src')) ?? ''
    origins = new Set([location.origin, ...images.trim().split(/\s+/).filter((each) => /^https?:/.test(each))])
  } catch {
    // Then it is this server's own that are shown.
  }
}

/// Returns the URL by which the page reads or uploads a picture, or null if it may not.
export function place(address) {
  let url
  try {
    url = new URL(address)
  } catch {
    return null
  }
  if (origins.has(url.origin)) return url.href
  // A server that keeps pictures itself writes its address as it knows it, and this page may have come by another:
  // localhost, a tunnel, a proxy. They are below the page's own origin too.
  return own.test(url.pathname) ? url.pathname + url.search : null
}
