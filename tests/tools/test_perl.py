"""Perl programs are read for what they delete and write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from guard.effects import DELETE, EDIT, Matching, Pattern, unknown
from tests.tool_harness import losses, model
from tests.tools.interpreters import claim, tree

pytestmark = pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")

PROGRAMS = {
    "unlink": 'unlink "CLAUDE.md"',
    "unlink list": "unlink 'CLAUDE.md', 'AGENTS.md';",
    "unlink brackets": 'unlink("CLAUDE.md") or die "no: $!";',
    "unlink qw": "unlink qw(CLAUDE.md specs/a.md);",
    "unlink glob": 'unlink glob("*.md")',
    "unlink glob without brackets": 'unlink glob "specs/*.md";',
    "unlink angle": "unlink <*.md>;",
    "unlink braces": "unlink <{CLAUDE,AGENTS}.md>;",
    "unlink each": 'unlink $_ for glob("*.md");',
    "unlink default": "unlink for <*.md>;",
    "foreach": 'foreach my $f ("CLAUDE.md", "AGENTS.md") { unlink $f; }',
    "for without my": "for $f (<specs/*.md>) { unlink($f) }",
    "map": "map { unlink $_ } glob('*.md');",
    "variable": 'my $f = "CLAUDE.md"; unlink $f;',
    "insertion": 'my $d = "specs"; unlink "$d/a.md"; unlink "${d}/api.json";',
    "concatenation": 'unlink "CLAUDE" . ".md";',
    "array": 'my @f = ("CLAUDE.md", "AGENTS.md"); unlink @f;',
    "array item": 'my @f = ("CLAUDE.md", "AGENTS.md"); unlink $f[1];',
    "remove_tree": 'use File::Path qw(remove_tree); remove_tree("specs");',
    "rmtree": "use File::Path; rmtree 'specs';",
    "full name": 'use File::Path; File::Path::remove_tree("specs", {safe => 0});',
    "keep_root": 'use File::Path qw(remove_tree); remove_tree("specs", {keep_root => 1});',
    "rename": 'rename "specs", "old";',
    "rename over": 'rename("junk.txt", "CLAUDE.md");',
    "move": 'use File::Copy; move("CLAUDE.md", "dist");',
    "copy": 'use File::Copy "copy"; copy("junk.txt", "CLAUDE.md");',
    "system": 'system("rm -rf specs")',
    "system list": 'system("rm", "-rf", "specs")',
    "exec": 'exec "rm", "CLAUDE.md";',
    "backticks": "`rm CLAUDE.md`;",
    "qx": "qx(rm CLAUDE.md);",
    "open two": 'open(F, ">CLAUDE.md"); close F;',
    "open three": "open(my $fh, '>', 'CLAUDE.md') or die; print $fh 'x';",
    "open without brackets": 'open F, ">", "CLAUDE.md"; print F "x";',
    "open append": 'open(F, ">>", "CLAUDE.md"); print F "x";',
    "open pipe": 'open(P, "rm CLAUDE.md |"); close P;',
    "truncate": 'truncate "CLAUDE.md", 0;',
    "chdir": 'chdir "specs"; unlink "a.md";',
    "sub": 'sub wipe { my $f = shift; unlink $f; } wipe("CLAUDE.md");',
    "find": 'use File::Find; find(sub { unlink $_ if -f }, "specs");',
    "find no_chdir": 'use File::Find; find({ wanted => sub { unlink $File::Find::name if -f $_ }, no_chdir => 1 }, "specs");',
    "two operands": 'unlink "junk.txt"; unlink "CLAUDE.md";',
    "rmdir of a full directory": 'rmdir "specs";',
    "replaced by link": 'unlink "CLAUDE.md"; symlink "/dev/null", "CLAUDE.md";',
    "mention": 'print "unlink CLAUDE.md\\n";',
    "comment": '# unlink "CLAUDE.md"\nprint 1;',
    "read": 'open(F, "<", "CLAUDE.md"); print <F>;',
    "match": 'my $x = "unlink"; print "yes" if $x =~ /unlink "CLAUDE.md"/;',
    "substitution": '$_ = "a"; s/a/unlink "CLAUDE.md"/; print;',
    "other tree": 'use File::Path qw(remove_tree); remove_tree("build");',
    "sub never called": 'sub wipe { unlink "CLAUDE.md"; } print 1;',
    "hash": 'my %h = (unlink => "CLAUDE.md"); print $h{unlink};',
    "pod": 'print 1;\n\n=pod\n\nunlink "CLAUDE.md";\n\n=cut\n\nprint 2;\n',
    "heredoc": 'print <<"END";\nunlink "CLAUDE.md";\nEND\n',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_loses_what_it_loses(name: str, tmp_path: Path) -> None:
    claim(tmp_path, ["perl", "-e", PROGRAMS[name]])


@pytest.mark.parametrize("name", list(PROGRAMS)[::5])
def test_a_program_may_come_from_standard_input(name: str, tmp_path: Path) -> None:
    claim(tmp_path, ["perl", "-"], PROGRAMS[name])


@pytest.mark.parametrize("name", list(PROGRAMS)[2::5])
def test_a_program_may_stand_in_a_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "script.pl").write_text(PROGRAMS[name])
    claim(tmp_path, ["perl", "-w", "script.pl"])


COMMANDS = [
    ["-MFile::Path=remove_tree", "-e", 'remove_tree("specs")'],
    ["-MFile::Path", "-E", 'rmtree("specs")'],
    ["-we", 'unlink "CLAUDE.md"'],
    ["-e", "unlink @ARGV", "CLAUDE.md", "specs/a.md"],
    ["-e", "unlink $ARGV[0]", "CLAUDE.md", "AGENTS.md"],
    ["-e", "unlink shift", "CLAUDE.md"],
    ["-ni", "-e", "1;", "CLAUDE.md"],
    ["-pi", "-e", "s/o/0/", "CLAUDE.md", "PLAN.md"],
    ["-i.bak", "-pe", "s/o/0/", "CLAUDE.md"],
    ["-p", "-i", "-e", "s/make/just/g", "CLAUDE.md"],
    ["-ne", "print if /x/", "CLAUDE.md"],
    ["-pe", "s/a/b/", "CLAUDE.md"],
    ["-c", "-e", 'unlink "CLAUDE.md"'],
    ["-v"],
    ["-e", 'unlink "CLAUDE', "-e", '.md"'],
]


@pytest.mark.parametrize("words", COMMANDS, ids=str)
def test_the_command_line(words: list[str], tmp_path: Path) -> None:
    claim(tmp_path, ["perl", *words])


def test_lines_of_the_input_are_what_the_loop_goes_through(tmp_path: Path) -> None:
    claim(tmp_path, ["perl", "-lne", "unlink"], "CLAUDE.md\nspecs/a.md\n")
    claim(tmp_path, ["perl", "-nle", "unlink $_", "list.txt"])


def test_in_place_editing_is_an_edit(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["perl", "-pi", "-e", "s/a/b/", "CLAUDE.md"])
    assert [e.action for e in ran.effects] == [EDIT]


def test_an_unknown_operand_is_uncertain(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["perl", "-e", 'unlink "specs/$ENV{X}"'])
    assert [(e.action, e.certain, type(e.target)) for e in ran.effects] == [(DELETE, False, Matching)]
    code = Pattern(('unlink "specs/', *unknown("unknown-variable", "$X").pieces, '"'))
    ran = model(tree(tmp_path), ("perl", "-e", code))
    assert [str(e.target.pattern)[-9:] for e in ran.effects] == ["/specs/$X"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "program",
    ["(" * 9000, "{[(" * 3000, "unlink " * 5000, '"' * 5001, "\x00\udcff", "$" * 4000, "sub f { f() } f()", "a" * 200_000],
)
def test_no_program_breaks_the_reader(program: str, tmp_path: Path) -> None:
    assert not losses(model(tree(tmp_path), ["perl", "-e", program]), tmp_path)
