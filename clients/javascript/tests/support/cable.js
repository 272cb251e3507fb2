import { connect, createServer } from 'node:net'

/** A TCP proxy that a test can cut, before or after certain bytes pass. */
export class Cable {
  #sockets = new Set()
  #cutWhen = () => false
  isCut = false

  /** Resolves with a proxy to an HTTP address. */
  static async to(url) {
    const target = new URL(url)
    const cable = new Cable()
    cable.server = createServer((near) => {
      if (cable.isCut) return near.destroy()
      const far = connect(Number(target.port), target.hostname)
      for (const [from, to, direction] of [[near, far, 'out'], [far, near, 'in']]) {
        cable.#sockets.add(from)
        from.on('error', () => to.destroy())
        from.on('close', () => {
          cable.#sockets.delete(from)
          to.destroy()
        })
        from.on('data', (data) => {
          if (cable.#cutWhen(direction, data)) cable.cut()
          else to.write(data)
        })
      }
    })
    await new Promise((listening) => cable.server.listen(0, '127.0.0.1', listening))
    cable.url = `http://127.0.0.1:${cable.server.address().port}`
    return cable
  }

  /** Ends all connections, and refuses new ones until `mend`. */
  cut() {
    this.isCut = true
    this.#cutWhen = () => false
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Cuts as soon as the condition holds for the direction (`in`, `out`) and bytes of a piece. That piece is lost. */
  cutWhen(condition) { this.#cutWhen = condition }

  mend() { this.isCut = false }

  close() {
    this.cut()
    this.server.close()
  }
}
