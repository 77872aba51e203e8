"""The analysis against bash itself: what a text loses is what guard says it loses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell.claims import analysed, foreseen, make, really

TEXTS = r"""
rm a.txt
rm -f *.txt
rm -f "sp ace.txt"
rm -f sp\ ace.txt
rm -f {a,b}.txt
rm -f [ab].txt
rm -f ?.txt
rm -f [!a].txt
rm -rf d e
rm -rf .h*
rm -rf *
f=a.txt; rm $f
f="sp ace.txt"; rm $f
f="sp ace.txt"; rm "$f"
f=*.md; rm $f
f='*.md'; rm "$f"
f=a; rm $f.txt
f=a; rm ${f}.txt
f=a.txt.bak; rm ${f%.bak}
f=x/a.txt; rm ${f##*/}
f=A.TXT; rm ${f,,}
f=a.md; rm ${f/md/txt}
f=xa.txt; rm ${f:1}
f=a.txtx; rm ${f:0:5}
rm ${nope:-a.txt}
rm ${nope:=a.txt} && rm -f $nope b.txt
rm ${nope:+a.txt} b.txt
v=f; f=a.txt; rm ${!v}
a=(a.txt b.txt); rm "${a[@]}"
a=(a.txt b.txt); rm "${a[1]}"
a=(a.txt b.txt); rm "${a[-1]}"
a=(a.txt); a+=(b.txt); rm "${a[@]}"
declare -A m=([k]=a.txt); rm "${m[k]}"
declare -a l=(a.txt "sp ace.txt"); rm "${l[@]}"
set -- a.txt b.txt; rm "$2"
set -- a.txt "sp ace.txt"; rm "$@"
set -- a.txt "sp ace.txt"; rm $*
set -- a.txt b.txt; shift; rm "$1"
set -- a.txt b.txt; rm "${@:2}"
i=1; rm -f $((i+1)) a.txt
n=0; ((n++)); [ $n = 1 ] && rm a.txt
let n=3-3 || rm a.txt
rm $(echo a.txt)
rm `echo a.txt`
rm $(cat names)
rm $(< names)
rm $(ls *.md)
rm "$(printf '%s.txt' a)"
rm $(printf '%s.txt ' a b)
x=$(echo a.txt; echo b.txt); rm $x
rm $(basename /q/a.txt)
rm $(echo a.txt | tr a b)
rm $(for i in a b; do echo $i.txt; done)
rm $'a\x2etxt'
rm "a"'.txt'
rm ~/kept
rm -rf ~
cd d; rm *
cd d && rm x
cd nope; rm a.txt
cd nope && rm a.txt
cd nope || rm a.txt
(cd d; rm x); rm a.txt
{ cd d; rm x; }; rm y.txt
cd link && rm x
cd link && cd .. && rm a.txt
cd link; rm ../a.txt
cd d/deep && cd ../.. && rm a.txt
cd d; cd -; rm a.txt
cd; rm *
pushd d; rm x; popd; rm a.txt
cd d && cd "$OLDPWD" && rm a.txt
true && rm a.txt
false && rm a.txt
false || rm a.txt
true || rm a.txt
! false && rm a.txt
! true || rm a.txt
false; rm a.txt
set -e; false; rm a.txt
set -e; false || true; rm a.txt
set -e; if false; then :; fi; rm a.txt
set -u; rm $nope; rm a.txt
set -u; rm ${nope:-a.txt}
set -o pipefail; false | true && rm a.txt
false | true && rm a.txt
exit 0; rm a.txt
(exit 1) || rm a.txt
if [ -f a.txt ]; then rm a.txt; else rm b.txt; fi
if [ -f nope ]; then rm a.txt; elif [ -d d ]; then rm b.txt; else rm c.md; fi
if [[ -d d && ! -f d ]]; then rm a.txt; fi
[[ abc == a* ]] && rm a.txt
[[ abc == "a*" ]] && rm a.txt
[[ abc =~ ^a ]] && rm a.txt
[[ 3 -gt 10 ]] || rm a.txt
[[ -z $nope ]] && rm a.txt
[ "$nope" = "" ] && rm a.txt
[ -n "$HOME" -a -e a.txt ] && rm a.txt
test 2 -lt 1 || rm a.txt
[ ! -e nope ] && rm a.txt
case a.txt in *.md) rm c.md;; *.txt) rm a.txt;; esac
case x in a|x) rm a.txt;; esac
case x in x) rm a.txt;& y) rm b.txt;; esac
case x in x) rm a.txt;;& *) rm b.txt;; esac
case x in y) rm a.txt;; esac
for f in a.txt b.txt; do rm $f; done
for f in *.txt; do rm "$f"; done
for f in a b; do rm $f.txt; break; done
for f in a b; do [ $f = a ] && continue; rm $f.txt; done
for i in {1..3}; do for f in a b; do rm -f $f.txt; break 2; done; done
for ((i=0;i<2;i++)); do n=(a b); rm ${n[i]}.txt; done
set -- a.txt b.txt; for f; do rm $f; done
i=0; while [ $i -lt 2 ]; do i=$((i+1)); rm -f $i a.txt; done
i=0; until [ $i = 1 ]; do i=1; rm a.txt; done
while read -r f; do rm "$f"; done < names
while read f; do rm "$f"; done <<< a.txt
cat names | while read -r f; do rm "$f"; done
echo a.txt b.txt | while read x y; do rm $y; done
IFS=: read x y <<< a:b; rm $y.txt
mapfile -t l < names; rm "${l[@]}"
while IFS= read -r f; do rm "$f"; done < <(ls *.md)
f() { rm "$1"; }; f a.txt
f() { local g=$1; rm $g; }; f a.txt
g=b.txt; f() { local g=a.txt; }; f; rm $g
g=b.txt; f() { g=a.txt; }; f; rm $g
f() { return 1; rm b.txt; }; f || rm a.txt
function f { rm a.txt; }; f
f() { echo a.txt; }; rm $(f)
f() (cd d; rm x); f; rm a.txt
f() { [ $# = 2 ] && rm $2; }; f 1 a.txt
unset -f f; f() { :; }; f; rm a.txt
eval 'rm a.txt'
eval "rm a.txt; rm b.txt"
c='rm a.txt'; $c
c=rm; "$c" a.txt
bash -c 'rm a.txt'
bash -c 'rm "$1"' x a.txt
bash -c 'rm "$@"' x a.txt b.txt
sh -c 'cd d && rm x'
V=a.txt; bash -c 'rm -f "$V"'
V=a.txt bash -c 'rm -f "$V"'
export V=a.txt; bash -c 'rm "$V"'
export V=~/kept; rm "$V"
declare V=x:~/kept; rm "${V#x:}"
f() { local g="$1 ace.txt"; rm "$g"; }; f sp
f() { local g=$1; rm "$g"; }; f "sp ace.txt"
echo 'rm a.txt' | sh
bash <<< 'rm a.txt'
bash <(echo rm a.txt)
. ./clean.sh
source clean.sh
./clean.sh
sh clean.sh
bash ./cd.sh
PATH=$PWD:$PATH; clean.sh
env rm a.txt
env -i /bin/rm a.txt
env V=a.txt sh -c 'rm $V'
env -u HOME rm a.txt
env -C d rm x
nice rm a.txt
timeout 5 rm a.txt
command rm a.txt
\rm a.txt
exec rm a.txt; rm b.txt
(exec rm a.txt); rm b.txt
xargs rm < names
echo a.txt b.txt | xargs rm
echo a.txt b.txt | xargs -n1 rm
printf 'a.txt\0sp ace.txt\0' | xargs -0 rm
echo 'sp ace.txt' | xargs -I{} rm {}
echo "'sp ace.txt'" | xargs rm
cat names | xargs -I F sh -c 'rm F'
echo a.txt END b.txt | xargs -E END rm
printf 'a.txt\nEND\nb.txt\n' | xargs -E END -n1 rm
yes n | rm -ri d
yes n | cp -i a.txt b.txt
yes n | mv -i a.txt b.txt
yes | rm -i a.txt
yes rm a.txt | head -1 | sh
cat a.txt | tee -a a.txt > /dev/null
cat a.txt | dd of=a.txt conv=notrunc status=none
echo 'rm a.txt' | gzip | gunzip | sh
echo 'rm a.txt' | fold -w 80 | fmt | expand | dd status=none | iconv -t ascii | sh
echo cm0gYS50eHQK | openssl base64 -d | sh
echo '{"run":{"this":"rm a.txt"}}' | jq -r .run.this | sh
echo 'BEGIN{system("rm a.txt")}' | awk -f /dev/stdin
cmp -s a.txt b.txt && rm a.txt
cmp -s a.txt a.txt && rm a.txt
diff -q a.txt b.txt > /dev/null || rm a.txt
[ "$(stat -c %s a.txt)" -eq 0 ] && rm a.txt
[ "$(md5sum < a.txt)" = "$(md5sum < b.txt)" ] && rm a.txt
mkdir s && echo old > s/b.txt && tar cf x.tar -C s b.txt && tar xf x.tar
mkdir s && echo old > s/b.txt && (cd s && tar cf - .) | tar xf -
mkdir s && echo old > s/b.txt && tar -C s -cJf x.txz . && tar xf x.txz a.txt
mkdir s && echo old > s/b.txt && tar cf x.tar s && tar xf x.tar --strip-components=1
mkdir s && echo old > s/b.txt && tar cf x.tar --exclude=b.txt -C s . && tar xf x.tar
mkdir -p s/d && tar cf x.tar -C s d && tar xf x.tar --recursive-unlink
tar cf x.tar --to-command='rm a.txt' b.txt
mkdir s && echo old > s/b.txt && (cd s && zip -qr ../x.zip .) && unzip -qo x.zip
mkdir s && echo old > s/b.txt && zip -qj x.zip s/b.txt && unzip -qo x.zip
mkdir s && echo old > s/b.txt && zip -qr x.zip s -x 's/b*' && cd s && unzip -qo ../x.zip
gzip a.txt && gunzip a.txt.gz
gzip -k a.txt && echo new > a.txt && gunzip -f a.txt.gz
printf '@@ -1 +0,0 @@\n-%s\n' "$(cat a.txt)" | patch a.txt
find "$NOPE" -name '*.txt' -delete
find . -files0-from - -delete < /dev/null
find . -name '*.md' | xargs rm
find . -name '*.md' -exec rm {} +
trap 'rm a.txt' EXIT
trap 'rm a.txt' EXIT; trap - EXIT
(trap 'rm a.txt' EXIT); rm b.txt
rm a.txt &
{ rm a.txt; } & wait
echo x > a.txt
echo x >> a.txt
: > a.txt
> a.txt
echo x 2> a.txt
echo x &> a.txt
echo x >&2 2> a.txt
echo alpha > a.txt
cat a.txt > b.txt
{ echo x; echo y; } > a.txt
for i in 1; do echo $i; done > a.txt
set -C; echo x > a.txt
set -C; echo x >| a.txt
cat nope > a.txt
cat < nope > a.txt
echo x > nope/a.txt
f=a.txt; echo x > $f
exec 3> a.txt; echo x >&3
exec > a.txt; echo x
sort a.txt > a.txt
cat > a.txt <<EOF
hello $HOME
EOF
cat <<'EOF' > /dev/null
rm a.txt
EOF
cat <<EOF > /dev/null
$(rm a.txt)
EOF
sh <<'EOF'
rm a.txt
EOF
rm a.txt; rm a.txt || rm b.txt
mkdir n && cd n && rm ../a.txt
mkdir -p n; touch n/f; rm -rf n
ln -s a.txt l2; rm l2
ln -s d l2; rm -rf l2/*
mv a.txt q.txt; rm q.txt
cp a.txt q.txt; rm q.txt
mv d w && rm -rf w/x
mv a.txt d/ && rm d/a.txt
echo 'rm a.txt' > t.sh; sh t.sh
echo a.txt > t; rm $(cat t)
printf 'rm %s\n' a.txt > t.sh && . ./t.sh
cp clean.sh other.sh; sh other.sh
echo rm a.txt
echo "rm a.txt" > /dev/null
# rm a.txt
echo '$(rm a.txt)'
f() { rm a.txt; }
alias z='rm a.txt'
shopt -s globstar; rm -f **/z
shopt -s nullglob; rm -f nope* a.txt
shopt -s dotglob; rm -f *
shopt -s extglob
rm -f !(a).txt
[ $(ls | wc -l) -gt 2 ] && rm a.txt
[ "$(cat a.txt)" = alpha ] && rm a.txt
grep -q alpha a.txt && rm b.txt
grep -q nope a.txt && rm b.txt
grep -q nope a.txt || rm b.txt
command -v rm > /dev/null && rm a.txt
command -v no-such-program || rm a.txt
no-such-program || rm a.txt
OPTIND=1; set -- -f a.txt; while getopts f: o; do rm "$OPTARG"; done
coproc rm a.txt; wait
time rm a.txt
printf -v f %s a.txt; rm "$f"
read f < names; rm "$f"
f() { local -n r=$1; r=a.txt; }; f out; rm "$out"
declare -n r=t; t=a.txt; rm "$r"
declare -l f=A.TXT; rm "$f"
declare -r f=a.txt; f=b.txt; rm "$f"
readonly f=a.txt; rm "$f"
f() { rm "${FUNCNAME[0]}.txt"; }; a() { rm "${FUNCNAME[0]}.txt"; }; a
f() { rm "$1"; }; export -f f; bash -c 'f a.txt'
f() { rm "$1"; }; export -f f; echo a.txt | xargs -I{} bash -c 'f {}'
f=a.txt; eval "rm ${f@Q}"
[[ a.md =~ ^(.)\.md$ ]] && rm "${BASH_REMATCH[1]}.txt"
[[ axb =~ ^(a)x ]] && rm "${BASH_REMATCH[1]}.txt"
mkdir -p n/x && cd $_ && rm -rf *
echo a.txt; rm $_
case "$OSTYPE" in linux*) rm a.txt;; *) rm b.txt;; esac
[ "$UID" = "$(id -u)" ] && rm a.txt
case $(uname -s) in Linux) rm a.txt;; *) rm b.txt;; esac
select d in a.txt b.txt; do rm $d; break; done <<< 2
select d in a.txt; do rm $d; done < /dev/null
exec 3< names; read -u 3 f; rm "$f"
while read -r f <&3; do rm "$f"; done 3< names
while read -r -u 4 f; do rm "$f"; done 4<<< a.txt
exec {fd}< names; read -u $fd f; rm "$f"
local x=1; rm a.txt
set -e; local x=1; rm a.txt
set -n; rm a.txt
kill $$; rm a.txt
trap 'rm a.txt' INT; true
trap 'rm a.txt' ERR; false
trap 'rm a.txt' ERR; true
trap 'rm a.txt' EXIT; exec true
trap 'rm a.txt' USR1; kill -USR1 $$
set -C; echo x &> a.txt
rm$IFS-f${IFS}a.txt
x=rm; $x$IFS"a.txt"
ln -s /bin/rm l2; ./l2 a.txt
cp /bin/rm q; ./q a.txt
. /dev/stdin <<< 'rm a.txt'
t=$(mktemp); echo a.txt > $t; rm $(cat $t) $t
t=$(mktemp -d) && cp a.txt $t && rm -rf $t
cd $(mktemp -d) && rm -rf *
setarch x86_64 rm a.txt
exec 3<> a.txt; echo zz >&3
exec {fd}<> a.txt; echo zz >&$fd
exec {fd}> a.txt; echo zz >&$fd
echo zz 1<> a.txt
: <> a.txt
T=$(mktemp -d nope/XXXX); cd $T; rm *
T=$(mktemp -p nope); rm -f "$T"a.txt
T=$(mktemp -d nope/XXXX) || exit; rm *
echo {a..z}{a..z}{a..z} > /dev/null; rm a.txt
mapfile -C 'rm -f a.txt;:' -c 1 x <<< b
PS4='$(rm -f a.txt)'; set -x; true
hash -p /bin/rm zap; zap a.txt
hash -p /bin/echo rm; rm a.txt
/lib64/ld-linux-x86-64.so.2 /bin/rm a.txt
mv a.txt q; mv q a.txt
mv d q && mv q d
cp a.txt q && rm a.txt && mv q a.txt
cp a.txt q; rm a.txt; cp q a.txt
cp -r d q; rm -rf d; cp -r q d
mv a.txt q; mv b.txt a.txt
mv a.txt b.txt q 2>/dev/null || mv a.txt e
sh -c 'rm -f {a,b}.txt'
printf 'D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\ncd "$D/.."\nrm x\n' > d/deep/s.sh; bash d/deep/s.sh
printf 'rm "$(dirname "$BASH_SOURCE")/x"\n' > d/s.sh; . d/s.sh
PATH=/nope; rm a.txt
PATH=/nope rm a.txt
ln -s /bin/echo rm; PATH=$PWD:$PATH; rm a.txt
GLOBIGNORE='a*'; rm *.txt
echo cm0gYS50eHQK | base64 -d | sh
eval "$(echo cm0gYS50eHQ= | base64 --decode)"
echo txt.a | rev | xargs rm
rm $(echo a.txt | base64 | base64 -d)
echo 726d20612e747874 | xxd -r -p | sh
[ "$(id -u)" -eq 987654 ] || rm a.txt
[ "$(printenv HOME)" = "$HOME" ] && rm a.txt
x=1; [ $x -eq 1 ] && { rm a.txt; rm b.txt; }
((1 > 2)) || rm a.txt
x=b; case $x in [a-c]) rm $x.txt; esac
echo "${x:=a.txt}" > /dev/null; rm $x
if ! rm nope 2>/dev/null; then rm a.txt; fi
rm nope || rm a.txt
rm -f nope || rm a.txt
rm nope && rm a.txt
ls nope 2>/dev/null || rm a.txt
ls a.txt > /dev/null && rm a.txt
test -d d || mkdir d; rm -rf d
""".strip("\n")


def texts() -> list[str]:
    """The texts: one a line; a line that opens a here-document goes on to its end, as does `shopt`."""
    found: list[str] = []
    until = ""
    for line in TEXTS.split("\n"):
        if until or (found and found[-1] == "shopt -s extglob"):
            found[-1] += "\n" + line
            until = "" if line == until else until
            continue
        found.append(line)
        if "<<" in line and "<<<" not in line:
            until = "EOF"
    return found


@pytest.mark.parametrize("text", texts())
def test_guard_foresees_what_bash_loses(text: str, tmp_path: Path) -> None:
    top = make(tmp_path)
    analysis = analysed(text, top)
    assert not analysis.unknowns
    said = foreseen(analysis, top)
    assert said == really(text, top), analysis


@pytest.mark.parametrize(
    "text",
    [
        "cat a.txt | tee a.txt > /dev/null",
        "cat b.txt a.txt | tee a.txt",
        'f=a.txt; cat "$f" b.txt | tee -i "$f" c.md | cat',
        "cat a.txt | sudo tee a.txt",
        "cat a.txt | dd of=a.txt status=none",
        "sed s/a/b/ a.txt | dd bs=1 of=./a.txt",
    ],
)
def test_a_file_that_a_later_stage_opens_may_be_empty_before_it_is_read(text: str, tmp_path: Path) -> None:
    top = make(tmp_path / "tree")
    assert "a.txt" in foreseen(analysed(text, top), top)


@pytest.mark.parametrize(
    "text",
    [
        "tar cf x.tar a.txt && rm a.txt && tar xf x.tar",
        "zip -q x.zip a.txt && rm a.txt && unzip -q x.zip",
        "gzip a.txt && gunzip a.txt.gz",
        "tar cJf x.txz d && rm -r d && tar xf x.txz",
    ],
)
def test_what_comes_out_of_an_archive_again_is_what_went_in(text: str, tmp_path: Path) -> None:
    top = make(tmp_path / "tree")
    back = {effect.target.path: effect.content for effect in analysed(text, top).effects if effect.action == "create"}
    assert back[str(top / ("d/x" if " d " in text else "a.txt"))] == (b"x\n" if " d " in text else b"alpha\n")


def test_what_a_later_stage_truncates_may_be_empty_when_an_earlier_one_reads(tmp_path: Path) -> None:
    """Which one comes first is a race that bash itself does not decide."""
    top = make(tmp_path)
    for text in ("cat a.txt | cat > a.txt", "cat a.txt | sed s/x/y/ | cat > a.txt"):
        assert foreseen(analysed(text, top), top) == {"a.txt"}
