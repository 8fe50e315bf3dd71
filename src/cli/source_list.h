// The running sources as the guard asks for them: source::Source behind guard::SourceView.
//
// Called by: Assembly makes it, the workers' guards ask (guard/process.h). Threads: add() before there are workers,
// the rest any, look_up_row() one at a time. Lifetimes: the sources outlive the workers. Errors: none. A source that no namespace uses is not here.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "guard/process.h"
#include "source/source.h"

namespace cuckooguard::cli {

class SourceList final : public guard::SourceView {
 public:
  void add(const config::Source& settings, source::Source& source);

  // source::Source::look_up_row() of the source with this name.
  source::RowAnswer look_up_row(std::string_view name,
                                std::uint32_t ns,
                                std::string_view identity,
                                const std::stop_token& stop) const;

  std::size_t size() const override { return entries_.size(); }
  std::string_view name(std::size_t source) const override { return entries_.at(source).name; }
  guard::SourceStatus status(std::size_t source) const override;
  guard::Reached reached(std::size_t source, std::string_view position) const override;

 private:
  struct Entry {
    std::string name;
    std::string_view type;
    source::Source* source;
  };

  std::vector<Entry> entries_;
};

}  // namespace cuckooguard::cli
