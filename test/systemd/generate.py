# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random trees of units in which every rule of the loader occurs; truth.py has systemd load them."""

import collections
import os
import random

# settings by the first systemd that has them, and the one that no longer reads them
SIZES = {
    "MemoryMax": (231, 0), "MemoryHigh": (231, 0), "MemorySwapMax": (232, 0),
    "MemoryMin": (240, 0), "MemoryLow": (231, 0), "MemoryLimit": (205, 258),
    "DefaultMemoryMin": (243, 260), "DefaultMemoryLow": (243, 260),
    "MemoryZSwapMax": (253, 0), "StartupMemoryMax": (254, 0), "StartupMemoryHigh": (254, 0),
    "StartupMemorySwapMax": (254, 0), "StartupMemoryZSwapMax": (254, 0),
    "StartupMemoryLow": (254, 0),
}
LINE_MAX = 1024 * 1024
SPANS = ("5s", "90", "1.5min", "2min 5s", "1h", "1000ms", "1 hour 2 sec", "3 weeks 4d", "1.5y")
BAD_SPANS = ("500ms", "0", "infinity", "-5s", "5 parsecs", "3.s", "5s x")


class Cases:
    """What is generated: files and links of one tree, and the units to ask about."""

    def __init__(self, rng, version):
        self.rng = rng
        self.version = version
        self.files = {}     # path below the tree -> bytes
        self.links = {}     # path -> target
        self.dirs = set()
        self.wanted = []
        self.turns = {}
        self.rules = collections.Counter()
        self.unit_rules = set()
        self.rules_of = {}  # unit -> the rules that it is about
        self.cases = 0
        # what a version no longer reads must have no effect
        self.sizes = [s for s, (since, _) in SIZES.items() if since <= version]
        self.switches = ["MemoryAccounting"] + (["MemoryZSwapWriteback"] if version >= 256 else [])

    def rule(self, name):
        self.rules[name] += 1
        self.unit_rules.add(name)

    def pick(self, *choices):
        return self.rng.choice(choices)

    def turn(self, *choices):
        """Each choice equally often."""
        self.turns[choices] = self.turns.get(choices, self.rng.randrange(len(choices))) + 1
        return choices[self.turns[choices] % len(choices)]

    # --- values ---

    def value(self):
        """(text, rule) of a size; most are odd on purpose."""
        rng = self.rng
        number = rng.choice([1, 5, 10, 12, 64, 100, 512, 1023, 4096])
        unit = rng.choice("KMGTB")
        kind, text = rng.choice([
            ("plain", f"{number}{unit}"), ("plain", f"{number}{unit}"), ("plain", f"{number}{unit}"),
            ("bytes", str(number * 4096)),
            ("blank before suffix", f"{number} {unit}"),
            ("fraction", f"{number}.{rng.choice(['5', '25', '125', '3', '99'])}{rng.choice('KMG')}"),
            ("empty fraction", f"{number}.M"),
            ("no digit before dot", f".{number}G"),
            ("sum", f"{number}G {number}M"), ("sum", f"{number}G{number}M{number}K"),
            ("sum", f"{number}K{number}B"), ("sum", f"{number}B{number}"),
            ("sum not descending", f"{number}M{number}G"), ("sum not descending", f"{number} {number}"),
            ("plus", f"+{number}M"), ("leading zero", f"0{number}M"),
            ("negative", f"-{number}M"), ("negative", f"-{number * 4096}"),
            ("bad suffix", f"{number}{rng.choice(['MB', 'MiB', 'k', 'm', 'g', 'Kb', 'X'])}"),
            ("exponent or hex", rng.choice(["1e3", "0x10", "0x10M"])),
            ("quoted", f'"{number}M"'), ("quoted", f"'{number}M'"),
            ("comment behind", f"{number}M # comment"), ("comment behind", f"{number}M ; c"),
            ("word", rng.choice(["max", "Infinity", "none", "unlimited", "%H", "%h"])),
            ("infinity", "infinity"), ("infinity", "infinity"),
            ("empty", ""), ("empty", ""),
            ("zero", rng.choice(["0", "0%", "0M", "0.0K"])),
            ("percent", f"{rng.choice([1, 12, 50, 100])}%"),
            ("percent decimals", rng.choice(["12.5%", "12.55%", "0.01%", "99.99%"])),
            ("permille", rng.choice(["500\u2030", "12.5\u2030", "1000\u2030"])),
            ("permyriad", rng.choice(["5000\u2031", "10000\u2031"])),
            ("bad share", rng.choice(["101%", "50 %", "12.555%", "100.01%", "12.\u2030", "1.5\u2031", ".5%"])),
            ("share in other bases", rng.choice(["0x32%", "010%", "0b11%", "0o17%", "+5%"])),
            ("too large", rng.choice(["16E", "18446744073709551615", "99999999999999999999"])),
            ("largest", rng.choice(["18446744073709551614", "15E", "15.5E"])),
            ("odd blanks", f"\v{number}M"), ("odd blanks", f"{number}\tM"),
        ])
        return text, kind

    def boolean(self):
        kind, text = self.rng.choice([
            ("boolean", self.pick("yes", "YES", "true", "True", "on", "1", "y", "t")),
            ("boolean", self.pick("no", "NO", "false", "off", "0", "n", "f")),
            ("bad boolean", self.pick("", "maybe", "2", "yes please")),
        ])
        return text, kind

    def line(self, types="service"):
        """One assignment of a memory setting as (key, value); counts its rules."""
        rng = self.rng
        r = rng.random()
        if self.version >= 257 and rng.random() < 0.05:
            key = "ManagedOOMMemoryPressureDurationSec"
            value, kind = self.turn(*[(span, "oom span") for span in SPANS], ("", "oom span reset"), ("", "oom span reset"),
                                    *[(span, "bad oom span") for span in BAD_SPANS])
        elif self.version >= 261 and rng.random() < 0.04:
            key = "OOMRules"
            value, kind = self.turn(*[("a", "oom rules"), ("b 'c d'", "oom rules"), ("", "oom rules reset"),
                                      ("a/b", "bad oom rules"), ("..", "bad oom rules"), ('""', "bad oom rules"),
                                      ("a* b\\ c", "oom rules, bad ones among them"), ('b "c', "oom rules open quote"),
                                      ("a\\", "bad oom rules")])
        elif r < 0.72:
            key = rng.choice(self.sizes)
            value, kind = self.value()
        elif r < 0.79:
            key = rng.choice(self.switches)
            value, kind = self.boolean()
        elif r < 0.85:
            key = "Delegate"
            value, kind = self.turn(*[
                ("memory pids", "delegate list"), ("cpu", "delegate list"),
                ('"memory" cpu', "delegate list"), ("memory\\ cpu", "delegate list"),
                (self.turn("yes", "YES", "true", "on", "1", "y", "t"), "delegate boolean"),
                (self.turn("no", "No", "false", "off", "0", "n", "f"), "delegate boolean"),
                ("", "delegate reset"),
                ("nonsense", "delegate list"), ('"memory', "delegate open quote"),
            ])
        elif r < 0.90:
            key = "DisableControllers"
            value, kind = self.turn(*[
                ("memory", "disable list"), ("cpu memory", "disable list"), ("cpu", "disable list"),
                ("", "disable reset"), ("nonsense", "disable nonsense"), ('"memory"', "disable quoted"),
            ])
        elif r < 0.93:
            key = rng.choice(["ManagedOOMSwap", "ManagedOOMMemoryPressure"])
            value, kind = self.turn(*[("kill", "oom mode"), ("auto", "oom mode"), ("", "oom mode reset"),
                                      ("Kill", "bad oom mode")])
        elif r < 0.95:
            key = "ManagedOOMMemoryPressureLimit"
            value, kind = self.turn(*[("50%", "oom share"), ("12.5%", "oom share"), ("", "oom share reset"),
                                      ("5", "bad oom share"), ("0%", "oom share")])
        elif r < 0.97:
            key = "ManagedOOMPreference"
            value, kind = self.turn(*[("avoid", "oom preference"), ("omit", "oom preference"),
                                      ("none", "oom preference"), ("", "bad oom preference"),
                                      ("Omit", "bad oom preference")])
        else:
            key = "OOMPolicy"
            value, kind = self.turn(*[("stop", "oom policy"), ("kill", "oom policy"),
                                      ("continue", "oom policy"), ("", "bad oom policy"), ("halt", "bad oom policy")])
        self.rule("value: " + kind)
        return key, value

    def earlier(self, key):
        if key in SIZES:
            return "7M"
        return {"Delegate": "memory", "DisableControllers": "memory", "OOMPolicy": "kill",
                "ManagedOOMMemoryPressureLimit": "33%", "OOMRules": "r", "ManagedOOMMemoryPressureDurationSec": "5s", "ManagedOOMPreference": "avoid",
                "ManagedOOMSwap": "kill", "ManagedOOMMemoryPressure": "kill",
                }.get(key) or self.turn("yes", "no")

    def condition(self):
        """Lines of [Unit]; they are added to each other, whatever the type."""
        rng = self.rng
        value, kind = self.turn(*[
            ("memory", "condition"), ("cpu memory", "condition"), ("|memory", "condition trigger"),
            ("| memory", "condition trigger"), ("!memory", "condition negated"), ("! memory", "condition negated"),
            ("|!memory", "condition negated"), ("cpu", "condition"), ("v2", "condition"), ("", "condition reset"),
        ])
        self.rule("value: " + kind)
        key = self.turn("ConditionControlGroupController", "AssertControlGroupController")
        lines = [self.assignment(key, "memory")] if rng.random() < 0.5 else []
        return b"".join([*lines, self.assignment(key, value)])

    # --- syntax ---

    def assignment(self, key, value):
        rng = self.rng
        left = rng.choice(["", "", "", " ", "\t", "  "])
        middle = rng.choice(["=", "=", "=", " = ", "\t=", "= "])
        right = rng.choice(["", "", "", " ", "\t "])
        if left or middle != "=" or right:
            self.rule("syntax: blanks around key and value")
        if value and len(value) > 2 and rng.random() < 0.06:
            at = rng.randrange(1, len(value))
            self.rule("syntax: continued value")
            return f"{left}{key}{middle}{value[:at]}\\\n{rng.choice(['', ' ', '# no comment?', ''])}{value[at:]}{right}\n".encode()
        return f"{left}{key}{middle}{value}{right}\n".encode()

    def oddity(self, section):
        """Bytes between assignments; (bytes, stops)."""
        rng = self.rng
        kind = rng.choice([
            "comment", "comment", "blank line", "continued comment", "comment in continuation",
            "pending continuation", "blank line in continuation", "backslash and blank", "double backslash", "no equals", "no key",
            "unknown key", "X key", "unknown section", "X section", "other section", "same section again",
            "CR line", "CRLF", "NUL line", "LF NUL", "NUL LF", "BOM", "wrong case key", "wrong case section",
            "empty section", "not UTF-8 comment", "setting in [Unit]", "key before equals twice",
            "lookalike key",
        ])
        self.rule("syntax: " + kind)
        back = f"[{section}]\n".encode()
        key, value = rng.choice(self.sizes), f"{rng.randrange(1, 99)}M"
        pair = f"{key}={value}".encode()
        other = f"{key}=101M".encode()
        return {
            "comment": b"# " + pair + b"\n", "blank line": b" \t \n",
            "continued comment": b"; " + pair + b"\\\n",
            "comment in continuation": b"X-a=b\\\n# " + pair + b"\n  ; c\\\n" + pair + b"\n",
            "pending continuation": b"X-a=b\\\n" + pair + b"\n" + pair + b"\n",
            "backslash and blank": b"X-a=b\\ \n" + pair + b"\n",
            "double backslash": b"X-a=b\\\\\n" + pair + b"\n",
            "no equals": b"MemoryMax\n", "no key": b"=" + value.encode() + b"\n",
            "unknown key": b"Memory=5M\n", "X key": b"X-" + pair + b"\n",
            "unknown section": b"[Foo]\n" + pair + b"\n" + back,
            "X section": b"[X-Foo]\n" + pair + b"\n" + back,
            "other section": (b"[Slice]\n" if section != "Slice" else b"[Service]\n") + pair + b"\n" + back,
            "same section again": b"  " + back, "CR line": pair + b"\rX-a=b\r",
            # one line end each, or the continuation would end in an empty line
            "CRLF": pair + b"\r\nX-a=b\\\r\n" + other + b"\n\r", "NUL line": pair + b"\0X-a=b\0",
            "LF NUL": pair + b"\n\0" + b"X-a=b\\\r\n\0" + other + b"\n",
            "NUL LF": b"X-a=b\\\0\n" + pair + b"\n",
            "blank line in continuation": b"X-a=b\\\n \t\n" + pair + b"\n",
            "BOM": b"\xef\xbb\xbf" + pair + b"\n", "wrong case key": f"{key.lower()}={value}\n".encode(),
            "wrong case section": back.lower() + pair + b"\n" + back,
            "empty section": b"[]\n" + pair + b"\n" + back,
            "not UTF-8 comment": b"#\xff\xfe\n", "setting in [Unit]": b"[Unit]\n" + pair + b"\n" + back,
            # unknown controllers are passed over, so what is before them counts
            "key before equals twice": b"DisableControllers=memory x=y\n",
            "lookalike key": b"MemoryDenyWriteExecute=no\nMemoryMaxx=5M\nAllowedMemoryNodes=0\n"
            if section == "Service" else b"AllowedMemoryNodes=0\nMemoryMaxx=5M\n",
        }[kind]

    def stop(self):
        """Bytes at which systemd stops reading."""
        rng = self.rng
        kind = rng.choice(["bad header", "header with text behind", "quote in header", "not UTF-8",
                           "noncharacter", "not UTF-8 in continuation"])
        self.rule("stop: " + kind)
        return {
            "bad header": b"[bad\n", "header with text behind": b"[Service] x\n",
            "quote in header": b"[Ser'vice]\n", "not UTF-8": b"X-a=\xff\n",
            "noncharacter": b"X-a=\xef\xb7\x90\n", "not UTF-8 in continuation": b"X-a=b\\\n\xc3\n",
        }[kind]

    def make_long_line(self, n):
        """Lines at the limit: the last that fits, and the first that does not."""
        kind = self.turn("comment", "line", "continuation")
        over = self.turn(0, 1)
        self.rule(f"limit: {kind} {'of one byte too much' if over else 'that fits'}")
        long = {
            "comment": b"#" + b"x" * (LINE_MAX - 2 + over),
            "line": b"X-a=" + b"x" * (LINE_MAX - 5 + over),
            "continuation": b"X-a=b\\\n" + b"x" * (LINE_MAX - 6 + over),
        }[kind] + b"\n"
        text = b"[Service]\nMemoryMax=5M\n" + long + b"MemoryLow=5M\n"
        name = f"long{n}.service"
        if self.turn("unit", "drop-in") == "unit":
            self.put(f"a/{name}", b"[Service]\nExecStart=/bin/true\n" + text)
        else:
            self.put(f"a/{name}", b"[Service]\nExecStart=/bin/true\n")
            self.put(f"b/{name}.d/x.conf", text)
        self.want(name)

    def text(self, section, head=b"", lines=None, stop=0.03):
        rng = self.rng
        out = [head, f"[{section}]\n".encode()]
        for _ in range(rng.randrange(1, 4) if lines is None else lines):
            if rng.random() < 0.45:
                out.append(self.oddity(section))
            if rng.random() < 0.12:
                out += [b"[Unit]\n", self.condition(), f"[{section}]\n".encode()]
            key, value = self.line()
            if rng.random() < 0.5:
                # a value for it to replace, to reset, or to leave in force
                out.append(self.assignment(key, self.earlier(key)))
            out.append(self.assignment(key, value))
        if rng.random() < stop:
            out.append(self.stop())
            key, value = self.line()
            out.append(self.assignment(key, value))
        text = b"".join(out)
        if rng.random() < 0.03:
            self.rule("syntax: continuation pending at the end")
            text = text.rstrip(b"\n") + b"\\"
        elif rng.random() < 0.05:
            self.rule("syntax: no newline at the end")
            text = text.rstrip(b"\n")
        if rng.random() < 0.03 and not text.startswith(b"\xef"):
            self.rule("syntax: BOM at the start")
            text = b"\xef\xbb\xbf" + text
        return text

    # --- units ---

    DIRS = ("a", "b", "c")

    def put(self, path, data):
        self.files[path] = data

    def service(self, name, where=None, lines=None, **kw):
        where = where or self.pick(*self.DIRS)
        head = b"[Service]\nExecStart=/bin/true\n"
        self.put(f"{where}/{name}", self.text("Service", head=head, lines=lines, **kw))
        self.want(name)

    def want(self, name):
        self.wanted.append(name)
        self.cases += 1

    def dropin(self, where, stem, file, section="Service"):
        path = f"{where}/{stem}.d/{file}"
        kind = self.rng.random()
        if kind < 0.06:
            self.rule("drop-in: empty file")
            self.put(path, b"")
        elif kind < 0.12:
            self.rule("drop-in: link to /dev/null")
            self.links[path] = "/dev/null"
        elif kind < 0.15:
            self.rule("drop-in: dangling link")
            self.links[path] = "nowhere.conf"
        elif kind < 0.18:
            self.rule("drop-in: link to a file")
            self.put(f"elsewhere/{stem}-{file}-{where}", self.text(section))
            self.links[path] = f"@TOP@/elsewhere/{stem}-{file}-{where}"
        elif kind < 0.20:
            self.rule("drop-in: a directory")
            self.dirs.add(path)
        else:
            self.put(path, self.text(section, lines=1, stop=0.06))

    FILES = ("10-x.conf", "50-x.conf", "50-MemoryMax.conf", "90-z.conf", "Z.conf", "a.conf")

    def odd_files(self, where, stem):
        kind = self.rng.choice(["hidden", "backup", "no .conf"])
        self.rule("drop-in: " + kind)
        name = {"hidden": ".50-x.conf", "backup": "50-x.conf~", "no .conf": "50-x.txt"}[kind]
        self.put(f"{where}/{stem}.d/{name}", b"[Service]\nMemoryMax=77M\nMemoryLow=77M\n")

    def dropins(self, stems, section="Service"):
        """stems: (stem, rule)."""
        for stem, rule in stems:
            if self.rng.random() < 0.55:
                for _ in range(self.rng.randrange(1, 3)):
                    self.rule("drop-in: " + rule)
                    self.dropin(self.pick(*self.DIRS), stem, self.pick(*self.FILES), section)
                if self.rng.random() < 0.15:
                    self.odd_files(self.pick(*self.DIRS), stem)

    def unit(self, n):
        rng = self.rng
        kind = rng.choices(
            ["plain", "plain dropins", "prefix", "instance", "alias", "masked", "linked", "slice", "shadow",
             "wants instance", "odd link", "other type", "subdir link", "in slice", "long line"],
            [26, 13, 8, 8, 9, 5, 4, 8, 3, 3, 10, 5, 3, 8, 7])[0]
        self.unit_rules = set()
        first = len(self.wanted)
        getattr(self, "make_" + kind.replace(" ", "_"))(n)
        for name in self.wanted[first:]:
            self.rules_of[name] = self.unit_rules

    def make_plain(self, n):
        self.service(f"p{n}.service")

    def make_plain_dropins(self, n):
        name = f"d{n}.service"
        self.service(name)
        self.dropins([(name, "own name")])

    def make_prefix(self, n):
        a, b = f"x{n}", self.pick("y", "y-z", "y--z", "y-")
        name = f"{a}-{b}.service"
        self.service(name)
        stems = [(name, "own name"), (f"{a}-.service", "prefix")]
        if b == "y-z":
            stems.append((f"{a}-y-.service", "longer prefix"))
        if b == "y--z":
            stems += [(f"{a}-y-.service", "doubled dash"), (f"{a}-y--.service", "doubled dash")]
        if b == "y-":
            stems += [(f"{a}-y.service", "dash at the end (no drop-in)")]
        self.dropins(stems)

    def make_instance(self, n):
        prefix = self.pick(f"t{n}", f"t{n}-u", f"t{n}-u-v")
        name = f"{prefix}@i.service"
        self.rule("unit: instance of a template")
        self.put(f"{self.pick(*self.DIRS)}/{prefix}@.service", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        if self.rng.random() < 0.3:
            self.rule("unit: instance with a file of its own")
            self.put(f"{self.pick(*self.DIRS)}/{name}", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        self.want(name)
        stems = [(name, "instance"), (f"{prefix}@.service", "template")]
        if "-" in prefix:
            stems += [(f"t{n}-.service", "cut template"), (f"t{n}-@i.service", "cut instance"),
                      (f"t{n}-@.service", "cut template instance")]
        self.dropins(stems)

    def make_wants_instance(self, n):
        # loaded by the link's own name, whatever it points to
        name = f"w{n}@j.service"
        self.rule("unit: instance named by a .wants link")
        self.put(f"{self.pick(*self.DIRS)}/w{n}@.service", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        self.links[f"{self.pick(*self.DIRS)}/all.target.wants/{name}"] = self.pick(f"../w{n}@.service", f"/nowhere/w{n}@.service", "other.service")
        self.cases += 1
        self.wanted.append(name)

    def make_alias(self, n):
        rng = self.rng
        kind = self.turn("plain", "chain", "template", "instance to template", "absolute", "long chain")
        self.rule("alias: " + kind)
        real, alias = f"r{n}.service", f"al{n}-k.service"
        where = self.pick(*self.DIRS)
        if kind in ("template", "instance to template"):
            self.put(f"{self.pick(*self.DIRS)}/r{n}@.service", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
            if kind == "template":
                self.links[f"{where}/al{n}@.service"] = f"r{n}@.service"
            else:
                self.links[f"{where}/al{n}@i.service"] = f"r{n}@.service"
            self.want(self.pick(f"r{n}@i.service", f"al{n}@i.service") if kind == "template" else f"al{n}@i.service")
            self.dropins([(f"r{n}@i.service", "instance"), (f"al{n}@i.service", "alias"), (f"r{n}@.service", "template")])
            return
        self.put(f"{self.pick(*self.DIRS)}/{real}", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        if kind == "absolute":
            self.links[f"{where}/{alias}"] = f"@TOP@/{self.pick(*self.DIRS)}/{real}"
        elif kind == "chain":
            self.links[f"{where}/{alias}"] = f"mid{n}.service"
            self.links[f"{self.pick(*self.DIRS)}/mid{n}.service"] = real
        elif kind == "long chain":
            hops = self.turn(5, 6, 7, 8)
            names = [alias] + [f"hop{n}-{i}.service" for i in range(hops)] + [real]
            for a, b in zip(names, names[1:]):
                self.links[f"{self.pick(*self.DIRS)}/{a}"] = b
        else:
            self.links[f"{where}/{alias}"] = real
        self.want(self.pick(real, alias) if kind != "long chain" else alias)
        # only one alias has drop-ins: systemd's order among several is not defined
        self.dropins([(real, "own name"), (alias, "alias"), (f"al{n}-.service", "alias prefix")])

    def make_masked(self, n):
        name = f"m{n}.service"
        kind = self.turn("link to /dev/null", "empty file", "alias of a mask", "link to an empty file")
        self.rule("mask: " + kind)
        self.put(f"c/{name}", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        if kind == "link to /dev/null":
            self.links[f"a/{name}"] = "/dev/null"
        elif kind == "empty file":
            self.put(f"b/{name}", b"")
        elif kind == "alias of a mask":
            self.links[f"a/{name}"] = f"mm{n}.service"
            self.links[f"b/mm{n}.service"] = "/dev/null"
        else:
            self.put(f"elsewhere/empty{n}", b"")
            self.links[f"a/{name}"] = f"@TOP@/elsewhere/empty{n}"
        self.want(name)
        self.dropins([(name, "of a masked unit")])

    def make_linked(self, n):
        name = f"l{n}.service"
        kind = self.turn("linked", "linked under another name", "dangling")
        self.rule("link: " + kind)
        if kind == "dangling":
            self.links[f"{self.pick('a', 'b')}/{name}"] = "@TOP@/elsewhere/missing.service"
        else:
            target = name if kind == "linked" else f"other{n}.txt"
            self.put(f"elsewhere/{target}", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
            self.links[f"{self.pick('a', 'b')}/{name}"] = self.pick(f"@TOP@/elsewhere/{target}", f"../elsewhere/{target}")
        self.want(name)
        self.dropins([(name, "own name")])

    def make_odd_link(self, n):
        """Links that are no alias: what stands behind them in the search path counts."""
        name = f"o{n}.service"
        kind = self.turn("to itself", "other type", "no unit name", "template", "broken alias", "loop", "subdirectory")
        self.rule("odd link: " + kind)
        self.put(f"c/{name}", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        self.links[f"a/{name}"] = {
            "to itself": f"@TOP@/c/{name}", "other type": f"o{n}.socket", "no unit name": "foo",
            "template": f"o{n}@.service", "broken alias": f"missing{n}.service", "loop": f"loop{n}.service",
            "subdirectory": f"sub/o{n}-real.service",
        }[kind]
        if kind == "loop":
            self.links[f"b/loop{n}.service"] = name
        if kind == "subdirectory":
            self.put(f"b/o{n}-real.service", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        self.want(name)

    def make_shadow(self, n):
        self.rule("unit: in several directories")
        name = f"s{n}.service"
        for where in self.rng.sample(self.DIRS, 2):
            self.put(f"{where}/{name}", self.text("Service", b"[Service]\nExecStart=/bin/true\n"))
        self.want(name)
        self.dropins([(name, "own name")])

    def make_slice(self, n):
        name = self.pick(f"sl{n}.slice", f"sl{n}-k.slice", f"sl{n}-k-l.slice")
        if self.rng.random() < 0.6:
            self.rule("slice: with a file")
            self.put(f"{self.pick(*self.DIRS)}/{name}", self.text("Slice"))
        else:
            self.rule("slice: without a file")
        self.want(name)
        self.dropins([(name, "own name"), (f"sl{n}-.slice", "prefix")], "Slice")

    def make_in_slice(self, n):
        name = f"i{n}.service"
        kind = self.turn("set", "set twice", "in a drop-in", "no slice", "invalid", "specifier")
        self.rule("Slice=: " + kind)
        if kind == "specifier":
            name = f"i{n}@j.service"
            self.put(f"a/i{n}@.service", f"[Service]\nExecStart=/bin/true\nSlice={self.pick('q-%i', '%p-%i', '%i')}.slice\n".encode())
            self.want(name)
            return
        lines = {"set": f"Slice=q{n}.slice", "set twice": f"Slice=q{n}.slice\nSlice=q{n}-r.slice",
                 "in a drop-in": "", "no slice": "", "invalid": self.pick("Slice=", "Slice=foo", "Slice=a--b.slice", "Slice=x.service")}[kind]
        self.put(f"a/{name}", f"[Service]\nExecStart=/bin/true\n{lines}\n".encode())
        if kind == "in a drop-in":
            self.put(f"b/{name}.d/slice.conf", f"[Service]\nSlice=q{n}-s.slice\n".encode())
        self.want(name)

    def make_other_type(self, n):
        kind = self.turn("socket", "scope section", "type cannot have it")
        self.rule("type: " + kind)
        if kind == "socket":
            name = f"k{n}.socket"
            self.put(f"a/k{n}.service", b"[Service]\nExecStart=/bin/true\n")
            self.put(f"a/{name}", self.text("Socket", b"[Socket]\nListenStream=/run/none%d\n" % n))
        elif kind == "scope section":
            name = f"k{n}.service"
            self.put(f"a/{name}", b"[Service]\nExecStart=/bin/true\n[Scope]\nMemoryMax=1M\n[Socket]\nMemoryLow=2M\n")
        else:
            name = f"k{n}.socket"
            self.put(f"a/k{n}.service", b"[Service]\nExecStart=/bin/true\n")
            self.put(f"a/{name}", b"[Socket]\nListenStream=/run/none%d\nDelegate=yes\nManagedOOMSwap=kill\n" % n)
        self.want(name)

    def make_subdir_link(self, n):
        name = f"sd{n}.service"
        kind = self.turn("absolute", "relative")
        self.rule("drop-in directory: " + kind + " link")
        self.put(f"a/{name}", self.text("Service", b"[Service]\nExecStart=/bin/true\n", lines=1))
        self.put(f"elsewhere/{name}.d/x.conf", b"[Service]\nMemoryMax=123M\n")
        self.links[f"b/{name}.d"] = f"@TOP@/elsewhere/{name}.d" if kind == "absolute" else f"../elsewhere/{name}.d"
        self.want(name)


def generate(seed, cases, version, type_level):
    c = Cases(random.Random(seed), version)
    n = 0
    while c.cases < cases:
        c.unit(n)
        n += 1
    c.unit_rules = set()
    if type_level:
        for file in c.FILES[:4]:
            c.rule("drop-in: type level")
            where = c.pick(*c.DIRS)
            c.put(f"{where}/service.d/{file}", b"[Service]\n" + c.assignment("MemoryHigh", "33M"))
        for rules in c.rules_of.values():
            rules.add("drop-in: type level")
    return c


def write_tree(c, top):
    def place(path):
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        return full

    for d in c.DIRS + ("elsewhere", "run"):
        os.makedirs(os.path.join(top, d), exist_ok=True)
    os.chmod(os.path.join(top, "run"), 0o777)
    for path in c.dirs:
        if path not in c.files and path not in c.links:
            os.makedirs(os.path.join(top, path), exist_ok=True)
    for path, data in c.files.items():
        if path in c.links or os.path.isdir(os.path.join(top, path)):
            continue
        with open(place(path), "wb") as f:
            f.write(data)
    for path, target in c.links.items():
        full = place(path)
        if os.path.lexists(full):
            continue
        os.symlink(target.replace("@TOP@", c.top), full)
    wants = "\n".join("Wants=" + " ".join(c.wanted[i:i + 50]) for i in range(0, len(c.wanted), 50))
    with open(os.path.join(top, "a/all.target"), "w") as f:
        f.write("[Unit]\n" + wants + "\n")
