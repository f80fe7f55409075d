// While it solves, Z3 takes over SIGINT with signal(), and gives it back after.
// With several contexts at work at one time the last one gives back the handler
// of another that is gone: the next Ctrl-C then ends in a crash, and one that
// comes meanwhile never reaches Go. So Z3's calls come here, because a program's
// own definitions go before those of the C library, and SIGINT stays Go's.
#include <signal.h>
#include <string.h>

typedef void (*handler)(int);

handler signal(int number, handler h) {
  struct sigaction now, before;
  if (number == SIGINT) return SIG_DFL;
  memset(&now, 0, sizeof now);
  now.sa_handler = h;
  now.sa_flags = SA_RESTART;
  if (sigaction(number, &now, &before) != 0) return SIG_ERR;
  return before.sa_handler;
}
