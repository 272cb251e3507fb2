#ifndef NOTIFY_PEER_H
#define NOTIFY_PEER_H

#include <stdint.h>

/// A minimal client that only receives notifications, directly by libpq.

struct notify_peer;

/// Connects and LISTENs.
///
/// @param listen the complete LISTEN statement.
/// @return NULL on failure.
struct notify_peer *notify_peer_open(const char *conninfo, const char *listen);

/// Records the arrival time of each notification, until the payload "stop" or `capacity` notifications; then closes.
///
/// @param times a buffer for `capacity` times of `notify_peer_now`.
/// @return the number of notifications, or -1 if the connection was lost.
long notify_peer_run(struct notify_peer *peer, int64_t *times, long capacity);

/// Returns the monotonic time in nanoseconds.
int64_t notify_peer_now(void);

#endif
