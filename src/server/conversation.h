// The messages of a request, made into a list that chat templates can render: these want one system message at the
// beginning and something the user said.
//
//   - System messages at the beginning become one, their texts joined by a blank line.
//   - A later one is put into <system-reminder> lines and stays where it is: at the end of the user's or tool's message
//     before it, or as a user's message behind an assistant's. A blank one is left out.
//   - Results of the calls of one message are put in the calls' order where their ids tell it: templates show no ids.
//   - Where the first message behind the system message is a call or a result, an empty one of the user comes before
//   it,
//     for templates that look for the user's.
//   - An assistant's message at the end that says nothing is left out.
//
// What a conversation goes on with changes nothing of the prompt before it: no rule looks ahead, but for one case: an
// empty message of the user is put behind the system message of a conversation where the user says nothing at all.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "server/message.h"

namespace colugo {

// Throws ApiError (400): for no messages, and what read_message throws.
std::vector<Message> read_conversation(RequestFields& fields, const std::vector<std::string>& dropped_headers,
                                       std::set<std::string>& unknown);

}  // namespace colugo
