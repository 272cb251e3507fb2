#ifndef REQUESTERS_H
#define REQUESTERS_H

#include <stddef.h>
#include <stdint.h>

/// Clients that each send requests one after another, directly over sockets like pgbench, so that the load generator is
/// not the bottleneck.

/// Writes the next request of a client, a whole line, and returns its length.
typedef size_t (*requesters_write)(void *owner, int number, char *line, size_t capacity);

/// Reports a result and its latency.
typedef void (*requesters_completed)(void *owner, uint64_t nanoseconds);

/// Sends requests on all sockets for a time, then waits for the last responses. Blocks the calling thread.
///
/// A response is one line. The server must not send anything else.
///
/// @param error_text receives the beginning of a response that is not a result, terminated by NUL.
/// @return 0; EPROTO if a response is not a result; ETIMEDOUT if none arrives for 30 seconds; or another errno value.
int requesters_run(
    const int *sockets, int count, uint64_t nanoseconds, requesters_write write_request,
    requesters_completed completed, void *owner, char *error_text, size_t capacity);

#endif
