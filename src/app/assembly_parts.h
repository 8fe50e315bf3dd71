// What belongs to one worker, for the files of Assembly alone.
#pragma once

#include "app/assembly.h"

namespace cuckooguard::app {

// The thread ends before what it works with.
struct Assembly::WorkerParts {
  WorkerParts(Assembly& all, std::size_t index)
      : number(index),
        reader(all.epochs_.reader(index)),
        settings(all.session_settings(all.config_)),
        guard(all.generation_->guarded(index)),
        worker({.begin = [this] { reader.enter(); }, .end = [this] { reader.leave(); }}),
        clients({.loop = worker.loop(),
                 .guard = guard,
                 .settings = settings,
                 .total = all.client_count_}) {
    all.tls_.encrypt_connects(worker.loop());
  }
  ~WorkerParts() { worker.stop_and_join(); }
  WorkerParts(const WorkerParts&) = delete;
  WorkerParts& operator=(const WorkerParts&) = delete;

  std::size_t number;
  filter::Epochs::Reader& reader;
  proxy::Session::Settings settings;  // the worker's own to read and, at a reload, to replace
  guard::Guard guard;
  io::Worker worker;
  proxy::Clients clients;
};

}  // namespace cuckooguard::app
