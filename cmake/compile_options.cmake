# One set of flags for every target. Contraction is off because a fused multiply-add the compiler chooses in one
# inlining and not in another would make the same row give two results (docs/architecture.md, "The row law").
add_library(colugo_options INTERFACE)
target_compile_features(colugo_options INTERFACE cxx_std_20)
target_compile_options(colugo_options INTERFACE -Wall -Wextra -Wshadow -Wconversion
                                                -ffp-contract=off -fno-omit-frame-pointer)
target_include_directories(colugo_options INTERFACE ${PROJECT_SOURCE_DIR}/src)

if(COLUGO_SANITIZE)
    target_compile_options(colugo_options INTERFACE -fsanitize=${COLUGO_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(colugo_options INTERFACE -fsanitize=${COLUGO_SANITIZE})
endif()
