// What common clients of OpenAI's API have to be told so that they use a server: one table for all of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace colugo {

struct ServedEndpoint {
    std::string url{};       // with /v1
    std::string model{};     // its name for clients
    int64_t context = 0;     // tokens; 0: unknown
    bool wants_key = false;  // the key itself is never among the settings: they name the variable COLUGO_API_KEY
};

struct ClientSettings {
    std::string where;  // one sentence: the file, or what is done with the text
    std::string text;   // to paste; ends in a line break
};

// "aider, cline, ..."
std::string client_names();

// Throws Error (invalid_argument with the names there are; unsupported where the client speaks no API of ours).
ClientSettings client_settings(std::string_view client, const ServedEndpoint& endpoint);

// A line for a shell that sets COLUGO_API_KEY to what the file has.
std::string key_setting(const std::string& key_file);

// "http://127.0.0.1:8080/v1"; an IPv6 address in brackets.
std::string endpoint_url(std::string_view host, uint16_t port);

}  // namespace colugo
