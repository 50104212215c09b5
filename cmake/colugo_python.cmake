# COLUGO_PYTHON: a Python 3 with numpy, for the tests' fixtures and the tools. The first one on the path may lack numpy.
function(colugo_has_numpy result candidate)
    execute_process(COMMAND ${candidate} -c "import sys, numpy; assert sys.version_info >= (3, 9)"
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

find_program(COLUGO_PYTHON NAMES python3 HINTS /usr/bin VALIDATOR colugo_has_numpy DOC "A Python 3 with numpy" REQUIRED)
