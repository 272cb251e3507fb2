#include "requesters.h"

#include "queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct requester {
    int number;
    int descriptor;
    uint64_t sent_at;
    /// The beginning of the response.
    char head[512];
    size_t length;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int send_request(struct requester *requester, requesters_write write_request, void *owner, uint64_t time) {
    char line[4096];
    size_t length = write_request(owner, requester->number, line, sizeof line);
    requester->sent_at = time;
    requester->length = 0;
    // The kernel accepts a line this short in full, since nothing else is in flight.
    ssize_t sent = send(requester->descriptor, line, length, MSG_NOSIGNAL);
    return sent == (ssize_t)length ? 0 : sent < 0 ? errno : EIO;
}

/// Reads the available part of a response.
///
/// @return 0, or an errno value; EAGAIN if the response is incomplete.
static int read_response(struct requester *requester) {
    static _Thread_local char bytes[65536];
    ssize_t length = recv(requester->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (length == 0) return ECONNRESET;
    if (length < 0) return errno == EINTR ? EAGAIN : errno;
    size_t room = sizeof requester->head - 1 - requester->length;
    size_t kept = (size_t)length < room ? (size_t)length : room;
    memcpy(requester->head + requester->length, bytes, kept);
    requester->length += kept;
    if (bytes[length - 1] != '\n') return EAGAIN;
    requester->head[requester->length] = 0;
    return strstr(requester->head, "\"result\":") == NULL ? EPROTO : 0;
}

int requesters_run(
    const int *sockets, int count, uint64_t nanoseconds, requesters_write write_request,
    requesters_completed completed, void *owner, char *error_text, size_t capacity) {
    int queue = queue_open();
    if (queue < 0) return errno;
    struct requester *requesters = calloc((size_t)count, sizeof *requesters);
    int error = requesters == NULL ? ENOMEM : 0;
    const uint64_t end = now() + nanoseconds;
    for (int number = 0; error == 0 && number < count; number++) {
        requesters[number] = (struct requester){.number = number, .descriptor = sockets[number]};
        error = queue_add(queue, sockets[number], &requesters[number]);
        if (error == 0) error = send_request(&requesters[number], write_request, owner, now());
    }
    int waiting = count;
    while (error == 0 && waiting > 0) {
        void *ready[QUEUE_MOST];
        int found = queue_wait(queue, ready, 30000);
        if (found == 0) error = ETIMEDOUT;
        for (int index = 0; error == 0 && index < found; index++) {
            struct requester *requester = ready[index];
            error = read_response(requester);
            if (error == EAGAIN) {
                error = 0;
            } else if (error == EPROTO && capacity > 0) {
                strncpy(error_text, requester->head, capacity - 1);
                error_text[capacity - 1] = 0;
            } else if (error == 0) {
                const uint64_t time = now();
                completed(owner, time - requester->sent_at);
                if (time < end) error = send_request(requester, write_request, owner, time);
                else waiting--;
            }
        }
    }
    free(requesters);
    close(queue);
    return error;
}
