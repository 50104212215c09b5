// colugo doctor: what this machine is, and whether every tier computes here what the scalar one does; or what a client
// has to be told so that it uses a server.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/bandwidth_probe.h"
#include "cli/client_settings.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/kernel_check.h"
#include "cli/served_model.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"
#include "engine/machine.h"
#include "engine/memory_plan.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

struct TierReport {
    kernels::Tier tier;
    std::vector<KernelCheck> checks;

    bool passed() const {
        return std::all_of(checks.begin(), checks.end(), [](const KernelCheck& check) { return check.passed(); });
    }
};

struct Diagnosis {
    std::string cpu = cpu_name();
    kernels::Tier chosen = kernels::select_tier();
    int cpus = usable_cpus();
    uint64_t memory = total_memory();
    uint64_t available = available_memory();
    double bandwidth = 0.0;  // bytes per second
    std::vector<TierReport> tiers;

    bool passed() const {
        return std::all_of(tiers.begin(), tiers.end(), [](const TierReport& tier) { return tier.passed(); });
    }
};

Diagnosis diagnose(int threads) {
    constexpr uint64_t kProbeBytes = uint64_t{1} << 30;
    Diagnosis found;
    ThreadPool pool(threads > 0 ? threads : found.cpus);
    found.bandwidth = read_bandwidth(pool, std::min(kProbeBytes, found.available / 4));
    for (const kernels::Tier tier : {kernels::Tier::scalar, kernels::Tier::avx2, kernels::Tier::avx512,
                                     kernels::Tier::avx512_bf16, kernels::Tier::amx}) {
        if (!kernels::tier_available(tier)) continue;
        if (interrupted()) throw Interrupted{};
        found.tiers.push_back({tier, {}});
        if (tier != kernels::Tier::scalar) found.tiers.back().checks = check_kernels(tier);
    }
    return found;
}

ordered_json to_json(const Diagnosis& found) {
    ordered_json tiers = ordered_json::array();
    for (const TierReport& tier : found.tiers) {
        ordered_json checks = ordered_json::array();
        for (const KernelCheck& check : tier.checks) {
            ordered_json error = nullptr;  // JSON has no NaN
            if (std::isfinite(check.max_error)) error = check.max_error;
            checks.push_back({{"name", check.name},
                              {"passed", check.passed()},
                              {"max_error", error},
                              {"tolerance", check.tolerance}});
        }
        tiers.push_back({{"tier", kernels::tier_name(tier.tier)}, {"passed", tier.passed()}, {"checks", checks}});
    }
    return {{"version", COLUGO_VERSION},
            {"cpu", found.cpu},
            {"tier", kernels::tier_name(found.chosen)},
            {"cpus", found.cpus},
            {"memory_bytes", found.memory},
            {"available_bytes", found.available},
            {"read_bytes_per_second", found.bandwidth},
            {"tiers", tiers},
            {"passed", found.passed()}};
}

// The list below may have one that looks better.
std::string why_not_the_last(const Diagnosis& found) {
    using kernels::Tier;
    const bool passed_over = found.chosen == Tier::avx512 && found.tiers.back().tier == Tier::avx512_bf16;
    return passed_over ? ", which was faster than avx512_bf16 where both were measured (COLUGO_FORCE_ISA=avx512_bf16 "
                         "takes that)"
                       : "";
}

std::string to_text(const Diagnosis& found) {
    std::string text = fmt::format("version         {}\n", COLUGO_VERSION);
    text += fmt::format("CPU             {}\n", found.cpu);
    text += fmt::format("processors      {}\n", found.cpus);
    text += fmt::format("memory          {}, {} available\n", bytes_text(found.memory), bytes_text(found.available));
    text += fmt::format("read bandwidth  {:.1f} GB/s\n", found.bandwidth * 1e-9);
    text += fmt::format("tier            {}{}\n\n", kernels::tier_name(found.chosen), why_not_the_last(found));
    for (const TierReport& tier : found.tiers) {
        if (tier.tier == kernels::Tier::scalar) text += "scalar       the reference for the others\n";
        for (const KernelCheck& check : tier.checks) {
            text += fmt::format("{:<12} {:<20} {}  largest error {:.1e}\n", kernels::tier_name(tier.tier), check.name,
                                check.passed() ? "PASS" : "FAIL", check.max_error);
        }
    }
    return text;
}

class DoctorCommand {
 public:
    explicit DoctorCommand(CLI::App& app) {
        app.add_option("-t,--threads", threads_, "Threads of the bandwidth probe (0: as many as there are processors)")
            ->check(whole_number(0, 1024))
            ->capture_default_str();
        app.add_flag("--json", json_, "Print one JSON object");
        // Not from a file or the environment, where a model is what a server loads.
        CLI::Option* const client =
            app.add_option("--client", client_, "Instead: print the settings of a client: " + client_names())
                ->configurable(false);
        app.add_option("--url", url_, "The server that the client is to use")->capture_default_str()->needs(client);
        app.add_option("--model", model_name_, "The model's name there (default: the server's first)")
            ->configurable(false)
            ->needs(client);
        app.add_option("--api-key", api_key_, "What the server wants to know; it is not printed");
    }

    Outcome execute() const {
        if (!client_.empty()) return print_client_settings();
        const Diagnosis found = diagnose(threads_);
        write_output(json_ ? to_json(found).dump(2) + "\n" : to_text(found));
        return found.passed() ? Outcome::success : Outcome::failed;
    }

 private:
    Outcome print_client_settings() const;
    // What the server says, or what is assumed where there is none.
    ServedEndpoint endpoint() const;

    int threads_ = 0;
    bool json_ = false;
    std::string client_, model_name_, api_key_;
    std::string url_ = endpoint_url("127.0.0.1", 8080);
};

ServedEndpoint DoctorCommand::endpoint() const {
    ServedEndpoint endpoint{.url = with_api_path(url_), .model = model_name_, .wants_key = !api_key_.empty()};
    const auto note = [](const std::string& sentence) {
        write_note(fmt::format("colugo: note: {}\n", on_one_line(sentence)));
    };
    const std::string unknown = endpoint.model.empty()
                                    ? "the context stays unknown, and the model's name is taken to be nano (--model)"
                                    : "the context stays unknown";
    const std::optional<ServedModelAnswer> answer = ask_served_model(endpoint.url, api_key_, model_name_);
    if (wants_tls(endpoint.url)) {
        note(
            fmt::format("colugo speaks no TLS, so {} is not asked, and {}: --url with the http://HOST:PORT of the "
                        "server behind it, where it can be reached, tells it",
                        endpoint.url, unknown));
    } else if (!answer) {
        note(fmt::format("no server answers at {}: {}", endpoint.url, unknown));
    } else if (answer->wants_key) {
        endpoint.wants_key = true;
        note(api_key_.empty()
                 ? fmt::format("the server wants a key: with COLUGO_API_KEY set it tells more; now {}", unknown)
                 : fmt::format("the server does not take this key: {}", unknown));
    } else {
        endpoint.model = answer->name;
        endpoint.context = answer->context;
    }
    if (endpoint.model.empty()) endpoint.model = "nano";  // what a server without options has
    return endpoint;
}

Outcome DoctorCommand::print_client_settings() const {
    client_settings(client_, ServedEndpoint{});  // a name that is none is refused before anything is asked
    const ClientSettings settings = client_settings(client_, endpoint());
    write_note(settings.where + "\n");
    write_output(settings.text);
    return Outcome::success;
}

}  // namespace

Command add_doctor_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("doctor", "Examine this machine and test the kernels on it");
    auto command = std::make_shared<DoctorCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
