"""Gives up rights, then becomes a program (`command`) or calls a function of one (`call`). Knows nothing of Penstock.

It is run by its path, and sets the limits itself: what runs between fork and exec in a process with threads may hang.
What to do comes as JSON in the first argument. For `call`, standard input is what to ask (four bytes that say how long
it is, then JSON) and then the data; the answer has the same form.
"""

import ctypes
import importlib.util
import json
import os
import platform
import random
import resource
import signal
import sys
from contextlib import suppress
from struct import pack
from types import ModuleType
from typing import Any

Answer = tuple[dict[str, Any], bytes]

# The range that systemd hands out for a time too. No account has these numbers, so nothing belongs to them.
STRANGERS = range(61184, 65520)
_SPARE = 1024**3
"""Bytes of addresses beside the memory: libraries, and files that are mapped."""

# All that a locked program may ask of the kernel, by the name of the processor: the memory, the clock, itself, and the
# descriptors that are open.
_SYSTEM_CALLS = {
    "x86_64": (0xC000003E, 262, (
        # read write close fstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn pread64
        0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17,
        # readv writev sched_yield mremap madvise nanosleep getpid exit uname fsync ftruncate gettimeofday getrusage
        19, 20, 24, 25, 28, 35, 39, 60, 63, 74, 77, 96, 98,
        # sysinfo times getuid getgid geteuid getegid sigaltstack gettid futex sched_getaffinity restart_syscall
        99, 100, 102, 104, 107, 108, 131, 186, 202, 204, 219,
        # clock_gettime clock_getres clock_nanosleep exit_group ppoll getrandom
        228, 229, 230, 231, 271, 318,
    )),
    "aarch64": (0xC00000B7, 79, (
        63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 67, 65, 66, 124, 216, 233, 101, 172, 93, 160, 82, 46,
        169, 165, 179, 153, 174, 176, 175, 177, 132, 178, 98, 123, 128, 113, 114, 115, 94, 73, 278,
    )),
}  # fmt: skip
_EMPTY_PATH = 0x1000


def main() -> None:
    order = json.loads(sys.argv[1])
    limit(order)
    if order["account"] is not None:
        become(order["account"])
    # after the account has changed, which would undo it
    die_with(order["parent"])
    if len(sys.argv) > 2:
        # a browser reads from 3 and writes to 4, and is the first to go when memory is short
        if order["wired"]:
            wire()
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 (what the worker chose)
    facts, content = answer(order)
    told = json.dumps(facts).encode()
    for part in (len(told).to_bytes(4), told, content):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    # nothing is freed: that takes time, and some libraries crash when they are
    os._exit(0)


def answer(order: dict[str, Any]) -> Answer:
    asked = json.loads(sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4))))
    program = load(order["program"])
    refused: type[Exception] = program.Refused
    files = {name: open(path, "rb") for name, path in asked["reads"].items()}  # noqa: PTH123, SIM115
    files |= {name: open(path, "w+b") for name, path in asked["writes"].items()}  # noqa: PTH123, SIM115
    try:
        # libraries are imported here, while files can still be opened
        program.prepare(**asked["asked"])
    except ImportError as error:
        return {"reason": "missing", "text": error.name or "a library"}, b""
    except refused as error:
        return {"reason": "refused", "text": str(error)}, b""
    locked = lock() if order["lock"] else True
    data = sys.stdin.buffer.read()
    try:
        facts, content = getattr(program, order["function"])(data, **files, **asked["asked"])
        for file in files.values():
            file.close()
    except refused as error:
        return {"reason": "refused", "text": str(error)}, b""
    except MemoryError:
        return {"reason": "memory", "text": "it takes too much memory"}, b""
    except Exception as error:
        return {"reason": "raised", "text": repr(error)[:300]}, b""
    return {"facts": facts, "locked": locked}, content


def limit(order: dict[str, Any]) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: order["file_size"],
        resource.RLIMIT_CPU: order["cpu"],
        resource.RLIMIT_DATA: order["memory"],
        resource.RLIMIT_NPROC: order["processes"],
    }
    if order["program"] is not None and order["memory"] is not None:
        # what is shared with nobody is no data; a browser reserves far more addresses than it uses
        wanted[resource.RLIMIT_AS] = order["memory"] + _SPARE
    for what, most in wanted.items():
        if most is None:
            continue
        # of CPU: at the first it is told (SIGXCPU), at the second it is killed
        hard = most + 1 if what == resource.RLIMIT_CPU else most
        # a system need not know them all, and may have set less
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, hard))
    # should whoever watches it be gone, on a system that does not tell
    signal.alarm(order["wall"])
    if order["nice"]:
        os.nice(order["nice"])


def die_with(parent: int) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        # PR_SET_NO_NEW_PRIVS: no program that it starts has more rights; PR_SET_PDEATHSIG
        libc.prctl(38, 1, 0, 0, 0)
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def become(account: int) -> None:
    os.setgroups([])
    os.setgid(account)
    os.setuid(account)


def wire() -> None:
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123
        score.write("1000")
    os.dup2(0, 3)
    os.dup2(1, 4)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    if nothing > 4:
        os.close(nothing)


def lock() -> bool:
    """Nothing more is opened, changed, connected or started: whoever takes this process over has its memory, and what
    it was given. False if the kernel has no filter for it, and only the limits hold."""
    if os.geteuid() == 0:
        # where root may not become another, it has few rights
        with suppress(OSError):
            become(random.choice(STRANGERS))  # noqa: S311  (so that two do not meet, not a secret)
    for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC):
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (0, 0))
    return filter_system_calls()


def filter_system_calls() -> bool:
    """Everything but those in the list is answered with EPERM, in every thread."""
    if sys.platform != "linux" or platform.machine() not in _SYSTEM_CALLS:
        return False
    arch, fstatat, allowed = _SYSTEM_CALLS[platform.machine()]
    load_word, equal, give = 0x20, 0x15, 0x06
    permit, refuse, kill = 0x7FFF0000, 0x00050001, 0x80000000

    def step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return pack("HBBI", code, then, otherwise, value)

    steps = [step(load_word, 4), step(equal, arch, 1, 0), step(give, kill), step(load_word, 0)]
    steps += [part for number in allowed for part in (step(equal, number, 0, 1), step(give, permit))]
    # how some C libraries spell fstat: of no path
    steps += [step(equal, fstatat, 0, 3), step(load_word, 40), step(equal, _EMPTY_PATH, 0, 1), step(give, permit)]
    steps.append(step(give, refuse))
    code = ctypes.create_string_buffer(b"".join(steps))
    program = ctypes.create_string_buffer(pack("HP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    # PR_SET_NO_NEW_PRIVS again, for a program that is tried by itself; seccomp(SECCOMP_SET_MODE_FILTER, TSYNC)
    libc.prctl(38, 1, 0, 0, 0)
    number = {"x86_64": 317, "aarch64": 277}[platform.machine()]
    return bool(libc.syscall(number, 1, 1, program) == 0)


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    sys.modules["program"] = program
    spec.loader.exec_module(program)
    return program


if __name__ == "__main__":
    main()
