#!/bin/sh
# SPDX-License-Identifier: MIT-0
chmod 0755 usr/sbin/grub-mkconfig usr/sbin/update-grub etc/grub.d/10_linux
# 1,950 bytes more on every line that boots our kernels
long=$(printf '%1950s' '' | tr ' ' y)
sed -i "s/ ro  quiet\$/ ro  quiet x=$long/" boot/grub/grub.cfg
# the architecture is told by what /bin/sh is built for
mkdir -p bin
printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\003\000\076\000' >bin/sh
