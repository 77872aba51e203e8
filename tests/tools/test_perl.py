"""Perl programs are read for what they delete and write."""

# ruff: noqa: E501

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from guard.effects import DELETE, EDIT, TRUNCATE, Matching, Pattern, unknown
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


LINES = [
    'print if /make/', 'print unless /make/', 'print if /zzz/', 'print if /lesson|make/i', '', 'print', 'print $_', 'print uc $_',
    'print if $. > 2', 'print if $. == 1', 'print if 2..3', 'print unless 1..2', 'print if /Build/../Test/', 'print if /Build/.../o/',
    'print unless $seen{$_}++', 'print if length > 5', 'print if length($_) < 5', 'next if /Test/; print', 'next unless /o/; print;',
    'print; last if /Build/', 'last if $.==2; print', 'print "x"', 'print "$.:$_"', 'if (/o/) { print } else { print "no\\n" }',
    'print if eof', 'print unless eof', 'print $1 if /(\\w+)/', 'print if !/make/ && !/test/', 'print if /Build/ or /Test/',
    'print if $_ =~ /Build/', 'print if $_ !~ /Build/', '/make/ and print', '/make/ or print', 'print STDERR $_', 'print STDOUT $_',
    's/o/0/g; print', 'print if s/make/just/', 'print if $_ ne "\\n"', 'print unless /^\\s*$/', 'print if /\\S/', 'print "a" x 3', '$x .= $_; print $x if eof',
    'BEGIN { print "top\\n" } print', 'print; END { print "end" }', 'print for 1', 'my $l = $_; $l =~ s/a/b/; print $l', '$n++; print if $n % 2',
]  # fmt: skip
EDITS = [
    's/.*//', 's/.*//s', 's/^.*\\n//', 's/o/0/', 's/o/0/g', 's/make/$& $&/', 's/(\\w+) (\\w+)/$2 $1/', 's/\\bB(\\w)/\\U$1/', 's{o}{0}g', 's|o|/|', 's/\\s+$/\\n/',
    's/^/# /', 's/$/;/', 's/x*/-/g', 's/O/0/gi', 's/o/0/ if /Build/', 's/o/0/ unless $. == 1',
    '$_=""', '$_ = "x\\n"', '$_ .= "x"', '$_ = uc', '$_ = lc($_)', '$_ = "" if /make/', 'undef $_', '$_ = undef', 'chomp', 'chop', 'tr/a-z/A-Z/', 'y/o/0/', 'tr/o//d',
    'tr/a-z//s', '$_ = "" unless /o/', 'next if /o/', 'last if /Build/', 'exit if $. == 2', 'print "x"', '1', '', 's/[aeiou]//g', 's/#.*//; s/^\\s*$//',
    'close ARGV if eof', 's/\\[ \\]/[x]/', 's/\\\\/x/g', "s/'/x/g", 's/o/0/ ; s/0/o/', 's/(?<v>[aeiou])/<$1>/g', 's/a/@/', '$_ = reverse $_', '$_ = "$.\\t$_"', 's/\\d+/9/g',
]  # fmt: skip
MANY = ["CLAUDE.md", "PLAN.md"]


@pytest.mark.parametrize("program", LINES)
def test_what_a_silent_loop_leaves_is_known(program: str, tmp_path: Path) -> None:
    claim(tmp_path, ["perl", "-ni", "-e", program, *MANY])


@pytest.mark.parametrize("program", EDITS)
@pytest.mark.parametrize("options", ["-pi", "-0777pi", "-lpi", "-0pi"])
def test_what_a_printing_loop_leaves_is_known(options: str, program: str, tmp_path: Path) -> None:
    claim(tmp_path, ["perl", options, "-e", program, *MANY])


@pytest.mark.parametrize(
    "words",
    [
        ["-i", "-e", "while(<>){}", "CLAUDE.md"],
        ["-i", "-e", "while (<>) { print if /o/ }", *MANY],
        ["-i", "-e", "while (my $l = <>) { print $l unless $l =~ /o/ }", *MANY],
        ["-i", "-e", "print while <>", "CLAUDE.md"],
        ["-i", "-e", "1", "CLAUDE.md"],
        ["-i.bak", "-ne", "", "CLAUDE.md"],
        ["-i.md", "-pe", "s/a/b/", "CLAUDE", "CLAUDE.md"],
        ["-i", "-pe", "s/a/b/", "nope", "specs", "CLAUDE.md"],
        ["-i", "-pe", "s/spec/x/", "specs/a.md", "spec-link/a.md"],
        ["-lani", "-e", "print $F[0]", "CLAUDE.md"],
        ["-00", "-ni", "-e", "print if /Build/", "CLAUDE.md"],
        ["-0", "-pi", "-e", "s/.*//s", "CLAUDE.md"],
        ["-0pie", "s/.*//s", "CLAUDE.md"],
        ["-pi", "-e", "s/a/b/;", "-e", "s/b/c/", *MANY],
        ["-pi", "-e", "BEGIN { undef $/ } s/.*//s", *MANY],
        ["-pi", "-Mstrict", "-e", "s/o/0/", *MANY],
    ],
    ids=str,
)
def test_files_that_are_written_anew(words: list[str], tmp_path: Path) -> None:
    claim(tmp_path, ["perl", *words])


def test_filters_that_lose_most_have_a_known_content(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["perl", "-ni", "-e", "print if /two/", "PLAN.md"])
    assert [(e.action, e.content) for e in ran.effects] == [(EDIT, b"- [ ] two\n")]
    ran = model(tree(tmp_path), ["perl", "-pi", "-e", "undef $_", "PLAN.md"])
    assert [e.action for e in ran.effects] == [TRUNCATE]


OUTPUTS = [
    ["-e", 'print "rm -rf specs"'],
    ["-e", 'print "rm -rf ", "specs", "\\n"'],
    ["-le", "print for 1"],
    ["-le", 'print join " ", qw(rm -rf specs)'],
    ["-E", 'say "a" . "b"'],
    ["-e", 'print "\\x72m"'],
    ["-e", "print pack 'H*', '726d'"],
    ["-MMIME::Base64", "-e", 'print decode_base64("cm0gLXJm")'],
    ["-e", "print $ARGV[1]", "a", "b"],
    ["-ne", "print if /two/", "PLAN.md"],
    ["-lne", "print $1 if /([a-z]+)$/", "PLAN.md"],
    ["-pe", "s/^- //", "PLAN.md"],
    ["-lane", "print $F[-1]", "PLAN.md"],
    ["-ne", "END { print $. }", "PLAN.md"],
]


@pytest.mark.parametrize("words", OUTPUTS, ids=str)
def test_what_is_printed_is_known_or_said_not_to_be(words: list[str], tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["perl", *words])
    real = subprocess.run(["perl", *words], cwd=tmp_path, capture_output=True, text=True, timeout=10, check=False).stdout
    output = ran.result.output  # type: ignore[attr-defined]
    assert output == real or isinstance(output, Pattern)
    assert isinstance(output, str) or "for" in words[1]


def test_lines_of_the_input_are_what_the_loop_goes_through(tmp_path: Path) -> None:
    claim(tmp_path, ["perl", "-lne", "unlink"], "CLAUDE.md\nspecs/a.md\n")
    claim(tmp_path, ["perl", "-nle", "unlink $_", "list.txt"])


def test_in_place_editing_is_an_edit(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["perl", "-pi", "-e", "s/a/b/", "CLAUDE.md"])
    assert [e.action for e in ran.effects] == [EDIT]


CONDITIONS = {
    "system qw": "system qw(rm -rf specs)",
    "system qw brackets": "system(qw/rm -rf specs/)",
    "exec qw": "exec qw(rm -rf specs)",
    "system array": 'my @c=("rm","-rf","specs"); system @c',
    "system pushed": 'my @c=("rm","-rf"); push @c, "specs"; system(@c)',
    "system each": 'for my $c ("rm -rf specs", "rm CLAUDE.md") { system($c) }',
    "system each array": 'my @c = ("rm -rf specs", "rm CLAUDE.md"); system($_) for @c;',
    "map": 'unlink map { "specs/$_" } qw(a.md api.json)',
    "map expression": 'unlink map "specs/$_", qw(a.md api.json)',
    "map brackets": 'unlink(map { "specs/$_" } ("a.md", "api.json"));',
    "grep regex": 'unlink grep { /CLAU/ } glob "*"',
    "grep expression": 'unlink grep /CLAU/, glob("*")',
    "grep negated": 'unlink grep { !/CLAU/ && -f } glob "*.md"',
    "grep nothing": 'unlink grep { /zzz/ } glob "*"',
    "grep sorted": 'unlink sort grep { $_ ne "CLAUDE.md" } glob "*.md"',
    "readdir": 'opendir(my $d, "specs"); while (my $f = readdir $d) { next if $f =~ /^\\./; unlink "specs/$f"; }',
    "readdir other": 'opendir D, "build"; unlink "build/$_" for readdir D',
    "readdir grep": 'opendir(D, "specs"); my @f = grep { /\\.md$/ } readdir(D); unlink map { "specs/$_" } @f;',
    "next unless": 'for my $f (glob "*.md") { next unless $f =~ /CLAU/; unlink $f }',
    "next if block": 'for my $f (glob "*.md") { if ($f eq "CLAUDE.md") { next; } unlink $f }',
    "modifier": 'for my $f (glob "*.md") { unlink $f if $f eq "CLAUDE.md" }',
    "modifier unless": 'for (glob "*.md") { unlink unless /CLAU/ }',
    "environment": 'unlink "CLAUDE.md" if $ENV{WIPE};',
    "environment set": 'unlink "CLAUDE.md" if $ENV{HOME};',
    "environment block": 'if ($ENV{WIPE}) { unlink "CLAUDE.md" } else { unlink "AGENTS.md" }',
    "elsif": 'for my $f (glob "*.md") { if ($f eq "CLAUDE.md") { print 1 } elsif ($f eq "PLAN.md") { unlink $f } else { print 2 } }',
    "open and truncate": 'open my $f, "+<", "specs/a.md"; truncate $f, 0',
    "decoded": 'use MIME::Base64; system decode_base64("cm0gLXJmIHNwZWNz")',
    "effect in a condition": 'if (unlink "CLAUDE.md") { print "x" }',
    "or die": 'unlink "CLAUDE.md" or die if 1; unlink "AGENTS.md"',
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_lists_and_conditions(name: str, tmp_path: Path) -> None:
    claim(tmp_path, ["perl", "-e", CONDITIONS[name]])


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
