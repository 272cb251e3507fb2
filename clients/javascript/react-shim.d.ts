// The part of React that react.js uses, so that the check needs no package.
declare module 'react' {
  export function createContext<Value>(value: Value): { Provider: any }
  export function createElement(type: any, props: any, ...children: any[]): any
  export function useContext<Value>(context: any): any
  export function useCallback<Callback>(callback: Callback, dependencies: any[]): Callback
  export function useMemo<Value>(make: () => Value, dependencies: any[]): Value
  export function useSyncExternalStore<Value>(
    subscribe: (listener: () => void) => () => void, getSnapshot: () => Value, getServerSnapshot?: () => Value
  ): Value
}
