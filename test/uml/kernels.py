#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels that honour cgroup_enable=: user-mode Linux from Debian's linux-source, with
cgroup-enable.h in it. They cannot be had as packages.

kernels.py        builds what is missing (15 minutes of one processor the first time), prints the paths
kernels.py clean  forgets them, sources and objects too

Kept in the cache: linux-VARIANT with its linux-VARIANT.config beside it.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "vm"))
import vm  # noqa: E402

SOURCE = pathlib.Path("/usr/src/linux-source-6.1.tar.xz")
HANDLER = HERE / "cgroup-enable.h"
SYMBOL = '\nconfig MEMCG_DISABLED\n\tbool "off by default"\n'


class Variant(typing.NamedTuple):
    """rule and default: as facts-print takes them."""
    release: str  # how the kernel's own name ends
    enable_wins: bool
    off_by_default: bool
    symbol: bool  # has Debian's CONFIG_MEMCG_DISABLED

    @property
    def rule(self):
        return "enable-wins" if self.enable_wins else "last-wins"

    @property
    def default(self):
        return "off" if self.off_by_default else "on"


VARIANTS = {
    # Raspberry Pi since December 2024; it is the device tree that says off there
    "last-wins": Variant("-last", False, False, False),
    # Raspberry Pi from the end of 2017 on, by the name its kernels have
    "enable-wins": Variant("-v8+", True, True, False),
    # Debian 7 and 8
    "debian-8": Variant("-debian", False, True, True),
}
# beyond the architecture's default configuration: what truth.py mounts, nothing that takes long
OPTIONS = """
    -e MEMCG -e CGROUP_PIDS -e CPUSETS -e PSI -e USER_NS -e KALLSYMS -e IKCONFIG -e IKCONFIG_PROC
    -d MODULES -d INET -d UML_NET -d UML_SOUND -d SOUND -d EXT4_FS -d REISERFS_FS -d ISO9660_FS
    -d AUTOFS_FS -d QUOTA -d DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT -e DEBUG_INFO_NONE
""".split()


def directory():
    return vm.cache_dir() / "kernels"


def path(variant):
    return directory() / f"linux-{variant}"


def run(argv, **more):
    done = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          check=False, **more)
    if done.returncode:
        raise vm.Failed(f"{argv[0]}: exit status {done.returncode}\n{done.stdout[-4000:]}")


def unpack():
    """The sources with our two lines in them."""
    tree = directory() / "source"
    if tree.exists():
        return tree
    if not SOURCE.exists():
        raise vm.Skipped(f"no {SOURCE} (Debian package {SOURCE.name.partition('.tar')[0]})")
    new = tree.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    run(["tar", "-C", new, "--strip-components=1", "-xf", SOURCE])
    cgroup = new / "kernel/cgroup/cgroup.c"
    text = cgroup.read_text()
    for place, instead in (
            (r"int __init cgroup_init\(void\)\n", '#include "cgroup-enable.h"\n\n\\g<0>'),
            (r"BUILD_BUG_ON\(CGROUP_SUBSYS_COUNT > 16\);\n\tBUG_ON",
             "cgroup_enable_apply();\n\tBUG_ON")):
        text, n = re.subn(place, instead, text)
        if n != 1:
            raise vm.Failed(f"{cgroup} has {n} times: {place}")
    cgroup.write_text(text)
    shutil.copy(new / "init/Kconfig", new / "init/Kconfig.orig")
    new.rename(tree)
    return tree


def make(tree, objects, *targets):
    run(["nice", "-n", "15", "make", "-j2", "ARCH=um", f"O={objects}",
         *(["CC=ccache gcc"] if shutil.which("ccache") else []), *targets], cwd=tree)


def build(name, variant):
    # one tree of objects: variants differ in one file
    tree, objects = unpack(), directory() / "objects"
    objects.mkdir(exist_ok=True)
    (tree / "kernel/cgroup/cgroup-enable.h").write_text(
        f"#define ENABLE_WINS {int(variant.enable_wins)}\n"
        f"#define OFF_BY_DEFAULT {int(variant.off_by_default)}\n" + HANDLER.read_text())
    # a kernel that was not patched so does not mention the symbol
    (tree / "init/Kconfig").write_text((tree / "init/Kconfig.orig").read_text()
                                       + SYMBOL * variant.symbol)
    if not (objects / ".config").exists():
        make(tree, objects, "defconfig")
    run([tree / "scripts/config", "--file", objects / ".config", *OPTIONS,
         "--set-str", "LOCALVERSION", variant.release,
         "-e" if variant.symbol else "-d", "MEMCG_DISABLED"])
    make(tree, objects, "olddefconfig")
    make(tree, objects, "linux")
    shutil.copy(objects / ".config", f"{path(name)}.config")
    run(["strip", "-o", path(name).with_suffix(".new"), objects / "linux"])
    path(name).with_suffix(".new").rename(path(name))


def is_built(name):
    built = path(name)
    return built.exists() and built.stat().st_mtime > max(
        HANDLER.stat().st_mtime, pathlib.Path(__file__).stat().st_mtime)


def main(argv):
    if argv == ["clean"]:
        shutil.rmtree(directory(), ignore_errors=True)
        return 0
    if argv:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    vm.need("make", "gcc", "flex", "bison", "bc", "xz")
    directory().mkdir(exist_ok=True)
    with vm.lock("kernels"):
        for name, variant in VARIANTS.items():
            if not is_built(name):
                print(f"building {name}", flush=True)
                build(name, variant)
            print(path(name), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except vm.Skipped as reason:
        print(f"SKIP kernels: {reason}")
        sys.exit(77)
    except vm.Failed as error:
        print(f"FAILED kernels: {error}")
        sys.exit(1)
