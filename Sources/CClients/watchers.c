#include "watchers.h"

#include "queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct watcher {
    int descriptor;
    void *owner;
    /// True if the last byte received is the first byte of the mark.
    int ends_in_mark;
};

static int queue = -1;
static unsigned char mark[2];

int watchers_open(unsigned char first, unsigned char second) {
    mark[0] = first;
    mark[1] = second;
    queue = queue_open();
    return queue < 0 ? errno : 0;
}

int watchers_add(int descriptor, void *owner) {
    struct watcher *watcher = malloc(sizeof *watcher);
    if (watcher == NULL) return ENOMEM;
    *watcher = (struct watcher){.descriptor = descriptor, .owner = owner};
    int error = queue_add(queue, descriptor, watcher);
    if (error != 0) free(watcher);
    return error;
}

void watchers_end(int descriptor) { shutdown(descriptor, SHUT_RDWR); }

static long marks(struct watcher *watcher, const unsigned char *bytes, size_t length) {
    const unsigned char *end = bytes + length;
    long count = watcher->ends_in_mark && bytes[0] == mark[1];
    watcher->ends_in_mark = end[-1] == mark[0];
    while ((bytes = memchr(bytes, mark[0], (size_t)(end - bytes))) != NULL && ++bytes < end) count += *bytes == mark[1];
    return count;
}

/// Reads once. The rest keeps the socket readable.
static void read_from(struct watcher *watcher, void (*found)(void *owner, long count)) {
    static unsigned char bytes[65536];
    ssize_t length = recv(watcher->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (length > 0) {
        long count = marks(watcher, bytes, (size_t)length);
        if (count > 0) found(watcher->owner, count);
    } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
        found(watcher->owner, -1);
        queue_remove(queue, watcher->descriptor);
        close(watcher->descriptor);
        free(watcher);
    }
}

void watchers_run(void (*found)(void *owner, long count)) {
    void *ready[QUEUE_MOST];
    while (1) {
        int count = queue_wait(queue, ready, -1);
        for (int index = 0; index < count; index++) read_from(ready[index], found);
    }
}
