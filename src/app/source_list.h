// The running sources as the guard asks for them: source::Source behind guard::SourceView. One for
// each configuration that is loaded.
//
// Under one name there may be several that run: a namespace that a reload adds is read by a source
// of its own beside those that go on (generation.h). Of these the state is the gravest, and a
// position is reached when all have reached it.
//
// Threads: add() and feeds() before it is shared, the rest any, look_up_row() one at a time.
// Lifetimes: the sources outlive it. A source that no namespace uses is not here.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "guard/process.h"
#include "source/source.h"

namespace cuckooguard::app {

class SourceList final : public guard::SourceView {
 public:
  void add(const config::Source& settings, source::Source& source);
  // The namespace `ns` is read by this source, which knows it as `its_number`.
  void feeds(std::uint32_t ns, source::Source& source, std::uint32_t its_number) {
    fed_[ns] = {&source, its_number};
  }

  // source::Source::look_up_row() of the source that reads the namespace.
  source::RowAnswer look_up_row(std::uint32_t ns,
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
    std::vector<source::Source*> running;
  };
  struct Feeding {
    source::Source* source;
    std::uint32_t its_number;
  };

  std::vector<Entry> entries_;
  std::map<std::uint32_t, Feeding> fed_;
};

}  // namespace cuckooguard::app
