import { createReadStream, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { delimiter, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const types = { '.js': 'text/javascript', '.html': 'text/html' }

/** Returns the path of the first of some programs, or undefined if none is installed. */
export function findProgram(names) {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync)
}

/** A server of this package's files, and of an empty page. */
export class PageServer {
  #server
  /** The page at `/`. */
  html = '<!doctype html><meta charset="utf-8">'

  async start() {
    this.#server = createServer((request, response) => this.#serve(request, response))
    await new Promise((listening) => this.#server.listen(0, '127.0.0.1', listening))
    this.origin = `http://127.0.0.1:${this.#server.address().port}`
  }

  #serve(request, response) {
    const path = normalize(new URL(request.url, this.origin).pathname)
    const file = join(root, path)
    if (path === '/') {
      response.writeHead(200, { 'Content-Type': 'text/html' })
      return response.end(this.html)
    }
    if (!existsSync(file)) {
      response.writeHead(404)
      return response.end()
    }
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'text/plain' })
    createReadStream(file).pipe(response)
  }

  /** Passes WebSockets on to a node, as if the page were the node's. */
  connectTo(url) {
    const target = new URL(url)
    this.#server.on('upgrade', (request, near) => {
      const far = connect(Number(target.port), target.hostname, () => {
        const headers = { ...request.headers, host: target.host, origin: target.origin }
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
        far.write([`GET ${request.url} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
        near.pipe(far).pipe(near)
      })
      for (const [one, other] of [[near, far], [far, near]]) one.on('error', () => other.destroy())
    })
  }

  stop() {
    this.#server.close()
    this.#server.closeAllConnections?.()
  }
}
