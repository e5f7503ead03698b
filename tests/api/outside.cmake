# Builds and runs the README's example as a project outside this one, with its CMakeLists.txt and CMake's default generator.
#   WAY installed     finds the installed library with find_package(l2gcn)
#       cxx17         the same, by version, from a project that asks for C++17; the library's target raises it to 20
#       subdirectory  add_subdirectory of the source tree
# Then the program evaluates the model which the example saved.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/run)

# The first C++ block of README.md is the example, the first CMake block its project.
file(READ ${SOURCE}/README.md readme)
string(REGEX MATCH "```cpp\n([^`]*)```" block "${readme}")
set(example "${CMAKE_MATCH_1}")
string(REGEX MATCH "```cmake\n([^`]*)```" block "${readme}")
set(project "${CMAKE_MATCH_1}")
if(NOT example MATCHES "int main" OR NOT project MATCHES "find_package\\(l2gcn REQUIRED\\)")
  message(FATAL_ERROR "README.md has no C++ example, or none with its CMakeLists.txt")
endif()
file(WRITE ${WORK}/example.cpp "${example}")
file(WRITE ${WORK}/standard.cpp "static_assert(__cplusplus >= 202002L, \"the target asks for C++20\");\n")

set(find "find_package(l2gcn REQUIRED)")
if(WAY STREQUAL subdirectory)
  string(REPLACE "${find}" "add_subdirectory(${SOURCE} l2gcn)
if(TARGET l2gcn_cli OR TARGET CLI11::CLI11 OR TARGET GTest::gtest)
  message(FATAL_ERROR \"a subproject brings the library alone\")
endif()" project "${project}")
  # Compiling costs far more than running here, so files are grouped and barely optimised.
  set(FLAGS -O0)
  set(options -D L2GCN_CUDA=OFF -D L2GCN_WERROR=OFF -D L2GCN_HARDEN=OFF -D L2GCN_KERNEL_FLAGS=-O1
    -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=48 -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
else()
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  set(options -D CMAKE_PREFIX_PATH=${WORK}/prefix)
endif()
if(WAY STREQUAL cxx17)
  string(REPLACE "${find}" "set(CMAKE_CXX_STANDARD 17)\nfind_package(l2gcn 0.1 REQUIRED)" project "${project}")
endif()
file(WRITE ${WORK}/CMakeLists.txt "${project}target_sources(example PRIVATE standard.cpp)\n")
run(${CMAKE_COMMAND} -S ${WORK} -B ${WORK}/build -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_BUILD_TYPE=${BUILD_TYPE} "-DCMAKE_CXX_FLAGS_RELEASE=${FLAGS}" ${options})
run(${CMAKE_COMMAND} --build ${WORK}/build --target example)
run(${CMAKE_COMMAND} -E chdir ${WORK}/run ${WORK}/build/example)
message(STATUS "${output}")
if(WAY STREQUAL cxx17)
  return()
endif()
run(${PROGRAM} evaluate ${WORK}/run/my-model synthetic:pubmed --json)
string(JSON f1 GET "${output}" f1 test)
if(f1 LESS 0.8)
  message(FATAL_ERROR "the example's model scores ${f1} on the demo graph")
endif()
