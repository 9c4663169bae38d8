"""The lock that makes one supervisor the only one of a data folder.

A POSIX record lock: the kernel frees it when its holder ends, however it ends, and no child
inherits it. The standard library alone.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from pathlib import Path

from kb_search.servers.wire import ServerFault

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, *, shared: bool) -> None:  # noqa: ARG001 - no shared locks there
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int, *, shared: bool) -> None:
        fcntl.lockf(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # what the systems say of a held lock
_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def take_lock(path: Path, *, wait_s: float) -> int | None:
    """The descriptor that holds the lock until this process ends; None while another holds it.

    The wait bridges the moments in which `is_locked` of somebody else looks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ServerFault(f"{path} is not a plain file: remove it.")
    deadline = time.monotonic() + wait_s
    while True:
        try:
            _lock(descriptor, shared=False)
        except OSError as error:
            if error.errno not in _HELD:  # such as a file system without locks
                os.close(descriptor)
                raise
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(0.005)
        else:
            return descriptor


def is_locked(path: Path) -> bool:
    """Whether a supervisor holds the lock. Never call this in the process that holds it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN_FLAGS)
    except FileNotFoundError:
        return False
    try:
        _lock(descriptor, shared=True)
    except OSError as error:
        return error.errno in _HELD
    else:
        return False
    finally:
        os.close(descriptor)
