/* Preloaded into every process of a site under test: its wall clock is off by as many seconds as the
   file SOAK_CLOCK contains (an int64); monotonic clocks and sleeps are not touched. While the int64
   that follows is not 0, no name server answers: looking up a name takes 5 s and fails. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset;
static int64_t none[2];

__attribute__((constructor)) static void open_clock(void) {
  const char *path = getenv("SOAK_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = MAP_FAILED;
  if (file >= 0) {
    mapped = mmap(NULL, sizeof(none), PROT_READ, MAP_SHARED, file, 0);
    close(file);
  }
  offset = mapped == MAP_FAILED ? none : mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && offset)
    now->tv_sec += *offset;
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) {
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
  }
  return 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  struct in6_addr address;
  if (offset && offset[1] && name && inet_pton(AF_INET, name, &address) != 1 &&
      inet_pton(AF_INET6, name, &address) != 1) {
    sleep(5);
    return EAI_AGAIN;
  }
  *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
  return next(name, service, hints, found);
}

time_t time(time_t *result) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (result) *result = exact.tv_sec;
  return exact.tv_sec;
}
