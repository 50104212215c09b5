#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace colugo {

namespace {

volatile std::sig_atomic_t pending = 0;

void note_interrupt(int) {
    pending = 1;
}

}  // namespace

void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool interrupted() {
    return pending != 0;
}

}  // namespace colugo
