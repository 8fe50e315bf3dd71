"""Writes an OCI image of one layer as a file, the same bytes each time: oci_image.py FOLDER ARCHITECTURE VERSION COMMIT OUTPUT.

FOLDER is the image's root. All in it is root's, but the folder of filters, which is the guard's. `docker load` takes it (manifest.json is for
those before Docker 25), as do `podman load` and `skopeo copy oci-archive:OUTPUT`.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile

USER = 65532
FILTERS = "var/lib/cuckooguard"
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])


def layer(root):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            entry = tar.gettarinfo(path, path.relative_to(root).as_posix())
            entry.mtime, entry.uname, entry.gname = EPOCH, "", ""
            entry.uid = entry.gid = USER if entry.name == FILTERS else 0
            with open(path, "rb") if entry.isreg() else io.BytesIO() as content:
                tar.addfile(entry, content)
    return packed.getvalue()


def main(folder, architecture, version, commit, output):
    tar = layer(pathlib.Path(folder))
    files = {}
    image = f"localhost/cuckooguard:{version}"  # once it is loaded: it is in no registry

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        files[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def text(value):
        return json.dumps(value, indent=1, sort_keys=True).encode()

    labels = {"title": "Cuckoo Guard", "licenses": "Apache-2.0", "version": version, "revision": commit}
    config = blob(text({
        "created": datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "architecture": architecture, "os": "linux",
        "config": {
            "User": f"{USER}:{USER}", "Env": ["PATH=/usr/bin"], "ExposedPorts": {"6380/tcp": {}}, "Volumes": {f"/{FILTERS}": {}},
            "Entrypoint": ["cuckooguard"], "Cmd": ["--config", "/etc/cuckooguard/cuckooguard.yaml"],
            "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}"]}}), "config.v1+json")
    packed = blob(gzip.compress(tar, mtime=0), "layer.v1.tar+gzip")
    manifest = blob(text({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
                          "layers": [packed]}), "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": image}
    files["index.json"] = text({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]})
    files["oci-layout"] = text({"imageLayoutVersion": "1.0.0"})
    path = "blobs/sha256/{}".format
    files["manifest.json"] = text([{"Config": path(config["digest"][7:]), "RepoTags": [image],
                                    "Layers": [path(packed["digest"][7:])]}])
    with tarfile.open(output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(files[name]), EPOCH
            archive.addfile(entry, io.BytesIO(files[name]))
    print(f"oci_image: file={pathlib.Path(output).name} bytes={os.path.getsize(output)} root_bytes={len(tar)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
