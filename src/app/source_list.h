// The running sources as the guard sees them: source::Source behind guard::SourceView. One list per
// loaded configuration.
//
// One name may have several running sources: a namespace added by a reload is read by a source of
// its own, next to those that continue (generation.h). Their state is the gravest one, and a
// position is reached when all have reached it.
//
// Threads: add() and feeds() before it is shared, the rest any, look-ups of rows one at a time.
// Lifetimes: the sources outlive it. Unused sources are not listed.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "guard/process.h"
#include "source/publication.h"
#include "source/source.h"

namespace cuckooguard::app {

class SourceList final : public guard::SourceView {
 public:
  // `type`: of its kind; static.
  void add(std::string_view name,
           std::string_view type,
           source::Source& source,
           const source::Publication& publication = source::Publication::none());
  // The namespace `ns` is read by this source, which knows it as `its_number`. `definition`: as it
  // is published; empty: it is not.
  void feeds(std::uint32_t ns,
             source::Source& source,
             std::uint32_t its_number,
             std::string definition = {}) {
    fed_[ns] = {&source, its_number, std::move(definition)};
  }

  // source::Source::look_up_row() of the source that reads the namespace.
  source::RowAnswer look_up_row(std::uint32_t ns,
                                std::string_view identity,
                                const std::stop_token& stop) const;
  // The same for a guard that follows, whose namespace is defined so.
  source::RowAnswer look_up_published(std::uint32_t ns,
                                      std::string_view definition,
                                      std::string_view identity,
                                      const std::stop_token& stop) const;

  std::size_t size() const override { return entries_.size(); }
  std::string_view name(std::size_t source) const override { return entries_.at(source).name; }
  guard::SourceStatus status(std::size_t source) const override;
  guard::Reached reached(std::size_t source, std::string_view position) const override;
  std::optional<std::string> piece(std::string_view snapshot, std::uint32_t number) const override;

 private:
  struct Entry {
    std::string name;
    std::string_view type;
    std::vector<source::Source*> running{};
    std::vector<const source::Publication*> publications{};  // of each
  };
  struct Feeding {
    source::Source* source;
    std::uint32_t its_number;
    std::string definition;
  };

  std::vector<Entry> entries_;
  std::map<std::uint32_t, Feeding> fed_;
};

}  // namespace cuckooguard::app
