#include "views/status.h"

#include <boost/json.hpp>

#include "text/printable.h"
#include "text/utf8.h"
#include "views/totals.h"

namespace cuckooguard::views {
namespace {

namespace json = boost::json;

constexpr std::size_t kTextBytesMax = 1024;

// A database's words may be in any encoding: what is no UTF-8, which the serializer would not find
// out, is escaped.
json::value text_of(const std::string& text) {
  return text::is_utf8(text) ? json::value(text)
                             : json::value(text::printable(text, kTextBytesMax));
}

struct JsonValue {
  json::value operator()(std::monostate) const { return nullptr; }
  json::value operator()(const guard::FactAge& age) const {
    return age ? json::value(std::chrono::duration<double>(*age).count()) : json::value(nullptr);
  }
  json::value operator()(const std::string& text) const { return text_of(text); }
  json::value operator()(const std::vector<std::string>& texts) const {
    json::array all;
    for (const std::string& text : texts) {
      all.push_back(text_of(text));
    }
    return all;
  }
  json::value operator()(const guard::FactHistogram& /*value*/) const { return nullptr; }
  json::value operator()(auto number) const { return number; }
};

json::object& object_in(json::value& value) {
  return value.is_object() ? value.as_object() : value.emplace_object();
}

// At "a.b" in `all`; the objects on the way are made.
json::value& at(json::object& all, std::string_view path) {
  const std::size_t dot = path.find('.');
  json::value& found = all[path.substr(0, dot)];
  return dot == std::string_view::npos ? found : at(object_in(found), path.substr(dot + 1));
}

json::object& object_of(json::object& page, const guard::FactSection& section) {
  if (section.json.empty()) {
    return page;
  }
  if (section.json.ends_with("[]")) {
    json::value& all = at(page, section.json.substr(0, section.json.size() - 2));
    json::array& list = all.is_array() ? all.as_array() : all.emplace_array();
    return object_in(list.emplace_back(nullptr));
  }
  json::object& all = object_in(at(page, section.json));
  return section.name.empty() ? all : object_in(all[section.name]);
}

void put(json::object& page, const guard::FactSection& section) {
  json::object* object = nullptr;
  for (const guard::Fact& fact : section.facts) {
    if (!fact.name.json.empty()) {
      object = object != nullptr ? object : &object_of(page, section);
      at(*object, fact.name.json) = std::visit(JsonValue(), fact.value.any);
    }
  }
}

json::value problems_of(const Model& model, const ProcessUse& use) {
  json::array all;
  for (const Problem& problem : problems(model, use)) {
    all.push_back(json::object{{"grade", name_of(problem.grade)},
                               {"what", text_of(problem.what)},
                               {"why", text_of(problem.why)},
                               {"hint", text_of(problem.hint)}});
  }
  return all;
}

json::value reply_time_bounds() {
  json::array bounds;
  for (const std::chrono::microseconds bound : guard::ReplyTimes::kBounds) {
    bounds.push_back(std::chrono::duration<double>(bound).count());
  }
  return bounds;
}

json::value events_of(const Model& model, std::uint64_t after) {
  json::array events;
  if (model.process_state.events != nullptr) {
    for (const Event& event : model.process_state.events->after(after)) {
      events.push_back(
          json::object{{"number", event.number},
                       {"time", static_cast<double>(event.time.time_since_epoch().count()) / 1000},
                       {"level", event.level},
                       {"text", text_of(event.text)}});
    }
  }
  return events;
}

}  // namespace

std::string status_json(const Model& model, std::uint64_t events_after) {
  const ProcessUse use = process_use();
  json::object page{{"version", nullptr},
                    {"uptime_seconds", nullptr},
                    {"draining", nullptr},
                    {"problems", problems_of(model, use)},
                    {"configuration", nullptr},
                    {"workers", json::array()},
                    {"process", nullptr},
                    {"redis", nullptr},
                    {"nodes", nullptr},
                    {"totals", json_of(totals_of(model))},
                    {"reply_time_bounds", reply_time_bounds()},
                    {"unchecked_reads", nullptr},
                    {"namespaces", json::object()},
                    {"sources", json::object()},
                    {"filters", nullptr},
                    {"events", events_of(model, events_after)}};
  const guard::FactTable table = facts_of(model, use);
  for (const guard::FactSection& section : table.sections()) {
    put(page, section);
  }
  return json::serialize(page) + "\n";
}

}  // namespace cuckooguard::views
