// Backends that break the row law in one way each, as a careless optimisation would: proof that the tests can fail.
#pragma once

#include <string>

#include "model/model_harness.h"

namespace colugo::testing {

enum class FaultKind {
    conv_input_not_rounded,   // a pass convolves its own inputs before they are rounded; only the window is rounded
    key_rounded_late,         // keys and values are rounded after the pass that produced them has read them
    pending_row_dropped,      // the last row of a chunk that ends inside a page is lost to the next
    split_reduction,          // with several rows, a norm sums its halves apart
    snapshot_window_skipped,  // a snapshot is taken without its convolution window
    page_not_copied,          // a sequence that goes on inside a page does not get the rows before
    sibling_convolved,        // a draft is convolved with the draft before it in the batch, not with its parent
    sibling_attended,         // a draft sees what the draft before it in the batch sees, not what its parent does
    rejected_key_kept,        // keys and values of a tree's first drafts are committed, whichever were accepted
    rejected_row_kept,        // the same of the recurrent layers' rows
};

std::string fault_name(FaultKind fault);
// The page type the fault needs: late rounding keeps f32 pages and rounds them between passes.
kernels::KvType faulty_kv_type(FaultKind fault);
ModelHarness::BackendFactory faulty_backend_factory(FaultKind fault);

}  // namespace colugo::testing
