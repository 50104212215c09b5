// Ctrl-C asks for an end; a second one takes it.
#pragma once

namespace colugo {

// Thrown by whoever notices between two steps that cannot be left half done.
struct Interrupted {};

void catch_interrupts();
bool interrupted();

}  // namespace colugo
