# SPDX-License-Identifier: BSD-3-Clause
#
# What find_package(reblock CONFIG) and pkg-config find: below a prefix, or inside the Python package. All
# of it is text that no machine and no place is written into, so that it may be moved.
include(CMakePackageConfigHelpers)

set(config_dir share/cmake/reblock)
install(DIRECTORY cpp/include/ DESTINATION include)
install(TARGETS reblock EXPORT reblockTargets)
if(REBLOCK_BUILD_COMPILED)
  include(GNUInstallDirs)
  install(TARGETS reblock_compiled EXPORT reblockTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT reblockTargets NAMESPACE reblock:: DESTINATION ${config_dir})
configure_package_config_file(
  cmake/reblockConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/reblockConfig.cmake
  INSTALL_DESTINATION ${config_dir}
)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/reblockConfigVersion.cmake
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT
)
install(
  FILES
    ${CMAKE_CURRENT_BINARY_DIR}/reblockConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/reblockConfigVersion.cmake
  DESTINATION ${config_dir}
)

configure_file(cmake/reblock.pc.in ${CMAKE_CURRENT_BINARY_DIR}/reblock.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reblock.pc DESTINATION share/pkgconfig)
