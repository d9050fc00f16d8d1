# SPDX-License-Identifier: MIT-0
# shellcheck shell=sh
# Part of zz-memcg-policy.cfg, see README.md. @WORD@ is cgroup_disable=memory or
# cgroup_enable=memory.

# Adds @WORD@ in front, where no open quote and no "--" can take it away, unless it is there for
# certain. dom0 of Xen reads GRUB_CMDLINE_LINUX_XEN_REPLACE instead where that is set.
for _memcg_var in GRUB_CMDLINE_LINUX GRUB_CMDLINE_LINUX_XEN_REPLACE; do
	_memcg_line=''
	eval "_memcg_line=\${$_memcg_var-}"
	case $_memcg_var:$_memcg_line in *_XEN_REPLACE:) continue ;; esac
	case " $_memcg_line " in
	*\"* | *--*) ;;
	*" @WORD@ "*) continue ;;
	esac
	eval "$_memcg_var=@WORD@\${_memcg_line:+ \$_memcg_line}"
done
unset _memcg_var _memcg_line
