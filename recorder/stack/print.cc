// SPDX-License-Identifier: MIT
#include "recorder/stack/print.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/escape.h"
#include "recorder/os/text.h"

namespace luatrace::record::stack {
namespace {

constexpr size_t kMaxShown = 60;  // bytes of a chunk that is code
constexpr size_t kMaxNamed = 4;   // coroutines of a group that are named

const char* state_name(CoroutineState s) {
  switch (s) {
    case CoroutineState::kRunning:
      return "running";
    case CoroutineState::kNormal:
      return "normal";
    case CoroutineState::kSuspended:
      return "suspended";
    case CoroutineState::kNotStarted:
      return "not started";
    case CoroutineState::kIdle:
      return "idle";
  }
  return "";
}

const char* kind_name(Callee kind) {
  switch (kind) {
    case Callee::kLua:
      return "lua";
    case Callee::kC:
      return "c";
    case Callee::kBuiltin:
      return "builtin";
    case Callee::kUnknown:
      return "unknown";
  }
  return "";
}

// A chunk name as users know it.
std::string chunk_text(const std::string& chunk) {
  if (!chunk.empty() && (chunk[0] == '@' || chunk[0] == '=')) return printable(chunk.substr(1));
  const std::string line = chunk.substr(0, chunk.find('\n'));
  return "[string \"" + printable(cut_bytes(line, kMaxShown)) + "\"]";
}

std::string place(const Proto& p, uint32_t line) {
  return chunk_text(p.chunk) + ":" + (line != 0 ? std::to_string(line) : "?");
}

std::string call_text(ImageStacks& image, const Calls& calls, size_t i) {
  const Call& call = calls.list[i];
  const std::string name = printable(image.names->of(calls, i));
  if (call.kind != Callee::kLua)
    return "[C]  " + (name.empty() ? "?" : name);  // as in tracebacks of the VM
  const Proto& p = *call.proto;
  const uint32_t line = image.protos->line(p, call.position);
  const std::string shown =
      p.first_line == 0 ? "main chunk" : "function <" + place(p, p.first_line) + ">";
  return (call.about ? "about " : "") + place(p, line) + "  " + (name.empty() ? shown : name);
}

std::string coroutine_name(const Coroutine& c) {
  if (c.main) return "main";
  return c.id != 0 ? std::to_string(c.id) : hex(c.address);
}

// Those with the same calls, in the same state.
struct Group {
  std::vector<const Coroutine*> members;
};

std::vector<Group> groups_of(const VmStacks& vm) {
  using Key = std::tuple<CoroutineState, uint32_t, uint64_t,
                         std::vector<std::tuple<Callee, const Proto*, uint64_t, uint32_t>>>;
  std::map<Key, Group> groups;
  for (const Coroutine& c : vm.coroutines) {
    Key key{c.state, c.trace, c.calls.more, {}};
    for (const Call& call : c.calls.list)
      std::get<3>(key).push_back({call.kind, call.proto, call.address, call.position});
    groups[std::move(key)].members.push_back(&c);
  }
  std::vector<Group> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) {
    const auto state = [](const Group& g) { return g.members[0]->state; };
    return std::pair(state(a), b.members.size()) < std::pair(state(b), a.members.size());
  });
  return sorted;
}

std::string group_title(const Group& g) {
  const Coroutine& first = *g.members[0];
  std::vector<std::string> names;
  for (const Coroutine* c : g.members) names.push_back(coroutine_name(*c));
  std::string text = "  " + counted(g.members.size(), "coroutine") + " (" +
                     list_text(names, kMaxNamed) + "): " + state_name(first.state);
  if (first.state == CoroutineState::kRunning && first.trace != 0)
    text += ", compiled (trace " + std::to_string(first.trace) + ")";
  return text + "\n";
}

std::string vm_text(ImageStacks& image, const VmStacks& vm) {
  std::string text = "Lua VM " + std::to_string(vm.number) + ": " +
                     counted(vm.coroutines.size(), "coroutine") + "\n";
  for (const Group& g : groups_of(vm)) {
    const Calls& calls = g.members[0]->calls;
    text += group_title(g);
    for (size_t i = 0; i < calls.list.size(); i++)
      text += "    " + call_text(image, calls, i) + "\n";
    if (calls.more > 0) text += "    and " + counted(calls.more, "outer call") + "\n";
    if (calls.broken) text += "    (the rest cannot be read)\n";
    if (calls.list.empty() && !calls.broken) text += "    (no Lua function is called)\n";
  }
  return text;
}

std::string call_json(ImageStacks& image, const Calls& calls, size_t i) {
  const Call& call = calls.list[i];
  std::string text = std::string("{\"kind\":\"") + kind_name(call.kind) +
                     "\",\"name\":" + json_string(image.names->of(calls, i));
  if (call.kind != Callee::kLua) return text + "}";
  const uint32_t line = image.protos->line(*call.proto, call.position);
  return text + ",\"chunk\":" + json_string(call.proto->chunk) +
         ",\"line\":" + (line != 0 ? std::to_string(line) : "null") +
         ",\"line_defined\":" + std::to_string(call.proto->first_line) +
         ",\"about\":" + (call.about ? "true" : "false") + "}";
}

std::string coroutine_json(ImageStacks& image, const Coroutine& c) {
  std::string text = "{\"id\":" + std::to_string(c.id) + ",\"address\":\"" + hex(c.address) +
                     "\",\"main\":" + (c.main ? "true" : "false") + ",\"state\":\"" +
                     state_name(c.state) + "\",\"trace\":" + std::to_string(c.trace) +
                     ",\"more\":" + std::to_string(c.calls.more) +
                     ",\"broken\":" + (c.calls.broken ? "true" : "false") + ",\"calls\":[";
  for (size_t i = 0; i < c.calls.list.size(); i++)
    text += (i > 0 ? "," : "") + call_json(image, c.calls, i);
  return text + "]}";
}

}  // namespace

std::string stacks_text(Stacks& stacks, const std::string& process) {
  std::string text = process + ": ";
  text += stacks.stopped_ns == 0
              ? "it slept, and was not stopped\n"
              : "stopped for " + time_text(static_cast<double>(stacks.stopped_ns)) + "\n";
  for (const auto& image : stacks.images)
    for (const VmStacks& vm : image->vms) text += vm_text(*image, vm);
  for (const std::string& note : stacks.notes) text += "note: " + note + "\n";
  return text;
}

std::string stacks_json(Stacks& stacks, const std::string& command) {
  std::string text = "{\"pid\":" + std::to_string(stacks.pid) +
                     ",\"command\":" + json_string(command) +
                     ",\"stopped_ns\":" + std::to_string(stacks.stopped_ns) + ",\"notes\":[";
  for (size_t i = 0; i < stacks.notes.size(); i++)
    text += (i > 0 ? "," : "") + json_string(stacks.notes[i]);
  text += "],\"vms\":[";
  const char* comma = "";
  for (const auto& image : stacks.images)
    for (const VmStacks& vm : image->vms) {
      text += comma + ("{\"vm\":" + std::to_string(vm.number)) + ",\"coroutines\":[";
      for (size_t i = 0; i < vm.coroutines.size(); i++)
        text += (i > 0 ? "," : "") + coroutine_json(*image, vm.coroutines[i]);
      text += "]}";
      comma = ",";
    }
  return text + "]}";
}

}  // namespace luatrace::record::stack
