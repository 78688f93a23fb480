"""ZIP and TAR files whose bytes depend on their entries alone: no clock, no owner, no order of the file system."""

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path

import stamp

Entries = dict[str, bytes]  # a name that ends in "/" is a directory


def tree(folder: Path, below: str = "") -> Entries:
    """The files under a folder, named from there, without what interpreters leave behind."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {below + p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def mode(name: str, data: bytes) -> int:
    return 0o755 if name.endswith("/") or data.startswith((b"\x7fELF", b"#!")) else 0o644


def write_zip(path: Path, entries: Entries) -> Path:
    """Keeps the order of the entries: a JAR's manifest comes first, a wheel's RECORD last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    when = time.gmtime(stamp.epoch())[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, when)
            info.external_attr = (0o100000 | mode(name, data)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return path


def read_zip(path: Path) -> Entries:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def tar(entries: Entries) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(entries):
            info = tarfile.TarInfo(name.rstrip("/"))
            info.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            info.size, info.mode, info.mtime = len(entries[name]), mode(name, entries[name]), stamp.epoch()
            archive.addfile(info, io.BytesIO(entries[name]))
    return buffer.getvalue()


def compress(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)
