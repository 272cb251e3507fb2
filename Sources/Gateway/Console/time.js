// Times of the wire, as people read them.

const zone = 'en-GB'
const clockFormat = new Intl.DateTimeFormat(zone, { hour: '2-digit', minute: '2-digit' })
const weekdayFormat = new Intl.DateTimeFormat(zone, { weekday: 'short' })
const dayFormat = new Intl.DateTimeFormat(zone, { day: 'numeric', month: 'short' })
const longFormat = new Intl.DateTimeFormat(zone, { weekday: 'long', day: 'numeric', month: 'long' })
const dateFormat = new Intl.DateTimeFormat(zone, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })

/// Returns the number of midnights between then and now.
function daysAgo(date) {
  const midnight = (day) => Date.UTC(day.getFullYear(), day.getMonth(), day.getDate())
  return Math.round((midnight(new Date()) - midnight(date)) / 86_400_000)
}

/// `14:05`
export function clock(time) { return clockFormat.format(new Date(time)) }

/// For `last seen …`: when somebody was, from today's time to another year's day.
export function lastSeen(time) {
  const date = new Date(time)
  const days = daysAgo(date)
  if (days <= 0) return `at ${clockFormat.format(date)}`
  if (days === 1) return `yesterday at ${clockFormat.format(date)}`
  if (days < 7) return `on ${longFormat.format(date).split(/[ ,]/)[0]} at ${clockFormat.format(date)}`
  return `on ${day(time)}`
}

/// For what is to be: the time of today, else the day and the time.
export function soon(date) {
  const days = -daysAgo(date)
  const clock = clockFormat.format(date)
  return days <= 0 ? clock : days === 1 ? `tomorrow, ${clock}` : `${dayFormat.format(date)}, ${clock}`
}

/// Returns a time of the next day, by its hour.
export function tomorrowAt(hour) {
  const date = new Date()
  date.setDate(date.getDate() + 1)
  date.setHours(hour, 0, 0, 0)
  return date
}

/// `14:05:09.123`
export function preciseClock(milliseconds) {
  const date = new Date(milliseconds)
  const two = (number) => String(number).padStart(2, '0')
  const fraction = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${fraction}`
}

/// For a list: the time of today, else the day.
export function short(time) {
  const date = new Date(time)
  const days = daysAgo(date)
  if (days <= 0) return clockFormat.format(date)
  if (days === 1) return 'Yesterday'
  return days < 7 ? weekdayFormat.format(date) : dayFormat.format(date)
}

/// For a line between two days.
export function day(time) {
  const date = new Date(time)
  const days = daysAgo(date)
  if (days <= 0) return 'Today'
  if (days === 1) return 'Yesterday'
  return date.getFullYear() === new Date().getFullYear() ? longFormat.format(date) : dateFormat.format(date)
}

/// `Friday 19 February 2027`
export function date(time) { return dateFormat.format(new Date(time)).replace(',', '') }

/// `Friday 19 February 2027, 14:05`
export function full(time) { return `${date(time)}, ${clock(time)}` }

/// Returns a duration as in `1:05`.
export function length(milliseconds) {
  const seconds = Math.round(milliseconds / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
