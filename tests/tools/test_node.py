"""JavaScript, Ruby, PHP and Lua programs are read for what they delete and write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from guard.effects import DELETE, EDIT, Matching
from tests.tool_harness import losses, model
from tests.tools.interpreters import claim, tree

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

PROGRAMS = {
    "unlinkSync": 'require("fs").unlinkSync("CLAUDE.md")',
    "const": "const fs = require('fs'); fs.unlinkSync('CLAUDE.md');",
    "node prefix": "const fs = require('node:fs'); fs.rmSync('specs', { recursive: true, force: true })",
    "global": "fs.rmSync('specs', {recursive: true})",
    "destructured": "const { rmSync, unlinkSync: u } = require('fs'); rmSync('specs', {recursive:true}); u('CLAUDE.md')",
    "rm without recursive": "try { fs.rmSync('specs') } catch (e) {}",
    "rmdir recursive": "fs.rmdirSync('specs', {recursive: true})",
    "callback": "fs.unlink('CLAUDE.md', () => {})",
    "callback twice": "fs.unlink('CLAUDE.md', err => { fs.unlink('AGENTS.md', () => {}) })",
    "promises": "fs.promises.rm('specs', {recursive: true})",
    "promises module": "const fsp = require('fs/promises'); (async () => { await fsp.unlink('CLAUDE.md') })()",
    "destructured promises": "const { unlink } = require('fs').promises; unlink('CLAUDE.md')",
    "then": "require('fs/promises').unlink('CLAUDE.md').then(() => fs.unlinkSync('AGENTS.md'))",
    "writeFile": "fs.writeFileSync('CLAUDE.md', 'x')",
    "writeFile empty": "fs.writeFileSync('CLAUDE.md', '')",
    "append": "fs.appendFileSync('CLAUDE.md', 'x')",
    "write with flag": "fs.writeFileSync('CLAUDE.md', 'x', {flag: 'a'})",
    "rename": "fs.renameSync('specs', 'old')",
    "rename over": "fs.renameSync('junk.txt', 'CLAUDE.md')",
    "copy over": "fs.copyFileSync('junk.txt', 'CLAUDE.md')",
    "cp": "fs.cpSync('memory', 'specs', {recursive: true}); fs.rmSync('specs/lessons.md')",
    "truncate": "fs.truncateSync('CLAUDE.md')",
    "template": "const d = 'specs'; fs.rmSync(`${d}/a.md`)",
    "concatenation": "const d = 'spe'; fs.rmSync(d + 'cs', {recursive: true})",
    "path.join": "const path = require('path'); fs.rmSync(path.join('specs', 'deep'), {recursive: true})",
    "path.resolve": "fs.rmSync(path.resolve('specs/a.md'))",
    "cwd": "fs.rmSync(process.cwd() + '/specs/a.md')",
    "for of": "for (const f of ['CLAUDE.md', 'AGENTS.md']) fs.unlinkSync(f)",
    "for of block": "for (const f of ['CLAUDE.md', 'AGENTS.md']) { fs.unlinkSync(f); }",
    "forEach": "['CLAUDE.md', 'AGENTS.md'].forEach(f => fs.unlinkSync(f))",
    "forEach function": "['CLAUDE.md', 'AGENTS.md'].forEach(function (f) { fs.unlinkSync(f) })",
    "readdir": "fs.readdirSync('memory').forEach(f => fs.unlinkSync('memory/' + f))",
    "readdir join": "for (const f of fs.readdirSync('memory')) fs.unlinkSync(path.join('memory', f))",
    "exec": "require('child_process').execSync('rm -rf specs')",
    "exec global": "child_process.execSync('rm CLAUDE.md')",
    "exec cwd": "child_process.execSync('rm a.md', {cwd: 'specs'})",
    "exec destructured": "const { execSync } = require('child_process'); execSync(`rm ${'CLAUDE.md'}`)",
    "spawn": "child_process.spawnSync('rm', ['-rf', 'specs'])",
    "spawn shell": "child_process.spawnSync('rm -rf specs', {shell: true})",
    "execFile": "child_process.execFileSync('rm', ['CLAUDE.md'])",
    "function": "function wipe(d) { fs.rmSync(d, {recursive: true}) } wipe('specs')",
    "arrow": "const wipe = (d) => fs.rmSync(d, {recursive: true}); wipe('specs')",
    "chdir": "process.chdir('specs'); fs.unlinkSync('a.md')",
    "exists": "if (fs.existsSync('CLAUDE.md')) { fs.unlinkSync('CLAUDE.md') }",
    "conditional": "fs.existsSync('CLAUDE.md') && fs.unlinkSync('CLAUDE.md')",
    "two": "fs.unlinkSync('junk.txt'); fs.unlinkSync('CLAUDE.md')",
    "stream": "fs.createWriteStream('CLAUDE.md').end('x')",
    "edit": "const s = fs.readFileSync('CLAUDE.md', 'utf8'); fs.writeFileSync('CLAUDE.md', s.replace('make', 'just'))",
    "mention": "console.log('fs.unlinkSync(\"CLAUDE.md\")')",
    "comment": "// fs.unlinkSync('CLAUDE.md')\n/* fs.unlinkSync('AGENTS.md') */ console.log(1)",
    "read": "console.log(fs.readFileSync('CLAUDE.md', 'utf8'))",
    "regular expression": "console.log('x'.match(/fs.unlinkSync('CLAUDE.md')/)); /a/.exec('CLAUDE.md')",
    "other tree": "fs.rmSync('build', {recursive: true})",
    "function never called": "function wipe() { fs.rmSync('specs', {recursive: true}) }",
    "map delete": "const m = new Map(); m.delete('CLAUDE.md'); [1].map(x => x)",
    "division": "const a = 4 / 2; const s = 'x'; console.log(a / 2, '/')",
}


@needs_node
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_loses_what_it_loses(name: str, tmp_path: Path) -> None:
    claim(tmp_path, ["node", "-e", PROGRAMS[name]])


@needs_node
@pytest.mark.parametrize("name", list(PROGRAMS)[1::9])
def test_a_program_may_stand_in_a_file_or_come_in(name: str, tmp_path: Path) -> None:
    source = "const fs = require('fs'), path = require('path'), child_process = require('child_process');\n" + PROGRAMS[
        name
    ].replace("const fs = require('fs');", "")
    (tmp_path / "script.js").write_text(source)
    claim(tmp_path, ["node", "script.js"])
    claim(tmp_path, ["node"], source)


COMMANDS = [
    ["--eval", "fs.unlinkSync('CLAUDE.md')"],
    ["--eval=fs.unlinkSync('CLAUDE.md')"],
    ["-p", "fs.unlinkSync('CLAUDE.md')"],
    ["-e", "fs.unlinkSync(process.argv[1])", "CLAUDE.md"],
    ["--no-warnings", "-e", "fs.unlinkSync('CLAUDE.md')"],
    ["--version"],
    ["--input-type=module", "-e", "import fs from 'fs'; fs.unlinkSync('CLAUDE.md')"],
    ["--input-type=module", "-e", "import { unlinkSync as u, rmSync } from 'node:fs'; u('CLAUDE.md'); rmSync('specs/a.md')"],
    ["--input-type=module", "-e", "import * as f from 'fs'; f.unlinkSync('CLAUDE.md')"],
]


@needs_node
@pytest.mark.parametrize("words", COMMANDS, ids=str)
def test_the_command_line(words: list[str], tmp_path: Path) -> None:
    claim(tmp_path, ["node", *words])


def test_a_directory_name_of_the_script_is_known(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "build/x.js").write_text("const p=require('path'); require('fs').rmSync(p.join(__dirname, '..', 'CLAUDE.md'))")
    assert losses(model(tmp_path, ["node", "build/x.js"]), tmp_path) == {"CLAUDE.md"}


def test_what_was_made_from_the_old_content_is_an_edit(tmp_path: Path) -> None:
    code = "const s = fs.readFileSync('CLAUDE.md','utf8'); fs.writeFileSync('CLAUDE.md', s.replace(/make/g, 'just'))"
    assert [e.action for e in model(tree(tmp_path), ["node", "-e", code]).effects] == [EDIT]


def test_an_unknown_operand_is_uncertain(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["node", "-e", "fs.rmSync('specs/' + process.env.X)"])
    assert [(e.action, e.certain, type(e.target)) for e in ran.effects] == [(DELETE, False, Matching)]


RUBY = {
    'require "fileutils"; FileUtils.rm_rf("specs")': {"specs/a.md", "specs/deep/b.md", "specs/api.json"},
    "FileUtils.rm_rf 'memory'": {"memory/lessons.md"},
    "FileUtils.rm_rf(%w[memory build])": {"memory/lessons.md", "build/o.o"},
    'File.delete("CLAUDE.md")': {"CLAUDE.md"},
    "File.unlink 'CLAUDE.md', 'AGENTS.md'": {"CLAUDE.md", "AGENTS.md"},
    'Dir.glob("*.md").each { |f| File.delete(f) }': {"CLAUDE.md", "AGENTS.md", "PLAN.md"},
    'Dir["*.md"].each do |f|\n  File.delete f\nend': {"CLAUDE.md", "AGENTS.md", "PLAN.md"},
    "Dir.glob('*.md') { |f| File.delete(f) }": {"CLAUDE.md", "AGENTS.md", "PLAN.md"},
    "Dir['*.md'].each(&File.method(:delete))": set(),
    'File.write("CLAUDE.md", "x")': {"CLAUDE.md"},
    'File.open("CLAUDE.md", "w") { |f| f.puts "x" }': {"CLAUDE.md"},
    'd = "specs"; FileUtils.rm_rf("#{d}/deep")': {"specs/deep/b.md"},
    'system("rm -rf memory")': {"memory/lessons.md"},
    'system "rm", "CLAUDE.md"': {"CLAUDE.md"},
    "`rm CLAUDE.md`": {"CLAUDE.md"},
    "%x(rm CLAUDE.md)": {"CLAUDE.md"},
    'FileUtils.mv("CLAUDE.md", "dist")': {"CLAUDE.md"},
    'Pathname.new("CLAUDE.md").delete': {"CLAUDE.md"},
    'Dir.chdir("specs"); File.delete("a.md")': {"specs/a.md"},
    'File.rename("specs", "old")': {"specs/a.md", "specs/deep/b.md", "specs/api.json"},
    'puts "File.delete(CLAUDE.md)"': set(),
    '# File.delete("CLAUDE.md")': set(),
    'puts File.read("CLAUDE.md")': set(),
    'FileUtils.rm_rf("dist")': {"dist/app.js"},
}
PHP = {
    'unlink("CLAUDE.md");': {"CLAUDE.md"},
    "$f = 'CLAUDE.md'; unlink($f);": {"CLAUDE.md"},
    'foreach (glob("*.md") as $f) { unlink($f); }': {"CLAUDE.md", "AGENTS.md", "PLAN.md"},
    'array_map("unlink", glob("specs/*.md"));': {"specs/a.md"},
    'rename("specs", "old");': {"specs/a.md", "specs/deep/b.md", "specs/api.json"},
    'file_put_contents("CLAUDE.md", "x");': {"CLAUDE.md"},
    'exec("rm CLAUDE.md");': {"CLAUDE.md"},
    '$d = "specs"; unlink("$d/a.md");': {"specs/a.md"},
    '$d = "specs"; unlink($d . "/a.md");': {"specs/a.md"},
    "echo 'unlink(\"CLAUDE.md\")';": set(),
    '// unlink("CLAUDE.md");': set(),
}
LUA = {
    'os.remove("CLAUDE.md")': {"CLAUDE.md"},
    'os.execute("rm -rf memory")': {"memory/lessons.md"},
    'os.rename("junk.txt", "CLAUDE.md")': {"junk.txt", "CLAUDE.md"},
    'local f = io.open("CLAUDE.md", "w")': {"CLAUDE.md"},
    'for _, f in ipairs({"CLAUDE.md", "AGENTS.md"}) do os.remove(f) end': {"CLAUDE.md", "AGENTS.md"},
    'local d = "specs"; os.remove(d .. "/a.md")': {"specs/a.md"},
    '-- os.remove("CLAUDE.md")': set(),
    "print('os.remove')": set(),
}


@pytest.mark.parametrize("code", RUBY)
def test_ruby(code: str, tmp_path: Path) -> None:
    assert losses(model(tree(tmp_path), ["ruby", "-rfileutils", "-e", code]), tmp_path) == RUBY[code]


@pytest.mark.parametrize("code", PHP)
def test_php(code: str, tmp_path: Path) -> None:
    assert losses(model(tree(tmp_path), ["php", "-r", code]), tmp_path) == PHP[code]


@pytest.mark.parametrize("code", LUA)
def test_lua(code: str, tmp_path: Path) -> None:
    assert losses(model(tree(tmp_path), ["lua", "-e", code]), tmp_path) == LUA[code]


def test_ruby_in_place(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["ruby", "-pi", "-e", "gsub(/a/, 'b')", "CLAUDE.md"])
    assert [e.action for e in ran.effects] == [EDIT]


def test_tclsh_and_osascript(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["tclsh"], "file delete -force specs\nexec rm CLAUDE.md\n")
    assert losses(ran, tmp_path) == {"specs/a.md", "specs/deep/b.md", "specs/api.json", "CLAUDE.md"}
    ran = model(tmp_path, ["osascript", "-e", 'do shell script "rm CLAUDE.md"'])
    assert losses(ran, tmp_path) == {"CLAUDE.md"}


def test_deno(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["deno", "eval", 'Deno.removeSync("specs", { recursive: true })'])
    assert losses(ran, tmp_path) == {"specs/a.md", "specs/deep/b.md", "specs/api.json"}


@pytest.mark.parametrize(
    "program",
    [
        "(" * 9000,
        "{[(" * 3000,
        "a=>" * 5000,
        "`" * 5001,
        "\x00\udcff",
        "f(" * 4000,
        "`${`${`${" * 500,
        "a.b" * 60_000,
        "/" * 3000,
    ],
)
@pytest.mark.parametrize("name", ["node", "ruby", "php", "lua"])
def test_no_program_breaks_the_reader(name: str, program: str, tmp_path: Path) -> None:
    assert not losses(model(tree(tmp_path), [name, "-r" if name == "php" else "-e", program]), tmp_path)
