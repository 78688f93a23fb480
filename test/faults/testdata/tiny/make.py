"""Makes the tiny project's artifacts: make.py wheel FLAVOUR | jar | image. The same commit gives the same bytes."""

import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile

COMMIT = os.environ["SLUICE_COMMIT"]
VERSION = f"1.0.dev{int(COMMIT[:9], 16)}"


def archive(path, files):
    with zipfile.ZipFile(path, "w") as z:
        for name, text in files.items():
            z.writestr(zipfile.ZipInfo(name), text)


def wheel(flavour):
    name = f"tiny_{flavour}"
    info = f"{name}-{VERSION}.dist-info"
    archive(f"dist/{name}-{VERSION}-py3-none-any.whl", {
        f"{name}.py": f"COMMIT = {COMMIT!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-{flavour}\nVersion: {VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: make.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    })


def jar():
    archive(f"dist/tiny-1.0-{COMMIT[:8]}.jar", {"META-INF/MANIFEST.MF": f"Manifest-Version: 1.0\nCommit: {COMMIT}\n"})


def image():
    blobs = {}

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"digest": f"sha256:{digest}", "size": len(data)}

    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as t:
        text = COMMIT.encode()
        entry = tarfile.TarInfo("commit")
        entry.size = len(text)
        t.addfile(entry, io.BytesIO(text))
    layer = layer.getvalue()
    config = {
        "architecture": "amd64", "os": "linux",
        "config": {"Labels": {"org.opencontainers.image.revision": COMMIT}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }
    oci = "application/vnd.oci.image."
    manifest = {
        "schemaVersion": 2, "mediaType": oci + "manifest.v1+json",
        "config": {"mediaType": oci + "config.v1+json", **blob(json.dumps(config).encode())},
        "layers": [{"mediaType": oci + "layer.v1.tar", **blob(layer)}],
    }
    index = {"schemaVersion": 2, "mediaType": oci + "index.v1+json", "manifests": [
        {"mediaType": oci + "manifest.v1+json", **blob(json.dumps(manifest).encode())}]}
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index).encode(), **blobs}
    with tarfile.open("dist/tiny.tar", "w") as t:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            t.addfile(entry, io.BytesIO(data))


os.makedirs("dist")
{"wheel": wheel, "jar": jar, "image": image}[sys.argv[1]](*sys.argv[2:])
