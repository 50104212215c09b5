#include "backend/cpu/cpu_backend.h"

namespace colugo {

namespace {

constexpr size_t kMaxCalls = 8;

// A call as this tier runs it: the weight with the activation format it multiplies fastest, and where in the prepared
// activations its input lies.
struct Product {
    kernels::PackedWeight weight;
    size_t offset;
    int panels;  // to be computed
    int first_task;
};

bool same_input(const kernels::PackedWeight& a, const kernels::PackedWeight& b) {
    return a.activation == b.activation && a.input_scale == b.input_scale;
}

int num_panels(const LinearCall& call) {
    return call.groups.empty() ? call.weight->num_panels() : static_cast<int>(call.groups.size());
}

}  // namespace

void CpuBackend::linear(std::span<const LinearCall> calls, TensorView x) {
    COLUGO_CHECK(!calls.empty() && calls.size() <= kMaxCalls);
    if (x.rows == 0) return;
    const int rows = static_cast<int>(x.rows);
    const int k = static_cast<int>(x.cols);
    Product products[kMaxCalls];
    int panels = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
        const LinearCall& call = calls[i];
        const int outputs = call.groups.empty() ? call.weight->n : num_panels(call) * kernels::kPanel;
        COLUGO_CHECK(call.weight->k == k && call.out.cols == outputs && call.out.rows == rows);
        Product& product = products[i];
        product.weight = *call.weight;
        product.weight.activation = table_.matmul_activation(call.weight->format, call.weight->activation);
        product.panels = num_panels(call);
        panels += product.panels;
        // The input is rounded or quantized once for all calls that want the same form of it.
        size_t same = 0;
        while (!same_input(products[same].weight, product.weight)) ++same;
        product.offset = same < i ? products[same].offset : bytes;
        if (same < i) continue;
        bytes += prepare_input(product.weight, product.offset, x);
    }

    // Several tasks per thread, so that one kept off its core holds nobody up; long enough to stream.
    const int block = std::max(1, panels / (pool_.size() * 8));
    int tasks = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
        products[i].first_task = tasks;
        tasks += (products[i].panels + block - 1) / block;
    }
    pool_.parallel_for(tasks, [&](int task, int thread) {
        size_t i = calls.size() - 1;
        while (products[i].first_task > task) --i;
        const Product& product = products[i];
        const int begin = (task - product.first_task) * block;
        const int end = std::min(product.panels, begin + block);
        const kernels::MatmulArgs args{.y = calls[i].out.f32(),
                                       .ldy = calls[i].out.row_stride,
                                       .activation = activations_.data() + product.offset,
                                       .rows = rows,
                                       .weight = &product.weight,
                                       .add = calls[i].add};
        if (calls[i].groups.empty()) return table_.matmul(args, begin, end, scratch(thread));
        multiply_groups(args, calls[i].groups, begin, end, scratch(thread));
    });
}

// Groups [begin, end) of those that are wanted, into the columns where they stand among them.
void CpuBackend::multiply_groups(const kernels::MatmulArgs& args, std::span<const int32_t> groups, int begin, int end,
                                 std::byte* scratch) const {
    for (int run = begin; run < end;) {
        const int first = groups[static_cast<size_t>(run)];
        int count = 1;
        while (run + count < end && groups[static_cast<size_t>(run + count)] == first + count) ++count;
        kernels::MatmulArgs moved = args;
        moved.y += static_cast<int64_t>(run - first) * kernels::kPanel;
        table_.matmul(moved, first, first + count, scratch);
        run += count;
    }
}

// The rows of x in the weight's activation format, at `offset` of the prepared activations. Returns their bytes.
size_t CpuBackend::prepare_input(const kernels::PackedWeight& weight, size_t offset, TensorView x) {
    const int k = static_cast<int>(x.cols);
    const size_t row_bytes = table_.activation_row_bytes(weight.activation, k);
    const size_t bytes = static_cast<size_t>(x.rows) * row_bytes;
    grow(activations_, offset + bytes, offset);
    for_rows(x.rows, k, [&](int64_t row) {
        table_.prepare_activation(activations_.data() + offset + static_cast<size_t>(row) * row_bytes,
                                  weight.activation, weight.input_scale, x.f32(row), x.row_stride, 1, k);
    });
    return bytes;
}

}  // namespace colugo
