#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# page.sh SCDOC: a page from stdin to stdout. Its first line has man(1) run tbl(1), which draws the
# tables that scdoc writes; scdoc does not say so.
printf '%s\n' "'\\\" t"
exec "$@"
