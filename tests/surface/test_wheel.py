import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BUNDLED = """
import json
from pathlib import Path
import kb_search
from kb_search.bundled import bundled_seed, bundled_seed_names, schema_sql

package = Path(kb_search.__file__).parent
print(json.dumps({
    "package": str(package),
    "seeds": [str(bundled_seed(name)) for name in bundled_seed_names()],
    "schema": schema_sql(),
    "files": [path.relative_to(package).as_posix() for path in package.rglob("*")],
}))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (path,) = built.glob("kb_search-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The `bin` folder of an environment that holds the wheel.

    What the wheel depends on is borrowed from the environment of the tests, so that nothing is
    fetched; the package itself, there in editable form, is not visible through it.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(folder)}))
    site_packages = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "-q"]
    run(*pip, "install", "--no-deps", "--no-index", wheel)
    borrowed = Path(site_packages) / "borrowed.pth"
    borrowed.write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return scripts


def test_the_wheel_holds_everything_the_package_reads(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    in_the_tree = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kb_search").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert in_the_tree <= names
    assert {f"kb_search/seed/{path.name}" for path in (ROOT / "seed").iterdir()} <= names
    assert "kb_search/schema.sql" in names
    assert "kb_search/skill.md" in names


def test_the_installed_wheel_finds_its_schema_seeds_and_word_lists(installed, tmp_path):
    told = json.loads(run(installed / "python", "-c", BUNDLED, cwd=tmp_path))
    assert Path(told["package"]).is_relative_to(installed.parent)
    assert told["schema"] == (ROOT / "schema.sql").read_text(encoding="utf-8")
    assert {Path(seed).name for seed in told["seeds"]} >= {"portfolio.sql", "tienda.jsonl"}
    assert all(Path(seed).is_relative_to(installed.parent) for seed in told["seeds"])
    assert "py.typed" in told["files"]
    assert [name for name in told["files"] if name.startswith("data/")]
    assert [name for name in told["files"] if name.startswith("sql/")]


def test_the_installed_wheel_has_the_command(installed, tmp_path):
    assert "kb-search" in run(installed / "kb-search", "--help", cwd=tmp_path)


def test_the_source_distribution_builds_the_same_package(built, wheel, tmp_path):
    (archive,) = built.glob("kb_search-*.tar.gz")
    with tarfile.open(archive) as opened:
        # Python 3.12 warns where no filter is chosen; the first 3.11 have none.
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(tmp_path)
    (unpacked,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=unpacked)
    (again,) = tmp_path.glob("*.whl")
    assert contents(again) == contents(wheel)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
