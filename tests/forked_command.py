"""The `penstock` that guides call: a fork of a process that has loaded it, as they are themselves (run_document.py).

It takes half a second of a processor to load, and guides call it seventy times. The file in its place is a client that
hands its arguments, folder, environment and files over, passes signals on, and ends as the command did.
"""

import json
import os
import select
import signal
import socket
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import penstock_command

_CLIENT = """#!{python} -IS
import json, os, signal, socket, sys

with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    asked = json.dumps([sys.argv, os.getcwd(), dict(os.environ)])
    socket.send_fds(line, [asked.encode() + b"\\n"], [0, 1, 2])
    answers = line.makefile()
    pid = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    status = int(answers.readline())
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


def install(folder: Path) -> socket.socket:
    """Puts `penstock` there; where it is to be answered."""
    address = folder / "asked"
    address.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(address))
    listening.listen(50)
    command = folder / "penstock"
    command.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
    command.chmod(0o755)
    return listening


def answer(listening: socket.socket) -> None:
    """Each in a process of its own, until this one is killed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        line, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _carry_out(line)
        line.close()


def _carry_out(line: socket.socket) -> None:
    asked = b""
    files: list[int] = []
    while not asked.endswith(b"\n"):
        part, more, *_ = socket.recv_fds(line, 65_536, 3)
        if not part:
            os._exit(1)
        asked += part
        files += more
    child = os.fork()
    if child == 0:
        line.close()
        _be_the_command(json.loads(asked), files)
    for file in files:
        os.close(file)
    line.sendall(f"{child}\n".encode())
    end = os.pidfd_open(child)
    ended, _, _ = select.select([end, line.fileno()], [], [])
    if end not in ended:  # whoever called was killed
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        line.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _be_the_command(asked: tuple[list[str], str, dict[str, str]], files: list[int]) -> None:
    sys.argv, folder, environment = asked
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # what is strict here is not where readers are
    sys.warnoptions.clear()
    warnings.resetwarnings()
    penstock_command.main()
    sys.exit()
