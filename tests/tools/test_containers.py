"""Commands for another machine do not touch this tree, unless a mount says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tool_harness import losses, model
from tests.tools.interpreters import tree

SPECS = {"specs/a.md", "specs/deep/b.md", "specs/api.json"}

COMMANDS: dict[str, set[str]] = {
    "ssh host rm -rf specs": set(),
    "ssh -p 22 me@host 'rm -rf specs'": set(),
    "docker run --rm x rm -rf specs": set(),
    "docker run --rm x rm -rf {top}/specs": set(),
    "docker exec c rm -rf /app/specs": set(),
    "docker compose exec web rm -rf specs": set(),
    "docker ps -a": set(),
    "docker system prune -af": set(),
    "kubectl exec pod -- rm -rf specs": set(),
    "kubectl delete -f specs": set(),
    "vagrant ssh -c 'rm -rf specs'": set(),
    "docker run --rm -v {top}:/w -w /w x rm -rf specs": SPECS,
    "docker run --rm -v {top}:/w x rm -rf /w/specs": SPECS,
    "docker run --rm -v {top}:/w x rm -rf specs": set(),
    "docker run --rm -v {top}:/w x rm -rf /specs": set(),
    "docker run --rm -v {top}:/w:ro -w /w x rm -rf specs": set(),
    "docker run --rm -v .:/w -w /w x rm -rf specs": SPECS,
    "docker run -it -v{top}:/w -w/w x rm -rf specs": SPECS,
    "docker run --rm --volume={top}:/w --workdir=/w x rm -rf specs": SPECS,
    "docker run --rm --mount type=bind,source={top},target=/w -w /w x rm -rf specs": SPECS,
    "docker run --rm --mount type=bind,src={top},dst=/w,readonly -w /w x rm -rf specs": set(),
    "docker run --rm -v {top}/specs:/data x rm -rf /data/deep": {"specs/deep/b.md"},
    "docker run --rm -v data:/w -w /w x rm -rf specs": set(),
    "docker run --rm -v {top}:{top} -w {top} x rm -rf specs": SPECS,
    "docker run --rm -v {top}:/w -w /w --entrypoint rm x -rf specs": SPECS,
    "docker run --rm -v {top}:/w -w /w -e A=1 -u 0:0 --name n x rm -rf specs": SPECS,
    "docker --context c run --rm -v {top}:/w -w /w x /bin/rm -rf specs": SPECS,
    "podman run --rm -v {top}:/w -w /w x rm -rf specs": SPECS,
    "docker run --rm -v {top}:/w -w /w x rm -rf build": {"build/o.o"},
    "docker run --rm -v {top}:/w -w /w x ls specs": set(),
    "docker cp c:/x CLAUDE.md": {"CLAUDE.md"},
    "docker cp CLAUDE.md c:/x": set(),
    "docker cp c:/CLAUDE.md .": {"CLAUDE.md"},
    "docker compose run web rm -rf specs": SPECS,
    "docker-compose run --rm web rm -rf /app/memory": {"memory/lessons.md"},
    "wsl rm -rf specs": SPECS,
    "distrobox enter box -- rm -rf specs": SPECS,
    "toolbox run rm CLAUDE.md": {"CLAUDE.md"},
    "docker": set(),
    "docker run": set(),
    "docker run -v": set(),
    "ssh": set(),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_container_loses_what_its_mounts_show(command: str, tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "compose.yaml").write_text(
        "services:\n  web:\n    image: x\n    working_dir: /app\n    volumes:\n      - .:/app\n      - data:/data\n"
    )
    assert losses(model(tmp_path, command.replace("{top}", str(tmp_path))), tmp_path) == COMMANDS[command]


def test_a_text_for_a_shell_in_the_container_is_put_into_this_tree(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["docker", "run", "-v", f"{tmp_path}:/w", "x", "sh", "-c", "rm -rf /w/specs /tmp/x"])
    assert not losses(ran, tmp_path)  # sh has no model here; its text is what the next test looks at


def test_this_machine_by_ssh(tmp_path: Path) -> None:
    tree(tmp_path)
    ran = model(tmp_path, ["ssh", "localhost", f"rm -rf {tmp_path}/memory"])
    assert losses(ran, tmp_path) == {"memory/lessons.md"}
