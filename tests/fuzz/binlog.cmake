cuckooguard_fuzz(binlog_events_fuzz cuckooguard_binlog ZLIB::ZLIB)
