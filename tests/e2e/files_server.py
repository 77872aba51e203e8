"""A server of the Model Context Protocol on standard input and output: write_file, edit_file, move_file and delete_file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

TOOLS = {
    "write_file": ("path", "content"),
    "edit_file": ("path", "old_text", "new_text"),
    "move_file": ("source", "destination"),
    "delete_file": ("path",),
}


def main() -> None:
    """Answers one request a line until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": respond(request["method"], request.get("params") or {})}
            print(json.dumps(answer), flush=True)


def respond(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    if method == "initialize":
        about = {"name": "files", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [declaration(name, names) for name, names in TOOLS.items()]}
    if method == "tools/call":
        act(given["name"], given["arguments"])
        return {"content": [{"type": "text", "text": "done"}]}
    return {}


def declaration(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """What a client is told of a tool."""
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in names}, "required": list(names)}
    return {"name": name, "description": name.replace("_", " "), "inputSchema": schema}


def act(name: str, given: dict[str, str]) -> None:
    """Does what a tool is for."""
    if name == "write_file":
        Path(given["path"]).write_text(given["content"])
    elif name == "edit_file":
        path = Path(given["path"])
        path.write_text(path.read_text().replace(given["old_text"], given["new_text"]))
    elif name == "move_file":
        os.rename(given["source"], given["destination"])
    elif name == "delete_file":
        os.unlink(given["path"])


if __name__ == "__main__":
    main()
