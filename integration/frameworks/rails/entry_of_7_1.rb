# Reads the guard's reply as Rails does from 7.1 on (`config.active_support.cache_format_version = 7.1`; activesupport's
# cache/coder.rb): a signature, the type of what follows, when it expires, how long its version is, and the value, marshalled.
# Debian 12 has Rails 6.1 only: the layout below is our own reading of that file.
#
#   ruby entry_of_7_1.rb HEX
#
# Prints one line: signature=0011 marshalled=1 expires=never version=none value_is_nil=1
reply = [ARGV.fetch(0)].pack("H*")
signature, type, expires_at, version_bytes = reply.unpack("a2CEl<")
packed_bytes = 2 + 1 + 8 + 4
puts "signature=#{signature.unpack1("H*")} marshalled=#{type == 1 ? 1 : 0} " \
     "expires=#{expires_at.negative? ? "never" : expires_at} version=#{version_bytes.negative? ? "none" : version_bytes} " \
     "value_is_nil=#{Marshal.load(reply.byteslice(packed_bytes..)).nil? ? 1 : 0}"
