# SPDX-License-Identifier: MIT
"""Hostile names in every place of a trace that has text, through every output of the analyzer.

The output is well-formed UTF-8 (binary formats contain no broken text of the trace), and has no
control character, none that changes the direction of text and no invisible one. A saved profile
keeps all bytes, so that what is shown of it is the same as of the trace.
  names.py LUATRACE_ANALYZE"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

HIDDEN = [chr(c) for c in [*range(0x20), *range(0x7f, 0xa0), 0xad, 0x61c, 0x115f, 0x1160, 0x180e,
                           *range(0x200b, 0x2010), *range(0x2028, 0x202f), *range(0x2060, 0x2070),
                           0x3164, 0xfeff, 0xffa0, 0xfff9, 0xfffa, 0xfffb, 0xe0001, 0xe0041, 0xe007f]
          if c != 0]  # No name of LuaJIT's has a NUL.
BROKEN = [b'\xff\xfe', b'\xc0\xaf', b'\xed\xa0\x80', b'\xf5\x80\x80\x80', b'\xe2\x80']
MARKUP = ['"\\', '</script><b>', "';&", '=1+2', '@x', '$(x)`x`', '%s%n']
EVIL = [c.encode() for c in HIDDEN] + BROKEN + [m.encode() for m in MARKUP]
FORMATS = ['folded', 'speedscope', 'perfetto', 'chrome', 'pprof', 'callgrind', 'csv', 'json',
           'luaprofiler', 'luaprofile', 'xmake']
BINARY = {'perfetto', 'pprof'}
VIEWS = [[], ['--report', '--limit', '0'], ['--tree', '--limit', '0'], ['--info'], ['--threads'],
         ['--coroutines', '--limit', '0'], ['--waits', '--limit', '0'], ['--request-by', '*', '--limit', '0'], ['--turns', '--limit', '0'], ['--turns', '--request-by', '*', '--json'],
         ['--request-by', 'a*', '--json'], ['--request', '1', '--request-by', 'a*'], ['--timeline'], ['--symbols', '--limit', '0'],
         ['--slow', '*', '--limit', '0'], ['--callers', 'a*'], ['--group-by', 'file', '--report'],
         ['--group-by', 'plugin', '--plugin', '*', '--report'],
         ['--json'], ['--csv'], ['--json', '--report', '--tree', '--info', '--coroutines'],
         ['--dump'], ['--dump=calls'], ['--folded']]
PROFILE_VIEWS = [['--report', '--limit', '0'], ['--tree', '--limit', '0'], ['--csv'], ['--folded']]


def quoted(raw):
    return '"' + ''.join('\\x%02x' % b for b in raw) + '"'


def trace():
    every = b'a'.join(EVIL)
    lines = ['#luatrace-text 1', 'clock monotonic mult=1 shift=0', 'note ' + quoted(b'k=' + every),
             f'process 1 pid=7 exe={quoted(b"/x" + every)} cmd={quoted(every)} {quoted(b"b" + every)}',
             f'stream 1 process=1 tid=7 recording=1 luajit={quoted(b"L" + every[:40])}',
             f'map 1 0x1000 0x9000 0 - {quoted(b"/lib/m" + every)}']
    kinds = ['lua line=%d chunk=%s name=%s', 'ff line=%d chunk=%s name=%s', 'c line=%d chunk=%s name=%s']
    for i, evil in enumerate(EVIL):
        name, chunk = quoted(b'a' + evil + b'z'), quoted(b'@d/' + evil + b'.lua')
        for k, kind in enumerate(kinds):
            addr = ' addr=0x%x' % (0x2000 + i)
            lines.append(f'func 1:{3 * i + k + 1} ' + kind % (i + 1, chunk, name) + addr)
    at = 10
    lines += ['0 1 start', '0 1 ringblock co=1 tid=7 rec=1']
    for f in range(1, 3 * len(EVIL) + 1):
        lines += [f'{at} 1 entry {f}', f'{at + 2} 1 create {f + 1}', f'{at + 3} 1 resume {f + 1}',
                  f'{at + 3} 1 entry {f}', f'{at + 4} 1 return {f}', f'{at + 4} 1 suspend done',
                  f'{at + 5} 1 return {f}']
        at += 10
    return '\n'.join(lines + [f'{at} 1 stop close', 'end exit=0', ''])


def bad_in(text):
    return sorted({'U+%04X' % ord(c) for c in text if c in HIDDEN and c not in '\n\t'})


def check(what, out):
    try:
        text = out.decode()
    except UnicodeDecodeError as e:
        return [f'{what}: not UTF-8: {e}']
    bad = bad_in(text)
    return [f'{what}: {bad}'] if bad else []


def check_binary(what, out):
    if out[:2] == b'\x1f\x8b':
        out = gzip.decompress(out)
    # Between letters of ours, so that it is text, not a number.
    bad = [evil for evil in [c.encode() for c in HIDDEN] + BROKEN if b'a' + evil + b'z' in out or
           b'a' + evil + b'a' in out]
    return [f'{what}: has {bad}'] if bad else []


def main():
    analyze = sys.argv[1]
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, 'trace.txt'), os.path.join(folder, 'out')
        with open(path, 'w') as f:
            f.write(trace())

        def run(options, path=path):
            done = subprocess.run([analyze, '--force', *options, path], capture_output=True, timeout=60)
            if done.returncode != 0:
                errors.append(f'{options}: status {done.returncode}: {done.stderr[:300]!r}')
            errors.extend(check(f'{options}, messages', done.stderr))
            return done.stdout

        for options in VIEWS:
            text = run(options)
            errors.extend(check(str(options), text))
            if not text:
                errors.append(f'{options}: nothing came out')
            if options[:1] == ['--json']:
                json.loads(text)
        for name in FORMATS:
            run(['--format', name, '-o', out])
            with open(out, 'rb') as f:
                text = f.read()
            if not text:
                errors.append(f'{name}: nothing came out')
            errors.extend((check_binary if name in BINARY else check)(name, text))
        run(['--page=' + out])
        with open(out, 'rb') as f:
            errors.extend(check('page', f.read()))
        profile = os.path.join(folder, 'saved.prof')
        run(['--save-profile', profile])
        for options in PROFILE_VIEWS:
            of_trace = run(options)
            of_profile = run(options, profile)
            errors.extend(check(f'{options} of a saved profile', of_profile))
            if sorted(of_profile.splitlines()) != sorted(of_trace.splitlines()):
                errors.append(f'{options}: differs for a saved profile')
    for error in errors:
        print('FAIL:', error)
    sys.exit(bool(errors))


main()
