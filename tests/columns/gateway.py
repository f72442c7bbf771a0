# SPDX-License-Identifier: MIT
"""gateway.py SEED: prints the text form of a trace of a gateway, for the examples of docs/sql.md: 200
requests for three routes, each in a coroutine of its own that waits for a server behind it. The times
follow from SEED alone.
"""
import sys

ROUTES = ["/users", "/orders", "/search"]
FUNCTIONS = [
    'lua line=10 chunk="@gateway.lua" name="handle"',
    'lua line=20 chunk="@auth.lua" name="check"',
    'lua line=30 chunk="@gateway.lua" name="forward"',
    'c addr=0x1005 name="socket.receive"',
    'lua line=5 chunk="@json.lua" name="encode"',
    'lua line=40 chunk="@json.lua" name="escape"',
]
HANDLE, CHECK, FORWARD, RECEIVE, ENCODE, ESCAPE = range(1, 7)


class Gateway:
    def __init__(self, seed):
        self.state, self.now, self.version = seed, 0, f"1.{seed}"

    def random(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit

    def event(self, text, us=0):
        """`us` microseconds after the last one."""
        self.now += us * 1000
        print(self.now, 1, text)

    def call(self, function, us):
        self.event(f"entry {function}", 1)
        self.event(f"return {function}", us)

    def request(self, number):
        coroutine, route = number + 1, ROUTES[self.random(3)]
        self.event(f"create {coroutine}", 10 + self.random(2000))
        self.event(f"request {coroutine} {0xa000 + number % 8:#x}")
        self.event(f'label {coroutine} "route" "{route}"')
        self.event(f'label {coroutine} "version" "{self.version}"')
        self.event(f"resume {coroutine}")
        self.event(f"entry {HANDLE}", 1)
        self.call(CHECK, 20 + self.random(60))
        self.event(f"entry {FORWARD}", 2)
        self.event(f"entry {RECEIVE}", 3)
        self.event("suspend yield", 4)
        slow = 40 if route == "/search" and self.random(20) == 0 else 1
        self.event(f"resume {coroutine}", (300 + self.random(900)) * slow)
        self.event(f"return {RECEIVE}", 2)
        if self.random(25) == 0:
            return self.event("suspend error", 5)
        self.event(f"return {FORWARD}", 1)
        self.event(f"entry {ENCODE}", 1)
        for _ in range(60 if route == "/search" else 1 + self.random(4)):
            self.call(ESCAPE, 2 + self.random(5))
        self.event(f"return {ENCODE}", 10)
        self.event(f"return {HANDLE}", 3)
        return self.event("suspend done", 1)


def main():
    gateway = Gateway(int(sys.argv[1]))
    print("#luatrace-text 1")
    print("clock monotonic mult=1 shift=0 start=0 mono=0 real=1700000000000000000")
    print('process 1 pid=10 exe="/usr/sbin/nginx" cmd="nginx: worker process"')
    print('stream 1 process=1 tid=10 recording=1 luajit="LuaJIT 2.1"')
    for number, function in enumerate(FUNCTIONS, 1):
        print(f"func 1:{number} {function}")
    gateway.event("ringblock co=1 tid=10 rec=1")
    gateway.event("start rec=1 flags=0x1")
    for number in range(200):
        gateway.request(number + 1)
    gateway.event("stop close", 1)
    print("end exit=0")


if __name__ == "__main__":
    main()
