#include "watchers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
typedef struct epoll_event event_t;
#else
#include <sys/event.h>
typedef struct kevent event_t;
#endif

struct watcher {
    int descriptor;
    void *owner;
    /// Whether the last byte that came is a mark's first.
    int ends_in_mark;
};

static int queue = -1;
static unsigned char mark[2];

int watchers_open(unsigned char first, unsigned char second) {
    mark[0] = first;
    mark[1] = second;
#ifdef __linux__
    queue = epoll_create1(EPOLL_CLOEXEC);
#else
    queue = kqueue();
#endif
    return queue < 0 ? errno : 0;
}

int watchers_add(int descriptor, void *owner) {
    struct watcher *watcher = malloc(sizeof *watcher);
    if (watcher == NULL) return ENOMEM;
    *watcher = (struct watcher){.descriptor = descriptor, .owner = owner};
    event_t event;
#ifdef __linux__
    event = (event_t){.events = EPOLLIN, .data.ptr = watcher};
    int result = epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event);
#else
    EV_SET(&event, descriptor, EVFILT_READ, EV_ADD, 0, 0, watcher);
    int result = kevent(queue, &event, 1, NULL, 0, NULL);
#endif
    if (result == 0) return 0;
    int error = errno;
    free(watcher);
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

/// Reads what has come, once: what is left makes the socket ready again.
static void read_from(struct watcher *watcher, void (*found)(void *owner, long count)) {
    static unsigned char bytes[65536];
    ssize_t length = recv(watcher->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (length > 0) {
        long count = marks(watcher, bytes, (size_t)length);
        if (count > 0) found(watcher->owner, count);
    } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
        found(watcher->owner, -1);
#ifdef __linux__
        // Closing alone would leave it in the queue as long as another descriptor of the socket is open.
        epoll_ctl(queue, EPOLL_CTL_DEL, watcher->descriptor, NULL);
#endif
        close(watcher->descriptor);
        free(watcher);
    }
}

void watchers_run(void (*found)(void *owner, long count)) {
    static event_t events[256];
    while (1) {
#ifdef __linux__
        int count = epoll_wait(queue, events, 256, -1);
        for (int index = 0; index < count; index++) read_from(events[index].data.ptr, found);
#else
        int count = kevent(queue, NULL, 0, events, 256, NULL);
        for (int index = 0; index < count; index++) read_from(events[index].udata, found);
#endif
    }
}
