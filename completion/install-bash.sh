#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bash looks for a file named as the command, which in the build directory is the command itself.
set -eu
install -D -m 0644 "$1" "${DESTDIR:-}$2"
