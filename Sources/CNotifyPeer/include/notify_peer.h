#ifndef NOTIFY_PEER_H
#define NOTIFY_PEER_H

#include <stdint.h>

/// What a program does that only listens, with nothing between it and libpq.

struct notify_peer;

/// Connects and LISTENs.
///
/// @param listen the whole statement.
/// @return nil where that failed.
struct notify_peer *notify_peer_open(const char *conninfo, const char *listen);

/// Notes when each notification came, until one comes whose payload is "stop", or `capacity` have come; then closes.
///
/// @param times room for `capacity` times of `notify_peer_now`.
/// @return how many came; -1 where the connection was lost.
long notify_peer_run(struct notify_peer *peer, int64_t *times, long capacity);

/// The time in nanoseconds, by a clock that only goes forward.
int64_t notify_peer_now(void);

#endif
