# A shop that caches with Rails' RedisCacheStore; keys such as "user:7". Arguments and output as lookups.py says.
#
# Debian 12 has Rails 6.1, whose cache format is the Entry, marshalled; `main.rb --no-such-user` prints in hex what it stores for a
# block that returns nil, which is what a guard's absent_reply has to be for it.
require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "sqlite3"

PATIENCE = 30 # seconds; for a busy machine

class Shop
  attr_reader :database_queries

  def initialize(port, database)
    @cache = ActiveSupport::Cache::RedisCacheStore.new(url: "redis://127.0.0.1:#{port}/0", expires_in: 300)
    @database = SQLite3::Database.new(database)
    @database_queries = 0
  end

  def name_of_user(id)
    @cache.fetch("user:#{id}") { load(id) }
  end

  private

  def load(id)
    @database_queries += 1
    @database.get_first_value("SELECT name FROM user WHERE id = ?", id)
  end
end

def step(name, ids, shop)
  before = shop.database_queries
  found = ids.count do |id|
    text = shop.name_of_user(id)
    abort "user #{id} came back as #{text}" unless text.nil? || text == "user #{id}"
    text
  end
  puts "step=#{name} lookups=#{ids.size} found=#{found} database_queries=#{shop.database_queries - before}"
  $stdout.flush
end

if ARGV == ["--no-such-user"]
  puts Marshal.dump(ActiveSupport::Cache::Entry.new(nil)).unpack1("H*")
  exit
end
port, database, *lists = ARGV
existing, absent, later = lists.map { |list| list.split(",").map(&:to_i) }
later ||= []
shop = Shop.new(port, database)
step("first", existing, shop)
step("again", existing, shop)
step("absent", absent + later, shop)
later.each do |id|
  before = shop.database_queries
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
  while shop.name_of_user(id).nil?
    abort "user #{id} has not come" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
  end
  puts "step=later lookups=1 found=1 database_queries=#{shop.database_queries - before}"
end
