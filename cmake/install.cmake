# What `cmake --install` puts in place: the headers, the library, the program, and the files with which another project
# finds them by find_package(l2gcn).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/l2gcn)

install(TARGETS l2gcn EXPORT l2gcn_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/l2gcn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT l2gcn_targets NAMESPACE l2gcn:: DESTINATION ${package_dir} FILE l2gcnTargets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/l2gcnConfig.cmake.in ${PROJECT_BINARY_DIR}/l2gcnConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/l2gcnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/l2gcnConfig.cmake ${PROJECT_BINARY_DIR}/l2gcnConfigVersion.cmake DESTINATION ${package_dir})
if(TARGET l2gcn_cli)
  install(TARGETS l2gcn_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET l2gcn_mpi)  # where the program looks for it: beside itself, or in ../lib
  install(TARGETS l2gcn_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
