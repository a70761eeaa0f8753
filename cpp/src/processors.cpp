// SPDX-License-Identifier: BSD-3-Clause
#include "processors.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace reblock::inline REBLOCK_NAMESPACE {

namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

#if defined(__linux__)

std::size_t allowed_by_affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return no_limit;
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

std::size_t processors_of(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return no_limit;
  const double processors = quota / period;
  const auto whole = static_cast<std::size_t>(processors);
  return std::max<std::size_t>(1, whole + (processors > static_cast<double>(whole) ? 1 : 0));
}

std::size_t allowed_by_group(const std::string& directory) {
  std::string quota;  // a number of microseconds in a period, or "max"
  double period = 0;
  if (std::ifstream(directory + "/cpu.max") >> quota >> period) {
    return quota == "max" ? no_limit : processors_of(std::strtod(quota.c_str(), nullptr), period);
  }
  double old_quota = 0;  // version 1: -1 where there is no limit
  std::ifstream(directory + "/cpu.cfs_quota_us") >> old_quota;
  std::ifstream(directory + "/cpu.cfs_period_us") >> period;
  return processors_of(old_quota, period);
}

/// The least that the group of this process and those around it allow. Lines of /proc/self/cgroup are
/// "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1.
std::size_t allowed_by_groups() {
  std::size_t allowed = no_limit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    line[first] = line[second] = ',';
    const std::string controllers = line.substr(first, second - first + 1);
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      allowed = std::min(allowed, allowed_by_group(root + path));
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  return allowed;
}

#else

std::size_t allowed_by_affinity() { return no_limit; }
std::size_t allowed_by_groups() { return no_limit; }

#endif

}  // namespace

std::size_t usable_processors() {
  const std::size_t there = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t allowed = std::min(allowed_by_affinity(), allowed_by_groups());
  return allowed == no_limit ? there : std::max<std::size_t>(1, allowed);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE
