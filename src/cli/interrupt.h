// Ctrl-C asks for an end; a second one takes it.
#pragma once

namespace colugo {

// Thrown by whoever notices between two steps that cannot be left half done.
struct Interrupted {};

void catch_interrupts();
// For a conversation, where Ctrl-C ends no more than what is being written: from here on it only asks, however often it
// comes.
void catch_every_interrupt();
// For a server, which the first signal of whatever kind asks to end, and a second one to end at once: from here on none
// does more than ask.
void catch_every_signal();
// How many came, of whatever kind, since the program began.
int signals();
bool interrupted();
// Takes a Ctrl-C as answered. Returns whether there was one; what the system asked for stays asked.
bool take_interrupt();

}  // namespace colugo
