#include "cli/interrupt.h"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace colugo {

namespace {

// The handler may run on any thread.
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
std::atomic<bool> pressed = false;  // Ctrl-C
std::atomic<bool> told = false;     // to end, by the system
std::atomic<int> count = 0;
constexpr std::initializer_list<int> kSignals = {SIGINT, SIGTERM, SIGHUP};

void note_interrupt(int signal) {
    (signal == SIGINT ? pressed : told) = true;
    ++count;
}

void catch_signal(int signal, int flags) {
    struct sigaction action = {};
    // Whoever starts a program by nohup means it to go on.
    if (signal == SIGHUP && sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
    action = {};
    action.sa_handler = note_interrupt;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts() {
    for (const int signal : kSignals) catch_signal(signal, static_cast<int>(SA_RESETHAND));
}

void catch_every_interrupt() {
    catch_signal(SIGINT, 0);
}

void catch_every_signal() {
    for (const int signal : kSignals) catch_signal(signal, 0);
}

int signals() {
    return count;
}

bool interrupted() {
    return pressed || told;
}

bool take_interrupt() {
    return pressed.exchange(false);
}

}  // namespace colugo
