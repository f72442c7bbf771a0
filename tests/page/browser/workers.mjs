// SPDX-License-Identifier: MIT
// A trace in the text form, as of a server: one coroutine for each request, some at a time, which the host
// resumes; each is suspended while it waits. The same for the same number of requests.
const bodies = ["content_by_lua", "access_by_lua", "timer"];
const work = ["parse", "route", "query", "encode", "render"];

export function serverTrace(requests, atATime = 50) {
  const lines = ["#luatrace-text 1", "clock monotonic mult=1 shift=0 start=0 mono=1000 real=1700000000000000000",
    'process 1 pid=7 exe="/usr/sbin/nginx" cmd="nginx: worker process"', 'stream 1 process=1 tid=7 recording=1 luajit="LuaJIT 2.1"'];
  [...bodies, ...work].forEach((name, i) => lines.push(`func 1:${i + 1} lua line=${10 * (i + 1)} chunk="@app/${name}.lua" name="${name}"`));
  lines.push("0 1 start", "0 1 ringblock co=1 tid=7 rec=1", "0 1 stack 1 activate n=0");
  let time = 0;
  let state = 7;
  const random = (below) => (state = (state * 48271) % 2147483647) % below;
  const event = (text, after) => lines.push(`${(time += after)} 1 ${text}`);
  const call = (func, ns, inner = () => {}) => {
    event(`entry ${func}`, 100);
    inner();
    event(`return ${func}`, ns);
  };
  const anyWork = () => bodies.length + 1 + random(work.length);
  const ready = [];  // coroutines that are suspended or new: { id, turns }
  for (let next = 2; next < requests + 2 || ready.length; ) {
    while (ready.length < atATime && next < requests + 2) {
      event(`create ${next}`, 100);
      ready.push({ id: next++, turns: 1 + random(3), isNew: true });
    }
    const at = random(ready.length);
    const one = ready[at];
    event(`resume ${one.id}`, 200 + random(500));
    const body = 1 + (one.id % bodies.length);
    if (one.isNew) event(`entry ${body}`, 50);
    one.isNew = false;
    for (let calls = 1 + random(3); calls > 0; calls--) call(anyWork(), 200, () => call(anyWork(), 400 + random(4000)));
    if (--one.turns > 0) {
      event("suspend yield", 100);
      continue;
    }
    event(`return ${body}`, 100);
    event("suspend done", 20);
    event(`collect ${one.id}`, 30);
    ready.splice(at, 1);
  }
  event("stop close", 100);
  lines.push("end exit=0");
  return lines.join("\n") + "\n";
}
