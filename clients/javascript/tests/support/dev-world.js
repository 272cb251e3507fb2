import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..')

/**
 * Starts `postline dev` with a new database, and resolves once it serves.
 *
 * The program is `POSTLINE_TEST_PROGRAM`, or else that of `swift build`.
 *
 * @returns {Promise<DevWorld>}
 */
export async function startDevWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'postline-'))
  // PostgreSQL may have to run as another user.
  chmodSync(folder, 0o755)
  return new DevWorld(folder).start()
}

/** A node and its database in a temporary folder. */
export class DevWorld {
  #process
  /** The node's HTTP address, such as `http://127.0.0.1:7433`. */
  url = ''
  /** The shell command that connects to the database as its owner. */
  psql = ''

  constructor(folder) { this.folder = folder }

  /** Starts the node. It has a new port after each start. */
  async start() {
    const program = resolve(root, process.env.POSTLINE_TEST_PROGRAM ?? '.build/debug/postline')
    // Settings of the tests are not meant for the node.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('POSTLINE_')))
    this.#process = spawn(program, [
      'dev', '--directory', join(this.folder, 'world'), '--port', '0', '--http-port', '0', '--operations-port', 'off',
      '--rate-limits', 'off',
    ], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = []
    for (const stream of [this.#process.stdout, this.#process.stderr]) stream.setEncoding('utf8')
    this.#process.stderr.on('data', (text) => said.push(text))
    for await (const line of createInterface({ input: this.#process.stdout })) {
      said.push(line)
      const [, name, value] = /^(console|psql): +(.*)$/.exec(line) ?? []
      if (name === 'console') this.url = value.replace(/\/$/, '')
      if (name === 'psql') this.psql = value
      if (line.startsWith('stop: ')) {
        this.#process.stdout.resume()
        return this
      }
    }
    throw new Error(`The node did not start:\n${said.join('\n')}`)
  }

  /** Runs a statement as the database's owner, and returns the rows as text, one line each. */
  async sql(statement) {
    const command = `${this.psql} -qAtX -v ON_ERROR_STOP=1 -f -`
    const child = spawn('sh', ['-c', command], { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(statement)
    let output = ''
    for await (const part of child.stdout.setEncoding('utf8')) output += part
    if (child.exitCode === null) await new Promise((ended) => child.once('exit', ended))
    if (child.exitCode !== 0) throw new Error(`psql failed: ${statement}`)
    return output.trim()
  }

  /** Stops the node and its database, and removes the folder. */
  async stop() {
    if (this.#process.exitCode === null) {
      const exited = new Promise((ended) => this.#process.once('exit', ended))
      this.#process.kill('SIGINT')
      await exited
    }
    rmSync(this.folder, { recursive: true, force: true })
  }
}
