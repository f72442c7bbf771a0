#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the events of programs/exact.lua as read_hits.py does, derived from its
text and docs/probes.md. pcall and type checks have no events; the calls of error,
coroutine.create, coroutine.status and coroutine.yield do."""


def call(depth, place, *inside):
    return [f'entry {depth} {place}', *inside, f'return {depth} {place}']


def main():
    out = ['entry 1 exact.lua:0', 'entry 2 exact.lua:6']
    out += call(3, 'exact.lua:5') * 1000 + ['return 2 exact.lua:6']
    for _ in range(100):
        out += ['entry 2 exact.lua:12', 'tail 2 exact.lua:12'] + call(2, 'exact.lua:11')
    for _ in range(10):
        out += ['entry 2 exact.lua:14', 'entry 3 exact.lua:13', 'entry 4 C:error', 'unwind 1']
    out += call(2, 'C:coroutine.create', 'create 2')
    status = call(2, 'C:coroutine.status')
    for i in range(6):
        out += status + ['resume 2']
        out += ['entry 1 exact.lua:15'] if i == 0 else ['return 2 C:coroutine.yield']
        out += ['entry 2 C:coroutine.yield', 'yield 2'] if i < 5 else ['return 1 exact.lua:15', 'end 0']
    out += status + ['return 1 exact.lua:0']
    print('\n'.join(out))


main()
