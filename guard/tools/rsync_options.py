"""The options of rsync. https://download.samba.org/pub/rsync/rsync.1"""

from __future__ import annotations

from guard.tools.options import Table

VALUES = (
    "info debug stderr backup-dir suffix chmod block-size rsh rsync-path max-delete max-size min-size max-alloc partial-dir "
    "usermap groupmap chown timeout contimeout modify-window temp-dir compare-dest copy-dest link-dest compress-choice zc "
    "compress-level zl skip-compress filter exclude exclude-from include include-from files-from copy-as address port "
    "sockopts remote-option out-format log-file log-file-format password-file early-input bwlimit stop-after stop-at "
    "time-limit write-batch only-write-batch read-batch protocol iconv checksum-seed checksum-choice cc log-format config "
    "dparam outbuf compress-threads"
).split()
FLAGS = (
    "verbose quiet no-motd checksum archive recursive relative no-implied-dirs backup update inplace append append-verify "
    "dirs old-dirs mkpath links copy-links copy-unsafe-links safe-links munge-links copy-dirlinks keep-dirlinks hard-links "
    "perms executability acls xattrs owner group devices copy-devices write-devices specials times atimes open-noatime "
    "crtimes omit-dir-times omit-link-times super fake-super sparse preallocate dry-run whole-file one-file-system existing "
    "ignore-non-existing ignore-existing remove-source-files remove-sent-files del delete delete-before delete-during "
    "delete-delay delete-after delete-excluded ignore-missing-args delete-missing-args ignore-errors force partial "
    "delay-updates prune-empty-dirs numeric-ids ignore-times size-only fuzzy compress old-compress new-compress cvs-exclude "
    "from0 old-args secluded-args protect-args trust-sender blocking-io stats 8-bit-output human-readable progress "
    "itemize-changes list-only fsync ipv4 ipv6 version help daemon no-recursive no-r no-dirs no-d no-links no-l no-backup "
    "no-b no-relative no-R no-times no-t no-perms no-p no-owner no-o no-group no-g no-devices no-D no-specials "
    "no-delay-updates no-whole-file no-W no-inc-recursive no-i-r inc-recursive i-r no-compress no-z no-progress no-partial "
    "no-checksum no-c no-inplace no-prune-empty-dirs no-m no-one-file-system no-x no-verbose no-v no-super no-acls no-A "
    "no-xattrs no-X no-hard-links no-H no-sparse no-S no-omit-dir-times no-O no-blocking-io no-human-readable no-h no-iconv "
    "no-implied-dirs no-ignore-times no-I no-itemize-changes no-i no-8-bit-output no-8 no-s no-update no-u no-a"
).split()
RSYNC = Table(
    flags="vqcarRbudlLkKHpEAXogDtUNOJSnWxmIyzChPi8Fs046V",
    values="BeTfM@",
    long={**dict.fromkeys(FLAGS, ""), **dict.fromkeys(VALUES, "=")},
    same={
        "archive": "a", "recursive": "r", "relative": "R", "backup": "b", "update": "u", "dirs": "d", "old-dirs": "d",
        "links": "l",
        "copy-links": "L", "keep-dirlinks": "K", "dry-run": "n", "existing": "ignore-non-existing", "del": "delete",
        "delete-before": "delete", "delete-during": "delete", "delete-delay": "delete", "delete-after": "delete",
        "remove-sent-files": "remove-source-files", "filter": "f", "cvs-exclude": "C", "from0": "0",
        "append-verify": "append",
        "no-r": "no-recursive", "no-l": "no-links", "no-R": "no-relative", "no-b": "no-backup", "no-d": "no-dirs",
        "version": "V",
        "ignore-times": "I", "checksum": "c", "rsh": "e",
    },
)  # fmt: skip
