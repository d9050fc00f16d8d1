#!/bin/sh
# SPDX-License-Identifier: MIT-0
# One machine, booted in different ways.
off=cgroup_disable=memory
line='root=UUID=0a1b2c3d ro quiet'
for name in typed kexec other-entry bootconfig pi; do
	mkdir -p $name/proc/sys/kernel $name/sys/fs/cgroup $name/sys/kernel $name/boot/grub \
		$name/usr/sbin $name/etc/memcg-policy/policy.conf.d
	printf '[Policy]\nMemcg=on\n' >$name/etc/memcg-policy/policy.conf.d/50-set.conf
	echo 6.1.0-44-amd64 >$name/proc/sys/kernel/osrelease
	printf '# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_X86=y\nCONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n' \
		>$name/boot/config-6.1.0-44-amd64
	: >$name/boot/vmlinuz-6.1.0-44-amd64
	echo 'cpuset cpu io pids' >$name/sys/fs/cgroup/cgroup.controllers
	echo "BOOT_IMAGE=/boot/vmlinuz-6.1.0-44-amd64 $line $off" >$name/proc/cmdline
done
for name in typed kexec other-entry bootconfig; do
	echo '# reads /etc/default/grub.d' >$name/usr/sbin/grub-mkconfig
	cat >$name/boot/grub/grub.cfg <<-END
		set default="0"
		### BEGIN /etc/grub.d/10_linux ###
		menuentry 'Debian' --id 'debian' {
			linux /boot/vmlinuz-6.1.0-44-amd64 $line
		}
		### END /etc/grub.d/10_linux ###
		### BEGIN /etc/grub.d/40_custom ###
		menuentry 'Debian for a test' --id 'test' {
			linux /boot/vmlinuz-6.1.0-44-amd64 $line
		}
		### END /etc/grub.d/40_custom ###
	END
done
# started by another kernel; and the next "reboot" may be, too
echo 208 >kexec/proc/sys/kernel/bootloader_type
echo 1 >kexec/sys/kernel/kexec_loaded
# an entry that is not ours has it
sed -i "/40_custom/,\$ s/quiet/quiet $off/" other-entry/boot/grub/grub.cfg
# the initrd brought it
echo 'kernel.cgroup_disable = "memory"' >bootconfig/proc/bootconfig
echo "cgroup_disable=\"memory\" BOOT_IMAGE=/boot/vmlinuz-6.1.0-44-amd64 $line" >bootconfig/proc/cmdline
# a Raspberry Pi whose cmdline.txt says on behind the device tree's word: it was not booted since
rm -r pi/boot/grub pi/usr
mkdir -p pi/boot/firmware pi/proc/device-tree/chosen
: >pi/boot/firmware/start4.elf
echo '[all]' >pi/boot/firmware/config.txt
printf 'Raspberry Pi 4 Model B Rev 1.4\0' >pi/proc/device-tree/model
echo 'console=tty1 root=PARTUUID=1 rootwait cgroup_enable=memory' >pi/boot/firmware/cmdline.txt
echo "$off smsc95xx.macaddr=0 console=tty1 root=PARTUUID=1 rootwait" >pi/proc/cmdline
printf '%s smsc95xx.macaddr=0 console=tty1 root=PARTUUID=1 rootwait\0' $off >pi/proc/device-tree/chosen/bootargs
# this kernel honours cgroup_enable=: the kernel's own symbols say so
printf '0000000000000000 t cgroup_disable\n0000000000000000 t cgroup_enable\n' >pi/proc/kallsyms

# words that are about something else, and words that were meant to decide
cp -R typed words
echo 'cpuset cpu io memory pids' >words/sys/fs/cgroup/cgroup.controllers
echo "BOOT_IMAGE=/boot/vmlinuz-6.1.0-44-amd64 $line swapaccount=1 cgroup_memory=1 cgroup_disable=Memory -- $off" \
	>words/proc/cmdline
