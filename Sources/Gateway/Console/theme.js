// Light or dark: the system's choice, until the user makes another.

const key = 'postline.theme'
const system = matchMedia('(prefers-color-scheme: dark)')

function chosen() { return localStorage.getItem(key) }

export function isDark() { return chosen() ? chosen() === 'dark' : system.matches }

function show() {
  if (chosen()) document.documentElement.dataset.theme = chosen()
  else delete document.documentElement.dataset.theme
}

/// Changes to the other; back at the system's own, it follows the system again.
export function toggle() {
  const theme = isDark() ? 'light' : 'dark'
  if (theme === (system.matches ? 'dark' : 'light')) localStorage.removeItem(key)
  else localStorage.setItem(key, theme)
  show()
}

show()
