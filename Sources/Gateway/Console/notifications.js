// Desktop notifications of new messages: only if the user has switched them on, and only while the page is not visible.

const key = 'postline.notifications'

/// True if the browser can show notifications. Without HTTPS it can only on this machine.
export const isSupported = 'Notification' in window && isSecureContext

export function isOn() {
  return isSupported && localStorage.getItem(key) === 'on' && Notification.permission === 'granted'
}

/// Switches notifications on or off. Returns whether they are on, which the browser's user may refuse.
export async function turn(on) {
  if (!on) localStorage.removeItem(key)
  else if (await Notification.requestPermission() === 'granted') localStorage.setItem(key, 'on')
  return isOn()
}

/// Shows a notification of a message; a later one of the same conversation replaces it.
export function notify({ title, text, conversationID, open }) {
  if (!isOn() || document.visibilityState === 'visible') return
  try {
    const notification = new Notification(title, { body: text, tag: conversationID, icon: '/console/icon.svg' })
    notification.onclick = () => {
      focus()
      notification.close()
      open()
    }
  } catch {
    // Browsers on Android show notifications of service workers only.
  }
}
