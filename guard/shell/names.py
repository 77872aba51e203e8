"""The names of the commands that the shell runs itself, or that run another one.

They stand apart from the code, which is only loaded for a command that has one of them.
"""

from __future__ import annotations

BUILTINS = frozenset(
    """: true false test [ echo printf cd chdir pushd popd pwd dirs declare typeset local export readonly unset set shopt shift
    let read mapfile readarray getopts eval source . exec exit logout return break continue command builtin type hash trap
    alias unalias wait kill jobs bg fg disown umask ulimit times bind complete compgen compopt history fc enable help caller
    suspend setopt unsetopt autoload noglob""".split()
)

# Builtins that exist as programs too, so that `xargs echo` and `env printf` mean them.
PROGRAMS = frozenset(("true", "false", "test", "[", "echo", "printf", "pwd", "kill"))

SHELLS = frozenset("sh bash dash zsh ksh mksh ash fish rbash lksh yash".split())

WRAPPERS = frozenset(
    """nohup setsid chronic unbuffer eatmydata fakeroot nice ionice stdbuf timeout gtimeout taskset chrt numactl prlimit
    setpriv doas pkexec gosu su-exec setuidgid tini dumb-init catchsegv strace ltrace valgrind xvfb-run dbus-run-session
    firejail systemd-run systemd-inhibit caffeinate rlwrap unshare nsenter cgexec faketime proxychains proxychains4 torify
    torsocks ssh-agent arch poetry pipenv uv uvx pipx dtach abduco zellij hatch pdm rye pixi conda mamba
    bundle mise asdf rbenv pyenv dotenv doppler op direnv aws-vault devbox heroku coverage rtk noglob nocorrect perf setarch
    linux32 linux64 choom ld.so retry daemonize
    start-stop-daemon env genv sudo su runuser script flock watch time gtime busybox toybox chroot at batch tmux screen
    hyperfine concurrently nix-shell nix xargs gxargs parallel entr gdb""".split()
)
