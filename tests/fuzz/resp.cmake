foreach(target resp_request_scanner_fuzz resp_reply_framer_fuzz)
  cuckooguard_fuzz(${target} cuckooguard_resp)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
