"""`guard list`: what is protected here, by which rule, and which files that is now."""

from __future__ import annotations

import json
import os

from guard.builtin_rules import LISTS
from guard.commands import place
from guard.commands.output import say
from guard.matching import BUILT_IN, KEEP, LOCK, PRESENT, REWRITE, Matcher, Rule
from guard.paths import below, child
from guard.policy import Policy, Root
from guard.root import PENDING
from guard.roots import CONFIG, PROJECT, may_have_table
from guard.shown import visible
from guard.world import World

MEANING = {
    KEEP: "may be edited and added to; never deleted, emptied, moved out, thrown back",
    LOCK: "may not change at all",
    PRESENT: "must stay; what is below may come and go",
    REWRITE: "kept, but may be rewritten as a whole, never emptied",
}
SHOWN = 200  # files that --files prints; --json has them all

Found = tuple[str, str, Rule | None]  # a protected path, its level, and the rule that decides


def run(cwd: str | None, as_json: bool, with_files: bool) -> int:
    """Prints the rules of the roots that the directory lies in, with the number of files that each protects now."""
    here = place.directory(cwd)
    tree = place.world()
    policy = place.sound(here, tree)
    roots = enclosing(policy, os.path.realpath(here))
    found = [row for root in roots for row in protected(policy, root.path, tree)]
    if as_json:
        print(json.dumps(_fields(here, roots, found)))
    elif not roots:
        say(f"{visible(here)} lies in no project: there is no guard.toml, [tool.guard] or .git here or above.")
        say("Nothing is protected here but guard's own files.")
    else:
        for root in () if with_files else roots:
            _print_root(root, found)
            _print_warning(root, tree)
        _print_files(roots[0], found, with_files)
    return 0


def enclosing(policy: Policy, directory: str) -> list[Root]:
    """The projects that a directory lies in, nearest first. Guard's own directories are none."""
    found = [root for root in policy.roots if below(directory, root.path) and {rules.origin for rules in root.lists} != {"guard"}]
    return sorted(found, key=lambda root: -len(root.path))


def protected(policy: Policy, top: str, tree: World) -> list[Found]:
    """The protected paths at and below a directory, each with its level and the rule that decides it."""
    return [
        (path, level, policy.rule(path, os.path.isdir(path) and not os.path.islink(path)))
        for path, level in policy.protected(top, tree)
    ]


def rules(root: Root) -> list[tuple[str, Matcher]]:
    """Every rule of a root with the name of its list, strongest level first."""
    order = [LOCK, KEEP, REWRITE, PRESENT]
    lists = sorted(root.lists, key=lambda entry: order.index(entry.name))
    return [(entry.name, matcher) for entry in lists for matcher in entry.matchers]


def _print_root(root: Root, found: list[Found]) -> None:
    listed = rules(root)
    kept = {matcher.rule.glob for name, matcher in listed if name == KEEP and matcher.include}
    rewritten = {matcher.rule.glob for name, matcher in listed if name == REWRITE and matcher.include}
    hidden = sum(not matcher.include and matcher.rule.source == BUILT_IN for _, matcher in listed)
    say((visible(root.path), "bold"))
    say((f"    {'pattern':32s} {'files':>5s}  where it stands", "dim"))
    shown = ""
    for name, matcher in listed:
        glob = matcher.rule.glob
        if (not matcher.include and matcher.rule.source == BUILT_IN) or (name == REWRITE and matcher.include and glob in kept):
            continue
        if name != shown:
            say("  ", (name, name), f"  {MEANING[name]}")
            shown = name
        number = sum(rule == matcher.rule for _, _, rule in found)
        count = "" if name == REWRITE or not matcher.include else f"{number or '-':>5}"
        also = "; may be rewritten as a whole" if name == KEEP and glob in rewritten else ""
        say(f"    {visible(glob):32s} {count:5s}  ", (place_of(matcher.rule, root.path) + also, "dim"))
    if hidden:
        say(f"  {hidden} built-in patterns with ! take paths out again. See them: guard list --builtin", wrap=True)


def _print_warning(root: Root, tree: World) -> None:
    """Says so where the policy stands in a file that is not locked, and where a part of it waits for a person."""
    for path in [value for key, value in root.settings if key == PENDING]:
        say(
            f"  {visible(os.path.relpath(path, root.path))} has a changed [tool.guard] table that no person has accepted:"
            " until then it only adds protection (proposed).",
            wrap=True,
        )
        say("  See it and accept it:  guard allow --config")
    table = child(root.path, PROJECT)
    if tree.lstat(child(root.path, CONFIG)) is None and tree.lstat(table) is not None and may_have_table(tree.read(table)):
        say(f"  The policy stands in {PROJECT}, which is not locked: a changed table counts when a person accepts it.", wrap=True)
        say(f"  In {CONFIG} it would be locked.", wrap=True)


def place_of(rule: Rule, top: str) -> str:
    """Where a rule stands: "built-in", or file and line, the file as seen from `top`."""
    if not rule.line:
        return rule.source
    source = os.path.relpath(rule.source, top) if below(rule.source, top) else rule.source
    return visible(f"{source}:{rule.line}")


def _print_files(root: Root, found: list[Found], all_of_them: bool) -> None:
    for path, level, rule in found[:SHOWN] if all_of_them else ():
        say(f"  {level:8s}", visible(os.path.relpath(path, root.path)), ("  " + (rule.glob if rule else ""), "dim"))
    if all_of_them and len(found) > SHOWN:
        say(f"  ... and {len(found) - SHOWN} more (guard list --json has them all)")
    one = len(found) == 1
    total = f"{len(found)} protected {'file or directory exists' if one else 'files and directories exist'} now."
    say(total, "" if all_of_them else " See them: guard list --files")


def _fields(here: str, roots: list[Root], found: list[Found]) -> dict[str, object]:
    return {
        "v": 1,
        "cwd": here,
        "roots": [
            {"path": root.path, "rules": [{"list": name, **_rule(m.rule, m.include)} for name, m in rules(root)]}
            for root in roots
        ],
        "files": [{"path": path, "level": level, **({"rule": _rule(rule, True)} if rule else {})} for path, level, rule in found],
        "count": len(found),
        "pending": [value for root in roots for key, value in root.settings if key == PENDING],
    }


def _rule(rule: Rule, include: bool) -> dict[str, object]:
    return {"glob": rule.glob, "include": include, "source": rule.source, "line": rule.line}


def builtin(as_json: bool) -> int:
    """Prints the built-in list as it would stand in guard.toml."""
    if as_json:
        print(json.dumps({"v": 1, "protect": {name: list(globs) for name, globs in LISTS.items()}}))
        return 0
    say("# The built-in list. It holds where no file gives a list of its own.")
    say("[protect]")
    for name, globs in LISTS.items():
        say(f"{name} = [  # {MEANING[name]}")
        for glob in globs:
            say(f"    {json.dumps(glob)},")
        say("]")
    return 0
