// The results for people, and for machines.
//
// Threads: any; no I/O.
#pragma once

#include <string>
#include <vector>

#include "proxy_bench_floors.h"
#include "proxy_bench_results.h"

namespace cuckooguard::bench {

// Every cell, a line per target; then memory; then the floors, each met or missed.
std::string table(const Results& results);

// {"rows": ..., "value_bytes": ..., "cells": [...], "memory": [...], "floors": [...]}; what was not
// measured is null.
std::string json(const Results& results);

}  // namespace cuckooguard::bench
