"""Random shell programs over the small tree of claims.py: nothing but rm, cd and harmless commands, in every construct."""

from __future__ import annotations

import random

OPERANDS = [
    "a.txt",
    "b.txt",
    "*.md",
    "d",
    "d/x",
    "d/*",
    "'sp ace.txt'",
    "{a,b}.txt",
    "link/",
    "link",
    "e/q",
    ".hidden",
    "nope",
    "d/deep",
    "../a.txt",
]
DIRECTORIES = ["d", "e", "nope", "..", "d/deep", "link", ".", "-", "~", "$PWD/d", '"$OLDPWD"']
TESTS = [
    "[ -f a.txt ]",
    "[ -d d ]",
    "[ -e nope ]",
    'test -n "$v"',
    "[[ $v == a* ]]",
    "[[ -d link && ! -e nope ]]",
    "true",
    "false",
    "! true",
    "((1))",
    "((n > 1))",
    "ls nope >/dev/null 2>&1",
    "grep -q alpha a.txt",
    '[ "$v" = a.txt ]',
    "[ $# -gt 0 ]",
    "cd d",
    "cd nope",
    "f",
    "[ -L link ]",
    "[ x$v != x ]",
]
VALUES = [
    "a.txt",
    "b.txt",
    "d",
    "e/q",
    "'sp ace.txt'",
    "$(echo d/x)",
    "${v:-a.txt}",
    "*.md",
    "nope",
    "${v%.txt}.txt",
    "$(cd d && ls | head -n1)",
    "$((1+1))",
]


def program(seed: int) -> str:
    """A program; the same seed gives the same one."""
    return _list(random.Random(seed), 3)


def _list(r: random.Random, depth: int) -> str:
    return "\n".join(_command(r, depth) for _ in range(r.randint(1, 3)))


def _word(r: random.Random) -> str:
    return r.choice(
        [r.choice(OPERANDS), "$v", '"$v"', "${w:-a.txt}", '"$1"', '"$@"', "$f", '"$f"', "${a[0]}", '"${a[@]}"', "d/$f"]
    )


def _remove(r: random.Random) -> str:
    return f"rm {r.choice(['-f', '-rf', '-r', ''])} {_word(r)}"


def _simple(r: random.Random) -> str:
    return r.choice(
        [
            _remove(r),
            _remove(r),
            _remove(r),
            f"cd {r.choice(DIRECTORIES)}",
            f"v={r.choice(VALUES)}",
            f"w={r.choice(VALUES)}",
            f"a=({r.choice(VALUES)} {r.choice(VALUES)})",
            f"set -- {r.choice(VALUES)} b.txt",
            "shift",
            "echo hello",
            f"f {r.choice(VALUES)}",
            f"echo x > {r.choice(['a.txt', 'new', 'd/x', '$v'])}",
            "n=$((n+1))",
            "set -e",
            "set +e",
            "unset v",
            "exit 3",
            "return 1",
            f'eval "rm -f {r.choice(["a.txt", "$v", "*.md"])}"',
            f'xargs rm -f <<< "{r.choice(["a.txt", "d/x b.txt", "$v"])}"',
            f"echo {r.choice(VALUES)} | xargs rm -rf",
            f"sh -c 'rm -rf \"$1\"' _ {_word(r)}",
            "mkdir -p new && cd new",
            "touch new2",
            "pushd d",
            "popd",
            f"read v <<< {r.choice(['a.txt', 'd'])}",
            "trap 'rm -f b.txt' EXIT",
            "export v",
            "break",
            "continue",
            "set -u",
        ]
    )


def _command(r: random.Random, depth: int) -> str:
    if depth == 0 or r.random() < 0.45:
        return _simple(r)
    inner = depth - 1
    kind = r.randrange(13)
    if kind == 0:
        return f"{_command(r, 0)} {r.choice(['&&', '||'])} {_command(r, inner)}"
    if kind == 1:
        return f"if {r.choice(TESTS)}; then\n{_list(r, inner)}\nelse\n{_list(r, inner)}\nfi"
    if kind == 2:
        return f"for f in {r.choice(VALUES)} {r.choice(VALUES)}; do\n{_list(r, inner)}\ndone"
    if kind == 3:
        return f"( {_list(r, inner)}\n)"
    if kind == 4:
        return f"{{ {_list(r, inner)}\n}}"
    if kind == 5:
        return f"f() {{\n{_list(r, inner)}\n}}"
    if kind == 6:
        first, second, third = (_command(r, inner) for _ in range(3))
        return f"case {r.choice(VALUES[:5])} in *.txt) {first};; d|e) {second};; *) {third};; esac"
    if kind == 7:
        return f"i=0; while [ $i -lt 2 ]; do i=$((i+1))\n{_list(r, inner)}\ndone"
    if kind == 8:
        return f"{r.choice(TESTS)} {r.choice(['&&', '||'])} {_command(r, inner)}"
    if kind == 9:
        return f"v=$({_command(r, inner)}\n)"
    if kind == 10:
        return f"printf 'a.txt\\nd/x\\n' | while read -r f; do {_command(r, inner)}\ndone"
    if kind == 11:
        return (
            f"{_command(r, inner)} > {r.choice(['/dev/null', 'out', 'd/y.txt'])}"
            if r.random() < 0.5
            else f"{{ {_list(r, inner)}\n}} 2>/dev/null"
        )
    return f"( {_command(r, inner)}\n) &\nwait"
