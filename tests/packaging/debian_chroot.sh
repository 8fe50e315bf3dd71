# To be sourced. make_debian FOLDER LOG [SUITE]: a small Debian 12, or another one, which has its packages from where this machine has its own, and
# starts no service that is installed.
make_debian() {
  mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  debootstrap --variant=minbase "${3:-bookworm}" "$1" ${mirror:+"$mirror"} >"$2" 2>&1 ||
    { tail -n 20 "$2" >&2; return 1; }
  for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/sources.list.d/debian.sources; do
    [ ! -e "$file" ] || sed "s/bookworm/${3:-bookworm}/g" "$file" >"$1$file"
  done
  [ ! -e "$1/etc/apt/sources.list.d/debian.sources" ] || rm "$1/etc/apt/sources.list"  # the same again
  printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
  chmod +x "$1/usr/sbin/policy-rc.d"
}
