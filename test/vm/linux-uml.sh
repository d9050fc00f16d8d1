#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Starts user-mode Linux (linux.uml, or UML_KERNEL) with these words as its command line. TMPDIR is a
# folder of its own, which outlives it.
set -eu

# 6.1 and others do not start their first program on processors with AMX: see uml-xstate.c
if grep -qm 1 -w amx_tile /proc/cpuinfo; then
	cc -D_GNU_SOURCE -O2 -Wall -Werror -shared -fPIC -o "$TMPDIR/uml-xstate.so" "${0%/*}/uml-xstate.c"
	export LD_PRELOAD="$TMPDIR/uml-xstate.so"
fi
exec "${UML_KERNEL:-linux.uml}" "$@"
