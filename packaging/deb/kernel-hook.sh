#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# /etc/kernel/postinst.d/zzz-memcg-policy, after zz-update-grub: has the kernel-install plugin
# look at the new kernel, since Debian runs those only where systemd-boot is installed.

# stdin and stdout belong to debconf
exec < /dev/null >&2

# the package may be removed and this file, a conffile, still here
plugin=/usr/lib/kernel/install.d/95-memcg-policy.install
[ -x "$plugin" ] || exit 0

# like zz-update-grub: when a kernel is configured, or by a caller that does not tell
release=${1:-}
set -f
# shellcheck disable=SC2086 # split into words
set -- ${DEB_MAINT_PARAMS:-}
case ${1:-} in
'' | configure | "'configure'") "$plugin" add "$release" ;;
esac
exit 0
