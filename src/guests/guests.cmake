# The guests: features that the program may be built without, each by its option. This list is the one place that names them; what they
# plug into is app/guests.h and cli/command.h, and no room of the spine (src/CMakeLists.txt) includes one.
#
# cuckooguard_guest(NAME WHAT        the option is CUCKOOGUARD_WITH_NAME
#   ROOMS folder...                  of src/: built if a guest that has them is in
#   FIND package... | module=name    by find_package(), or pkg_check_modules(MODULE name)
#   LINKS target...                  for INCLUDES
#   INCLUDES header...
#   ADDS statement...)               in program(), where `all` is the cli::Program
macro(cuckooguard_guest name what)
  string(TOLOWER ${name} guest)
  cmake_parse_arguments(GUEST "" "" "ROOMS;FIND;LINKS;INCLUDES;ADDS" ${ARGN})
  option(CUCKOOGUARD_WITH_${name} "${what}" ON)
  if(CUCKOOGUARD_WITH_${name})
    list(APPEND CUCKOOGUARD_GUESTS ${guest})
    list(APPEND CUCKOOGUARD_GUEST_ROOMS ${GUEST_ROOMS})
    foreach(package ${GUEST_FIND})
      if(package MATCHES "(.*)=(.*)")
        pkg_check_modules(${CMAKE_MATCH_1} REQUIRED IMPORTED_TARGET ${CMAKE_MATCH_2})
      else()
        find_package(${package} REQUIRED)
      endif()
    endforeach()
    list(APPEND CUCKOOGUARD_GUEST_LINKS ${GUEST_LINKS})
    foreach(header ${GUEST_INCLUDES})
      string(APPEND CUCKOOGUARD_GUEST_INCLUDES "#include <${header}>\n")
    endforeach()
    foreach(statement ${GUEST_ADDS})
      string(APPEND CUCKOOGUARD_GUEST_ADDS "  all.${statement};\n")
    endforeach()
  else()
    string(APPEND CUCKOOGUARD_LEFT_OUT "\"${guest}\", ")
  endif()
endmacro()

cuckooguard_guest(BLOOM "Filters of other libraries: sources of type bloom, `cuckooguard filter`"
  ROOMS foreign/formats source/bloom cli/filter_tool
  INCLUDES formats/formats.h bloom/kind.h filter_tool/commands.h
  ADDS "guests.built.formats = foreign::all_formats()" "guests.kinds.push_back(&source::kBloom)"
       "commands.push_back(cli::add_filter_commands)")
cuckooguard_guest(SQLITE "Sources of type sqlite, `cuckooguard triggers`"
  ROOMS source/sqlite cli/triggers
  FIND SQLite3
  LINKS SQLite::SQLite3
  INCLUDES sqlite3.h sqlite/kind.h triggers/print_triggers.h
  ADDS "guests.kinds.push_back(&source::sqlite::kKind)" "guests.libraries.push_back({\"sqlite\", sqlite3_libversion})"
       "commands.push_back(cli::add_triggers_command)")
cuckooguard_guest(MYSQL "Sources of type mysql"
  ROOMS source/mysql source/follow binlog
  FIND ZLIB MARIADB=libmariadb ZSTD=libzstd
  LINKS PkgConfig::MARIADB ZLIB::ZLIB PkgConfig::ZSTD
  INCLUDES mysql.h zlib.h zstd.h mysql/kind.h
  ADDS "guests.kinds.push_back(&source::mysql::kKind)" "guests.libraries.push_back({\"mariadb-connector-c\", mysql_get_client_info})"
       "guests.libraries.push_back({\"zlib\", zlibVersion})" "guests.libraries.push_back({\"zstd\", ZSTD_versionString})")
cuckooguard_guest(POSTGRES "Sources of type postgres, `cuckooguard slot`"
  ROOMS source/postgres source/follow pgoutput cli/slots
  FIND POSTGRESQL=libpq
  INCLUDES postgres/kind.h slots/slots.h
  ADDS "guests.kinds.push_back(&source::postgres::kKind)" "commands.push_back(cli::add_slot_commands)")
cuckooguard_guest(DEBEZIUM "Sources of type debezium"
  ROOMS debezium source/stream
  FIND simdjson
  INCLUDES stream/kind.h
  ADDS "guests.kinds.push_back(&source::stream::kKind)")
cuckooguard_guest(KAFKA "Sources of type debezium: from: kafka"
  FIND RDKAFKA=rdkafka
  LINKS PkgConfig::RDKAFKA
  INCLUDES librdkafka/rdkafka.h
  ADDS "guests.libraries.push_back({\"librdkafka\", rd_kafka_version_str})")

cuckooguard_guest(FILTERS "Filters that applications fill: BF.*, CF.*, sets without duplicates"
  ROOMS filled filled/served filled/process replicated
  INCLUDES process/application_filters.h
  ADDS "guests.make_filters = guard::make_application_filters")
cuckooguard_guest(CLUSTER "Redis Cluster and Sentinel"
  ROOMS cluster routing topology
  INCLUDES cluster/map.h topology/topology.h
  ADDS "guests.make_topology = topology::make_topology" "guests.served_slots = cluster::served_slots")
cuckooguard_guest(FLEET "Fleets: one guard reads the database, many follow it"
  ROOMS fleet fleet/builder fleet/follower cli/fleet_status
  INCLUDES builder/builder.h follower/kind.h fleet_status/fleet_status.h
  ADDS "guests.kinds.push_back(&fleet::kFollowerKind)" "guests.make_publication = fleet::make_publication"
       "commands.push_back(cli::add_fleet_commands)")
cuckooguard_guest(TRAFFIC "Who reads which keys, and which expire together: GUARD.TOP, metrics"
  ROOMS traffic
  INCLUDES traffic/traffic.h
  ADDS "guests.traffic = &traffic::kGuest")

cuckooguard_guest(BREAKDOWN "Loads of keys that several clients miss at once"
  ROOMS breakdown
  INCLUDES breakdown/redis_leases.h
  ADDS "guests.make_loads = breakdown::make_loads")

list(REMOVE_DUPLICATES CUCKOOGUARD_GUEST_ROOMS)
list(TRANSFORM CUCKOOGUARD_GUEST_ROOMS REPLACE ".*/" "" OUTPUT_VARIABLE CUCKOOGUARD_GUEST_ROOM_NAMES)
