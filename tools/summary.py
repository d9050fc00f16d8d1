#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adds up Meson's test logs: the closing line of "./dev check".

A test that could run only in part prints "SKIP name: reason" lines; each counts as skipped and is
repeated here, so that no skip is silent.
"""
import json
import sys

passed = failed = skipped = 0
for path in sys.argv[1:]:
    for line in open(path, encoding="utf-8", errors="replace"):
        test = json.loads(line)
        result, name = test["result"], test["name"]
        skips = [text for text in (test.get("stdout") or "").splitlines()
                 if text.startswith("SKIP ")]
        for text in skips:
            print(text)
        if result in ("OK", "EXPECTEDFAIL"):
            passed += 1
            skipped += len(skips)
        elif result == "SKIP":
            skipped += max(1, len(skips))
            if not skips:
                print(f"SKIP {name}: exit status 77")
        else:
            failed += 1
            print(f"FAIL {name}: {result}")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed or not passed else 0)
