# colugo_library(name SOURCES ... DEPENDS ...): one static library per folder of src/.
function(colugo_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC colugo_options ${ARG_DEPENDS})
endfunction()

# colugo_test(name [FIXTURES] SOURCES ... DEPENDS ...): one GoogleTest program, one CTest entry. FIXTURES: it reads the
# checkpoints tests/fixtures makes.
function(colugo_test name)
    cmake_parse_arguments(ARG "FIXTURES" "" "SOURCES;DEPENDS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${name} PRIVATE COLUGO_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               COLUGO_FIXTURES_DIR="${PROJECT_BINARY_DIR}/fixtures")
    target_link_libraries(${name} PRIVATE colugo_options ${ARG_DEPENDS} GTest::gtest_main GTest::gmock)
    add_test(NAME ${name} COMMAND ${name})
    if(ARG_FIXTURES)
        set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED checkpoints)
    endif()
endfunction()
