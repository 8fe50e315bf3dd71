#include "guard/absent_reply.h"

#include "resp/reply_writer.h"

namespace cuckooguard::guard {

AbsentReply::AbsentReply(const config::AbsentReply& reply)
    : has_value_(!reply.nil), value_(reply.nil ? "" : reply.bytes) {
  if (has_value_) {
    resp::append_bulk(resp2_, value_);
    resp3_ = resp2_;
  } else {
    resp::append_nil(resp2_, resp::Version::resp2);
    resp::append_nil(resp3_, resp::Version::resp3);
  }
}

}  // namespace cuckooguard::guard
