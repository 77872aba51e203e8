"""Server: listens, prints the link, and serves until it is interrupted."""

from __future__ import annotations

import errno
import os
import shlex
import socket
import subprocess
import sys
from contextlib import suppress

from guard.ancestry import SAFE_PATH
from guard.errors import MISSING, GuardError
from guard.monitor.gather import Gathering
from guard.monitor.web import controls, peer
from guard.shown import visible

HOST, PORT = "127.0.0.1", 8377
NEEDED = "pip install 'pathguard[web]'"
REMOTE = """\
guard monitor: it listens at {host}, so that other machines can reach it. What goes over the network is not encrypted: who
listens there sees what your loops do, and may take the session. From other machines the page is view only.
Rather: ssh -L {port}:127.0.0.1:{port} THIS-MACHINE, without --host."""
OPENERS = (("xdg-open",), ("open",))


def serve(state_dir: str, host: str = HOST, port: int = PORT, opens: bool = False) -> int:
    """Serves the page until Ctrl-C. Raises GuardError where the extra is missing, or nothing can listen there."""
    try:
        import uvicorn

        from guard.monitor.web.app import Pages, application
        from guard.monitor.web.keys import Keys
    except ImportError as error:
        raise GuardError(f"the page needs what is not installed ({error.name})", "--web", NEEDED, MISSING) from None
    listening = listen(host, port)
    address, port = listening.getsockname()[:2]
    wide = not peer.local(address)
    shown = f"http://{_shown(host, address)}:{port}/"
    keys = Keys(lambda link: tell(f"guard monitor: somebody has signed in. A link for another browser: {shown}#{link}"))
    if wide:
        tell(REMOTE.format(host=visible(host), port=port))
    if not controls.attended():
        tell(f"guard monitor: {controls.NO_PERSON}")
    tell(f"guard monitor: {shown}#{keys.link}\nThe link works once. Ctrl-C ends it.")
    pages = Pages(Gathering(state_dir), keys, port)
    config = uvicorn.Config(
        application(pages, port, wide, (_shown(host, address), *((socket.gethostname(),) if wide else ()))),
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=128,
    )
    if opens:
        show(f"{shown}#{keys.link}")
    with listening, suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listening])
    return 0


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises GuardError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise GuardError("there is no such address here", f"--host {visible(host)}", "give one of this machine") from error
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            what = "something listens there already, perhaps another guard monitor --web"
            raise GuardError(what, f"port {port}", "use its link, end it, or give another --port (0: any that is free)") from None
        todo = "give another --port, at least 1024" if error.errno == errno.EACCES else "give an address of this machine"
        raise GuardError(f"it cannot listen there ({error.strerror})", f"{visible(host)}:{port}", todo) from None
    return found


def tell(text: str) -> None:
    """Says something at the terminal: a link is for whoever sits there, and for no file that standard output leads to."""
    if not sys.stdout.isatty() and controls.attended():
        with suppress(OSError), open("/dev/tty", "w", encoding="utf-8") as terminal:
            terminal.write(text + "\n")
            return
    with suppress(OSError):
        print(text, flush=True)


def show(address: str) -> None:
    """Opens a browser there, as a process of nobody's: what stands below guard counts as an agent's."""
    words = next((words for words in OPENERS if any(os.access(f"{at}/{words[0]}", os.X_OK) for at in SAFE_PATH.split(":"))), None)
    if words is None:
        tell("guard monitor: there is nothing to open a browser with (xdg-open); open the link yourself")
        return
    line = f"{shlex.join([*words, address])} >/dev/null 2>&1 </dev/null &"
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(["/bin/sh", "-c", line], check=False, timeout=10, start_new_session=True)


def _shown(host: str, address: str) -> str:
    """How a browser is told where to go: by the machine's name where it listens at all of its addresses."""
    if address in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
