#include "views/source_metrics.h"

#include <string>
#include <string_view>

#include "filter/reported_state.h"

namespace cuckooguard::views {
namespace {

using Type = prometheus::MetricType;

void put_source(MetricFamilies& families,
                const Model& model,
                const std::string& name,
                const guard::SourceStatus& status) {
  for (const std::string_view state : filter::kSourceStateNames) {
    families.put({"cuckooguard_source_state", "1 for the current state.", Type::Gauge},
                 name_of(status.state) == state ? 1.0 : 0.0,
                 {{"source", name}, {"state", std::string(state)}});
  }
  if (status.proven_at) {
    families.put({"cuckooguard_source_proof_age_seconds",
                  "Time since all filters of the source were last proven up to date.",
                  Type::Gauge},
                 seconds_of(model.now - *status.proven_at),
                 {{"source", name}});
  }
  families.put({"cuckooguard_source_losses_total",
                "How often the connection to the source was lost.",
                Type::Counter},
               status.losses,
               {{"source", name}});
  families.put({"cuckooguard_source_troubles_total",
                "How often the source had trouble, such as a checkpoint that cannot be written.",
                Type::Counter},
               model.process_state.loads.troubles(name),
               {{"source", name}});
  if (status.log_retained) {
    families.put({"cuckooguard_source_log_retained_bytes",
                  "What the source's server keeps of its log for us.",
                  Type::Gauge},
                 static_cast<double>(*status.log_retained),
                 {{"source", name}});
  }
  if (status.flush_transactions) {
    families.put({"cuckooguard_source_flush_transactions_total",
                  "Transactions by which the source's log was flushed for reads that waited.",
                  Type::Counter},
                 *status.flush_transactions,
                 {{"source", name}});
  }
}

}  // namespace

void put_sources(MetricFamilies& families, const Model& model) {
  const guard::SourceView* const sources = model.process.sources;
  for (std::size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
    put_source(families, model, std::string(sources->name(i)), sources->status(i));
  }
}

}  // namespace cuckooguard::views
