// What the programs of `./dev bench` say of many measurements of one thing.
#pragma once

#include <vector>

namespace cuckooguard::bench {

// Of sorted values; 0 if there is none.
double percentile(const std::vector<double>& sorted, double part);
double median(std::vector<double> values);

}  // namespace cuckooguard::bench
