"""Delivery: one notice through one channel. Says why it failed; a failure is never an exception."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from email.message import Message
from typing import IO, Any

from guard.notify.notice import Notice
from guard.notify.settings import DISCORD, SLACK, Channel
from guard.redact import redactor

COMMAND_S = 30.0
WEBHOOK_S = 10.0
ANSWER = 1 << 16  # bytes of an answer that are read
LONGEST = 2000  # characters of a text in a chat


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is sent is meant for one address; whoever wants it elsewhere has to say so in the file."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Follows none."""


def deliver(notice: Notice, channel: Channel, environ: Mapping[str, str]) -> list[str]:
    """Sends a notice; gives what went wrong, one line for each way."""
    body = _redacted(notice.to_json())
    failed = []
    if channel.command and (error := _run(channel.command, body, environ)):
        failed.append(f"command {channel.command[0]}: {error}")
    if channel.webhook and (error := _post(channel.webhook, _formed(body, channel.format))):
        failed.append(f"webhook: {error}")
    return failed


def text(body: Mapping[str, Any]) -> str:
    """A notice as a person reads it."""
    times = f" ({body['count']} times)" if body["count"] > 1 else ""
    lines = [f"{body['title']}{times}", body["text"], f"-> {body['todo']}" if body["todo"] else ""]
    return "\n".join(line for line in lines if line)[:LONGEST]


def _redacted(body: dict[str, Any]) -> dict[str, Any]:
    redact = redactor()
    return {key: redact(value) if isinstance(value, str) and key not in ("id", "time") else value for key, value in body.items()}


def _formed(body: dict[str, Any], form: str) -> dict[str, Any]:
    if form == SLACK:
        return {"text": text(body)}
    return {"content": text(body)} if form == DISCORD else body


def _run(command: tuple[str, ...], body: dict[str, Any], environ: Mapping[str, str]) -> str:
    marks = {f"GUARD_NOTICE_{key.upper()}": str(body[key]) for key in ("code", "severity", "title", "loop")}
    try:
        process = subprocess.Popen(
            list(command),
            env={**environ, **marks},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"it cannot be started ({getattr(error, 'strerror', None) or error})"
    with process:
        try:
            process.communicate(json.dumps(body).encode() + b"\n", COMMAND_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            return f"it took longer than {COMMAND_S:g} s"
        except OSError:  # it did not read what it was given
            process.wait()
    return f"exit {process.returncode}" if process.returncode else ""


def _post(address: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(
        address, json.dumps(body).encode(), {"Content-Type": "application/json", "User-Agent": "guard"}, method="POST"
    )
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=WEBHOOK_S) as answer:
            answer.read(ANSWER)
        return ""
    except urllib.error.HTTPError as error:
        error.close()
        return f"it answered {error.code}"
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return f"{type(reason).__name__}: {reason}"
