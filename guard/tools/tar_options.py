"""tar's options."""

from __future__ import annotations

from guard.tools.options import Table

VALUED = "bCfFgHIKLNTVX"
_FLAGS = """
    catenate concatenate create diff compare delete append list test-label update extract get incremental keep-old-files
    skip-old-files keep-newer-files overwrite overwrite-dir no-overwrite-dir unlink-first recursive-unlink remove-files
    verify to-stdout force-local multi-volume null no-null exclude-vcs exclude-caches exclude-vcs-ignores exclude-backups
    exclude-caches-all exclude-caches-under anchored no-anchored ignore-case no-ignore-case wildcards no-wildcards
    wildcards-match-slash no-wildcards-match-slash absolute-names dereference hard-dereference auto-compress
    no-auto-compress bzip2 xz lzip lzma lzop gzip gunzip ungzip compress uncompress zstd interactive confirmation verbose utc
    full-time keep-directory-symlink touch same-owner no-same-owner numeric-owner posix old-archive portability
    preserve-permissions same-permissions no-same-permissions preserve-order same-order delay-directory-restore
    no-delay-directory-restore sparse xattrs no-xattrs acls no-acls selinux no-selinux ignore-zeros read-full-records block-number
    one-file-system recursion no-recursion seek no-seek show-defaults show-omitted-dirs show-transformed-names show-stored-names
    show-snapshot-field-ranges check-links clamp-mtime unquote no-unquote verbatim-files-from no-verbatim-files-from
    ignore-command-error no-ignore-command-error ignore-failed-read restrict help usage version no-check-device check-device
"""
_VALUES = """
    listed-incremental to-command file info-script new-volume-script rsh-command rmt-command directory files-from exclude
    exclude-from exclude-tag exclude-tag-all exclude-tag-under exclude-ignore exclude-ignore-recursive strip-components
    transform xform use-compress-program checkpoint-action index-file suffix owner group mode mtime sort format
    xattrs-include xattrs-exclude newer newer-mtime after-date blocking-factor record-size label level warning starting-file
    tape-length volno-file pax-option quoting-style add-file sparse-version hole-detection owner-map group-map no-quote-chars
    quote-chars set-mtime-command
"""
_OPTIONAL = "one-top-level checkpoint totals backup occurrence atime-preserve"
_SAME = """
    catenate=A concatenate=A create=c diff=d compare=d append=r list=t update=u extract=x get=x incremental=G
    listed-incremental=g keep-old-files=k unlink-first=U verify=W to-stdout=O file=f info-script=F new-volume-script=F directory=C
    files-from=T exclude-from=X absolute-names=P xform=transform use-compress-program=I interactive=w confirmation=w
    gunzip=gzip ungzip=gzip
"""

TABLE = Table(
    flags="AacdrtuxGkUWOmpsSMBiRwjJZzhPlovn?",
    values=VALUED,
    long={
        **dict.fromkeys(_FLAGS.split(), ""),
        **dict.fromkeys(_VALUES.split(), "="),
        **dict.fromkeys(_OPTIONAL.split(), "?"),
    },
    same=dict(pair.split("=") for pair in _SAME.split()),
)
