cuckooguard_fuzz(session_fuzz cuckooguard_simulation)
target_sources(session_fuzz PRIVATE session_fuzz_client.cpp ${PROJECT_SOURCE_DIR}/tests/simulation/proxy_memory.cpp)
