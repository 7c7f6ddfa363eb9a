# The files that `cmake --install` installs, and the package by which find_package(dogged) finds them. No installed file
# holds an absolute path of the build, so that the tree can be moved.
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/dogged)

install(TARGETS dogged dogged_worker dogged_testing EXPORT doggedTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS dogged_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY src/include/dogged DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(pages ${PROJECT_BINARY_DIR}/cli/pages)
install(DIRECTORY ${pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${pages}/dogged.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dogged)
install(FILES ${pages}/_dogged DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${pages}/dogged.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

install(EXPORT doggedTargets NAMESPACE dogged:: DESTINATION ${package_directory})
configure_package_config_file(cmake/doggedConfig.cmake.in ${PROJECT_BINARY_DIR}/doggedConfig.cmake
                              INSTALL_DESTINATION ${package_directory} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/doggedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/doggedConfig.cmake ${PROJECT_BINARY_DIR}/doggedConfigVersion.cmake
              cmake/doggedAddWorker.cmake
        DESTINATION ${package_directory})

install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
