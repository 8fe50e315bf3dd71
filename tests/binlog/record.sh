#!/bin/sh
# Makes recorded/: binary logs of a real server, and beside each what SELECT says of its tables in the end.
#
#   record.sh mariadb [ROOT [DIRECTORY]]
#   record.sh mysql [ROOT [DIRECTORY]]
#
# With the server of ROOT, a chroot directory ("": of this machine), into DIRECTORY (recorded/).
# Run it as root: the server gives its rights away (--user). NAME.binlog is a binary log file as it stood on disk;
# NAME.tables has for each table its name, a line of facts (per column: its place from 0, then i: signed, u: unsigned,
# c: CHAR, b: BINARY, -: neither), the rows in the bytes of the text protocol (mysql --raw), and an empty line.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
server=$1
root=${2:-}
out=${3:-$here/recorded}
inside=${root:+chroot $root}
home=$(mktemp -d "$root/tmp/record-XXXXXX")  # seen from outside; inside it is $data
data=${home#"$root"}
chmod 755 "$home"

client() { $inside "$server" --no-defaults --protocol=socket -S "$data/socket" -u root --default-character-set=utf8mb4 --binary-mode "$@"; }
case $server in
  mariadb)
    $inside mariadb-install-db --no-defaults --user=nobody --datadir="$data/db" --force --skip-test-db \
      --auth-root-authentication-method=normal >"$home/install.log" 2>&1 || { cat "$home/install.log" >&2; exit 1; }
    admin=mariadb-admin
    daemon="mariadbd --binlog-format=ROW --gtid-strict-mode=1 --gtid-domain-id=3"
    ;;
  mysql)
    mkdir "$home/db" && chown nobody "$home/db"
    $inside mysqld --no-defaults --initialize-insecure --user=nobody --datadir="$data/db" >"$home/install.log" 2>&1 ||
      { cat "$home/install.log" >&2; exit 1; }
    admin=mysqladmin
    daemon="mysqld --mysqlx=OFF --secure-file-priv= --gtid-mode=ON --enforce-gtid-consistency=ON"
    ;;
esac
chown nobody "$home"
# shellcheck disable=SC2086
set -- $daemon
program=$1
shift
$inside "$program" --no-defaults "$@" --user=nobody --datadir="$data/db" --socket="$data/socket" --skip-networking \
  --pid-file="$data/pid" --log-bin=log --server-id=77 --innodb-buffer-pool-size=32M --character-set-server=utf8mb4 \
  >"$home/server.log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$home"' EXIT
$inside "$admin" --no-defaults -S "$data/socket" -u root --wait=6 ping >/dev/null || { cat "$home/server.log" >&2; exit 1; }

labels=$(seq -s, 0 299 | sed "s/[0-9]*/'l&'/g")
members=$(seq -s, 0 39 | sed "s/[0-9]*/'m&'/g")

# record NAME SET_GLOBAL FILE...: runs the files in an empty database, alone in a binary log.
record() {
  name=${server}_$1
  settings=$2
  shift 2
  client -e "DROP DATABASE IF EXISTS recorded; CREATE DATABASE recorded; $settings FLUSH BINARY LOGS"
  log=$(client -N -B -e 'SHOW BINARY LOGS' | tail -1 | cut -f1)
  for file in "$@"; do
    sed "s/@LABELS@/$labels/; s/@MEMBERS@/$members/" "$here/recording/$file.sql" | client recorded
  done
  client -e 'FLUSH BINARY LOGS'
  rm -f "$out/$name".*
  cp "$home/db/$log" "$out/$name.binlog"
  chmod 644 "$out/$name.binlog"
  tables=$(client -N -B -e "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'recorded' AND TABLE_TYPE = 'BASE TABLE'")
  for table in $tables; do
    printf 'table %s\n' "$table"
    select_text "$table"
    echo
  done >"$out/$name.tables"
}

# The columns that have a text form, their facts and their rows.
select_text() {
  having="FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'recorded' AND TABLE_NAME = '$1' AND DATA_TYPE IN ('tinyint',
    'smallint', 'mediumint', 'int', 'bigint', 'char', 'varchar', 'binary', 'varbinary', 'decimal', 'date', 'year')
    AND COLUMN_TYPE NOT LIKE '%compressed%' AND EXTRA NOT LIKE '%VIRTUAL%'"
  columns=$(client -N -B -e "SET group_concat_max_len = 100000;
    SELECT GROUP_CONCAT(CONCAT('\`', COLUMN_NAME, '\`') ORDER BY ORDINAL_POSITION) $having")
  client -N -B --raw -e "SET group_concat_max_len = 100000;
    SELECT GROUP_CONCAT(CONCAT(ORDINAL_POSITION - 1, CASE WHEN COLUMN_TYPE LIKE '%unsigned%' THEN 'u'
      WHEN DATA_TYPE LIKE '%int' THEN 'i' WHEN DATA_TYPE = 'binary' THEN 'b' WHEN DATA_TYPE = 'char' THEN 'c' ELSE '-' END)
      ORDER BY ORDINAL_POSITION SEPARATOR '\t') $having"
  client -N -B --raw -e "SET character_set_results = NULL; SELECT $columns FROM recorded.\`$1\`"
}

case $server in
  mariadb)
    full='SET GLOBAL binlog_row_metadata = FULL;'
    record types 'SET GLOBAL binlog_row_metadata = NO_LOG;' types wide mariadb
    record types_minimal 'SET GLOBAL binlog_row_metadata = MINIMAL;' types wide mariadb
    record types_full "$full" types wide mariadb
    record old_temporal "$full" mariadb_old_temporal
    record images "$full" images
    record statements "$full" statements mixed_engines
    record compressed "$full SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10;" types wide images
    record unchecked "$full SET GLOBAL log_bin_compress = OFF, GLOBAL binlog_checksum = NONE;" images
    client -N -B --raw -e 'SELECT @@global.gtid_binlog_pos' >"$out/mariadb_gtid_binlog_pos.txt"
    ;;
  mysql)
    full='SET GLOBAL binlog_row_metadata = FULL;'
    record types 'SET GLOBAL binlog_row_metadata = MINIMAL;' types wide mysql
    record types_full "$full" types wide mysql
    record images "$full" images
    record statements "$full" statements
    record gtids "$full" mysql_gtids
    record compressed "$full SET GLOBAL binlog_transaction_compression = ON;" types wide mysql images
    record unchecked "$full SET GLOBAL binlog_checksum = NONE;" images
    client -N -B --raw -e 'SELECT @@global.gtid_executed' >"$out/mysql_gtid_executed.txt"
    ;;
esac
client -N -B -e 'SELECT VERSION()' >"$out/$server.version"
