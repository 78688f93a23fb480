"""What the project's image must hold and do. Reads the layout on its own, so as not to trust the code that wrote it."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

COMMIT = os.environ["SLUICE_COMMIT"]
INPUTS = Path(os.environ["SLUICE_INPUTS"])
TOOLS = Path(__file__).parents[1] / "tools"
LABEL = "org.opencontainers.image."


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Layout:
    """An image layout in a tar, whatever wrote it."""

    def __init__(self, job):
        (path,) = (INPUTS / job).glob("*.tar")
        with tarfile.open(path) as tar:
            self.files = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
        (self.described,) = json.loads(self.files["index.json"])["manifests"]
        self.manifest = json.loads(self.blob(self.described))
        self.config = json.loads(self.blob(self.manifest["config"]))

    def blob(self, descriptor):
        return self.files["blobs/" + descriptor["digest"].replace(":", "/")]

    def layers(self):
        return [layer["digest"] for layer in self.manifest["layers"]]

    def unpack(self, folder):
        for layer in self.manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(self.blob(layer))) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Not in every 3.10 and 3.11.
                tar.extractall(folder)


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base, cls.image = Layout("base-image"), Layout("image")
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.root = Path(scratch.name)
        cls.image.unpack(cls.root)

    def run_rill(self, *words, text=""):
        return subprocess.run([self.root / "bin/rill", *words], input=text, capture_output=True, text=True, check=True).stdout

    def test_every_blob_is_what_its_name_says(self):
        blobs = {name: data for name, data in self.image.files.items() if name.startswith("blobs/")}
        self.assertEqual(len(blobs), 2 + len(self.image.layers()))
        for name, data in blobs.items():
            self.assertEqual("blobs/" + sha256(data).replace(":", "/"), name)

    def test_sizes_and_unpacked_digests(self):
        layers = [self.image.blob(layer) for layer in self.image.manifest["layers"]]
        self.assertEqual([layer["size"] for layer in self.image.manifest["layers"]], [len(layer) for layer in layers])
        self.assertEqual(self.image.config["rootfs"]["diff_ids"], [sha256(gzip.decompress(layer)) for layer in layers])

    def test_it_stands_on_the_base(self):
        below = self.base.layers()
        self.assertEqual(self.image.layers()[: len(below)], below)
        self.assertEqual(self.image.manifest["annotations"][LABEL + "base.digest"], self.base.described["digest"])

    def test_both_images_carry_the_commit(self):
        for layout in (self.base, self.image):
            self.assertEqual(layout.config["config"]["Labels"][LABEL + "revision"], COMMIT)
            self.assertEqual(layout.manifest["annotations"][LABEL + "revision"], COMMIT)

    def test_its_program_runs_without_any_library(self):
        self.assertEqual(self.image.config["config"]["Entrypoint"], ["/bin/rill"])
        self.assertNotIn(b"/lib64/ld-linux", (self.root / "bin/rill").read_bytes())
        self.assertEqual(self.run_rill("--version").split()[2], COMMIT)
        printed = self.run_rill(text="2 4 9")
        self.assertEqual(printed.split(), "count 3 mean 5 variance 13 low 2 high 9".split())

    def test_its_packages_work_for_every_python(self):
        code = "import sys; sys.path.insert(0, sys.argv[1]); from rillkit.report import report; import rillkit; "
        code += "print(rillkit.COMMIT, rillkit.ENGINE, report([2, 4, 9], 2).split()[-6:])"
        folders = sorted((self.root / "opt/rillkit").glob("py*"))
        self.assertEqual(len(folders), len(list((INPUTS / "wheel").glob("*.whl"))))
        for folder in folders:
            with self.subTest(python=folder.name):
                find = ["sh", TOOLS / "python-for", folder.name.removeprefix("py")]
                python = subprocess.run(find, capture_output=True, text=True, check=True).stdout.strip()
                done = subprocess.run([python, "-I", "-B", "-c", code, folder], capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout.strip(), f"{COMMIT} c {['all', '3', '5', '13', '2', '9']}")
