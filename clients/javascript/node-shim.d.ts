// The part of Node that node/ uses, so that the check needs no package.
declare module 'node:buffer' {
  export const Blob: typeof globalThis.Blob
  export type Buffer = Uint8Array & { toString(encoding?: string, start?: number, end?: number): string }
  export const Buffer: { from(content: string | ArrayBuffer, encoding?: string): Buffer }
}
declare module 'node:crypto' {
  export function createHash(name: string): { update(text: string): { digest(encoding: 'hex'): string } }
  export function randomUUID(): string
}
declare module 'node:fs' {
  import type { Buffer } from 'node:buffer'
  export const constants: { O_RDWR: number, O_CREAT: number }
  export function closeSync(file: number): void
  export function fdatasync(file: number, done: (error: Error | null) => void): void
  export function fsyncSync(file: number): void
  export function ftruncateSync(file: number, size: number): void
  export function mkdirSync(path: string, options: { recursive: boolean, mode: number }): void
  export function openSync(path: string, flags: string | number, mode?: number): number
  export function readdirSync(path: string): string[]
  export function readFileSync(path: string): Buffer
  export function readFileSync(path: string, encoding: 'utf8'): string
  export function realpathSync(path: string): string
  export function renameSync(path: string, target: string): void
  export function rmSync(path: string, options: { force: boolean }): void
  export const write: unique symbol
  export function writeFileSync(path: string, text: string, options: { flag: string, mode: number }): void
}
declare module 'node:path' {
  export function dirname(path: string): string
  export function join(...parts: string[]): string
}
declare module 'node:process' {
  const process: { pid: number, platform: string, kill(pid: number, signal: number): void }
  export default process
}
declare module 'node:util' {
  import type { write } from 'node:fs'
  export function promisify(action: typeof write): (
    file: number, bytes: Uint8Array, offset: number, length: number, position: number
  ) => Promise<{ bytesWritten: number }>
  export function promisify(action: (file: number, done: (error: Error | null) => void) => void):
    (file: number) => Promise<void>
}
