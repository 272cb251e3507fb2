// The page's icon, with the number of unread messages.

const size = 64
const address = '/console/icon.svg'
const link = document.querySelector('link[rel=icon]')
let image
let shown = 0

/// Shows the number of unread messages in the page's icon; the plain icon for 0.
export async function showUnread(count) {
  if (count === shown) return
  shown = count
  if (!count) {
    link.type = 'image/svg+xml'
    link.href = address
    return
  }
  try {
    image ??= load()
    const icon = await image
    if (count === shown) draw(icon, count > 9 ? '9+' : String(count))
  } catch {
    // The title has the number too.
    image = undefined
  }
}

async function load() {
  const element = new Image(size, size)
  element.src = address
  await element.decode()
  return element
}

function draw(icon, text) {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = size
  const context = canvas.getContext('2d')
  context.drawImage(icon, 0, 0, size, size)
  const radius = 20
  context.beginPath()
  context.arc(size - radius, radius, radius, 0, 2 * Math.PI)
  context.fillStyle = '#b3261e'
  context.fill()
  context.fillStyle = '#ffffff'
  context.font = `bold ${text.length > 1 ? 26 : 32}px sans-serif`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText(text, size - radius, radius + 2)
  link.type = 'image/png'
  link.href = canvas.toDataURL('image/png')
}
