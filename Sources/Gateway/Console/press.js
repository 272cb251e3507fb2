// Waits for the release of a pressed button or finger before the page is redrawn: an element that is replaced or moves
// between press and release gets no click.

/// Milliseconds after which a press no longer holds up drawing.
const LONGEST = 5000

let timer = null
let waiting = null

/// Calls `draw` now, or once nothing is pressed. Only the last call that waits counts.
export function afterPress(draw) {
  if (timer === null) draw()
  else waiting = draw
}

function press() {
  clearTimeout(timer)
  timer = setTimeout(release, LONGEST)
}

function release() {
  clearTimeout(timer)
  timer = null
  const draw = waiting
  waiting = null
  draw?.()
}

addEventListener('pointerdown', press, true)
// The click follows in the same task.
addEventListener('pointerup', () => setTimeout(release), true)
addEventListener('pointercancel', release, true)
// The release of a scroll bar has no event of its own.
addEventListener('pointermove', ({ buttons }) => { if (timer !== null && !buttons) release() }, true)
