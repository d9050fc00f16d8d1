#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the bash, zsh or fish completion from the tables that the program itself uses.

generate.py SHELL memcg-policy >FILE
"""
import json
import subprocess
import sys

shell, program = sys.argv[1:]
table = json.loads(subprocess.run([program, "--dump-table"], check=True, capture_output=True).stdout)
verbs, options = table["verbs"], table["options"]
for verb in verbs:
    verb["options"] = [o for o in options if verb["name"] in o["verbs"]]


def takes_value(option):
    return option["metavar"] is not None and not option["metavar"].startswith("[")


def kind(option):
    """What a value is: choices, a directory, a file, or anything."""
    if option["choices"]:
        return "choices"
    return {"DIR": "dir", "FILE": "file"}.get(option["metavar"] or "", "any")


def flags(verb_options):
    words = []
    for option in verb_options:
        words.append(f"--{option['name']}" + ("=" if takes_value(option) else ""))
        if option["letter"]:
            words.append(f"-{option['letter']}")
    return words


def bash():
    print("# SPDX-License-Identifier: LGPL-2.1-or-later")
    print("# bash completion for memcg-policy; generated from its option table")
    print("_memcg_policy() {")
    print("\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= i")
    print("\tif [[ $cur == = ]]; then cur=; prev=${COMP_WORDS[COMP_CWORD-1]}; fi")
    print("\tif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi")
    print("\tfor ((i = 1; i < COMP_CWORD; i++)); do")
    print("\t\tcase ${COMP_WORDS[i]} in")
    print("\t\t" + " | ".join(v["name"] for v in verbs) + ") verb=${COMP_WORDS[i]}; break ;;")
    print("\t\tesac\n\tdone")
    print("\tcase $prev in")
    for option in options:
        if option["choices"]:
            answer = f"compgen -W '{' '.join(option['choices'])}' -- \"$cur\""
        elif kind(option) == "dir":
            answer = 'compgen -d -- "$cur"'
        elif kind(option) == "file":
            answer = 'compgen -f -- "$cur"'
        else:
            continue
        print(f"\t--{option['name']}) mapfile -t COMPREPLY < <({answer}); return ;;")
    print("\tesac")
    print("\tcase $verb in")
    for verb in verbs:
        words = flags(verb["options"]) + (verb["words"] or "").split()
        print(f"\t{verb['name']}) mapfile -t COMPREPLY < <(compgen -W '{' '.join(words)}' -- \"$cur\") ;;")
    everywhere = flags(o for o in options if len(o["verbs"]) == len(verbs))
    words = [v["name"] for v in verbs] + everywhere
    print(f"\t*) mapfile -t COMPREPLY < <(compgen -W '{' '.join(words)}' -- \"$cur\") ;;")
    print("\tesac")
    files = "|".join(v["name"] for v in verbs if "FILE" in v["operands"])
    print(f"\tcase $verb in {files}) mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY"
          " < <(compgen -f -- \"$cur\") ;; esac")
    print("\tif [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace; fi")
    print("}\ncomplete -F _memcg_policy memcg-policy")


def zsh_spec(option):
    name, text = option["name"], option["help"].replace("'", "").replace("[", "").replace("]", "")
    text = text.replace(":", "\\:")
    action = {"choices": "(" + " ".join(option["choices"]) + ")", "dir": "_files -/",
              "file": "_files", "any": " "}[kind(option)]
    if option["metavar"] is None:
        spec = f"--{name}[{text}]"
    elif takes_value(option):
        spec = f"--{name}=[{text}]:{option['metavar'].lower()}:{action}"
    else:
        spec = f"--{name}=-[{text}]::value:{action}"
    lines = [f"'{spec}'"]
    if option["letter"]:
        tail = f":{option['metavar'].lower()}:{action}" if takes_value(option) else ""
        lines.append(f"'-{option['letter']}[{text}]{tail}'")
    return lines


def zsh():
    print("#compdef memcg-policy")
    print("# SPDX-License-Identifier: LGPL-2.1-or-later")
    print("# generated from the program's option table")
    print("_memcg_policy() {\n\tlocal context state line verb word")
    print("\tlocal -a verbs args")
    print("\tverbs=(")
    for verb in verbs:
        help_text = verb["help"].replace("'", "").replace(":", "\\:")
        print(f"\t\t'{verb['name']}:{help_text}'")
    print("\t)")
    print("\tfor word in ${words[2,CURRENT-1]}; do")
    print("\t\tif (( ${verbs[(I)$word:*]} )); then verb=$word; break; fi\n\tdone")
    print("\tcase $verb in")
    for verb in verbs + [{"name": "*", "words": None, "operands": "",
                          "options": [o for o in options if len(o["verbs"]) == len(verbs)]}]:
        print(f"\t{verb['name']})\n\t\targs=(")
        for option in verb["options"]:
            for line in zsh_spec(option):
                print(f"\t\t\t{line}")
        print("\t\t)")
        if verb["words"]:
            print(f"\t\targs+=('*:operand:({verb['words']})')")
        elif "FILE" in verb["operands"]:
            print("\t\targs+=('*:file:_files')")
        print("\t\t;;")
    print("\tesac")
    print("\tif [[ -z $verb ]]; then args+=('1:command:->verb'); else args=('1:command: ' $args); fi")
    print("\t_arguments -s $args")
    print("\t[[ $state == verb ]] && _describe command verbs")
    print("}\n_memcg_policy \"$@\"")


def fish():
    print("# SPDX-License-Identifier: LGPL-2.1-or-later")
    print("# fish completion for memcg-policy; generated from its option table")
    names = " ".join(v["name"] for v in verbs)
    print("complete -c memcg-policy -f")
    for verb in verbs:
        text = verb["help"].replace("'", "\\'")
        print(f"complete -c memcg-policy -n 'not __fish_seen_subcommand_from {names}'"
              f" -a {verb['name']} -d '{text}'")
        for word in (verb["words"] or "").split():
            print(f"complete -c memcg-policy -n '__fish_seen_subcommand_from {verb['name']}' -a {word}")
        if "FILE" in verb["operands"]:
            print(f"complete -c memcg-policy -n '__fish_seen_subcommand_from {verb['name']}' -F")
    for option in options:
        line = f"complete -c memcg-policy -l {option['name']}"
        if option["letter"]:
            line += f" -s {option['letter']}"
        if len(option["verbs"]) < len(verbs):
            line += f" -n '__fish_seen_subcommand_from {' '.join(option['verbs'])}'"
        if takes_value(option):
            line += " -r"
        if option["choices"]:
            line += f" -a '{' '.join(option['choices'])}'"
        elif kind(option) in ("dir", "file"):
            line += " -F"
        print(line + " -d '" + option["help"].replace("'", "\\'") + "'")


{"bash": bash, "zsh": zsh, "fish": fish}[shell]()
