#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernel images in every packing: is the handler of cgroup_enable= found, and never denied?

The "kernel" is a megabyte of noise with the strings a real one has, the wanted one in the
last bytes, so that a reader that loses the end of a stream is caught.

usage: images.py BUILD-DIR
"""

import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

facts_print = os.path.join(sys.argv[1], "test", "uml", "facts-print")
scratch = tempfile.mkdtemp()

RELEASE = "6.6.31+rpt-rpi-v8"


def kernel(enable):
    noise = random.Random(1)
    words = [noise.randbytes(12) for _ in range(3000)]
    body = bytearray(b"".join(noise.choice(words) for _ in range(100000)))
    body[1000:1000] = b"Linux version %s (x@y) #1\0Linux version \0" % RELEASE.encode()
    body[800000:800000] = b"\0cgroup_disable=\0cgroup_enables=\0cgroup_enable=memory\0"
    return bytes(body) + (b"\0cgroup_enable=\0" if enable else b"\0")


def tool(command):
    """Compression by a program, None without it."""
    if not shutil.which(command[0]):
        return None
    return lambda data: subprocess.run(command, input=data, stdout=subprocess.PIPE,
                                       check=True).stdout


PACKERS = {
    "gzip": lambda data: gzip.compress(data, 6),
    "xz": lambda data: lzma.compress(data, check=lzma.CHECK_CRC32, preset=1),
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE, preset=1),
    "bzip2": bz2.compress,
    "zstd": tool(["zstd", "-q", "-3", "-c"]),
    "lz4": tool(["lz4", "-q", "-l", "-c"]),  # the kernel's build writes the legacy format
}


def with_size(name, stream, data):
    return stream if name == "gzip" else stream + struct.pack("<I", len(data))


def bzimage(payload):
    """The fields of an x86 setup header, four sectors of it, some code before the payload."""
    setup = bytearray(5 * 512)
    setup[0:2] = b"MZ"
    setup[0x1f1] = 4
    setup[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", setup, 0x206, 0x20f)
    struct.pack_into("<H", setup, 0x20e, 0x400)
    setup[0x600:0x600 + len(RELEASE) + 1] = RELEASE.encode() + b" "
    struct.pack_into("<II", setup, 0x248, 333, len(payload))
    return bytes(setup) + bytes(333) + payload + bytes(4097)


def zboot(name, payload, size_bytes):
    """drivers/firmware/efi/libstub/zboot-header.S: the size is that without the size bytes."""
    head = b"MZ\0\0zimg" + struct.pack("<IIII", 64, len(payload) - size_bytes, 0, 0)
    return (head + name.encode()).ljust(64, b"\0") + payload + bytes(999)


def uki(image):
    """A PE file whose section .linux is the kernel."""
    head = bytearray(1024)
    head[0:2] = b"MZ"
    struct.pack_into("<I", head, 0x3c, 0x80)
    head[0x80:0x84] = b"PE\0\0"
    struct.pack_into("<HH", head, 0x84, 0x8664, 2)
    struct.pack_into("<H", head, 0x80 + 20, 240)
    for i, (name, size, start) in enumerate([(b".osrel", 100, 600), (b".linux", len(image), 1024)]):
        at = 0x80 + 24 + 240 + 40 * i
        head[at:at + 8] = name.ljust(8, b"\0")
        struct.pack_into("<IIII", head, at + 8, size, 0, (size + 511) // 512 * 512, start)
    return bytes(head) + image + bytes(511) + b"\0cgroup_enable=\0"


def variants(data):
    yield "ELF", data
    yield "UKI of ELF", uki(data)
    for name, pack in PACKERS.items():
        if not pack:
            print(f"SKIP images {name}: no such program")
            continue
        stream = pack(data)
        sized = with_size(name, stream, data)
        yield f"{name} file", stream
        yield f"bzImage {name}", bzimage(sized)
        yield f"zboot {name}", zboot(name, sized, len(sized) - len(stream))
        yield f"zboot {name}, size counted", zboot(name, sized, 0)
        yield f"UKI of bzImage {name}", uki(bzimage(sized))
        yield f"unknown layout, {name}", bytes(5000) + stream
        # what follows may cost the last block: "no" would be a lie
        yield f"unknown layout, {name} and more", bytes(5000) + sized + bytes(5000)
        yield f"cut {name} file", stream[:len(stream) * 3 // 4]


def ask(image):
    path = os.path.join(scratch, "image")
    with open(path, "wb") as file:
        file.write(image)
    answer = subprocess.run([facts_print, "--image", path], stdout=subprocess.PIPE, check=True)
    return json.loads(answer.stdout)


def main():
    bad = count = 0
    for enable, truth in ((True, "yes"), (False, "no")):
        for name, image in variants(kernel(enable)):
            answer = ask(image)
            allowed = {truth}
            if "and more" in name or name.startswith("cut"):
                allowed.add("unknown")
            if name.startswith("cut"):
                allowed.discard("no")
            good = answer["honours_enable"] in allowed and \
                (answer["honours_enable"] == "unknown" or answer["release"] == RELEASE)
            if "bzImage" in name and "UKI" not in name:
                good = good and answer["header_release"] == RELEASE
            if not good:
                print(f"FAILED  {name}, really {truth}: {answer}")
                bad += 1
            count += 1
    print(f"{count - bad} images judged right, {bad} wrong")
    return bad != 0


try:
    if ask(gzip.compress(kernel(True)))["honours_enable"] == "unknown":
        print("SKIP images: built without libarchive")
        sys.exit(77)
    sys.exit(main())
finally:
    shutil.rmtree(scratch)
