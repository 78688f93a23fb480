"""Builds the JAR for one platform, and joins the JARs of several platforms into one.

python build.py native PLATFORM OUTPUT      the classes, and the native library of a platform such as linux-x86_64
python build.py join OUTPUT JAR...          the same classes, and the native libraries of them all
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tools"))
import archive  # noqa: E402
import stamp  # noqa: E402

FLAGS = "-O2 -g0 -std=c11 -Wall -Wextra -Werror -fPIC -shared -ffp-contract=off -Wl,--build-id=none -Wl,-s"


def manifest() -> bytes:
    lines = ["Manifest-Version: 1.0", "Main-Class: io.rillkit.Main", "Automatic-Module-Name: io.rillkit"]
    lines += ["Enable-Native-Access: ALL-UNNAMED", "Implementation-Title: rillkit", "Implementation-Vendor-Id: io.rillkit"]
    lines += [f"Implementation-Version: {stamp.maven_version()}", f"Implementation-Commit: {stamp.commit()}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def write_jar(path: Path, entries: archive.Entries) -> Path:
    return archive.write_zip(path, {"META-INF/MANIFEST.MF": manifest()} | dict(sorted(entries.items())))


def compiler(target: str) -> list[str]:
    """The machine's own compiler, or the cross compiler of another processor."""
    arch = target.removeprefix("linux-")
    command = shlex.split(os.environ.get("CC", "cc")) if arch == platform.machine() else [f"{arch}-linux-gnu-gcc"]
    if not shutil.which(command[0]):
        sys.exit(f"cannot build for {target}: there is no {command[0]}; install it, or take {target} out of 'platforms'")
    return command


def jdk_headers() -> list[str]:
    javac = shutil.which("javac")
    if not javac:
        sys.exit("cannot build the JAR: there is no javac on the PATH; install a JDK, 11 or newer")
    include = Path(javac).resolve().parents[1] / "include"
    return [f"-I{include}", f"-I{include / 'linux'}"]


def native(target: str, output: Path) -> Path:
    compile_library, headers = compiler(target), jdk_headers()
    with tempfile.TemporaryDirectory() as scratch:
        classes, generated, library = Path(scratch, "classes"), Path(scratch, "h"), Path(scratch, "librillkit.so")
        javac = ["javac", "-J-XX:TieredStopAtLevel=1", "--release", "11", "-Xlint:all,-options", "-Werror"]
        sources = sorted(str(p.relative_to(HERE)) for p in HERE.glob("src/**/*.java"))
        subprocess.run([*javac, "-d", str(classes), "-h", str(generated), *sources], cwd=HERE, check=True)
        inputs = [f"-I{generated}", "-I../native", "native/rill_jni.c", "../native/rill.c"]
        subprocess.run([*compile_library, *FLAGS.split(), *headers, *inputs, "-o", str(library)], cwd=HERE, check=True)
        entries = archive.tree(classes) | {f"natives/{target}/librillkit.so": library.read_bytes()}
    return write_jar(output / f"rillkit-{stamp.maven_version()}-{target}.jar", entries)


def join(output: Path, jars: list[Path]) -> Path:
    """Refuses JARs that differ in anything but their native libraries: they are not of one build."""
    joined: archive.Entries = {}
    for jar in jars:
        for name, data in archive.read_zip(jar).items():
            if joined.setdefault(name, data) != data:
                sys.exit(f"cannot join {jar.name}: its {name} differs from the other JARs'")
    if not jars or joined.pop("META-INF/MANIFEST.MF") != manifest():
        sys.exit(f"cannot join {[jar.name for jar in jars]}: expected JARs of commit {stamp.commit()}")
    return write_jar(output / f"rillkit-{stamp.maven_version()}.jar", joined)


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    if verb == "native":
        print(native(words[0], Path(words[1])))
    else:
        print(join(Path(words[0]), [Path(word) for word in words[1:]]))
