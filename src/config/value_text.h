// The values of settings as text, such that the readers of values.h give the same value again.
//
// Threads: free functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"

namespace cuckooguard::config {

std::string text_of(std::chrono::milliseconds duration);  // in the largest unit that it is whole in
std::string text_of(double fraction);                     // 0.2%
std::string text_of(bool truth);
std::string text_of(int count);
std::string text_of(std::uint32_t count);
std::string text_of(std::uint64_t count);
std::string text_of(const std::string& text);
std::string text_of(const Address& address);
std::string text_of(const NodeAddress& node);
std::string text_of(const AbsentReply& reply);
std::string text_of(const FreshIds& window);
std::string text_of(const ReplicationSlot& slot);
std::string text_of(const std::optional<Address>& address);      // none: empty
std::string text_of(const std::optional<NodePorts>& ports);      // none: empty
std::string text_of(const std::optional<std::uint32_t>& count);  // none: auto
std::string text_of(const std::optional<std::uint64_t>& count);  // none: auto
// nullopt: the key has to be left out.
std::optional<std::string> text_of(const std::optional<AbsentReply>& reply);

std::string text_of_bytes(std::uint64_t bytes);  // 64KiB
std::string text_of_rate(double per_second);  // 10/s, or 30/min where that is the whole number; 0

}  // namespace cuckooguard::config
