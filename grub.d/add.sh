# SPDX-License-Identifier: MIT-0
# shellcheck shell=sh
# Part of zz-memcg-policy.cfg, see README.md. @WORD@ is cgroup_disable=memory or
# cgroup_enable=memory.

# Adds @WORD@, in front of a "--", unless it is there. dom0 of Xen reads
# GRUB_CMDLINE_LINUX_XEN_REPLACE instead where that is set.
for _memcg_var in GRUB_CMDLINE_LINUX GRUB_CMDLINE_LINUX_XEN_REPLACE; do
	eval "_memcg_line=\${$_memcg_var-}"
	case $_memcg_var:$_memcg_line in *_XEN_REPLACE:) continue ;; esac
	_memcg_rest=
	case " $_memcg_line " in
	*" -- "*)
		_memcg_rest=" $_memcg_line"
		_memcg_line=" $_memcg_line "
		_memcg_line=${_memcg_line%% -- *}
		_memcg_rest=${_memcg_rest#"$_memcg_line"}
		_memcg_line=${_memcg_line# }
		;;
	esac
	case " $_memcg_line " in
	*" @WORD@ "*) ;;
	*) eval "$_memcg_var=\${_memcg_line:+\$_memcg_line }@WORD@\$_memcg_rest" ;;
	esac
done
unset _memcg_var _memcg_line _memcg_rest
