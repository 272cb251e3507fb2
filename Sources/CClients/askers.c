#include "askers.h"

#include "queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct asker {
    int number;
    int descriptor;
    uint64_t asked;
    /// How the answer begins.
    char head[512];
    size_t length;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int put(struct asker *asker, askers_ask ask, void *owner, uint64_t time) {
    char line[4096];
    size_t length = ask(owner, asker->number, line, sizeof line);
    asker->asked = time;
    asker->length = 0;
    // With nothing else on its way the kernel takes all of so short a line.
    ssize_t sent = send(asker->descriptor, line, length, MSG_NOSIGNAL);
    return sent == (ssize_t)length ? 0 : sent < 0 ? errno : EIO;
}

/// Reads what has come of an answer.
///
/// @return 0, or the error's number; EAGAIN where it is not all there yet.
static int get(struct asker *asker) {
    static _Thread_local char bytes[65536];
    ssize_t length = recv(asker->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (length == 0) return ECONNRESET;
    if (length < 0) return errno == EINTR ? EAGAIN : errno;
    size_t room = sizeof asker->head - 1 - asker->length;
    size_t kept = (size_t)length < room ? (size_t)length : room;
    memcpy(asker->head + asker->length, bytes, kept);
    asker->length += kept;
    if (bytes[length - 1] != '\n') return EAGAIN;
    asker->head[asker->length] = 0;
    return strstr(asker->head, "\"result\":") == NULL ? EPROTO : 0;
}

int askers_run(
    const int *sockets, int count, uint64_t nanoseconds, askers_ask ask, askers_answered answered, void *owner,
    char *refusal, size_t capacity) {
    int queue = queue_open();
    if (queue < 0) return errno;
    struct asker *askers = calloc((size_t)count, sizeof *askers);
    int error = askers == NULL ? ENOMEM : 0;
    const uint64_t end = now() + nanoseconds;
    for (int number = 0; error == 0 && number < count; number++) {
        askers[number] = (struct asker){.number = number, .descriptor = sockets[number]};
        error = queue_add(queue, sockets[number], &askers[number]);
        if (error == 0) error = put(&askers[number], ask, owner, now());
    }
    int waiting = count;
    while (error == 0 && waiting > 0) {
        void *ready[QUEUE_MOST];
        int found = queue_wait(queue, ready, 30000);
        if (found == 0) error = ETIMEDOUT;
        for (int index = 0; error == 0 && index < found; index++) {
            struct asker *asker = ready[index];
            error = get(asker);
            if (error == EAGAIN) {
                error = 0;
            } else if (error == EPROTO && capacity > 0) {
                strncpy(refusal, asker->head, capacity - 1);
                refusal[capacity - 1] = 0;
            } else if (error == 0) {
                const uint64_t time = now();
                answered(owner, time - asker->asked);
                if (time < end) error = put(asker, ask, owner, time);
                else waiting--;
            }
        }
    }
    free(askers);
    close(queue);
    return error;
}
