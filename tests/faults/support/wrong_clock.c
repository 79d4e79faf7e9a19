/* A wall clock that is wrong, for one process: loaded before libc, it adds to CLOCK_REALTIME what
 * stands in the file that WRONG_CLOCK names, in seconds, as it stands there at that moment. Every
 * other clock, and every timer, is left as it is: that is why it is not libfaketime, which also
 * moves absolute timers of the monotonic clock.
 *
 *     cc -shared -fPIC -O1 -o wrong_clock.so wrong_clock.c -ldl
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *offset(void) {
    static const volatile long long *mapped;
    if (!mapped) {
        static const long long none;
        const char *path = getenv("WRONG_CLOCK");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *place = fd < 0 ? MAP_FAILED : mmap(0, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        mapped = place == MAP_FAILED ? &none : place;
    }
    return mapped;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = (int)syscall(SYS_clock_gettime, clock, at);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += *offset();
    return result;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec spec;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &spec);
    at->tv_sec = spec.tv_sec;
    at->tv_usec = spec.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec spec;
    clock_gettime(CLOCK_REALTIME, &spec);
    if (at)
        *at = spec.tv_sec;
    return spec.tv_sec;
}
