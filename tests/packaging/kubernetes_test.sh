#!/bin/sh
# Builds packaging/kubernetes with kubectl, and looks at what comes out: kubernetes_test.sh SOURCE. Exit code 77: not here (ctest skips it).
# That the configurations in it are valid is documented_settings_test.cpp's.
set -eu
source=$1
version=$(sed -n 's/^project(cuckooguard VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
command -v kubectl >/dev/null || { echo "no kubectl here"; exit 77; }
# Components came with Kustomize 3.7; kubectl before 1.21 has 2.0, as Debian 12's.
kubectl version --client 2>&1 | grep -qE '(Minor:"|Client Version: v1\.)(2[1-9]|[3-9][0-9])' || { echo "this kubectl is too old"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "kubernetes_test: $name: $*" >&2; exit 1; }
# has TIMES LINE: the line, whatever stands before it, is there so many times.
has() { found=$(grep -cE -- "^[- ]*$2\$" "$folder/built" || true); [ "$found" = "$1" ] || fail "\`$2\` is there $found times, not $1"; }

overlays=0
for overlay in "$source"/packaging/kubernetes/sidecar/* "$source"/packaging/kubernetes/node "$source"/packaging/kubernetes/fleet; do
  name=${overlay#"$source"/packaging/kubernetes/}
  kubectl kustomize "$overlay" >"$folder/built" 2>"$folder/said" || { cat "$folder/said" >&2; fail "kubectl kustomize"; }
  [ ! -s "$folder/said" ] || fail "kubectl says: $(cat "$folder/said")"
  guards=1
  [ "$name" != fleet ] || guards=2
  has $guards "image: registry.example.com/cuckooguard:$version"
  has $guards "path: /livez"
  has $((guards * 2)) "path: /readyz"
  has $guards "runAsNonRoot: true"
  has $((guards * 2 + 2)) "cuckooguard: (sidecar|alone)"  # of pods, of what has them, and in both policies
  has 1 "kind: PodMonitor"
  has 1 "key: admin_token"
  has 2 "kind: NetworkPolicy"
  has $guards "kind: ConfigMap"
  # A pod is replaced when its configuration changes: the name has the content's hash, wherever it stands.
  for config in $(sed -n '/^kind: ConfigMap/,/^---/s/^  name: //p' "$folder/built"); do
    case $config in cuckooguard-*-?????????? | cuckooguard-??????????) ;; *) fail "$config has no hash" ;; esac
    has 2 "name: $config"
  done
  case $name in
    sidecar/*) has 1 "restartPolicy: Always"; has 1 "initContainers:" ;;
    node) has 1 "kind: DaemonSet"; has 1 "internalTrafficPolicy: Local" ;;
    fleet) has 1 "kind: StatefulSet"; has 1 "secretName: cuckooguard-builder"; has 1 "restartPolicy: Always" ;;
  esac
  overlays=$((overlays + 1))
done
echo "kubernetes_test: overlays=$overlays"
