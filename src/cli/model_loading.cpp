#include "cli/model_loading.h"

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "cli/text_output.h"
#include "text/terminal_text.h"

namespace colugo {

void print_notices(const std::vector<std::string>& notices) {
    for (const std::string& notice : notices) write_note(fmt::format("colugo: note: {}\n", on_one_line(notice)));
}

std::unique_ptr<LoadedModel> load_model(const LaunchOptions& options) {
    ProgressBar bar("loading");
    auto model = std::make_unique<LoadedModel>(options, [&](uint64_t done, uint64_t total) {
        if (interrupted()) throw Interrupted{};
        bar.update(done, total);
    });
    bar.finish();
    print_notices(model->notices());
    return model;
}

}  // namespace colugo
