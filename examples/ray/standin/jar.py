"""jar.py native SYSTEM | jar.py merge: JARs with the native library of one system, and one of all of them."""

import sys
import zipfile

from common import commit, dist, inputs, version, write_zip

maven = "2.0.0-" + commit()[:8]


def manifest(more=""):
    return (
        "Manifest-Version: 1.0\nImplementation-Title: ray-runtime\n"
        f"Implementation-Version: {maven}\nImplementation-Vendor-Id: io.ray\nSCM-Revision: {commit()}\n{more}"
    ).encode()


if sys.argv[1] == "native":
    system = sys.argv[2]
    path = dist(f"ray-runtime-{maven}-{system}.jar")
    write_zip(path, {"META-INF/MANIFEST.MF": manifest(), f"native/{system}/libcore.txt": f"native code of {version()}\n".encode()})
else:
    files = {}
    for part in inputs("jar", "*.jar"):
        with zipfile.ZipFile(part) as archive:
            files |= {name: archive.read(name) for name in archive.namelist() if name.startswith("native/")}
    systems = sorted({name.split("/")[1] for name in files})
    if systems != ["darwin", "linux"]:
        sys.exit(f"cannot merge: found natives of {systems}, expected darwin and linux")
    pom = f"groupId=io.ray\nartifactId=ray-runtime\nversion={maven}\n".encode()
    path = dist(f"ray-runtime-{maven}.jar")
    write_zip(path, files | {"META-INF/MANIFEST.MF": manifest(), "META-INF/maven/io.ray/ray-runtime/pom.properties": pom})
print(path)
