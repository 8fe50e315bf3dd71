#include "config/yaml_tree.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <locale>
#include <map>
#include <span>
#include <spanstream>
#include <utility>

#include <boost/algorithm/string/classification.hpp>
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "text/utf8.h"

namespace cuckooguard::config {
namespace {

constexpr std::size_t kNameBytesMax = 64;

Place place_of(const YAML::Mark& mark) {
  return mark.is_null() ? Place{} : Place{mark.line + 1, mark.column + 1};
}

// Builds the tree from the parser's events. What it refuses ends the parse, as
// YAML::ParserException.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Report& report) : report_(report) {}

  TreeNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string& /*name*/) override {
    throw YAML::ParserException(
        mark, "YAML anchors (&) are not supported; quote a value that begins with '&'");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw YAML::ParserException(
        mark, "YAML aliases (*) are not supported; quote a value that begins with '*'");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (expects_key()) {
      throw YAML::ParserException(mark, "a key is missing before ':'");
    }
    add(mark, {.kind = TreeNode::Kind::null});
  }
  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    refuse_tag(mark, tag);
    if (expects_key()) {
      open_.back().key = {value, place_of(mark), {}};
      open_.back().has_key = true;
    } else {
      add(mark, {.kind = TreeNode::Kind::scalar, .text = value, .quoted = tag == "!"});
    }
  }
  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, TreeNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, TreeNode::Kind::mapping);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {  // a list or mapping whose end has not come yet
    TreeNode node;
    Entry key;  // if has_key: the key whose value comes next
    bool has_key = false;
    std::map<std::string, int, std::less<>> lines;  // of the keys so far
  };

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == TreeNode::Kind::mapping &&
           !open_.back().has_key;
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw YAML::ParserException(
          mark, "YAML tags (!) are not supported; quote a value that begins with '!'");
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, TreeNode::Kind kind) {
    refuse_tag(mark, tag);
    if (expects_key()) {
      throw YAML::ParserException(
          mark, "a key must be a name, not a list or a mapping; quote text with braces");
    }
    if (open_.size() == kNestingMax) {
      throw YAML::ParserException(mark,
                                  fmt::format("is nested deeper than {} levels", kNestingMax));
    }
    count(mark);
    open_.push_back({.node = {.kind = kind, .place = place_of(mark)}, .key = {}, .lines = {}});
  }

  void close() {
    TreeNode done = std::move(open_.back().node);
    open_.pop_back();
    attach(std::move(done));
  }

  void add(const YAML::Mark& mark, TreeNode node) {
    count(mark);
    node.place = place_of(mark);
    attach(std::move(node));
  }

  void count(const YAML::Mark& mark) {
    if (++nodes_ > kNodesMax) {
      throw YAML::ParserException(mark, fmt::format("has more than {} values", kNodesMax));
    }
  }

  void attach(TreeNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == TreeNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    parent.has_key = false;
    Entry entry = std::move(parent.key);
    if (node.kind == TreeNode::Kind::null) {
      node.place = entry.place;  // yaml-cpp tells that of what comes next
    }
    entry.value = std::move(node);
    const auto [first, is_new] = parent.lines.emplace(entry.key, entry.place.line);
    if (is_new) {
      parent.node.entries.push_back(std::move(entry));
    } else {
      report_.add(entry.place,
                  "{} is defined twice; the first definition is in line {}",
                  looks_like_a_name(entry.key) ? entry.key : "a key",
                  first->second);
    }
  }

  Report& report_;
  TreeNode root_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
};

// Where the text stops being UTF-8 without NUL bytes.
std::optional<Place> first_non_text(std::string_view text) {
  Place place{1, 1};
  while (!text.empty()) {
    const std::size_t bytes = text::utf8_character_bytes(text);
    if (bytes == 0 || text[0] == '\0') {
      return place;
    }
    const bool ends_line = text[0] == '\n';
    place = ends_line ? Place{place.line + 1, 1}
                      : Place{place.line, place.column + static_cast<int>(bytes)};
    text.remove_prefix(bytes);
  }
  return std::nullopt;
}

// Of the tab that a line is indented by; 0: by none.
int column_of_indenting_tab(std::string_view yaml, int line) {
  for (int i = 1; i < line; ++i) {
    yaml.remove_prefix(std::min(yaml.find('\n'), yaml.size() - 1) + 1);
  }
  const std::size_t tab = yaml.find_first_not_of(' ');
  return tab != std::string_view::npos && yaml[tab] == '\t' ? static_cast<int>(tab) + 1 : 0;
}

}  // namespace

bool looks_like_a_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax &&
         std::ranges::all_of(text,
                             boost::algorithm::is_alnum(std::locale::classic()) ||
                                 boost::algorithm::is_any_of("_-"));
}

std::optional<TreeNode> parse_tree(std::string_view yaml, Report& report) {
  if (yaml.size() > kFileBytesMax) {
    report.add({}, "is larger than {} bytes", kFileBytesMax);
    return std::nullopt;
  }
  if (const auto place = first_non_text(yaml)) {
    report.add(*place, "is not UTF-8 text");
    return std::nullopt;
  }
  // yaml-cpp 0.7 takes the end of the file for the end of an open quote; the end of a document it
  // does not.
  const std::string document = std::string(yaml) + "\n...\n";
  TreeBuilder builder(report);
  try {
    std::ispanstream input(std::span<const char>(document.data(), document.size()));
    YAML::Parser parser(input);
    if (parser.HandleNextDocument(builder)) {
      TreeNode root = builder.take_root();
      TreeBuilder second(report);
      if (parser.HandleNextDocument(second)) {
        report.add(second.take_root().place,
                   "a second YAML document begins here; a configuration is a single document");
      }
      return root;
    }
    return TreeNode{};
  } catch (const YAML::Exception& error) {
    // Its messages are fixed texts (ours above, or yaml-cpp's with at most one character of the
    // file).
    const Place place = place_of(error.mark);
    const std::string_view text = yaml.substr(0, yaml.find_last_not_of("\r\n") + 1);
    const auto last_line = static_cast<int>(1 + std::ranges::count(text, '\n'));
    if (place.line > last_line) {
      report.add({last_line, 1}, "the file ends inside a value: a quote, [ or { is not closed");
    } else if (const int tab = column_of_indenting_tab(text, place.line); tab > 0) {
      report.add({place.line, tab}, "a tab in the indentation; YAML allows only spaces");
    } else if (error.msg.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR)) {
      // yaml-cpp 0.8 adds its name, which may be a password that begins with '*'.
      report.add(place, "the referenced anchor is not defined; quote a value that begins with '*'");
    } else {
      report.add(place, error.msg);
    }
  } catch (const std::exception& error) {
    report.add({}, "is not valid YAML ({})", error.what());
  }
  return std::nullopt;
}

}  // namespace cuckooguard::config
