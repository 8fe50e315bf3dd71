# Writes OUTPUT, a header with the commit that SOURCE is at, if it is not the one that is there already: what includes it is compiled
# again for another commit only. `unknown` where there is no git, or no repository.
find_program(GIT git)
set(commit "unknown")
if(GIT)
  execute_process(COMMAND ${GIT} describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(commit "${described}")
  endif()
endif()
set(header "#define CUCKOOGUARD_COMMIT \"${commit}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL header)
  file(WRITE ${OUTPUT} "${header}")
endif()
