#include "builder/publish.h"

#include "builder/builder.h"
#include "text/try.h"

namespace cuckooguard::fleet {

std::expected<std::unique_ptr<source::Publication>, std::string> make_publication(
    const app::Publishing& made) {
  const config::Fleet& fleet = made.settings.fleet;
  auto key = TRY(SigningKey::load(fleet.signing_key_file));
  auto keys = TRY(VerifyingKeys::load(fleet.public_key_files));
  auto builder = std::make_unique<Builder>(Builder::Settings{
      .name = made.settings.name,
      .prefix = fleet.prefix,
      .kind = std::string(made.kind.name),
      .key = std::move(key),
      .keys = std::move(keys),
      .redis = made.redis,
      .clock = made.clock,
      .want_proof = [&questions = made.questions] { questions.want(); },
      .on_trouble = [&observer = made.observer, name = made.settings.name](
                        const std::string& what) { observer.on_trouble(name, what); },
      .on_change =
          [&log = made.log, name = made.settings.name](const std::string& what) {
            log.info("fleet", {{"source", name}, {"what", what}});
          }});
  builder->start();
  return builder;
}

}  // namespace cuckooguard::fleet
