// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

#include <reblock/result.hpp>

namespace reblock::test {

/// Checks that a call was refused with a message that has all of these parts.
template <class T>
void check_refused(const result<T>& outcome, std::initializer_list<const char*> parts) {
  std::string expected;
  for (const char* part : parts) expected = expected + " [" + part + "]";
  INFO("expected an error that mentions", expected);
  REQUIRE_FALSE(outcome);
  const std::string message = outcome.why().message();
  for (const char* part : parts) {
    INFO("got: ", message);
    CHECK(message.find(part) != std::string::npos);
  }
}

}  // namespace reblock::test
