# To be sourced by who has a fail(): a shop with two users, and a guard's configuration before its Redis.

# eventually COMMAND...: within a minute.
eventually() {
  until_then=$(($(date +%s) + 60))
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until_then" ] || fail "not within a minute: $*"
  done
}

shop_sql="CREATE TABLE user (id INTEGER PRIMARY KEY); INSERT INTO user VALUES (1), (2);"

# shop_yaml LISTEN UPSTREAM: the database is /var/lib/shop.db.
shop_yaml() {
  cat <<YAML
listen: "$1"
upstream: "$2"
sources:
  shop: { type: sqlite, path: /var/lib/shop.db }
namespaces:
  users:
    keys: "user:{id:uint64}"
    source: { from: shop, table: user }
    mode: enforce
    absent_reply: "bytes:__ABSENT__"
    fresh_ids: 0
    overlay: { pass_at_start: false }
YAML
}
