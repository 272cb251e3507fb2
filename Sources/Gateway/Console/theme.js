// Light or dark: as the system is, until the user chooses.

const key = 'postline.theme'
const system = matchMedia('(prefers-color-scheme: dark)')

/// Returns the user's choice: `light`, `dark`, or an empty string for the system's.
export function chosen() { return localStorage.getItem(key) ?? '' }

export function isDark() { return chosen() ? chosen() === 'dark' : system.matches }

/// Takes the user's choice; an empty string follows the system.
export function choose(theme) {
  if (theme) localStorage.setItem(key, theme)
  else localStorage.removeItem(key)
  show()
}

/// Changes to the other theme. Back at the system's, it follows the system again.
export function toggle() {
  const theme = isDark() ? 'light' : 'dark'
  choose(theme === (system.matches ? 'dark' : 'light') ? '' : theme)
}

function show() {
  if (chosen()) document.documentElement.dataset.theme = chosen()
  else delete document.documentElement.dataset.theme
}

show()
