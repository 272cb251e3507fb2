// Files that are dragged onto the page.

/// Calls `take` with the files that are dropped on `element` while `isOpen` says so; it has the class `dropping` while
/// they are above it.
export function dropZone(element, { isOpen, take }) {
  // Entering a child leaves its parent, so it is counted.
  let depth = 0
  const show = (is) => {
    depth = is ? depth : 0
    element.classList.toggle('dropping', is)
  }
  element.addEventListener('dragenter', (event) => {
    if (!hasFiles(event) || !isOpen()) return
    event.preventDefault()
    depth += 1
    show(true)
  })
  element.addEventListener('dragover', (event) => {
    if (!hasFiles(event) || !isOpen()) return
    event.preventDefault()
    event.stopPropagation()
    event.dataTransfer.dropEffect = 'copy'
  })
  element.addEventListener('dragleave', (event) => {
    if (!hasFiles(event)) return
    depth -= 1
    if (depth <= 0) show(false)
  })
  element.addEventListener('drop', (event) => {
    show(false)
    if (!hasFiles(event) || !isOpen()) return
    event.preventDefault()
    event.stopPropagation()
    if (event.dataTransfer.files.length) take([...event.dataTransfer.files])
  })
}

/// A file that falls beside is not to take the place of the page, which is what browsers do with it.
export function catchStrays() {
  for (const kind of ['dragover', 'drop']) {
    addEventListener(kind, (event) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'none'
    })
  }
}

function hasFiles(event) { return [...event.dataTransfer?.types ?? []].includes('Files') }
