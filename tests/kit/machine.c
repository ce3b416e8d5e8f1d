/* A machine that fails, for programs that run with LD_PRELOAD: its disk refuses what is written to a log, or is journalled
   for a power cut, and its clock is wrong. It is told what to do in a shared file (see machine.py). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct orders {
    int64_t clock; /* nanoseconds to add */
    int64_t fault; /* the errno of each write and sync of the log */
    int64_t refused;
};
struct record {
    int64_t kind, file, offset, size;
};
enum { WRITE, TRUNCATE, SYNC };

static struct orders *orders;
static int journal = -1;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((constructor)) void begin(void) {
    const char *folder = getenv("MACHINE");
    char path[4096];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/orders", folder);
    int told = open(path, O_RDWR | O_CLOEXEC);
    if (told < 0) return;
    void *found = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, told, 0);
    if (found != MAP_FAILED) orders = found;
    close(told);
    snprintf(path, sizeof path, "%s/journal", folder);
    journal = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

/* 0: the log, 1: its WAL; -1: neither */
static int file_of(int fd) {
    char link[64], path[4096];
    if (!orders) return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 10) return -1;
    path[length] = 0;
    if (!strcmp(path + length - 10, "hansard.db")) return 0;
    return length > 14 && !strcmp(path + length - 14, "hansard.db-wal") ? 1 : -1;
}

static int refuses(int file) {
    if (file < 0 || !orders->fault) return 0;
    __atomic_add_fetch(&orders->refused, 1, __ATOMIC_SEQ_CST);
    errno = (int)orders->fault;
    return 1;
}

static void note(int kind, int file, int64_t offset, const void *data, int64_t size) {
    struct record head = {kind, file, offset, size};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, data ? (size_t)size : 0}};
    int before = errno;
    if (journal >= 0 && writev(journal, parts, 2) < 0) abort();
    errno = before;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define GUARDED(call, kind, offset, data, size)                                                                        \
    int file = file_of(fd);                                                                                            \
    if (file < 0) return call;                                                                                         \
    if (refuses(file)) return -1;                                                                                      \
    pthread_mutex_lock(&one_at_a_time);                                                                                \
    __typeof__(call) done = call;                                                                                      \
    if (done >= 0) note(kind, file, offset, data, size);                                                               \
    pthread_mutex_unlock(&one_at_a_time);                                                                              \
    return done

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    GUARDED(REAL(pwrite)(fd, data, size, at), WRITE, at, data, done);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    GUARDED(REAL(pwrite64)(fd, data, size, at), WRITE, at, data, done);
}
ssize_t write(int fd, const void *data, size_t size) {
    GUARDED(REAL(write)(fd, data, size), WRITE, lseek(fd, 0, SEEK_CUR) - done, data, done);
}
int ftruncate(int fd, off_t size) { GUARDED(REAL(ftruncate)(fd, size), TRUNCATE, size, NULL, 0); }
int ftruncate64(int fd, off64_t size) { GUARDED(REAL(ftruncate64)(fd, size), TRUNCATE, size, NULL, 0); }
int fsync(int fd) { GUARDED(REAL(fsync)(fd), SYNC, 0, NULL, 0); }
int fdatasync(int fd) { GUARDED(REAL(fdatasync)(fd), SYNC, 0, NULL, 0); }

int clock_gettime(clockid_t which, struct timespec *now) {
    int done = REAL(clock_gettime)(which, now);
    if (!done && orders && orders->clock && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
        int64_t shown = now->tv_sec * 1000000000LL + now->tv_nsec + orders->clock;
        now->tv_sec = shown / 1000000000LL;
        now->tv_nsec = shown % 1000000000LL;
    }
    return done;
}
