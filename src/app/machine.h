// What this process may use of its machine, and from where it can be reached.
//
// Threads: before there are others. Errors: none; a limit that cannot be raised stays.
#pragma once

#include <array>
#include <span>
#include <string>

#include "config/config.h"

namespace cuckooguard::app {

// `configured`, or half of the cores this process may use, at least one.
unsigned worker_count(unsigned configured);

// Two descriptors per client; the soft limit of a shell is often 1024.
void raise_descriptor_limit();

// Whether the kernel gives filters of 2 MiB and more pages of that size (filter/page_memory.h),
// according to `setting`. Without them look-ups take up to a fifth longer.
inline const std::string kHugePagesSetting = "/sys/kernel/mm/transparent_hugepage/enabled";
bool has_huge_pages(const std::string& setting = kHugePagesSetting);

// 127.0.0.1 and the like: not reachable from outside this machine or container.
bool is_loopback(const config::Address& address);

// Docker makes the first in every container, Podman the second.
inline const std::array<std::string, 2> kContainerMarks{"/.dockerenv", "/run/.containerenv"};

// One of `marks` is there. Not in Kubernetes (KUBERNETES_SERVICE_HOST is in the environment):
// the containers of a pod share their network, and a sidecar's loopback is the application's.
bool is_container_of_its_own(std::span<const std::string> marks, bool is_in_pod);

}  // namespace cuckooguard::app
