# Creates rows with ActiveRecord and reads each from Rails' RedisCacheStore at once. integration/frameworks/creator.h documents arguments
# and output. `created_and_read.rb --absent` prints the guard's absent reply in hex: an entry with the value ABSENT, because a cached nil
# and a missing key are the same to Rails.cache.read.
#
# Reads inside the transaction are made by a callback of after_create.
require "active_record"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "securerandom"

ABSENT = "absent"
PATIENCE = 60_000 # ms; for a busy machine

class Visit < ActiveRecord::Base
  self.table_name = "visit"
end

class Letter < ActiveRecord::Base
  self.table_name = "letter"
  before_create { self.id = SecureRandom.uuid }
end

class Reader
  attr_reader :rows, :absent

  def initialize(port, table)
    # By default Rails treats an error of Redis as a miss.
    @cache = ActiveSupport::Cache::RedisCacheStore.new(
      url: "redis://127.0.0.1:#{port}/0", error_handler: ->(method:, returning:, exception:) { raise exception }
    )
    @table = table
    @rows = @absent = 0
  end

  def read(row)
    @rows += 1
    @absent += 1 if @cache.read("#{@table}:#{row.id}") == ABSENT
  end
end

def connect(address)
  if address.include?("://")
    ActiveRecord::Base.establish_connection(address.sub(/\Amysql:/, "mysql2:"))
  else
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: address, timeout: PATIENCE)
  end
end

def create(model, reader, rows, is_inside, interval)
  model.after_create { |row| reader.read(row) } if is_inside
  rows.times do
    row = model.create!
    reader.read(row) unless is_inside
    sleep interval if interval.positive?
  end
  $stdout.syswrite("rows=#{reader.rows} absent=#{reader.absent}\n")
end

if ARGV == ["--absent"]
  puts Marshal.dump(ActiveSupport::Cache::Entry.new(ABSENT)).unpack1("H*")
  exit
end
port, address, table, processes, rows, place, interval = ARGV
model = { "visit" => Visit, "letter" => Letter }.fetch(table)
$stdout.syswrite("ready\n")
children = Array.new(processes.to_i) do
  fork do
    connect(address)
    create(model, Reader.new(port, table), rows.to_i, place == "inside", interval.to_i / 1000.0)
  end
end
exit(children.map { |child| Process.wait2(child)[1].success? }.all?)
