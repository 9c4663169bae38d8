"""One PostgreSQL cluster: the programs' command lines, and what its pid file tells.

Arguments are lists and never pass through a shell; the environment is made from nothing, so that
no locale and no PG* variable of the caller gets in. The standard library alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kb_search.servers.folders import DATABASE, PORT, ROLE

_SUFFIX = ".exe" if sys.platform == "win32" else ""
_LIBC_LOCALE = "C" if sys.platform in ("darwin", "win32") else "C.UTF-8"

# Written to postgresql.conf once, where they can be changed: room for one machine's chatbots.
_FIRST_SETTINGS = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "io_method": "sync",  # three worker processes less
    "log_checkpoints": "off",
    "jit": "off",  # compiling costs more than a search takes
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] ",
}


def clean_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("TZ", "SYSTEMROOT") if name in os.environ}
    return {"LC_ALL": "C", "PATH": os.defpath, **kept}


def initdb_command(bin_dir: Path, cluster: Path, *, password_file: Path | None) -> list[str]:
    """Always UTF-8 under the builtin C.UTF-8: the same accents on every system and locale."""
    host_auth = "scram-sha-256" if password_file else "reject"
    local_auth = "scram-sha-256" if password_file else "trust"  # the socket folder is the guard
    command = [
        str(bin_dir / f"initdb{_SUFFIX}"),
        f"--pgdata={cluster}",
        f"--username={ROLE}",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        f"--locale={_LIBC_LOCALE}",
        f"--auth-local={local_auth}",
        f"--auth-host={host_auth}",
        "--no-sync",  # synced when it serves: sync_command()
        "--no-instructions",
    ]
    if password_file:
        command.append(f"--pwfile={password_file}")
    for name, value in _FIRST_SETTINGS.items():
        command += ["--set", f"{name}={value}"]
    return command


def create_database_command(bin_dir: Path, cluster: Path) -> list[str]:
    """A stand-alone backend that reads CREATE DATABASE from its standard input."""
    return [str(bin_dir / f"postgres{_SUFFIX}"), "--single", "-F", "-D", str(cluster), "postgres"]


# A stand-alone backend would take an OID below the first one for users' objects (16384).
CREATE_DATABASE = f"CREATE DATABASE {DATABASE} OID = 16384\n".encode()


def sync_command(bin_dir: Path, cluster: Path) -> list[str]:
    """Puts a new cluster's files on the disk, while it serves already."""
    method = "syncfs" if sys.platform == "linux" else "fsync"
    program = str(bin_dir / f"initdb{_SUFFIX}")
    return [program, "--sync-only", f"--sync-method={method}", f"--pgdata={cluster}"]


def server_command(
    bin_dir: Path, cluster: Path, *, socket_dir: Path | None, port: int = PORT
) -> list[str]:
    """The server itself: on a private socket, or with `socket_dir` None on loopback."""
    settings = {
        "listen_addresses": "" if socket_dir else "127.0.0.1",
        "unix_socket_directories": str(socket_dir or ""),
        "unix_socket_permissions": "0700",
        "port": str(port),
        "log_destination": "stderr",
        "logging_collector": "off",
    }
    command = [str(bin_dir / f"postgres{_SUFFIX}"), "-D", str(cluster)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    return command


def stop_command(bin_dir: Path, cluster: Path, *, fast: bool) -> list[str]:
    mode = "fast" if fast else "immediate"
    program = str(bin_dir / f"pg_ctl{_SUFFIX}")
    return [program, "stop", "--no-wait", f"--mode={mode}", f"--pgdata={cluster}"]


def is_ready(cluster: Path, pid: int) -> bool:
    """Whether this very server process takes connections, by the last line of its pid file."""
    lines = _pid_file_lines(cluster)
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[-1].strip() == "ready"


def other_postmaster(cluster: Path) -> int | None:
    """The pid of a live server of this cluster that is not our child, else None.

    A number in a stale pid file may have become any process: only one that runs `postgres`
    in the cluster's own folder counts. It is looked at, never signalled.
    """
    lines = _pid_file_lines(cluster)
    try:
        pid = abs(int(lines[0])) if lines else 0
    except ValueError:
        return None
    if pid in (0, os.getpid()):
        return None
    return pid if _serves(pid, cluster) else None


if sys.platform == "linux":

    def _serves(pid: int, cluster: Path) -> bool:
        process = Path(f"/proc/{pid}")
        try:
            # A server must own its cluster, so another user's process cannot be one.
            is_server = (process / "comm").read_bytes().strip() == b"postgres"
            if not is_server or process.stat().st_uid != cluster.stat().st_uid:
                return False
            return cluster.samefile(process / "cwd")
        except PermissionError:
            return _may_serve(process, cluster)  # its group differs: only the name is told
        except OSError:
            return False

    def _may_serve(process: Path, cluster: Path) -> bool:
        """By its command line; true in doubt, for two servers on one cluster destroy it."""
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            return cluster.samefile(os.fsdecode(words[words.index(b"-D") + 1]))
        except (OSError, ValueError, IndexError):
            return True

elif sys.platform == "win32":

    def _serves(pid: int, cluster: Path) -> bool:  # noqa: ARG001
        return False  # the job object has taken the server down with its supervisor

else:

    def _serves(pid: int, cluster: Path) -> bool:
        listed = subprocess.run(  # noqa: S603 - arguments as a list
            ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False
        ).stdout
        return b"postgres" in listed and os.fsencode(cluster) in listed


def disarm_pid_file(cluster: Path) -> None:
    """Make a stale pid file harmless; call it only where `other_postmaster` is None.

    The server takes its pid file for live while any process has that number, but not when it is
    its own parent's: so the first line is set to ours. The rest stays, because by the shared
    memory that it names the server waits for the dead one's last children.
    """
    pid_file = cluster / "postmaster.pid"
    lines = _pid_file_lines(cluster)
    if not pid_file.exists():
        return
    if not lines or not lines[0].strip().lstrip("-").isdecimal():
        pid_file.unlink()  # cut short by a full disk or a crash
        return
    fresh = cluster / "postmaster.pid.stale"
    text = "\n".join([str(os.getpid()), *lines[1:], ""])
    fresh.write_bytes(text.encode("utf-8", "surrogateescape"))
    fresh.replace(pid_file)


def _pid_file_lines(cluster: Path) -> list[str]:
    try:
        text = (cluster / "postmaster.pid").read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return []
    return text.removesuffix("\n").split("\n") if text else []  # splitlines() splits at more
