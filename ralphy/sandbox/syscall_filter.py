"""The filter of system calls inside a sandbox, as a BPF program for seccomp.

No setuid file can be made, since any user of the machine could run it. In the closed sandbox, only the socket families
of ordinary programs exist (a network namespace does not confine AF_VSOCK), and no kernel keyrings, which belong to the
user and not to a namespace.

Calls whose arguments are not in registers (openat2's structure, io_uring's queues, socketcall's array) fail with "not
implemented", upon which programs use the older call.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SETUID, _SETGID = 0o4000, 0o2000
_CREATES = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE: without them the mode of an open is whatever the register held
_FAMILIES = (0, 1, 2, 10, 16)  # unspecified, Unix, IPv4, IPv6, netlink
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_X32 = 0x40000000  # x86-64 with short pointers: numbers of its own in the same architecture

Step = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Abi:
    """Numbers of system calls in one binary interface of a machine. `chmod` and `open` map a number to the argument
    that holds the mode (for `open` the flags stand before it)."""

    arch: int
    chmod: Mapping[int, int]
    open: Mapping[int, int]
    socket: tuple[int, ...]
    keys: tuple[int, ...]
    opaque: tuple[int, ...]
    opaque_network: tuple[int, ...] = ()
    limit: int = 0


_NEW_CHMOD, _OPAQUE = {452: 2}, (425, 426, 427, 437)  # fchmodat2; io_uring, openat2: the same everywhere
_X86_64 = Abi(0xC000003E, {90: 1, 91: 1, 268: 2, 85: 1, 133: 1, 259: 2, **_NEW_CHMOD}, {2: 2, 257: 3}, (41, 53),
              (248, 249, 250), _OPAQUE, limit=_X32)  # fmt: skip
_I386 = Abi(0x40000003, {15: 1, 94: 1, 306: 2, 8: 1, 14: 1, 297: 2, **_NEW_CHMOD}, {5: 2, 295: 3}, (359, 360),
            (286, 287, 288), _OPAQUE, (102,))  # fmt: skip
_AARCH64 = Abi(0xC00000B7, {52: 1, 53: 2, 33: 2, **_NEW_CHMOD}, {56: 3}, (198, 199), (217, 218, 219), _OPAQUE)
_ARM = Abi(0x40000028, {15: 1, 94: 1, 333: 2, 8: 1, 14: 1, 324: 2, **_NEW_CHMOD}, {5: 2, 322: 3}, (281, 288),
           (309, 310, 311), _OPAQUE)  # fmt: skip
_MACHINES: Mapping[str, tuple[Abi, ...]] = {
    "x86_64": (_X86_64, _I386),
    "aarch64": (_AARCH64, _ARM),
}


def is_filtered(machine: str) -> bool:
    """Is there a filter for a machine, as `uname -m` names it?"""
    return machine in _MACHINES


def syscall_filter(machine: str, *, is_closed: bool, allows_setgid: bool = False) -> bytes:
    """The program for a machine as `uname -m` names it; empty for one whose numbers are not known here.

    `allows_setgid` is for trees in which folders pass their group on: their copies carry the bit.
    """
    bits = _SETUID if allows_setgid else _SETUID | _SETGID
    blocks = [(abi.arch, list(_block(abi, bits, is_closed=is_closed))) for abi in _MACHINES.get(machine, ())]
    if not blocks:
        return b""
    steps: list[Step] = [(_LOAD, 0, 0, _ARCH_AT)]
    for arch, block in blocks:
        steps += [(_IF_EQUAL, 1, 0, arch), (_JUMP, 0, 0, len(block)), *block]
    return b"".join(struct.pack("=HBBI", *step) for step in (*steps, _refuse(_ENOSYS)))


def _block(abi: Abi, bits: int, *, is_closed: bool) -> Iterator[Step]:
    """The steps for the calls of one interface."""
    yield (_LOAD, 0, 0, _NUMBER_AT)
    if abi.limit:
        yield from ((_IF_AT_LEAST, 0, 1, abi.limit), _refuse(_ENOSYS))
    for number, at in abi.chmod.items():
        yield from _when(number, _unless_any(at, bits))
    for number, at in abi.open.items():
        yield from _when(number, [_load(at - 1), (_IF_ANY, 0, 3, _CREATES), *_unless_any(at, bits)])
    for number in (*abi.opaque, *(abi.opaque_network if is_closed else ())):
        yield from _when(number, [_refuse(_ENOSYS)])
    if is_closed:
        for number in abi.socket:
            yield from _when(number, _known_family())
        for number in abi.keys:
            yield from _when(number, [_refuse(_ENOSYS)])
    yield (_RETURN, 0, 0, _ALLOW)


def _when(number: int, steps: Sequence[Step]) -> Iterator[Step]:
    """Steps for one call, all of which end in an answer."""
    yield (_IF_EQUAL, 0, len(steps), number)
    yield from steps


def _unless_any(at: int, bits: int) -> list[Step]:
    return [_load(at), (_IF_ANY, 0, 1, bits), _refuse(_EPERM), (_RETURN, 0, 0, _ALLOW)]


def _known_family() -> list[Step]:
    left = len(_FAMILIES)
    tests = [(_IF_EQUAL, left - at, 0, family) for at, family in enumerate(_FAMILIES)]
    return [_load(0), *tests, _refuse(_EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]


def _load(argument: int) -> Step:
    """The low half of an argument: both machines are little-endian."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)


def _refuse(errno: int) -> Step:
    return (_RETURN, 0, 0, _ERRNO | errno)
