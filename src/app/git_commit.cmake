# Writes OUTPUT, a header with the commit that SOURCE is at, if it is not the one that is there already: what includes it is compiled
# again for another commit only. CUCKOOGUARD_COMMIT in the environment says which it is where there is no repository, as in an image's
# build; else git is asked. `unknown` if neither knows.
find_program(GIT git)
set(commit "$ENV{CUCKOOGUARD_COMMIT}")
if(commit STREQUAL "" AND GIT)
  execute_process(COMMAND ${GIT} describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit STREQUAL "")
  set(commit "unknown")
endif()
set(header "#define CUCKOOGUARD_COMMIT \"${commit}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL header)
  file(WRITE ${OUTPUT} "${header}")
endif()
