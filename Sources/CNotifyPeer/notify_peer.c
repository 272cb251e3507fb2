#include "notify_peer.h"

#include <libpq-fe.h>
#include <poll.h>
#include <string.h>
#include <time.h>

int64_t notify_peer_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

struct notify_peer *notify_peer_open(const char *conninfo, const char *listen) {
    PGconn *connection = PQconnectdb(conninfo);
    PGresult *result = PQexec(connection, listen);
    int is_listening = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (is_listening) return (struct notify_peer *)connection;
    PQfinish(connection);
    return NULL;
}

long notify_peer_run(struct notify_peer *peer, int64_t *times, long capacity) {
    PGconn *connection = (PGconn *)peer;
    long count = 0;
    int stops = 0;
    while (!stops && count >= 0 && count < capacity) {
        struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
        PGnotify *notification;
        if (poll(&socket, 1, -1) < 0 || !PQconsumeInput(connection)) {
            count = -1;
        } else {
            while (!stops && count < capacity && (notification = PQnotifies(connection)) != NULL) {
                stops = strcmp(notification->extra, "stop") == 0;
                if (!stops) times[count++] = notify_peer_now();
                PQfreemem(notification);
            }
        }
    }
    PQfinish(connection);
    return count;
}
