# SPDX-License-Identifier: MIT-0
# shellcheck shell=sh
# Part of zz-memcg-policy.cfg, see README.md. @PATTERN@ is cgroup[-_]disable or cgroup[-_]enable.

# Takes "memory" out of every list of @PATTERN@=, reading the line as the kernel does: words end
# at white space outside double quotes, and what is behind "--" is for init. Runs no program,
# cannot fail under "set -e", leaves no variable behind, touches no other byte.
for _memcg_var in GRUB_CMDLINE_LINUX GRUB_CMDLINE_LINUX_DEFAULT \
	GRUB_CMDLINE_LINUX_XEN_REPLACE GRUB_CMDLINE_LINUX_XEN_REPLACE_DEFAULT; do
	eval "_memcg_rest=\${$_memcg_var-}"
	case $_memcg_rest in
	*@PATTERN@=*memory*) ;;
	*) continue ;;
	esac
	_memcg_line='' _memcg_kept='' _memcg_said=''
	while [ -n "$_memcg_rest" ]; do
		_memcg_gap=${_memcg_rest%%[![:space:]]*}
		_memcg_rest=${_memcg_rest#"$_memcg_gap"}
		# one word: pieces between white space until its quotes are closed
		_memcg_word='' _memcg_open=''
		while [ -n "$_memcg_rest" ]; do
			_memcg_part=${_memcg_rest%%[[:space:]]*}
			_memcg_rest=${_memcg_rest#"$_memcg_part"}
			_memcg_word=$_memcg_word$_memcg_part
			while case $_memcg_part in *\"*) ;; *) false ;; esac; do
				_memcg_part=${_memcg_part#*\"}
				case $_memcg_open in '') _memcg_open=1 ;; *) _memcg_open='' ;; esac
			done
			case $_memcg_open in '') break ;; esac
			_memcg_part=${_memcg_rest%%[![:space:]]*}
			_memcg_rest=${_memcg_rest#"$_memcg_part"}
			_memcg_word=$_memcg_word$_memcg_part
		done
		_memcg_new=$_memcg_word
		case $_memcg_word in
		--)
			_memcg_new=$_memcg_word$_memcg_rest _memcg_rest=''
			;;
		@PATTERN@=* | \"@PATTERN@=*)
			_memcg_list=${_memcg_word#*=} _memcg_end=''
			_memcg_new=${_memcg_word%"$_memcg_list"}
			case $_memcg_list in
			\"*) _memcg_list=${_memcg_list#\"} _memcg_new=$_memcg_new\" ;;
			esac
			case $_memcg_list in
			*\") _memcg_list=${_memcg_list%\"} _memcg_end=\" ;;
			esac
			_memcg_part=,$_memcg_list,
			while case $_memcg_part in *,memory,*) ;; *) false ;; esac; do
				_memcg_part=${_memcg_part%%,memory,*},${_memcg_part#*,memory,}
			done
			_memcg_part=${_memcg_part#,}
			_memcg_part=${_memcg_part%,}
			case $_memcg_part in
			"$_memcg_list") _memcg_new=$_memcg_word ;;
			*[!,]*) _memcg_new=$_memcg_new$_memcg_part$_memcg_end ;;
			*) _memcg_new='' ;;
			esac
			;;
		esac
		# say it; closed standard error is no reason to stop
		case $_memcg_word in
		"$_memcg_new") ;;
		--*) ;;
		*)
			_memcg_said=1
			printf 'memcg-policy: %s: %s -> %s\n' "$_memcg_var" "$_memcg_word" \
				"${_memcg_new:-(taken out)}" >&2 || :
			;;
		esac
		# a word that goes takes one of the blanks around it along
		if [ -n "$_memcg_new" ] || [ -z "$_memcg_word" ]; then
			_memcg_line=$_memcg_line$_memcg_gap$_memcg_new
			_memcg_kept=1
		elif [ -n "$_memcg_kept" ]; then
			_memcg_line=$_memcg_line${_memcg_gap%?}
		else
			_memcg_line=$_memcg_line$_memcg_gap
			case $_memcg_rest in
			*[![:space:]]*) _memcg_rest=${_memcg_rest#?} ;;
			esac
		fi
	done
	case $_memcg_said in 1) eval "$_memcg_var=\$_memcg_line" ;; esac
done
unset _memcg_var _memcg_rest _memcg_line _memcg_kept _memcg_said _memcg_gap _memcg_word \
	_memcg_open _memcg_part _memcg_new _memcg_list _memcg_end
