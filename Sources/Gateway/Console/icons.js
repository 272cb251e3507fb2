// The page's icons: strokes on a grid of 24, in the colour of the text around them.

const paths = {
  archive: 'M4 5h16v4H4zM5.5 9v10.5h13V9M10 13h4',
  back: 'M15 5l-7 7 7 7',
  bell: 'M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 1.5h-15zM10 20.8a2.3 2.3 0 0 0 4 0',
  block: 'M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18zM5.8 5.8l12.4 12.4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  checks: 'M2.5 12.5L7 17 16 7.5M12 16.5l.8.5L21.5 7.5',
  clock: 'M12 7.5V12l3 2M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18z',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  down: 'M12 5v14M6 13l6 6 6-6',
  edit: 'M4 20h4L19 9a2.8 2.8 0 0 0-4-4L4 16v4z',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
  flag: 'M6 21V4M6 5h11l-2 4 2 4H6',
  group: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-3.6 2.9-6 6.5-6s6.5 2.4 6.5 6'
    + 'M16 4.3a3.5 3.5 0 0 1 0 6.4M18 14.4c2.2.8 3.5 2.9 3.5 5.6',
  info: 'M12 11v5.5M12 7.5v.1M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18z',
  keyboard: 'M3 6.5h18v11H3zM7 10v.1M11 10v.1M15 10v.1M8 14h8',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4.1 4.1 0 0 0-5.8-5.8l-1.2 1.2'
    + 'M14 10a4 4 0 0 0-6-.4l-3 3a4.1 4.1 0 0 0 5.8 5.8l1.2-1.2',
  lines: 'M4 7h16M4 12h10M4 17h13',
  more: 'M6 12a1 1 0 1 1-2 0 1 1 0 0 1 2 0zM13 12a1 1 0 1 1-2 0 1 1 0 0 1 2 0zM20 12a1 1 0 1 1-2 0 1 1 0 0 1 2 0z',
  microphone: 'M12 14.5a3 3 0 0 1-3-3V6a3 3 0 0 1 6 0v5.5a3 3 0 0 1-3 3zM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z',
  muted: 'M4 3.5l16 17M8.2 6.4A6 6 0 0 1 18 11v3.2M17.2 18H4.5L6 16.5V11a6 6 0 0 1 .4-2.1M10 20.8a2.3 2.3 0 0 0 4 0',
  offline: 'M3 3l18 18M5 12.5a10 10 0 0 1 4-2.4M2 8.5a15 15 0 0 1 4.5-2.8M19 12.5a10 10 0 0 0-5-2.7'
    + 'M22 8.5A15 15 0 0 0 11 5M8.5 16a5 5 0 0 1 6 0M12 20v.1',
  paperclip: 'M20 11.5l-8.5 8.5a5 5 0 0 1-7-7L13 4.5a3.4 3.4 0 0 1 4.8 4.8L9.5 17.5a1.7 1.7 0 0 1-2.4-2.4L14.5 7.8',
  pin: 'M8.5 4h7M9.5 4v6l-3 3.5V15h11v-1.5l-3-3.5V4M12 15v6',
  picture: 'M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M9 9.2v.1',
  pause: 'M8 5v14M16 5v14',
  play: 'M8 5l11 7-11 7z',
  plus: 'M12 5v14M5 12h14',
  reply: 'M10 7l-6 5.5 6 5.5M4.5 12.5H14a6 6 0 0 1 6 6',
  search: 'M10.5 17a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13zM15.5 15.5L20 20',
  send: 'M4 12l16-8-5.5 16-3-7z',
  settings: 'M4 7h9M19 7h1M16 4.5v5M4 17h1M11 17h9M8 14.5v5',
  signout: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H9.5',
  smile: 'M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18zM8.3 14.3a4.6 4.6 0 0 0 7.4 0M9 9.5v.1M15 9.5v.1',
  sun: 'M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4'
    + 'M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5',
  trash: 'M5 7h14M10 4h4M7 7l.8 13h8.4L17 7',
  unread: 'M4 6h16v12.5H4zM4 7l8 6 8-6',
  up: 'M12 19V5M6 11l6-6 6 6',
  verified: 'M12 3l2.4 1.8 3 .1.9 2.9 2.4 1.7-1 2.8 1 2.8-2.4 1.7-.9 2.9-3 .1L12 21.6'
    + 'l-2.4-1.8-3-.1-.9-2.9-2.4-1.7 1-2.8-1-2.8 2.4-1.7.9-2.9 3-.1zM8.5 12.2l2.5 2.5 4.5-4.8',
  warning: 'M12 4L2.5 20h19zM12 10v4.5M12 17.2v.1',
}

/// An icon that says nothing by itself; whoever uses it labels what it stands in.
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('aria-hidden', 'true')
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
  path.setAttribute('d', paths[name])
  svg.append(path)
  return svg
}
