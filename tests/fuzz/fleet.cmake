foreach(target fleet_bytes_fuzz fleet_log_fuzz)
  cuckooguard_fuzz(${target} cuckooguard_fleet OpenSSL::Crypto)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/integration)  # of the harness its temporary directory
endforeach()
