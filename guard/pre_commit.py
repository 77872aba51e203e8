"""guard's hooks in pre-commit's configuration: the text edited in place, everything else in it as it was."""

from __future__ import annotations

import re

from guard.errors import GuardError

CONFIG = ".pre-commit-config.yaml"
STAGES = ("pre-commit", "pre-merge-commit", "commit-msg", "pre-push", "post-checkout", "post-merge", "post-rewrite")
INSTALL = f"pre-commit install {' '.join(f'--hook-type {stage}' for stage in STAGES)}"
OURS = "guard-protected-files"
# The portable command: every member of the team has pathguard on PATH, as for the settings of agents.
HOOKS = """\
- repo: local
  hooks:
    - id: guard-protected-files
      name: guard protected files
      entry: pathguard git-hook protected-files
      args: [--message]
      language: system
      always_run: true
      pass_filenames: false
      require_serial: true
      stages: [pre-commit, pre-merge-commit, manual]
    - id: guard-commit-message
      name: guard commit message
      entry: pathguard git-hook commit-msg
      language: system
      always_run: true
      require_serial: true
      stages: [commit-msg]
    - id: guard-pre-push
      name: guard pre-push
      entry: pathguard git-hook pre-push
      language: system
      always_run: true
      pass_filenames: false
      require_serial: true
      stages: [pre-push]
    - id: guard-verify
      name: guard verify
      entry: pathguard git-hook verify
      language: system
      always_run: true
      pass_filenames: false
      require_serial: true
      verbose: true
      stages: [post-checkout, post-merge, post-rewrite]
"""
_REPOS = re.compile(r"^repos:[ \t]*(\[[ \t]*\])?[ \t]*(#.*)?$", re.MULTILINE)
_ITEM = re.compile(r"^([ \t]*)-[ \t]", re.MULTILINE)


def edited(text: str | None, path: str) -> str:
    """The configuration with guard's hooks as the first; as it is where they are in it already.

    `text` is None where there is no file. Raises GuardError for a text that has no plain list of repositories.
    """
    if text is None:
        return f"default_install_hook_types: [{', '.join(STAGES)}]\nrepos:\n{HOOKS}"
    if re.search(rf"^[ \t-]*id:[ \t]*[\"']?{OURS}\b", text, re.MULTILINE):
        return text
    found = _REPOS.search(text)
    if found is None:
        raise GuardError("it has no line `repos:` with the list below it", path, f"write one, or add by hand the hook {OURS}")
    rest = text[found.end() :]
    item = None if found[1] else _ITEM.search(rest)
    indent = item[1] if item is not None else ""
    head = text[: found.start()] + "repos:" + (f"  {found[2]}" if found[2] else "")
    return f"{head}\n{_indented(indent)}{rest.removeprefix(_newline(rest))}"


def _indented(indent: str) -> str:
    return "".join(indent + line for line in HOOKS.splitlines(keepends=True))


def _newline(rest: str) -> str:
    return "\n" if rest.startswith("\n") else ""
