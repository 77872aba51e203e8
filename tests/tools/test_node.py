"""JavaScript, Ruby, PHP and Lua programs are read for what they delete and write."""

# ruff: noqa: E501

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from guard.effects import DELETE, EDIT, OVERWRITE, Matching, Pattern
from tests.tool_harness import losses, model
from tests.tools.interpreters import FILES, claim, tree

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
    ran = model(tree(tmp_path), ["node", "-e", code])
    assert [(e.action, e.content) for e in ran.effects] == [(OVERWRITE, FILES["CLAUDE.md"].replace("make", "just").encode())]


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


CONDITIONS = {
    "filter by ending": "fs.readdirSync('.').filter(f => f.endsWith('.txt')).forEach(f => fs.unlinkSync(f))",
    "filter by regex": "fs.readdirSync('specs').filter(f => /\\.md$/.test(f)).forEach(f => fs.unlinkSync('specs/' + f))",
    "filter negated": "fs.readdirSync('.').filter(f => f.endsWith('.md') && !f.startsWith('C')).forEach(f => fs.unlinkSync(f))",
    "filter function": "fs.readdirSync('.').filter(function (f) { return f.includes('LAU'); }).forEach(f => fs.unlinkSync(f))",
    "filter of nothing": "fs.readdirSync('.').filter(f => f.endsWith('.orig')).forEach(f => fs.unlinkSync(f))",
    "filter of nothing in a loop": "for (const f of fs.readdirSync('.').filter(f => f.endsWith('.orig'))) { fs.rmSync('specs/' + f + '../a.md') }",
    "extname": "for (const f of fs.readdirSync('specs')) if (path.extname(f) === '.json') fs.unlinkSync(path.join('specs', f))",
    "set": "const keep = new Set(['specs','memory']); for (const d of ['build','specs','dist']) { if (!keep.has(d)) fs.rmSync(d, {recursive: true}); }",
    "set with another": "const keep = new Set(['specs']); keep.delete('specs'); for (const d of ['build','specs']) { if (!keep.has(d)) fs.rmSync(d, {recursive: true}); }",
    "includes": "const keep = ['specs']; for (const d of ['build','specs']) { if (keep.includes(d)) continue; fs.rmSync(d, {recursive: true}); }",
    "pushed": "const keep = ['specs']; keep.pop(); for (const d of ['build','specs']) { if (keep.includes(d)) continue; fs.rmSync(d, {recursive: true}); }",
    "else": "for (const d of ['build','specs']) { if (d === 'specs') { console.log(d) } else { fs.rmSync(d, {recursive: true}) } }",
    "else if": "for (const d of ['build','specs']) { if (d === 'build') { console.log(d) } else if (d === 'specs') { fs.rmSync(d, {recursive: true}) } else fs.rmSync('memory', {recursive:true}) }",
    "environment unset": "if (process.env.WIPE) fs.rmSync('specs', {recursive: true});\nconsole.log(1)",
    "environment set": "if (process.env.HOME) fs.rmSync('specs', {recursive: true});",
    "environment unset no semicolon": "if (process.env.WIPE)\n  fs.rmSync('specs', {recursive: true})\nfs.rmSync('memory', {recursive: true})",
    "environment unset else": "if (process.env.WIPE) { fs.rmSync('specs', {recursive: true}) } else { fs.rmSync('memory', {recursive: true}) }",
    "environment assigned": "process.env.WIPE = '1'; if (process.env.WIPE) fs.rmSync('specs', {recursive: true})",
    "exit": "if (!process.env.WIPE) process.exit(0)\nfs.rmSync('specs', {recursive: true})",
    "exit in block": "if (!process.env.WIPE) { process.exit(0); }\nfs.rmSync('specs', {recursive: true})",
    "argv": "if (process.argv.includes('--wipe')) fs.rmSync('specs', {recursive: true})",
    "false": "if (false) fs.rmSync('specs', {recursive: true})",
    "flag set later": "let go = ''; ['a','b'].forEach(x => { if (x === 'b') go = 'y' }); if (go === 'y') fs.rmSync('specs', {recursive: true})",
    "sum": "const n = 1 + 2; if (n === 3) fs.rmSync('specs', {recursive: true})",
    "function with return": "function w(d) { if (d === 'specs') return; fs.rmSync(d, {recursive: true}) } w('specs'); w('memory')",
    "closure with return": "['build','specs'].forEach(d => { if (d === 'build') return; fs.rmSync(d, {recursive: true}) })",
    "reassigned": "let d = 'build'; if (process.env.HOME) d = 'specs'; if (d === 'specs') fs.rmSync(d, {recursive: true})",
    "spawn list": "const a = ['-rf', 'specs']; child_process.spawnSync('rm', a)",
    "lines filtered": "const t = fs.readFileSync('PLAN.md', 'utf8').split('\\n').filter(l => l.includes('two')).join('\\n'); fs.writeFileSync('PLAN.md', t)",
    "lines filtered to nothing": "fs.writeFileSync('PLAN.md', fs.readFileSync('PLAN.md', 'utf8').split('\\n').filter(l => l.includes('zzz')).join('\\n'))",
    "lines not filtered": "fs.writeFileSync('PLAN.md', fs.readFileSync('PLAN.md', 'utf8').split('\\n').filter(l => l !== 'zzz').join('\\n') + 'x')",
    "replaced by regex": "fs.writeFileSync('CLAUDE.md', fs.readFileSync('CLAUDE.md', 'utf8').replace(/[\\s\\S]*/, ''))",
    "two on a line": "if (process.env.NO) fs.rmSync('specs', {recursive: true}); fs.rmSync('memory', {recursive: true})",
    "method chain": "if (process.env.NO)\n  fs.promises\n    .rm('specs', {recursive: true})\n    .then(() => 1)\nfs.rmSync('memory', {recursive: true})",
    "or": "for (const d of ['build','specs','memory']) if (d === 'build' || d.startsWith('mem')) fs.rmSync(d, {recursive: true})",
}


@needs_node
@pytest.mark.parametrize("name", CONDITIONS)
def test_what_surely_is_not_carried_out_is_none(name: str, tmp_path: Path) -> None:
    claim(tmp_path, ["node", "-e", CONDITIONS[name]])


def test_a_count_is_not_known(tmp_path: Path) -> None:
    code = "let n = 0; for (const d of ['build','specs']) { n++; if (n === 2) fs.rmSync(d, {recursive: true}) }"
    assert losses(model(tree(tmp_path), ["node", "-e", code]), tmp_path) >= {"specs/a.md"}


def test_a_content_that_may_have_lost_most_is_none(tmp_path: Path) -> None:
    code = "fs.writeFileSync('PLAN.md', fs.readFileSync('PLAN.md','utf8').split('\\n').filter(l => keep(l)).join('\\n'))"
    assert [(e.action, e.content) for e in model(tree(tmp_path), ["node", "-e", code]).effects] == [(OVERWRITE, None)]


OUTPUTS = [
    ["-p", '"build"'],
    ["-p", "'rm -rf ' + 'specs'"],
    ["-p", "1 + 1"],
    ["-pe", "`a${'b'}`"],
    ["-e", 'console.log("rm -rf specs")'],
    ["-e", 'console.log("rm", "-rf"); console.log("x")'],
    ["-e", 'process.stdout.write("rm")'],
    ["-e", 'if (1 > 2) console.log("rm")'],
    ["-e", "['a', 'b'].forEach(x => console.log(x))"],
    ["-e", 'const x = ["a"]; console.log(x)'],
    ["-p", "process.argv.length"],
    ["-p", "'a'.repeat(3)"],
]


@needs_node
@pytest.mark.parametrize("words", OUTPUTS, ids=str)
def test_what_is_printed_is_known_or_said_not_to_be(words: list[str], tmp_path: Path) -> None:
    output = model(tree(tmp_path), ["node", *words]).result.output  # type: ignore[attr-defined]
    real = subprocess.run(["node", *words], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False).stdout
    assert output == real or isinstance(output, Pattern)
    assert isinstance(output, str) is (OUTPUTS.index(words) in (0, 1, 4, 5, 6))
