#ifndef WATCHERS_H
#define WATCHERS_H

/// Counts a mark of two bytes in what comes over many sockets, with nothing between that and the kernel: what measures
/// a server must not be what it waits for.

/// Opens the queue of all sockets, once in a process.
///
/// @return 0, or the error's number.
int watchers_open(unsigned char first, unsigned char second);

/// From now on the socket is read, and is the reader's to close; may be called from any thread.
///
/// @param owner what `found` is told of it with.
/// @return 0, or the error's number; the socket is the caller's then.
int watchers_add(int descriptor, void *owner);

/// Ends the socket: its reader finds that out, and closes it.
void watchers_end(int descriptor);

/// Reads for ever, on the thread that calls it.
///
/// @param found told after each read how many marks it had, where it had one; with -1 when a socket is at its end, just
///              before it is closed, and never again after that.
void watchers_run(void (*found)(void *owner, long count));

#endif
