#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# docs/NEEDS.md says what needs.d says.
set -eu
python3 "$MEMCG_POLICY_SOURCE/tools/needs-md.py" --check
