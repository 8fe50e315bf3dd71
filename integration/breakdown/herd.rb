# A cache-aside application on Rails' RedisCacheStore, with PROCESSES of THREADS clients of the herd (herd.h). Rails 6.1 has one connection
# per process, unless it is told of a pool.
#
#   herd.rb PORT HERD PROCESSES THREADS
#
# PORT is Redis's, or the guard's.
require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "socket"

TTL = 300 # seconds

class Herd
  def initialize(port)
    @connection = TCPSocket.new("127.0.0.1", port)
    @connection.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
  end

  def ask(line)
    @connection.write("#{line}\n")
    @connection.gets.chomp
  end

  def load(id)
    ask("load #{id}")
  end
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def client(cache, herd)
  order = herd.ask("ready")
  while order != "end"
    id = order.delete_prefix("read ")
    start = now
    value = cache.fetch("user:#{id}") { herd.load(id) }
    order = herd.ask("took #{((now - start) * 1e6).round} #{value}")
  end
end

port, herd_port, processes, threads = ARGV.map(&:to_i)
processes.times do
  fork do
    cache = ActiveSupport::Cache::RedisCacheStore.new(
      url: "redis://127.0.0.1:#{port}/0", expires_in: TTL, error_handler: ->(method:, returning:, exception:) { raise exception }
    )
    Array.new(threads) { Thread.new { client(cache, Herd.new(herd_port)) } }.each(&:join)
  end
end
Process.waitall
