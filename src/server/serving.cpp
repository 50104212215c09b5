#include "server/serving.h"

#include <thread>

namespace colugo {

namespace {

constexpr auto kGlance = std::chrono::milliseconds(50);
constexpr auto kLastWords = std::chrono::seconds(5);  // for answers that are being sent

// Threads that run a context until the end of a scope.
class NetworkThreads {
 public:
    NetworkThreads(boost::asio::io_context& context, int count) : context_(context) {
        for (int i = 0; i < count; ++i) threads_.emplace_back([&context] { context.run(); });
    }
    ~NetworkThreads() {
        context_.stop();
        for (std::thread& thread : threads_) thread.join();
    }
    NetworkThreads(const NetworkThreads&) = delete;
    NetworkThreads& operator=(const NetworkThreads&) = delete;

 private:
    boost::asio::io_context& context_;
    std::vector<std::thread> threads_;
};

// False: it did not come in time, or patience() ended.
template <typename Condition, typename Patience>
bool wait_for(std::chrono::milliseconds longest, const Condition& condition, const Patience& patience) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end || !patience()) return false;
        std::this_thread::sleep_for(kGlance);
    }
    return true;
}

}  // namespace

void serve(ApiServer& api, const ServingOptions& options, const std::function<void(uint16_t port)>& listening,
           const std::function<bool()>& should_stop, const std::function<bool()>& insists) {
    boost::asio::io_context context;
    HttpServer server(
        context, options.host, options.port, options.limits,
        [&api](HttpExchange& exchange) { return api.handle(exchange); },
        [&api](const HttpRequest& request, int status, std::string_view sentence) {
            return api.turn_away(request, status, sentence);
        });
    {
        const NetworkThreads threads(context, options.network_threads);
        listening(server.port());
        while (!should_stop()) std::this_thread::sleep_for(kGlance);
        api.drain();
        server.drain();
        const auto is_idle = [&] { return server.connections() == 0; };
        if (!wait_for(options.grace, is_idle, [&] { return !insists(); })) {
            api.interrupt();
            if (!wait_for(kLastWords, is_idle, [] { return true; })) server.close();
            wait_for(kLastWords, is_idle, [] { return true; });
        }
    }
}

}  // namespace colugo
