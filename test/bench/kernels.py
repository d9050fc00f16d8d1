# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debian's cloud kernels of any suite, by apt with lists of its own; nothing is installed.

They have all drivers of a virtual machine built in, so they boot an initramfs without modules.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "vm"))
import vm  # noqa: E402

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# the one this system uses; the other suites are on it too
TARGETS = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)",
                          "Created-By: Packages", "Component: main"], capture_output=True,
                         text=True, check=False).stdout.split()
MIRROR = next((uri.rstrip("/") for uri in TARGETS if "security" not in uri), "")
# suites whose newest kernel is taken, by the name it gets here
SOURCES = {
    "bookworm": [(MIRROR, "bookworm"), (f"{MIRROR}-security", "bookworm-security")],
    "trixie": [(MIRROR, "trixie"), (f"{MIRROR}-security", "trixie-security")],
    "sid": [(MIRROR, "sid")],
}
META = "linux-image-cloud-amd64"


def apt_options(suite):
    top = vm.cache_dir() / f"apt-{suite}"
    for d in ("lists/partial", "cache/archives/partial", "etc"):
        (top / d).mkdir(parents=True, exist_ok=True)
    (top / "status").write_text("")
    (top / "sources.list").write_text(
        "".join(f"deb [arch=amd64 signed-by={KEYRING}] {url} {name} main\n"
                for url, name in SOURCES[suite]))
    settings = {
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "root",
        # a mirror's snapshot may be past its date; it is signed all the same
        "Acquire::Check-Valid-Until": "false",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "Dir::Cache": top / "cache",
        "Dir::Etc::Parts": "/dev/null",
        "Dir::Etc::SourceList": top / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": top / "lists",
        "Dir::State::Status": top / "status",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def image_package(suite, options):
    """The package that has the image: what the meta package depends on, at times over one more."""
    wanted = META
    for _ in range(4):
        shown = subprocess.run(["apt-cache", *options, "depends", wanted], check=True,
                               capture_output=True, text=True).stdout
        found = re.findall(r"Depends: (linux-(?:image|binary)-\d\S*)", shown)
        if not found:
            return wanted
        wanted = found[0]
    raise vm.Failed(f"{suite}: the packages of {META} lead nowhere")


def unpack(package, target):
    """Writes the only vmlinuz of a package."""
    members = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    image = subprocess.run(["tar", "-xO", "--wildcards", "*/vmlinuz*"], stdin=members.stdout,
                           capture_output=True, check=True).stdout
    if members.wait() != 0 or not image:
        raise vm.Failed(f"{package} has no image")
    target.write_bytes(image)


def fetch(suite, update=True):
    """(path of the image, "6.1.0-57-cloud-amd64 (6.1.192-3)") of the suite's newest cloud kernel."""
    vm.need("apt-get", "dpkg-deb", "tar")
    options = apt_options(suite)
    with vm.lock(f"apt-{suite}"):
        known = list((vm.cache_dir() / f"apt-{suite}/lists").glob("*Packages*"))
        if update or not known:
            done = subprocess.run(["apt-get", *options, "-q", "update"], capture_output=True,
                                  text=True)
            # offline, what was fetched before will do
            if done.returncode != 0 and not known:
                raise vm.Skipped(f"cannot reach {MIRROR}: {done.stderr.strip()[-200:]}")
        package = image_package(suite, options)
        shown = subprocess.run(["apt-cache", *options, "show", "--no-all-versions", package],
                               check=True, capture_output=True, text=True).stdout
        version = re.search(r"^Version: (\S+)", shown, re.M)[1]
        release = re.sub(r"^linux-(image|binary)-", "", package)
        target = vm.cache_dir() / f"vmlinuz-{release}-{version.replace(':', '_')}"
        if not target.exists():
            top = vm.cache_dir() / f"apt-{suite}"
            subprocess.run(["apt-get", *options, "-q", "download", package], cwd=top, check=True,
                           stdout=subprocess.DEVNULL)
            files = list(top.glob(f"{package}_*.deb"))
            unpack(files[0], target.with_suffix(".part"))
            target.with_suffix(".part").rename(target)
            for f in files:
                f.unlink()
    return target, f"{release} ({version})"


if __name__ == "__main__":
    for name in sys.argv[1:] or SOURCES:
        print(name, *fetch(name))
