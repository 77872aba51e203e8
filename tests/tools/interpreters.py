"""A small tree, and claims about programs for interpreters that are given as text."""

from __future__ import annotations

from pathlib import Path

from tests.tool_harness import files, losses, model, real_losses

FILES = {
    "CLAUDE.md": "# operations manual\n\nBuild with make.\nTest with pytest.\n",
    "AGENTS.md": "# agents\n",
    "PLAN.md": "- [x] one\n- [ ] two\n- [ ] three\n",
    "specs/a.md": "# spec a\nmore\n",
    "specs/deep/b.md": "# spec b\n",
    "specs/api.json": '{"name": "app", "version": 1}\n',
    "memory/lessons.md": "lesson 1\n",
    "build/o.o": "o\n",
    "dist/app.js": "d\n",
    "junk.txt": "junk\n",
    "list.txt": "CLAUDE.md\nspecs/a.md\n",
    ".env": "SECRET=1\n",
}


def tree(top: Path) -> Path:
    """The tree that every program starts from."""
    for name, text in FILES.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not (top / "spec-link").is_symlink():
        (top / "spec-link").symlink_to("specs")
    return top


def claim(top: Path, argv: list[str], stdin: str | None = None) -> None:
    """Claims that the model foresees exactly the losses of the real program, and every content that it says it knows."""
    tree(top)
    ran = model(top, argv, stdin)
    foreseen = losses(ran, top)
    contents = {e.target.path: e.content for e in ran.effects if e.content is not None and hasattr(e.target, "path")}
    real = real_losses(top, top, argv, stdin or "", {"HOME": str(top / "home")})
    assert foreseen == real, f"{argv} {stdin}: {ran.effects}"
    after = files(top)
    for path, content in contents.items():
        name = str(Path(path).relative_to(top.resolve())) if Path(path).is_relative_to(top.resolve()) else ""
        if name in real and name in after:
            assert after[name] == content, f"{argv}: {name}"
