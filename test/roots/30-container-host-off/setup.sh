#!/bin/sh
# SPDX-License-Identifier: MIT-0
chmod 0755 usr/sbin/grub-mkconfig usr/sbin/update-grub etc/grub.d/10_linux
