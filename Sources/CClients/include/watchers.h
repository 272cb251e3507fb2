#ifndef WATCHERS_H
#define WATCHERS_H

/// Counts the occurrences of a two-byte mark in the input of many sockets, directly by system calls, so that the load
/// generator is not the bottleneck.

/// Opens the queue of all sockets, once per process.
///
/// @return 0, or an errno value.
int watchers_open(unsigned char first, unsigned char second);

/// Adds a socket, which the reader then owns and closes. Callable from any thread.
///
/// @param owner the first argument of `found` for this socket.
/// @return 0, or an errno value, in which case the caller still owns the socket.
int watchers_add(int descriptor, void *owner);

/// Shuts the socket down. Its reader then closes it.
void watchers_end(int descriptor);

/// Reads forever on the calling thread.
///
/// @param found called after each read that contained marks, with their number; called last with -1 at the end of a
///              socket, before it is closed.
void watchers_run(void (*found)(void *owner, long count));

#endif
