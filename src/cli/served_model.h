// What a server of OpenAI's API, this program's or another's, says about itself over HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace colugo {

struct ServedModelAnswer {
    bool wants_key = false;  // the rest is not there: the key was missing or wrong
    std::string name{};
    int64_t context = 0;  // tokens; 0: it does not say
};

// Whether an address is one of https, which is a proxy's business: nothing here speaks TLS.
bool wants_tls(const std::string& url);

// An address as it is typed, with /v1 where it has no path: http://127.0.0.1:8080 -> http://127.0.0.1:8080/v1.
// Throws Error (invalid_argument) where it is no http or https address.
std::string with_api_path(const std::string& url);

// Asks GET url/models, for three seconds at most: the model of that name, or the first. Nothing where no such server
// answers there, or the address wants TLS. `key` may be empty.
// Throws Error (not_found) where the server has no model of that name, an empty name being none; and (invalid_argument)
// where the first's name has control characters, which no settings can show.
std::optional<ServedModelAnswer> ask_served_model(const std::string& url, const std::string& key,
                                                  const std::string& name);

}  // namespace colugo
