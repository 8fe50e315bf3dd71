// A reply that is not known yet: of a change that goes by way of a log (filled/store.h).
//
// Threads: its worker's. Lifetimes: it has its change; the counts outlive it. Errors: whatever
// becomes of the change is a reply. Limits: a store finishes every change.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "filled/store.h"
#include "guard/filled_counts.h"
#include "resp/version.h"

namespace cuckooguard::guard {

class PromisedReply {
 public:
  // What is written of a change that is done.
  using Write = void (*)(std::string& out, const filled::Change& change, resp::Version version);

  PromisedReply(std::shared_ptr<filled::Change> change,
                Write write,
                resp::Version version,
                FilledCounts& counts)
      : change_(std::move(change)), write_(write), version_(version), counts_(&counts) {}

  // What it takes until it is known.
  std::size_t bytes() const {
    const filled::Operation& operation = change_->operation();
    return sizeof(filled::Change) + operation.bytes() +
           operation.hashes.size() * sizeof(filled::ItemOutcome);
  }
  // As filled::Change has it.
  void await(std::shared_ptr<filled::FinishedChanges> finished, void* waiter) const {
    change_->await(std::move(finished), waiter);
  }
  bool is_known() const noexcept { return change_->is_done(); }
  // If is_known(); once.
  void append_to(std::string& out) const {
    counts_->add(*change_);
    write_(out, *change_, version_);
  }

 private:
  std::shared_ptr<filled::Change> change_;
  Write write_;
  resp::Version version_;
  FilledCounts* counts_;
};

}  // namespace cuckooguard::guard
