// A swipe of a finger to the right over a row, such as to answer a message.

/// The distance in pixels from which a swipe counts, and beyond which the row does not follow.
const enough = 56
const most = 80

/// Calls `act` with the row that a finger has moved to the right. Browsers scroll by vertical movements alone here
/// (`touch-action: pan-y`).
export function onSwipe(list, rows, act) {
  let row = null
  let start
  let distance = 0
  const end = (isDone) => {
    if (!row) return
    row.style.translate = ''
    row.classList.remove('swiped', 'swipes')
    const swiped = row
    row = null
    if (isDone && distance >= enough) act(swiped)
  }
  list.addEventListener('pointerdown', (event) => {
    end(false)
    if (event.pointerType !== 'touch' || !event.isPrimary) return
    row = event.target.closest(rows)
    start = event
    distance = 0
  })
  list.addEventListener('pointermove', (event) => {
    if (!row) return
    const [x, y] = [event.clientX - start.clientX, event.clientY - start.clientY]
    if (distance === 0 && (Math.abs(y) > 12 || x < -12)) return end(false)
    // The first pixels may belong to a press.
    distance = Math.max(0, Math.min(most, x - 12))
    row.classList.toggle('swipes', distance > 0)
    row.classList.toggle('swiped', distance >= enough)
    row.style.translate = `${distance}px`
  })
  list.addEventListener('pointerup', () => end(true))
  list.addEventListener('pointercancel', () => end(false))
}
