# SPDX-License-Identifier: BSD-3-Clause
#
# What find_package(reblock CONFIG) and pkg-config find: below a prefix, or inside the Python package. No place
# is written into any of it, so that it may be moved. Without a library it is text for every machine.
include(CMakePackageConfigHelpers)

set(config_dir share/cmake/reblock)
set(for_machines ARCH_INDEPENDENT)
install(DIRECTORY cpp/include/ DESTINATION include)
install(TARGETS reblock EXPORT reblockTargets)
if(REBLOCK_BUILD_COMPILED OR REBLOCK_BUILD_C)
  include(GNUInstallDirs)
  set(for_machines "")
endif()
if(REBLOCK_BUILD_COMPILED)
  install(
    TARGETS reblock_compiled
    EXPORT reblockTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  )
  configure_file(cmake/reblock-compiled.pc.in ${CMAKE_CURRENT_BINARY_DIR}/reblock-compiled.pc @ONLY)
  install(
    FILES ${CMAKE_CURRENT_BINARY_DIR}/reblock-compiled.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  )
endif()
if(REBLOCK_BUILD_C)
  install(TARGETS ${REBLOCK_C_LIBRARIES} EXPORT reblockTargets)
  configure_file(cmake/reblock-c.pc.in ${CMAKE_CURRENT_BINARY_DIR}/reblock-c.pc @ONLY)
  install(
    FILES ${CMAKE_CURRENT_BINARY_DIR}/reblock-c.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  )
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
  ${for_machines}
)
install(
  FILES
    ${CMAKE_CURRENT_BINARY_DIR}/reblockConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/reblockConfigVersion.cmake
  DESTINATION ${config_dir}
)

configure_file(cmake/reblock.pc.in ${CMAKE_CURRENT_BINARY_DIR}/reblock.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reblock.pc DESTINATION share/pkgconfig)
