#ifndef QUEUE_H
#define QUEUE_H

/// A queue of readable sockets, by epoll(7) on Linux and kqueue(2) elsewhere.

#include <errno.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#else
#include <sys/event.h>
#include <time.h>
#endif

/// The maximum number of sockets that `queue_wait` returns.
enum { QUEUE_MOST = 256 };

/// @return the queue's descriptor, or -1 with errno.
static inline int queue_open(void) {
#ifdef __linux__
    return epoll_create1(EPOLL_CLOEXEC);
#else
    return kqueue();
#endif
}

/// @return 0, or an errno value.
static inline int queue_add(int queue, int descriptor, void *owner) {
#ifdef __linux__
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = owner};
    int result = epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event);
#else
    struct kevent event;
    EV_SET(&event, descriptor, EVFILT_READ, EV_ADD, 0, 0, owner);
    int result = kevent(queue, &event, 1, NULL, 0, NULL);
#endif
    return result == 0 ? 0 : errno;
}

/// Removes a socket. Closing a descriptor does not remove it while another descriptor of the socket is open.
static inline void queue_remove(int queue, int descriptor) {
#ifdef __linux__
    epoll_ctl(queue, EPOLL_CTL_DEL, descriptor, NULL);
#else
    struct kevent event;
    EV_SET(&event, descriptor, EVFILT_READ, EV_DELETE, 0, 0, NULL);
    kevent(queue, &event, 1, NULL, 0, NULL);
#endif
}

/// Waits for readable sockets.
///
/// @param milliseconds the timeout; -1 for none.
/// @return the number of readable sockets; 0 after the timeout.
static inline int queue_wait(int queue, void *owners[QUEUE_MOST], int milliseconds) {
    int count;
#ifdef __linux__
    struct epoll_event events[QUEUE_MOST];
    do count = epoll_wait(queue, events, QUEUE_MOST, milliseconds);
    while (count < 0 && errno == EINTR);
    for (int index = 0; index < count; index++) owners[index] = events[index].data.ptr;
#else
    struct kevent events[QUEUE_MOST];
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    do count = kevent(queue, NULL, 0, events, QUEUE_MOST, milliseconds < 0 ? NULL : &time);
    while (count < 0 && errno == EINTR);
    for (int index = 0; index < count; index++) owners[index] = events[index].udata;
#endif
    return count < 0 ? 0 : count;
}

#endif
