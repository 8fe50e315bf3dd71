#include "proxy/proof_waiters.h"

#include <algorithm>

namespace cuckooguard::proxy {

void ProofWaiters::add(Member& member, io::TimePoint until) {
  member.until_ = until;
  if (!member.waits_) {
    member.place_ = order_.insert(order_.end(), &member);
    member.waits_ = true;
  }
  hears_.exchange(true, std::memory_order_acq_rel);
  if (!deadlines_) {
    deadlines_ = loop_.after(kTick, [this] { tick(); });
  }
}

void ProofWaiters::remove(Member& member) {
  if (member.waits_) {
    member.waits_ = false;
    order_.erase(member.place_);
  }
}

// Those who wait on hear of the next proof, too: from before they look whether this one is theirs.
void ProofWaiters::on_proven() {
  hears_.exchange(!order_.empty(), std::memory_order_acq_rel);
  ask(order_.size());
}

// Those who have not been asked yet, from the front; who waits on goes to the end.
void ProofWaiters::ask(std::size_t left) {
  next_batch_.reset();
  for (std::size_t asked = 0; left > 0 && !order_.empty() && asked < kPerBatch; ++asked, --left) {
    Member& first = *order_.front();
    order_.splice(order_.end(), order_, order_.begin());
    first.on_proof();
  }
  if (left > 0 && !order_.empty()) {
    next_batch_ = loop_.after(std::chrono::milliseconds(0), [this, left] { ask(left); });
  }
}

void ProofWaiters::tick() {
  const io::TimePoint now = loop_.now();
  std::size_t due = kPerBatch;
  // All once, by turns: whoever is asked may end, and nobody's place is kept meanwhile.
  for (std::size_t left = order_.size(); left > 0 && due > 0 && !order_.empty(); --left) {
    Member& first = *order_.front();
    order_.splice(order_.end(), order_, order_.begin());
    if (now >= first.until_) {
      --due;
      first.on_proof();
    }
  }
  if (order_.empty()) {
    deadlines_.reset();
  } else {
    deadlines_ = loop_.after(kTick, [this] { tick(); });
  }
}

}  // namespace cuckooguard::proxy
