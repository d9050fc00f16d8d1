#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The generated completions load in their own shells and offer what the table says.
set -eu
dir=$MEMCG_POLICY_BUILD/completion
if [ ! -f "$dir/memcg-policy.bash" ]; then
	echo "SKIP completion: not built here"
	exit 77
fi
fail() {
	echo "completion: $*" >&2
	exit 1
}

if command -v bash >/dev/null; then
	# shellcheck disable=SC2016 # expanded by bash
	offered() {
		bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
			_memcg_policy; echo "${COMPREPLY[*]}"' bash "$dir/memcg-policy.bash" "$@"
	}
	[ "$(offered memcg-policy hist)" = history ] || fail "bash: verbs: $(offered memcg-policy hist)"
	[ "$(offered memcg-policy set con)" = container-host ] || fail "bash: operands"
	[ "$(offered memcg-policy apply --ho)" = --hook ] || fail "bash: options of a verb"
	[ "$(offered memcg-policy status --ho)" = "" ] || fail "bash: options of another verb"
	[ "$(offered memcg-policy --color = ne)" = never ] || fail "bash: choices"
else
	echo "SKIP completion bash: not installed"
fi
if command -v zsh >/dev/null; then
	zsh -n "$dir/_memcg-policy" || fail "zsh: syntax"
	zsh -fc 'autoload -U compinit && compinit -u -D; source "$1" 2>/dev/null; (( $+functions[_memcg_policy] ))' \
		zsh "$dir/_memcg-policy" || fail "zsh: does not load"
else
	echo "SKIP completion zsh: not installed"
fi
if command -v fish >/dev/null; then
	fish --no-execute "$dir/memcg-policy.fish" || fail "fish: syntax"
	got=$(fish --no-config -c "source $dir/memcg-policy.fish; complete -C 'memcg-policy hist'" | cut -f1)
	[ "$got" = history ] || fail "fish: verbs: $got"
	got=$(fish --no-config -c "source $dir/memcg-policy.fish; complete -C 'memcg-policy apply --ho'" | cut -f1)
	[ "$got" = --hook ] || fail "fish: options: $got"
else
	echo "SKIP completion fish: not installed"
fi
