"""Python programs are followed without being run."""

# ruff: noqa: E501

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from guard.effects import DELETE, EDIT, OVERWRITE, TRUNCATE, At, Matching, Pattern, unknown
from tests.tool_harness import losses, model
from tests.tools.interpreters import claim, tree

PYTHON = sys.executable

PROGRAMS = {
    "remove": "import os; os.remove('CLAUDE.md')",
    "unlink": "import os; os.unlink('specs/api.json')",
    "alias": "from os import unlink as u; u('CLAUDE.md')",
    "alias of module": "import shutil as s; s.rmtree('specs')",
    "rmtree alias": "from shutil import rmtree as r\nr('specs')",
    "star": "from shutil import *\nrmtree('specs')",
    "posix": "import posix; posix.unlink('CLAUDE.md')",
    "bytes": "import os; os.remove(b'CLAUDE.md')",
    "join": "import os, shutil; shutil.rmtree(os.path.join(os.getcwd(), 'memory'))",
    "f-string": "import shutil; d='spec'; shutil.rmtree(f'{d}s')",
    "percent": "import shutil; shutil.rmtree('%s%s' % ('spe', 'cs'))",
    "format": "import shutil; shutil.rmtree('{}{x}'.format('spe', x='cs'))",
    "concatenation": "import shutil; shutil.rmtree('spe' + 'cs')",
    "slices": "import shutil; shutil.rmtree('sceps'[::-1])",
    "chr": "import os; os.remove(''.join(chr(c) for c in [67,76,65,85,68,69,46,109,100]))",
    "base64": "import os,base64; os.remove(base64.b64decode('Q0xBVURFLm1k').decode())",
    "hex": "import os; os.remove(bytes.fromhex('434c415544452e6d64').decode())",
    "dictionary": "import os; d={'x':'CLAUDE.md'}; os.remove(d['x'])",
    "getattr": "import os; getattr(os, 'rem'+'ove')('CLAUDE.md')",
    "dunder import": "__import__('shutil').rmtree('specs')",
    "importlib": "import importlib; importlib.import_module('shutil').rmtree('specs')",
    "exec": "exec(\"import os\\nos.remove('CLAUDE.md')\")",
    "eval": "eval(\"__import__('os').remove('CLAUDE.md')\")",
    "compile": "exec(compile('import os; os.remove(\"CLAUDE.md\")', 'x', 'exec'))",
    "walk": "import os\nfor r,d,f in os.walk('specs'):\n  for n in f: os.remove(os.path.join(r,n))",
    "walk bottom up": "import os\nfor r,ds,fs in os.walk('specs',topdown=False):\n  for n in fs: os.remove(os.path.join(r,n))\n  for d in ds: os.rmdir(os.path.join(r,d))\nos.rmdir('specs')",
    "listdir": "import os\nfor n in os.listdir('specs'):\n  p='specs/'+n\n  if os.path.isfile(p): os.remove(p)",
    "scandir": "import os\nwith os.scandir('specs') as it:\n  for e in it:\n    if e.is_file() and e.name.endswith('.md'): os.unlink(e.path)",
    "glob": "import glob,os; [os.remove(f) for f in glob.glob('*.md')]",
    "glob recursive": "import glob,os\nfor f in glob.glob('**/*.md', recursive=True):\n  if os.path.exists(f): os.remove(f)",
    "glob does not see hidden": "import glob,os; [os.remove(f) for f in glob.glob('*') if os.path.isfile(f)]",
    "map": "import os,glob; list(map(os.remove, glob.glob('specs/*.md')))",
    "filter": "import os; [os.remove(f) for f in filter(lambda f: f.endswith('.md'), os.listdir('.'))]",
    "lambda": "import os; (lambda p: os.remove(p))('CLAUDE.md')",
    "function": "import os\ndef rm(p, base='specs'):\n  os.remove(os.path.join(base, p))\nrm('a.md')",
    "function never called": "import shutil\ndef wipe(): shutil.rmtree('specs')\n",
    "recursion": "import os\ndef rm(d):\n  for n in os.listdir(d):\n    p=os.path.join(d,n)\n    rm(p) if os.path.isdir(p) else os.remove(p)\n  os.rmdir(d)\nrm('specs')",
    "class": "import shutil\nclass C:\n  def __init__(self, d): self.d=d\n  def run(self): shutil.rmtree(self.d)\nC('specs').run()",
    "main": "import shutil\ndef main(): shutil.rmtree('memory')\nif __name__ == '__main__':\n  main()",
    "closure": "import os\ndef make(p):\n  def f(): os.remove(p)\n  return f\nmake('CLAUDE.md')()",
    "generator": "import os\ndef g():\n  yield 'CLAUDE.md'\n  yield 'AGENTS.md'\nfor p in g(): os.remove(p)",
    "partial": "import os, functools; functools.partial(os.remove, 'CLAUDE.md')()",
    "thread": "import threading, os\nt=threading.Thread(target=os.remove, args=('CLAUDE.md',)); t.start(); t.join()",
    "executor": "import os\nfrom concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as e: list(e.map(os.remove, ['CLAUDE.md','AGENTS.md']))",
    "path unlink": "from pathlib import Path; Path('CLAUDE.md').unlink()",
    "path join": "from pathlib import Path; (Path('specs')/'deep'/'b.md').unlink()",
    "path cwd": "import pathlib; (pathlib.Path.cwd()/'CLAUDE.md').unlink()",
    "path glob": "from pathlib import Path\nfor p in Path('specs').glob('*.md'): p.unlink()",
    "path rglob": "import pathlib; p=pathlib.Path('specs'); [x.unlink() for x in p.rglob('*') if x.is_file()]",
    "path iterdir": "from pathlib import Path\nfor p in Path('specs').iterdir():\n  if p.suffix=='.md': p.unlink()",
    "path dot rglob": "from pathlib import Path\nfor p in sorted(Path('.').rglob('*.md')): p.unlink()",
    "path rename": "from pathlib import Path; p=Path('CLAUDE.md'); p.rename(p.with_suffix('.bak'))",
    "path replace": "from pathlib import Path; Path('junk.txt').replace('CLAUDE.md')",
    "path parent": "from pathlib import Path; import shutil; shutil.rmtree(Path('specs/deep/b.md').resolve().parent)",
    "path missing ok": "from pathlib import Path; Path('nope').unlink(missing_ok=True); Path('CLAUDE.md').unlink(missing_ok=True)",
    "write": "open('CLAUDE.md','w').write('x')",
    "write with": "with open('CLAUDE.md','w') as f:\n  f.write('x\\n')\n  f.write('y\\n')",
    "write only opens": "open('CLAUDE.md','w').close()",
    "write nothing": "with open('CLAUDE.md','w'): pass",
    "write bytes": "open('CLAUDE.md','wb').write(b'x')",
    "write text": "from pathlib import Path; Path('CLAUDE.md').write_text('x')",
    "write keyword": "open(file='CLAUDE.md', mode='w').write('x')",
    "print to file": "with open('CLAUDE.md','w') as f: print('a', 'b', file=f)",
    "writelines": "with open('CLAUDE.md','w') as f: f.writelines(['a\\n','b\\n'])",
    "json dump": "import json\nd=json.load(open('specs/api.json'))\nd['version']=2\njson.dump(d, open('specs/api.json','w'), indent=2)",
    "append": "open('CLAUDE.md','a').write('x')",
    "append nothing": "open('CLAUDE.md','a').close()",
    "update": "with open('CLAUDE.md','r+') as f:\n  s=f.read()\n  f.seek(0)\n  f.write(s.replace('make','just'))\n  f.truncate()",
    "update start": "with open('CLAUDE.md','r+') as f: f.write('%')",
    "truncate": "import os; os.truncate('CLAUDE.md', 0)",
    "truncate method": "f=open('CLAUDE.md','r+'); f.truncate(0); f.close()",
    "exclusive": "open('CLAUDE.md','x').write('x')",
    "os.open": "import os; fd=os.open('CLAUDE.md', os.O_WRONLY|os.O_TRUNC); os.write(fd, b'x'); os.close(fd)",
    "replace in text": "p='CLAUDE.md'\ns=open(p).read()\ns=s.replace('make','just')\nopen(p,'w').write(s)",
    "replace in path": "from pathlib import Path\np=Path('PLAN.md')\np.write_text(p.read_text().replace('[ ]','[x]',1))",
    "sub": "import re\np='CLAUDE.md'\ns=open(p).read()\nopen(p,'w').write(re.sub(r'with \\w+', 'with just', s))",
    "lines": "p='PLAN.md'\nlines=open(p).read().splitlines()\nlines[1]='- [x] two'\nopen(p,'w').write('\\n'.join(lines)+'\\n')",
    "line loop": "out=[]\nfor line in open('PLAN.md'):\n  out.append(line.upper() if 'two' in line else line)\nopen('PLAN.md','w').writelines(out)",
    "assertion fails": "s=open('CLAUDE.md').read()\nassert 'not there' in s\nopen('CLAUDE.md','w').write('x')",
    "assertion holds": "s=open('CLAUDE.md').read()\nassert 'make' in s\nopen('CLAUDE.md','w').write(s+'end\\n')",
    "rename": "import os; os.rename('specs','old')",
    "rename over": "import os; os.rename('junk.txt','CLAUDE.md')",
    "replace": "import os; os.replace('junk.txt','CLAUDE.md')",
    "move": "import shutil; shutil.move('CLAUDE.md','dist')",
    "move away and delete": "import shutil; shutil.move('specs','s2'); shutil.rmtree('s2')",
    "copy over": "import shutil; shutil.copy('junk.txt','CLAUDE.md')",
    "copy from": "import shutil; shutil.copy('CLAUDE.md','build')",
    "copyfile": "import shutil; shutil.copyfile('junk.txt','specs/a.md')",
    "copytree": "import shutil; shutil.copytree('specs','memory/specs'); shutil.rmtree('memory/specs')",
    "copytree over": "import shutil,os; os.makedirs('n'); open('n/a.md','w').write('x'); shutil.copytree('n','specs',dirs_exist_ok=True)",
    "temporary then replace": "import os,tempfile\nwith tempfile.NamedTemporaryFile('w',dir='.',delete=False) as t: t.write('new')\nos.replace(t.name,'CLAUDE.md')",
    "temporary directory": "import tempfile,shutil; d=tempfile.mkdtemp(); shutil.rmtree(d)",
    "temporary context": "import tempfile,os\nwith tempfile.TemporaryDirectory() as d:\n  open(os.path.join(d,'x'),'w').write('x')",
    "chdir": "import os; os.chdir('specs'); os.remove('a.md')",
    "chdir up": "import os; os.chdir('specs/deep'); os.chdir('..'); os.remove('a.md')",
    "through link": "import os; os.remove('spec-link/a.md')",
    "the link itself": "import os; os.remove('spec-link')",
    "rmtree of a link fails": "import shutil; shutil.rmtree('spec-link')",
    "rmdir of a full directory fails": "import os; os.rmdir('specs')",
    "rmtree of a file fails": "import shutil; shutil.rmtree('CLAUDE.md')",
    "remove of a directory fails": "import os; os.remove('specs')",
    "missing stops": "import os; os.remove('nope'); os.remove('CLAUDE.md')",
    "missing caught": "import os\ntry: os.remove('nope')\nexcept FileNotFoundError: os.remove('CLAUDE.md')",
    "missing caught by class above": "import os\ntry: os.remove('nope')\nexcept OSError as e: os.remove('CLAUDE.md')",
    "missing not caught": "import os\ntry: os.remove('nope')\nexcept ValueError: pass\nos.remove('CLAUDE.md')",
    "finally": "import os\ntry: os.remove('nope')\nfinally: os.remove('CLAUDE.md')",
    "suppress": "import os,contextlib\nwith contextlib.suppress(FileNotFoundError): os.remove('nope')\nos.remove('CLAUDE.md')",
    "ignore errors": "import shutil; shutil.rmtree('nope', ignore_errors=True); shutil.rmtree('specs', ignore_errors=True)",
    "exit first": "import sys,os; sys.exit(0); os.remove('CLAUDE.md')",
    "if exists": "import os,shutil\nif os.path.exists('specs'): shutil.rmtree('specs')",
    "if not exists": "import os,shutil\nif not os.path.isdir('specs'): shutil.rmtree('memory')",
    "while": "import os\ni=0\nwhile i<1:\n  os.remove('CLAUDE.md'); i+=1",
    "break": "import os\nfor n in ['a','CLAUDE.md','AGENTS.md']:\n  if n=='AGENTS.md': break\n  if n!='a': os.remove(n)",
    "continue": "import os\nfor n in ['CLAUDE.md','AGENTS.md']:\n  if n.startswith('C'): continue\n  os.remove(n)",
    "walrus": "import os\nif (p:='CLAUDE.md'): os.remove(p)",
    "conditional": "import os; os.remove('CLAUDE.md' if 1 else 'AGENTS.md')",
    "unpacking": "import os\na,*b=['x','CLAUDE.md','AGENTS.md']\nfor p in b: os.remove(p)",
    "star arguments": "import os; a=['junk.txt','CLAUDE.md']; os.replace(*a)",
    "enumerate zip": "import os\nfor i,(a,b) in enumerate(zip(['CLAUDE.md'],['x'])): os.rename(a,b)",
    "environment": "import os; os.environ['T']='CLAUDE.md'; os.remove(os.environ['T'])",
    "environment default": "import os; os.remove(os.environ.get('NOPE','CLAUDE.md'))",
    "read list": "import os\nfor l in open('list.txt'): os.remove(l.strip())",
    "os.system": "import os; os.system('rm -rf specs')",
    "run list": "import subprocess; subprocess.run(['rm','-rf','specs'])",
    "run shell": "import subprocess; subprocess.run('rm -rf specs', shell=True)",
    "run cwd": "import subprocess; subprocess.run(['rm','a.md'], cwd='specs')",
    "run split": "import subprocess,shlex; subprocess.run(shlex.split('rm -rf specs'))",
    "call": "import subprocess; subprocess.call(['rm','CLAUDE.md'])",
    "check_call": "from subprocess import check_call; check_call(['rm','CLAUDE.md'])",
    "check_output": "import subprocess; subprocess.check_output('rm CLAUDE.md', shell=True)",
    "Popen": "import subprocess; subprocess.Popen(['rm','CLAUDE.md']).wait()",
    "getoutput": "import subprocess; subprocess.getoutput('rm CLAUDE.md')",
    "os.popen": "import os; os.popen('rm CLAUDE.md').read()",
    "execvp": "import os; os.execvp('rm',['rm','CLAUDE.md'])",
    "execlp": "import os; os.execlp('rm','rm','CLAUDE.md')",
    "spawn": "import os; os.spawnvp(os.P_WAIT,'rm',['rm','CLAUDE.md'])",
    "posix_spawn": "import os; p=os.posix_spawn('/bin/rm',['rm','CLAUDE.md'],os.environ); os.waitpid(p,0)",
    "asyncio": "import asyncio\nasync def m():\n  p=await asyncio.create_subprocess_exec('rm','CLAUDE.md'); await p.wait()\nasyncio.run(m())",
    "output into a file": "import subprocess\nwith open('CLAUDE.md','w') as f: subprocess.run(['true'],stdout=f)",
    "ctypes": "import ctypes; ctypes.CDLL(None).unlink(b'CLAUDE.md')",
    "fileinput": "import fileinput\nfor l in fileinput.input('PLAN.md', inplace=True): print(l.replace('[ ]','[x]'), end='')",
    "symlink exists": "import os; os.symlink('x','CLAUDE.md')",
    "replace by link": "import os; os.remove('CLAUDE.md'); os.symlink('/dev/null','CLAUDE.md')",
    "write through link": "open('spec-link/a.md','w').write('x')",
    "match": "import os\nmatch 'a':\n  case _: os.remove('CLAUDE.md')",
    # twins that harm nothing
    "mention": "s='shutil.rmtree(specs)'; print(s)",
    "read": "print(open('CLAUDE.md').read())",
    "read path": "from pathlib import Path; print(Path('CLAUDE.md').read_text())",
    "comment": "# os.remove('CLAUDE.md')\nprint(1)",
    "other tree": "import shutil; shutil.rmtree('build')",
    "dead branch": "import os\nif False: os.remove('CLAUDE.md')",
    "syntax error": "import os; os.remove('CLAUDE.md'",
    "name error": "import os; os.remove(CLAUDE); os.remove('CLAUDE.md')",
    "list remove": "l=['CLAUDE.md']; l.remove('CLAUDE.md')",
    "string replace": "s='CLAUDE.md'.replace('a','b'); print(s)",
    "dry": "import os\ndry=True\nif not dry: os.remove('CLAUDE.md')",
    "new file": "open('new.txt','w').write('x'); import os; os.remove('new.txt')",
    "makedirs": "import os,shutil; os.makedirs('n/a/b'); shutil.rmtree('n')",
    "returns early": "import os\ndef f():\n  return\n  os.remove('CLAUDE.md')\nf()",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_loses_what_it_loses(name: str, tmp_path: Path) -> None:
    claim(tmp_path, [PYTHON, "-c", PROGRAMS[name]])


@pytest.mark.parametrize("name", list(PROGRAMS)[::7])
def test_a_program_may_come_from_standard_input(name: str, tmp_path: Path) -> None:
    claim(tmp_path, [PYTHON, "-"], PROGRAMS[name])


@pytest.mark.parametrize("name", list(PROGRAMS)[3::7])
def test_a_program_may_stand_in_a_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PROGRAMS[name])
    claim(tmp_path, [PYTHON, "-u", "script.py", "argument"])


COMMANDS = [
    ["-Ic", "import os; os.remove('CLAUDE.md')"],
    ["-W", "ignore", "-c", "import os; os.remove('CLAUDE.md')"],
    ["-Wignore", "-X", "utf8", "-c", "import os; os.remove('CLAUDE.md')"],
    ["-c", "import sys, os; os.remove(sys.argv[1])", "CLAUDE.md"],
    ["-c", "import sys, os; [os.remove(p) for p in sys.argv[1:]]", "CLAUDE.md", "specs/a.md"],
    ["-cimport os; os.remove('CLAUDE.md')"],
    ["-V"],
    ["--version"],
    ["-m", "json.tool", "specs/api.json"],
    ["-m", "compileall", "-q", "build"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=str)
def test_the_command_line(words: list[str], tmp_path: Path) -> None:
    claim(tmp_path, [PYTHON, *words])


def test_lines_of_standard_input_are_known(tmp_path: Path) -> None:
    claim(tmp_path, [PYTHON, "-c", "import sys,os\nfor l in sys.stdin: os.remove(l.strip())"], "CLAUDE.md\nspecs/a.md\n")
    tree(tmp_path)
    claim(tmp_path, [PYTHON, "-c", "import os; os.remove(input())"], "CLAUDE.md\n")


def test_a_module_beside_the_script_is_read(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import shutil\ndef clean(d):\n    shutil.rmtree(d)\n")
    (tmp_path / "run.py").write_text("from helper import clean\nclean('specs')\n")
    claim(tmp_path, [PYTHON, "run.py"])


def test_a_module_of_the_tree_is_run(tmp_path: Path) -> None:
    (tmp_path / "wipe").mkdir()
    (tmp_path / "wipe/__main__.py").write_text("import shutil\nshutil.rmtree('specs')\n")
    claim(tmp_path, [PYTHON, "-m", "wipe"])


def test_a_script_that_is_written_and_run(tmp_path: Path) -> None:
    program = "open('x.py','w').write('import os; os.remove(\"CLAUDE.md\")')\nimport subprocess,sys\nsubprocess.run([sys.executable,'x.py'])"
    claim(tmp_path, [PYTHON, "-c", program])


def test_what_a_program_prints_is_its_output(tmp_path: Path) -> None:
    ran = model(tmp_path, ["python3", "-c", "print('specs', 1, sep='/'); print('x', end='')"])
    assert ran.result.output == "specs/1\nx"  # type: ignore[attr-defined]
    assert ran.result.status == 0  # type: ignore[attr-defined]


def test_the_status_of_sys_exit(tmp_path: Path) -> None:
    assert model(tmp_path, ["python3", "-c", "import sys; sys.exit(3)"]).result.status == 3  # type: ignore[attr-defined]
    assert model(tmp_path, ["python3", "-c", "open('nope')"]).result.status == 1  # type: ignore[attr-defined]
    assert model(tmp_path, ["python3", "-c", "import x; x.y()"]).result.status is None  # type: ignore[attr-defined]


def test_an_unknown_operand_is_an_uncertain_target(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["python3", "-c", "import os,foo; os.remove(foo.path())"])
    assert [(e.action, e.certain, type(e.target)) for e in ran.effects] == [(DELETE, False, Matching)]


def test_an_unknown_operand_is_normal_in_a_script(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("import os,foo\nos.remove(foo.path())\nos.remove('specs/' + foo.path())\n")
    ran = model(tree(tmp_path), ["python3", "s.py"])
    assert [str(e.target.pattern)[-22:] for e in ran.effects] == ["specs/foo.path()"[-22:]] or len(ran.effects) == 1  # type: ignore[union-attr]


def test_a_condition_that_is_not_known_makes_effects_uncertain(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["python3", "-c", "import os,foo\nif foo.bar(): os.remove('CLAUDE.md')\nos.remove('AGENTS.md')"])
    assert [e.certain for e in ran.effects] == [False, True]


def test_every_alternative_counts(tmp_path: Path) -> None:
    ran = model(tree(tmp_path), ["python3", "-c", "import shutil,foo\np='specs' if foo.x() else 'build'\nshutil.rmtree(p)"])
    assert losses(ran, tmp_path) == {"specs/a.md", "specs/deep/b.md", "specs/api.json", "build/o.o"}
    assert not any(e.certain for e in ran.effects)


def test_writing_back_what_was_made_from_the_old_content_is_an_edit(tmp_path: Path) -> None:
    for program in (
        "import x\ns=open('CLAUDE.md').read()\ns=x.change(s)\nopen('CLAUDE.md','w').write(s)",
        "import x\nfrom pathlib import Path\np=Path('CLAUDE.md')\np.write_text(x.render(p.read_text()))",
        "import yaml\nd=yaml.safe_load(open('CLAUDE.md'))\nyaml.dump(d, open('CLAUDE.md','w'))",
        "import datetime\ns=open('CLAUDE.md').read()\nopen('CLAUDE.md','w').write(s + f'at {datetime.datetime.now()}')",
    ):
        effects = model(tree(tmp_path), ["python3", "-c", program]).effects
        assert [e.action for e in effects] == [EDIT], program


def test_writing_something_else_is_not(tmp_path: Path) -> None:
    for program, action in (
        ("import x\nopen('CLAUDE.md','w').write(x.text())", OVERWRITE),
        ("import x\nx.dump({}, open('CLAUDE.md','w'))", OVERWRITE),
        ("open('CLAUDE.md','w').write('')", TRUNCATE),
    ):
        assert [e.action for e in model(tree(tmp_path), ["python3", "-c", program]).effects] == [action], program


def test_a_part_of_the_program_that_the_shell_puts_in_is_a_hole(tmp_path: Path) -> None:
    code = Pattern(("import shutil; shutil.rmtree('specs/", *unknown("unknown-variable", "$X").pieces, "')"))
    effects = model(tree(tmp_path), ("python3", "-c", code)).effects
    assert len(effects) == 1
    assert isinstance(effects[0].target, Matching)
    assert str(effects[0].target.pattern).endswith("/specs/$X")


def test_large_computations_are_skipped_quickly(tmp_path: Path) -> None:
    program = (
        "import os\nt=0\nfor i in range(10**7):\n  for j in range(100):\n    t+=i*j\nx='a'*10**12\ny=2**(10**9)\nz=[i for i in range(10**8)]\n"
        "while True:\n  t+=1\n  if t>10**9: break\nos.remove('CLAUDE.md')"
    )
    start = time.process_time()
    ran = model(tree(tmp_path), ["python3", "-c", program])
    assert losses(ran, tmp_path) == {"CLAUDE.md"}
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "program",
    [
        "(" * 5000,
        "x=" + "-" * 5000 + "1",
        "+".join(["'a'"] * 20000) + "; import os; os.remove('CLAUDE.md')",
        "\x00",
        "\udcff",
        "def f(): f()\nf()\nimport os",
        "def f(n):\n  f(n+1); f(n+2)\nf(0)\nopen",
        "import re,os\ns='a'*50+'!'\nre.sub(r'(a+)+$','',s)\nre.sub(r'(a*)*b','',s)",
        "a=[]\na.append(a)\nopen(a,'w')\nprint(a)",
        "'%9999999999d' % 1; f'{1:9999999999}'; '{:9999999999}'.format(1)\nopen",
        "x=[0]\nfor i in x: x.append(i); open('y')",
        "class A(A): pass\nA().x.y.z()\nopen",
        "lambda: (yield)\nawait x\nopen",
        "import os; os.remove(None); os.remove(1); os.remove([]); os.replace()",
        "exec('exec(x)'); x='exec(x)'; exec(x)",
    ],
    ids=range(15),
)
def test_no_program_breaks_the_reader(program: str, tmp_path: Path) -> None:
    start = time.process_time()
    model(tree(tmp_path), ["python3", "-c", program])
    assert time.process_time() - start < 3


def test_only_known_paths_are_targets(tmp_path: Path) -> None:
    effects = model(tree(tmp_path), ["python3", "-c", "import os; os.remove('CLAUDE.md')"]).effects
    assert [e.target for e in effects] == [At(str(tmp_path.resolve() / "CLAUDE.md"))]


LIBRARY = {
    "map idle": "import os; map(os.remove,['CLAUDE.md'])",
    "generator idle": "import os; (os.remove(f) for f in ['CLAUDE.md'])",
    "map consumed": "import os; list(map(os.remove,['CLAUDE.md']))",
    "fileinput nothing": "import fileinput\nfor l in fileinput.input('CLAUDE.md', inplace=True): pass",
    "fileinput comp": "import fileinput; [None for l in fileinput.input('CLAUDE.md',inplace=True)]",
    "fileinput print": "import fileinput\nfor l in fileinput.input('CLAUDE.md', inplace=True): print(l.replace('make','just'), end='')",
    "fileinput filter": "import fileinput\nfor l in fileinput.input(['CLAUDE.md','PLAN.md'], inplace=True):\n  if 'two' in l: print(l, end='')",
    "fileinput break": "import fileinput\nfor l in fileinput.input(['CLAUDE.md','PLAN.md'], inplace=True):\n  break",
    "fileinput with": "import fileinput, sys\nwith fileinput.input(files=('PLAN.md',), inplace=True, backup='.bak') as f:\n  for l in f:\n    sys.stdout.write(l.upper())",
    "fileinput read": "import fileinput\nfor l in fileinput.input('CLAUDE.md'): print(l)",
    "log": "import logging; logging.basicConfig(filename='CLAUDE.md', filemode='w')",
    "log handler": "import logging; logging.FileHandler('CLAUDE.md', mode='w')",
    "log handler 2": "import logging; logging.FileHandler('CLAUDE.md', 'w')",
    "log none": "import logging; logging.basicConfig(level=10); logging.warning('x')",
    "mmap": "import mmap\nwith open('CLAUDE.md','r+b') as f:\n  m=mmap.mmap(f.fileno(),0)\n  m[:]=b'\\0'*len(m)",
    "mmap write": "import mmap\nwith open('CLAUDE.md','r+b') as f:\n  with mmap.mmap(f.fileno(),0) as m:\n    m[0:3]=b'abc'",
    "mmap read": "import mmap\nwith open('CLAUDE.md','rb') as f:\n  m=mmap.mmap(f.fileno(),0,access=mmap.ACCESS_READ)\n  print(m[:3])",
    "urlretrieve": "import urllib.request, os; urllib.request.urlretrieve('file://'+os.path.abspath('junk.txt'), 'CLAUDE.md')",
    "walk pruned": "import os\nfor r,ds,fs in os.walk('.'):\n  ds[:]=[d for d in ds if d not in ('specs','memory')]\n  for f in fs:\n    if f.endswith('.md'): os.unlink(os.path.join(r,f))",
    "walk pruned start": "import os\nfor r,ds,fs in os.walk('.', topdown=True):\n  ds[:]=[d for d in ds if not d.startswith('.') and d != 'specs']\n  for f in fs:\n    if f=='a.md' or f=='lessons.md': os.unlink(os.path.join(r,f))",
    "walk cleared": "import os\nfor r,ds,fs in os.walk('.'):\n  ds.clear()\n  for f in fs:\n    if f.endswith('.md'): os.unlink(os.path.join(r,f))",
    "walk remove": "import os\nfor r,ds,fs in os.walk('.'):\n  if 'specs' in ds: ds.remove('specs')\n  for f in fs:\n    if f.endswith('.md'): os.unlink(os.path.join(r,f))",
    "walk bottom up": "import os\nfor r,ds,fs in os.walk('.', topdown=False):\n  ds[:]=[]\n  for f in fs:\n    if f.endswith('.md'): os.unlink(os.path.join(r,f))",
    "walk unsure": "import os,random\nfor r,ds,fs in os.walk('.'):\n  if random.random() < 2: pass\n  for f in fs:\n    if f.endswith('.md'): os.unlink(os.path.join(r,f))",
    "match": "import shutil\nmatch 'wipe':\n  case 'clean': shutil.rmtree('specs')\n  case _: print('no')",
    "match hit": "import shutil\nmatch 'clean':\n  case 'clean': shutil.rmtree('specs')\n  case _: shutil.rmtree('memory')",
    "match or": "import shutil\nmatch 'b':\n  case 'a' | 'b': shutil.rmtree('specs')",
    "match seq": "import shutil\nmatch ['rm','specs']:\n  case ['ls', _]: shutil.rmtree('memory')\n  case ['rm', d]: shutil.rmtree(d)",
    "match guard": "import shutil\nmatch 5:\n  case x if x > 9: shutil.rmtree('memory')\n  case int(): shutil.rmtree('specs')",
    "match star": "import shutil\nmatch ['rm','-r','specs']:\n  case ['rm', *rest]: shutil.rmtree(rest[-1])",
    "size": "import os\nfor f in ['CLAUDE.md','AGENTS.md']:\n  if os.path.getsize(f) > 20: os.remove(f)",
    "stat": "import os\nfor f in ['CLAUDE.md','AGENTS.md']:\n  if os.stat(f).st_size > 20: os.remove(f)",
    "path stat": "from pathlib import Path\nfor f in Path('.').glob('*.md'):\n  if f.stat().st_size > 20: f.unlink()",
    "age": "import os,time\nlimit=time.time()-30*86400\nfor f in ['CLAUDE.md']:\n  if os.path.getmtime(f) < limit: os.remove(f)",
    "age 2": "import os,time\nfor f in ['CLAUDE.md']:\n  if time.time()-os.path.getmtime(f) < 86400: os.remove(f)",
}


@pytest.mark.parametrize("name", LIBRARY)
def test_library_functions_and_statements(name: str, tmp_path: Path) -> None:
    claim(tmp_path, [PYTHON, "-c", LIBRARY[name]])


SCRIPTS = {
    "default": (
        "import argparse, shutil\np=argparse.ArgumentParser(); p.add_argument('--dir',default='build'); p.add_argument('--dry-run',action='store_true')\na=p.parse_args()\nif not a.dry_run:\n    shutil.rmtree(a.dir)\n",
        [[], ["--dir", "specs"], ["--dir=memory"], ["--dry-run"], ["--dir", "specs", "--dry-run"], ["--nope"], ["--help"]],
    ),
    "positional": (
        "import argparse, shutil, pathlib\np=argparse.ArgumentParser(description='x')\np.add_argument('paths',nargs='+',type=pathlib.Path,help='the %s')\np.add_argument('-n',type=int,default=1)\na=p.parse_args()\nfor x in a.paths:\n  if a.n == 1: shutil.rmtree(x)\n",
        [[], ["specs"], ["specs", "memory"], ["specs", "-n", "2"], ["-n", "x", "specs"]],
    ),
    "commands": (
        "import argparse, shutil\ndef clean(a): shutil.rmtree(a.dir)\ndef show(a): print(a)\np=argparse.ArgumentParser()\ns=p.add_subparsers(dest='cmd', required=True)\nc=s.add_parser('clean'); c.add_argument('dir'); c.set_defaults(func=clean)\nd=s.add_parser('show'); d.add_argument('dir'); d.set_defaults(func=show)\na=p.parse_args()\na.func(a)\n",
        [[], ["clean", "specs"], ["show", "specs"]],
    ),
    "main": (
        "import argparse, shutil\ndef main(argv=None):\n  p=argparse.ArgumentParser()\n  g=p.add_mutually_exclusive_group()\n  g.add_argument('--yes',action='store_true')\n  g.add_argument('--no',action='store_true')\n  a=p.parse_args(argv)\n  if not a.yes:\n    p.error('x')\n  shutil.rmtree('specs')\nif __name__=='__main__':\n  main()\n",
        [[], ["--yes"], ["--yes", "--no"]],
    ),
    "vars": (
        "import argparse, shutil\np=argparse.ArgumentParser(); p.add_argument('-d',choices=['specs','memory'],default='memory')\nd=vars(p.parse_args())\nshutil.rmtree(d['d'])\n",
        [[], ["-d", "specs"], ["-d", "x"]],
    ),
}


@pytest.mark.parametrize(("name", "at"), [(name, at) for name, (_, lines) in SCRIPTS.items() for at in range(len(lines))])
def test_arguments_are_parsed_as_argparse_does(name: str, at: int, tmp_path: Path) -> None:
    source, lines = SCRIPTS[name]
    (tmp_path / "r.py").write_text(str(source))
    claim(tmp_path, [PYTHON, "r.py", *lines[at]])


MODULES = [
    ["-m", "json.tool", "specs/api.json", "CLAUDE.md"],
    ["-m", "json.tool", "specs/api.json"],
    ["-m", "json.tool", "CLAUDE.md", "AGENTS.md"],
    ["-m", "json.tool", "specs/api.json", "specs/api.json"],
    ["-m", "json.tool", "--compact", "specs/api.json", "CLAUDE.md"],
    ["-m", "json.tool", "nope", "CLAUDE.md"],
    ["-m", "venv", "--clear", "--without-pip", "specs"],
    ["-m", "venv", "--without-pip", "specs"],
]


@pytest.mark.parametrize("words", MODULES, ids=str)
def test_modules_that_write(words: list[str], tmp_path: Path) -> None:
    claim(tmp_path, [PYTHON, *words])


def test_an_import_that_may_fail_is_no_success(tmp_path: Path) -> None:
    assert model(tree(tmp_path), [PYTHON, "-c", "import nosuchmod"]).result.status is None  # type: ignore[attr-defined]
    assert model(tree(tmp_path), [PYTHON, "-c", "import json"]).result.status == 0  # type: ignore[attr-defined]
