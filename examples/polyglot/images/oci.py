"""An OCI image as one .tar of an image layout: read, stacked on another and written, without a daemon.

https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import archive  # noqa: E402
import stamp  # noqa: E402

MEDIA = "application/vnd.oci.image."
LABEL = "org.opencontainers.image."
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def encode(value: dict) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode()


def created() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stamp.epoch()))


@dataclass
class Image:
    """Layers as they are sent, the digests of what is in them, what made them, and how to run it all."""

    layers: list[bytes] = field(default_factory=list)
    diff_ids: list[str] = field(default_factory=list)
    history: list[dict] = field(default_factory=list)
    run: dict = field(default_factory=dict)  # Entrypoint, Env, Labels …

    def add_layer(self, files: archive.Entries, made_by: str) -> None:
        data = archive.tar(files)
        self.layers.append(archive.compress(data))
        self.diff_ids.append(digest(data))
        self.history.append({"created": created(), "created_by": made_by})

    def config(self) -> dict:
        rootfs = {"type": "layers", "diff_ids": self.diff_ids}
        about = {"created": created(), "os": "linux", "architecture": ARCHITECTURES[platform.machine()]}
        return about | {"config": self.run, "rootfs": rootfs, "history": self.history}

    def write(self, path: Path, annotations: dict[str, str]) -> None:
        """Annotates the manifest, and the index too: there it can be read without opening a blob."""
        blobs: dict[str, bytes] = {}

        def blob(data: bytes, media: str) -> dict:
            blobs["blobs/sha256/" + digest(data).removeprefix("sha256:")] = data
            return {"mediaType": MEDIA + media, "digest": digest(data), "size": len(data)}

        manifest = {"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "annotations": annotations}
        manifest["config"] = blob(encode(self.config()), "config.v1+json")
        manifest["layers"] = [blob(layer, "layer.v1.tar+gzip") for layer in self.layers]
        described = blob(encode(manifest), "manifest.v1+json") | {"annotations": annotations}
        index = {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [described]}
        files = {"oci-layout": encode({"imageLayoutVersion": "1.0.0"}), "index.json": encode(index)}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive.tar(files | {"blobs/": b"", "blobs/sha256/": b""} | blobs))


def read(path: Path) -> tuple[Image, str]:
    """The image of a layout, and its manifest's digest. Every blob is checked against the digest that names it."""
    with tarfile.open(path) as layout:

        def blob(descriptor: dict) -> bytes:
            data = layout.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read()
            if digest(data) != descriptor["digest"]:
                sys.exit(f"cannot read {path.name}: blob {descriptor['digest']} holds {digest(data)}")
            return data

        (described,) = json.load(layout.extractfile("index.json"))["manifests"]
        manifest = json.loads(blob(described))
        config = json.loads(blob(manifest["config"]))
        layers = [blob(layer) for layer in manifest["layers"]]
    return Image(layers, config["rootfs"]["diff_ids"], config["history"], config["config"]), described["digest"]
