/*
 * The floor: the minimal work of a user-space client that holds Socket.IO connections and counts their broadcasts. One thread, epoll, one
 * read buffer, no allocation per message.
 *
 * floor <IPv4 address> <port> <connections> <connections per second> [<CA certificate>]
 *
 * With -DFLOOR_TLS, it uses TLS (OpenSSL) and needs the CA certificate to trust. Each connection makes a full handshake and checks the
 * server's certificate and its address, as the other generators do.
 *
 * Implements the programs' protocol (programs/load-program.ts): prints `ready`, waits for a line, ramps up, prints `joined`, and ends when
 * its input ends, with {"joined":n,"received":n,"duplicates":n} as its last line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#ifdef FLOOR_TLS
#include <openssl/ssl.h>
#endif

enum { READ_SIZE = 64 * 1024, EVENTS = 512, MAX_FRAME = 1024 * 1024 };
enum state { DIALING, SHAKING_HANDS, UPGRADING, OPENING, JOINING, JOINED };

struct connection {
  int fd;
  enum state state;
  uint32_t last_seq;
  /* Start of an incomplete frame; almost always NULL. */
  uint32_t partial_size;
  char *partial;
#ifdef FLOOR_TLS
  SSL *tls;
#endif
};

static struct connection *connections;
static long target, opened, joined, received, duplicates;
static int epoll;
static struct sockaddr_in server;
static char request[512];
static size_t request_size;
static char buffer[READ_SIZE + MAX_FRAME];

/* Masked with the key 0, which leaves the payload unchanged. */
static const char CONNECT[] = "\x81\x82\0\0\0\0" "40";
static const char JOIN[] = "\x81\xa9\0\0\0\0" "420[\"join_room\",{\"clientKey\":\"capacity\"}]";
static const char PONG[] = "\x81\x81\0\0\0\0" "3";
static const char BROADCAST[] = "42[\"broadcast\",{\"seq\":";

static void die(const char *what) {
  fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
  exit(1);
}

#ifdef FLOOR_TLS
#include "floor-tls.h"
#else
static void set_up_tls(const char *address, const char *ca) { (void)address, (void)ca; }

static int is_secure(struct connection *c) { return (void)c, 1; }

static ssize_t receive(struct connection *c, char *into, size_t size) { return read(c->fd, into, size); }

/* The next epoll_wait reports unread data. */
static int has_more(struct connection *c) { return (void)c, 0; }

static void send_all(struct connection *c, const char *bytes, size_t size) {
  if (write(c->fd, bytes, size) != (ssize_t)size) die("write");
}
#endif

static void watch(int operation, int fd, uint32_t events, void *of) {
  struct epoll_event event = {.events = events, .data.ptr = of};
  if (epoll_ctl(epoll, operation, fd, &event) < 0) die("epoll_ctl");
}

static void dial(struct connection *c) {
  int yes = 1;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) die("socket");
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(c->fd, (struct sockaddr *)&server, sizeof server) < 0 && errno != EINPROGRESS) die("connect");
  watch(EPOLL_CTL_ADD, c->fd, EPOLLOUT, c);
}

static void shake_hands(struct connection *c) {
  if (!is_secure(c)) return;
  c->state = UPGRADING;
  send_all(c, request, request_size);
}

static void on_dialed(struct connection *c) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    errno = error;
    die("connect");
  }
  c->state = SHAKING_HANDS;
  watch(EPOLL_CTL_MOD, c->fd, EPOLLIN, c);
  shake_hands(c);
}

static int begins(const char *text, size_t size, const char *with) {
  size_t length = strlen(with);
  return size >= length && memcmp(text, with, length) == 0;
}

static void on_message(struct connection *c, const char *text, size_t size) {
  if (begins(text, size, BROADCAST)) {
    uint32_t seq = 0;
    for (size_t at = sizeof BROADCAST - 1; at < size && text[at] >= '0' && text[at] <= '9'; at++)
      seq = seq * 10 + (uint32_t)(text[at] - '0');
    if (seq <= c->last_seq) duplicates++;
    c->last_seq = seq;
    received++;
  } else if (size == 1 && text[0] == '2') {
    send_all(c, PONG, sizeof PONG - 1);
  } else if (c->state == OPENING && begins(text, size, "0{")) {
    send_all(c, CONNECT, sizeof CONNECT - 1);
  } else if (c->state == OPENING && begins(text, size, "40{")) {
    c->state = JOINING;
    send_all(c, JOIN, sizeof JOIN - 1);
  } else if (c->state == JOINING && begins(text, size, "430[")) {
    c->state = JOINED;
    if (++joined == target) {
      puts("joined");
      fflush(stdout);
    }
  } else {
    fprintf(stderr, "floor: unexpected: %.*s\n", (int)(size < 80 ? size : 80), text);
    exit(1);
  }
}

/* Handles complete frames only. Returns the bytes used. */
static size_t read_frames(struct connection *c, const char *bytes, size_t size) {
  size_t at = 0;
  while (size - at >= 2) {
    const unsigned char *frame = (const unsigned char *)bytes + at;
    size_t head = 2, length = frame[1] & 0x7f;
    if (length == 126) {
      if (size - at < 4) break;
      head = 4;
      length = (size_t)frame[2] << 8 | frame[3];
    } else if (length == 127) {
      if (size - at < 10) break;
      head = 10;
      length = 0;
      for (int i = 2; i < 10; i++) length = length << 8 | frame[i];
      if (length > MAX_FRAME - 10) die("frame too large");
    }
    if (size - at < head + length) break;
    if ((frame[0] & 0x8f) != 0x81) {
      fprintf(stderr, "floor: not a whole text frame: %02x\n", frame[0]);
      exit(1);
    }
    on_message(c, (const char *)frame + head, length);
    at += head + length;
  }
  return at;
}

/* Returns 0 if nothing has arrived. */
static int read_once(struct connection *c) {
  size_t before = c->partial_size;
  if (before > 0) {
    memcpy(buffer, c->partial, before);
    free(c->partial);
    c->partial = NULL;
    c->partial_size = 0;
  }
  ssize_t got = receive(c, buffer + before, READ_SIZE);
  if (got < 0 && errno == EAGAIN) got = 0;
  else if (got <= 0) die(got == 0 ? "the server closed a connection" : "read");
  size_t size = before + (size_t)got, at = 0;
  if (c->state == UPGRADING) {
    char *end = memmem(buffer, size, "\r\n\r\n", 4);
    if (end != NULL) {
      if (!begins(buffer, size, "HTTP/1.1 101")) die("no upgrade");
      at = (size_t)(end - buffer) + 4;
      c->state = OPENING;
    }
  }
  if (c->state >= OPENING) at += read_frames(c, buffer + at, size - at);
  if (at < size) {
    c->partial_size = (uint32_t)(size - at);
    c->partial = malloc(c->partial_size);
    memcpy(c->partial, buffer + at, c->partial_size);
  }
  return got > 0;
}

static void on_readable(struct connection *c) {
  while (read_once(c) && has_more(c)) continue;
}

int main(int argc, char **argv) {
  if (argc < 5 || argc > 6) {
    fprintf(stderr, "usage: floor <address> <port> <connections> <connections per second> [<CA certificate>]\n");
    return 2;
  }
  target = atol(argv[3]);
  long rate = atol(argv[4]);
  server.sin_family = AF_INET;
  server.sin_port = htons((uint16_t)atoi(argv[2]));
  if (inet_pton(AF_INET, argv[1], &server.sin_addr) != 1 || target <= 0 || rate <= 0) die("arguments");
  request_size = (size_t)snprintf(request, sizeof request,
                                  "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: %s:%s\r\n"
                                  "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                                  argv[1], argv[2]);
  set_up_tls(argv[1], argv[5]);
  connections = calloc((size_t)target, sizeof *connections);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  watch(EPOLL_CTL_ADD, timer, EPOLLIN, &timer);
  watch(EPOLL_CTL_ADD, 0, EPOLLIN, &epoll);
  puts("ready");
  fflush(stdout);

  for (;;) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(epoll, events, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == &epoll) {
        char line[16];
        if (read(0, line, sizeof line) <= 0) {
          printf("{\"joined\":%ld,\"received\":%ld,\"duplicates\":%ld}\n", joined, received, duplicates);
          return 0;
        }
        /* One tick per connection: the next read returns the number of missed ticks, so the schedule is absolute. */
        struct itimerspec every = {.it_interval.tv_nsec = 1000000000 / rate, .it_value.tv_nsec = 1000000000 / rate};
        timerfd_settime(timer, 0, &every, NULL);
      } else if (events[i].data.ptr == &timer) {
        uint64_t due = 0;
        if (read(timer, &due, sizeof due) < 0) continue;
        while (due-- > 0 && opened < target) dial(&connections[opened++]);
        if (opened == target) timerfd_settime(timer, 0, &(struct itimerspec){0}, NULL);
      } else {
        struct connection *c = events[i].data.ptr;
        if (c->state == DIALING) on_dialed(c);
        else if (c->state == SHAKING_HANDS) shake_hands(c);
        else on_readable(c);
      }
    }
  }
}
