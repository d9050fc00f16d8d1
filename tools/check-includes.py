#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fails on an include against the direction of docs/ARCHITECTURE.md.

    base <- facts <- policy <- boot, units, needs, bench <- ui <- cmd <- memcg-policy.c

and on a library header that more than one .c includes.
"""
import collections
import pathlib
import re
import sys

ABOVE = {
    "base": set(),
    "facts": {"base"},
    "policy": {"base", "facts"},
    "units": {"base", "facts", "policy"},
    "boot": {"base", "facts", "policy"},
    "bench": {"base", "facts", "policy"},
    "generator": {"base", "facts", "policy", "units"},
    # UnitSetting= asks the unit loader; docs/ARCHITECTURE.md says why
    "needs": {"base", "facts", "policy", "units"},
    "ui": {"base", "facts", "policy", "boot", "units", "needs", "bench"},
    "cmd": {"base", "facts", "policy", "boot", "units", "needs", "bench", "ui"},
}
LIBRARIES = {
    "json-c": r"json-c/|^json\.h$|^json_",
    "libsmartcols": r"libsmartcols",
    "libmount": r"libmount",
    "libsystemd": r"systemd/",
    "libkmod": r"libkmod",
    "libcgroup": r"libcgroup",
    "libarchive": r"^archive",
    "libcryptsetup": r"libcryptsetup",
}

source = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "src"
errors = []
users = collections.defaultdict(set)
for path in sorted(source.rglob("*.[ch]")):
    name = path.relative_to(source)
    layer = name.parts[0] if len(name.parts) > 1 else None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
        if not match:
            continue
        included = match[2]
        if match[1] == '"':
            target = included.split("/")[0]
            if "/" in included and layer and target != layer and target not in ABOVE[layer]:
                errors.append(f"src/{name}:{number}: {layer} must not include {included}")
            continue
        for library, pattern in LIBRARIES.items():
            if re.search(pattern, included):
                users[library].add(str(name))
for library, names in users.items():
    if len(names) > 1:
        errors.append(f"{library} is included by more than one file: {', '.join(sorted(names))}")
print("\n".join(errors) or f"{source}: every include follows the direction")
sys.exit(1 if errors else 0)
