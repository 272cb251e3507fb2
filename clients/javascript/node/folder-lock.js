import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const pattern = /^(\d+)\.([^.]*)\.[^.]+\.lock$/

/**
 * The lock of a folder: a file whose name has the process and its start. A file of a process that is gone counts no
 * more. Processes that do not see each other, as in two containers, do not exclude each other.
 */
export class FolderLock {
  #path

  /**
   * Locks a folder.
   *
   * @param {string} folder
   * @throws {Error} if another process has the lock.
   */
  constructor(folder) {
    this.#path = join(folder, `${process.pid}.${startOf(process.pid) ?? ''}.${randomUUID()}.lock`)
    refuseOthers(folder, this.#path)
    // Each process has a file of its own and looks again after it has made it. So of two that lock at the same time one
    // sees the other, and the file of a process that is gone can be deleted by anyone.
    writeFileSync(this.#path, '', { flag: 'wx', mode: 0o600 })
    try {
      refuseOthers(folder, this.#path)
    } catch (error) {
      this.release()
      throw error
    }
  }

  release() { rmSync(this.#path, { force: true }) }
}

/**
 * Deletes the locks of processes that are gone.
 *
 * @param {string} folder
 * @param {string} ownPath
 * @throws {Error} if another process has a lock.
 */
function refuseOthers(folder, ownPath) {
  for (const name of readdirSync(folder)) {
    const [, pid, start] = pattern.exec(name) ?? []
    const path = join(folder, name)
    if (!pid || path === ownPath) continue
    if (isRunning(Number(pid), start)) {
      throw new Error(`The folder ${folder} is in use by process ${pid}. Stop it, or use another folder.`)
    }
    rmSync(path, { force: true })
  }
}

/**
 * Returns true if a process still runs that began at that start. Another one may have got its number.
 *
 * @param {number} pid
 * @param {string} start
 */
function isRunning(pid, start) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // One of another user cannot be signalled, but runs.
    if (/** @type {any} */ (error).code !== 'EPERM') return false
  }
  const current = startOf(pid)
  return current === null || current === start
}

/**
 * Returns what tells a process from others with the same number, `ended` if it has ended and its parent has not noticed
 * yet, or null on systems other than Linux.
 *
 * @param {number} pid
 */
function startOf(pid) {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
    // After the name, which may contain anything, the first field is the state and the 20th the time of the start.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : `${boot}-${fields[19]}`
  } catch {
    return null
  }
}
