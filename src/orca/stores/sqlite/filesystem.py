"""Which file system a folder is on: write-ahead logging needs shared memory, which network mounts do not give."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNT_TABLE = Path("/proc/self/mounts")
_OCTAL = re.compile(r"\\([0-7]{3})")

NETWORK_TYPES = frozenset(
    """9p afs beegfs ceph cifs davfs fuse.gcsfuse fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs fuse.sshfs#
    gfs gfs2 glusterfs lustre ncpfs nfs nfs4 ocfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs fuse.vmhgfs-fuse
    drvfs fuse.osxfs fuse.grpcfuse""".split()
)
"""Types, as mount tables spell them, on which several machines or a host and its guest share files."""


def filesystem_type(folder: Path, mount_table: Path = _MOUNT_TABLE) -> str | None:
    """Return the type of the file system that holds ``folder``, or None where there is no mount table."""
    try:
        lines = mount_table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None  # not Linux: the system has no such table to ask
    target = folder.resolve()
    best: tuple[int, str] | None = None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[1]))
        depth = len(point.parts)
        if (target == point or point in target.parents) and (best is None or depth >= best[0]):
            best = (depth, fields[2])
    return best[1] if best else None
