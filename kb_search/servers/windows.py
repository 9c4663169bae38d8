"""Windows has no signal at a parent's death: a job object ends the children instead.

Written from the documentation of the Windows API and not tested there.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import ctypes
    import subprocess
    from ctypes import wintypes

    _EXTENDED_LIMITS = 9
    _KILL_ON_JOB_CLOSE = 0x2000

    class _BasicLimits(ctypes.Structure):
        _fields_ = [
            ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
            ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
            ("LimitFlags", wintypes.DWORD),
            ("MinimumWorkingSetSize", ctypes.c_size_t),
            ("MaximumWorkingSetSize", ctypes.c_size_t),
            ("ActiveProcessLimit", wintypes.DWORD),
            ("Affinity", ctypes.c_size_t),
            ("PriorityClass", wintypes.DWORD),
            ("SchedulingClass", wintypes.DWORD),
        ]

    class _Limits(ctypes.Structure):
        _fields_ = [
            ("BasicLimitInformation", _BasicLimits),
            ("IoInfo", ctypes.c_ulonglong * 6),
            ("ProcessMemoryLimit", ctypes.c_size_t),
            ("JobMemoryLimit", ctypes.c_size_t),
            ("PeakProcessMemoryUsed", ctypes.c_size_t),
            ("PeakJobMemoryUsed", ctypes.c_size_t),
        ]

    _jobs: list[int] = []  # open until this process ends; the system closes the handle then

    def die_with_this_process(child: subprocess.Popen[bytes]) -> None:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateJobObjectW.restype = wintypes.HANDLE
        if not _jobs:
            job = kernel.CreateJobObjectW(None, None)
            limits = _Limits()
            limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
            if not job or not kernel.SetInformationJobObject(
                wintypes.HANDLE(job), _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
            ):
                raise ctypes.WinError(ctypes.get_last_error())
            _jobs.append(job)
        handle = wintypes.HANDLE(int(child._handle))  # type: ignore[attr-defined]  # noqa: SLF001 - it has no other
        if not kernel.AssignProcessToJobObject(wintypes.HANDLE(_jobs[0]), handle):
            raise ctypes.WinError(ctypes.get_last_error())
