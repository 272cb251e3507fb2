#ifndef ASKERS_H
#define ASKERS_H

#include <stddef.h>
#include <stdint.h>

/// Sockets that each ask one thing after another, with nothing between them and the kernel, as pgbench does: what
/// measures a server must not be what it waits for.

/// Writes the next question of the socket with that number, a whole line, and gives its length.
typedef size_t (*askers_ask)(void *owner, int number, char *line, size_t capacity);

/// A result has come after so many nanoseconds.
typedef void (*askers_answered)(void *owner, uint64_t nanoseconds);

/// Asks on all sockets until the time is over, and then waits for the last answers; on the thread that calls it.
///
/// An answer is one line, and nothing comes that was not asked for.
///
/// @param refusal where an answer is no result, its beginning, ended by a zero byte.
/// @return 0; EPROTO where an answer is no result; ETIMEDOUT where one does not come for half a minute; or the number of
///         another error.
int askers_run(
    const int *sockets, int count, uint64_t nanoseconds, askers_ask ask, askers_answered answered, void *owner,
    char *refusal, size_t capacity);

#endif
