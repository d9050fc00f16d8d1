#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real boots.

  run.py [SUITE...]         bookworm, trixie, sid: package built there, every step of boots.py
  run.py cuts [DISK...]     power cuts, see cuts.py
  run.py --short [SUITE]    off and on again, the package built on this system
  --deb=FILE                this package, none is built
"""

import os
import pathlib
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "test/packaging"))

import deb  # noqa: E402
import boots  # noqa: E402
import cuts  # noqa: E402
import disk  # noqa: E402
import vm  # noqa: E402


def packages(suite, work, short, ready):
    if ready:
        return [pathlib.Path(p) for p in ready]
    built = deb.Packages(suite, work)
    if short:
        disk.run([TREE / "packaging/deb/build.sh", built.out], env=dict(os.environ, DEB_BUILD_OPTIONS="nocheck"))
    else:
        built.build_in_root()
    return [built.deb()]


def main(arguments):
    if os.geteuid() != 0:
        print("SKIP real boots: not root")
        return 77
    if arguments[:1] == ["cuts"]:
        return cuts.main(arguments[1:])
    short = "--short" in arguments
    ready = [a.removeprefix("--deb=") for a in arguments if a.startswith("--deb=")]
    suites = [a for a in arguments if not a.startswith("--")] or (["bookworm"] if short else disk.SUITES)
    report = vm.Report()
    for suite in suites:
        with tempfile.TemporaryDirectory(prefix="boots-", dir=vm.cache_dir()) as work:
            work = pathlib.Path(work)
            made = []
            built = report.run(
                suite,
                [
                    ("build the package", lambda: made.extend(packages(suite, work, short, ready))),
                    ("disk", lambda: disk.Disk(suite)),
                ],
            )
            if built:
                host = boots.Host(suite, work, made)
                with host.machine:
                    report.run(suite, boots.SHORT if short else boots.FULL, host)
    return report.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
