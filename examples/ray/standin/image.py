"""image.py KIND PYTHON PLATFORM ARCHITECTURE: an image with the wheel in it, as a tar of an OCI image layout."""

import gzip
import json
import sys

from common import commit, dist, inputs, make_tar, sha256, tag

kind, python, platform, architecture = sys.argv[1:]
system = "manylinux2014_" + architecture
(wheel,) = [w for w in inputs("wheel", f"ray-*-{tag(python)}-*-{system}.whl")]

MEDIA = "application/vnd.oci.image."
labels = {"org.opencontainers.image.revision": commit(), "org.opencontainers.image.title": kind, "io.ray.platform": platform}
layer = make_tar({f"opt/wheels/{wheel.name}": wheel.read_bytes(), "opt/platform": platform.encode()})
packed = gzip.compress(layer, mtime=0)
config = json.dumps({
    "os": "linux", "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[architecture], "config": {"Labels": labels},
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(layer)]},
}, sort_keys=True).encode()


def described(data, media):
    return {"mediaType": MEDIA + media, "digest": "sha256:" + sha256(data), "size": len(data)}


manifest = json.dumps({
    "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": described(config, "config.v1+json"),
    "layers": [described(packed, "layer.v1.tar+gzip")], "annotations": labels,
}, sort_keys=True).encode()
index = {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [described(manifest, "manifest.v1+json") | {"annotations": labels}]}
files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(index, sort_keys=True).encode()}
files |= {"blobs/sha256/" + sha256(blob): blob for blob in (config, packed, manifest)}
path = dist(f"{kind}-py{python}-{platform}-{architecture}.tar")
path.write_bytes(make_tar(files))
print(path)
