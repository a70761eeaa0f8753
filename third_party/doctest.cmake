# SPDX-License-Identifier: BSD-3-Clause
#
# doctest, the framework of the C++ tests: a single header that compiles fast. MIT licence. Used by the
# tests alone, never by what is installed. Debian has it as doctest-dev.
find_package(doctest 2.4.9 QUIET CONFIG)
if(NOT TARGET doctest::doctest AND REBLOCK_BUILD_TESTS STREQUAL "AUTO")
  message(
    STATUS
    "reblock: the C++ tests are left out, since doctest is not installed. "
    "REBLOCK_BUILD_TESTS=ON fetches it."
  )
elseif(NOT TARGET doctest::doctest)
  message(STATUS "reblock: doctest is not installed, and is fetched from GitHub")
  include(FetchContent)
  FetchContent_Declare(
    doctest
    GIT_REPOSITORY https://github.com/doctest/doctest.git
    GIT_TAG ae7a13539fb71f270b87eb2e874fbac80bc8dda2 # v2.4.11
    SYSTEM
  )
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5) # doctest asks for an older one than CMake 4 knows
  FetchContent_MakeAvailable(doctest)
  if(NOT TARGET doctest::doctest)
    message(FATAL_ERROR "reblock: the C++ tests need doctest, which could not be fetched")
  endif()
endif()
