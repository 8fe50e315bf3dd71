// What a source that follows a log tells of its filters to whoever publishes them to other guards
// (fleet/), in the order in which it does it.
//
//   inserted, deleted … erased … mark     of each transaction, as it is applied
//   set_facts … mark, proven              all that was committed by then is applied
//   anew, lost                            a table was read, or is not understood any more
//   wants_cut ─▶ cut, kept                a file of its filter is written, and is in its place
//
// Must: deleted() of a row comes before erased() of it, which is called when the filter need not
//       have it any more; what was taken back is inserted and erased. Between cut() and the next
//       call nothing comes to the filter that is written.
// Threads:   the source's and those that load and write its tables, one at a time; wants_cut() from
//            any. None may block.
// Lifetimes: it outlives the source.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/core/noncopyable.hpp>

#include "filter/cuckoo_filter.h"
#include "filter/isolated_rows.h"
#include "source/source.h"

namespace cuckooguard::source {

struct PublishedFacts {
  bool is_ready = false;  // look-ups trust its filter, and all changes of it are told
  std::string_view why{};
  std::uint64_t largest_id = 0;
};

class Publication : boost::noncopyable {
 public:
  using Table = std::uint64_t;
  using Hashes = std::span<const std::uint64_t>;

  virtual ~Publication() = default;

  // Behind the last call from its source: what it goes on with by itself ends.
  virtual void stop() {}

  // From now on these are the namespace's tables.
  virtual void set_tables(const Target& /*target*/, std::span<const std::string> /*tables*/) {}
  // Or it is in doubt which those are that are given by patterns.
  virtual void set_doubt(bool /*is_in_doubt*/) {}

  virtual void inserted(Table /*table*/, Hashes /*hashes*/) {}
  virtual void deleted(Table /*table*/, std::uint64_t /*hash*/) {}
  virtual void erased(Table /*table*/, std::uint64_t /*hash*/) {}
  // The filter is another one, of rows of this definition (follow/log.h: definition_hash); its
  // changes are told from here on, or no more.
  virtual void anew(Table /*table*/, std::uint64_t /*definition*/) {}
  virtual void lost(Table /*table*/) {}
  // It is another one, of the same rows and those that wait to be erased: with more room, say.
  virtual void rebuilt(Table /*table*/) {}
  virtual void set_facts(Table /*table*/, const PublishedFacts& /*facts*/) {}
  // All of its isolated rows, before the hash of any is inserted.
  virtual void set_isolated(Table /*table*/, const filter::IsolatedRows& /*rows*/) {}
  // How far the log is, and its last transaction, as no other one is called; empty: none was seen.
  virtual void mark(const std::string& /*position*/, const std::string& /*end*/) {}
  virtual void proven(TimePoint /*at*/) {}

  // What it is doing, and for whom. Any thread.
  virtual void show(std::vector<filter::SourceFact>& /*facts*/) const {}

  virtual bool wants_cut(Table /*table*/) const { return false; }
  virtual void cut(Table /*table*/, const filter::Digest& /*digest*/) {}
  virtual void kept(Table /*table*/, const std::string& /*path*/) {}
  // Of a snapshot that other guards fetch here, the bytes of one piece. Any thread.
  virtual std::optional<std::string> piece(std::string_view /*snapshot*/,
                                           std::uint32_t /*number*/) const {
    return std::nullopt;
  }

  static Publication& none();  // to nobody
};

// Of what makes a filter's rows and their hashes, but for the database: guards whose namespaces are
// defined alike, and that have the same secret, can have the same filter. Of others a table has
// another number.
std::string published_definition(const Target& target);
Publication::Table published_number(const Target& target, std::string_view table);

// One table's.
class PublishedTable {
 public:
  PublishedTable(Publication& to, Publication::Table number) : to_(&to), number_(number) {}

  void inserted(Publication::Hashes hashes) const { to_->inserted(number_, hashes); }
  void deleted(std::uint64_t hash) const { to_->deleted(number_, hash); }
  void erased(std::uint64_t hash) const { to_->erased(number_, hash); }
  void anew(std::uint64_t definition) const { to_->anew(number_, definition); }
  void lost() const { to_->lost(number_); }
  void rebuilt() const { to_->rebuilt(number_); }
  void set_facts(const PublishedFacts& facts) const { to_->set_facts(number_, facts); }
  void set_isolated(const filter::IsolatedRows& rows) const { to_->set_isolated(number_, rows); }
  bool wants_cut() const { return to_->wants_cut(number_); }
  void cut(const filter::Digest& digest) const { to_->cut(number_, digest); }
  void kept(const std::string& path) const { to_->kept(number_, path); }

 private:
  Publication* to_;
  Publication::Table number_;
};

}  // namespace cuckooguard::source
