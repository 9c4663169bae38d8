"""Whose account the server runs under, and how root steps down to it.

PostgreSQL refuses to run as root. When root asks, the supervisor becomes the data folder's owner
or, where root owns it, `postgres` (else `nobody`), for good and before it touches any data. What
that account cannot reach is brought within its reach: the binaries by a copy, the data folder by
a bind mount in a mount namespace of the supervisor's own, so that no folder's mode is changed.
The standard library alone.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kb_search.servers.copies import reachable_copy
from kb_search.servers.folders import Home, home_of, is_plain
from kb_search.servers.wire import ServerFault, disk_fault

if sys.platform != "win32":
    import pwd

SERVICE_ACCOUNTS = ("postgres", "nobody")
_MAY_NOT_STEP_DOWN = 2
_MOUNT_POINT = Path("/run/kb_search/data")
_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_SLAVE = 4096, 16384, 1 << 19


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Place:
    """Where this supervisor works.

    `home` is the server's folder as this process sees it (`bound`: through a mount that others
    do not see), `data_dir` is the data folder as the caller named it.
    """

    home: Home
    data_dir: Path
    bin_dir: Path
    account: str
    bound: bool = False


def settle(data_dir: Path, bin_dir: Path, roots: tuple[Path, ...]) -> Place:
    """Make the folders, and as root step down to the account that the server runs under.

    Raises:
        ServerFault: a folder cannot be made, entered or trusted.
    """
    try:
        if sys.platform != "win32" and os.geteuid() == 0:
            return _settle_as_root(data_dir, bin_dir, roots)
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if roots and not is_plain(bin_dir) and sys.platform != "win32":
            bin_dir = reachable_copy(bin_dir, roots)  # initdb hands this path to a shell
        home = home_of(data_dir)
        _check_home(home, home.path)
        return Place(home, data_dir, bin_dir, _own_name())
    except OSError as error:
        raise disk_fault(error, error.filename or data_dir) from error


def _check_home(home: Home, shown: Path) -> None:
    """Make the server's own folder, or see that the one found is one, and this account's."""
    try:
        home.path.mkdir(mode=0o700)
    except FileExistsError:
        found = home.path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise ServerFault(f"{shown} is not a folder: remove it.") from None
        if sys.platform != "win32" and found.st_uid != os.geteuid():
            raise ServerFault(
                f"{shown} belongs to {_account_name(found.st_uid)}: work as that user, or choose "
                "another folder with KB_SEARCH_DATA_DIR."
            ) from None
    # in this order: whoever makes the folder makes the lock before anything else
    if any(os.scandir(home.path)) and not home.lock.exists():
        raise ServerFault(
            f"{shown} holds files that are not an embedded server's: choose another folder with "
            "KB_SEARCH_DATA_DIR."
        )


def _own_name() -> str:
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    return _account_name(os.geteuid())


if sys.platform != "win32":

    def _settle_as_root(data_dir: Path, bin_dir: Path, roots: tuple[Path, ...]) -> Place:
        data_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        account = _choose_account(data_dir)
        home = home_of(data_dir)
        entry = data_dir  # what must be within the account's reach
        if data_dir.stat().st_uid != account.uid:
            _give_home(home.path, account)
            entry = home.path
        unfit = not is_plain(bin_dir) or not _reaches(account, bin_dir / "postgres")
        if unfit and roots:
            bin_dir = reachable_copy(bin_dir, roots)
        if not _reaches(account, bin_dir / "postgres"):
            raise ServerFault(
                f"The server runs as the user {account.name}, who cannot execute the PostgreSQL "
                f"binaries in {bin_dir}: put them where that user can read them."
            )
        bound = not _reaches(account, entry)
        if bound:
            _bind(entry, account)
            home = Home(_MOUNT_POINT) if entry == home.path else home_of(_MOUNT_POINT)
        _step_down(account)
        _check_home(home, home_of(data_dir).path)
        return Place(home, data_dir, bin_dir, account.name, bound)

    def _choose_account(data_dir: Path) -> Account:
        owner = data_dir.stat().st_uid
        if owner != 0:
            found = _account_of(owner)
            if found:
                return found
        home = home_of(data_dir).path
        if home.is_dir() and not home.is_symlink():
            keeper = _account_of(home.lstat().st_uid)
            if keeper and keeper.name in SERVICE_ACCOUNTS:
                return keeper
        for name in SERVICE_ACCOUNTS:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            return Account(name, entry.pw_uid, entry.pw_gid)
        raise ServerFault(
            "PostgreSQL refuses to run as root, and this system has neither a user `postgres` nor "
            "`nobody`: create one (useradd --system postgres), or work as a plain user."
        )

    def _account_of(uid: int) -> Account | None:
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return None
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)

    def _account_name(uid: int) -> str:
        found = _account_of(uid)
        return found.name if found else f"uid {uid}"

    def _give_home(home: Path, account: Account) -> None:
        """Make the server's folder inside one of root's: complete under its name, or not there."""
        if home.exists() or home.is_symlink():
            return
        fresh = Path(tempfile.mkdtemp(prefix=".server-", dir=home.parent))
        descriptor = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            os.fchown(descriptor, account.uid, account.gid)
        finally:
            os.close(descriptor)
        try:
            fresh.rename(home)
        except OSError:
            fresh.rmdir()
            if not home.is_dir():  # a second starter was quicker, unless the disk refused
                raise

    def _reaches(account: Account, path: Path) -> bool:
        """Whether the account may enter or execute the path: a child asks, with its rights."""
        child = os.fork()
        if child == 0:
            answer = _MAY_NOT_STEP_DOWN
            try:
                _step_down(account)
                answer = 0 if os.access(path, os.X_OK) else 1
            finally:
                os._exit(answer)
        answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if answer == _MAY_NOT_STEP_DOWN:
            raise ServerFault(
                f"PostgreSQL refuses to run as root, and this root may not run it as the user "
                f"{account.name}: work as a plain user, or set KB_SEARCH_DSN to a PostgreSQL of "
                "your own."
            )
        return answer == 0

    def _step_down(account: Account) -> None:
        os.setgroups(os.getgrouplist(account.name, account.gid))
        os.setgid(account.gid)
        os.setuid(account.uid)

    def _bind(folder: Path, account: Account) -> None:
        """A second, reachable path to the folder, seen by this process and its children."""
        closed = ServerFault(
            f"The server runs as the user {account.name}, who cannot enter {folder} (a folder "
            "above it is closed to other users). Choose a folder that this user can reach with "
            "KB_SEARCH_DATA_DIR, or unset it (then /var/lib/kb_search), or work as a plain user."
        )
        if sys.platform != "linux":
            raise closed
        try:
            for step in (_MOUNT_POINT.parent, _MOUNT_POINT):
                step.mkdir(exist_ok=True)
                if step.is_symlink() or step.lstat().st_uid != 0:
                    raise closed
                step.chmod(0o755)
        except OSError as error:
            raise closed from error
        libc = ctypes.CDLL(None, use_errno=True)
        source, target = os.fsencode(folder), os.fsencode(_MOUNT_POINT)
        if (
            libc.unshare(_CLONE_NEWNS) != 0
            or libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_SLAVE), None) != 0
            or libc.mount(source, target, None, ctypes.c_ulong(_MS_BIND | _MS_REC), None) != 0
        ):
            raise closed
        if not _reaches(account, _MOUNT_POINT):
            raise closed
