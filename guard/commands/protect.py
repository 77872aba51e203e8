"""`guard protect` and `guard unprotect`: a person changes what a project protects, in the file that says so."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence

from guard import acceptance, globs, granting, person, policy_file
from guard.commands import place, standing
from guard.commands.output import say
from guard.commands.standing import Standing
from guard.errors import GuardError
from guard.matching import KEEP, RANK
from guard.paths import below, physical_parent
from guard.policy import Policy
from guard.policy_file import LISTS, PolicyFile
from guard.shown import visible
from guard.vault.snapshot import world

MAGIC = frozenset("*?[")


def add(names: Sequence[str], level: str = KEEP) -> int:
    """Adds paths or patterns to a list. Only a person may, because it changes the file that agents may not."""
    person.require("guard protect")
    where = standing.here()
    file = policy_file.find(where.at.root)
    wanted = [_pattern(name, where) for name in names]
    _change(file, policy_file.with_patterns(file, level, wanted), where, ["protect", *names])
    policy = place.sound(where.at.root, place.world())
    for name in names:
        _tell(name, where, policy)
    return 0


def remove(names: Sequence[str], reason: str | None) -> int:
    """Takes paths out of what the project's own lists protect."""
    person.require("guard unprotect")
    where = standing.here()
    file = policy_file.find(where.at.root)
    text = file.text
    for name in names:
        text = _without(file, text, name, where)
    taken = standing.copied(where.at)
    _show(file, text, where)
    person.confirm(f"A copy of every protected file is in snapshot {taken.name}.")
    _change(file, text, where, ["unprotect", *names, *(["--reason", reason] if reason else [])], shown=True)
    policy = place.sound(where.at.root, place.world())
    for name in names:
        _tell(name, where, policy)
    return 0


def _without(file: PolicyFile, text: str, name: str, where: Standing) -> str:
    """The text that no longer protects a path: without the pattern that names it, else with one that takes it out."""
    now = PolicyFile(file.path, text, file.table)
    wanted = _pattern(name, where)
    for level in LISTS:
        same = [each for each in policy_file.written(now, level) if each.rstrip("/") == wanted.rstrip("/")]
        if same:
            now = PolicyFile(file.path, policy_file.without_patterns(now, level, same), file.table)
    for level in sorted(RANK, key=lambda each: -RANK[each]):
        given = policy_file.patterns(now, level)
        if _protects(given, wanted, _place(name, where), where.at.root):
            now = PolicyFile(file.path, policy_file.with_patterns(now, level, ["!" + wanted]), file.table)
    if now.text == text:
        raise GuardError("no list of the project protects it", visible(name), "see guard explain PATH")
    return now.text


def _protects(given: Sequence[str], wanted: str, path: str, root: str) -> bool:
    """Does a list of patterns protect a path, or have this very pattern? The last match decides."""
    from pathspec import GitIgnoreSpec

    last = next((each for each in reversed(given) if each.lstrip("!").rstrip("/") == wanted.rstrip("/")), "")
    if last:
        return not last.startswith("!")
    matches = GitIgnoreSpec.from_lines(given).match_file
    relative = os.path.relpath(path, root)
    if not os.path.lexists(path):  # it may become a file or a directory
        return bool(matches(relative)) or bool(matches(relative + "/"))
    return bool(matches(relative + "/" * (os.path.isdir(path) and not os.path.islink(path))))


def _place(name: str, where: Standing) -> str:
    """The path that a name stands for: as seen from here, or from the project where it is written like a pattern.

    `/src/main.py`, as lists and explanations print it, lies in the project where there is no such path on this disk. Raises
    GuardError for what lies outside of the project.
    """
    path = os.path.normpath(os.path.join(os.getcwd(), name))
    real = physical_parent(world(), path) if os.path.lexists(path) else os.path.normpath(os.path.join(where.at.here, name))
    if _is_anchored(name, real, where.at.root):
        real = os.path.normpath(where.at.root + "/" + name)
    if real == where.at.root or not below(real, where.at.root):
        raise GuardError(f"it does not lie in {visible(where.at.root)}", visible(name), "name a path in the project")
    return real


def _is_anchored(name: str, real: str, root: str) -> bool:
    """Does the slash that a name begins with stand for the project? Where nothing outside of it is meant."""
    if not name.startswith("/") or below(real, root) or os.path.lexists(real):
        return False
    first = real.split("/")[1]
    return os.path.lexists(f"{root}/{first}") or not os.path.lexists(f"/{first}")


def _pattern(name: str, where: Standing) -> str:
    """The pattern for a path, or for a pattern as seen from here. Raises GuardError for what lies outside of the project."""
    real = _place(name, where)
    relative = os.path.relpath(real, where.at.root)
    if os.path.lexists(real):
        return policy_file.pattern_for(relative, os.path.isdir(real) and not os.path.islink(real))
    pattern = (
        "/" + relative + "/" * name.endswith("/") if MAGIC & set(name) else policy_file.pattern_for(relative, name.endswith("/"))
    )
    if error := globs.check(pattern):
        raise GuardError(f"bad pattern: {error}", visible(name), "see guard help protect")
    return pattern


def _change(file: PolicyFile, text: str, where: Standing, argv: Sequence[str], shown: bool = False) -> None:
    if not shown:
        _show(file, text, where)
    granting.prove_root(where.sudo)
    policy_file.save(file, text)
    if file.table:
        acceptance.accept(text.encode(), file.path, where.state, where.sudo)
    standing.record(f"{argv[0]}ed", argv, where.at.root)


def _show(file: PolicyFile, text: str, where: Standing) -> None:
    if text == file.text:
        raise GuardError("nothing would change", where.at.shown(file.path), "see guard list")
    say((where.at.shown(file.path), "bold"))
    for line in list(difflib.unified_diff(file.text.splitlines(), text.splitlines(), lineterm="", n=1))[2:]:
        style = "allow" if line.startswith("+") else "deny" if line.startswith("-") else "dim"
        say(("  " + visible(line), style))


def _tell(name: str, where: Standing, policy: Policy) -> None:
    path = _place(name, where)
    there = os.path.lexists(path)
    rule = policy.rule(path, os.path.isdir(path) and not os.path.islink(path)) or (None if there else policy.rule(path, True))
    if MAGIC & set(name) and not there:
        say(f"{visible(name)}: see the result with guard list --files")
    elif rule is None:
        say((visible(name), "bold"), " is not protected.")
    else:
        say((visible(name), "bold"), " is protected as ", (rule.level, rule.level), f" by {visible(rule.glob)}.")
        if not below(rule.source, where.at.root) and "/" in rule.source:
            say(f"  That rule stands in {visible(rule.source)}, which no project's file takes back.", wrap=True)
